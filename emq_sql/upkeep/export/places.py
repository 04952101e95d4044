"""Where exports lie: a directory, or what pyarrow reaches by URL (S3 and what is compatible)."""

from __future__ import annotations

import contextlib
import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
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


class Place(ABC):
    """A tree of files; paths are relative, with slashes. `location` names it to people."""

    location: str

    @abstractmethod
    def write(self, path: str) -> AbstractContextManager[Any]:
        """A file to write to, which is there, whole and durable, once the block ends well.

        In the way of a file of that name, it replaces it. Raises ExportFailed.
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
    """A directory of this machine; a file is renamed to its name once it is on the disk."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.location = str(root)

    @contextmanager
    def write(self, path: str) -> Iterator[Any]:
        target = self._root / path
        unfinished = target.with_name(f".{target.name}{_UNFINISHED}")
        with _trouble("written", str(target)):
            try:
                _make(target.parent)
                with unfinished.open("wb") as file:
                    yield file
                    file.flush()
                    os.fsync(file.fileno())
                unfinished.replace(target)
                _sync(target.parent)
            except BaseException:
                with contextlib.suppress(OSError):
                    unfinished.unlink(missing_ok=True)
                raise

    def open(self, path: str) -> pa.NativeFile:
        return pa.OSFile(str(self._root / path), "rb")

    def names(self, path: str) -> list[str]:
        folder = self._root / path
        with _trouble("listed", str(folder)):
            return sorted(entry.name for entry in folder.iterdir()) if folder.exists() else []

    def remove(self, path: str) -> None:
        with _trouble("removed", str(self._root / path)):
            (self._root / path).unlink()


class Store(Place):
    """An object store; an object is there once it is closed, or else stays unrecorded."""

    def __init__(self, location: str, system: fs.FileSystem, root: str) -> None:
        self.location = location
        self._system = system
        self._root = root.rstrip("/")

    @contextmanager
    def write(self, path: str) -> Iterator[Any]:
        with (
            _trouble("written", f"{self.location}: {path}"),
            self._system.open_output_stream(f"{self._root}/{path}") as file,
        ):
            yield file

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
    scheme, _, rest = location.partition("://")
    if not rest:
        if not location.strip():
            raise BadSetting("The location of the export is empty.", hint=_EXAMPLES)
        return Directory(Path(location).expanduser().absolute())
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
