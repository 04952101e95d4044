"""Finds the files below a directory."""

from __future__ import annotations

import os
import random
import sysconfig
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from emq_sql.errors import BadSetting

SKIPPED = frozenset({b"__pycache__", b"site-packages", b"dist-packages"})


@dataclass(frozen=True, slots=True)
class Found:
    """A regular file: its path as bytes, and its size when it was seen."""

    path: bytes
    size: int


def standard_library() -> Path:
    """Where the standard library of the Python that runs this lies."""
    return Path(sysconfig.get_path("stdlib"))


def files_below(root: Path, limit: int | None, rng: random.Random) -> list[Found]:
    """Regular files below `root` in an order drawn from `rng`, at most `limit` of them.

    No symbolic link is followed; caches and installed packages are left out, and so are directories
    that cannot be read. Raises BadSetting when there is no file.
    """
    found = sorted(_walk(os.fsencode(root.absolute())), key=lambda file: file.path)
    if not found:
        raise BadSetting(f"There is no file below {root}.", hint="Name a directory with files.")
    rng.shuffle(found)
    return found[:limit]


def _walk(root: bytes) -> Iterator[Found]:
    waiting = [root]
    while waiting:
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in SKIPPED:
                        waiting.append(entry.path)
                elif entry.is_file(follow_symlinks=False):
                    with suppress(FileNotFoundError):  # gone since it was listed
                        yield Found(entry.path, entry.stat(follow_symlinks=False).st_size)
