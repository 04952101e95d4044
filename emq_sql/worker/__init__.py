"""Runs jobs: claims them, keeps their leases, settles them."""
