-- Promise: the same sweep for one queue, with a given threshold: the ids put back and the ids that
--   are dead letters now.
-- Parameters: p_queue; p_max_stalled, the queue's when null; p_limit rows at most.
-- Locks: those of sweep.
-- Index: those of sweep; expired rows of other queues are walked.
create function emq.check_stalled(
  p_queue text, p_max_stalled int default null, p_limit int default 500,
  out recovered uuid[], out dead uuid[]
)
language sql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
  select w.back, w.died from emq.sweep(p_queue, p_max_stalled, p_limit) w where p_queue is not null
$$;
