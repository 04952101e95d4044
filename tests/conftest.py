"""The plugins that all tests share."""

from __future__ import annotations

import signal

pytest_plugins = ["tests.plugins.server", "tests.plugins.pgbouncer", "tests.plugins.parked"]


def pytest_configure() -> None:
    """Signals that a shell ignores for jobs in the background end the processes of tests again."""
    for number, usual in (
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGHUP, signal.SIG_DFL),
    ):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, usual)
