"""Worker processes by fork from one that has imported everything, so that a start costs little.

They are processes like any other, with signals, connections and an exit of their own; the one that
forks them runs no thread and opens no connection. It is `python -m tests.faults.forking module ...`
(each module has its HANDLERS), reads an order a line, and kills what is left when its input ends.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import psycopg

from emq_sql.protocol import connecting
from emq_sql.service import run_service
from emq_sql.worker.handler import Handler
from emq_sql.worker.settings import WorkerSettings
from tests.faults.child import handlers_of
from tests.faults.processes import PATIENCE, ROOT, Field, wait_for
from tests.faults.runner import SECONDS, end_with_parent

LOOK_EVERY = 0.005


class Forked:
    """One worker process; its log is in a file."""

    def __init__(self, nursery: Nursery, pid: int, log: Path) -> None:
        self._nursery = nursery
        self.pid = pid
        self.log = log
        self.code: int | None = None

    def poll(self) -> int | None:
        """The exit code, negative for the signal that ended it; None while it runs."""
        if self.code is None:
            self.code = self._nursery.ask({"ended": self.pid})["code"]
        return self.code

    def send(self, number: int) -> None:
        """A signal, unless it has ended: its pid may be somebody else's by then."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def wait(self, seconds: float = PATIENCE) -> int:
        """Its exit code."""
        until = time.monotonic() + seconds
        while (code := self.poll()) is None:
            assert time.monotonic() < until, f"{self.pid} has not ended:\n{self.said()}"
            time.sleep(LOOK_EVERY)
        return code

    def said(self) -> str:
        return self.log.read_text() if self.log.exists() else ""

    def close(self) -> None:
        self.send(signal.SIGKILL)
        self.wait()


class Nursery:
    """The process that forks; `start` gives a worker that runs."""

    def __init__(self, *modules: str, environ: Mapping[str, str] | None = None) -> None:
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.forking", *modules],
            cwd=ROOT, env={**os.environ, **(environ or {})}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip

    def start(
        self, dsn: str, log: Path, environ: Mapping[str, str] | None = None, **settings: Any
    ) -> Forked:
        """A worker with these settings; times are seconds."""
        given = {"poll": 0.1, "grace": 10, **settings}
        order = {"dsn": dsn, "log": str(log), "environ": dict(environ or {}), "settings": given}
        return Forked(self, int(self.ask(order)["pid"]), log)

    def ask(self, order: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()
            answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def close(self) -> None:
        """End it and all that it has forked."""
        self._process.communicate()


class ForkedField(Field):
    """A field whose workers are forked; `nursery` has to be set before the first."""

    nursery: Nursery

    def start(self, environ: dict[str, str] | None = None, **settings: Any) -> Any:
        log = self.logs / f"worker{len(self.workers)}.log"
        worker: Any = self.nursery.start(settings.pop("dsn", self.dsn), log, environ, **settings)
        self.workers.append(worker)
        return worker

    def until_working(self, worker: Forked) -> None:
        """Until it is shown in the register of workers."""
        mine = "select exists (select from emq.worker where name like %s)"
        wait_for(lambda: self.one(mine, f"%:{worker.pid}:%"), "the worker is there", self)


def main(modules: list[str]) -> None:
    handlers = handlers_of(modules)
    children: set[int] = set()
    for line in sys.stdin:
        order = json.loads(line)
        if "ended" in order:
            answer = {"code": _code_of(order["ended"], children)}
        else:
            pid = os.fork()
            if not pid:
                _become(order, handlers, modules)
            children.add(pid)
            answer = {"pid": pid}
        print(json.dumps(answer), flush=True)
    for pid in children:
        os.kill(pid, signal.SIGKILL)


def _code_of(pid: int, children: set[int]) -> int | None:
    ended, status = os.waitpid(pid, os.WNOHANG)
    if not ended:
        return None
    children.discard(pid)
    return os.waitstatus_to_exitcode(status)


def _become(order: dict[str, Any], handlers: Mapping[str, Handler], modules: list[str]) -> NoReturn:
    code = 70
    try:
        os.setsid()
        log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.environ.update(order["environ"], EMQ_DSN=order["dsn"])
        code = _serve(order["settings"], handlers, modules)
    except BaseException:
        traceback.print_exc()
    finally:
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _serve(given: dict[str, Any], handlers: Mapping[str, Handler], modules: list[str]) -> int:
    environment, listen = given.pop("environment", None), given.pop("listen", None)
    bell = given.pop("bell", True)
    has_children = given.pop("apart", False) or "processes" in given
    given["queues"] = tuple(given.get("queues", ["default"]))
    for name in SECONDS:
        if given.get(name) is not None:
            given[name] = timedelta(seconds=given[name])
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s")
    threading.Thread(target=end_with_parent, args=(os.getppid(),), daemon=True).start()
    engine = connecting.engine_for(os.environ["EMQ_DSN"])
    child = [sys.executable, "-m", "tests.faults.child", *modules]
    return run_service(
        lambda: connecting.dedicated(engine), "emq", handlers, WorkerSettings(**given), environment,
        child=child if has_children else None,
        listen=partial(psycopg.connect, listen, autocommit=True) if listen else bell,
        engine=engine,
    )  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])
