"""squawk over each step, as one file: what a step makes it may alter for free.

`python -m tests.upgrade.squawk` prints its complaints and ends with 1 when there are some. Rules
that are left out stand with their reasons in .squawk.toml, single exceptions in the files.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from emq_sql.protocol import steps

ROOT = Path(__file__).resolve().parents[2]
SQUAWK = Path(sys.executable).parent / "squawk"


def complaints(text: str, name: str) -> str:
    """What squawk says of this text; nothing, when it is content."""
    done = subprocess.run(
        [SQUAWK, "--reporter", "gcc", "--stdin-filepath", name],
        input=text, capture_output=True, text=True, check=False, cwd=ROOT, timeout=60,
    )  # fmt: skip
    return done.stdout + done.stderr


def of_step(step: steps.Step) -> str:
    """What it says of a step upward."""
    return complaints("\n".join(steps.statements(step, "up")), f"{step.name}.sql")


def main() -> int:
    """Look over all steps."""
    said = [text for text in map(of_step, steps.all_steps()) if text]
    print("\n".join(said) or f"squawk has nothing to say of {len(steps.all_steps())} steps")
    return bool(said)


if __name__ == "__main__":
    sys.exit(main())
