"""A child process of a forked worker: `python -m tests.faults.child module ...`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping

from emq_sql.service import run_child
from emq_sql.worker.handler import Handler


def handlers_of(modules: list[str]) -> dict[str, Handler]:
    """The handlers of all these modules."""
    handlers: dict[str, Handler] = {}
    for name in modules:
        handlers |= importlib.import_module(name).HANDLERS
    return handlers


def load() -> tuple[str, Mapping[str, Handler]]:
    """What `run_child` wants."""
    return "emq", handlers_of(sys.argv[1:])


if __name__ == "__main__":
    run_child(load)
