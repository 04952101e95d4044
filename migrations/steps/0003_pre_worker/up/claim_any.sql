-- Promise: claim, from several queues in one statement: in the order given, up to p_n jobs in all.
--   One nonce for all of them: `claimed` reads back the whole call.
-- Parameters: p_queues, the one to be served first in front; the others as in claim.
-- Locks: those of claim.
-- Index: those of claim. A claim that takes jobs assigns the xid, so the floors of the queues behind
--   it rise at a later call: begin with another queue each time.
create function emq.claim_any(
  p_queues text[], p_n int, p_worker text, p_nonce bigint, p_lease interval default null
)
returns table (
  id uuid, fence bigint, attempts int, stalled int, failures int, lease_deadline timestamptz,
  lease_ms int, task text, payload jsonb, headers jsonb, enqueued_at timestamptz, queue text
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_queue text;
  v_left int := p_n;
  v_got int;
begin
  foreach v_queue in array p_queues loop
    exit when v_left is null or v_left < 1;
    return query select c.*, v_queue from emq.claim(v_queue, v_left, p_worker, p_nonce, p_lease) c;
    get diagnostics v_got = row_count;
    v_left := v_left - v_got;
  end loop;
end $$;
revoke all on function emq.claim_any from public;
