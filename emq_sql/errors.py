"""Every error that emq_sql raises, each with a stable code and what to do next.

    EmqError
    ├── BadInput (also a ValueError)           refused at the door, nothing was written
    │   ├── BadName              EMQ101        queue, task, schema or role name outside the grammar
    │   ├── BadPayload           EMQ102        arguments or result are not plain JSON
    │   ├── PayloadTooLarge      EMQ103        arguments or result over the size limit
    │   ├── BadTime              EMQ104        naive datetime, or a duration that is none
    │   ├── BadJobId             EMQ105        not a UUIDv7, or dated more than a day ahead
    │   ├── BadSetting           EMQ106        settings that cannot work together
    │   ├── UnknownTask          EMQ107        no task of that name is registered
    │   └── UnsupportedHandle    EMQ108        not a Session, Connection or psycopg connection
    ├── LeaseLost                EMQ201        another worker holds, or has finished, the job
    │   └── JobFinished          EMQ202        the job was settled under this very fence
    ├── LeaseBusy                EMQ203        an open transaction holds the ledger row: ask again
    ├── CannotGuard              EMQ204        a commit that cannot be guarded was refused
    ├── SchemaError
    │   ├── SchemaMissing        EMQ301        the ledger is not installed in this database
    │   ├── SchemaTooOld         EMQ302        the database is behind this version of emq_sql
    │   ├── SchemaTooNew         EMQ303        the database is ahead of this version of emq_sql
    │   ├── StepOutOfOrder       EMQ304        a migration step would leave a gap
    │   └── JobsWouldBeLost      EMQ305        a downgrade would drop tables that hold jobs
    ├── EnvironmentMismatch      EMQ306        the database is another environment's, or a copy
    ├── DatabaseTrouble
    │   ├── Retryable            EMQ401        nothing happened: the same call may be made again
    │   ├── Ambiguous            EMQ402        the connection broke at commit: ask what became of it
    │   ├── Refused              EMQ403        the server refused: asking again will not help
    │   ├── NoPgCron             EMQ404        pg_cron is not to be had for this ledger
    │   └── TookTooLong          EMQ405        a question to the archive was over its timeout
    ├── LoopFailed               EMQ601        a control loop of a worker could not be kept alive
    ├── ChildrenFailed           EMQ602        no child process of a worker could be kept alive
    ├── AppFailed                EMQ603        the application's module raised when it was imported
    ├── ExportError
    │   ├── ExportFailed         EMQ701        a day was not exported or dropped; its rows stay
    │   ├── ExportDamaged        EMQ702        files of an export are not what was written
    │   └── ArrowMissing         EMQ703        pyarrow is not installed
    └── EmbeddedError
        ├── NoServerBinaries     EMQ501        no PostgreSQL programs were found
        ├── ServerDidNotStart    EMQ502        initdb or postgres failed; its log is in the message
        ├── ServerDidNotStop     EMQ503        the server still runs after it was told to stop
        └── UnsupportedPlatform  EMQ504        no embedded PostgreSQL on this operating system

Codes never change their meaning. Messages may.

Beside the tree stands Permanent, which the application raises and emq_sql never does: it has no
code, and `except EmqError` around a call of emq_sql does not swallow it.
"""

from __future__ import annotations

from typing import ClassVar


class EmqError(Exception):
    """Base of every error raised by emq_sql."""

    code: ClassVar[str] = "EMQ000"

    def __init__(self, what: str, *, hint: str | None = None) -> None:
        self.what = what
        self.hint = hint
        super().__init__(what)

    def __str__(self) -> str:
        tail = f" {self.hint}" if self.hint else ""
        return f"{self.what}{tail} [{self.code}]"


class Permanent(Exception):
    """Raise it in a handler when another try cannot help: the job is a dead letter at once, with
    this as its error. Its classes may be the application's own.
    """


class BadInput(EmqError, ValueError):
    """What was given is refused, and nothing was written."""

    code = "EMQ100"


class BadName(BadInput):
    """A queue, task, schema or role name is outside the grammar."""

    code = "EMQ101"


class BadPayload(BadInput):
    """The arguments (or a result) cannot be written as plain JSON."""

    code = "EMQ102"


class PayloadTooLarge(BadInput):
    """The arguments (or a result) are over the size limit."""

    code = "EMQ103"


