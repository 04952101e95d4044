"""Exports to what speaks S3: against a server of its own, where there is one.

`pip install "moto[server]"` in any environment; EMQ_SQL_MOTO_SERVER names its moto_server.
(5.2.5 was tried; an older one ended uploads in a way that pyarrow does not take.)
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from pyarrow import fs

from emq_sql.errors import ExportFailed
from emq_sql.upkeep.export import checking, places
from emq_sql.upkeep.export.importing import import_day
from tests.export.days import close, exporter, filled
from tests.protocol.calls import Ledger

PATIENCE = 30.0


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URL of an empty bucket's folder."""
    program = os.environ.get("EMQ_SQL_MOTO_SERVER")
    if program is None:
        pytest.skip("EMQ_SQL_MOTO_SERVER names no moto_server")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "of-the-test")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with (tmp_path / "log").open("wb") as log:
        server = subprocess.Popen(
            [program, "-H", "127.0.0.1", "-p", str(port)], stdout=log, stderr=log
        )
    try:
        until = time.monotonic() + PATIENCE
        while True:
            try:
                urlopen(f"http://127.0.0.1:{port}/moto-api/").close()
                break
            except URLError:
                assert time.monotonic() < until, (tmp_path / "log").read_text()
                time.sleep(0.05)
        where = f"endpoint_override=127.0.0.1:{port}&scheme=http&region=us-east-1"
        system, _ = fs.FileSystem.from_uri(f"s3://history/?{where}&allow_bucket_creation=true")
        system.create_dir("history")
        yield f"s3://history/ledger/?{where}"
    finally:
        server.kill()
        server.wait()


def test_a_day_goes_to_an_object_store_and_comes_back(
    ledger: Ledger, store: str, tmp_path: Path
) -> None:
    day = filled(ledger, 10, 2500)
    close(ledger, day)
    place = places.place(store)
    work = exporter(ledger, tmp_path, day)
    work.place = place
    assert work.export() == ("exported", 2500)
    assert checking.folders(place) == [str(day)]
    names = place.names(str(day))
    assert [name.rpartition("-")[0] for name in names] == [
        "_manifest-001", "part-001-00000", "part-001-00001", "part-001-00002",
    ]  # fmt: skip
    assert [one.damage for one in checking.check_all(place, str(day))] == [None]
    assert work.export(drop=True) == ("dropped", 0)
    back = places.place(store.replace("/?", f"/{day}?"))
    done = import_day(ledger.conn, "emq", back, "history")
    assert (done.rows, done.added) == (2500, 2500)
    assert ledger.one("select location from emq.exported") == place.location
    assert "of-the-test" not in place.location


def test_a_bucket_that_is_not_there_is_a_failure_and_not_damage(
    ledger: Ledger, store: str, tmp_path: Path
) -> None:
    day = filled(ledger, 10, 100)
    close(ledger, day)
    work = exporter(ledger, tmp_path, day)
    work.place = places.place(store.replace("history", "elsewhere"))
    with pytest.raises(ExportFailed, match="could not be written"):
        work.export()
    assert ledger.one("select count(*) from emq.export_part") == 0
