"""A process is frozen between BEGIN and COMMIT of its upkeep: the others reap all the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import psycopg

from tests.faults.processes import ROOT, Field, wait_for

FREEZES = """
import os, signal
import psycopg
from emq_sql.errors import DatabaseTrouble
from emq_sql.protocol import upkeep
from emq_sql.protocol.link import Link

def maintain_and_freeze(conn):
    assert upkeep.maintain(conn, "emq").ran
    os.kill(os.getpid(), signal.SIGSTOP)

link = Link(lambda: psycopg.connect(os.environ["EMQ_DSN"], autocommit=True), "frozen")
try:
    link.call(maintain_and_freeze)
except DatabaseTrouble as error:
    print(error.code)
print(link.call(lambda conn: upkeep.maintain(conn, "emq").ran))
"""
RAN = "select ran from emq.maintain()"


def test_a_process_frozen_in_the_transaction_of_its_upkeep_stops_nobody_for_long(
    field: Field,
) -> None:
    name = field.one("select current_database()")
    field.reader.execute(
        f"alter database {name} set default_transaction_isolation = 'serializable'".encode()
    )
    frozen = subprocess.Popen(
        [sys.executable, "-c", FREEZES],
        cwd=ROOT, env={**os.environ, "EMQ_DSN": field.dsn}, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        idle = "select exists (select from pg_stat_activity where application_name = 'frozen'"
        field.until(f"{idle} and state = 'idle in transaction')")
        wait_for(lambda: os.waitid(os.P_PID, frozen.pid, STOPPED), "the process is frozen")
        with psycopg.connect(field.dsn, autocommit=True) as reaper:
            row = reaper.execute(RAN.encode()).fetchone()
            assert row == (False,)
        field.until(RAN)
        frozen.send_signal(signal.SIGCONT)
        said, _ = frozen.communicate(timeout=30)
    finally:
        frozen.kill()
        frozen.wait()
    code, ran = said.split()
    assert code in ("EMQ401", "EMQ402")
    assert ran == "True"


STOPPED = os.WSTOPPED | os.WNOHANG | os.WNOWAIT
