"""A worker's name is its own, also after a fork."""

from __future__ import annotations

import os
import re

from emq_sql.worker.identity import Identity


def test_a_name_says_host_process_and_boot_and_stays() -> None:
    identity = Identity()
    assert re.fullmatch(rf".+:{os.getpid()}:[0-9a-f]{{8}}", identity.name)
    assert identity.name == identity.name


def test_two_workers_of_one_process_have_two_names() -> None:
    assert Identity().name != Identity().name


def test_a_forked_child_has_a_name_of_its_own() -> None:
    identity = Identity()
    before = identity.name
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, identity.name.encode())
        os._exit(0)
    os.waitpid(child, 0)
    said = os.read(read, 1000).decode()
    os.close(read)
    os.close(write)
    assert said.split(":")[-2] == str(child)
    assert said.split(":")[-1] != before.split(":")[-1]
    assert identity.name == before
