"""The same report in a file, for probes that are commands."""

from __future__ import annotations

import json
import logging
import secrets
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from emq_sql.errors import BadSetting
from emq_sql.worker.health.report import Question, Report, line
from emq_sql.worker.pulse import Pulse

log = logging.getLogger("emq_sql.worker.health")

EVERY = 1.0
STALE = 10.0  # seconds without a new report: the worker is gone, frozen, or cannot write


class HealthFile:
    """Written anew each second: a reader finds a whole report or none. Removed at the end."""

    def __init__(self, path: Path, report: Callable[[], Report], pulse: Pulse) -> None:
        self._path = path
        self._report = report
        self._pulse = pulse
        self._stopped = threading.Event()
        self._failed = False

    def stop(self) -> None:
        """Let `run` return soon."""
        self._stopped.set()

    def check(self) -> None:
        """Write it for the first time; raises BadSetting when that is impossible."""
        try:
            self._write()
        except (OSError, ValueError) as error:
            raise BadSetting(
                f"The health file {self._path} cannot be written: {error}.",
                hint="Name a file in a folder that exists and that the worker may write to.",
            ) from error

    def run(self) -> None:
        """Until `stop`."""
        try:
            while not self._stopped.is_set():
                self._try()
                self._stopped.wait(EVERY)
        finally:
            with suppress(OSError):
                self._path.unlink()

    def _try(self) -> None:
        try:
            self._write()
        except OSError as error:
            if not self._failed:
                log.warning("the health file cannot be written: %s", error)
            self._failed = True
            self._pulse.beat("health-file", EVERY, error)
            return
        if self._failed:
            log.info("the health file is written again")
        self._failed = False
        self._pulse.beat("health-file", EVERY)

    def _write(self) -> None:
        new = self._path.with_name(f".emq-health-{secrets.token_hex(8)}")
        try:
            with new.open("x", encoding="ascii") as file:
                file.write(self._report().as_json() + "\n")
            new.replace(self._path)
        except BaseException:
            new.unlink(missing_ok=True)
            raise


def ask(path: Path, question: Question) -> tuple[bool, str]:
    """What the file answers, and a line for people. No file, a stale one or none of ours is no."""
    try:
        document = json.loads(path.read_bytes()[:1_000_000])
        age = (datetime.now(UTC) - datetime.fromisoformat(document["at"])).total_seconds()
        reasons = [str(reason) for reason in document["why_not"][question]]
    except OSError as error:
        return False, line(question, [f"{path} cannot be read: {error.strerror}"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return False, line(question, [f"{path} is no health file"])
    if abs(age) > STALE:
        return False, line(question, [f"{path} is {age:.0f} s old, and is written each second"])
    return not reasons, line(question, reasons)
