"""Commits of Django's, guarded."""

from __future__ import annotations

from emq_sql.effects.django.replacing import install, uninstall

__all__ = ["install", "uninstall"]
