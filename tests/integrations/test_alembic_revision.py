"""`emq alembic revision`: written from the application's history, with numbers that stay."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory

from emq_sql.protocol import steps
from tests.integrations.an_app import ROOT, App
from tests.integrations.catalog import catalog
from tests.plugins.databases import Database

NEWEST = steps.newest()


@dataclass
class Home:
    """The folder of an application as `alembic init` made it."""

    folder: Path
    ini: str = "alembic.ini"
    scripts: str = "alembic"

    def emq(self, *words: str) -> subprocess.CompletedProcess[str]:
        """`emq alembic revision` there, without a database."""
        env = {key: value for key, value in os.environ.items() if key != "EMQ_DSN"}
        return subprocess.run(
            [sys.executable, "-m", "emq_sql", "alembic", "revision", *words],
            cwd=self.folder, env=env | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
            timeout=60, check=False,
        )  # fmt: skip

    def wrote(self, *words: str) -> dict[str, object]:
        done = self.emq("--json", *words)
        assert done.returncode == 0, done.stderr
        said: dict[str, object] = json.loads(done.stdout)
        return said

    def refused(self, *words: str) -> str:
        """What it says; it must write nothing."""
        before = self.files()
        done = self.emq(*words)
        assert done.returncode in (1, 2), done.stdout
        assert "Traceback" not in done.stderr, done.stderr
        assert self.files() == before
        return done.stderr

    def files(self) -> set[Path]:
        return set((self.folder / self.scripts / "versions").glob("*.py"))

    def script(self) -> ScriptDirectory:
        config = Config()
        config.set_main_option("script_location", str(self.folder / self.scripts))
        return ScriptDirectory.from_config(config)

    def revision(self, name: str, down: str | None, body: str, head: str = "") -> None:
        """Write one by hand."""
        text = f"""
        from alembic import op
        {head or "from emq_sql.integrations.alembic import downgrade_emq, upgrade_emq"}

        revision, down_revision = {name!r}, {down!r}

        def upgrade():
            {body}

        def downgrade():
            pass
        """
        path = self.folder / self.scripts / "versions" / f"{name}.py"
        path.write_text(dedent(text))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "with space")
    home.folder.mkdir()
    _init(home, "generic")
    return home


def _init(home: Home, template: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "alembic", "init", "-t", template, home.scripts],
        cwd=home.folder, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_the_first_one_leads_from_nothing_to_the_newest_step(home: Home) -> None:
    made = home.wrote("-m", "jobs in our database")
    assert (made["from"], made["to"], made["after"]) == (0, NEWEST, None)
    text = Path(str(made["path"])).read_text()
    assert f"upgrade_emq(op, from_version=0, to_version={NEWEST})" in text
    assert f"downgrade_emq(op, from_version={NEWEST}, to_version=0)" in text
    assert "jobs in our database" in text
    assert home.script().get_heads() == [made["revision"]]


def test_the_next_one_begins_where_the_newest_of_the_history_ended(home: Home) -> None:
    first = home.wrote("--to", "2")
    home.revision("orders", str(first["revision"]), "op.execute('select 1')")
    second = home.wrote("--to", "4")
    assert (second["from"], second["to"], second["after"]) == (2, 4, "orders")
    third = home.wrote()
    assert (third["from"], third["to"], third["after"]) == (4, NEWEST, second["revision"])
    assert home.script().get_heads() == [third["revision"]]


def test_people_are_told_what_was_written(home: Home) -> None:
    done = home.emq()
    assert done.returncode == 0, done.stderr
    (path,) = home.files()
    assert str(path) in done.stdout
    assert f"from version 0 to {NEWEST}" in done.stdout


def test_nothing_is_written_when_there_is_nothing_to_do(home: Home) -> None:
    home.wrote()
    assert f"leads to version {NEWEST} already" in home.refused()
    assert "leads to version" in home.refused("--to", "3")


def test_nothing_is_written_over_several_heads(home: Home) -> None:
    first = str(home.wrote("--to", "2")["revision"])
    home.revision("left", first, "pass")
    home.revision("right", first, "pass")
    said = home.refused()
    assert "2 heads: left, right" in said and "alembic merge" in said


def test_after_the_heads_are_merged_it_goes_on(home: Home) -> None:
    first = str(home.wrote("--to", "2")["revision"])
    home.revision("left", first, "upgrade_emq(op, 2, 3)")
    home.revision("right", first, "pass")
    home.revision("both", None, "pass")
    path = home.folder / home.scripts / "versions" / "both.py"
    path.write_text(path.read_text().replace("'both', None", "'both', ('left', 'right')"))
    assert home.wrote()["from"] == 3


@pytest.mark.parametrize(
    ("body", "head"),
    [
        ("upgrade_emq(op, 0, 3)", ""),
        ("upgrade_emq(op, to_version=3, from_version=0)", ""),
        ("upgrade_emq(op, 0, 2); upgrade_emq(op, 2, 3)", ""),
        ("upgrade_emq(op, 0, 5); downgrade_emq(op, 5, 3)", ""),
        ("jobs.upgrade_emq(op, 0, 3)", "from emq_sql.integrations import alembic as jobs"),
        ("up(op, 0, 3)", "from emq_sql.integrations.alembic import upgrade_emq as up"),
        ("upgrade_emq(op, 0, 3); upgrade_emq(op, 0, 4, schema='jobs')", ""),
    ],
)
def test_each_way_to_call_the_helper_is_understood(home: Home, body: str, head: str) -> None:
    home.revision("ours", None, body, head)
    assert home.wrote("--to", "5")["from"] == 3


def test_numbers_that_are_not_written_out_are_refused_unless_they_are_said(home: Home) -> None:
    home.revision("ours", None, "to = 3; upgrade_emq(op, 0, to)")
    said = home.refused()
    assert "ours.py, line" in said and "--from" in said
    assert home.wrote("--from", "3", "--to", "4")["from"] == 3


def test_a_from_that_contradicts_the_history_is_refused(home: Home) -> None:
    made = home.wrote("--to", "4")
    assert f"{made['revision']} leads to 4" in home.refused("--from", "3")
    assert home.wrote("--from", "4")["from"] == 4


def test_each_schema_has_a_history_of_its_own(home: Home) -> None:
    home.wrote()
    made = home.wrote("--schema", "billing", "--to", "2")
    assert made["from"] == 0
    assert 'to_version=2, schema="billing")' in Path(str(made["path"])).read_text()
    assert home.wrote("--schema", "billing")["from"] == 2


def test_a_history_beside_flask_migrates_configuration_is_found(home: Home) -> None:
    """Its alembic.ini lies with the revisions and does not say where they are."""
    scripts = home.folder / "migrations"
    (home.folder / "alembic").rename(scripts)
    (home.folder / "alembic.ini").unlink()
    (scripts / "alembic.ini").write_text("[alembic]\n\n[loggers]\nkeys = root\n")
    home.scripts = "migrations"
    made = home.wrote()
    assert Path(str(made["path"])).parent == scripts / "versions"
    assert home.script().get_heads() == [made["revision"]]


def test_a_history_that_pyproject_names_is_found(tmp_path: Path) -> None:
    home = Home(tmp_path)
    _init(home, "pyproject")
    assert home.wrote("--to", "2")["from"] == 0
    assert home.wrote("--config", "alembic.ini", "--to", "3")["from"] == 2
    (tmp_path / "alembic.ini").unlink()
    assert home.wrote("--config", "pyproject.toml")["from"] == 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--config", "nowhere.ini"), "There is no file nowhere.ini"),
        (("--to", "99"), "no schema version 99"),
        (("--from", "-1"), "no schema version -1"),
        (("--schema", "No"), "EMQ101"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(
    home: Home, words: tuple[str, ...], said: str
) -> None:
    assert said in home.refused(*words)


def test_without_a_configuration_it_says_where_it_looked(tmp_path: Path) -> None:
    (tmp_path / "versions").mkdir()
    assert "no migrations/alembic.ini here" in Home(tmp_path, scripts=".").refused()


def test_without_alembic_it_says_what_to_install(home: Home) -> None:
    code = (
        "import sys; sys.modules['alembic'] = None;"
        "from emq_sql.cli.main import main; main(['alembic', 'revision'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=home.folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "pip install 'emq-sql[alembic]'" in done.stderr
    assert home.files() == set()


@pytest.mark.parametrize("part", ["imports", "upgrades"])
def test_a_template_without_a_place_for_it_leaves_no_file(home: Home, part: str) -> None:
    template = home.folder / home.scripts / "script.py.mako"
    text = template.read_text()
    template.write_text(text.replace(f'${{{part} if {part} else ""}}', "")
                            .replace(f'${{{part} if {part} else "pass"}}', "pass"))  # fmt: skip
    assert template.read_text() != text
    assert "script.py.mako" in home.refused()


def test_a_history_with_a_hole_is_told_in_a_sentence(home: Home) -> None:
    home.revision("lost", "nobody", "pass")
    assert "A revision follows 'nobody', which is not in the history" in home.refused()


def test_a_revision_that_cannot_be_imported_is_told_with_its_traceback(home: Home) -> None:
    home.revision("broken", None, "pass", "import a_module_of_nobody")
    done = home.emq()
    assert done.returncode == 1
    assert "EMQ603" in done.stderr and 'broken.py", line' in done.stderr
    assert [path.name for path in home.files()] == ["broken.py"]


def test_what_it_writes_leads_a_database_there_and_back(
    empty_db: Database, db: Database, tmp_path: Path
) -> None:
    app = App(tmp_path / "app", empty_db.dsn)
    (tmp_path / "alembic.ini").write_text("[alembic]\nscript_location = %(here)s/app\n")
    template = tmp_path / "app" / "script.py.mako"
    template.write_text(template.read_text().replace("import sqlalchemy as sa", "${imports}"))
    home = Home(tmp_path, scripts="app")
    home.wrote("--to", "4")
    home.wrote()
    command.upgrade(app.config(), "head")
    assert catalog(empty_db.connect()) == catalog(db.connect())
    command.downgrade(app.config(), "-1")
    assert steps.current(empty_db.connect()) == 4
    command.downgrade(app.config(), "base")
    assert not any(catalog(empty_db.connect()).values())
