"""The files that the layout tests look at, and how an offence is named."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "emq_sql"
MIGRATIONS = ROOT / "migrations"
STEPS = MIGRATIONS / "steps"
DUMP = MIGRATIONS / "schema.sql"  # written by a program


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py")) + sorted(MIGRATIONS.rglob("*.py"))


def statements() -> list[Path]:
    found = [*MIGRATIONS.rglob("*.sql"), *PACKAGE.rglob("*.sql")]
    return sorted(path for path in found if path != DUMP)


def texts() -> Iterator[Path]:
    yield from modules()
    yield from statements()
    yield from sorted((ROOT / "docs").rglob("*.md"))
    yield from sorted(ROOT.glob("*.md"))
