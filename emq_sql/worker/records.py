"""Which job a log record is about: one set of fields on every record that is about one.

`job_id`, `task`, `queue`, `attempts` and `worker`. Our own records about a job have them by
`extra=about(...)`. What handlers log, through whatever logger, gets them from `JobFields`, which
belongs onto the handlers of logging (`emq worker` puts it there): a filter of a logger would not
see the records of the loggers below it.
"""

from __future__ import annotations

import logging

from emq_sql.job import Claimed
from emq_sql.worker.current import running

_worker = ""


def named_worker(name: str) -> None:
    """The worker of this process, for all records from here on."""
    global _worker  # noqa: PLW0603 - logging is of the process, and so is its worker
    _worker = name


def about(claimed: Claimed) -> dict[str, object]:
    """The fields of a record about this job, to be given as `extra`."""
    return {
        "job_id": str(claimed.lease.id),
        "task": claimed.task,
        "queue": claimed.queue,
        "attempts": claimed.lease.attempts,
        "worker": _worker,
    }


class JobFields(logging.Filter):
    """Lets every record pass, and gives it the fields of the job whose handler logs it.

    Fields that a record has already stay as they are, and the others come beside them. A thread
    that a handler made by hand does not know its job, unless it was started in
    `contextvars.copy_context()`.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Add what is missing."""
        claimed = running.get()
        known = {"worker": _worker} if claimed is None else about(claimed)
        for name, value in known.items():
            if not hasattr(record, name):
                setattr(record, name, value)
        return True
