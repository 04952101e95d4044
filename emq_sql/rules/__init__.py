"""Pure decisions: names, payloads, durations, delays, ids, leases and verdicts.

Nothing here does I/O or reads a clock: instants and random generators come in as parameters.
Only the standard library, `emq_sql.job` and `emq_sql.errors` are imported.
"""
