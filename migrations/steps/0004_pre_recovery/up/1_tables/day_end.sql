-- Holds: for a day that is over, a transaction id that was taken after its end. Whoever read the clock
-- on that day had an older one by then.
create table emq.day_end (
  day date constraint day_end_pk primary key,
  xid xid8 not null,
  noted_at timestamptz not null default clock_timestamp()
);
revoke all on emq.day_end from public;
