"""One worker process: checks, worker, upkeep and bell together, and its signals."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any

import psycopg

from emq_sql.effects.completion import complete_in
from emq_sql.errors import EmqError, EnvironmentMismatch
from emq_sql.protocol import reading, steps
from emq_sql.protocol.link import Link
from emq_sql.protocol.troubles import named
from emq_sql.upkeep.maintenance import Maintenance
from emq_sql.worker.bell import Bell
from emq_sql.worker.handler import Handler
from emq_sql.worker.identity import version
from emq_sql.worker.loops import Loop
from emq_sql.worker.overdue import Overdue
from emq_sql.worker.settings import WorkerSettings
from emq_sql.worker.worker import Worker

log = logging.getLogger("emq_sql.service")

LAST_PATIENCE = 15.0  # seconds after the grace in which everything must have ended
CONNECTIONS = 4  # the loop, the lease keeper, upkeep and the bell; handlers have their own


def run_service(
    connect: Callable[[], psycopg.Connection[Any]],
    schema: str,
    handlers: Mapping[str, Handler],
    settings: WorkerSettings,
    environment: str | None,
) -> int:
    """Work until SIGTERM or SIGINT (or, in a burst, until the queues are empty); the exit code.

    The first signal ends the claiming and lets handlers run on for `settings.grace`, the second
    releases what is held at once. 0: everything was settled or released; 1: the database could not
    be reached for that (the leases end by themselves), or kept refusing, or something hung for
    `LAST_PATIENCE` seconds after the grace. When handlers still run at the end, the process is
    ended here, since nothing else could end their threads.
    Raises, before anything is claimed, SchemaMissing, SchemaTooOld or SchemaTooNew,
    EnvironmentMismatch, or a DatabaseTrouble. Belongs into the main thread, which gets the signals.
    """
    server = _check(connect, schema, environment)
    worker = Worker(connect, schema, handlers, settings, complete_in)
    loops = _loops(connect, schema, worker)
    log.info(
        "emq_sql %s, PostgreSQL %s, schema %s version %d; worker %s: queues %s, %d slots, at most"
        " %d connections",
        version(), server, schema, steps.newest(), worker.name, ",".join(settings.queues),
        settings.slots, CONNECTIONS,
    )  # fmt: skip
    code = 0
    with _signals(worker, settings.grace.total_seconds()):
        for loop in loops:
            loop.start()
        try:
            worker.run()
        except EmqError as error:
            log.error("the worker ends: %s", error)
            code = 1
        finally:
            for loop in loops:
                loop.stop(5.0)
    if not worker.released_all:
        code = 1
    log.info("worker %s has ended, exit code %d", worker.name, code)
    if worker.hanging:
        _leave(code, worker.hanging)
    return code


def _loops(
    connect: Callable[[], psycopg.Connection[Any]], schema: str, worker: Worker
) -> list[Loop]:
    pulse = worker.pulse
    listening = Link(connect, f"emq bell {worker.name}", around=partial(pulse.asking, "bell"))
    bell = Bell(listening, schema, worker.wake, pulse)
    upkeep = Maintenance(
        connect, schema, who=worker.name, beat=partial(pulse.beat, "upkeep"),
        around=partial(pulse.asking, "upkeep"),
    )  # fmt: skip
    return [
        Loop("bell", bell, pulse, worker.fail),
        Loop("upkeep", upkeep, pulse, worker.fail),
    ]


def _check(
    connect: Callable[[], psycopg.Connection[Any]], schema: str, environment: str | None
) -> str:
    with named():
        connection = connect()
    with connection:
        steps.require_newest(connection, schema=schema)
        tagged = reading.meta(connection, schema)["environment"]
        if tagged is not None and tagged != environment:
            mine = "names none" if environment is None else f'is "{environment}"'
            raise EnvironmentMismatch(
                f'This database is tagged for the environment "{tagged}"; the worker\'s {mine}.',
                hint="If this is a copy, tag it anew before a worker runs its jobs (emq.tag);"
                f' else set the environment of the application to "{tagged}".',
            )
        return connection.info.parameter_status("server_version") or "of unknown version"


@contextmanager
def _signals(worker: Worker, grace: float) -> Iterator[None]:
    """SIGTERM and SIGINT reach the worker; the former handlers are put back."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    overdue = Overdue()
    seen = 0

    def stop(_number: int, _frame: FrameType | None) -> None:
        nonlocal seen
        seen += 1
        if seen == 1:
            worker.drain()
            overdue.expect(grace + LAST_PATIENCE)
        else:
            worker.release_now()
            overdue.expect(LAST_PATIENCE)

    former = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    overdue.start()
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
        overdue.stop()


def _leave(code: int, hanging: int) -> None:
    log.warning("%d handlers still run; the process ends without them", hanging)
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
