-- Promise: replay_one without force, by its older name: done | busy | lost, and never | too old where
--   the queue says so.
-- Parameters: p_id; p_label.
-- Locks: those of replay_one.
-- Index: those of replay_one.
create or replace function emq.replay(p_id uuid, p_label text default null) returns text
language sql volatile security definer
set search_path = pg_catalog, pg_temp
as $$ select emq.replay_one(p_id, false, p_label) $$;
revoke all on function emq.replay from public;
