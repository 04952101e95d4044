-- Holds: the line. Rows are inserted and deleted, never updated; the primary key is the one
-- ordered scan of the hot path. `rank` is priority * 2 + (0 recovered, 1 fresh), so that a reaped
-- job stands before the fresh ones of its level.
-- The default of `ord` takes the transaction's xid before the number: the claim's floor is exact
-- only because whoever holds a number at or below the mark has an older xid (see claim.sql).
create table emq.pending (
  ord bigint not null
    default case when pg_current_xact_id() is not null then nextval('emq.ord_seq') end,
  id uuid not null,
  attempts int not null default 0,
  lease_ms int,
  rank smallint not null,
  stalled smallint not null default 0,
  failures smallint not null default 0,
  queue text collate "C" not null,
  constraint pending_pk primary key (queue, rank, ord)
);
