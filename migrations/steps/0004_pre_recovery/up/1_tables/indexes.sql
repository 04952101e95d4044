-- Holds: the ways to what is told of one job, and to what is old enough to go.
-- Locks: SHARE on emq.audit and emq.refusal while an index is made. A step is one statement, so they
-- cannot be made concurrently; both tables are small where operators and stale workers are few.
-- squawk-ignore require-concurrent-index-creation
create index audit_id_idx on emq.audit (id) where id is not null;
-- squawk-ignore require-concurrent-index-creation
create index refusal_at_idx on emq.refusal (at);
