-- Holds: nothing new. Who steers waits for a settings row that somebody's open transaction has, for
-- five seconds and not for ever (55P03): an operator who wants to pause a queue must learn of it.
alter function emq.pause(text, text) set lock_timeout = '5s';
alter function emq.resume(text, text) set lock_timeout = '5s';
alter function emq.configure(text, interval, int, int, interval, text) set lock_timeout = '5s';
alter function emq.tag(text, text) set lock_timeout = '5s';
alter function emq.set_queue(text, jsonb, text) set lock_timeout = '5s';
alter function emq.set_ledger(jsonb, text) set lock_timeout = '5s';
alter function emq.adopt(text, text, int, text) set lock_timeout = '5s';
