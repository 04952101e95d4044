"""The only room that speaks SQL: one thin function for each SQL function of the ledger.

Each takes an open psycopg connection and a schema name, runs one statement on it, and leaves the
transaction to the caller. Nothing here adds meaning to what the SQL function promises; read the
promise in `migrations/steps/*/up/`.
"""
