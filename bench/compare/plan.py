"""Which cells there are, and in which order: the peers take turns within each workload."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench.compare.catalogue import Peer, Setting
from bench.compare.record import Cell, Record

TRIAL = "drain-1"  # the workload by which the setting of a peer is chosen
WORKLOADS = ("drain-1", "drain-2", "enqueue", "latency", "pinned")


def best(peer: Peer, record: Record) -> Setting | None:
    """The setting that drained fastest in the trials, of those that keep a record if one does."""
    rates = {
        setting.name: line["per_second"]
        for setting in peer.trials
        if (line := record.done.get(Cell(peer.name, setting.name, TRIAL, 0))) and line["ok"]
    }
    kept = [s for s in peer.trials if s.name in rates and s.record == peer.record]
    return max(kept, key=lambda setting: rates[setting.name], default=None)


def cells(
    peers: Sequence[Peer], record: Record, workloads: Sequence[str], rounds: int, pinned: int
) -> Iterator[tuple[Peer, Setting, Cell]]:
    """What is still to be measured, in turns.

    First the trials of every setting, so that each peer runs with its best; then `rounds` times
    each workload, all peers one after the other, beginning with another one each time; last the
    pinned horizon, which takes longest, `pinned` times.
    """
    for turn in range(max((len(peer.trials) for peer in peers), default=0)):
        for peer in peers:
            if turn < len(peer.trials):
                setting = peer.trials[turn]
                cell = Cell(peer.name, setting.name, TRIAL, 0)
                if not record.has(cell):
                    yield peer, setting, cell
    turns = [(w, r) for r in range(1, rounds + 1) for w in workloads if w != "pinned"]
    turns += [("pinned", r) for r in range(1, pinned + 1) if "pinned" in workloads]
    for workload, number in turns:
        first = number % len(peers) if peers else 0
        for peer in [*peers[first:], *peers[:first]]:
            if workload == "pinned" and peer.server != "postgresql":
                continue
            chosen = best(peer, record)
            if chosen is None:
                continue
            if workload == "latency" and peer.latency:
                chosen = peer.setting(peer.latency)
            cell = Cell(peer.name, chosen.name, workload, number)
            if not record.has(cell):
                yield peer, chosen, cell
