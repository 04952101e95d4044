"""The demo: a queue measures real files, loses workers to kill -9, and accounts for every job."""
