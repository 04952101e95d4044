-- Promise: the run has failed, and says why: exception and timeout count a failure and the job waits
--   its delay, or is a dead letter when its budget is spent; permanent and expired make it one at
--   once; no handler (a task that nobody here knows) waits its delay at no cost, until the queue's
--   unknown_after. Answers pending | scheduled | dead | lost | busy for each, in order; never waits.
--   Another reason is refused (EQ006), and nothing is done.
-- Parameters: p_ids, p_fences, p_reasons in step; p_delays and p_errors null or in step.
-- Locks: those of hand_back.
-- Index: those of hand_back.
create function emq.fail(
  p_ids uuid[], p_fences bigint[], p_reasons text[], p_delays interval[] default null,
  p_errors text[] default null
) returns text[]
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bad text;
begin
  if cardinality(p_reasons) is distinct from cardinality(p_ids) then
    v_bad := 'a reason for each job is missing';
  else
    select format('the reason %L is none', u) into v_bad from unnest(p_reasons) u
     where u is null
        or u not in ('exception', 'timeout', 'permanent', 'expired', 'no handler') limit 1;
  end if;
  if v_bad is not null then
    raise exception 'emq: fail: %', v_bad
      using errcode = 'EQ006', hint = 'exception, timeout, permanent, expired or no handler.';
  end if;
  return emq.hand_back('fail', p_reasons, p_ids, p_fences, p_delays, p_errors);
end $$;
revoke all on function emq.fail from public;
