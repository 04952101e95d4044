-- Promise: from this commit on claims take jobs of the queue again, from the head that it had.
--   Repeats are harmless. Audited.
-- Parameters: p_queue; p_label, what the audit row says of why or whence.
-- Locks: the queue's settings row.
-- Index: queue_pk.
create function emq.resume(p_queue text, p_label text default null) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform emq.refuse_new(p_queue, '{}');
  update emq.queue set paused = false where name = p_queue;
  insert into emq.audit (verb, queue, label) values ('resume', p_queue, p_label);
end $$;
