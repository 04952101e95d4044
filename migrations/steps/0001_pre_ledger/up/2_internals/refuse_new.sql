-- Promise: raises the named error for what is wrong with a queue's name or with ids, and says the
--   remedy; returns when nothing is. Called only when the caller has seen that something is.
-- Parameters: p_queue, p_ids as given to enqueue.
-- Locks: none.
-- Index: none.
create function emq.refuse_new(p_queue text, p_ids uuid[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v uuid;
begin
  if p_queue is null or p_queue !~ '^[a-z0-9][a-z0-9_.:-]{0,62}$' then
    raise exception 'emq: queue name % is outside the grammar', quote_nullable(left(p_queue, 100))
      using errcode = 'EQ006',
            hint = 'Lower-case letters, digits and _ . : - only, at most 63, first a letter or digit.';
  end if;
  select u into v from unnest(p_ids) u where emq.id_time(u) is null limit 1;
  if found then
    raise exception 'emq: job id % is not a UUIDv7', quote_nullable(v::text)
      using errcode = 'EQ002', hint = 'emq.job_id(key, at) makes one from a key.';
  end if;
  select u into v from unnest(p_ids) u
    where emq.id_time(u) > clock_timestamp() + interval '1 day' limit 1;
  if found then
    raise exception 'emq: job id % is dated more than a day ahead', v
      using errcode = 'EQ003',
            hint = 'Look at the clock of the producer, or at the instant given to emq.job_id.';
  end if;
end $$;
