-- Nobody but the owner may do anything until roles.sql grants it: functions are EXECUTE to PUBLIC by
-- default. Then the first partitions.
revoke all on schema emq from public;
revoke all on all tables in schema emq from public;
revoke all on all sequences in schema emq from public;
revoke all on all functions in schema emq from public;
select emq.archive_days(3);
