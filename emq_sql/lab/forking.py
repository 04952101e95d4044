"""The process that forks the lab's workers, so that a start costs little, and ends with the lab:
`python -m emq_sql.lab.forking`.

It has imported everything, runs no thread and opens no connection. Its workers are processes like
any other, with connections and an exit of their own. It reads a request a line and answers in one.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import threading
import traceback
from typing import Any, Literal, NoReturn

from emq_sql.lab.worker import Order, work

State = Literal["works", "killed", "frozen", "ended"]

_CHANGED = os.WEXITED | os.WSTOPPED | os.WNOHANG | os.WNOWAIT


class Children:
    """The workers that were forked here; of one that has ended its exit code is kept."""

    def __init__(self) -> None:
        self._codes: dict[int, int | None] = {}
        self._reads, self._writes = os.pipe()  # read by all, and written to by nobody

    def start(self, order: Order) -> int:
        """Fork a worker; its pid."""
        pid = os.fork()
        if not pid:
            self._become(order)
        self._codes[pid] = None
        return pid

    def state(self, pid: int) -> State:
        """What has become of it."""
        if self._codes[pid] is None:
            changed = os.waitid(os.P_PID, pid, _CHANGED)
            if changed is None:
                return "works"
            if changed.si_code == os.CLD_STOPPED:
                return "frozen"
            self._codes[pid] = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        return "killed" if self._codes[pid] == -signal.SIGKILL else "ended"

    def send(self, pid: int, number: int) -> None:
        """A signal, unless it has ended: its pid may be somebody else's by then."""
        if self.state(pid) in {"works", "frozen"}:
            os.kill(pid, number)

    def end(self) -> None:
        """kill -9 for who is still there."""
        for pid in self._codes:
            self.send(pid, signal.SIGKILL)

    def _become(self, order: Order) -> NoReturn:
        code = 70
        try:
            # A group of its own, in our session: if we are killed while it is frozen the system
            # wakes it and hangs it up.
            os.setpgid(0, 0)
            os.close(self._writes)
            threading.Thread(target=self._end_with_us, name="lab-watch", daemon=True).start()
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(2, 1)  # what is printed belongs to the log, and not among the answers
            code = work(order)
        except BaseException:  # noqa: BLE001 - there is nobody above who could be told
            traceback.print_exc()
        finally:
            logging.shutdown()
            os._exit(code)

    def _end_with_us(self) -> None:
        while os.read(self._reads, 1):
            pass
        os._exit(1)


def main() -> int:
    """Until the end of standard input, which only the lab holds."""
    logging.basicConfig(
        level="INFO", format="%(process)d %(name)s %(levelname)s %(message)s", stream=sys.stderr
    )
    children = Children()
    for line in sys.stdin:
        print(json.dumps(_answer(children, *json.loads(line))), flush=True)
    children.end()
    return 0


def _answer(children: Children, verb: str, *given: Any) -> Any:
    if verb == "start":
        return children.start(Order(**given[0]))
    if verb == "send":
        return children.send(*given)
    return children.state(*given)


if __name__ == "__main__":
    sys.exit(main())
