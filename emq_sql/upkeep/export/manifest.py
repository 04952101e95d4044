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
from emq_sql.protocol.exporting import COLUMNS, Part
from emq_sql.upkeep.export.places import Place

NAME = "_manifest.json"  # readers of whole folders pass over what begins like this
FORMAT = "emq_sql archive 1"
PART_NAME = re.compile(r"part-\d{5,}\.parquet")


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
    """A day and its files. It has no instant in it: the same export is the same bytes again."""

    ledger_id: str
    schema_version: int
    day: str
    version: int
    rows: int
    min_id: str | None
    max_id: str | None
    parts: tuple[Listed, ...]

    def text(self) -> bytes:
        """The bytes of _manifest.json."""
        whole = {"format": FORMAT, **asdict(self), "columns": COLUMNS}
        return (json.dumps(whole, indent=1) + "\n").encode()


def part_name(number: int) -> str:
    """The name of the file of a part."""
    return f"part-{number:05}.parquet"


def manifest(meta: dict[str, Any], day: date, version: int, parts: Sequence[Part]) -> Manifest:
    """Of a ledger (its row of `meta`), a day and the files that are recorded of it."""
    listed = tuple(
        Listed(
            p.path.rpartition("/")[2], p.version, p.rows, p.bytes, p.min_id, p.max_id, p.checksum
        )
        for p in parts
    )
    return Manifest(
        ledger_id=str(meta["ledger_id"]), schema_version=meta["version"], day=day.isoformat(),
        version=version, rows=sum(p.rows for p in parts),
        min_id=min((p.min_id for p in parts), default=None),
        max_id=max((p.max_id for p in parts), default=None), parts=listed,
    )  # fmt: skip


def read(place: Place, folder: str) -> tuple[Manifest, str]:
    """The manifest of a day's folder, and its checksum. Raises ExportDamaged when there is none."""
    try:
        text = place.read(_path(folder))
        found = json.loads(text)
        if found.pop("format") != FORMAT:
            raise ValueError("of another format")
        found.pop("columns")
        parts = tuple(Listed(**part) for part in found.pop("parts"))
        return Manifest(parts=parts, **found), hashlib.sha256(text).hexdigest()
    except FileNotFoundError:
        what = f"There is no {_path(folder)} in {place.location}."
        raise ExportDamaged(what, hint="Is it the folder of a day, or of days?") from None
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ExportDamaged(
            f"{_path(folder)} in {place.location} cannot be read: {error}."
        ) from None


def _path(folder: str) -> str:
    return f"{folder}/{NAME}" if folder else NAME


def write(place: Place, folder: str, manifest: Manifest) -> str:
    """Write it and read it back; answers its checksum."""
    text = manifest.text()
    with place.write(_path(folder)) as file:
        file.write(text)
    if place.read(_path(folder)) != text:
        raise ExportDamaged(f"{_path(folder)} in {place.location} is not what was written to it.")
    return hashlib.sha256(text).hexdigest()
