"""guard.py SECONDS COMMAND...: run a program that ends when whoever started it ends, or in time.

The program gets a session of its own. A line on stdin asks it to stop (SIGTERM); the end of stdin,
or the end of the time, kills it and everything in its session. Prints {"pid": n} at the start and
{"exit": code} at the end.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path


def main() -> int:
    seconds, command = float(sys.argv[1]), sys.argv[2:]
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=2, start_new_session=True)
    print(json.dumps({"pid": child.pid}), flush=True)
    threading.Thread(target=_heed, args=[child], daemon=True).start()
    try:
        code = child.wait(seconds)
    except subprocess.TimeoutExpired:
        code = -1
    _kill_session(child.pid)
    child.wait()
    with contextlib.suppress(BrokenPipeError):
        print(json.dumps({"exit": code}), flush=True)
    return 0


def _heed(child: subprocess.Popen[bytes]) -> None:
    for _ in sys.stdin:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child.pid, signal.SIGTERM)
    _kill_session(child.pid)


def _kill_session(leader: int) -> None:
    """Kill the session's processes, those that made a group of their own too."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if stat.read_text().rsplit(")", 1)[1].split()[3] == str(leader):
                os.kill(int(stat.parent.name), signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main())
