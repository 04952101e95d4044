"""A child of a worker: a process that runs the handlers of one job after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlalchemy.engine import Engine

from emq_sql.effects.effects import DatabaseEffects
from emq_sql.worker.handler import Handler
from emq_sql.worker.processes.attached import Attached
from emq_sql.worker.processes.serving import serve
from emq_sql.worker.records import named_worker


def run_child(
    load: Callable[[], tuple[str, Mapping[str, Handler]]],
    log_to: Callable[[int], None] | None = None,
    engine: Callable[[], Engine] | None = None,
) -> None:
    """Run jobs for the worker that started this process (`run_service` with `child`), until it
    lets it go or ends.

    `load` answers the schema and the handlers; it is called when this process is tied to its
    worker already, so that whatever is imported there does not outlive it. Before that, `log_to` is
    called with a descriptor to duplicate: the worker's stderr, which becomes that of this process
    only when it is ready for jobs. Opens no connection of its own;
    `engine`, asked when a handler needs one, gives those of `job.transaction()`.
    Raises BadSetting when no worker has started this process, and what `load` raises.
    Belongs into the main thread, before anything else is done.
    """
    attached = Attached()
    named_worker(attached.worker)
    if log_to is not None:
        log_to(attached.stderr)
    schema, handlers = load()
    serve(attached, handlers, DatabaseEffects(schema, engine))
