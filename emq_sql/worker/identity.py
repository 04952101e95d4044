"""Who a worker is: host, process, and a random word that no earlier boot has had."""

from __future__ import annotations

import os
import secrets
import socket
from importlib import metadata

_BOOT_BYTES = 4


class Identity:
    """The name `host:pid:boot` of one worker, another one in a forked child.

    Process ids come again, in a container nearly always; the boot id does not, so the ledger never
    shows a new worker as the holder of what its predecessor left.
    """

    def __init__(self) -> None:
        self._pid = 0
        self._name = ""

    @property
    def name(self) -> str:
        """`host:pid:boot`, boot being 8 hexadecimal digits."""
        pid = os.getpid()
        if pid != self._pid:
            boot = secrets.token_hex(_BOOT_BYTES)
            self._pid, self._name = pid, f"{socket.gethostname()}:{pid}:{boot}"
        return self._name


def version() -> str:
    """The version of emq_sql that runs here."""
    try:
        return metadata.version("emq-sql")
    except metadata.PackageNotFoundError:
        return "unknown"
