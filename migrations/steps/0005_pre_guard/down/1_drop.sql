-- Takes back what the step made; every job stays as it is. The keys of the inbox go: what they kept from
-- happening twice may happen twice.
drop function
  emq.guard_commit, emq.settle, emq.ledger_id, emq.decided, emq.once, emq.tidy_inbox,
  emq.note_refusals, emq.stop_sql, emq.sql_stops;
drop table emq.inbox;
alter table emq.meta drop column inbox_retention;
