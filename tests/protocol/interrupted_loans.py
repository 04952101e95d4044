"""A process that borrows a connection again and again, and is interrupted at each line of that.

`python -m tests.protocol.interrupted_loans DSN` prints at how many lines it was; it fails when an
application's next transaction on the same pool cannot be rolled back any more.
"""

from __future__ import annotations

import gc
import sys
from contextlib import suppress
from types import FrameType
from typing import Any

import sqlalchemy
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import text
from sqlalchemy.engine import Engine
from sqlalchemy.orm import Session

from emq_sql.protocol import connecting

PLACES = ("borrowed", "_checked_out", "_take_over", "_give_back", "_as_it_was")


def an_engine(dsn: str, **given: Any) -> Engine:
    return sqlalchemy.create_engine(
        "postgresql+psycopg://", connect_args=conninfo_to_dict(dsn), **given
    )


def of_one(dsn: str) -> Engine:
    """An application's engine whose pool keeps one connection: what comes back is lent next."""
    return an_engine(dsn, pool_size=1, max_overflow=-1)


def rolls_back(engine: Engine) -> bool:
    """Whether a Session of the application's, on the same pool, can still take back what it did."""
    with Session(engine) as session:
        session.execute(text("insert into orders values (1)"))
        session.rollback()
        return session.execute(text("select count(*) from orders")).scalar_one() == 0


class Interrupt:
    """A KeyboardInterrupt before the k-th line of ours that runs in `connecting`."""

    def __init__(self, k: int) -> None:
        self.left = k

    def __enter__(self) -> None:
        sys.settrace(self._call)

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _call(self, frame: FrameType, _event: str, _arg: Any) -> Any:
        ours = frame.f_code.co_filename == connecting.__file__
        return self._line if ours and frame.f_code.co_name in PLACES else None

    def _line(self, frame: FrameType, kind: str, _arg: Any) -> Any:
        if kind == "line":
            self.left -= 1
            if self.left == 0:
                sys.settrace(None)
                raise KeyboardInterrupt(f"{frame.f_code.co_name}:{frame.f_lineno}")
        return self._line


def main(dsn: str) -> None:
    engine = of_one(dsn)
    k = 0
    while True:
        k += 1
        interrupt = Interrupt(k)
        with suppress(KeyboardInterrupt), interrupt, connecting.borrowed(engine) as conn:
            conn.execute("select 1")
        gc.collect()
        if not rolls_back(engine):
            sys.exit(f"After an interrupt at line {k} the application has autocommit.")
        if interrupt.left > 0:
            break
    print(k)


if __name__ == "__main__":
    main(sys.argv[1])
