"""Whether the files of exported days are still what their manifest and the records say."""

from __future__ import annotations

import re
from dataclasses import dataclass

from emq_sql.errors import ExportDamaged
from emq_sql.protocol.exporting import Exported
from emq_sql.upkeep.export import choosing, manifest
from emq_sql.upkeep.export.manifest import Found, Manifest
from emq_sql.upkeep.export.places import Place

DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True)
class Checked:
    """An export of a day: what its manifest says, and what is damaged (None: nothing). `recorded`:
    it is the one that the ledger has on record.
    """

    day: str
    manifest: Manifest | None
    damage: str | None
    recorded: bool = False


def folders(place: Place) -> list[str]:
    """The folders of days in this place, oldest first; [""] when it is one itself."""
    names = place.names("")
    if any(map(manifest.NAME.fullmatch, names)):
        return [""]
    return [name for name in names if DAY.fullmatch(name)]


def check(place: Place, folder: str, record: Exported) -> Checked:
    """Read each file of the recorded export of a day.

    Raises ExportFailed when the place does not answer: that says nothing of the files.
    """
    return next(one for one in check_all(place, folder, record) if one.recorded)


def check_all(place: Place, folder: str, record: Exported | None = None) -> list[Checked]:
    """Read each file of each export of a day that no later one replaces, and of the recorded one.

    One at least. Raises ExportFailed like `check`.
    """
    found, damages = manifest.read(place, folder)
    mine = record and next((one for one in found if one.checksum == record.checksum), None)
    answer = []
    if mine:
        answer.append(checked(place, folder, mine, recorded=True))
    elif record:
        what = f"The manifest of {record.day} that is recorded is missing in {place.location}."
        answer.append(Checked(folder, None, what, recorded=True))
    others = [] if mine is None else [mine.checksum]
    for one in choosing.newest(found):
        if one.checksum not in others and not (mine and _replaced(one, mine)):
            answer.append(checked(place, folder, one))
    answer += [Checked(folder, None, damage) for damage in damages]
    return answer or [Checked(folder, None, choosing.none(place, folder))]


def strays(place: Place, folder: str, checked: list[Checked]) -> list[str]:
    """Part files that none of these exports has; none when one of them is damaged."""
    if any(one.manifest is None for one in checked):
        return []
    listed = {part.name for one in checked if one.manifest for part in one.manifest.parts}
    return [
        name for name in place.names(folder)
        if manifest.PART_NAME.fullmatch(name) and name not in listed
    ]  # fmt: skip


def _replaced(one: Found, mine: Found) -> bool:
    """Whether it is of a run that was killed before its record, and says nothing more."""
    return one.manifest.series == mine.manifest.series and set(mine.manifest.parts).issuperset(
        one.manifest.parts
    )


def checked(place: Place, folder: str, one: Found, *, recorded: bool = False) -> Checked:
    """Read each file that the manifest lists."""
    found = one.manifest
    try:
        for part in found.parts:
            same(place, f"{folder}/{part.name}" if folder else part.name, part.sha256, part.bytes)
        if sum(part.rows for part in found.parts) != found.rows:
            what = f"The manifest of {found.day} counts other rows than its files have."
            raise ExportDamaged(what)
    except ExportDamaged as damage:
        return Checked(folder, None, damage.what, recorded)
    return Checked(found.day, found, None, recorded)


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
