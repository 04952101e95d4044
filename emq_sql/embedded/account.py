"""Which account runs PostgreSQL, and with which environment."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from emq_sql.errors import ServerDidNotStart, UnsupportedPlatform

if sys.platform != "win32":
    import pwd

# An allow-list, because much of an environment bends a server: PG* variables move its port and
# its data, LD_PRELOAD its clock.
_KEPT = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")


@dataclass(frozen=True, slots=True)
class Account:
    """The user and group that PostgreSQL runs as; both None for the user that we are."""

    uid: int | None = None
    gid: int | None = None

    def popen(self) -> dict[str, Any]:
        """Keyword arguments that make `subprocess.Popen` run a program as this account."""
        given: dict[str, Any] = {"cwd": "/", "env": environment()}
        if self.uid is not None:
            given |= {"user": self.uid, "group": self.gid, "extra_groups": []}
        return given

    def may_enter(self, directory: Path) -> bool:
        """Whether this account can reach the directory through all of its parents."""
        asked = subprocess.run(
            ["/bin/sh", "-c", 'cd -- "$1"', "sh", str(directory)],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
            **self.popen(),
        )
        return asked.returncode == 0

    def make_directory(self, directory: Path) -> None:
        """Make it and its missing parents, all open to this account; what exists is left as is."""
        if directory.exists():
            return
        self.make_directory(directory.parent)
        directory.mkdir(exist_ok=True)
        if self.uid is not None:
            directory.chmod(0o755)  # whatever root's umask is

    def own(self, path: Path) -> None:
        """Give a file or directory that we made to this account."""
        if self.uid is not None and self.gid is not None:
            os.chown(path, self.uid, self.gid)


def environment() -> dict[str, str]:
    """The whole environment of the server and its programs: nothing of the user's settings."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return kept | {"LC_ALL": "C", "TZ": "UTC"}


def server_account() -> Account:
    """The account for the server: ourselves, or an existing unprivileged one when we are root.

    PostgreSQL refuses to run as root. No account is created: EMQ_SQL_PG_USER, else `postgres`,
    else `nobody`. Raises ServerDidNotStart when none of them exists, UnsupportedPlatform on
    Windows.
    """
    if sys.platform == "win32":
        raise UnsupportedPlatform(
            "The embedded PostgreSQL does not run on Windows.",
            hint="Use WSL, or give the address of a server of your own.",
        )
    if os.geteuid() != 0:
        return Account()
    chosen = os.environ.get("EMQ_SQL_PG_USER")
    for name in (chosen,) if chosen else ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        if entry.pw_uid != 0:
            return Account(entry.pw_uid, entry.pw_gid)
    raise ServerDidNotStart(
        f"PostgreSQL cannot run as root, and there is no ordinary user {chosen!r} to run it as."
        if chosen
        else "PostgreSQL cannot run as root, and there is no user postgres or nobody.",
        hint="Name an existing user in EMQ_SQL_PG_USER.",
    )
