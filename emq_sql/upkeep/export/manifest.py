"""What a day's folder says of its files: enough to check and to read them without a database."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any

from emq_sql.errors import ExportDamaged
from emq_sql.protocol.exporting import COLUMNS, Begun, Part
from emq_sql.upkeep.export.places import Place, unique

# Readers of whole folders pass over what begins like this.
NAME = re.compile(r"_manifest-\d{3,}-[0-9a-f]+\.json")
FORMAT = "emq_sql archive 1"
PART_NAME = re.compile(r"part-\d{3,}-\d{5,}-[0-9a-f]+\.parquet")


@dataclass(frozen=True, slots=True)
class Listed:
    """A file as the manifest lists it."""

    name: str
    version: int
    rows: int
    bytes: int
    min_id: str
    max_id: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """A day and its files. Within a series a higher version has what the lower ones have, or was
    written in their place; in another series nothing is known of this one.

    It has no instant in it: the same export is the same bytes again.
    """

    ledger_id: str
    series: str
    schema_version: int
    day: str
    version: int
    rows: int
    min_id: str | None
    max_id: str | None
    parts: tuple[Listed, ...]

    def text(self) -> bytes:
        """The bytes of the file."""
        whole = {"format": FORMAT, **asdict(self), "columns": COLUMNS}
        return (json.dumps(whole, indent=1) + "\n").encode()


@dataclass(frozen=True, slots=True)
class Found:
    """A manifest that lies in a folder, and its SHA-256."""

    name: str
    checksum: str
    manifest: Manifest


def part_name(version: int, number: int) -> str:
    """A new name for the file of a part."""
    return unique(f"part-{version:03}-{number:05}", ".parquet")


def manifest(meta: dict[str, Any], day: date, begun: Begun, parts: Sequence[Part]) -> Manifest:
    """Of a ledger (its row of `meta`), a day and the files that are recorded of it."""
    listed = tuple(
        Listed(
            p.path.rpartition("/")[2], p.version, p.rows, p.bytes, p.min_id, p.max_id, p.checksum
        )
        for p in parts
    )
    return Manifest(
        ledger_id=str(meta["ledger_id"]), series=str(begun.series),
        schema_version=meta["version"], day=day.isoformat(),
        version=begun.version, rows=sum(p.rows for p in parts),
        min_id=min((p.min_id for p in parts), default=None),
        max_id=max((p.max_id for p in parts), default=None), parts=listed,
    )  # fmt: skip


def read(place: Place, folder: str) -> tuple[list[Found], list[str]]:
    """The manifests in a day's folder, and what is damaged of those that cannot be read.

    Raises ExportFailed when the place does not answer.
    """
    found, damages = [], []
    for name in filter(NAME.fullmatch, place.names(folder)):
        path = f"{folder}/{name}" if folder else name
        try:
            text = place.read(path)
            found.append(Found(name, hashlib.sha256(text).hexdigest(), _parsed(text)))
        except FileNotFoundError:
            damages.append(f"{path} has gone from {place.location}.")
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            damages.append(f"{path} in {place.location} cannot be read: {error}.")
    return found, damages


def _parsed(text: bytes) -> Manifest:
    found = json.loads(text)
    if found.pop("format") != FORMAT:
        raise ValueError("of another format")
    found.pop("columns")
    parts = tuple(Listed(**part) for part in found.pop("parts"))
    return Manifest(parts=parts, **found)


def write(place: Place, folder: str, manifest: Manifest) -> str:
    """Write it under a new name and read it back; answers its checksum."""
    text = manifest.text()
    path = f"{folder}/{unique(f'_manifest-{manifest.version:03}', '.json')}"
    with place.write(path) as file:
        file.write(text)
    if place.read(path) != text:
        raise ExportDamaged(f"{path} in {place.location} is not what was written to it.")
    return hashlib.sha256(text).hexdigest()