class BadTime(BadInput):
    """A datetime without a time zone, or a duration that is none."""

    code = "EMQ104"


class BadJobId(BadInput):
    """A job id is not a UUIDv7, or is dated more than a day ahead of the server."""

    code = "EMQ105"


class BadSetting(BadInput):
    """A setting is impossible, alone or beside another one."""

    code = "EMQ106"


class UnknownTask(BadInput):
    """No task of that name is registered with this application."""

    code = "EMQ107"


class UnsupportedHandle(BadInput):
    """The object given is not a Session, a Connection or a psycopg connection."""

    code = "EMQ108"


class LeaseLost(EmqError):
    """Another worker holds, or has finished, this job: roll back what was done for it."""

    code = "EMQ201"


class JobFinished(LeaseLost):
    """This job was already settled under this fence: nothing more can be done for it."""

    code = "EMQ202"


class LeaseBusy(EmqError):
    """An open transaction holds the ledger row of this job: ask again."""

    code = "EMQ203"


class CannotGuard(EmqError):
    """In a handler: this way of writing into the ledger's database cannot be guarded."""

    code = "EMQ204"


class SchemaError(EmqError):
    """The schema in the database and this version of emq_sql do not fit."""

    code = "EMQ300"


class SchemaMissing(SchemaError):
    """The ledger is not installed in this database (or not in this schema)."""

    code = "EMQ301"


class SchemaTooOld(SchemaError):
    """The database is behind this version of emq_sql."""

    code = "EMQ302"


class SchemaTooNew(SchemaError):
    """The database is ahead of this version of emq_sql."""

    code = "EMQ303"


class StepOutOfOrder(SchemaError):
    """A migration step would leave a gap."""

    code = "EMQ304"


class JobsWouldBeLost(SchemaError):
    """A downgrade would drop tables that hold jobs."""

    code = "EMQ305"


class EnvironmentMismatch(EmqError):
    """The database is tagged for another environment, or is a copy that nobody has adopted."""

    code = "EMQ306"


class LoopFailed(EmqError):
    """A control loop of a worker kept failing: the worker ends, since it only seems to work."""

    code = "EMQ601"


class ChildrenFailed(EmqError):
    """No child process of a worker could be kept alive: the worker gives its jobs back and ends."""

    code = "EMQ602"


class AppFailed(EmqError):
    """The application's module raised, or wanted to exit, when it was imported; its error is the
    cause.
    """

    code = "EMQ603"


class DatabaseTrouble(EmqError):
    """The database could not do what was asked."""

    code = "EMQ400"


class Retryable(DatabaseTrouble):
    """Nothing happened: the same call may be made again."""

    code = "EMQ401"


class Ambiguous(DatabaseTrouble):
    """The connection broke at commit: whether it took place is unknown."""

    code = "EMQ402"


class Refused(DatabaseTrouble):
    """The server refused, and would refuse again."""

    code = "EMQ403"


class NoPgCron(DatabaseTrouble):
    """pg_cron is not loaded, not created, or not within reach of this role."""

    code = "EMQ404"


class TookTooLong(DatabaseTrouble):
    """A question to the archive took longer than it was given: ask for less."""

    code = "EMQ405"


class ExportError(EmqError):
    """Days of the archive could not be exported, checked or imported."""

    code = "EMQ700"


class ExportFailed(ExportError):
    """A day was not exported, or not dropped: its rows are in the database as before."""

    code = "EMQ701"


class ExportDamaged(ExportError):
    """A file of an export is missing, or is not what was written and recorded."""

    code = "EMQ702"


class ArrowMissing(ExportError):
    """pyarrow, which reads and writes Parquet, is not installed."""

    code = "EMQ703"


class EmbeddedError(EmqError):
    """The embedded PostgreSQL could not be had."""

    code = "EMQ500"


class NoServerBinaries(EmbeddedError):
    """No PostgreSQL programs were found on this machine."""

    code = "EMQ501"


class ServerDidNotStart(EmbeddedError):
    """initdb or postgres failed; the end of its log is in the message."""

    code = "EMQ502"


class ServerDidNotStop(EmbeddedError):
    """The server still runs after it was told to stop."""

    code = "EMQ503"


class UnsupportedPlatform(EmbeddedError):
    """There is no embedded PostgreSQL on this operating system."""

    code = "EMQ504"
