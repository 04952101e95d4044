"""`emq maintain`: upkeep in a process of its own, without any application or handler."""

from __future__ import annotations

import logging
import os
import platform
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from functools import partial
from types import FrameType

import psycopg

from emq_sql.errors import EmqError
from emq_sql.protocol import steps
from emq_sql.protocol.link import Connect
from emq_sql.service.leaving import flushed, leave
from emq_sql.service.probes import Probes
from emq_sql.service.signals import STOPS, wanted
from emq_sql.service.start import checked_for_upkeep
from emq_sql.upkeep.maintenance import Maintenance
from emq_sql.worker.health.report import Facts
from emq_sql.worker.identity import version
from emq_sql.worker.loops import Loop
from emq_sql.worker.pulse import Pulse

log = logging.getLogger("emq_sql.service")

LAST_CALL = 0.5  # seconds that a call under way may still take when the process should end
LAST_PATIENCE = 5.0  # seconds after which the process ends without its thread
_NO_PROBES = Probes()


def run_maintenance(
    connect: Connect, schema: str, every: timedelta, probes: Probes = _NO_PROBES
) -> int:
    """Upkeep about once in `every` until SIGTERM, SIGINT or SIGHUP; the exit code.

    Workers, other such processes and pg_cron may do the same at the same time. A signal ends it at
    once: a pass under way is given up, undone, and that is 0. 1: its thread could not be kept
    alive. A database that goes away is waited for. With `probes` it is live, and ready, while its
    thread comes back in time.
    Raises, before anything is done, BadSetting (the probes, missing rights, a pooler of
    statements), SchemaMissing, SchemaTooOld, SchemaTooNew, or a DatabaseTrouble. Belongs into the
    main thread, which gets the signals.
    """
    who = f"maintain {socket.gethostname()}:{os.getpid()}"
    over = threading.Event()
    lost: list[EmqError] = []

    def give_up(error: EmqError) -> None:
        lost.append(error)
        over.set()

    with closing(probes.opened(every)) as health:
        server = checked_for_upkeep(connect, schema)
        pulse = Pulse()
        upkeep = Maintenance(
            connect, schema, every, who, partial(pulse.beat, "upkeep"),
            partial(pulse.asking, "upkeep"),
        )  # fmt: skip
        facts = _facts(server, schema, who)
        loops = [
            Loop("upkeep", upkeep, pulse, give_up),
            *health.loops(facts, pulse, give_up),
        ]
        with _ended_by_signals(over):
            for loop in loops:
                loop.start()
            log.info("%s", _first_line(facts, every))
            over.wait()
            upkeep.cut_short(LAST_CALL)
            for loop in loops:
                loop.stop(LAST_PATIENCE)
    for error in lost:
        log.error("upkeep ends: %s", error)
    log.info("%s has ended", who)
    code = 1 if lost else 0
    if not flushed():
        leave(code)
    return code


def _facts(server: str, schema: str, who: str) -> Facts:
    return Facts(
        worker=who,
        queues=(),
        kind="none",
        connections=1,
        versions={
            "emq_sql": version(),
            "python": platform.python_version(),
            "psycopg": psycopg.__version__,
            "postgresql": server,
            "schema": schema,
            "schema_version": steps.newest(),
        },
    )


def _first_line(facts: Facts, every: timedelta) -> str:
    at = facts.versions
    return (
        f"emq_sql {at['emq_sql']}, Python {at['python']}, psycopg {at['psycopg']}, PostgreSQL"
        f" {at['postgresql']}, schema {at['schema']} version {at['schema_version']};"
        f" {facts.worker}: upkeep every {every.total_seconds():g} s"
    )


@contextmanager
def _ended_by_signals(over: threading.Event) -> Iterator[None]:
    def end(_number: int, _frame: FrameType | None) -> None:
        over.set()

    former = {number: signal.signal(number, end) for number in STOPS if wanted(number)}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
