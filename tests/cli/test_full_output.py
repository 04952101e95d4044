"""Output that finds no room ends every command with one sentence; without a reader, silently."""

from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path

import pytest

from emq_sql.cli.streams import told_when_full
from tests.cli.conftest import COMMAND, PATIENCE, ROOT, Emq

FULL = Path("/dev/full")
pytestmark = pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")

COMMANDS = pytest.mark.parametrize(
    "words",
    [
        ["refusals"], ["refusals", "--count", "--json"], ["queues"], ["settings", "show"],
        ["dead", "list"], ["schema", "current"], ["doctor"], ["archive", "days"],
        ["--help"], ["--version"], ["lab", "--help"],
    ],
    ids=" ".join,
)  # fmt: skip
BUFFERED = pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])


def run(emq: Emq, words: list[str], unbuffered: str, **streams: int) -> tuple[int, str]:
    done = subprocess.run(
        [*COMMAND, *words], cwd=ROOT, env=emq.env(PYTHONUNBUFFERED=unbuffered),
        stdin=subprocess.DEVNULL, encoding="utf-8", timeout=PATIENCE, check=False,
        **({"stderr": subprocess.PIPE} | streams),
    )  # fmt: skip
    return done.returncode, done.stderr or ""


@BUFFERED
@COMMANDS
def test_a_full_disk_is_told_in_one_sentence(emq: Emq, words: list[str], unbuffered: str) -> None:
    with FULL.open("wb") as full:
        code, said = run(emq, words, unbuffered, stdout=full.fileno())
    assert (code, said) == (1, "emq: the output cannot be written: No space left on device\n")


@BUFFERED
def test_where_nothing_can_be_said_the_exit_code_says_it(emq: Emq, unbuffered: str) -> None:
    with FULL.open("wb") as full:
        both = {"stdout": full.fileno(), "stderr": full.fileno()}
        assert run(emq, ["refusals"], unbuffered, **both) == (1, "")
        assert run(emq, ["no such command"], unbuffered, **both) == (1, "")


@BUFFERED
def test_a_reader_that_has_gone_is_told_nothing(emq: Emq, unbuffered: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        assert run(emq, ["refusals"], unbuffered, stdout=writer) == (1, "")
    finally:
        os.close(writer)


def test_an_error_of_another_file_is_not_taken_for_one_of_the_output() -> None:
    full = OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(OSError, match="No space left") as caught, told_when_full():
        raise full
    assert caught.value is full
