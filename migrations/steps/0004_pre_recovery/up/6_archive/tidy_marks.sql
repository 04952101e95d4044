-- Promise: the marks of `tidied` agree with the settings as they are now (see tidy_queues.sql); answers
--   whether any retention is shorter than the longest. Writes only what is not so yet.
-- Parameters: p_kept_from, the instant of the longest.
-- Locks: rows of tidied; the caller has tidy's lock.
-- Index: tidied_pk, queue_pk.
create function emq.tidy_marks(p_kept_from timestamptz) returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  with gone as (  -- no setting of its own any more: it counts with all others from now on
    delete from emq.tidied t
     where t.queue <> '*' and not exists (
       select from emq.queue q
        where q.name = t.queue
          and case when t.completed then q.retention else q.cancelled_retention end is not null)
    returning t.completed, t.through
  )
  update emq.tidied t set through = least(t.through, g.through), day = null
    from (select x.completed, min(x.through) as through from gone x group by 1) g
   where t.queue = '*' and t.completed = g.completed;

  with now as materialized (
    select q.name as queue, k.completed,
           case when k.completed then q.retention else q.cancelled_retention end as retention
      from emq.queue q cross join (values (true), (false)) k (completed)
    union all
    select '*', k.completed, m.retention
      from emq.meta m cross join (values (true), (false)) k (completed)
  ), changed as (
    update emq.tidied t set retention = n.retention, day = null
      from now n
     where n.queue = t.queue and n.completed = t.completed and n.retention <> t.retention
  )
  insert into emq.tidied (queue, completed, retention)
  select n.queue, n.completed, n.retention
    from now n
   where emq.ago(n.retention) > p_kept_from
     and not exists (select from emq.tidied t where t.queue = n.queue and t.completed = n.completed);

  return exists (select from emq.tidied t where emq.ago(t.retention) > p_kept_from);
end $$;
revoke all on function emq.tidy_marks from public;
