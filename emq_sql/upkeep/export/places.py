"""Where exports lie: a directory, or what pyarrow reaches by URL (S3 and what is compatible)."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

import pyarrow as pa
from pyarrow import fs

from emq_sql.errors import BadSetting, ExportFailed

_CHUNK = 1 << 20
_EXAMPLES = "Give a directory, or a URL such as s3://bucket/prefix?region=eu-central-1."
_UNFINISHED = ".writing"
_NO_LINKS = {errno.EPERM, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}


def unique(stem: str, suffix: str) -> str:
    """A name that no other writer has, anywhere."""
    return f"{stem}-{secrets.token_hex(8)}{suffix}"


class Place(ABC):
    """A tree of files; paths are relative, with slashes. `location` names it to people.

    A file that is there is never written again, and never replaced.
    """

    location: str

    @abstractmethod
    def write(
        self, path: str, check: Callable[[str], None] = lambda _path: None
    ) -> AbstractContextManager[Any]:
        """A file to write to, which is there, whole and durable, once the block ends well.

        `check` is called with the path at which it can be read before that. The name must be
        `unique`: a file that has it stays, and ExportFailed is raised, as in all trouble.
        """

    @abstractmethod
    def open(self, path: str) -> pa.NativeFile:
        """A file to read from, in any order. Raises OSError."""

    @abstractmethod
    def names(self, path: str) -> list[str]:
        """The names of what lies in a folder, sorted; none when there is no such folder.

        Raises ExportFailed.
        """

    @abstractmethod
    def remove(self, path: str) -> None:
        """A file goes. Raises ExportFailed."""

    def tidy(self, path: str) -> None:  # noqa: B027  nothing to do, unless a place says otherwise
        """Files in a folder that were never finished go; their writers, if any are left, fail."""

    def sha256(self, path: str) -> tuple[str, int]:
        """The checksum of a file and its length in bytes, read whole.

        Raises FileNotFoundError, and ExportFailed when the place does not answer.
        """
        found, length = hashlib.sha256(), 0
        with self._reading(path) as file:
            while chunk := file.read(_CHUNK):
                found.update(chunk)
                length += len(chunk)
        return found.hexdigest(), length

    def read(self, path: str) -> bytes:
        """A small file, whole; raises the same."""
        with self._reading(path) as file:
            return bytes(file.read())

    @contextmanager
    def _reading(self, path: str) -> Iterator[pa.NativeFile]:
        try:
            with self.open(path) as file:
                yield file
        except FileNotFoundError:
            raise
        except OSError as error:
            what = f"{path} in {self.location} could not be read: {_line(error)}."
            raise ExportFailed(what) from error


class Directory(Place):
    """A directory of this machine; a file gets its name once it is on the disk and was checked."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.location = str(root)

    @contextmanager
    def write(self, path: str, check: Callable[[str], None] = lambda _path: None) -> Iterator[Any]:
        target = self._root / path
        unfinished = target.with_name(unique(f".{target.name}", _UNFINISHED))
        with _trouble("written", str(target)):
            _make(target.parent)
            with unfinished.open("xb") as file:
                try:
                    yield file
                    file.flush()
                    os.fsync(file.fileno())
                    check(unfinished.relative_to(self._root).as_posix())
                    _name(unfinished, target)
                    _sync(target.parent)
                finally:
                    with contextlib.suppress(OSError):
                        unfinished.unlink(missing_ok=True)

    def open(self, path: str) -> pa.NativeFile:
        return pa.OSFile(str(self._root / path), "rb")

    def names(self, path: str) -> list[str]:
        folder = self._root / path
        with _trouble("listed", str(folder)):
            return sorted(entry.name for entry in folder.iterdir()) if folder.exists() else []

    def remove(self, path: str) -> None:
        with _trouble("removed", str(self._root / path)):
            (self._root / path).unlink()

    def tidy(self, path: str) -> None:
        for name in self.names(path):
            if name.startswith(".") and name.endswith(_UNFINISHED):
                with _trouble("removed", name):
                    (self._root / path / name).unlink(missing_ok=True)


class Store(Place):
    """An object store; an object is there once it is closed, or else stays unrecorded.

    An upload that ends late, or twice, meets nobody: each has a key of its own.
    """

    def __init__(self, location: str, system: fs.FileSystem, root: str) -> None:
        self.location = location
        self._system = system
        self._root = root.rstrip("/")

    @contextmanager
    def write(self, path: str, check: Callable[[str], None] = lambda _path: None) -> Iterator[Any]:
        with _trouble("written", f"{self.location}: {path}"):
            with self._system.open_output_stream(f"{self._root}/{path}") as file:
                yield file
            check(path)

    def open(self, path: str) -> pa.NativeFile:
        return self._system.open_input_file(f"{self._root}/{path}")

    def names(self, path: str) -> list[str]:
        folder = f"{self._root}/{path}".rstrip("/")
        with _trouble("listed", self.location):
            found = self._system.get_file_info(fs.FileSelector(folder, allow_not_found=True))
        return sorted(info.base_name for info in found)

    def remove(self, path: str) -> None:
        with _trouble("removed", f"{self.location}: {path}"):
            self._system.delete_file(f"{self._root}/{path}")


def place(location: str) -> Place:
    """The place that a path or URL names; nothing is made yet. Raises BadSetting."""
    scheme, is_url, rest = location.partition("://")
    if not location.strip():
        raise BadSetting("The location of the export is empty.", hint=_EXAMPLES)
    if not is_url:
        try:
            return Directory(Path(location).expanduser().absolute())
        except RuntimeError:
            user = location.partition("/")[0]
            raise BadSetting(f"No home directory is known for {user}.", hint=_EXAMPLES) from None
    if not rest.strip("/"):
        raise BadSetting(f"{location} names nothing but a kind of storage.", hint=_EXAMPLES)
    if scheme == "file":
        return Directory(Path(unquote(urlsplit(location).path)).absolute())
    parts = urlsplit(location)
    if "@" in parts.netloc:
        raise BadSetting(
            "The URL of the location holds a key, and it would be recorded with each export.",
            hint="Leave keys to the environment (AWS_ACCESS_KEY_ID ...) or the machine's role.",
        )
    location = urlunsplit(parts._replace(path=parts.path.rstrip("/")))
    try:
        system, root = fs.FileSystem.from_uri(location)
    except (pa.ArrowException, ValueError, OSError) as error:
        raise BadSetting(f"No location for files is {location}: {error}.", hint=_EXAMPLES) from None
    return Store(location, system, root)


def _name(unfinished: Path, target: Path) -> None:
    """The file gets its name, and no file that has it is replaced."""
    try:
        target.hardlink_to(unfinished)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # A file system without links: the name is nobody else's, so nobody comes in between.
        if target.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
        unfinished.rename(target)


def _make(folder: Path) -> None:
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for made in missing:
        _sync(made.parent)


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _trouble(what: str, name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ExportFailed(
            f"{name} could not be {what}: {_line(error)}.",
            hint="Nothing was recorded of it, and no row was deleted: run the export again.",
        ) from error


def _line(error: OSError) -> str:
    return " ".join(str(error).split())
