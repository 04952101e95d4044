"""Doors for frameworks and tools; each needs its own extra, and nothing else imports them."""
