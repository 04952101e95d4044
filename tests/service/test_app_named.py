"""`--app` that names nothing, or a module that fails, is told in a sentence, with its exit code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FAILING = {
    "exits": ("import sys\nsys.exit(0)", "it wanted to exit (0)"),
    "exits_in_words": ("raise SystemExit('no config')", "it wanted to exit ('no config')"),
    "raises": ("raise RuntimeError('first\\nsecond')", "RuntimeError: first. Its traceback"),
    "needs": ("import no_such_package", "ModuleNotFoundError: No module named 'no_such_package'"),
    "unreadable": ("def (", "SyntaxError: invalid syntax"),
    "on_demand": ("def __getattr__(name): raise OSError('away')", "OSError: away"),
}
NAMELESS = [":emq", "mod:", ".:emq", "..x:y", "a..b:emq", ":", ""]
NO_EMQ = [
    ("json:a.b.c", "json has no EMQ named 'a.b.c'"),
    ("json:dumps", "json has no EMQ named 'dumps': that is of type function"),
    ("emq_sql:EMQ", "has no EMQ named 'EMQ': that is of type type"),
    ("json", "json has no EMQ named 'emq'"),
    ("a/b.py:emq", "there is no module 'a/b'"),
]


def started(folder: Path, app: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "emq_sql", "worker", "--app", app], cwd=folder,
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("app", FAILING)
def test_a_module_that_fails_is_named_with_its_error_and_its_traceback(
    tmp_path: Path, app: str
) -> None:
    lines, said = FAILING[app]
    (tmp_path / f"{app}.py").write_text(lines)
    done = started(tmp_path, f"{app}:emq")
    assert done.returncode == 1, done.stderr
    first, *rest = done.stderr.splitlines()
    assert first.startswith(f"emq: --app {app}:emq: {app} cannot be imported: {said}"), first
    assert first.endswith("[EMQ603]")
    assert str(tmp_path / f"{app}.py") in "\n".join(rest)
    assert "importlib" not in "\n".join(rest)


@pytest.mark.parametrize(
    ("app", "said"), [*((app, "is not module:attribute") for app in NAMELESS), *NO_EMQ]
)
def test_a_name_of_nothing_is_refused_in_one_sentence(tmp_path: Path, app: str, said: str) -> None:
    done = started(tmp_path, app)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("emq: --app ") and said in done.stderr, done.stderr
    assert done.stderr.count("\n") == 1
