-- Holds: which keys of the inbox a job has, so that they go with it when it is erased.
-- A key a row, of the last weeks: no large table, and held for an instant.
-- squawk-ignore require-concurrent-index-creation
create index inbox_id_idx on emq.inbox (id);
