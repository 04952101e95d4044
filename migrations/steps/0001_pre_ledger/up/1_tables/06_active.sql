-- Holds: the ledger, one narrow row for each job that a worker has claimed and not finished: who
-- holds it, under which fence, until which instant of the server's clock. Only `extend` updates a
-- row; everything else inserts and deletes.
-- `fence` is (attempts << 40) | the nonce of the claim call: attempts only ever grow, and the nonce
-- tells two claims apart when a crash or a failover makes a number come twice.
create table emq.active (
  id uuid constraint active_pk primary key,
  fence bigint not null,
  lease_deadline timestamptz not null,
  claimed_at timestamptz not null,
  attempts int not null,
  lease_ms int not null,
  extensions int not null default 0,
  rank smallint not null,
  stalled smallint not null,
  failures smallint not null,
  queue text collate "C" not null,
  worker text not null
) with (fillfactor = 70);

create index active_deadline_idx on emq.active (lease_deadline);
