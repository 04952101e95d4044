"""Settings of a Django project that has nothing but the queue."""

from __future__ import annotations

import wire

_parts = wire.libpq()

SECRET_KEY = "of a benchmark"
USE_TZ = True
DEBUG = False
INSTALLED_APPS = ["django_tasks_db"]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": _parts["dbname"],
        "USER": _parts["user"],
        "HOST": _parts["host"],
        "PORT": _parts["port"],
        "CONN_MAX_AGE": None if wire.SETTING.get("max_age") else 0,
    }
}
TASKS = {"default": {"BACKEND": "django_tasks_db.DatabaseBackend", "QUEUES": ["default"]}}
