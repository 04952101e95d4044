"""One worker process: checks, worker, upkeep, bell, health, and its signals."""

from __future__ import annotations

from emq_sql.service.probes import Probes
from emq_sql.service.process import run_service

__all__ = ["Probes", "run_service"]
