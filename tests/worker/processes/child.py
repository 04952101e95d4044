"""A child of the runner. Files in EMQ_TEST_GATES keep it from its work: `wait`, `broken`.

Of the tasks it lacks the one that EMQ_TEST_LACKS names.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_gates = Path(os.environ.get("EMQ_TEST_GATES", os.devnull))
if _gates.is_dir():
    (_gates / f"born-{os.getpid()}").touch()
if (_gates / "broken").exists():
    raise RuntimeError("this application is broken on purpose")


def load() -> tuple[str, Mapping[str, Any]]:
    """What `run_child` wants."""
    while (_gates / "wait").exists():
        time.sleep(0.02)
    logging.basicConfig(level=logging.INFO, format="child %(name)s %(levelname)s %(message)s")
    from tests.worker.processes.jobs import HANDLERS

    lacks = os.environ.get("EMQ_TEST_LACKS")
    return "emq", {name: task for name, task in HANDLERS.items() if name != lacks}


if __name__ == "__main__":
    from emq_sql.service import run_child

    run_child(load)
