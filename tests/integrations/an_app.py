"""An application with tables and an Alembic history of its own, made afresh in a folder."""

from __future__ import annotations

import io
from argparse import Namespace
from pathlib import Path
from textwrap import dedent

from alembic import command
from alembic.config import Config

ROOT = Path(__file__).parents[2]

_ENV = """
from alembic import context
from sqlalchemy import Column, Integer, MetaData, Table, create_engine, pool
from emq_sql.integrations.alembic import include_name

metadata = MetaData()
Table("orders", metadata, Column("id", Integer, primary_key=True))
settings = dict({settings})
if context.is_offline_mode():
    context.configure(dialect_name="postgresql", **settings)
    with context.begin_transaction():
        context.run_migrations()
else:
    url = context.get_x_argument(as_dictionary=True)["dsn"]
    engine = create_engine(url, poolclass=pool.NullPool)
    with engine.connect() as connection:
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
    """The application in `folder`; `settings` are further keywords of context.configure."""

    def __init__(self, folder: Path, dsn: str, settings: str = "") -> None:
        self.folder = folder
        self._dsn = dsn.replace("postgresql://", "postgresql+psycopg://")
        (folder / "versions").mkdir(parents=True)
        (folder / "env.py").write_text(_ENV.format(settings=settings))
        (folder / "script.py.mako").write_text(_MAKO)

    def revision(self, number: int, up: str, down: str) -> None:
        """Write one revision by hand, after the one before."""
        before = f"r{number - 1}" if number > 1 else None
        text = _REVISION.format(revision=f"r{number}", down=before, up=up, down_body=down)
        (self.folder / "versions" / f"r{number}.py").write_text(dedent(text))

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
