"""The application of the rolling deploy, for the release before and for this one.

`python -m tests.upgrade.rolling_app N` adds orders with their jobs, until the folder has `stop-N`.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

from sqlalchemy import Connection, create_engine, text
from sqlalchemy.orm import Session

from emq_sql import EMQ, Job

RELEASE = os.environ["ROLLING_RELEASE"]
DSN = os.environ["EMQ_DSN"]
FEW = 60  # jobs that may wait, so that there is load to the end and no mountain

emq = EMQ(DSN)
engine = create_engine(DSN.replace("postgresql://", "postgresql+psycopg://", 1), pool_size=2)


def end_with_parent(parent: int) -> None:
    """Nothing outlives a test run that was killed."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(9)


threading.Thread(target=end_with_parent, args=(os.getppid(),), daemon=True).start()


def effect(connection: Connection | Session, job: Job) -> None:
    """What the job is there for."""
    values = {"job": job.id, "task": job.task, "release": RELEASE, "pid": os.getpid()}
    connection.execute(text("insert into effect values (:job, :task, :release, :pid)"), values)


@emq.task(takes_context=True)
def guarded(job: Job) -> None:
    """A commit of the handler's own: the guard goes with it."""
    with engine.begin() as connection:
        effect(connection, job)


@emq.task(takes_context=True)
def settled(job: Job) -> None:
    """The effect and the end of the run in one transaction."""
    with job.transaction() as session:
        effect(session, job)


@emq.task(takes_context=True)
def once(job: Job) -> None:
    """An effect with a key in the inbox."""
    with job.transaction() as session:
        if job.once(f"order {job.id}", session):
            effect(session, job)


@emq.task(takes_context=True)
def delayed(job: Job) -> None:
    """Runs twice: the first time it puts itself off."""
    asked = text("select count(*) from effect where job = :job")
    with engine.begin() as connection:
        seen = connection.scalar(asked, {"job": job.id})
        if not seen:
            effect(connection, job)
    if not seen:
        job.snooze(0.05)


TASKS = (guarded, settled, once, delayed)


def main(name: str) -> None:
    """An order and its job in one transaction, one after the other."""
    stop = Path(os.environ["ROLLING_FOLDER"]) / f"stop-{name}"
    n = 0
    while not stop.exists():
        with Session(engine) as session, session.begin():
            added = TASKS[n % len(TASKS)].using(session=session).enqueue()
            session.execute(text("insert into orders (job) values (:job)"), {"job": added.id})
        n += 1
        while waiting() > FEW and not stop.exists():
            time.sleep(0.01)
    emq.flush_rings()


def waiting() -> int:
    """Orders without an effect yet."""
    with engine.connect() as connection:
        return int(connection.scalar(text(
            "select (select count(*) from orders) - (select count(distinct job) from effect)"
        )) or 0)  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1])
