"""`emq`, as a worker and its child processes load it: the ledger of the application that is current
(`flask` has loaded it), or that FLASK_APP names.
"""

from __future__ import annotations

import os

from flask import current_app
from flask.cli import ScriptInfo

from emq_sql.integrations.flask.ledgers import AppEMQ, ledger_here, ledger_of_app


def __getattr__(name: str) -> AppEMQ:
    if name != "emq":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if current_app:
        return ledger_here()
    try:
        return ledger_of_app(ScriptInfo(os.environ.get("FLASK_APP")).load_app())
    except AttributeError as error:  # the application's own; from here it would mean: no such name
        raise RuntimeError(str(error)) from error
