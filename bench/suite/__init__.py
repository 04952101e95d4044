"""What the workloads share: the server and its databases, workers, readings, records, plots."""
