"""Runs one worker with everything around it, from its checks to its exit code."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Any

import psycopg
from sqlalchemy.engine import Engine

from emq_sql.effects.effects import DatabaseEffects
from emq_sql.errors import BadSetting, EmqError
from emq_sql.protocol.link import Connect, Link
from emq_sql.service.leaving import flushed, leave
from emq_sql.service.probes import Probes
from emq_sql.service.signals import obeyed
from emq_sql.service.start import checked, facts, first_line
from emq_sql.upkeep.maintenance import Maintenance
from emq_sql.worker.bell import Bell
from emq_sql.worker.effects import Effects
from emq_sql.worker.executor import Ended, Executor
from emq_sql.worker.handler import Handler
from emq_sql.worker.health.report import Facts
from emq_sql.worker.held import Held
from emq_sql.worker.inprocess import InProcess
from emq_sql.worker.loops import Loop
from emq_sql.worker.processes.apart import MOST, Apart
from emq_sql.worker.processes.pool import Processes
from emq_sql.worker.records import named_worker
from emq_sql.worker.settings import WorkerSettings
from emq_sql.worker.sheltered import Sheltered
from emq_sql.worker.worker import MakeExecutor, Worker

log = logging.getLogger("emq_sql.service")

CONNECTIONS = 4  # the loop, the lease keeper, upkeep and the bell; handlers have their own
SELF_TEST = 3.0  # seconds in which it should be known whether the bell is heard
_NO_PROBES = Probes()


def run_service(
    connect: Callable[[], psycopg.Connection[Any]],
    schema: str,
    handlers: Mapping[str, Handler],
    settings: WorkerSettings,
    environment: str | None,
    probes: Probes = _NO_PROBES,
    child: Sequence[str] | None = None,
    listen: Connect | bool = True,
    engine: Engine | Callable[[], Engine] | None = None,
) -> int:
    """Work until SIGTERM, SIGINT or SIGHUP (or, in a burst, until the queues are empty); the exit
    code.

    The first signal ends the claiming and lets handlers run on for `settings.grace`, the second
    releases what is held at once. 0: everything was settled or released; 1: the database could not
    be reached for that (the leases end by themselves), or kept refusing, or a control loop could
    not be kept alive, or something hung for `signals.LAST_PATIENCE` seconds after the grace. When
    handlers still run at the end, the process is ended here, since nothing else could end their
    threads; so it is when what was logged or printed finds no reader.
    `child` is the command that starts a child process: a program that calls `run_child` with the
    same handlers. With `settings.processes` all jobs run there; without, those that may not be lost
    once more, so that what kills its process takes none of them along. Left out, they do not.
    `listen` gives the connection that hears the bell; true: `connect` does. A burst needs none.
    Whether the bell is heard is found out before the first claim, which takes a moment.
    `engine` is where `job.transaction()` and `job.outcome()` get their connections.
    Raises, before anything is claimed, BadSetting for the probes, a missing `child`, missing rights
    or a pooler of statements, SchemaMissing, SchemaTooOld or SchemaTooNew, EnvironmentMismatch, or
    a DatabaseTrouble. Belongs into the main thread, which gets the signals.
    """
    with closing(probes.opened(settings.poll)) as health:
        server = checked(connect, schema, environment)
        effects = DatabaseEffects(schema, engine)
        worker = Worker(
            connect, schema, handlers, settings, effects,
            _executor(settings, child, effects, lambda: worker),
        )  # fmt: skip
        named_worker(worker.name)
        upkeep = _upkeep(connect, schema, worker)
        bell = _bell(connect, listen, schema, settings, worker, upkeep)
        connections = CONNECTIONS if bell else CONNECTIONS - 1
        known = facts(server, schema, settings, worker.name, connections)
        loops = [
            Loop("upkeep", upkeep, worker.pulse, worker.fail),
            *([Loop("bell", bell, worker.pulse, worker.fail)] if bell else []),
            *health.loops(known, worker.pulse, worker.fail),
        ]
        code = _run(worker, loops, settings, known, bell)
    log.info("worker %s has ended, exit code %d", worker.name, code)
    if worker.hanging:
        log.warning("%d handlers still run; the process ends without them", worker.hanging)
    if not flushed() or worker.hanging:
        leave(code)
    return code


def _executor(
    settings: WorkerSettings,
    child: Sequence[str] | None,
    effects: Effects,
    host: Callable[[], Worker],
) -> MakeExecutor | None:
    slots, most_jobs = settings.processes, settings.max_jobs_per_child
    if slots is None:
        return None if not child else partial(_sheltered, settings.slots, child, effects, host)
    if not child:
        what = f"processes is {slots}, and no command is given that starts a child."
        raise BadSetting(what, hint="Give run_service its child, or leave processes out.")
    return lambda held, ended: Processes(child, slots, held, ended, host, most_jobs)


def _sheltered(
    slots: int, child: Sequence[str], effects: Effects, host: Callable[[], Worker],
    held: Held, ended: Ended,
) -> Executor:  # fmt: skip
    near = InProcess(slots, held, effects, ended)
    apart = Apart(child, min(slots, MOST), held, ended, host, near.submit)
    return Sheltered(near, apart, held)


def _run(
    worker: Worker, loops: list[Loop], settings: WorkerSettings, known: Facts, bell: Bell | None
) -> int:
    code = 0
    with obeyed(worker, settings.grace.total_seconds()):
        try:
            for loop in loops:
                loop.start()
            heard = "off" if bell is None else "heard" if bell.settled(SELF_TEST) else "not heard"
            log.info("%s, bell %s", first_line(known, settings), heard)
            worker.run()
        except EmqError as error:
            log.error("the worker ends: %s", error)
            code = 1
        except Exception:
            log.exception("the worker ends, and should not have: what follows is a bug")
            code = 1
        finally:
            for seconds in (0.0, 5.0):  # all are told before one is waited for
                for loop in loops:
                    loop.stop(seconds)
    return code if worker.released_all else 1


def _upkeep(connect: Connect, schema: str, worker: Worker) -> Maintenance:
    return Maintenance(
        connect, schema, who=worker.name, beat=partial(worker.pulse.beat, "upkeep"),
        around=partial(worker.pulse.asking, "upkeep"), moved=worker.wake,
    )  # fmt: skip


def _bell(
    connect: Connect, listen: Connect | bool, schema: str, settings: WorkerSettings,
    worker: Worker, upkeep: Maintenance,
) -> Bell | None:  # fmt: skip
    if listen is False or settings.burst:
        return None
    listening = Link(
        connect if listen is True else listen, f"emq bell {worker.name}",
        around=partial(worker.pulse.asking, "bell"),
    )  # fmt: skip
    queues = settings.queues
    bell = Bell(
        listening, schema, queues, worker.wake, worker.pulse, upkeep.errand, worker.rung_for
    )
    worker.hear(bell)
    return bell
