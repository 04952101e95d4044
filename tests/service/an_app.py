"""The application of these tests: tasks whose ends the test decides by files in its folder."""

from __future__ import annotations

import asyncio
import json
import logging
import logging.config
import os
import signal
import sys
import threading
import time
from pathlib import Path

from emq_sql import EMQ, Job
from emq_sql.upkeep.maintenance import Maintenance
from emq_sql.worker import loops
from emq_sql.worker.bell import Bell
from emq_sql.worker.keeper import Keeper
from emq_sql.worker.watch import Watch

emq = EMQ(os.environ["EMQ_DSN"], environment=os.environ.get("AN_APP_ENVIRONMENT"))
folder = Path(os.environ["AN_APP_FOLDER"])


def end_with_parent(parent: int) -> None:
    """No worker outlives a test run that was killed."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(9)


class Blocks(logging.Handler):
    """Hangs in the thread that logs a record with this text, for as long as a file is there."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def emit(self, record: logging.LogRecord) -> None:
        while self._text in record.getMessage() and (folder / "block").exists():
            time.sleep(0.02)


if configured := os.environ.get("AN_APP_LOGGING"):
    logging.config.dictConfig(json.loads(configured))
threading.Thread(target=end_with_parent, args=(os.getppid(),), daemon=True).start()
if text := os.environ.get("AN_APP_BLOCKS_ON"):
    logging.getLogger().addHandler(Blocks(text))


LOOPS = {"bell": Bell, "keeper": Keeper, "upkeep": Maintenance, "watch": Watch}


def break_loop(name: str, times: int) -> None:
    """The body of this loop raises so many times, when a file says so, before it runs."""
    body = LOOPS[name]
    run, left = body.run, [times]

    def breaks(self: object) -> None:
        if left[0]:
            while not (folder / "break").exists():
                time.sleep(0.02)
            left[0] -= 1
            raise RuntimeError("broken on purpose")
        run(self)  # type: ignore[arg-type]

    body.run = breaks  # type: ignore[method-assign]


if broken := os.environ.get("AN_APP_BREAKS"):
    loops.MOST_FAILURES = 4
    break_loop(broken, int(os.environ["AN_APP_BREAKS_TIMES"]))


def waits_for(name: str, job: Job | None = None) -> str:
    while not (folder / name).exists():
        if job is not None and job.wait_cancelled(0.02):
            return "was told to stop"
        time.sleep(0.02)
    return "went"


@emq.task(takes_context=True)
def hold(job: Job, key: str = "go") -> str:
    """Until the file is there, or until it is told to stop."""
    (folder / f"started-{job.id}-{job.attempts}").touch()
    return waits_for(key, job)


@emq.task(takes_context=True)
def deaf(job: Job, key: str = "go") -> str:
    """The same, and never asks whether it should stop."""
    (folder / f"started-{job.id}-{job.attempts}").touch()
    return waits_for(key)


@emq.task
def says(text: str) -> None:
    """Logs as an application does."""
    logging.getLogger("shop.mail").warning("says %s", text)


@emq.task
def says_of_another(text: str) -> None:
    """The same, with a field of its own that is named like one of ours."""
    logging.getLogger("shop.mail").warning("says %s", text, extra={"job_id": "print job 7"})


@emq.task
async def says_on_the_loop(text: str) -> None:
    """The same, in a coroutine and in a thread that it waits for."""
    await asyncio.sleep(0)
    await asyncio.to_thread(logging.getLogger("shop.mail").warning, "says %s", text)


@emq.task
def prints(text: str) -> None:
    """Prints, and leaves word of what the standard streams are."""
    print(text, end="")
    print(text, file=sys.stderr)
    places = [str(Path(f"/dev/fd/{fd}").resolve()) for fd in range(3)]
    (folder / "streams").write_text(" ".join(places))


@emq.task
def prints_a_little(text: str) -> None:
    """So little that it stays in the buffer."""
    print(text, end="")


@emq.task
def closes_the_streams(text: str) -> None:
    """Leaves nothing open that is everybody's, and logs."""
    sys.stdout.close()
    sys.stderr.close()
    logging.shutdown()
    logging.getLogger("shop.mail").warning("says %s", text)


@emq.task(max_attempts=1)
def dies(text: str) -> None:
    """Its last words are in the log."""
    logging.getLogger("shop.mail").warning("says %s", text)
    os.kill(os.getpid(), signal.SIGKILL)


@emq.task(takes_context=True, backoff=3600)
def fails(job: Job, text: str) -> None:
    """Raises with any text."""
    raise ValueError(text)


@emq.task(takes_context=True)
def dies_once(job: Job) -> int:
    """Kills its process, and says the next time which one it has."""
    if not job.stalled:
        os.kill(os.getpid(), signal.SIGKILL)
    return os.getpid()
