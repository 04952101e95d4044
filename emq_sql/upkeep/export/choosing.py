"""Which of the manifests in a day's folder say what was exported, and which others they replace."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import groupby

from emq_sql.errors import BadSetting, ExportDamaged
from emq_sql.upkeep.export import manifest
from emq_sql.upkeep.export.manifest import Found
from emq_sql.upkeep.export.places import Place


def newest(found: Iterable[Found]) -> list[Found]:
    """Those that no other one replaces: one of each series, as a rule.

    A series has more when databases that were one (a copy, a restored backup) have both exported
    the day.
    """
    chosen: list[Found] = []
    for _, of_one in groupby(sorted(found, key=_series), _series):
        last, *others = sorted(of_one, key=_rank, reverse=True)
        chosen.append(last)
        listed = set(last.manifest.parts)
        chosen += [
            one for one in others
            if one.manifest.version == last.manifest.version
            and not listed.issuperset(one.manifest.parts)
        ]  # fmt: skip
    return chosen


def chosen(
    place: Place, folder: str, recorded: Collection[str] = (), ledger: str = "", name: str = ""
) -> Found:
    """The manifest by which a day is to be read: of this ledger (its id, or how it begins), of this
    name; if several are left, one that is `recorded`, by checksum.

    Raises ExportDamaged when there is none to be read, BadSetting when there are several.
    """
    found, damages = manifest.read(place, folder)
    if name:
        found = [one for one in found if one.name == name]
    elif ledger:
        found = [one for one in found if one.manifest.ledger_id.startswith(ledger)]
    elif damages:
        raise ExportDamaged(damages[0])
    if not found:
        raise ExportDamaged(none(place, folder, bool(name or ledger)))
    heads = newest(found)
    if len(heads) > 1 and len(known := [one for one in found if one.checksum in recorded]) == 1:
        heads = known
    if len(heads) == 1:
        return heads[0]
    ledgers = sorted({one.manifest.ledger_id for one in heads})
    if len(ledgers) > 1:
        what = f"{folder or place.location} has the exports of {len(ledgers)} ledgers."
        raise BadSetting(what, hint=f"Say which: --ledger {' or --ledger '.join(ledgers)}.")
    what = f"{folder or place.location} has {len(heads)} exports that know nothing of one another."
    names = " or --manifest ".join(sorted(one.name for one in heads))
    raise BadSetting(what, hint=f"Say which, or import each in turn: --manifest {names}.")


def none(place: Place, folder: str, wanted: bool = False) -> str:
    """That there is no manifest, in words."""
    kind = "such manifest" if wanted else "manifest (_manifest-*.json)"
    where = f"{folder} of {place.location}" if folder else place.location
    return f"There is no {kind} in {where}. Is it the folder of a day?"


def _series(one: Found) -> tuple[str, str]:
    return one.manifest.ledger_id, one.manifest.series


def _rank(one: Found) -> tuple[int, int, str]:
    return one.manifest.version, len(one.manifest.parts), one.name
