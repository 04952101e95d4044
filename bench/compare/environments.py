"""An environment of its own for each peer, made by pip from the pins in its directory."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from bench.compare.catalogue import Failed, Peer

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".venvs" / "compare"
_INSTALLING = 600  # seconds that pip may take

_LIST = """
import json, platform
from importlib.metadata import distributions
print(json.dumps({"python": platform.python_version(), "packages":
    {d.metadata["Name"].lower(): d.version for d in distributions()}}))
"""


@dataclass(frozen=True, slots=True)
class Environment:
    """An interpreter that has a peer, and what is installed there."""

    interpreter: Path
    python: str
    packages: dict[str, str]


def ready(peer: Peer) -> Environment:
    """Make the peer's environment, or find it made; raises Failed."""
    if peer.own:
        return _described(Path(sys.executable))
    place = CACHE / peer.name
    interpreter = place / "bin" / "python"
    base = interpreter_for(peer.python)
    stamp = place / "made-from"
    wanted = hashlib.sha256(f"{base}\n{peer.requirements.read_text()}".encode()).hexdigest()
    if not (stamp.exists() and stamp.read_text() == wanted and interpreter.exists()):
        shutil.rmtree(place, ignore_errors=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        _run([str(base), "-m", "venv", str(place)], f"{base} made no environment")
        _run(
            [str(interpreter), "-m", "pip", "--disable-pip-version-check", "install", "--quiet",
             "--requirement", str(peer.requirements)],
            "pip could not install it",
        )  # fmt: skip
        stamp.write_text(wanted)
    return _described(interpreter)


def interpreter_for(least: str) -> Path:
    """This interpreter if it is new enough, else one that is installed; raises Failed."""
    wanted = tuple(int(part) for part in least.split("."))
    if sys.version_info[:2] >= wanted:
        return Path(sys.executable).resolve()
    names = [f"python3.{minor}" for minor in range(wanted[1], wanted[1] + 3)]
    places = [Path(folder) for folder in os.get_exec_path()]
    roots = sorted(Path.home().glob(".pyenv/versions/*/bin"))
    for name in names:
        for folder in (*places, *roots):
            program = folder / name
            if program.is_file() and _works(program):
                return program.resolve()
    raise Failed(f"it needs Python {least} or newer, and none was found")


def _works(program: Path) -> bool:
    """Whether it is an interpreter and not a shim that leads nowhere."""
    asked = [str(program), "-c", "import venv, ensurepip"]
    return subprocess.run(asked, capture_output=True, check=False, timeout=30).returncode == 0


def _described(interpreter: Path) -> Environment:
    said = subprocess.run(
        [interpreter, "-c", _LIST], capture_output=True, text=True, check=True, timeout=60
    )
    told = json.loads(said.stdout)
    return Environment(interpreter, told["python"], told["packages"])


def _run(command: list[str], otherwise: str) -> None:
    quiet = os.environ | {"PIP_ROOT_USER_ACTION": "ignore"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_INSTALLING, env=quiet
        )
    except subprocess.TimeoutExpired as slow:
        raise Failed(f"{otherwise}: not in {_INSTALLING} seconds") from slow
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise Failed(f"{otherwise}: {' '.join(lines[-2:])[:300]}")
