-- Promise: the advisory locks that stand for the bells of these queues: the same for whoever parks
--   and whoever rings. Two queues may share one, and are then rung for each other: a hint too many.
-- Parameters: p_queues, any number: the answer has 64 at most, so parking fits the lock table.
-- Locks: none.
-- Index: none.
create function emq.bell_locks(p_queues text[]) returns table (queue text, lock int)
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
  select u.queue,
         hashtext('emq.settled'::regclass::oid::text || '/' || (hashtext(u.queue) & 63)::text)
    from unnest(p_queues) as u (queue)
$$;
revoke all on function emq.bell_locks from public;
