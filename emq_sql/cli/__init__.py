"""The `emq` command: thin, it calls the same functions as everybody else."""
