-- Promise: complete and claim in one round trip and one commit; each as it is alone. The answers of
--   complete come as one last row with a null id, and only when not all are done.
-- Parameters: those of complete, then those of claim.
-- Locks: those of claim and complete.
-- Index: those of claim and complete.
-- Claims first: the upkeep of claim's floors needs a transaction without an xid.
create function emq.complete_and_claim(
  p_ids uuid[], p_fences bigint[], p_results jsonb[],
  p_queue text, p_n int, p_worker text, p_nonce bigint, p_lease interval default null
)
returns table (
  id uuid, fence bigint, attempts int, stalled int, failures int, lease_deadline timestamptz,
  lease_ms int, task text, payload jsonb, headers jsonb, enqueued_at timestamptz, answers text[]
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v text[];
begin
  return query
    select c.*, null::text[] from emq.claim(p_queue, p_n, p_worker, p_nonce, p_lease) c;
  if cardinality(p_ids) > 0 then
    v := emq.complete(p_ids, p_fences, p_results);
    if v <> array_fill('done'::text, array[cardinality(p_ids)]) then
      answers := v;
      id := null; fence := null; attempts := null; stalled := null; failures := null;
      lease_deadline := null; lease_ms := null; task := null; payload := null; headers := null;
      enqueued_at := null;
      return next;
    end if;
  end if;
end $$;
