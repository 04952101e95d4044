"""An application with tables and an Alembic history of its own, made afresh in a folder."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from textwrap import dedent

from alembic import command
from alembic.config import Config

ROOT = Path(__file__).parents[2]

_ENV = """
from alembic import context
from sqlalchemy import Column, Integer, MetaData, Table, create_engine, pool
from emq_sql.integrations.alembic import include_name, one_at_a_time

metadata = MetaData()
Table("orders", metadata, Column("id", Integer, primary_key=True))
{tables}
settings = dict({settings})
if context.is_offline_mode():
    context.configure(dialect_name="postgresql", **settings)
    with context.begin_transaction():
        context.run_migrations()
else:
    url = context.get_x_argument(as_dictionary=True)["dsn"]
    engine = create_engine(url, poolclass=pool.NullPool)
    with engine.connect() as connection{turn}:
        context.configure(connection=connection, target_metadata=metadata, **settings)
        with context.begin_transaction():
            context.run_migrations()
"""

_REVISION = """
import sqlalchemy as sa
from alembic import op
from emq_sql.integrations.alembic import downgrade_emq, upgrade_emq

revision, down_revision = {revision!r}, {down!r}

def upgrade():
    {up}

def downgrade():
    {down_body}
"""

_MAKO = '''"""${message}"""
from alembic import op
import sqlalchemy as sa
revision, down_revision = ${repr(up_revision)}, ${repr(down_revision)}
def upgrade():
    ${upgrades or "pass"}
def downgrade():
    ${downgrades or "pass"}
'''


class App:
    """The application in `folder`; `settings` are further keywords of context.configure.

    `tables` are statements of Python beside the table orders, `in_turn` has replicas wait.
    """

    def __init__(
        self, folder: Path, dsn: str, settings: str = "", tables: str = "", in_turn: bool = False
    ) -> None:
        self.folder = folder
        self._dsn = dsn.replace("postgresql://", "postgresql+psycopg://")
        (folder / "versions").mkdir(parents=True)
        (folder / "env.py").write_text(
            _ENV.format(
                settings=settings,
                tables=dedent(tables),
                turn=", one_at_a_time(connection)" if in_turn else "",
            )
        )
        (folder / "script.py.mako").write_text(_MAKO)

    def revision(self, number: int, up: str, down: str) -> None:
        """Write one revision by hand, after the one before."""
        before = f"r{number - 1}" if number > 1 else None
        text = _REVISION.format(revision=f"r{number}", down=before, up=up, down_body=down)
        (self.folder / "versions" / f"r{number}.py").write_text(dedent(text))

    def start(self, *words: str, **env: str) -> subprocess.Popen[str]:
        """`alembic` with these words, as a process of its own."""
        ini = self.folder / "alembic.ini"
        ini.write_text("[alembic]\nscript_location = %(here)s\n")
        return subprocess.Popen(
            [sys.executable, "-m", "alembic", "-c", ini, "-x", f"dsn={self._dsn}", *words],
            cwd=ROOT, env=os.environ | env, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def run(self, *words: str) -> str:
        """What it prints; it must end well."""
        process = self.start(*words)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        return out

    def config(self, output: io.StringIO | None = None) -> Config:
        """Alembic's configuration, as its command line would make it."""
        said = Namespace(x=[f"dsn={self._dsn}"])
        config = Config(output_buffer=output, stdout=output or io.StringIO(), cmd_opts=said)
        config.set_main_option("script_location", str(self.folder).replace("%", "%%"))
        return config


def our_config(dsn: str, output: io.StringIO | None = None) -> Config:
    """This repository's own alembic.ini."""
    return Config(
        str(ROOT / "alembic.ini"),
        output_buffer=output,
        stdout=output or io.StringIO(),
        cmd_opts=Namespace(x=[f"dsn={dsn}"]),
    )


def offline(config: Config, target: str, output: io.StringIO, *, down: bool = False) -> str:
    """What `alembic upgrade|downgrade --sql` prints."""
    (command.downgrade if down else command.upgrade)(config, target, sql=True)
    return output.getvalue()
