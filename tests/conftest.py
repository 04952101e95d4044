"""The plugins that all tests share."""

from __future__ import annotations

pytest_plugins = ["tests.plugins.server"]
