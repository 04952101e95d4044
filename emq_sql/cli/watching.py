"""Says on standard error what a command waits for, when it waits for long."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import click

from emq_sql.errors import EmqError
from emq_sql.protocol import activity, connecting
from emq_sql.protocol.activity import InTheWay
from emq_sql.protocol.bounded import BoundedConnection
from emq_sql.rules.printable import on_one_line

SOON = 3.0  # seconds after which somebody may be in the way
_LOOK_EVERY = 0.5
_ASK = 5.0  # seconds for the question who that is


@contextmanager
def watched(conn: BoundedConnection, dsn: str) -> Iterator[None]:
    """In this block a statement that waits for somebody's open transaction has it told whose, once;
    and one that may take longer than usual has it told when it does.
    """
    over = threading.Event()
    watch = threading.Thread(
        target=_watch, args=(conn, conn.info.backend_pid, dsn, over), name="emq-watch", daemon=True
    )
    watch.start()
    try:
        yield
    finally:
        over.set()


def _watch(conn: BoundedConnection, pid: int, dsn: str, over: threading.Event) -> None:
    usual = conn.limit
    told = asked = -1
    while not over.wait(_LOOK_EVERY):
        statement, seconds = conn.waiting
        if seconds > min(SOON, usual / 2) and asked != statement:
            asked = statement
            for one in _in_the_way(pid, dsn):
                if conn.waiting[0] == statement and not over.is_set():
                    click.echo(f"emq: waiting for {_said(one)}", err=True)
        if seconds > usual and conn.limit > usual and told != statement:
            told = statement
            click.echo(f"emq: no answer for {usual:g} s yet; {_goes_on(conn.limit)}", err=True)


def _in_the_way(pid: int, dsn: str) -> list[InTheWay]:
    with suppress(EmqError):
        conn = connecting.bounded(dsn, _ASK)
        try:
            return activity.in_the_way(conn, pid)
        finally:
            conn.close()
    return []


def _goes_on(limit: float) -> str:
    if limit == float("inf"):
        return "this may rightly take long and is not cut short. Ctrl-C ends it."
    return f"this is given up after {limit:g} s."


def _said(one: InTheWay) -> str:
    if not one.pid:
        return "a prepared transaction (pg_prepared_xacts)."
    known = [one.role, one.application, one.state]
    if one.seconds is not None:
        known.append(f"its transaction is open for {one.seconds:.0f} s")
    listed = ", ".join(on_one_line(word) for word in known if word)
    return f"process {one.pid} of the server{f' ({listed})' if listed else ''}."
