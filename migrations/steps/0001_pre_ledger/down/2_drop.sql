-- Named and without CASCADE, so that a table of somebody else's in this schema, or a view of theirs
-- on one of ours, stops the downgrade instead of going with it.
drop view emq.misplaced, emq.depth, emq.ledger;

drop function
  emq.archive_days, emq.archived, emq.check_stalled, emq.claim, emq.claimed, emq.complete,
  emq.complete_and_claim, emq.configure, emq.enqueue, emq.enqueue_many, emq.envelope, emq.extend,
  emq.guard, emq.id_time, emq.job_id, emq.maintain, emq.outcome, emq.pause, emq.place, emq.promote,
  emq.put_back, emq.reap, emq.reap_one, emq.refuse, emq.refuse_new, emq.release, emq.rest,
  emq.result, emq.resume, emq.retry, emq.ring, emq.snooze, emq.story, emq.sweep, emq.tag, emq.uuid7,
  emq.worker_gone, emq.worker_seen;

drop table
  emq.active, emq.archive, emq.attempt, emq.audit, emq.dead, emq.job, emq.meta, emq.pending,
  emq.queue, emq.reap_log, emq.refusal, emq.scheduled, emq.settled, emq.worker;

drop sequence emq.ord_seq;
drop schema emq;
