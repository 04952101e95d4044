"""Any name that a file may have survives as JSON and as text of the database."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emq_sql.demo.paths import real, shown, written
from emq_sql.rules import payload

PATHS = st.one_of(
    st.binary().filter(lambda path: b"\0" not in path),
    st.lists(
        st.sampled_from([b"\\", b"\\x", b"\\\\", b"41", b"\xff", b"\xed\xa0\x80", "é".encode()])
    ).map(b"".join),
)


@given(PATHS)
def test_a_written_path_leads_back_to_the_same_bytes(path: bytes) -> None:
    assert real(written(path)) == path


@given(PATHS, PATHS)
def test_two_paths_are_never_written_alike(one: bytes, two: bytes) -> None:
    assert (written(one) == written(two)) == (one == two)


@given(PATHS)
def test_a_written_path_is_a_valid_argument_of_a_job(path: bytes) -> None:
    _, kwargs = payload.decode(json.loads(payload.encode((), {"path": written(path)})))
    assert real(kwargs["path"]) == path


@given(st.text())
def test_what_is_shown_is_one_printable_line(text: str) -> None:
    assert shown(text).isprintable()
    assert len(shown(text)) <= 60


@pytest.mark.parametrize("path", [b"/usr/lib/abc.py", "/home/grüße/☃.md".encode()])
def test_an_ordinary_path_is_written_as_it_is(path: bytes) -> None:
    assert written(path) == path.decode()
