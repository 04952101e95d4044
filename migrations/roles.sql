-- The four roles, as group roles that cannot log in; grant them to login roles. Rerunning is
-- harmless, and is needed after an upgrade that brings new functions.
-- Parameters: @prefix@ of the role names (roles belong to the whole cluster, so two ledgers that
-- must not share them need two prefixes).
-- producer: may add jobs. worker: may hold them, and add some. operator: may look into them, steer
-- queues and run upkeep. reader: may see the ledger and the depths, no payload and no error.
-- Nobody gets a table: a worker that could write active itself could forge a fence.
do $do$
declare
  r text;
begin
  foreach r in array array['@prefix@_producer', '@prefix@_worker', '@prefix@_operator', '@prefix@_reader'] loop
    if not exists (select 1 from pg_roles where rolname = r) then
      execute format('create role %I nologin', r);
    end if;
    execute format('grant usage on schema emq to %I', r);
    execute format('grant select on emq.meta to %I', r);
  end loop;
end $do$;

grant execute on function
  emq.enqueue, emq.enqueue_batch, emq.enqueue_many, emq.enqueue_unique, emq.uuid7, emq.job_id, emq.id_time,
  emq.ring, emq.ring_parked
to @prefix@_producer, @prefix@_worker;

grant execute on function
  emq.claim, emq.claimed, emq.complete, emq.complete_and_claim, emq.extend, emq.retry, emq.snooze,
  emq.release, emq.guard, emq.outcome, emq.result, emq.promote, emq.reap, emq.maintain,
  emq.worker_seen, emq.worker_gone, emq.keep, emq.stall, emq.park,
  emq.claim_any, emq.maintain_due, emq.fail, emq.last_chance
to @prefix@_worker;

grant execute on function emq.outcome, emq.result to @prefix@_producer;

-- A handler often writes as the application's own role, which may enqueue and no more: what it needs to
-- be refused, and to say that an effect is had, names a fence that nobody else knows.
grant execute on function
  emq.guard, emq.guard_commit, emq.ledger_id, emq.decided, emq.once
to @prefix@_producer, @prefix@_worker;

grant execute on function emq.note_refusals, emq.sql_stops, emq.settle to @prefix@_worker;

grant execute on function emq.stop_sql to @prefix@_operator;

grant select on emq.inbox to @prefix@_operator;

grant execute on function
  emq.pause, emq.resume, emq.configure, emq.tag, emq.promote, emq.reap, emq.check_stalled,
  emq.maintain, emq.archive_days, emq.outcome, emq.result, emq.place, emq.story, emq.envelope,
  emq.dead_list, emq.dead_groups, emq.dead_letter, emq.replay_count, emq.replay_many, emq.replay_one,
  emq.discard_many,
  emq.cancel, emq.replay, emq.discard, emq.retire, emq.ring, emq.ring_parked, emq.id_time, emq.job_id,
  emq.maintain_due, emq.set_queue, emq.set_ledger, emq.headline, emq.fingerprint
to @prefix@_operator;

grant execute on function emq.enqueue_unless_waiting to @prefix@_producer, @prefix@_worker;

grant execute on function
  emq.drain, emq.obliterate, emq.release_worker, emq.adopt, emq.here
to @prefix@_operator;

grant execute on function emq.release_key to @prefix@_operator;
grant execute on function emq.key_holder to @prefix@_operator, @prefix@_reader;

grant execute on function emq.at_home to @prefix@_worker, @prefix@_operator;

grant execute on function emq.tidy to @prefix@_worker, @prefix@_operator;
grant execute on function emq.search to @prefix@_operator;
grant execute on function emq.as_of, emq.kept_days to @prefix@_operator, @prefix@_reader;

grant execute on function
  emq.closed, emq.export_add, emq.export_begin, emq.export_days, emq.export_done, emq.export_end,
  emq.export_extend, emq.export_forget, emq.export_rows, emq.export_verified
to @prefix@_operator;

grant execute on procedure emq.maintain_loop to @prefix@_operator;

grant select on
  emq.ledger, emq.depth, emq.misplaced, emq.worker, emq.reap_log, emq.audit, emq.refusal,
  emq.late, emq.queue, emq.exported, emq.export_part
to @prefix@_operator;

grant execute on function emq.place to @prefix@_reader;
grant select on emq.ledger, emq.depth, emq.worker, emq.reap_log, emq.queue to @prefix@_reader;
