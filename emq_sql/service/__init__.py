"""One process of workers or of upkeep: checks, loops, health, and its signals."""

from __future__ import annotations

from emq_sql.service.children import run_child
from emq_sql.service.maintaining import run_maintenance
from emq_sql.service.probes import Probes
from emq_sql.service.process import run_service

__all__ = ["Probes", "run_child", "run_maintenance", "run_service"]
