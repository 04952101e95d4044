"""Upkeep that needs no extension: reap, promote and the partitions ahead."""
