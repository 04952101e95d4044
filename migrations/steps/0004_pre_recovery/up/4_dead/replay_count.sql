-- Promise: what replay_many would do with all that a filter chooses, and does nothing: how many go
--   back, and how many stay and why. `at` is the instant of the look: with it as died_before, a job
--   that goes back and dies again is not met twice by one run.
-- Parameters: p_filter (see dead_where.sql).
-- Locks: none.
-- Index: those of dead_matching, which walks all letters that match.
create function emq.replay_count(
  p_filter jsonb, out at timestamptz, out replay bigint, out permanent bigint, out never bigint,
  out too_old bigint
)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  at := clock_timestamp();
  select count(*) filter (where m.verdict = 'replay'),
         count(*) filter (where m.verdict = 'permanent'),
         count(*) filter (where m.verdict = 'never'), count(*) filter (where m.verdict = 'too old')
    into replay, permanent, never, too_old
    from emq.dead_matching(p_filter, false, null, null) m;
end $$;
revoke all on function emq.replay_count from public;
