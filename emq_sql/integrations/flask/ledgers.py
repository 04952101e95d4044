"""The ledger of one application: what `emq_sql.EMQ` is, with the settings of its config."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from flask import Flask, current_app
from sqlalchemy.engine import URL, Engine

from emq_sql.app import EMQ
from emq_sql.errors import BadSetting
from emq_sql.integrations.flask.contexts import in_context
from emq_sql.integrations.flask.settings import as_text, settings_in
from emq_sql.protocol import connecting
from emq_sql.registering import Registry
from emq_sql.tasks import Task
from emq_sql.worker.handler import Handler

NAME = "emq"  # among the application's extensions


class AppEMQ(EMQ):
    """`app.extensions["emq"]`. Its tasks are those of the EMQ that was given the application, those
    that are registered later among them; their handlers run in the application's context.
    """

    def __init__(self, app: Flask, tasks: Registry) -> None:
        said = settings_in(app.config)
        super().__init__(
            schema=said.schema,
            environment=said.environment,
            payload_limit=said.payload_limit,
            listen_dsn=said.listen_dsn,
            bell=said.bell,
        )
        self.app = app
        self.registry = tasks
        self._said = said
        self._chosen: Engine | None = None

    @property
    def engine(self) -> Engine:
        """EMQ_DSN; or the engine of Flask-SQLAlchemy, with its pool; or SQLALCHEMY_DATABASE_URI; or
        EMQ_DSN of the environment. Chosen when first needed. Raises BadSetting when nothing is set,
        UnsupportedHandle when it is not psycopg 3's.
        """
        if self._chosen is None:
            self._chosen = self._choose()
        return self._chosen

    @property
    def dsn(self) -> str | None:
        """What `engine` leads to, with the password; None when only the environment says it."""
        return as_text(self._said.dsn or self._uri)

    @property
    def listen_dsn(self) -> str | None:
        """EMQ_LISTEN_DSN of the config."""
        return as_text(self._said.listen_dsn)

    @property
    def tasks(self) -> Mapping[str, Task[..., Any]]:
        """The registered tasks by name."""
        return self.registry.tasks

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """What a worker of this application needs of the registered tasks."""
        return {
            name: in_context(self.app, handler) for name, handler in self.registry.handlers.items()
        }

    def get_task(self, name: str) -> Task[..., Any]:
        """The task of this name; raises UnknownTask."""
        return self.registry.get_task(name)

    @property
    def _uri(self) -> str | URL | None:
        return self.app.config.get("SQLALCHEMY_DATABASE_URI") or None

    def _choose(self) -> Engine:
        if self._said.dsn is not None:
            return connecting.engine_for(self._said.dsn)
        if self._uri is None:
            return super().engine
        db = self.app.extensions.get("sqlalchemy")
        return connecting.engine_for(self._uri if db is None else self._engine_of(db))

    def _engine_of(self, db: Any) -> Engine:
        # A context pushed and popped in the middle of a request would end its sessions.
        if current_app and _current() is self.app:
            return cast(Engine, db.engine)
        with self.app.app_context():
            return cast(Engine, db.engine)


def ledger_of_app(app: Flask) -> AppEMQ:
    """What `init_app` has made; raises BadSetting when there is none."""
    found = app.extensions.get(NAME)
    if isinstance(found, AppEMQ):
        return found
    raise BadSetting(
        f"The application {app.name!r} has no ledger.",
        hint="Give it one: EMQ(app), or init_app(app) of the EMQ that has its tasks.",
    )


def ledger_here() -> AppEMQ:
    """That of the current application; raises BadSetting when there is none."""
    if current_app:
        return ledger_of_app(_current())
    raise BadSetting(
        "No Flask application is current here, and each has a ledger of its own.",
        hint="Do it in `with app.app_context():`, or with app.extensions['emq'].",
    )


def _current() -> Flask:
    return cast(Flask, current_app._get_current_object())  # type: ignore[attr-defined]
