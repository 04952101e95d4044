-- Promise: whether a dead letter goes back when many are replayed: replay | never (its queue says so)
--   | too old (for its queue) | permanent (it failed for good, or came too late: the same would
--   happen again, so it must be asked for by name). More than 5000 years are any age.
-- Parameters: p_reason, p_died_at of the letter; p_within, the queue's replay_within; p_now;
--   p_named, whether letters that failed for good were asked for.
-- Locks: none.
-- Index: none.
create function emq.replay_verdict(
  p_reason text, p_died_at timestamptz, p_within interval, p_now timestamptz, p_named boolean
) returns text
language sql stable parallel safe
as $$
  select case when p_within = interval '0' then 'never'
              when p_within <= interval '5000 years' and p_died_at < p_now - p_within then 'too old'
              when p_reason in ('permanent', 'expired') and p_named is not true then 'permanent'
              else 'replay' end
$$;
revoke all on function emq.replay_verdict from public;
