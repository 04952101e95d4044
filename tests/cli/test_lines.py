"""Who logs never waits for who reads, and what is lost by that is counted."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator

import pytest

from emq_sql.cli.lines import MOST_CHARACTERS, MOST_RECORDS, Lines


class Pipe:
    """A log, and its reader."""

    def __init__(self) -> None:
        self.reader, writer = os.pipe()
        self.lines = Lines(logging.Formatter("%(message)s"), writer)
        os.close(writer)
        self.log = logging.Logger("shop")  # not one that others know
        self.log.addHandler(self.lines)

    def read_until(self, text: str) -> list[str]:
        """All lines up to one with this text."""
        said = b""
        while not (said.endswith(b"\n") and text.encode() in said):
            said += os.read(self.reader, 1 << 20)
        return said.decode().splitlines()


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    pipe = Pipe()
    yield pipe
    os.close(pipe.reader)


def test_records_that_find_no_room_are_dropped_and_counted_exactly(pipe: Pipe) -> None:
    logged = 2 * MOST_RECORDS
    for number in range(logged):
        pipe.log.info("record %d", number)
    pipe.lines.flush()  # in vain: nobody reads
    said = pipe.read_until("records were dropped")
    pipe.log.info("the last one")  # there is room again
    said += pipe.read_until("the last one")
    (told,) = (line for line in said if "dropped" in line)
    dropped = int(told.split()[0])
    said.remove(told)
    assert said.pop() == "the last one"
    numbers = [int(line.removeprefix("record ")) for line in said]
    assert numbers == sorted(set(numbers))
    assert len(numbers) + dropped == logged
    assert 0 < dropped < logged


def test_large_records_find_less_room(pipe: Pipe) -> None:
    for _ in range(4):
        pipe.log.info("%s", "x" * (MOST_CHARACTERS // 2))
    assert "records were dropped" in pipe.read_until("records were dropped")[-1]


def test_a_log_is_written_after_it_was_closed_and_whatever_becomes_of_the_descriptor(
    pipe: Pipe,
) -> None:
    pipe.lines.close()
    pipe.log.info("later")
    assert pipe.read_until("later") == ["later"]


def test_a_record_that_cannot_be_formatted_is_said_to_be_one(pipe: Pipe) -> None:
    pipe.log.info("%d", "none")
    assert "cannot be formatted: '%d'" in pipe.read_until("cannot be formatted")[0]


def test_arguments_that_take_their_time_hold_up_nobody_else(pipe: Pipe) -> None:
    go = threading.Event()

    class Slow:
        def __str__(self) -> str:
            go.wait(30)
            return "slow"

    slow = threading.Thread(target=pipe.log.info, args=("%s", Slow()))
    slow.start()
    pipe.log.info("quick")
    assert pipe.read_until("quick") == ["quick"]
    go.set()
    slow.join()
    assert pipe.read_until("slow") == ["slow"]


def test_a_process_that_was_forked_writes_by_itself(pipe: Pipe) -> None:
    pipe.log.info("parent")
    pipe.read_until("parent")
    child = os.fork()
    if not child:
        pipe.log.info("child")
        os._exit(0)
    os.waitpid(child, 0)
    assert pipe.read_until("child") == ["child"]
