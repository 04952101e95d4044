-- Takes back what the functions before need no more; every job stays as it is.
alter function emq.set_queue(text, jsonb, text) set lock_timeout = '5s';
alter function emq.configure(text, interval, int, int, interval, text) set lock_timeout = '5s';
drop function emq.bound, emq.finite;
drop index emq.inbox_id_idx;
