"""An earlier release, out of the history of this repository: the code that knew no newer step."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from emq_sql.protocol import steps

ROOT = Path(__file__).resolve().parents[2]
HERE = str(ROOT)


def release_before(step: int, folder: Path) -> str:
    """The last code before this step was made, unpacked in `folder`; a PYTHONPATH that leads there.

    The test is skipped where there is no history, as in an archive of the sources.
    """
    name = steps.all_steps()[step - 1].name
    added = _git("log", "--diff-filter=A", "--format=%H", "--", f"migrations/steps/{name}").split()
    commit = f"{added[-1]}^" if added else "HEAD"  # a step that is not committed yet
    if subprocess.run(["git", "-C", ROOT, "rev-parse", "-q", "--verify", commit],
                      capture_output=True, check=False).returncode:  # fmt: skip
        pytest.skip(f"The history begins after step {step} was made.")
    archive = folder / "release.tar"
    _git("archive", f"--output={archive}", commit, "emq_sql", "migrations")
    subprocess.run(["tar", "-xf", archive, "-C", folder], check=True, timeout=60)
    there = folder / "migrations" / "steps"
    assert sorted(path.name for path in there.iterdir()) == [
        known.name for known in steps.all_steps()[: step - 1]
    ]
    return str(folder)


def _git(*words: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", ROOT, *words], capture_output=True, text=True, check=False, timeout=60
        )
    except FileNotFoundError:
        pytest.skip("There is no git.")
    if done.returncode:
        pytest.skip(f"There is no history: {done.stderr.strip()}")
    return done.stdout
