"""The application that an operator names by `--app`."""

from __future__ import annotations

import importlib
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from emq_sql.app import EMQ
from emq_sql.errors import AppFailed, BadSetting, EmqError
from emq_sql.rules.printable import on_one_line

_HINT = "Write module:attribute, for example shop.jobs:emq."


def load_app(spec: str) -> EMQ:
    """The EMQ named by `module:attribute`, as the operator wrote it, from the current folder.

    Raises BadSetting when that names nothing, or no EMQ, and AppFailed when the module cannot be
    imported; what emq_sql itself refuses in it is raised as it is.
    """
    module_name, colon, attribute = spec.partition(":")
    if not all(module_name.split(".")) or bool(colon) != bool(attribute):
        raise BadSetting(f"--app {spec!r} is not module:attribute.", hint=_HINT)
    found = _found(spec, module_name, attribute or "emq")
    if not isinstance(found, EMQ):
        has = f"has no EMQ named {attribute or 'emq'!r}"
        what = has if found is None else f"{has}: that is of type {type(found).__name__}"
        raise BadSetting(f"--app {spec}: {module_name} {what}.", hint=_HINT)
    return found


def _found(spec: str, module_name: str, attribute: str) -> object:
    with suppress(OSError):  # the folder may be gone
        sys.path.insert(0, str(Path.cwd()))
    try:
        return getattr(importlib.import_module(module_name), attribute, None)
    except (EmqError, KeyboardInterrupt):
        raise
    except BaseException as error:  # noqa: BLE001 - SystemExit too, which would look like an end
        if isinstance(error, ModuleNotFoundError) and _is_part(error.name, module_name):
            raise BadSetting(
                f"--app {spec}: there is no module {error.name!r}.",
                hint="Write module:attribute, and run it from the folder that has the module.",
            ) from None
        raise AppFailed(
            f"--app {spec}: {module_name} cannot be imported: {_first_line(error)}.",
            hint="Its traceback follows.",
        ) from error.with_traceback(_of_the_application(error.__traceback__))


def _is_part(missing: str | None, module_name: str) -> bool:
    return missing is not None and f"{module_name}.".startswith(f"{missing}.")


def _first_line(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return f"it wanted to exit ({error.code!r})"
    with suppress(Exception):  # its text is made by the application
        first = str(error).strip().partition("\n")[0].rstrip(".")
        return f"{type(error).__name__}: {on_one_line(first)}" if first else type(error).__name__
    return type(error).__name__


def _of_the_application(at: TracebackType | None) -> TracebackType | None:
    while at is not None and at.tb_frame.f_globals.get("__name__", "").partition(".")[0] in {
        __name__.partition(".")[0], "importlib",
    }:  # fmt: skip
        at = at.tb_next
    return at
