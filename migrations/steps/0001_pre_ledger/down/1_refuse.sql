-- Promise: nothing is lost by a downgrade: this step is the ledger, and taking it back drops every
--   job. It is refused while there are any, unless the session says emq.discard_jobs = 'on'.
-- Locks: ACCESS EXCLUSIVE on job, to the end, so that no enqueue comes in between.
do $do$
begin
  lock table emq.job in access exclusive mode;
  if coalesce(current_setting('emq.discard_jobs', true), '') <> 'on'
     and exists (select 1 from emq.job) then
    raise exception 'emq: % jobs would be lost with the schema', (select count(*) from emq.job)
      using errcode = 'EQ005',
            hint = 'Finished ones count until they are retired. Export what is needed, then'
                   ' emq schema downgrade --discard-jobs, or set emq.discard_jobs = ''on''.';
  end if;
end $do$;
