-- Holds: of a finished job, also the deadline that its last lease had: who asks what was in flight at
-- an instant learns until when it was held. Null in rows of before and in those that nobody held.
-- Locks: ACCESS EXCLUSIVE on the archive for an instant; nothing is rewritten.
alter table emq.archive add column lease_deadline timestamptz;
