-- Shows: nothing, ever. A job is in exactly one place at every commit, and whatever lives or is dead
-- has its envelope. (Archive rows of a day that is being retired may have lost theirs; and an id
-- that was retired may live again beside its old archive row, hence the comparison of instants: that
-- row is older by an hour at least, and less than that is a clock that went back in between.)
create view emq.misplaced as
with p as (
  select id, null::timestamptz as at from emq.pending
  union all select id, null from emq.active
  union all select id, null from emq.scheduled
  union all select id, null from emq.dead
  union all select id, finished_at from emq.archive
)
select j.id, count(p.id) as places
  from emq.job j
  left join p on p.id = j.id and coalesce(p.at, 'infinity') > j.enqueued_at - interval '1 h'
 group by j.id
having count(p.id) <> 1
union all
select p.id, -1
  from p
 where p.at is null and not exists (select 1 from emq.job j where j.id = p.id);
