-- Promise: from this commit on no claim takes a job of the queue; jobs that run go on. Repeats are
--   harmless. Audited.
-- Parameters: p_queue; p_label, what the audit row says of why or whence.
-- Locks: the queue's settings row.
-- Index: queue_pk.
create function emq.pause(p_queue text, p_label text default null) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform emq.refuse_new(p_queue, '{}');
  insert into emq.queue (name, paused) values (p_queue, true)
  on conflict on constraint queue_pk do update set paused = true;
  insert into emq.audit (verb, queue, label) values ('pause', p_queue, p_label);
end $$;
