"""Workloads that can be repeated: each prints what it ran on, and writes JSON to bench/results."""
