"""Properties are checked without a deadline: a busy machine is no counter-example."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("house", deadline=None, print_blob=True)
settings.load_profile("house")
