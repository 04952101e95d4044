"""emq_sql beside other queues, on one server, in one run: see docs/howto/compare.md."""
