"""A process that should have ended is ended."""

from __future__ import annotations

import subprocess
import sys

HANGS = """
import threading
from emq_sql.worker.overdue import Overdue

overdue = Overdue()
overdue.start()
overdue.expect(3600)
overdue.expect(0.1)
threading.Event().wait()
"""
ENDS = """
from emq_sql.worker.overdue import Overdue

overdue = Overdue()
overdue.start()
overdue.expect(3600)
overdue.stop()
"""


def test_a_process_that_hangs_past_its_end_is_ended_with_exit_code_1() -> None:
    ended = subprocess.run([sys.executable, "-c", HANGS], timeout=30, check=False)
    assert ended.returncode == 1


def test_a_process_that_ends_by_itself_is_left_alone() -> None:
    assert subprocess.run([sys.executable, "-c", ENDS], timeout=30, check=False).returncode == 0
