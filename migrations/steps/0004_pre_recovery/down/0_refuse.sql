-- Promise: no record of an export goes while its files hold rows that the database has no more, unless the
--   session says emq.discard_jobs = 'on': without the record nobody knows which files are the only copy.
-- Locks: ACCESS EXCLUSIVE on exported, to the end.
do $do$
declare
  v_n bigint;
begin
  lock table emq.exported in access exclusive mode;
  select count(*) into v_n from emq.exported e where e.removed > 0 or e.dropped_at is not null;
  if coalesce(current_setting('emq.discard_jobs', true), '') <> 'on' and v_n > 0 then
    raise exception 'emq: the records of % exported days, of which rows are in files alone, would be lost', v_n
      using errcode = 'EQ005',
            hint = 'Keep a copy of the table exported, and the files where they are; then'
                   ' emq schema downgrade --discard-jobs, or set emq.discard_jobs = ''on''.';
  end if;
end $do$;
