"""Writes the revision that leads the ledger on, in an application's own history."""

from __future__ import annotations

import configparser
from dataclasses import dataclass
from pathlib import Path

from alembic.config import Config
from alembic.script import Script, ScriptDirectory
from alembic.util import CommandError, rev_id

from emq_sql.errors import AppFailed, BadSetting, StepOutOfOrder
from emq_sql.integrations.alembic.history import Reached, reached
from emq_sql.protocol import steps
from emq_sql.rules import names

_MODULE = "emq_sql.integrations.alembic"
_IMPORT = f"from {_MODULE} import downgrade_emq, upgrade_emq"
_PLACES = ("alembic.ini", "migrations/alembic.ini")  # Alembic's own, and Flask-Migrate's
_WHERE = "Name the configuration: --config FILE."
_TEMPLATE = "It needs ${imports}, ${upgrades} and ${downgrades}, as Alembic's own has them."


@dataclass(frozen=True, slots=True)
class Written:
    """A revision that was written, and what it does."""

    path: Path
    revision: str
    after: str | None
    from_version: int
    to_version: int


def write_revision(
    config_file: Path | None = None, *, schema: str = "emq", message: str | None = None,
    from_version: int | None = None, to_version: int | None = None,
) -> Written:  # fmt: skip
    """Write a revision after the head of the history, with numbers that stay as they are.

    It starts at the version that the history reaches, and leads to the newest one unless
    `to_version` says otherwise. Nothing is written, and no database is asked, when there is nothing
    to do (StepOutOfOrder), or more than one head, or a `from_version` that contradicts the history
    (BadSetting).
    """
    schema = names.schema_name(schema)
    config = _configuration(config_file)
    try:
        script = ScriptDirectory.from_config(config)
        heads = _heads(script)
        if len(heads) > 1:
            raise BadSetting(
                f"The history has {len(heads)} heads: {', '.join(sorted(heads))}.",
                hint="Make one of them first: alembic merge heads.",
            )
        start = _start(script, schema, from_version)
        target = steps.newest() if to_version is None else to_version
        steps.path(start, target, schema)  # the numbers are known
        if target <= start:
            raise StepOutOfOrder(
                f"There is nothing to do: the history leads to version {start} already,"
                f" and {target} is wanted.",
                hint=f"This emq_sql knows the versions to {steps.newest()}.",
            )
        made = _write(script, config, message, start, target, schema)
    except (CommandError, configparser.Error) as error:
        said = str(error).partition("\n")[0].rstrip(".")
        raise BadSetting(f"Alembic refuses: {said}.", hint=_WHERE) from error
    return Written(Path(made.path), made.revision, next(iter(heads), None), start, target)


def _configuration(given: Path | None) -> Config:
    if given is not None and not given.is_file():
        raise BadSetting(f"There is no file {given}.", hint=_WHERE)
    found = given or next((path for path in map(Path, _PLACES) if path.is_file()), None)
    if found is None:
        raise BadSetting(
            f"There is no {' and no '.join(_PLACES)} here.",
            hint=f"Run it where the application's is. {_WHERE}",
        )
    config = _read(found)
    # Flask-Migrate says at run time where its revisions are: beside its alembic.ini.
    if config.get_main_option("script_location") is None and found.with_name("env.py").is_file():
        config.set_main_option("script_location", str(found.absolute().parent).replace("%", "%%"))
    return config


def _read(found: Path) -> Config:
    toml = found if found.suffix == ".toml" else found.with_name("pyproject.toml")
    if not (toml.is_file() and hasattr(Config, "get_alembic_option")):  # before Alembic 1.16
        return Config(str(found))
    return Config(None if toml is found else str(found), toml_file=str(toml))


def _heads(script: ScriptDirectory) -> list[str]:
    try:
        return script.get_heads()
    except CommandError:
        raise
    except KeyError as error:  # what Alembic makes of it
        raise BadSetting(
            f"A revision follows {error}, which is not in the history.",
            hint="Put its file back, or name another revision there.",
        ) from error
    except Exception as error:  # the revisions are the application's code
        raise AppFailed(
            f"The revisions cannot be imported: {type(error).__name__}: {error}.",
            hint="Its traceback follows.",
        ) from error


def _start(script: ScriptDirectory, schema: str, said: int | None) -> int:
    try:
        found = reached(script, schema)
    except BadSetting:
        if said is None:
            raise
        return said
    if found is None:
        return said or 0
    if said is not None and said != found.version:
        raise BadSetting(
            f"--from says {said}, and the revision {found.revision} leads to {found.version}.",
            hint="Leave --from out.",
        )
    return found.version


def _write(
    script: ScriptDirectory, config: Config, message: str | None, start: int, to: int, schema: str
) -> Script:
    where = "" if schema == "emq" else f', schema="{schema}"'
    try:
        made = script.generate_revision(
            rev_id(),
            message or f"emq_sql {start} to {to}",
            config=config,
            imports=_IMPORT,
            upgrades=f"upgrade_emq(op, from_version={start}, to_version={to}{where})",
            downgrades=f"downgrade_emq(op, from_version={to}, to_version={start}{where})",
        )
    except NameError as error:  # the template asks for what only env.py gives
        raise BadSetting(f"script.py.mako cannot be filled: {error}.", hint=_TEMPLATE) from error
    assert made is not None
    text = Path(made.path).read_text()
    # Hooks of the application may have formatted it, so no line is compared.
    if reached(script, schema) != Reached(to, made.revision) or _MODULE not in text:
        Path(made.path).unlink()
        raise BadSetting("script.py.mako has no place for our calls.", hint=_TEMPLATE)
    return made
