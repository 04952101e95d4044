-- Promise: a pass of upkeep when the last one is p_every old, or its instant lies ahead (the clock
--   went back), or is not known; else it does nothing: so any number of workers that call it about
--   once a second make one pass a second together. `ran` is false when there was none.
-- Parameters: p_every; p_limit as in maintain.
-- Locks: those of maintain.
-- Index: settled_pk; those of maintain.
create function emq.maintain_due(
  p_every interval, p_limit int default 1000,
  out ran boolean, out promoted int, out recovered int, out dead int
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_at timestamptz := (select s.at from emq.settled s order by s.n desc limit 1);
  v_now timestamptz := clock_timestamp();
begin
  ran := false;
  if v_at is null or v_at > v_now or v_at <= v_now - p_every then
    select m.ran, m.promoted, m.recovered, m.dead into ran, promoted, recovered, dead
      from emq.maintain(p_limit) m;
  end if;
end $$;
revoke all on function emq.maintain_due from public;
