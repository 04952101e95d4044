"""A process that owns a server, for the tests that end it in every way. Run as a file.

Its one argument is JSON: `server` (arguments of Server), `then` (what to do once it runs), and
`file_limit` (bytes that any file may have, so that initdb fails). It prints one JSON object when
the server runs, or the error.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from pathlib import Path

from emq_sql.embedded import Server
from emq_sql.errors import EmqError


def main() -> None:
    order = json.loads(sys.argv[1])
    if "file_limit" in order:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (order["file_limit"], order["file_limit"]))
    try:
        server = Server(**order["server"])
    except EmqError as error:
        say(error=type(error).__name__, what=str(error))
        sys.exit(1)
    facts = {
        "dsn": server.dsn,
        "pid": server.pid,
        "directory": str(server.directory),
        "bindir": str(server.bindir),
        "uid": Path(server.data).stat().st_uid,
    }
    then = order.get("then", "wait")
    if then == "forked child stops and exits":
        child = os.fork()
        if child == 0:
            server.stop()
            sys.exit(0)  # runs the exit handlers that the child inherited
        os.waitpid(child, 0)
    elif then == "forked child lingers":
        child = os.fork()
        if child == 0:
            signal.pause()
        facts["child"] = child
    say(**facts)
    if then == "raise":
        raise RuntimeError("the owner ends by an exception, without a stop")
    if then == "drop":
        del server
        say(dropped=True)
    sys.stdin.read()


def say(**facts: object) -> None:
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
