"""What goes wrong with a file is part of the answer, and never raised."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emq_sql.demo import measuring
from emq_sql.demo.measuring import Measured, measure


def test_a_file_that_is_gone_is_an_error(tmp_path: Path) -> None:
    found = measure(os.fsencode(tmp_path / "gone"))
    assert found == Measured(error="FileNotFoundError: No such file or directory")


@pytest.mark.parametrize("kind", ["directory", "pipe", "link"])
def test_what_took_the_place_of_a_file_is_an_error_and_does_not_block(
    kind: str, tmp_path: Path
) -> None:
    path = tmp_path / "it.py"
    if kind == "directory":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(__file__)
    found = measure(os.fsencode(path))
    assert found.error is not None
    assert found.sha256 is None


@pytest.mark.skipif(sys.platform != "linux", reason="needs a file that opens and does not read")
def test_a_file_that_fails_while_it_is_read_is_an_error() -> None:
    assert measure(b"/proc/self/mem").error == "OSError: Input/output error"


def test_a_source_that_is_too_large_is_measured_and_not_parsed(tmp_path: Path) -> None:
    path = tmp_path / "large.py"
    path.write_bytes(b"x = 1\n" * (measuring.LARGEST_PARSED // 6 + 1))
    found = measure(os.fsencode(path))
    assert found.lines == measuring.LARGEST_PARSED // 6 + 1
    assert (found.functions, found.error) == (None, None)


def test_a_source_that_nests_too_deep_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "deep.py"
    path.write_bytes(b"(" * 5000 + b")" * 5000)
    found = measure(os.fsencode(path))
    assert found.error is not None
    assert found.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


@given(content=st.binary(max_size=200), name=st.sampled_from(["a.txt", "a.py"]))
def test_whatever_is_in_it_a_file_is_measured(
    content: bytes, name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / f"measured-{os.getpid()}-{name}"
    path.write_bytes(content)
    found = measure(os.fsencode(path))
    assert (found.size, found.sha256) == (len(content), hashlib.sha256(content).hexdigest())
    assert found.error is None or name == "a.py"
    assert "\0" not in (found.error or "")
    (found.error or "").encode()


@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 1000, 300_000])
def test_slow_and_fast_find_the_same(size: int, tmp_path: Path) -> None:
    path = tmp_path / "it"
    path.write_bytes(os.urandom(size))
    assert measure(os.fsencode(path), pause=0.0001) == measure(os.fsencode(path))
