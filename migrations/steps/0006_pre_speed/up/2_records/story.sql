-- Promise: the whole story of a job in order of time, for as long as anything of it is kept: enqueued,
--   each claim and how it ended, extensions that came late, refused stale calls (whose, how late and how
--   long beside the next attempt), its death, what operators did to it and why, its end, and in which
--   day of the archive, or which file of an export, that is. A job whose envelope is gone is told from
--   what is left. Errors are in it, so it is the operator's.
-- Parameters: p_id.
-- Locks: ACCESS SHARE on what it reads; of the archive and the attempts, the days from the job's own on
--   (see archived.sql).
-- Index: job_pk, active_pk, dead_pk, refusal_id_idx, late_id_idx, audit_id_idx; archive_id_idx and
--   attempt_id_idx of those days. Exports are few rows.
-- A row of the archive says of which day it is, so the file is known. Without it, every part of an
-- export with an id below and one above may have it.
create or replace function emq.story(p_id uuid)
returns table (at timestamptz, event text, attempts int, worker text, detail text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return query execute
    'with r as materialized (
       select a.*, c.relname::text as name from emq.archive a join pg_class c on c.oid = a.tableoid
        where a.id = $1 and a.finished_at >= $2 and a.finished_at < $3
     ), t as materialized (
       select a.* from emq.attempt a where a.id = $1 and a.ended_at >= $2 and a.ended_at < $3
     ), x as (
       select x.verified_at, p.day, p.location, p.path
         from emq.exported x join emq.export_part p on p.day = x.day and p.version <= x.version
        where $1 between p.min_id and p.max_id
          and p.day >= ($2 at time zone ''UTC'')::date
          and (not exists (select from r)
               or p.day in (select (r.finished_at at time zone ''UTC'')::date from r))
        order by p.day, p.part limit 20
     )
     select e.at, e.event, e.attempts, e.worker, e.detail
       from (
         select j.enqueued_at as at, ''enqueued'' as event, null::int as attempts,
                null::text as worker,
                format(''task %s, queue %s, priority %s'', j.task, j.queue, j.priority) as detail,
                0 as n
           from emq.job j where j.id = $1
         union all
         select t.claimed_at, ''claimed'', (t.fence >> 40)::int, t.worker, null, 1 from t
         union all
         select t.ended_at, t.how, (t.fence >> 40)::int, t.worker,
                coalesce(t.error, format(''lease_deadline %s, extended %s times'',
                                         t.lease_deadline, t.extensions)), 3
           from t
         union all
         select a.claimed_at, ''claimed'', a.attempts, a.worker,
                format(''lease_deadline %s, extended %s times'', a.lease_deadline, a.extensions), 1
           from emq.active a where a.id = $1
         union all
         select l.at, ''extended late'', (l.fence >> 40)::int, null,
                format(''lease_deadline was %s'', l.lease_deadline), 2
           from emq.late l where l.id = $1
         union all
         select f.at, ''refused'', (f.fence >> 40)::int, f.worker,
                concat(f.verb, '' under a stale fence; the job was '',
                       coalesce(''held at attempt '' || (f.held >> 40), ''held by nobody''),
                       ''; late by '' || f.late, ''; beside the next attempt for '' || f.overlap), 4
           from emq.refusal f where f.id = $1
         union all
         select d.died_at, ''dead'', d.attempts, null,
                coalesce(d.reason || '': '' || d.error, d.reason), 5
           from emq.dead d where d.id = $1
         union all
         select u.at, u.verb, null, null,
                concat_ws('': '', ''by '' || u.who, u.label, u.detail ->> ''reason'',
                          u.detail ->> ''error''), 6
           from emq.audit u where u.id = $1
         union all
         select r.claimed_at, ''claimed'', r.attempts, r.worker,
                ''lease_deadline '' || r.lease_deadline, 1
           from r where r.status = ''completed''
         union all
         select r.finished_at, r.status, r.attempts, r.worker, r.result::text, 7 from r
         union all
         select r.finished_at, ''archived'', null, null, r.name, 8 from r
         union all
         select x.verified_at, ''exported'', null, null,
                case when exists (select from r) then '''' else ''may be in '' end
                || rtrim(x.location, ''/'') || ''/'' || x.path, 9
           from x
       ) e
      order by e.at, e.n'
    using p_id, coalesce(emq.id_time(p_id) - interval '1 day', '-infinity'),
          clock_timestamp() + interval '1 hour';
end $$;
revoke all on function emq.story from public;
