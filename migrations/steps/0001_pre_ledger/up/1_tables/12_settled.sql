-- Holds: the register of floors; the newest row counts. A new row each time instead of an update:
-- under a pinned horizon an updated row grows a chain that every reader would walk.
-- A table and not a sequence: sequences are not part of a dump's snapshot, and a restored mark
-- above the restored ord_seq would lose jobs. No row (a TRUNCATE of all tables) is no floor.
create table emq.settled (
  n bigint generated always as identity constraint settled_pk primary key,
  w bigint not null default 0,                               -- every ord <= w is decided
  t timestamptz not null default '-infinity',                -- every lease_deadline and run_at < t is decided
  reap_from timestamptz not null default '-infinity',        -- floor of reap and claimed
  promote_from timestamptz not null default '-infinity',     -- floor of promote
  cand_w bigint,                                             -- the next candidate for w
  cand_t timestamptz,                                        -- the next candidate for t
  holders text[]                                             -- who must end before they count
);
insert into emq.settled default values;
