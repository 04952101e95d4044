"""Fresh environments that have emq_sql and what it says it needs, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parents[2]
SHARED = sysconfig.get_path("purelib")

# emq-sql[binary] and their own requirements: taken from this run's packages, not downloaded.
_NEEDED = ("sqlalchemy", "greenlet", "psycopg", "psycopg-binary", "typing-extensions", "click")


@dataclass(frozen=True, slots=True)
class Installed:
    """A virtual environment; `elsewhere` is a folder outside of the checkout to run things in."""

    folder: Path
    elsewhere: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    def run(self, *words: str | Path, **env: str) -> subprocess.CompletedProcess[str]:
        """Run one of its programs, with no environment but `env`."""
        program, *rest = words
        return subprocess.run(
            [self.folder / "bin" / program, *rest],
            cwd=self.elsewhere, env=env, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip

    def says(self, code: str, **env: str) -> str:
        """What a piece of Python prints there; it must not fail."""
        done = self.run("python", "-c", code, **env)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


def build(target: Path) -> Path:
    """The wheel, built from the sdist that is built from this checkout."""
    _run("build", "--no-isolation", "--outdir", target, ROOT)
    (wheel,) = target.glob("*.whl")
    return wheel


def install(folder: Path, *what: str | Path) -> Installed:
    """A fresh environment with emq_sql from `what` (arguments of pip install); no index is asked.

    It has the packages that emq_sql needs and no extra.
    """
    _run("venv", "--without-pip", folder)
    installed = Installed(folder, folder.parent)
    site = Path(installed.says("import sysconfig; print(sysconfig.get_path('purelib'))"))
    for name in _NEEDED:
        _link(name, site)
    # What is built is built with the tools of this run.
    _run(
        "pip", "--quiet", "--python", installed.python, "install", "--no-deps", "--no-index",
        "--no-build-isolation", "--ignore-installed", *what, PYTHONPATH=SHARED,
    )  # fmt: skip
    return installed


def _link(name: str, site: Path) -> None:
    try:
        files = metadata.distribution(name).files or []
    except metadata.PackageNotFoundError:
        return
    for top in {file.parts[0] for file in files} - {"..", "__pycache__"}:
        (site / top).symlink_to(Path(SHARED, top))


def _run(module: str, *words: str | Path, **more: str) -> None:
    quiet = {"PIP_ROOT_USER_ACTION": "ignore", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-m", module, *words],
        env=os.environ | quiet | more, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{module}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
