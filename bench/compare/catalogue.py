"""What is compared: each directory of peers/ with its peer.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PEERS = Path(__file__).parent / "peers"


class Failed(Exception):
    """A cell, or the setting up of a peer, came to nothing, and why."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One way to run a peer that its documents name; `given` goes to its adapter."""

    name: str
    tried: str
    record: bool
    for_drain: bool
    given: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Peer:
    """A queue to measure.

    record   whether it keeps a record of each finished job (in some setting)
    drain    jobs of one drain, so many that it takes some seconds
    latency  the setting for latency, where the one that drains fastest is not the one
    """

    name: str
    package: str
    server: str
    python: str
    own: bool
    record: bool
    drain: int
    latency: str | None
    settings: tuple[Setting, ...]
    directory: Path

    @property
    def requirements(self) -> Path:
        return self.directory / "requirements.txt"

    @property
    def trials(self) -> tuple[Setting, ...]:
        """The settings that compete in the trial drains."""
        return tuple(setting for setting in self.settings if setting.for_drain)

    def setting(self, name: str) -> Setting:
        return next(setting for setting in self.settings if setting.name == name)


def read(directory: Path) -> Peer:
    """The peer of a directory."""
    told = tomllib.loads((directory / "peer.toml").read_text())
    record = bool(told["record"])
    settings = tuple(
        Setting(
            name=one.pop("name"),
            tried=one.pop("tried"),
            record=bool(one.pop("record", record)),
            for_drain=bool(one.pop("drain", True)),
            given=one,
        )
        for one in (dict(one) for one in told["setting"])
    )
    return Peer(
        name=directory.name,
        package=told["package"],
        server=told["server"],
        python=told.get("python", "3.11"),
        own=bool(told.get("own", False)),
        record=record,
        drain=int(told["drain"]),
        latency=told.get("latency"),
        settings=settings,
        directory=directory,
    )


def chosen(names: Sequence[str] = ()) -> list[Peer]:
    """The peers of these names, or all: emq_sql, then those on PostgreSQL, then those on Redis."""
    peers = [read(path.parent) for path in sorted(PEERS.glob("*/peer.toml"))]
    known = {peer.name for peer in peers}
    if unknown := set(names) - known:
        raise Failed(f"no such peer: {', '.join(sorted(unknown))}; there are {sorted(known)}")
    peers = [peer for peer in peers if not names or peer.name in names]
    return sorted(peers, key=lambda peer: (not peer.own, peer.server != "postgresql", peer.name))
