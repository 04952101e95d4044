-- Holds: of a day that is being retired, whether its rows were compared with its export before the
-- first envelope was deleted.
-- Locks: ACCESS EXCLUSIVE on emq.retiring for an instant; nothing is rewritten.
alter table emq.retiring add column checked boolean not null default false;
