"""What an application's config says of its ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy.engine import URL

from emq_sql.errors import BadSetting
from emq_sql.rules import names
from emq_sql.rules.payload import PAYLOAD_LIMIT


@dataclass(frozen=True, slots=True)
class Settings:
    """`EMQ_*` of a config. `dsn` is None when the application's SQLAlchemy says the database."""

    dsn: str | URL | None
    listen_dsn: str | URL | None
    schema: str
    environment: str | None
    payload_limit: int
    bell: bool


def settings_in(config: Mapping[str, Any]) -> Settings:
    """Those that are there, and the defaults of `emq_sql.EMQ`; raises BadSetting."""
    bell = config.get("EMQ_BELL", True)
    if not isinstance(bell, bool):
        raise BadSetting(f"EMQ_BELL {names.shown(bell)} is none.", hint="Give True or False.")
    return Settings(
        dsn=config.get("EMQ_DSN") or None,
        listen_dsn=config.get("EMQ_LISTEN_DSN") or None,
        schema=config.get("EMQ_SCHEMA", "emq"),
        environment=config.get("EMQ_ENVIRONMENT"),
        payload_limit=config.get("EMQ_PAYLOAD_LIMIT", PAYLOAD_LIMIT),
        bell=bell,
    )


def as_text(database: str | URL | None) -> str | None:
    """As a command's --dsn takes it, with the password."""
    return database.render_as_string(hide_password=False) if isinstance(database, URL) else database
