-- Takes back what the functions before could not go without.
drop function emq.record_refusals, emq.hold, emq.end_of, emq.mine;
alter table emq.refusal
  drop column task, drop column queue, drop column worker, drop column attempts, drop column late,
  drop column overlap;
alter function emq.set_ledger(jsonb, text) set lock_timeout = '5s';
