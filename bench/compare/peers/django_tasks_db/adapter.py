"""django-tasks-db: Task.enqueue (it has no bulk call) and `manage.py db_worker`."""

from __future__ import annotations

import os
from typing import Any

import wire

os.environ["DJANGO_SETTINGS_MODULE"] = "site_settings"

import django  # it reads the settings

django.setup()

from django.core.management import call_command
from django.db import connection, transaction


class Peer(wire.Adapter):
    def install(self) -> None:
        call_command("migrate", verbosity=0)

    def counts(self) -> dict[str, Any]:
        from django_tasks_db.models import DBTaskResult

        table = DBTaskResult._meta.db_table
        return wire.counted(
            f"select count(*) from {table} where status <> 'SUCCESSFUL'",
            f"select count(*) from {table} where status = 'SUCCESSFUL'",
        )

    def open(self) -> None:
        from jobs import noop

        self.noop = noop
        connection.ensure_connection()

    def single(self, n: int) -> None:
        self.noop.enqueue(**wire.payload(n))

    def bulk(self, numbers: range) -> None:
        with transaction.atomic():  # the most that it offers: many inserts, one commit
            for n in numbers:
                self.noop.enqueue(**wire.payload(n))

    def close(self) -> None:
        connection.close()

    def work(self) -> None:
        call_command(
            "db_worker", interval=wire.SETTING["interval"], startup_delay=False, reload=False,
            verbosity=0,
        )  # fmt: skip
