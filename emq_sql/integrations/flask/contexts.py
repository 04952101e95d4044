"""Each run of a job has an application context of its own, as a request has."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable
from dataclasses import replace
from typing import Any

from flask import Flask

from emq_sql.worker.handler import Handler


def in_context(app: Flask, handler: Handler) -> Handler:
    """The handler, which pushes a context and pops it at the end of the run: what the application
    does at `teardown_appcontext`, such as to remove its scoped session, is done then. What an
    awaitable does is done in it too.
    """
    function = handler.function

    async def waited(value: Awaitable[object]) -> object:
        with app.app_context():
            return await value

    @functools.wraps(function)
    async def run_async(*args: Any, **kwargs: Any) -> object:
        with app.app_context():
            return await function(*args, **kwargs)

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> object:
        with app.app_context():
            value = function(*args, **kwargs)
        return waited(value) if inspect.isawaitable(value) else value

    return replace(handler, function=run_async if handler.is_async else run)
