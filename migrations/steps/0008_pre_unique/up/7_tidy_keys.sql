-- Promise: one step of forgetting unique keys whose holder counts no more. Each is looked at when its
--   `until` is over, or an hour after it was taken and every hour from then on. Null when none is due.
-- Parameters: p_limit rows.
-- Locks: the rows looked at; those that an enqueue takes just now are stepped over.
-- Index: unique_key_look_at_idx; those of holds_key.
create function emq.tidy_keys(
  p_limit int, out did text, out what text, out remaining bigint
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set jit = off
as $$
declare
  v_due text[];
begin
  select array_agg(x.key) into v_due from (
    select u.key from emq.unique_key u
     where u.look_at <= clock_timestamp()
     order by u.look_at limit p_limit
       for update skip locked) x;
  if v_due is null then
    return;
  end if;
  delete from emq.unique_key u
   where u.key = any (v_due) and not emq.holds_key(u.id, u.scope, u.until);
  update emq.unique_key u set look_at = clock_timestamp() + interval '1 h' where u.key = any (v_due);
  did := 'deleted';
  what := 'unique keys';
end $$;
revoke all on function emq.tidy_keys from public;
