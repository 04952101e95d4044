-- Takes back what the step made; every job stays as it is, but what the new columns said is gone.
do $do$
declare
  t regclass;
begin
  for t in select g.tgrelid from pg_trigger g where g.tgfoid = 'emq.late_row'::regproc loop
    execute format('drop trigger late_row on %s', t);
  end loop;
end $do$;
drop function
  emq.closed, emq.late_row, emq.export_add, emq.export_at_work, emq.export_begin, emq.export_days,
  emq.export_done, emq.export_end, emq.export_extend, emq.export_forget, emq.export_rows, emq.export_stands,
  emq.export_verified;
drop table emq.day_end, emq.exported, emq.export_claim, emq.export_part;
drop function
  emq.tidy, emq.tidy_attempts, emq.tidy_days, emq.tidy_dead, emq.tidy_marks, emq.tidy_queues,
  emq.tidy_records, emq.tidy_strays, emq.drop_attempts, emq.days_of, emq.kept_from, emq.ago,
  emq.as_of, emq.kept_days, emq.search, emq.search_where;
drop table emq.tidied, emq.tidying;
drop index emq.dead_queue_died_at_idx;
drop function
  emq.dead_groups, emq.dead_letter, emq.dead_list, emq.dead_matching, emq.dead_where,
  emq.discard_many, emq.replay_count, emq.replay_many, emq.replay_one, emq.replay_verdict;
drop function
  emq.end_runs, emq.fail, emq.fingerprint, emq.hand_back, emq.headline, emq.last_chance,
  emq.refuse_settings, emq.set_ledger, emq.set_queue, emq.tell_dead;
drop function
  emq.adopt, emq.at_home, emq.drain, emq.enqueue_unless_waiting, emq.erase, emq.here, emq.obliterate,
  emq.release_worker, emq.unseat, emq.withdraw;
drop procedure emq.maintain_loop;
drop table emq.late;
drop index emq.audit_id_idx, emq.refusal_at_idx, emq.dead_died_at_idx;
alter table emq.archive drop column lease_deadline;
alter table emq.dead drop column task, drop column worker, drop column fingerprint;
alter table emq.meta
  drop column retention, drop column audit_retention, drop column export_first, drop column home;
alter table emq.queue
  drop column max_active, drop column cancelled_retention, drop column dead_retention,
  drop column replay_within, drop column unknown_after, drop column quarantine,
  drop column quarantine_after, drop column on_dead, drop column on_dead_queue;
alter function emq.pause(text, text) reset lock_timeout;
alter function emq.resume(text, text) reset lock_timeout;
alter function emq.configure(text, interval, int, int, interval, text) reset lock_timeout;
alter function emq.tag(text, text) reset lock_timeout;
comment on constraint queue_lease_ck on emq.queue is null;
comment on constraint queue_max_attempts_ck on emq.queue is null;
comment on constraint queue_max_stalled_ck on emq.queue is null;
comment on constraint queue_retention_ck on emq.queue is null;
