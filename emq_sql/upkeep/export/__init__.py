"""Days of the archive as Parquet files: written, read back, recorded, and read in again.

Needs the extra `export` (pyarrow); nothing else of emq_sql imports this package before it is used.
"""
