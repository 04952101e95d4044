"""The lines of a log, written by a thread of their own: who logs never waits for who reads."""

from __future__ import annotations

import logging
import os
import select
import sys
import threading
import weakref
from logging.handlers import QueueHandler, QueueListener
from queue import SimpleQueue

MOST_RECORDS = 10_000
MOST_CHARACTERS = 16_000_000
FLUSH = 1.0  # seconds; at the end, a reader that still reads has had its time


class Lines(QueueHandler):
    """Writes formatted records to a duplicate of a descriptor, whatever becomes of the original.

    They are formatted by the thread that logs them and wait in a queue. When that is full, because
    nobody reads, records are dropped; the log says how many as soon as there is room again. `flush`
    waits for a second at most. A process that a handler forks writes by itself, and waits.
    `patience` is for processes that may die at any moment: so many seconds are given to each record
    to be written, unless the writing is behind anyway.
    Closing changes nothing: handlers may call `logging.shutdown`.
    """

    queue: SimpleQueue[logging.LogRecord]

    def __init__(self, formatter: logging.Formatter, fd: int, patience: float = 0.0) -> None:
        super().__init__(SimpleQueue())
        self.setFormatter(formatter)
        self._fd = os.dup(fd)
        weakref.finalize(self, os.close, self._fd).atexit = False
        self._pid = os.getpid()
        self._patience = patience
        # Reentrant, like the queue: a signal handler may log in the middle of a call. `with` takes
        # the lock itself: an exception sent to a thread from outside cannot strike in between.
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._writer: _Writer | None = None
        self._records = self._characters = self._dropped = 0
        self._behind = self._hopeless = self._in_a_line = False

    def handle(self, record: logging.LogRecord) -> bool:
        """Without the lock of the handler: the arguments of one record must not hold up others."""
        if not self.filter(record):
            return False
        self.emit(record)
        return True

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's own name
        """A record that cannot be formatted is said to be one, here and not on `sys.stderr`."""
        what = f"a record cannot be formatted: {record.msg!r} ({sys.exc_info()[1]!r})"
        self.enqueue(self._made(record.name, record.pathname, record.lineno, what))

    def enqueue(self, record: logging.LogRecord) -> None:
        """Have it written, or drop it."""
        if os.getpid() != self._pid:  # forked: there is no other thread, and locks may be held
            self._put(record.msg)
            return
        with self._lock:
            size = len(record.msg)
            full = self._records >= MOST_RECORDS or self._characters + size > MOST_CHARACTERS
            if full and self._records:
                self._dropped += 1
                return
            self._records += 1
            self._characters += size
            self.queue.put(record)
            if self._writer is None:
                self._writer = _Writer(self)
                self._writer.start()
            if self._patience and not self._behind:
                self._behind = not self._changed.wait_for(self._done, self._patience)

    def flush(self) -> None:
        """Wait until all is written, at most a second; once in vain, only after it went on."""
        if os.getpid() != self._pid:
            return
        with self._lock:
            if not self._hopeless:
                self._hopeless = not self._changed.wait_for(self._done, FLUSH)

    def close(self) -> None:
        """Only a flush: what is logged later is written too."""
        self.flush()
        super().close()

    def write(self, record: logging.LogRecord) -> None:
        """The writer's part: this one, and how many were dropped."""
        dropped = 0 if self._put(record.msg) else 1
        with self._lock:
            half_empty = (
                self._records <= MOST_RECORDS // 2 and self._characters <= MOST_CHARACTERS // 2
            )
            told = self._dropped if half_empty and not dropped else 0
        if told:
            what = f"{told} records were dropped: whoever reads the log did not keep up"
            if self._put(self._made("emq_sql.logs", __file__, 0, what).msg):
                dropped = -told
        with self._lock:
            self._dropped += dropped
            self._records -= 1
            self._characters -= len(record.msg)
            self._hopeless = False
            if self._done():
                self._behind = False
                self._changed.notify_all()

    def _done(self) -> bool:
        return not self._records

    def _made(self, name: str, path: str, line: int, what: str) -> logging.LogRecord:
        made = logging.LogRecord(name, logging.WARNING, path, line, "%s", (what,), None)
        for each in self.filters:
            if isinstance(each, logging.Filter):
                each.filter(made)
        prepared: logging.LogRecord = self.prepare(made)
        return prepared

    def _put(self, line: str) -> bool:
        data = f"{line}\n".encode(errors="backslashreplace")
        if self._in_a_line:  # the last one was cut off
            data = b"\n" + data
        rest = memoryview(data)
        try:
            while rest:
                try:
                    rest = rest[os.write(self._fd, rest) :]
                except BlockingIOError:  # somebody has made it so, for all who share it
                    select.select([], [self._fd], [], 1.0)
        except (OSError, ValueError):
            self._in_a_line = self._in_a_line or len(rest) < len(data)
            return False
        self._in_a_line = False
        return True


class _Writer(QueueListener):
    def __init__(self, lines: Lines) -> None:
        super().__init__(lines.queue)
        self._lines = lines

    def handle(self, record: logging.LogRecord) -> None:
        self._lines.write(record)
