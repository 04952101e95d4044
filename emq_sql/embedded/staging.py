"""Copies a PostgreSQL installation to where an unprivileged account can read it.

Root's virtual environment often lies under a home of mode 0700. Opening that home is not ours to
do, so the server's files are copied instead, once for each installation.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

STAGES = Path("/var/tmp")  # noqa: S108  kept between runs, checked for its owner below

_PARTS = ("bin", "lib", "lib64", "share")


def stage(bindir: Path) -> Path:
    """The bin directory of a readable copy of the installation that holds this one.

    The copy appears under /var/tmp complete or not at all, belongs to us and can be written by
    nobody else; one that someone else put there is refused. A copy that has lost files (cleaners
    of /var/tmp) is replaced. Raises OSError.
    """
    install = bindir.parent
    parts = _parts(install)
    mark = (bindir / "postgres").stat()
    target = STAGES / f"emq-sql-pg-{mark.st_ino}-{mark.st_mtime_ns}-{mark.st_size}"
    if target.is_symlink() or target.exists():
        _refuse_if_foreign(target)
    if not _is_whole(parts, target):
        _build(parts, target)
    return target / install.parent.name / install.name / bindir.name


def _parts(install: Path) -> dict[str, Path]:
    """What to copy, by its place in the copy."""
    package = install.parent
    parts = {
        f"{package.name}/{install.name}/{name}": install / name
        for name in _PARTS
        if (install / name).is_dir()
    }
    # Wheels keep bundled libraries beside the package and find them by a relative path.
    bundled = package.with_name(f"{package.name}.libs")
    if bundled.is_dir():
        parts[bundled.name] = bundled
    return parts


def _refuse_if_foreign(target: Path) -> None:
    seen = target.lstat()
    if target.is_symlink() or seen.st_uid != os.geteuid() or seen.st_mode & 0o022:
        raise PermissionError(f"{target} belongs to someone else: remove it")


def _files(root: Path) -> Iterator[tuple[str, int]]:
    for found in root.rglob("*"):
        if found.is_symlink() or found.is_file():
            yield str(found.relative_to(root)), found.lstat().st_size


def _is_whole(parts: dict[str, Path], target: Path) -> bool:
    return all(set(_files(source)) <= set(_files(target / name)) for name, source in parts.items())


def _build(parts: dict[str, Path], target: Path) -> None:
    work = Path(tempfile.mkdtemp(prefix="emq-sql-pg-", dir=STAGES))
    try:
        copy = work / "new"
        for name, source in parts.items():
            shutil.copytree(source, copy / name, symlinks=True)
        _open_for_reading(copy)
        if target.exists():
            target.rename(work / "old")
        try:
            copy.rename(target)
        except OSError:
            # Another process staged the same installation a moment before us.
            if not _is_whole(parts, target):
                raise
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _open_for_reading(copy: Path) -> None:
    # The copy alone: a strict umask at installation would otherwise have been copied with it.
    for found in (copy, *copy.rglob("*")):
        if not found.is_symlink():
            runs = found.is_dir() or found.stat().st_mode & 0o100
            found.chmod(0o755 if runs else 0o644)
