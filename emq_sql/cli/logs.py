"""Where the records of a worker go: text for people, JSON for programs, or your own set-up."""

from __future__ import annotations

import json
import logging
import logging.config
import tomllib
from pathlib import Path
from typing import Any

from emq_sql.cli.lines import Lines
from emq_sql.errors import BadSetting
from emq_sql.rules.printable import printable
from emq_sql.worker.records import JobFields

LEVELS = ("debug", "info", "warning", "error", "critical")
FORMATS = ("text", "json")

_FIELDS = "%(levelname)s %(name)s %(message)s"


def set_up(
    level: str, form: str | None, config: Path | None, fd: int = 2, patience: float = 0.0
) -> None:
    """Configure logging for this process; `name_jobs` belongs after it.

    Records go to a duplicate of `fd`, and nobody who logs waits for whoever reads there (`Lines`,
    which knows `patience`). `config` is a file of `logging.config.dictConfig` in JSON or TOML, used
    instead of `level` and `form`; its handlers are the user's. Raises BadSetting for what cannot be
    had.
    """
    if config is None:
        lines = Lines(_json() if form == "json" else TextFormatter(), fd, patience)
        logging.basicConfig(level=level.upper(), handlers=[lines], force=True)
    elif form is not None:
        what = f"--log-format {form} and --log-config are both given."
        raise BadSetting(what, hint="Name the formatter in the file, and leave --log-format out.")
    else:
        _configure(config)


def name_jobs() -> None:
    """Let each record name its job, wherever it goes; the application may have handlers too.

    An application that configures logging when it is imported disables all loggers that are there,
    unless it takes care. Ours stay enabled: who wants less of them gives them a level.
    """
    for logger in _loggers():
        if logger.name.partition(".")[0] == "emq_sql":
            logger.disabled = False
        for handler in logger.handlers:
            if not any(isinstance(each, JobFields) for each in handler.filters):
                handler.addFilter(JobFields())


class TextFormatter(logging.Formatter):
    """A record begins at the start of a line; all its further lines are indented.

    So no text from outside can forge a record, with whatever characters: those that a terminal
    would obey are spelt out. The job is named once.
    """

    def __init__(self) -> None:
        super().__init__("%(asctime)s " + _FIELDS)

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's own name
        """The first part of a record, with the job that it is about."""
        job = getattr(record, "job_id", None)
        text = super().formatMessage(record)
        if job is None or str(job) in record.message:
            return text
        known = vars(record)
        task, attempts = known.get("task"), known.get("attempts")
        of = f" ({task}, attempt {attempts})" if task is not None else ""
        return f"{text} [job {job}{of}]"

    def format(self, record: logging.LogRecord) -> str:
        """The whole record, its traceback too."""
        return printable(super().format(record).expandtabs(4)).replace("\n", "\n    ")


def _json() -> logging.Formatter:
    try:
        from pythonjsonlogger.json import JsonFormatter  # noqa: PLC0415 - an extra
    except ModuleNotFoundError:
        raise BadSetting(
            "--log-format json needs the package python-json-logger.",
            hint='Install it: pip install "emq-sql[logs]"',
        ) from None
    return JsonFormatter(
        _FIELDS,
        rename_fields={"levelname": "level", "name": "logger"},
        timestamp=True,
        json_ensure_ascii=True,
    )


def _configure(file: Path) -> None:
    try:
        content = file.read_bytes().decode()
        settings: Any = tomllib.loads(content) if file.suffix == ".toml" else json.loads(content)
    except OSError as error:
        what = f"The log configuration {file} cannot be read: {error.strerror}."
        raise BadSetting(what, hint="Name a JSON or TOML file.") from error
    except ValueError as error:
        what = f"The log configuration {file} is neither JSON nor, named .toml, TOML: {error}."
        raise BadSetting(what, hint="Write it as logging.config.dictConfig wants it.") from error
    try:
        # dictConfig silences all loggers that exist already, unless it is told otherwise.
        logging.config.dictConfig({"disable_existing_loggers": False, **settings})
    except (ValueError, TypeError, AttributeError, ImportError, KeyError) as error:
        why = f"{error}" + (f" ({error.__cause__})" if error.__cause__ else "")
        what = f"The log configuration {file} does not work: {why}."
        raise BadSetting(what, hint="See logging.config.dictConfig.") from error


def _loggers() -> list[logging.Logger]:
    root = logging.getLogger()
    return [root, *(logging.getLogger(name) for name in list(root.manager.loggerDict))]
