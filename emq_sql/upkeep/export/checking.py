"""Whether the files of exported days are still what their manifest and the records say."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from emq_sql.errors import ExportDamaged
from emq_sql.protocol.exporting import Exported
from emq_sql.upkeep.export import manifest
from emq_sql.upkeep.export.manifest import Manifest
from emq_sql.upkeep.export.places import Place

DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True)
class Checked:
    """A day's folder: what its manifest says, and what is damaged (None: nothing)."""

    day: str
    manifest: Manifest | None
    damage: str | None


def folders(place: Place) -> list[str]:
    """The folders of days in this place, oldest first; [""] when it is one itself."""
    names = place.names("")
    if manifest.NAME in names:
        return [""]
    return [name for name in names if DAY.fullmatch(name)]


def check(place: Place, folder: str, record: Exported | None = None) -> Checked:
    """Read each file of a day and compare it with the manifest, and that with the record.

    Raises ExportFailed when the place does not answer: that says nothing of the files.
    """
    try:
        found, checksum = manifest.read(place, folder)
        for part in found.parts:
            same(place, f"{folder}/{part.name}" if folder else part.name, part.sha256, part.bytes)
        _rows_agree(found)
        if record is not None:
            _recorded(found, checksum, record)
    except ExportDamaged as damage:
        return Checked(folder, None, damage.what)
    return Checked(found.day, found, None)


def same(place: Place, path: str, checksum: str, length: int) -> None:
    """Raise ExportDamaged unless the file is there and has this checksum and length."""
    try:
        found = place.sha256(path)
    except FileNotFoundError:
        raise ExportDamaged(f"{path} is missing in {place.location}.") from None
    if found != (checksum, length):
        raise ExportDamaged(
            f"{path} in {place.location} has changed since it was written: {found[1]} bytes"
            f" with SHA-256 {found[0]}, and {length} with {checksum} are recorded."
        )


def left_over(place: Place, folder: str, listed: Sequence[str]) -> list[str]:
    """Part files in a day's folder that its manifest does not list."""
    names = place.names(folder)
    return [name for name in names if manifest.PART_NAME.fullmatch(name) and name not in listed]


def _rows_agree(found: Manifest) -> None:
    if sum(part.rows for part in found.parts) != found.rows:
        raise ExportDamaged(f"The manifest of {found.day} counts other rows than its files have.")


def _recorded(found: Manifest, checksum: str, record: Exported) -> None:
    # One version ahead is an export that was killed before its record: its files include ours.
    if found.version < record.version:
        raise ExportDamaged(
            f"The manifest of {found.day} is of version {found.version}, and version"
            f" {record.version} is recorded."
        )
    if found.version == record.version and checksum != record.checksum:
        raise ExportDamaged(f"The manifest of {found.day} is not the one that is recorded.")
