-- Promise: finished jobs that a filter chooses, newest first, p_limit of them and never more than 1000.
--   It goes from day to day, the newest first, and ends when it has enough: memory is that of the
--   rows that it answers. Time is bounded by the caller alone: set a statement_timeout, and narrow
--   the days when it strikes. `error` is the last one of its attempts, or of the dead letter it was.
-- Parameters: p_filter (see search_where.sql; '{}' for all); p_limit.
-- Locks: ACCESS SHARE on the days that are looked at.
-- Index: archive_id_idx of a day for ids; else the days are read whole. job_pk, attempt_id_idx of the
--   days of a job's life, audit_id_idx.
create function emq.search(p_filter jsonb default '{}', p_limit int default 100)
returns table (
  id uuid, queue text, task text, status text, worker text, attempts int, stalled int, failures int,
  enqueued_at timestamptz, claimed_at timestamptz, finished_at timestamptz, error text
)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
#variable_conflict use_column
declare
  v_where text := emq.search_where(p_filter);
  v_from timestamptz := coalesce((p_filter ->> 'finished_after')::timestamptz, '-infinity');
  v_to timestamptz := coalesce((p_filter ->> 'finished_before')::timestamptz, 'infinity');
  v_envelope constant text :=
    'emq.job j on j.id = a.id and j.enqueued_at < a.finished_at + interval ''1 h''';
  v_left int := least(coalesce(p_limit, 100), 1000);
  v_n int;
  v_ids uuid[];
  v_tried uuid[];
  v_ats timestamptz[];
  v_strays boolean;
  r record;
begin
  if v_left < 1 then
    raise exception 'emq: % rows cannot be searched for', p_limit
      using errcode = 'EQ006', hint = 'Give a limit from 1 to 1000.';
  end if;
  if p_filter ? 'id' then
    select greatest(v_from, min(emq.id_time((x #>> '{}')::uuid)) - interval '1 day')
      into v_from from jsonb_path_query(p_filter, '$.id[*]') x;
  end if;
  v_strays := exists (select from emq.archive_default);

  for r in
    with d as (
      select x.first, x.last, lead(x.first, 1, 'infinity') over (order by x.first) as next
        from emq.days_of('archive') x
    )
    select g.first, g.last from (
      select d.first, d.last from d
      union all select d.last, d.next from d where v_strays and d.last < d.next
      union all select '-infinity', coalesce(min(d.first), 'infinity') from d having v_strays
    ) g
     where g.last > v_from and g.first < v_to
     order by g.first desc
  loop
    -- First which rows, in a plan of one day: most days have none, and the rest opens all attempts.
    execute format(
      'select array_agg(f.id), array_agg(f.finished_at), count(*),
              array_agg(f.id) filter (where f.attempts > 1 or f.status <> ''completed'')
         from (select a.id, a.finished_at, a.attempts, a.status from emq.archive a %s
                where a.finished_at >= %L and a.finished_at < %L and %s
                order by a.finished_at desc, a.id desc limit %s) f',
      case when p_filter ?| array['task', 'payload'] then 'join ' || v_envelope end,
      greatest(r.first, v_from), least(r.last, v_to), v_where, v_left)
      into v_ids, v_ats, v_n, v_tried using p_filter;
    continue when v_n = 0;
    return query execute format(
      'with e as materialized (
         select t.id, t.ended_at, t.error from emq.attempt t
          where t.id = any ($3) and t.error is not null and t.ended_at >= $4
       )
       select a.id, a.queue, j.task, a.status, a.worker, a.attempts, a.stalled::int, a.failures::int,
              j.enqueued_at, a.claimed_at, a.finished_at,
              coalesce(
                (select e.error from e
                  where e.id = a.id and e.ended_at < a.finished_at + interval ''1 hour''
                  order by e.ended_at desc limit 1),
                (select u.detail ->> ''error'' from emq.audit u
                  where a.status = ''discarded'' and u.id = a.id and u.verb = ''discard''
                  order by u.at desc limit 1))
         from emq.archive a
         left join %s
        where a.finished_at >= %L and a.finished_at < %L and a.id = any ($1) and a.finished_at = any ($2)
        order by a.finished_at desc, a.id desc',
      v_envelope, greatest(r.first, v_from), least(r.last, v_to))
      using v_ids, v_ats, v_tried,
            (select min(emq.id_time(u)) - interval '1 day' from unnest(v_tried) u);
    v_left := v_left - v_n;
    exit when v_left <= 0;
  end loop;
end $$;
revoke all on function emq.search from public;
