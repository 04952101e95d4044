-- The schema at the newest step, as PostgreSQL 18 dumps it without partitions of days.
-- For review, never run. Written by `make dump`; a test compares it with the sum of the steps.
--
-- PostgreSQL database dump
--

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET transaction_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: emq; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA emq;

--
-- Name: adopt(text, text, integer, text); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.adopt(p_environment text, p_what text, p_limit integer DEFAULT 1000, p_label text DEFAULT NULL::text, OUT status text, OUT cancelled integer, OUT discarded integer, OUT paused text[]) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '5s'
    AS $$
declare
  v_limit int := greatest(coalesce(p_limit, 1000), 1);
  v_queue text;
  v_id uuid;
  m emq.meta;
begin
  if p_what is null or p_what not in ('run', 'hold', 'discard') then
    raise exception 'emq: % is no way to adopt a database', quote_nullable(left(p_what, 100))
      using errcode = 'EQ006', hint = 'Say run, hold or discard.';
  end if;
  if p_environment = '' then
    raise exception 'emq: an environment has a name that is not empty'
      using errcode = 'EQ006', hint = 'Give null for no tag.';
  end if;
  cancelled := 0;
  discarded := 0;
  paused := '{}';
  if exists (select from pg_stat_activity s
              where s.datname = current_database() and s.pid <> pg_backend_pid()
                and s.application_name like 'emq %') then
    status := 'workers';
    return;
  end if;

  if p_what = 'discard' then
    select x.queue into v_queue
      from ((select p.queue from emq.pending p limit 1)
            union all (select s.queue from emq.scheduled s limit 1)) x limit 1;
    if v_queue is not null then
      select d.cancelled into cancelled from emq.drain(v_queue, v_limit, true, null, p_label) d;
      status := case when cancelled > 0 then 'more' else 'busy' end;
      return;
    end if;
    for v_id in select a.id from emq.active a limit v_limit loop
      cancelled := cancelled + (emq.cancel(v_id, p_label) = 'done')::int;
    end loop;
    for v_id in select d.id from emq.dead d limit v_limit - cancelled loop
      discarded := discarded + (emq.discard(v_id, p_label) = 'done')::int;
    end loop;
    if exists (select from emq.active) or exists (select from emq.dead) then
      status := case when cancelled + discarded > 0 then 'more' else 'busy' end;
      return;
    end if;
  elsif p_what = 'hold' then
    with q as (
      select p.queue as name from emq.pending p
      union select s.queue from emq.scheduled s
      union select a.queue from emq.active a
      union select d.queue from emq.dead d
    ), p as (
      insert into emq.queue as y (name, paused)
      select u.name, true
        from (select q.name from q
              union select y.quarantine from emq.queue y
              union select y.on_dead_queue from emq.queue y) u
       where u.name is not null
       order by 1
      on conflict on constraint queue_pk do update set paused = true
      returning y.name
    )
    select coalesce(array_agg(p.name order by p.name), '{}') into paused from p;
  end if;

  select x.* into m from emq.meta x for update;
  update emq.meta x
     set environment = p_environment, home = emq.here(), ledger_id = gen_random_uuid();
  delete from emq.worker;
  insert into emq.audit (verb, label, detail)
  values ('adopt', p_label, jsonb_build_object(
    'what', p_what, 'paused', paused, 'environment', p_environment,
    'was', jsonb_build_object('environment', m.environment, 'home', m.home, 'ledger_id', m.ledger_id)));
  status := 'done';
end $$;

--
-- Name: ago(interval); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.ago(p_retention interval) RETURNS timestamp with time zone
    LANGUAGE sql STABLE
    AS $$
  select case when p_retention > interval '5000 years' then '-infinity'
              else statement_timestamp() - p_retention end
$$;

--
-- Name: archive_days(integer, date); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.archive_days(p_ahead integer, p_from date DEFAULT ((now() AT TIME ZONE 'utc'::text))::date) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '300ms'
    SET "TimeZone" TO 'UTC'
    AS $$
declare
  d date;
  v_n int := 0;
  v_failed boolean := false;
  v_t text;
  v_p text;
begin
  foreach v_p in array array['archive', 'attempt'] loop
    for i in -1..p_ahead loop
      d := p_from + i;
      v_t := v_p || '_' || to_char(d, 'YYYYMMDD');
      continue when to_regclass('emq.' || v_t) is not null;
      begin
        execute format(
          'create table emq.%I (like emq.%I including defaults including constraints)', v_t, v_p);
        execute format('alter table emq.%I replica identity full', v_t);  -- retention deletes from it
        execute format('create index %I on emq.%I (id)', v_t || '_id_idx', v_t);
        execute format('alter table emq.%I attach partition emq.%I for values from (%L) to (%L)',
                       v_p, v_t, d::timestamptz, (d + 1)::timestamptz);
        v_n := v_n + 1;
      exception
        when lock_not_available then return -1 - v_n;
        when check_violation then null;
        when others then
          if not v_failed then  -- once a call: where DDL is forbidden it is the same for each
            raise warning 'emq: the partition % could not be made: %', v_t, sqlerrm
              using errcode = sqlstate;
          end if;
          v_failed := true;
      end;
    end loop;
  end loop;
  return case when v_failed then -1 - v_n else v_n end;
end $$;

--
-- Name: archived(uuid[]); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.archived(p_ids uuid[]) RETURNS TABLE(id uuid, fence bigint, status text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $_$
declare
  v_from timestamptz := emq.id_time(p_ids[1]);
begin
  if cardinality(p_ids) > 1 then
    select min(emq.id_time(u)) into v_from from unnest(p_ids) u;
  end if;
  return query execute
    'select x.id, x.fence, x.status from emq.archive x
      where x.id = any($1) and x.finished_at >= $2 and x.finished_at < $3'
    using p_ids, v_from - interval '1 day', clock_timestamp() + interval '1 hour';
end $_$;

--
-- Name: as_of(timestamp with time zone, integer, interval); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.as_of(p_at timestamp with time zone, p_limit integer DEFAULT 1000, p_longest interval DEFAULT '1 day'::interval) RETURNS TABLE(id uuid, queue text, task text, worker text, attempts integer, claimed_at timestamp with time zone, ended_at timestamp with time zone, ended text, lease_deadline timestamp with time zone)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS $_$
begin
  if p_at is null or p_at > clock_timestamp() then
    return;
  end if;
  return query execute
    'select f.id, f.queue, j.task, f.worker, f.attempts, f.claimed_at, f.ended_at, f.ended,
            f.lease_deadline
       from (
         select x.* from (
           select a.id, a.queue, a.worker, a.attempts, a.claimed_at, null::timestamptz as ended_at,
                  null as ended, a.lease_deadline
             from emq.active a where a.claimed_at <= $1
           union all
           select t.id, t.queue, t.worker, (t.fence >> 40)::int, t.claimed_at, t.ended_at, t.how,
                  t.lease_deadline
             from emq.attempt t where t.ended_at > $1 and t.ended_at <= $2 and t.claimed_at <= $1
           union all
           select r.id, r.queue, r.worker, r.attempts, r.claimed_at, r.finished_at, r.status,
                  r.lease_deadline
             from emq.archive r
            where r.finished_at > $1 and r.finished_at <= $2 and r.claimed_at <= $1
              and r.status = ''completed''
         ) x
         order by x.claimed_at, x.id limit $3
       ) f
       left join emq.job j on j.id = f.id and j.enqueued_at < f.claimed_at + interval ''1 h''
      order by f.claimed_at, f.id'
    using p_at, case when p_at <= clock_timestamp() - p_longest then p_at + p_longest
                     else clock_timestamp() + interval '1 hour' end,
          least(coalesce(p_limit, 1000), 10000);
end $_$;

--
-- Name: at_home(text); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.at_home(p_environment text DEFAULT NULL::text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  v_here text := emq.here();
  m emq.meta;
begin
  select x.* into m from emq.meta x;
  if v_here is null then
    return 'unknown';
  elsif m.home = v_here then
    return 'yes';
  elsif m.home is not null and m.environment is distinct from p_environment
        or m.home is not null and p_environment is null then
    return 'no';
  end if;
  if current_setting('transaction_read_only') = 'off' then  -- else whoever comes next writes it
    update emq.meta x set home = v_here
     where x.one = any (select y.one from emq.meta y
                         where y.home is not distinct from m.home for update skip locked);
    if found and m.home is not null then
      insert into emq.audit (verb, detail)
      values ('moved', jsonb_build_object('from', m.home, 'to', v_here, 'environment', p_environment));
    end if;
  end if;
  return 'yes';
end $$;

--
-- Name: bell_locks(text[]); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.bell_locks(p_queues text[]) RETURNS TABLE(queue text, lock integer)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
  select u.queue,
         hashtext('emq.settled'::regclass::oid::text || '/' || (hashtext(u.queue) & 63)::text)
    from unnest(p_queues) as u (queue)
$$;

--
-- Name: bound(integer, boolean); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.bound(p_lease_ms integer, p_last boolean) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  v_ms int := greatest(p_lease_ms, 10000);
  v_idle text;
begin
  if p_last and current_setting('transaction_timeout', true) = '0' then
    perform set_config('transaction_timeout', v_ms::text, true);
    return;
  end if;
  v_idle := current_setting('idle_in_transaction_session_timeout');
  if v_idle = '0' or v_idle::interval > v_ms * interval '1 ms' then
    perform set_config('idle_in_transaction_session_timeout', v_ms::text, true);
  end if;
end $$;

--
-- Name: cancel(uuid, text); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.cancel(p_id uuid, p_label text DEFAULT NULL::text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
declare
  v_q text;
  v_ranks smallint[];
  n int;
begin
  select j.queue, array[j.priority * 2, j.priority * 2 + 1]::smallint[]
    into v_q, v_ranks from emq.job j where j.id = p_id;
  if not found then
    return 'lost';
  end if;

  with xa as materialized (
    select a.id from emq.active a where a.id = p_id for update skip locked
  ), a as (  -- by key: follows an extend that committed after the snapshot, where a ctid would not
    delete from emq.active a using xa where a.id = any (array[xa.id]) returning a.*
  ), xp as materialized (
    select r.ctid as c from emq.pending r
     where r.queue = v_q and r.rank = any (v_ranks) and r.id = p_id
       and not exists (select 1 from xa)
     for update skip locked
  ), p as (
    delete from emq.pending r using xp where r.ctid = xp.c returning r.*
  ), xs as materialized (
    select r.ctid as c from emq.scheduled r
     where r.id = p_id and not exists (select 1 from xa) and not exists (select 1 from xp)
     for update skip locked
  ), s as (
    delete from emq.scheduled r using xs where r.ctid = xs.c returning r.*
  ), t as (
    insert into emq.attempt
      (id, fence, ended_at, claimed_at, lease_deadline, extensions, how, queue, worker)
    select a.id, a.fence, clock_timestamp(), a.claimed_at, a.lease_deadline, a.extensions,
           'cancelled', a.queue, a.worker
      from a
  ), i as (
    insert into emq.archive
      (id, finished_at, claimed_at, attempts, stalled, failures, status, queue, worker,
       lease_deadline)
    select m.id, clock_timestamp(), m.claimed_at, m.attempts, m.stalled, m.failures, 'cancelled',
           m.queue, m.worker, m.lease_deadline
      from (
        select a.id, a.claimed_at, a.attempts, a.stalled, a.failures, a.queue, a.worker,
               a.lease_deadline from a
        union all
        select p.id, null, p.attempts, p.stalled, p.failures, p.queue, null, null from p
        union all
        select s.id, null, s.attempts, s.stalled, s.failures, s.queue, null, null from s) m
    returning 1
  )
  select count(*) into n from i;
  if n > 0 then
    insert into emq.audit (verb, queue, id, label) values ('cancel', v_q, p_id, p_label);
    return 'done';
  end if;
  perform 1 from emq.dead d where d.id = p_id;
  if found then
    return 'lost';
  end if;
  perform 1 from emq.archived(array[p_id]);
  return case when found then 'lost' else 'busy' end;
end $$;

--
-- Name: check_stalled(text, integer, integer); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.check_stalled(p_queue text, p_max_stalled integer DEFAULT NULL::integer, p_limit integer DEFAULT 500, OUT recovered uuid[], OUT dead uuid[]) RETURNS record
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
  select w.back, w.died from emq.sweep(p_queue, p_max_stalled, p_limit) w where p_queue is not null
$$;

--
-- Name: claim(text, integer, text, bigint, interval); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.claim(p_queue text, p_n integer, p_worker text, p_nonce bigint, p_lease interval DEFAULT NULL::interval) RETURNS TABLE(id uuid, fence bigint, attempts integer, stalled integer, failures integer, lease_deadline timestamp with time zone, lease_ms integer, task text, payload jsonb, headers jsonb, enqueued_at timestamp with time zone)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
declare
  v_nonce bigint := p_nonce & 1099511627775;
  v_var text := 'emq.f' || encode(convert_to(p_queue, 'UTF8'), 'hex');
  v_gen bigint := pg_relation_filenode('emq.pending');
  v_lease interval;
  v_lease_ms int;
  v_paused boolean;
  v_most int;
  v_n int := p_n;
  v_s bigint[];
  v_hi bigint;
  v_x record;
begin
  select q.paused, q.lease, q.max_active into v_paused, v_lease, v_most
    from emq.queue q where q.name = p_queue;
  if v_paused or p_n is null or p_n < 1 then  -- LIMIT null would be no limit
    return;
  end if;
  if v_most is not null then
    if not pg_try_advisory_xact_lock(
             7310, hashtext('emq.settled'::regclass::oid::text || '/' || p_queue)) then
      return;
    end if;
    select least(p_n, v_most - count(*)) into v_n from emq.active a where a.queue = p_queue;
    if v_n < 1 then
      return;
    end if;
  end if;
  v_lease_ms := (extract(epoch from coalesce(p_lease, v_lease, interval '30 s')) * 1000)::int;

  v_s := string_to_array(current_setting(v_var, true), ':')::bigint[];
  if v_s[1] is distinct from v_gen then
    v_s := array[v_gen, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
  end if;
  -- Upkeep of the floors: each call for batches and in a fresh session, else one call in sixteen.
  -- It needs a snapshot for each statement, and an xid that is assigned after hi was read.
  if (p_n >= 10 or v_s[2] = 0 or random() < 0.0625)
     and current_setting('transaction_isolation') = 'read committed'
     and pg_current_xact_id_if_assigned() is null then
    select s.last_value into v_hi from emq.ord_seq s;
    if v_s[2] > v_hi then  -- the sequence was set back: these floors are of its former life
      v_s := array[v_gen, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    end if;
    select m.xmin, y.settled,
           array(select greatest(p.f, least(y.settled, coalesce(
                   (select r.ord from emq.pending r
                     where r.queue = p_queue and r.rank = (p.i - 1)::smallint and r.ord >= p.f
                     order by r.ord limit 1), 9223372036854775807)))
                   from unnest(v_s[5:14]) with ordinality as p (f, i)) as floors
      into v_x
      from (select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as xmin,
                   (select x.w from emq.settled x order by x.n desc limit 1) as w offset 0) m
      cross join lateral (
        select greatest(v_s[2], case when m.w <= v_hi then m.w end,
                        case when m.xmin > v_s[4] then v_s[3] end) as settled
        offset 0) y;
    if v_x.xmin > v_s[4] then
      v_s[3] := v_hi;
      v_s[4] := pg_current_xact_id()::text::bigint;
    end if;
    v_s := array[v_s[1], v_x.settled, v_s[3], v_s[4]] || v_x.floors;
    perform set_config(v_var, array_to_string(v_s, ':'), false);
  end if;

  return query
  with x as materialized (
    select l.c
      from unnest(v_s[5:14]) with ordinality as p (f, i)
      cross join lateral (
        select r.ctid as c from emq.pending r
         where r.queue = p_queue and r.rank = (p.i - 1)::smallint and r.ord >= p.f
         order by r.ord limit v_n
         for update skip locked) l
     -- asked again in this statement's own snapshot: a pause that has committed holds
     where not exists (select 1 from emq.queue q where q.name = p_queue and q.paused)
     limit v_n
  ), d as (
    delete from emq.pending r using x where r.ctid = x.c
    returning r.id, r.attempts, r.lease_ms, r.rank, r.stalled, r.failures
  ), a as (
    insert into emq.active
      (id, fence, lease_deadline, claimed_at, queue, attempts, lease_ms, rank, stalled, failures, worker)
    select d.id, ((d.attempts + 1)::bigint << 40) | v_nonce,
           clock_timestamp() + coalesce(d.lease_ms, v_lease_ms) * interval '1 ms', clock_timestamp(),
           p_queue, d.attempts + 1, coalesce(d.lease_ms, v_lease_ms), d.rank, d.stalled, d.failures,
           p_worker
      from d
    returning id, fence, attempts, stalled, failures, lease_deadline, lease_ms
  )
  select a.id, a.fence, a.attempts, a.stalled::int, a.failures::int, a.lease_deadline, a.lease_ms,
         j.task, j.payload, j.headers, j.enqueued_at
    from a
    cross join lateral (select y.task, y.payload, y.headers, y.enqueued_at
                          from emq.job y where y.id = a.id offset 0) j;
end $$;

--
-- Name: claim_any(text[], integer, text, bigint, interval); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.claim_any(p_queues text[], p_n integer, p_worker text, p_nonce bigint, p_lease interval DEFAULT NULL::interval) RETURNS TABLE(id uuid, fence bigint, attempts integer, stalled integer, failures integer, lease_deadline timestamp with time zone, lease_ms integer, task text, payload jsonb, headers jsonb, enqueued_at timestamp with time zone, queue text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  v_queue text;
  v_left int := p_n;
  v_got int;
begin
  foreach v_queue in array p_queues loop
    exit when v_left is null or v_left < 1;
    return query select c.*, v_queue from emq.claim(v_queue, v_left, p_worker, p_nonce, p_lease) c;
    get diagnostics v_got = row_count;
    v_left := v_left - v_got;
  end loop;
end $$;

--
-- Name: claimed(bigint); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.claimed(p_nonce bigint) RETURNS TABLE(id uuid, fence bigint, attempts integer, stalled integer, failures integer, lease_deadline timestamp with time zone, lease_ms integer, task text, payload jsonb, headers jsonb, enqueued_at timestamp with time zone, queue text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
declare
  v_from timestamptz;
  v_nonce bigint := p_nonce & 1099511627775;
begin
  v_from := coalesce((select case when s.t > clock_timestamp() then '-infinity' else s.reap_from end
                        from emq.settled s order by s.n desc limit 1), '-infinity');
  return query
  select a.id, a.fence, a.attempts, a.stalled::int, a.failures::int, a.lease_deadline, a.lease_ms,
         j.task, j.payload, j.headers, j.enqueued_at, a.queue
    from (select y.* from emq.active y
           where y.lease_deadline >= v_from and (y.fence & 1099511627775) = v_nonce offset 0) a
    cross join lateral (select y.task, y.payload, y.headers, y.enqueued_at
                          from emq.job y where y.id = a.id offset 0) j
   order by a.id;
end $$;

--
-- Name: closed(date); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.closed(p_day date, OUT status text, OUT held_by text) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    AS $$
declare
  v_xid xid8;
begin
  status := 'open';
  if clock_timestamp() < (p_day + 1)::timestamptz + interval '1 hour' then
    return;
  end if;
  status := 'held';
  select d.xid into v_xid from emq.day_end d where d.day = p_day;
  if v_xid is null or v_xid >= pg_snapshot_xmax(pg_current_snapshot()) then
    insert into emq.day_end as d (day, xid) values (p_day, pg_current_xact_id())
      on conflict on constraint day_end_pk
      do update set xid = excluded.xid, noted_at = excluded.noted_at where d.xid = v_xid;
    return;
  end if;
  select string_agg(case when p.gid is not null then format('prepared transaction %s', p.gid)
                         else format('process %s (%s, user %s)', h.pid,
                                     coalesce(nullif(a.application_name, ''), 'no application name'),
                                     coalesce(a.usename, '?')) end, '; ' order by h.pid, p.gid)
    into held_by
    from (
      select r.pid, (array_agg(x.transactionid order by age(x.transactionid) desc))[1] as xid
        from pg_locks r
        join pg_locks x on x.virtualtransaction = r.virtualtransaction
                       and x.locktype = 'transactionid' and x.mode = 'ExclusiveLock'
       where r.relation = 'emq.archive'::regclass and r.mode = 'RowExclusiveLock'
         and r.database = (select d.oid from pg_database d where d.datname = current_database())
       group by r.virtualtransaction, r.pid
    ) h
    left join pg_stat_activity a on a.pid = h.pid
    left join pg_prepared_xacts p on h.pid is null and p.transaction = h.xid
   where age(h.xid) >= age(v_xid::xid);
  if held_by is null then
    status := 'closed';
  end if;
end $$;

--
-- Name: complete(uuid[], bigint[], jsonb[]); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.complete(p_ids uuid[], p_fences bigint[], p_results jsonb[] DEFAULT NULL::jsonb[]) RETURNS text[]
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
declare
  r uuid[];
  rf bigint[];
  n int := cardinality(p_ids);
begin
  with k as (
    select u.id, u.fence, u.result
      from unnest(p_ids, p_fences, p_results) as u (id, fence, result) order by 1
  ), x as materialized (
    select k.* from k
     cross join lateral (select 1 from emq.active a
                          where a.id = k.id and a.fence = k.fence for update skip locked) l
  ), d as (
    delete from emq.active a using x
     where a.id = any (array[x.id]) and a.fence = x.fence
    returning a.id, a.fence, a.claimed_at, a.attempts, a.stalled, a.failures, a.queue, a.worker,
              a.lease_deadline, x.result
  ), i as (
    insert into emq.archive
      (id, fence, finished_at, claimed_at, attempts, stalled, failures, status, queue, worker, result,
       lease_deadline)
    select d.id, d.fence, clock_timestamp(), d.claimed_at, d.attempts, d.stalled, d.failures,
           'completed', d.queue, d.worker, d.result, d.lease_deadline
      from d
  )
  select array_agg(d.id), array_agg(d.fence) into r, rf from d;
  if cardinality(r) = n then
    return array_fill('done'::text, array[n]);
  end if;
  return coalesce(emq.rest(p_ids, p_fences, r, rf, 'complete'), '{}');
end $$;

--
-- Name: complete_and_claim(uuid[], bigint[], jsonb[], text, integer, text, bigint, interval); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.complete_and_claim(p_ids uuid[], p_fences bigint[], p_results jsonb[], p_queue text, p_n integer, p_worker text, p_nonce bigint, p_lease interval DEFAULT NULL::interval) RETURNS TABLE(id uuid, fence bigint, attempts integer, stalled integer, failures integer, lease_deadline timestamp with time zone, lease_ms integer, task text, payload jsonb, headers jsonb, enqueued_at timestamp with time zone, answers text[])
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  v text[];
begin
  return query
    select c.*, null::text[] from emq.claim(p_queue, p_n, p_worker, p_nonce, p_lease) c;
  if cardinality(p_ids) > 0 then
    v := emq.complete(p_ids, p_fences, p_results);
    if v <> array_fill('done'::text, array[cardinality(p_ids)]) then
      answers := v;
      id := null; fence := null; attempts := null; stalled := null; failures := null;
      lease_deadline := null; lease_ms := null; task := null; payload := null; headers := null;
      enqueued_at := null;
      return next;
    end if;
  end if;
end $$;

--
-- Name: configure(text, interval, integer, integer, interval, text); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.configure(p_queue text, p_lease interval DEFAULT NULL::interval, p_max_attempts integer DEFAULT NULL::integer, p_max_stalled integer DEFAULT NULL::integer, p_retention interval DEFAULT NULL::interval, p_label text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '5s'
    AS $$
begin
  perform emq.refuse_new(p_queue, '{}'), emq.finite('lease', p_lease),
          emq.finite('retention', p_retention);
  insert into emq.queue as q (name, lease, max_attempts, max_stalled, retention)
  values (p_queue, coalesce(p_lease, '30 s'), coalesce(p_max_attempts, 25),
          coalesce(p_max_stalled, 3), p_retention)
  on conflict on constraint queue_pk do update
    set lease = coalesce(p_lease, q.lease),
        max_attempts = coalesce(p_max_attempts, q.max_attempts),
        max_stalled = coalesce(p_max_stalled, q.max_stalled),
        retention = coalesce(p_retention, q.retention);
  insert into emq.audit (verb, queue, label, detail)
  values ('configure', p_queue, p_label, jsonb_strip_nulls(jsonb_build_object(
    'lease', p_lease, 'max_attempts', p_max_attempts, 'max_stalled', p_max_stalled,
    'retention', p_retention)));
end $$;

--
-- Name: days_of(text); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.days_of(p_parent text) RETURNS TABLE(day date, name text, first timestamp with time zone, last timestamp with time zone)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    AS $_$
  select d.day, d.name, d.day::timestamptz, (d.day + 1)::timestamptz
    from (select to_date(right(c.relname, 8), 'YYYYMMDD') as day, c.relname::text as name
            from pg_inherits i
            join pg_class c on c.oid = i.inhrelid
           where i.inhparent = ('emq.' || quote_ident(p_parent))::regclass
             and c.relname ~ ('^' || p_parent || '_\d{8}$')) d
   order by d.day
$_$;

--
-- Name: dead_groups(jsonb, integer); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.dead_groups(p_filter jsonb DEFAULT '{}'::jsonb, p_limit integer DEFAULT 50) RETURNS TABLE(task text, reason text, fingerprint text, headline text, letters bigint, replayable bigint, first_died_at timestamp with time zone, last_died_at timestamp with time zone, queues text[], example uuid)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
begin
  return query
  select g.task, g.reason, g.fingerprint, emq.headline(d.error), g.letters, g.replayable,
         g.first_died_at, g.last_died_at, g.queues, g.example
    from (
      select m.task, m.reason, m.fingerprint, count(*) as letters,
             count(*) filter (where m.verdict = 'replay') as replayable,
             min(m.died_at) as first_died_at, max(m.died_at) as last_died_at,
             array_agg(distinct m.queue order by m.queue) as queues,
             (array_agg(m.id order by m.died_at desc, m.id desc))[1] as example
        from emq.dead_matching(p_filter, false, null, null) m
       group by m.task, m.reason, m.fingerprint
       order by letters desc, last_died_at desc, fingerprint
       limit p_limit) g
    join emq.dead d on d.id = g.example
   order by g.letters desc, g.last_died_at desc, g.fingerprint;
end $$;

--
-- Name: dead_letter(uuid); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.dead_letter(p_id uuid) RETURNS TABLE(id uuid, queue text, task text, reason text, died_at timestamp with time zone, worker text, attempts integer, stalled integer, failures integer, replays bigint, verdict text, fingerprint text, headline text, error text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
begin
  return query
  select d.id, d.queue, t.task, d.reason, d.died_at, d.worker, d.attempts, d.stalled::int,
         d.failures::int,
         (select count(*) from emq.audit a where a.id = d.id and a.verb = 'replay'),
         emq.replay_verdict(d.reason, d.died_at, q.replay_within, clock_timestamp(), true),
         coalesce(d.fingerprint, emq.fingerprint(t.task, d.reason, d.error)), emq.headline(d.error),
         d.error
    from emq.dead d
    left join lateral (select y.task from emq.job y where y.id = d.id offset 0) j on true
    cross join lateral (select coalesce(d.task, j.task) as task) t
    left join lateral (select y.replay_within from emq.queue y where y.name = d.queue offset 0) q on true
   where d.id = p_id;
end $$;

--
-- Name: dead_list(jsonb, integer, jsonb); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.dead_list(p_filter jsonb DEFAULT '{}'::jsonb, p_limit integer DEFAULT 100, p_after jsonb DEFAULT NULL::jsonb) RETURNS TABLE(id uuid, died_at timestamp with time zone, queue text, task text, reason text, headline text, fingerprint text, worker text, attempts integer, stalled integer, failures integer, verdict text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
begin
  return query
  select m.id, m.died_at, m.queue, m.task, m.reason, emq.headline(d.error), m.fingerprint, d.worker,
         d.attempts, d.stalled::int, d.failures::int, m.verdict
    from emq.dead_matching(p_filter, true, p_limit, p_after) m
    join emq.dead d on d.id = m.id
   order by m.died_at desc, m.id desc;
end $$;

--
-- Name: dead_matching(jsonb, boolean, integer, jsonb); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.dead_matching(p_filter jsonb, p_newest boolean, p_limit integer, p_after jsonb) RETURNS TABLE(id uuid, died_at timestamp with time zone, queue text, task text, reason text, fingerprint text, verdict text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $_$
declare
  v_where text := emq.dead_where(p_filter);
  v_at timestamptz;
  v_id uuid;
begin
  if p_after is not null then
    begin
      v_at := p_after ->> 'died_at';
      v_id := p_after ->> 'id';
    exception when data_exception then
      null;
    end;
    if v_at is null or v_id is null then
      raise exception 'emq: no dead letter comes after %', left(p_after::text, 100)
        using errcode = 'EQ006', hint = 'Give died_at and id of the last one that was seen.';
    end if;
    v_where := v_where || format(' and (d.died_at, d.id) %s ($4, $5)',
                                 case when p_newest then '<' else '>' end);
  end if;
  return query execute format(
    'select d.id, d.died_at, d.queue, t.task, d.reason, f.fingerprint,
            emq.replay_verdict(d.reason, d.died_at, q.replay_within, $2, $6)
       from emq.dead d
       left join lateral (select y.task from emq.job y
                           where d.task is null and y.id = d.id offset 0) j on true
       cross join lateral (select coalesce(d.task, j.task) as task) t
       cross join lateral (
         select coalesce(d.fingerprint, emq.fingerprint(t.task, d.reason, d.error)) as fingerprint) f
       left join lateral (select y.replay_within from emq.queue y
                           where y.name = d.queue offset 0) q on true
      where %1$s
      order by d.died_at %2$s, d.id %2$s
      limit $3', v_where, case when p_newest then 'desc' else 'asc' end)
    using p_filter, clock_timestamp(), p_limit, v_at, v_id,
          p_filter ?| array['reason', 'ids'] or p_filter -> 'include_permanent' = 'true';
end $_$;

--
-- Name: dead_where(jsonb); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.dead_where(p_filter jsonb) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
declare
  c_reasons constant text[] :=
    array['exception', 'stalled', 'timeout', 'permanent', 'no handler', 'expired'];
  k text;
  v jsonb;
  v_text text;
  v_needs text;
  v_part text;
  v_ok boolean;
  v_where text := 'true';
begin
  perform emq.refuse_settings(p_filter, array[
    'queue', 'task', 'reason', 'fingerprint', 'worker', 'ids', 'error', 'died_after', 'died_before',
    'older_than', 'younger_than', 'min_attempts', 'min_stalled', 'min_failures',
    'include_permanent']);
  for k, v in select * from jsonb_each(p_filter) loop
    v_text := v #>> '{}';
    begin
      if k in ('queue', 'task', 'reason', 'fingerprint', 'worker', 'ids') then
        v_needs := case k when 'reason' then 'one or more of ' || array_to_string(c_reasons, ', ')
                          when 'ids' then 'one or more ids' else 'a text, or an array of texts' end;
        select coalesce(bool_and(jsonb_typeof(x) = 'string'
                                 and (k <> 'reason' or x #>> '{}' = any (c_reasons))
                                 and (k <> 'ids' or (x #>> '{}')::uuid is not null)), true)
          into v_ok
          from jsonb_array_elements(
                 case jsonb_typeof(v) when 'array' then v else jsonb_build_array(v) end) x;
        v_part := format(
          '%s = any (array(select (x #>> ''{}'')::%s from jsonb_path_query($1, ''$.%s[*]'') x))',
          case k when 'ids' then 'd.id' when 'task' then 't.task'
                 when 'fingerprint' then 'f.fingerprint' else 'd.' || k end,
          case k when 'ids' then 'uuid' else 'text' end, k);
      elsif k = 'error' then
        v_needs := 'a text';
        v_ok := jsonb_typeof(v) = 'string' and v_text <> '';
        v_part := 'strpos(d.error, $1 ->> ''error'') > 0';
      elsif k in ('died_after', 'died_before') then
        v_needs := 'an instant with its offset, such as 2026-01-31T10:00:00+00:00';
        v_ok := jsonb_typeof(v) = 'string' and v_text::timestamptz is not null
                and v_text ~* ':\d\d(\.\d+)?(z|[+-]\d\d(:?\d\d)?)$';
        v_part := format('d.died_at %s ($1 ->> %L)::timestamptz',
                         case k when 'died_after' then '>=' else '<' end, k);
      elsif k in ('older_than', 'younger_than') then
        v_needs := 'an interval such as "2 hours", or seconds';
        v_ok := jsonb_typeof(v) in ('string', 'number')
                and v_text::interval between interval '0' and interval '5000 years';
        v_part := format('d.died_at %s $2 - ($1 ->> %L)::interval',
                         case k when 'older_than' then '<' else '>=' end, k);
      elsif k = 'include_permanent' then
        v_needs := 'true or false';
        v_ok := jsonb_typeof(v) = 'boolean';
        v_part := 'true';
      else
        v_needs := 'a whole number';
        v_ok := jsonb_typeof(v) = 'number' and v_text::int >= 0;
        v_part := format('d.%s >= ($1 ->> %L)::int', substr(k, 5), k);
      end if;
    exception when data_exception then
      v_ok := false;
    end;
    if not v_ok then
      raise exception 'emq: % of dead letters cannot be %', k, left(coalesce(v_text, 'null'), 100)
        using errcode = 'EQ006', hint = format('Give %s.', v_needs);
    end if;
    v_where := v_where || ' and ' || v_part;
  end loop;
  return v_where;
end $_$;

--
-- Name: decided(uuid, bigint); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.decided(p_id uuid, p_fence bigint) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
declare
  v_outcome text;
begin
  perform 1 from emq.active a
    where a.id = p_id and a.fence = p_fence for no key update skip locked;
  if found then
    return 'yours';
  end if;
  v_outcome := emq.outcome(p_id, p_fence);
  return case when v_outcome = 'yours' then 'busy' else v_outcome end;
end $$;

--
-- Name: discard(uuid, text); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.discard(p_id uuid, p_label text DEFAULT NULL::text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
declare
  n int;
begin
  with x as materialized (
    select d.id from emq.dead d where d.id = p_id for update skip locked
  ), d as (
    delete from emq.dead d using x where d.id = any (array[x.id]) returning d.*
  ), i as (
    insert into emq.archive (id, finished_at, attempts, stalled, failures, status, queue, worker)
    select d.id, clock_timestamp(), d.attempts, d.stalled, d.failures, 'discarded', d.queue, d.worker
      from d
    returning 1
  ), u as (
    insert into emq.audit (verb, queue, id, label, detail)
    select 'discard', d.queue, d.id, p_label, jsonb_build_object('reason', d.reason, 'error', d.error)
      from d
  )
  select count(*) into n from i;
  if n > 0 then
    return 'done';
  end if;
  perform 1 from emq.dead d where d.id = p_id;
  return case when found then 'busy' else 'lost' end;
end $$;

--
-- Name: discard_many(jsonb, text, integer, jsonb); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.discard_many(p_filter jsonb, p_reason text, p_limit integer DEFAULT 500, p_after jsonb DEFAULT NULL::jsonb, OUT discarded integer, OUT busy integer, OUT next jsonb) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
declare
  v_left uuid[];
begin
  if coalesce(p_reason, '') !~ '\S' then
    raise exception 'emq: dead letters are discarded for a reason, and none is given'
      using errcode = 'EQ006', hint = 'Say why: it is what the audit keeps.';
  end if;
  with m as materialized (
    select * from emq.dead_matching(p_filter, false, p_limit, p_after)
  ), x as materialized (
    select m.id from m
     cross join lateral (select 1 from emq.dead d where d.id = m.id for update skip locked) l
  ), d as (
    delete from emq.dead d using x where d.id = any (array[x.id]) returning d.*
  ), i as (
    insert into emq.archive (id, finished_at, attempts, stalled, failures, status, queue, worker)
    select d.id, clock_timestamp(), d.attempts, d.stalled, d.failures, 'discarded', d.queue, d.worker
      from d
  ), u as (
    insert into emq.audit (verb, queue, id, label, detail)
    select 'discard', d.queue, d.id, p_reason,
           jsonb_build_object('reason', d.reason, 'error', d.error)
      from d
  )
  select (select count(*) from d),
         array_agg(m.id) filter (where not m.id = any (array(select d.id from d))),
         case when count(*) = p_limit
              then (array_agg(jsonb_build_object('died_at', m.died_at, 'id', m.id)
                              order by m.died_at desc, m.id desc))[1] end
    into discarded, v_left, next
    from m;
  select count(*) into busy from emq.dead d where d.id = any (v_left);
end $$;

--
-- Name: drain(text, integer, boolean, jsonb, text); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.drain(p_queue text, p_limit integer DEFAULT 1000, p_scheduled boolean DEFAULT false, p_after jsonb DEFAULT NULL::jsonb, p_label text DEFAULT NULL::text, OUT cancelled integer, OUT next jsonb) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
declare
  v_limit int := greatest(coalesce(p_limit, 1000), 1);
begin
  perform emq.refuse_new(p_queue, '{}');
  with w as materialized (
    select y.* from emq.withdraw(p_queue, v_limit, p_scheduled, p_after)
                 with ordinality as y (id, attempts, stalled, failures, at, n)
  ), i as (
    insert into emq.archive (id, finished_at, attempts, stalled, failures, status, queue)
    select w.id, clock_timestamp(), w.attempts, w.stalled, w.failures, 'cancelled', p_queue
      from w order by w.n
  )
  select count(*), (array_agg(w.at order by w.n desc))[1] into cancelled, next from w;
  if cancelled < v_limit then
    next := null;
  end if;
  if cancelled > 0 then
    insert into emq.audit (verb, queue, label, detail)
    values ('drain', p_queue, p_label,
            jsonb_build_object('cancelled', cancelled, 'scheduled', coalesce(p_scheduled, false)));
  end if;
end $$;

--
-- Name: drop_attempts(text, uuid[]); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.drop_attempts(p_name text, p_kept uuid[]) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '100ms'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $_$
declare
  v_columns text := (select string_agg(quote_ident(a.attname), ', ' order by a.attnum)
                       from pg_attribute a
                      where a.attrelid = 'emq.attempt'::regclass and a.attnum > 0
                        and not a.attisdropped);
  v_kept bigint;
begin
  execute format('alter table emq.attempt detach partition emq.%I', p_name);
  execute format('insert into emq.attempt (%s) select %s from emq.%I a where a.id = any ($1)',
                 v_columns, v_columns, p_name)
    using p_kept;
  get diagnostics v_kept = row_count;
  execute format('drop table emq.%I', p_name);
  delete from emq.tidying t where t.what = p_name;
  return v_kept;
end $_$;

--
-- Name: end_of(uuid, bigint); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.end_of(p_id uuid, p_fence bigint, OUT how text, OUT ours boolean) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $_$
declare
  v_from timestamptz := emq.id_time(p_id) - interval '1 day';
  v_to timestamptz := clock_timestamp() + interval '1 hour';
begin
  execute 'select x.status, emq.mine(x.xmin) from emq.archive x
            where x.id = $1 and x.fence = $2 and x.finished_at >= $3 and x.finished_at < $4'
    into how, ours using p_id, p_fence, v_from, v_to;
  if how is null then
    execute 'select x.how, emq.mine(x.xmin) from emq.attempt x
              where x.id = $1 and x.fence = $2 and x.ended_at >= $3 and x.ended_at < $4'
      into how, ours using p_id, p_fence, v_from, v_to;
  end if;
end $_$;

SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: active; Type: TABLE; Schema: emq; Owner: -
--

CREATE TABLE emq.active (
    id uuid NOT NULL,
    fence bigint NOT NULL,
    lease_deadline timestamp with time zone NOT NULL,
    claimed_at timestamp with time zone NOT NULL,
    attempts integer NOT NULL,
    lease_ms integer NOT NULL,
    extensions integer DEFAULT 0 NOT NULL,
    rank smallint NOT NULL,
    stalled smallint NOT NULL,
    failures smallint NOT NULL,
    queue text NOT NULL COLLATE pg_catalog."C",
    worker text NOT NULL
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='10000', autovacuum_vacuum_cost_delay='0', autovacuum_analyze_scale_factor='0', autovacuum_analyze_threshold='1000000000');

--
-- Name: end_runs(emq.active[], text[], interval[], text[], integer); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.end_runs(p_runs emq.active[], p_ends text[], p_delays interval[] DEFAULT NULL::interval[], p_errors text[] DEFAULT NULL::text[], p_max_stalled integer DEFAULT NULL::integer) RETURNS text[]
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  v_where text[];
  v_moved uuid[];
  v_moved_to text[];
  v_hooks boolean;
begin
  with r as (
    select u.*, u.stalled + (u.ended = 'stalled')::int as s,
           u.failures + (u.ended in ('exception', 'timeout', 'permanent'))::int as f
      from unnest(p_runs, p_ends, p_delays, p_errors) with ordinality
        as u (id, fence, lease_deadline, claimed_at, attempts, lease_ms, extensions, rank, stalled,
              failures, queue, worker, ended, delay, error, n)
  ), m as materialized (
    select r.*, clock_timestamp() as at, j.lease_ms as own_lease_ms, j.task,
           case when r.ended in ('stalled', 'release') then r.rank & ~1 else r.rank | 1 end as line,
           case when r.ended in ('stalled', 'release') or r.delay <= interval '0' then null
                else r.delay end as wait,
           case r.ended
             when 'stalled' then r.s >= coalesce(p_max_stalled, q.max_stalled, 3)
                                 or r.s + r.f >= coalesce(j.max_attempts, q.max_attempts, 25)
             when 'exception' then r.s + r.f >= coalesce(j.max_attempts, q.max_attempts, 25)
             when 'timeout' then r.s + r.f >= coalesce(j.max_attempts, q.max_attempts, 25)
             when 'permanent' then true
             when 'expired' then true
             when 'no handler' then coalesce(j.enqueued_at < clock_timestamp() - q.unknown_after, false)
             else false end as spent,
           case when r.ended = 'stalled' and r.s >= coalesce(q.quarantine_after, 2)
                then q.quarantine end as moves_to
      from r
      left join lateral (select y.max_stalled, y.max_attempts, y.unknown_after, y.quarantine,
                                y.quarantine_after
                           from emq.queue y where y.name = r.queue offset 0) q on true
      left join lateral (select y.max_attempts, y.lease_ms, y.task, y.enqueued_at
                           from emq.job y where y.id = r.id offset 0) j on true
  ), t as (
    insert into emq.attempt
      (id, fence, ended_at, claimed_at, lease_deadline, extensions, how, queue, worker, error)
    select m.id, m.fence, m.at, m.claimed_at, m.lease_deadline, m.extensions,
           case m.ended when 'exception' then 'failed' when 'permanent' then 'failed'
                        when 'timeout' then 'timed out' when 'snooze' then 'snoozed'
                        when 'no handler' then 'snoozed' when 'release' then 'released'
                        else m.ended end,
           m.queue, m.worker, m.error
      from m order by m.n
  ), e as (
    insert into emq.dead
      (id, fence, queue, attempts, rank, stalled, failures, reason, error, task, worker, fingerprint)
    select m.id, m.fence, m.queue, m.attempts, m.rank, m.s, m.f, m.ended, m.error, m.task, m.worker,
           emq.fingerprint(m.task, m.ended, m.error)
      from m where m.spent
  ), w as (
    insert into emq.scheduled (run_at, id, queue, attempts, lease_ms, rank, stalled, failures)
    select clock_timestamp() + m.wait, m.id, coalesce(m.moves_to, m.queue), m.attempts,
           m.own_lease_ms, m.line, m.s, m.f
      from m where not m.spent and m.wait is not null
  ), b as (
    insert into emq.pending (id, queue, attempts, lease_ms, rank, stalled, failures)
    select m.id, coalesce(m.moves_to, m.queue), m.attempts, m.own_lease_ms, m.line, m.s, m.f
      from m where not m.spent and m.wait is null order by m.n
  )
  select array_agg(case when m.spent then 'dead' when m.wait is not null then 'scheduled'
                        else 'pending' end order by m.n),
         array_agg(m.id) filter (where not m.spent and m.moves_to is not null),
         array_agg(m.moves_to) filter (where not m.spent and m.moves_to is not null),
         bool_or(m.spent)
    into v_where, v_moved, v_moved_to, v_hooks
    from m;

  if v_moved is not null then  -- the one change that an envelope knows: where its job waits
    update emq.job j set queue = k.queue
      from (select * from unnest(v_moved, v_moved_to) as u (id, queue) order by 1) k
     where j.id = any (array[k.id]);
  end if;
  if v_hooks and exists (select from emq.queue q where q.on_dead is not null) then
    perform emq.tell_dead(array(select k.id from unnest(p_runs, v_where) as k (
      id, fence, lease_deadline, claimed_at, attempts, lease_ms, extensions, rank, stalled,
      failures, queue, worker, answer) where k.answer = 'dead'));
  end if;
  return coalesce(v_where, '{}');
end $$;

--
-- Name: enqueue(text, text, jsonb, uuid, integer, timestamp with time zone, interval, integer, interval, jsonb); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.enqueue(p_queue text, p_task text, p_payload jsonb, p_id uuid DEFAULT NULL::uuid, p_priority integer DEFAULT 2, p_run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_delay interval DEFAULT NULL::interval, p_max_attempts integer DEFAULT NULL::integer, p_lease interval DEFAULT NULL::interval, p_headers jsonb DEFAULT NULL::jsonb, OUT id uuid, OUT status text) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $_$
declare
  v_at timestamptz;
  v_lease_ms int := (extract(epoch from p_lease) * 1000)::int;
begin
  if p_id is null then
    id := emq.uuid7();
  else
    id := p_id;
    v_at := emq.id_time(p_id);
  end if;
  if p_queue is null or p_queue !~ '^[a-z0-9][a-z0-9_.:-]{0,62}$'
     or p_id is not null and (v_at is null or v_at > clock_timestamp() + interval '1 day') then
    perform emq.refuse_new(p_queue, array[id]);
  end if;

  insert into emq.job (id, queue, priority, max_attempts, lease_ms, task, payload, headers)
  values (enqueue.id, p_queue, p_priority, p_max_attempts, v_lease_ms, p_task, p_payload, p_headers)
  on conflict on constraint job_pk do nothing;
  if not found then
    status := 'duplicate';
    return;
  end if;

  if p_run_at is not null or p_delay is not null then
    insert into emq.scheduled (run_at, id, queue, rank, lease_ms)
    select w.at, enqueue.id, p_queue, p_priority * 2 + 1, v_lease_ms
      from (select coalesce(p_run_at, clock_timestamp() + p_delay) as at offset 0) w
     where w.at > clock_timestamp();
    if found then
      status := 'scheduled';
      return;
    end if;
  end if;
  insert into emq.pending (id, queue, rank, lease_ms)
  values (enqueue.id, p_queue, p_priority * 2 + 1, v_lease_ms);
  status := 'enqueued';
end $_$;

--
-- Name: enqueue_batch(text, text, uuid[], jsonb, integer, integer, interval, jsonb); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.enqueue_batch(p_queue text, p_task text, p_ids uuid[], p_payloads jsonb, p_priority integer DEFAULT 2, p_max_attempts integer DEFAULT NULL::integer, p_lease interval DEFAULT NULL::interval, p_headers jsonb DEFAULT NULL::jsonb) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $_$
declare
  v_lease_ms int := (extract(epoch from p_lease) * 1000)::int;
  v_tomorrow uuid := (lpad(to_hex((extract(epoch from clock_timestamp()) * 1000)::bigint + 86400000), 12, '0')
                      || '70000000000000000000')::uuid;
begin
  if jsonb_typeof(p_payloads) is distinct from 'array' or p_ids is null
     or jsonb_array_length(p_payloads) <> cardinality(p_ids) then
    raise exception 'emq: enqueue_batch was given ids and payloads of different lengths'
      using errcode = 'EQ006', hint = 'p_payloads is an array with one object for each id.';
  end if;
  if p_queue is null or p_queue !~ '^[a-z0-9][a-z0-9_.:-]{0,62}$'
     or (select not bool_and(u is not null and get_byte(uuid_send(u), 6) >> 4 = 7 and u < v_tomorrow)
           from unnest(p_ids) u) then
    perform emq.refuse_new(p_queue, p_ids);
  end if;

  insert into emq.job (id, queue, priority, max_attempts, lease_ms, task, payload, headers)
  select u.id, p_queue, p_priority, p_max_attempts, v_lease_ms, p_task, u.payload, p_headers
    from rows from (unnest(p_ids), jsonb_array_elements(p_payloads)) as u (id, payload);

  -- A function in FROM answers in order, and so do the places in line that the rows take.
  insert into emq.pending (id, queue, rank, lease_ms)
  select u.id, p_queue, p_priority * 2 + 1, v_lease_ms from unnest(p_ids) as u (id);
end $_$;

--
-- Name: enqueue_many(text, uuid[], text[], jsonb[], integer[], timestamp with time zone[], interval[], integer[], interval[], jsonb[]); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.enqueue_many(p_queue text, p_ids uuid[], p_tasks text[], p_payloads jsonb[], p_priorities integer[] DEFAULT NULL::integer[], p_run_ats timestamp with time zone[] DEFAULT NULL::timestamp with time zone[], p_delays interval[] DEFAULT NULL::interval[], p_max_attempts integer[] DEFAULT NULL::integer[], p_leases interval[] DEFAULT NULL::interval[], p_headers jsonb[] DEFAULT NULL::jsonb[]) RETURNS text[]
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $_$
declare
  r text[];
  v_new uuid[];
  n int := cardinality(p_ids);
  v_newest timestamptz;
  v_all_v7 boolean;
begin
  if cardinality(p_tasks) <> n or cardinality(p_payloads) <> n or cardinality(p_priorities) <> n
     or cardinality(p_run_ats) <> n or cardinality(p_delays) <> n
     or cardinality(p_max_attempts) <> n or cardinality(p_leases) <> n
     or cardinality(p_headers) <> n then
    raise exception 'emq: enqueue_many was given arrays of different lengths'
      using errcode = 'EQ006', hint = 'Each array has one element for each id, or is null.';
  end if;
  select emq.id_time(max(u::text collate "C")::uuid),
         bool_and(u is not null and substr(u::text, 15, 1) = '7')
    into v_newest, v_all_v7 from unnest(p_ids) u;
  if p_queue is null or p_queue !~ '^[a-z0-9][a-z0-9_.:-]{0,62}$'
     or not v_all_v7 or v_newest > clock_timestamp() + interval '1 day' then
    perform emq.refuse_new(p_queue, p_ids);
  end if;

  with j as (
    insert into emq.job (id, queue, priority, max_attempts, lease_ms, task, payload, headers)
    select u.id, p_queue, coalesce(u.priority, 2), u.max_attempts,
           (extract(epoch from u.lease) * 1000)::int, u.task, u.payload, u.headers
      from unnest(p_ids, p_tasks, p_payloads, p_priorities, p_max_attempts, p_leases, p_headers)
             as u (id, task, payload, priority, max_attempts, lease, headers)
     order by u.id
    on conflict on constraint job_pk do nothing
    returning job.id
  )
  select array_agg(j.id) into v_new from j;

  if cardinality(v_new) = n and p_run_ats is null and p_delays is null then  -- the usual path
    insert into emq.pending (id, queue, rank, lease_ms)
    select u.id, p_queue, coalesce(u.priority, 2) * 2 + 1, (extract(epoch from u.lease) * 1000)::int
      from unnest(p_ids, p_priorities, p_leases) with ordinality as u (id, priority, lease, i)
     order by u.i;
    return array_fill('enqueued'::text, array[n]);
  end if;

  with u as materialized (  -- the clock is read inside the insert, as in enqueue
    select w.*, coalesce(w.at > clock_timestamp(), false) as later,
           w.id = any (coalesce(v_new, '{}'))
             and row_number() over (partition by w.id order by w.i) = 1 as fresh
      from (select y.id, coalesce(y.priority, 2) * 2 + 1 as rank,
                   (extract(epoch from y.lease) * 1000)::int as lease_ms,
                   coalesce(y.run_at, clock_timestamp() + y.delay) as at, y.i
              from unnest(p_ids, p_priorities, p_leases, p_run_ats, p_delays)
                     with ordinality as y (id, priority, lease, run_at, delay, i)
            offset 0) w
  ), p as (
    insert into emq.pending (id, queue, rank, lease_ms)
    select u.id, p_queue, u.rank, u.lease_ms from u where u.fresh and not u.later order by u.i
  ), s as (
    insert into emq.scheduled (run_at, id, queue, rank, lease_ms)
    select u.at, u.id, p_queue, u.rank, u.lease_ms from u where u.fresh and u.later
  )
  select coalesce(array_agg(case when not u.fresh then 'duplicate'
                                 when u.later then 'scheduled' else 'enqueued' end order by u.i), '{}')
    into r from u;
  return r;
end $_$;

--
-- Name: enqueue_unique(text, text[], uuid[], text[], jsonb[], text[], interval[], integer[], timestamp with time zone[], interval[], integer[], interval[], jsonb[]); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.enqueue_unique(p_queue text, p_keys text[], p_ids uuid[], p_tasks text[], p_payloads jsonb[], p_scopes text[] DEFAULT NULL::text[], p_fors interval[] DEFAULT NULL::interval[], p_priorities integer[] DEFAULT NULL::integer[], p_run_ats timestamp with time zone[] DEFAULT NULL::timestamp with time zone[], p_delays interval[] DEFAULT NULL::interval[], p_max_attempts integer[] DEFAULT NULL::integer[], p_leases interval[] DEFAULT NULL::interval[], p_headers jsonb[] DEFAULT NULL::jsonb[], OUT ids uuid[], OUT statuses text[]) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '5s'
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
declare
  n int := cardinality(p_ids);
  v_known uuid[];
  v_new int[] := '{}';
  v_answers text[];
  v_key text;
  v_holder uuid;
  u record;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'emq: enqueue_unique needs READ COMMITTED'
      using errcode = '25001', hint = 'What has become of the holder since would not be seen.';
  end if;
  if p_ids is null or p_keys is null or cardinality(p_keys) <> n or cardinality(p_tasks) <> n
     or cardinality(p_payloads) <> n or cardinality(p_scopes) <> n or cardinality(p_fors) <> n
     or cardinality(p_priorities) <> n or cardinality(p_run_ats) <> n or cardinality(p_delays) <> n
     or cardinality(p_max_attempts) <> n or cardinality(p_leases) <> n or cardinality(p_headers) <> n then
    raise exception 'emq: enqueue_unique was given arrays of different lengths'
      using errcode = 'EQ006', hint = 'Each array has one element for each id, or is null.';
  end if;
  if array_position(p_ids, null) is not null then
    perform emq.refuse_new(p_queue, p_ids);
  end if;
  for u in select * from unnest(p_keys, p_scopes, p_fors) as x (key, scope, span) loop
    if length(u.key) not between 1 and 500 then
      raise exception 'emq: a unique key has % characters', length(u.key)
        using errcode = 'EQ006', hint = 'Give 1 to 500; a digest of what is longer will do.';
    end if;
    if u.scope not in ('waiting', 'unfinished', 'until')
       or (coalesce(u.scope, '') = 'until') <> (u.span is not null)
       or not (u.span > interval '0' and u.span <= interval '1 year') then
      raise exception 'emq: a unique key cannot be held for that long'
        using errcode = 'EQ006', hint = 'p_scopes says waiting, unfinished or until; until needs '
                                        'an interval of p_fors of at most one year, and no other has one.';
    end if;
  end loop;

  -- A job that was added by a call whose reply was lost has perhaps ended, and the key is another's.
  select coalesce(array_agg(j.id), '{}') into v_known from emq.job j where j.id = any (p_ids);
  ids := array(select x from unnest(p_ids) x);  -- so that it begins at 1
  statuses := array_fill('duplicate'::text, array[n]);
  for u in
    select x.key, x.id, coalesce(x.scope, 'unfinished') as scope,
           clock_timestamp() + x.span as until, x.i::int as i
      from unnest(p_keys, p_ids, p_scopes, p_fors) with ordinality as x (key, id, scope, span, i)
     order by x.key, x.i
  loop
    if u.id = any (v_known) then
      continue;
    end if;
    if u.key is null then
      v_new := v_new || u.i;
    elsif u.key = v_key then  -- the holder may be added only below, and is not seen yet
      ids[u.i] := v_holder;
    else
      v_key := u.key;
      v_holder := emq.take_key(u.key, u.id, u.scope, u.until);
      ids[u.i] := v_holder;
      if v_holder = u.id then
        v_new := v_new || u.i;
      end if;
    end if;
  end loop;
  if v_new = '{}' then
    return;
  end if;

  v_new := array(select i from unnest(v_new) i order by i);  -- the line is in the order given
  select emq.enqueue_many(
           p_queue, array_agg(x.id order by x.i), array_agg(x.task order by x.i),
           array_agg(x.payload order by x.i), array_agg(x.priority order by x.i),
           case when p_run_ats is not null then array_agg(x.run_at order by x.i) end,
           case when p_delays is not null then array_agg(x.delay order by x.i) end,
           array_agg(x.max_attempts order by x.i), array_agg(x.lease order by x.i),
           array_agg(x.headers order by x.i))
    into v_answers
    from unnest(p_ids, p_tasks, p_payloads, p_priorities, p_run_ats, p_delays, p_max_attempts,
                p_leases, p_headers)
           with ordinality as x (id, task, payload, priority, run_at, delay, max_attempts, lease,
                                 headers, i)
   where x.i = any (v_new);
  for i in 1 .. cardinality(v_new) loop
    statuses[v_new[i]] := v_answers[i];
  end loop;
end $$;

--
-- Name: enqueue_unless_waiting(text, text, jsonb, uuid, integer, timestamp with time zone, interval, integer, interval, jsonb); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.enqueue_unless_waiting(p_queue text, p_task text, p_payload jsonb, p_id uuid DEFAULT NULL::uuid, p_priority integer DEFAULT 2, p_run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_delay interval DEFAULT NULL::interval, p_max_attempts integer DEFAULT NULL::integer, p_lease interval DEFAULT NULL::interval, p_headers jsonb DEFAULT NULL::jsonb, OUT id uuid, OUT status text) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '5s'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
declare
  v_from timestamptz;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'emq: enqueue_unless_waiting needs READ COMMITTED'
      using errcode = '25001', hint = 'What others have added since would not be seen.';
  end if;
  perform pg_advisory_xact_lock(
    7309, hashtext(concat_ws('/', 'emq.settled'::regclass::oid, p_queue, p_task)));
  select p.id into id
    from emq.pending p
   where p.queue = p_queue
     and (select j.task from emq.job j where j.id = p.id) = p_task
   order by p.rank, p.ord limit 1
   for key share of p skip locked;
  if id is null then
    v_from := coalesce((select case when s.t > clock_timestamp() then '-infinity' else s.promote_from end
                          from emq.settled s order by s.n desc limit 1), '-infinity');
    select s.id into id
      from emq.scheduled s
     where s.queue = p_queue and s.run_at >= v_from
       and (select j.task from emq.job j where j.id = s.id) = p_task
     order by s.run_at, s.id limit 1
     for key share of s skip locked;
  end if;
  if id is not null then
    status := 'duplicate';
    return;
  end if;
  select e.id, e.status into id, status
    from emq.enqueue(p_queue, p_task, p_payload, p_id, p_priority, p_run_at, p_delay,
                     p_max_attempts, p_lease, p_headers) e;
end $$;

--
-- Name: envelope(uuid); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.envelope(p_id uuid) RETURNS TABLE(id uuid, queue text, task text, payload jsonb, headers jsonb, priority integer, max_attempts integer, lease_ms integer, enqueued_at timestamp with time zone)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
  select j.id, j.queue, j.task, j.payload, j.headers, j.priority::int, j.max_attempts::int,
         j.lease_ms, j.enqueued_at
    from emq.job j where j.id = p_id
$$;

--
-- Name: erase(uuid[]); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.erase(p_ids uuid[]) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $_$
declare
  v_from timestamptz;
  n int;
begin
  if p_ids is null then
    return 0;
  end if;
  select min(emq.id_time(u)) - interval '1 day' into v_from from unnest(p_ids) u;
  execute
    'with d as (
       delete from emq.archive x where x.id = any ($1) and x.finished_at >= $2 returning x.finished_at
     )
     update emq.exported e set removed = e.removed + k.n  -- their rows stay in the files
       from (select (d.finished_at at time zone ''UTC'')::date as day, count(*) as n
               from d group by 1) k
      where e.day = k.day'
    using p_ids, v_from;
  execute 'delete from emq.attempt x where x.id = any ($1) and x.ended_at >= $2'
    using p_ids, v_from;
  delete from emq.refusal x where x.id = any (p_ids);
  delete from emq.late x where x.id = any (p_ids);
  delete from emq.inbox x where x.id = any (p_ids);
  delete from emq.unique_key x using (
    select u.key from emq.unique_key u where u.id = any (p_ids) for update skip locked) k
   where x.key = k.key;
  delete from emq.job x where x.id = any (p_ids);
  get diagnostics n = row_count;
  return n;
end $_$;

--
-- Name: export_add(date, bigint, integer, integer, bigint, bigint, uuid, uuid, timestamp with time zone, text, text, text); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.export_add(p_day date, p_fence bigint, p_version integer, p_part integer, p_rows bigint, p_bytes bigint, p_min_id uuid, p_max_id uuid, p_max_at timestamp with time zone, p_checksum text, p_location text, p_path text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  perform emq.export_extend(p_day, p_fence);
  insert into emq.export_part
    (day, version, part, rows, bytes, min_id, max_id, max_at, checksum, location, path)
  values (p_day, p_version, p_part, p_rows, p_bytes, p_min_id, p_max_id, p_max_at, p_checksum,
          p_location, p_path);
end $$;

--
-- Name: export_at_work(date); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.export_at_work(p_day date) RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
  select exists (select from emq.export_claim c
                  where c.day = p_day and c.fence is not null
                    and c.seen_at > clock_timestamp() - interval '5 min'
                    and exists (select from pg_stat_get_activity(c.session::int)))
$$;

--
-- Name: export_begin(date, text); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.export_begin(p_day date, p_location text, OUT status text, OUT fence bigint, OUT series uuid, OUT version integer, OUT part integer, OUT rows bigint, OUT written bigint, OUT after_id uuid, OUT after_at timestamp with time zone, OUT late boolean, OUT location text) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '300ms'
    AS $$
#variable_conflict use_column
declare
  v_t text := 'archive_' || to_char(p_day, 'YYYYMMDD');
  c emq.export_claim;
  e emq.exported;
  v_first int;
begin
  status := 'none';
  if to_regclass('emq.' || v_t) is null then
    return;
  end if;
  insert into emq.export_claim (day) values (p_day) on conflict on constraint export_claim_pk do nothing;
  select x.* into c from emq.export_claim x where x.day = p_day for update skip locked;
  if not found or emq.export_at_work(p_day) then
    status := 'busy';
    return;
  end if;
  if to_regclass('emq.' || v_t) is null then
    return;
  end if;
  execute format('select count(*) from emq.%I', v_t) into rows;
  select x.* into e from emq.exported x where x.day = p_day;
  location := e.location;
  late := e.verified_at is not null and e.location = p_location;
  if late and rows + e.removed = e.rows then
    status := 'done';
    version := e.version;
    return;
  end if;
  if not late and (e.removed > 0 or e.retiring_since is not null) then
    status := case when e.location = p_location then 'damaged' else 'elsewhere' end;
    return;
  end if;

  status := 'ready';
  late := coalesce(late, false);
  version := greatest(coalesce(e.version, 0) + 1, c.version);
  v_first := case when late then e.parts else 0 end;
  if exists (select from emq.export_part x where x.day = p_day and x.version = export_begin.version
              having count(*) > 0
                 and (min(x.part) <> v_first or bool_or(x.location <> p_location))) then
    delete from emq.export_part x where x.day = p_day and x.version = export_begin.version;
    version := version + 1;
  end if;
  select coalesce(max(x.part) + 1, v_first), coalesce(sum(x.rows), 0)
    into part, written
    from emq.export_part x where x.day = p_day and x.version = export_begin.version;
  select x.max_id, x.max_at into after_id, after_at
    from emq.export_part x
   where x.day = p_day and x.version = export_begin.version order by x.part desc limit 1;
  location := p_location;
  series := c.series;
  fence := ('x' || translate(left(gen_random_uuid()::text, 18), '-', ''))::bit(64)::bigint;
  update emq.export_claim x
     set fence = export_begin.fence, version = export_begin.version, session = pg_backend_pid(),
         seen_at = clock_timestamp(), who = session_user
   where x.day = p_day;
exception when lock_not_available then
  status := 'busy';
end $$;

--
-- Name: export_days(date); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.export_days(p_until date) RETURNS TABLE(day date, version integer, location text, verified boolean)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
  select d.day, e.version, e.location, e.verified_at is not null
    from emq.days_of('archive') d
    left join emq.exported e on e.day = d.day
   where d.day <= p_until
   order by d.day
$$;

--
-- Name: export_done(date, bigint, integer, boolean, text, text); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.export_done(p_day date, p_fence bigint, p_version integer, p_late boolean, p_location text, p_checksum text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  e emq.exported;
begin
  perform emq.export_extend(p_day, p_fence);
  select x.* into e from emq.exported x where x.day = p_day for update;
  if p_version is null or p_version <= e.version then
    raise exception 'emq: the export of % is at version %, so % cannot be the next', p_day,
      coalesce(e.version, 0), p_version
      using errcode = 'EQ004', hint = 'Another session exported it meanwhile: begin again.';
  end if;
  if not p_late then
    delete from emq.export_part x where x.day = p_day and x.version < p_version;
  end if;
  insert into emq.exported as x
    (day, version, parts, rows, bytes, min_id, max_id, checksum, location, schema_version, verified_at)
  select p_day, p_version, count(p.part), coalesce(sum(p.rows), 0), coalesce(sum(p.bytes), 0),
         (array_agg(p.min_id order by p.min_id))[1], (array_agg(p.max_id order by p.max_id desc))[1],
         p_checksum, p_location, (select m.version from emq.meta m), clock_timestamp()
    from emq.export_part p where p.day = p_day
  on conflict on constraint exported_pk do update set
    version = excluded.version, parts = excluded.parts, rows = excluded.rows,
    bytes = excluded.bytes, min_id = excluded.min_id, max_id = excluded.max_id,
    checksum = excluded.checksum, location = excluded.location,
    schema_version = excluded.schema_version, verified_at = excluded.verified_at,
    compared = false, dropped_at = null, who = excluded.who;
  insert into emq.audit (verb, detail)
  select 'export', jsonb_build_object('day', x.day, 'version', x.version, 'rows', x.rows,
                                      'location', x.location, 'checksum', x.checksum)
    from emq.exported x where x.day = p_day;
end $$;

--
-- Name: export_end(date, bigint); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.export_end(p_day date, p_fence bigint) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
  update emq.export_claim c set fence = null where c.day = p_day and c.fence = p_fence
$$;

--
-- Name: export_extend(date, bigint); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.export_extend(p_day date, p_fence bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  update emq.export_claim c set seen_at = clock_timestamp(), session = pg_backend_pid()
   where c.day = p_day and c.fence = p_fence;
  if not found then
    raise exception 'emq: the export of % was taken over by another session', p_day
      using errcode = 'EQ001',
            hint = 'What was written since is not recorded. Run the export again when that one has ended.';
  end if;
end $$;

--
-- Name: export_forget(date, text); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.export_forget(p_day date, p_label text DEFAULT NULL::text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  e emq.exported;
  v_n bigint;
begin
  perform from emq.export_claim c where c.day = p_day for update skip locked;
  if not found and exists (select from emq.export_claim c where c.day = p_day)
     or emq.export_at_work(p_day) then
    return 'busy';
  end if;
  select x.* into e from emq.exported x where x.day = p_day for update;
  if e.removed > 0 or e.retiring_since is not null then
    return 'kept';
  end if;
  with p as (delete from emq.export_part x where x.day = p_day returning 1),
       d as (delete from emq.exported x where x.day = p_day returning 1),
       c as (delete from emq.export_claim x where x.day = p_day)
  select (select count(*) from p) + (select count(*) from d) into v_n;
  if v_n = 0 then
    return 'lost';
  end if;
  insert into emq.audit (verb, label, detail)
  values ('export forget', p_label,
          jsonb_build_object('day', p_day, 'version', e.version, 'location', e.location));
  return 'done';
end $$;

--
-- Name: export_rows(date, uuid, timestamp with time zone, integer, bigint); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.export_rows(p_day date, p_after_id uuid, p_after_at timestamp with time zone, p_limit integer, p_bytes bigint DEFAULT 8000000) RETURNS TABLE(id uuid, queue text, task text, status text, attempts integer, stalled integer, failures integer, fence bigint, worker text, enqueued_at timestamp with time zone, claimed_at timestamp with time zone, lease_deadline timestamp with time zone, finished_at timestamp with time zone, priority integer, max_attempts integer, lease_ms integer, payload text, headers text, result text, history text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $_$
declare
  v_bytes bigint := 0;
begin
  for id, queue, task, status, attempts, stalled, failures, fence, worker, enqueued_at, claimed_at,
      lease_deadline, finished_at, priority, max_attempts, lease_ms, payload, headers, result,
      history
  in execute format(
    'select a.id, a.queue, y.task, a.status, a.attempts, a.stalled::int, a.failures::int, a.fence,
            a.worker, y.enqueued_at, a.claimed_at, a.lease_deadline, a.finished_at, y.priority::int,
            y.max_attempts::int, y.lease_ms, y.payload::text, y.headers::text, a.result::text, h.history
       from emq.%I a
       left join emq.job y on y.id = any (array[a.id]) and y.enqueued_at < a.finished_at + interval ''1 h''
       left join lateral (
         select jsonb_agg(jsonb_build_object(
                  ''attempt'', t.fence >> 40, ''how'', t.how, ''worker'', t.worker,
                  ''claimed_at'', t.claimed_at, ''ended_at'', t.ended_at,
                  ''lease_deadline'', t.lease_deadline, ''extensions'', t.extensions,
                  ''error'', t.error) order by t.ended_at, t.fence)::text as history
           from emq.attempt t
          where (a.attempts > 1 or a.status <> ''completed'') and t.id = a.id
            and t.ended_at >= coalesce(y.enqueued_at, emq.id_time(a.id) - interval ''1 day'') - interval ''1 h''
            and t.ended_at < a.finished_at + interval ''1 h''
       ) h on true
      where a.id >= $1 and (a.id, a.finished_at) > ($1, $2)
      order by a.id, a.finished_at limit $3', 'archive_' || to_char(p_day, 'YYYYMMDD'))
    using coalesce(p_after_id, '00000000-0000-0000-0000-000000000000'),
          coalesce(p_after_at, '-infinity'), p_limit
  loop
    return next;
    v_bytes := v_bytes + coalesce(length(payload), 0) + coalesce(length(headers), 0)
               + coalesce(length(result), 0) + coalesce(length(history), 0);
    exit when v_bytes >= p_bytes;
  end loop;
end $_$;

--
-- Name: export_stands(date); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.export_stands(p_day date) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  v_t text := 'archive_' || to_char(p_day, 'YYYYMMDD');
  e emq.exported;
  v_n bigint;
begin
  insert into emq.export_claim (day) values (p_day) on conflict on constraint export_claim_pk do nothing;
  perform from emq.export_claim c where c.day = p_day for update skip locked;
  if not found or emq.export_at_work(p_day) then
    return 'busy';
  end if;
  update emq.export_claim c set fence = null where c.day = p_day and c.fence is not null;
  select x.* into e from emq.exported x where x.day = p_day for update;
  if e.verified_at is null then
    return case when found or (select m.export_first from emq.meta m)
                     or exists (select from emq.export_part x where x.day = p_day)
                then 'unexported' else 'yes' end;
  end if;
  if not e.compared then
    execute format('lock table emq.%I in share row exclusive mode', v_t);
    execute format('select count(*) from emq.%I', v_t) into v_n;
    if v_n + e.removed <> e.rows then
      return 'late';
    end if;
    execute format('create or replace trigger late_row after insert on emq.%I
                      for each row execute function emq.late_row()', v_t);
    update emq.exported x
       set compared = true, retiring_since = coalesce(x.retiring_since, clock_timestamp())
     where x.day = p_day;
  end if;
  return 'yes';
end $$;

--
-- Name: export_verified(date, integer, text, text); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.export_verified(p_day date, p_version integer, p_location text, p_damage text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  e emq.exported;
begin
  select x.* into e from emq.exported x
   where x.day = p_day and x.version = p_version and x.location = p_location for update;
  if not found then
    return false;
  end if;
  update emq.exported x set verified_at = case when p_damage is null then clock_timestamp() end
   where x.day = p_day;
  if (e.verified_at is null) <> (p_damage is not null) then
    insert into emq.audit (verb, detail)
    values ('verify', jsonb_build_object('day', p_day, 'location', p_location, 'damage', p_damage));
  end if;
  return true;
end $$;

--
-- Name: extend(uuid[], bigint[], interval); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.extend(p_ids uuid[], p_fences bigint[], p_lease interval DEFAULT NULL::interval) RETURNS text[]
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
declare
  r uuid[];
  rf bigint[];
  n int := cardinality(p_ids);
begin
  with k as (
    select u.id, u.fence from unnest(p_ids, p_fences) as u (id, fence) order by 1
  ), x as materialized (
    select k.*, l.was from k
     cross join lateral (select a.lease_deadline as was from emq.active a
                          where a.id = k.id and a.fence = k.fence for no key update skip locked) l
  ), e as (
    update emq.active a
       set lease_deadline = greatest(
             a.lease_deadline, clock_timestamp() + coalesce(p_lease, a.lease_ms * interval '1 ms')),
           extensions = a.extensions + 1
      from x
     where a.id = any (array[x.id]) and a.fence = x.fence
    returning a.id, a.fence, x.was
  ), l as (
    insert into emq.late (id, fence, lease_deadline)
    select e.id, e.fence, e.was from e where e.was < clock_timestamp()
  )
  select array_agg(e.id), array_agg(e.fence) into r, rf from e;
  if cardinality(r) = n then
    return array_fill('done'::text, array[n]);
  end if;
  return coalesce(emq.rest(p_ids, p_fences, r, rf, 'extend'), '{}');
end $$;

--
-- Name: fail(uuid[], bigint[], text[], interval[], text[]); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.fail(p_ids uuid[], p_fences bigint[], p_reasons text[], p_delays interval[] DEFAULT NULL::interval[], p_errors text[] DEFAULT NULL::text[]) RETURNS text[]
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  v_bad text;
begin
  if cardinality(p_reasons) is distinct from cardinality(p_ids) then
    v_bad := 'a reason for each job is missing';
  else
    select format('the reason %L is none', u) into v_bad from unnest(p_reasons) u
     where u is null
        or u not in ('exception', 'timeout', 'permanent', 'expired', 'no handler') limit 1;
  end if;
  if v_bad is not null then
    raise exception 'emq: fail: %', v_bad
      using errcode = 'EQ006', hint = 'exception, timeout, permanent, expired or no handler.';
  end if;
  return emq.hand_back('fail', p_reasons, p_ids, p_fences, p_delays, p_errors);
end $$;

--
-- Name: fingerprint(text, text, text); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.fingerprint(p_task text, p_reason text, p_error text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
  select left(md5(concat_ws(chr(31), p_task, p_reason,
    regexp_replace(
      regexp_replace(
        regexp_replace(
          regexp_replace(emq.headline(p_error),
            '((?<!\w)[bru]{1,2})?"(\\.|[^"\\])*("|$)|(?<!\w)[bru]{0,2}''(\\.|[^''\\])*(''|$)', '?', 'gi'),
          '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\m(0x[0-9a-f]+|[0-9a-f]*[0-9][0-9a-f]*)\M',
          '?', 'gi'),
        '[0-9]+', '?', 'g'),
      '((?<!\w)[-+])?\?([-+.,:/T]*\s?\?)*', '?', 'g'))), 12)
$_$;

--
-- Name: finite(text, interval); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.finite(p_name text, p_length interval) RETURNS interval
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  if not isfinite(p_length) or p_length >= interval '2000000 years'
     or p_length <= interval '-2000000 years' then
    raise exception 'emq: % cannot be infinite', p_name
      using errcode = 'EQ006', hint = 'Give a length; 1000 years is for ever.';
  end if;
  return p_length;
end $$;

--
-- Name: guard(uuid, bigint); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.guard(p_id uuid, p_fence bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
declare
  v_lease_ms int := emq.hold(p_id, p_fence);
begin
  if v_lease_ms is not null then
    perform emq.bound(v_lease_ms, false);
  end if;
end $$;

--
-- Name: guard_commit(uuid, bigint); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.guard_commit(p_id uuid, p_fence bigint) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
declare
  v_lease_ms int;
begin
  if pg_current_xact_id_if_assigned() is null then
    perform from pg_cursor() c where c.is_holdable and c.creation_time >= transaction_timestamp();
    if not found or current_setting('transaction_read_only') = 'on' then
      return 'nothing';
    end if;
  end if;
  -- Nearly always the row is there and free; what hold does besides would double the cost.
  select a.lease_ms into v_lease_ms
    from emq.active a where a.id = p_id and a.fence = p_fence for key share skip locked;
  if v_lease_ms is null then
    v_lease_ms := emq.hold(p_id, p_fence);
    if v_lease_ms is null then
      return 'settled';
    end if;
  end if;
  -- As bound does, nearly always, without the call of another function.
  if current_setting('transaction_timeout', true) = '0' then
    perform set_config('transaction_timeout', greatest(v_lease_ms, 10000)::text, true);
  else
    perform emq.bound(v_lease_ms, true);
  end if;
  return 'guarded';
end $$;

--
-- Name: hand_back(text, text[], uuid[], bigint[], interval[], text[]); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.hand_back(p_verb text, p_ends text[], p_ids uuid[], p_fences bigint[], p_delays interval[], p_errors text[]) RETURNS text[]
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
declare
  v_runs emq.active[];
  v_ends text[];
  v_delays interval[];
  v_errors text[];
  v_where text[];
  v_rest text[];
  r uuid[];
  rf bigint[];
begin
  with k as (
    select u.* from unnest(p_ids, p_fences, p_ends, p_delays, p_errors)
        as u (id, fence, ended, delay, error)
     order by 1
  ), x as materialized (
    select k.* from k
     cross join lateral (select 1 from emq.active a
                          where a.id = k.id and a.fence = k.fence for update skip locked) l
  ), d as (
    delete from emq.active a using x
     where a.id = any (array[x.id]) and a.fence = x.fence
    returning a as run, a.id, a.fence, x.ended, x.delay, x.error
  )
  select array_agg(d.run), array_agg(d.id), array_agg(d.fence), array_agg(d.ended),
         array_agg(d.delay), array_agg(d.error)
    into v_runs, r, rf, v_ends, v_delays, v_errors
    from d;
  if r is not null then
    v_where := emq.end_runs(v_runs, v_ends, v_delays, v_errors);
  end if;

  if cardinality(r) = cardinality(p_ids) then
    v_rest := array_fill('done'::text, array[cardinality(p_ids)]);
  else
    v_rest := emq.rest(p_ids, p_fences, r, rf, p_verb);
  end if;
  return (
    select coalesce(array_agg(
             coalesce(case when k.answer = 'done' then v_where[array_position(r, k.id)] end, k.answer)
             order by k.i), '{}')
      from unnest(p_ids, v_rest) with ordinality as k (id, answer, i));
end $$;

--
-- Name: headline(text); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.headline(p_error text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
  select left(
    case when arrived ~ '^\s*\+ Exception Group Traceback \(most recent call last\)'
         then concat_ws('; the first is ', substring(arrived from '\n  \| (\S[^\n]*)'),
                        substring(arrived from '\n    \| (?!Traceback|Exception Group)(\S[^\n]*)'))
         else substring(
           case when arrived !~ '(^|\n)Traceback \(most recent call last\)' then arrived
                when arrived ~ '^Traceback' and arrived !~ '\n\.\.\. [0-9,]+ bytes left out \.\.\.\n'
                then regexp_replace(arrived, '^[^\n]*(\n  [^\n]*)*\n', '')
                else regexp_replace(arrived, '^.*\n  File "[^\n]*(\n  [^\n]*)*\n', '') end
           from '^\s*([^\n]*)') end, 300)
    from regexp_replace(
      p_error, '^.*\n(During handling of the above exception, another exception occurred|'
               || 'The above exception was the direct cause of the following exception):\n+', '')
      as arrived
$$;

--
-- Name: here(); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.here() RETURNS text
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  return (select c.system_identifier || '/' || d.oid
            from pg_control_system() c, pg_database d
           where d.datname = current_database());
exception when insufficient_privilege or undefined_function or feature_not_supported then
  return null;
end $$;

--
-- Name: hold(uuid, bigint); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.hold(p_id uuid, p_fence bigint) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
declare
  v_lease_ms int;
  v_how text;
  v_ours boolean;
  v_wait text := current_setting('lock_timeout');
begin
  perform set_config('lock_timeout', '2s', true)
    where v_wait::interval = interval '0' or v_wait::interval > interval '2 s';
  select a.lease_ms into v_lease_ms
    from emq.active a where a.id = p_id and a.fence = p_fence for key share;
  perform set_config('lock_timeout', v_wait, true);
  if v_lease_ms is not null then
    return v_lease_ms;
  end if;
  select e.how, e.ours into v_how, v_ours from emq.end_of(p_id, p_fence) e;
  if v_ours then
    return null;
  end if;
  if v_how in ('completed', 'failed', 'timed out', 'snoozed') then
    raise exception 'emq: job % was settled already under this very claim (%)', p_id, v_how
      using errcode = 'EQ007',
            hint = 'Its run is over, so nothing more is committed for it: roll back.';
  end if;
  if v_how = 'cancelled' then
    raise exception 'emq: job % was cancelled by an operator', p_id
      using errcode = 'EQ001', hint = 'Nothing more can be committed for it: roll back.';
  end if;
  raise exception 'emq: the lease of job % is lost', p_id
    using errcode = 'EQ001',
          hint = 'Another worker holds or has finished this job: roll back.';
end $$;

--
-- Name: holds_key(uuid, text, timestamp with time zone); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.holds_key(p_id uuid, p_scope text, p_until timestamp with time zone) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
begin
  if p_scope = 'until' then
    return p_until > clock_timestamp();
  end if;
  return exists (
    select from emq.job j
     where j.id = p_id
       and not exists (select from emq.dead d where d.id = j.id)
       and not exists (select from emq.archive r
                        where r.id = j.id and r.finished_at > j.enqueued_at - interval '1 h')
       -- (A scalar, since an EXISTS behind OR may become a hash of the whole table.)
       and (p_scope = 'unfinished' or (select a.id from emq.active a where a.id = j.id) is null));
end $$;

--
-- Name: id_time(uuid); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.id_time(p_id uuid) RETURNS timestamp with time zone
    LANGUAGE sql IMMUTABLE
    AS $$
  select case when substr(p_id::text, 15, 1) = '7' then
    to_timestamp(('x' || translate(left(p_id::text, 13), '-', ''))::bit(48)::bigint / 1000.0) end
$$;

--
-- Name: job_id(text, timestamp with time zone); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.job_id(p_key text, p_at timestamp with time zone) RETURNS uuid
    LANGUAGE sql IMMUTABLE
    AS $$
  select encode(
    set_bit(set_bit(set_bit(set_bit(set_bit(set_bit(
      overlay(decode(md5(p_key), 'hex')
        placing substring(int8send(floor(extract(epoch from p_at) * 1000)::bigint) from 3)
        from 1 for 6),
      55, 0), 54, 1), 53, 1), 52, 1), 71, 1), 70, 0),
    'hex')::uuid
$$;

--
-- Name: keep(uuid[], bigint[], text[], interval); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.keep(p_ids uuid[], p_fences bigint[], p_queues text[] DEFAULT NULL::text[], p_lease interval DEFAULT NULL::interval, OUT answers text[], OUT paused text[]) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
declare
  v_cancelled uuid[];
begin
  answers := emq.extend(p_ids, p_fences, p_lease);
  if 'lost' = any (answers) then
    select array_agg(x.id) into v_cancelled
      from emq.archived((select array_agg(k.id) from unnest(p_ids, answers) as k (id, answer)
                          where k.answer = 'lost')) x
     where x.status = 'cancelled';
    select array_agg(
             case when k.answer = 'lost' and k.id = any (v_cancelled) then 'cancelled'
                  else k.answer end order by k.i)
      into answers
      from unnest(p_ids, answers) with ordinality as k (id, answer, i);
  end if;
  select coalesce(array_agg(u.name), '{}') into paused
    from unnest(p_queues) as u (name)
   where exists (select 1 from emq.queue q where q.name = u.name and q.paused);
end $$;

--
-- Name: kept_days(); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.kept_days() RETURNS TABLE(day date, name text, rows bigint, bytes bigint, state text, goes_at timestamp with time zone, exported text)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    AS $$
  with n as (select clock_timestamp() as at, emq.kept_from() as kept_from)
  select d.day, d.name, nullif(c.reltuples, -1)::bigint, pg_total_relation_size(c.oid),
         case when exists (select from emq.retiring r where r.day = d.day) then 'retiring'
              when n.at < d.last + interval '1 hour' then 'open'
              when d.last <= n.kept_from then 'due'
              else 'kept' end,
         case when isfinite(n.kept_from)
              then date_trunc('minute', d.last + (n.at - n.kept_from) + interval '1 s') end,
         case when e.day is not null
                then case when e.verified_at is null then 'damaged' else 'verified' end
              when exists (select from emq.export_part x where x.day = d.day) then 'begun'
              else 'no' end
    from n
    cross join emq.days_of('archive') d
    join pg_class c on c.oid = to_regclass(format('emq.%I', d.name))
    left join emq.exported e on e.day = d.day
  union all
  select null, 'archive_default', nullif(c.reltuples, -1)::bigint, pg_total_relation_size(c.oid),
         'kept', null, 'no'
    from pg_class c
   where c.oid = 'emq.archive_default'::regclass and exists (select from emq.archive_default)
   order by 1
$$;

--
-- Name: kept_from(); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.kept_from() RETURNS timestamp with time zone
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    AS $$
  select least(emq.ago(m.retention), q.finished, q.cancelled)
    from emq.meta m
    cross join (select min(emq.ago(x.retention)) as finished,
                       min(emq.ago(x.cancelled_retention)) as cancelled from emq.queue x) q
$$;

--
-- Name: key_holder(text); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.key_holder(p_key text) RETURNS TABLE(id uuid, scope text, until timestamp with time zone, counts boolean)
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
  select u.id, u.scope, u.until, emq.holds_key(u.id, u.scope, u.until)
    from emq.unique_key u where u.key = p_key
$$;

--
-- Name: last_chance(uuid[], bigint[]); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.last_chance(p_ids uuid[], p_fences bigint[]) RETURNS uuid[]
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
begin
  return (
    select coalesce(array_agg(k.id), '{}')
      from unnest(p_ids, p_fences) as k (id, fence)
      cross join lateral (select y.queue, y.stalled, y.failures from emq.active y
                           where y.id = k.id and y.fence = k.fence offset 0) a
      left join lateral (select y.max_stalled, y.max_attempts from emq.queue y
                          where y.name = a.queue offset 0) q on true
      left join lateral (select y.max_attempts from emq.job y
                          where y.id = k.id offset 0) j on true
     where a.stalled > 0
       and (a.stalled + 1 >= coalesce(q.max_stalled, 3)
            or a.stalled + 1 + a.failures >= coalesce(j.max_attempts, q.max_attempts, 25)));
end $$;

--
-- Name: late_row(); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.late_row() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  update emq.exported e set compared = false
   where e.day = (new.finished_at at time zone 'UTC')::date;
  return null;
end $$;

--
-- Name: ledger_id(); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.ledger_id() RETURNS uuid
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ select m.ledger_id from emq.meta m $$;

--
-- Name: maintain(integer); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.maintain(p_limit integer DEFAULT 1000, OUT ran boolean, OUT promoted integer, OUT recovered integer, OUT dead integer) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
declare
  s emq.settled;
  v_now timestamptz;
  v_open boolean;
  v_hi bigint;
  v_rels oid[] := array['emq.pending'::regclass::oid, 'emq.active'::regclass::oid,
                        'emq.scheduled'::regclass::oid];
begin
  ran := pg_try_advisory_xact_lock(7305, 'emq.settled'::regclass::oid::int);
  if not ran then
    return;
  end if;
  promoted := emq.promote(p_limit);
  select r.recovered, r.dead into recovered, dead from emq.reap(p_limit) r;
  perform emq.archive_days(3);
  delete from emq.worker w where w.seen_at < clock_timestamp() - interval '1 day';
  if current_setting('transaction_isolation') <> 'read committed' then
    return;
  end if;

  select x.* into s from emq.settled x order by x.n desc limit 1;
  select q.last_value into v_hi from emq.ord_seq q;
  if s.n is null then
    s.t := '-infinity';
  end if;
  -- 0. Every ten minutes, and at first, the floors are sought from the bottom.
  if s.n is null or s.cand_t is null
     or div(extract(epoch from s.cand_t), 600) <> div(extract(epoch from clock_timestamp()), 600) then
    s.reap_from := '-infinity';
    s.promote_from := '-infinity';
  end if;
  if s.n is null or s.w > v_hi or s.cand_w > v_hi then
    s.w := 0;
    s.cand_w := null;
  end if;
  -- 1. Who wrote before the candidate was drawn, and has not ended?
  v_open := s.cand_w is null or exists (
    select 1 from pg_locks l
     where l.relation = any (v_rels) and l.mode = 'RowExclusiveLock'
       and l.database = (select d.oid from pg_database d where d.datname = current_database())
       and (l.virtualtransaction = any (s.holders) or l.virtualtransaction like '-1/%'));
  if not v_open then
    s.w := greatest(s.w, s.cand_w);
    s.t := s.cand_t - interval '2 s';
  end if;
  -- 2. The floors, in a snapshot taken after that. The search stops at the mark: beyond it lie the
  --    dead entries of a whole lease's worth of finished jobs.
  v_now := clock_timestamp();
  if s.t > v_now or s.cand_t > v_now then
    s.t := '-infinity';
    s.reap_from := '-infinity';
    s.promote_from := '-infinity';
    s.cand_w := null;
  else
    select coalesce((select a.lease_deadline from emq.active a
                      where a.lease_deadline >= s.reap_from and a.lease_deadline < s.t
                      order by a.lease_deadline limit 1), greatest(s.reap_from, s.t)),
           coalesce((select c.run_at from emq.scheduled c
                      where c.run_at >= s.promote_from and c.run_at < s.t
                      order by c.run_at limit 1), greatest(s.promote_from, s.t))
      into s.reap_from, s.promote_from;
  end if;
  -- 3. The next candidate: the marks first, then the list of holders.
  if not v_open or s.cand_w is null then
    select q.last_value into s.cand_w from emq.ord_seq q;
    s.cand_t := clock_timestamp();
    select coalesce(array_agg(distinct l.virtualtransaction), '{}') into s.holders
      from pg_locks l
     where l.relation = any (v_rels) and l.mode = 'RowExclusiveLock'
       and l.pid is distinct from pg_backend_pid();
  end if;
  insert into emq.settled (w, t, reap_from, promote_from, cand_w, cand_t, holders)
  values (s.w, s.t, s.reap_from, s.promote_from, s.cand_w, s.cand_t, s.holders);
  delete from emq.settled x where x.n = s.n;
end $$;

--
-- Name: maintain_due(interval, integer); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.maintain_due(p_every interval, p_limit integer DEFAULT 1000, OUT ran boolean, OUT promoted integer, OUT recovered integer, OUT dead integer) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  v_at timestamptz := (select s.at from emq.settled s order by s.n desc limit 1);
  v_now timestamptz := clock_timestamp();
begin
  ran := false;
  if v_at is null or v_at > v_now or v_at <= v_now - p_every then
    select m.ran, m.promoted, m.recovered, m.dead into ran, promoted, recovered, dead
      from emq.maintain(p_limit) m;
  end if;
end $$;

--
-- Name: maintain_loop(integer, interval); Type: PROCEDURE; Schema: emq; Owner: -
--

CREATE PROCEDURE emq.maintain_loop(IN p_seconds integer DEFAULT 55, IN p_every interval DEFAULT '00:00:05'::interval)
    LANGUAGE plpgsql
    AS $$
declare
  v_until pg_catalog.timestamptz;
  v_next pg_catalog.timestamptz;
  v_full boolean;
  v_tidying boolean;
  v_failed text;
  v_untidy text;
begin
  loop
    commit;
    set transaction isolation level read committed;
    set local search_path = pg_catalog, pg_temp;
    if v_until is null then
      if p_seconds is null or p_seconds < 0 or p_every is null or p_every < interval '100 ms' then
        raise exception 'emq: upkeep for % s, a pass each %, cannot be', p_seconds, p_every
          using errcode = 'EQ006',
                hint = 'Give p_seconds of 0 or more, and p_every of 100 ms or more.';
      end if;
      v_next := clock_timestamp();
      v_until := v_next + make_interval(secs => p_seconds);
      v_tidying := true;
    end if;

    -- COMMIT cannot stand in a block that catches, so it stands before it, at the head of the loop.
    if clock_timestamp() >= v_next then
      v_next := greatest(v_next + p_every, clock_timestamp());
      v_failed := null;
      begin
        select m.promoted >= 1000 or m.recovered + m.dead >= 1000 into v_full
          from emq.maintain(1000) m;
        if v_full then
          v_next := clock_timestamp();
        end if;
      exception when others then
        v_failed := sqlerrm;
        raise warning 'emq: a pass of upkeep failed: %', sqlerrm using errcode = sqlstate;
      end;
    elsif v_tidying then
      v_untidy := null;
      begin
        select t.did not in ('nothing', 'busy') into v_tidying from emq.tidy() t;
      exception when others then
        v_tidying := false;
        v_untidy := sqlerrm;
        raise warning 'emq: a step of tidying failed: %', sqlerrm using errcode = sqlstate;
      end;
    else
      perform pg_sleep(least(1, extract(epoch from v_next - clock_timestamp())));
    end if;
    exit when v_next > v_until and (not v_tidying or clock_timestamp() >= v_until);
  end loop;
  commit;
  if v_failed is not null or v_untidy is not null then
    raise exception 'emq: the last % failed: %',
      case when v_failed is not null then 'pass of upkeep' else 'step of tidying' end,
      coalesce(v_failed, v_untidy);
  end if;
end $$;

--
-- Name: mine(xid); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.mine(p_xmin xid) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  v_own bigint := pg_current_xact_id_if_assigned()::text::bigint;
  v_apart bigint;
begin
  if v_own is null then
    return false;
  end if;
  v_apart := (p_xmin::text::bigint - v_own) & 4294967295;
  if v_apart > 2147483647 then
    v_apart := v_apart - 4294967296;
  end if;
  return v_own + v_apart > 2
     and coalesce(pg_xact_status((v_own + v_apart)::text::xid8) = 'in progress', false);
end $$;

--
-- Name: note_refusals(uuid[], bigint[], text[], interval[], boolean); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.note_refusals(p_ids uuid[], p_fences bigint[], p_verbs text[], p_ago interval[], p_again boolean DEFAULT false) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
declare
  v_ids uuid[];
  v_fences bigint[];
  v_verbs text[];
  v_at timestamptz[];
begin
  select array_agg(k.id), array_agg(k.fence), array_agg(k.verb), array_agg(k.at)
    into v_ids, v_fences, v_verbs, v_at
    from (select u.id, u.fence, coalesce(left(u.verb, 40), 'unknown') as verb,
                 clock_timestamp()
                 - least(greatest(coalesce(u.ago, '0'), interval '0'), interval '1 year') as at
            from unnest(p_ids, p_fences, p_verbs, p_ago) as u (id, fence, verb, ago)
           where u.id is not null and u.fence is not null) k
    left join lateral (select y.fence from emq.active y where y.id = k.id offset 0) a on true
   where a.fence is distinct from k.fence
     and not (coalesce(p_again, false) and exists (
       select from emq.refusal r
        where r.id = k.id and r.fence = k.fence and r.verb = k.verb
          and r.at between k.at - interval '1 min' and k.at + interval '1 min'));
  if v_ids is null then
    return 0;
  end if;
  return emq.record_refusals(v_ids, v_fences, v_verbs, v_at);
end $$;

--
-- Name: obliterate(text, text, jsonb, integer, boolean, boolean, text); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.obliterate(p_queue text, p_confirm text, p_after jsonb DEFAULT NULL::jsonb, p_limit integer DEFAULT 1000, p_force boolean DEFAULT false, p_dry_run boolean DEFAULT false, p_label text DEFAULT NULL::text, OUT status text, OUT erased integer, OUT next jsonb, OUT remaining bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
declare
  c_walk constant jsonb := '{"job": "00000000-0000-0000-0000-000000000000"}';
  v_limit int := greatest(coalesce(p_limit, 1000), 1);
  v_after jsonb := coalesce(p_after, case when p_dry_run then c_walk end);
  v_ids uuid[];
  v_last uuid;
  n int;
begin
  perform emq.refuse_new(p_queue, '{}');
  if p_confirm is distinct from p_queue then
    raise exception 'emq: % is not the name of the queue %', quote_nullable(p_confirm), p_queue
      using errcode = 'EQ006', hint = 'Everything of it would be gone: give its name once more.';
  end if;
  erased := 0;
  if not p_dry_run and not p_force then
    select count(*) into remaining from emq.active a where a.queue = p_queue;
    if remaining > 0 then
      status := 'active';
      next := p_after;
      return;
    end if;
  end if;
  status := 'more';
  remaining := null;
  if v_after is null then  -- committed before anything goes, so that no claim is at work meanwhile
    perform emq.pause(p_queue, p_label);
    next := '{}';
    return;
  end if;
  if not p_dry_run and not pg_try_advisory_xact_lock(7308, 'emq.tidying'::regclass::oid::int) then
    status := 'busy';
    next := p_after;
    return;
  end if;

  if not v_after ? 'job' then
    select array_agg(w.id), count(*), (array_agg(w.at order by w.n desc))[1] into v_ids, n, next
      from emq.withdraw(p_queue, v_limit, true, v_after)
             with ordinality as w (id, attempts, stalled, failures, at, n);
    erased := emq.erase(v_ids);
    if n < v_limit then
      next := c_walk;
    end if;
  else
    select array_agg(c.id) filter (where c.queue = p_queue), count(*),
           (array_agg(c.id order by c.id desc))[1]
      into v_ids, n, v_last
      from (select j.id, j.queue from emq.job j
             where j.id > (v_after ->> 'job')::uuid order by j.id limit v_limit) c;
    if p_dry_run then
      erased := coalesce(cardinality(v_ids), 0);
    else
      erased := emq.erase(emq.unseat(v_ids, p_force));
    end if;
    next := jsonb_build_object('job', v_last);
    if n < v_limit then
      next := null;
      status := 'done';
      if not p_dry_run then
        select (select count(*) from emq.pending x where x.queue = p_queue)
               + (select count(*) from emq.scheduled x where x.queue = p_queue)
               + (select count(*) from emq.active x where x.queue = p_queue)
               + (select count(*) from emq.dead x where x.queue = p_queue)
          into remaining;
        if remaining = 0 then
          delete from emq.queue q where q.name = p_queue;
        else
          status := 'left';
        end if;
      end if;
    end if;
  end if;
  if not p_dry_run and (erased > 0 or status <> 'more') then
    insert into emq.audit (verb, queue, label, detail)
    values ('obliterate', p_queue, p_label,
            jsonb_build_object('erased', erased, 'force', p_force, 'status', status));
  end if;
end $$;

--
-- Name: once(text, uuid, bigint); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.once(p_key text, p_id uuid, p_fence bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  v_wait text := current_setting('lock_timeout');
  v_first boolean;
begin
  if p_key is null or length(p_key) not between 1 and 500 then
    raise exception 'emq: a key of the inbox has % characters', coalesce(length(p_key), 0)
      using errcode = 'EQ006', hint = 'Give 1 to 500; a digest of what is longer will do.';
  end if;
  perform set_config('lock_timeout', '5s', true)
    where v_wait::interval = interval '0' or v_wait::interval > interval '5 s';
  insert into emq.inbox (key, id, fence) values (p_key, p_id, p_fence) on conflict (key) do nothing;
  v_first := found;
  perform set_config('lock_timeout', v_wait, true);
  return v_first;
end $$;

--
-- Name: outcome(uuid, bigint); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.outcome(p_id uuid, p_fence bigint) RETURNS text
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
declare
  v bigint;
  v_s text;
begin
  select a.fence into v from emq.active a where a.id = p_id;
  if found and v = p_fence then
    return 'yours';
  end if;
  perform 1 from emq.dead x where x.id = p_id;
  if found then
    return 'dead';
  end if;
  select case when x.status = 'completed' and x.fence is distinct from p_fence then 'superseded'
              else x.status end
    into v_s
    from emq.archived(array[p_id]) x
   order by x.fence is not distinct from p_fence desc limit 1;
  if v_s in ('completed', 'cancelled', 'discarded') then
    return v_s;
  end if;
  perform 1 from emq.end_of(p_id, p_fence) e
    where e.how in ('failed', 'snoozed');
  if found then
    return 'handed back';
  end if;
  if v is not null or v_s is not null then
    return 'superseded';
  end if;
  perform 1 from emq.job x where x.id = p_id;
  return case when found then 'superseded' else 'unknown' end;
end $$;

--
-- Name: park(text[]); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.park(p_queues text[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  v_want int[] := array(select distinct b.lock from emq.bell_locks(p_queues) b order by 1);
  v_have int[] := array(
    select l.objid::bigint::bit(32)::int from pg_locks l
     where l.locktype = 'advisory' and l.pid = pg_backend_pid() and l.classid = 7306
       and l.database = (select d.oid from pg_database d where d.datname = current_database()));
  v_lock int;
begin
  foreach v_lock in array v_have loop
    if v_lock <> all (v_want) then
      perform pg_advisory_unlock_shared(7306, v_lock);
    end if;
  end loop;
  foreach v_lock in array v_want loop
    if v_lock <> all (v_have) then
      perform pg_advisory_lock_shared(7306, v_lock);
    end if;
  end loop;
end $$;

--
-- Name: pause(text, text); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.pause(p_queue text, p_label text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '5s'
    AS $$
begin
  perform emq.refuse_new(p_queue, '{}');
  insert into emq.queue (name, paused) values (p_queue, true)
  on conflict on constraint queue_pk do update set paused = true;
  insert into emq.audit (verb, queue, label) values ('pause', p_queue, p_label);
end $$;

--
-- Name: place(uuid); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.place(p_id uuid) RETURNS TABLE(id uuid, place text, queue text, task text, priority integer, attempts integer, stalled integer, failures integer, worker text, enqueued_at timestamp with time zone, since timestamp with time zone, until timestamp with time zone)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
begin
  return query execute
    'select j.id, w.place, j.queue, j.task, j.priority::int, w.attempts, w.stalled, w.failures,
            w.worker, j.enqueued_at, w.since, w.until
       from emq.job j
       cross join lateral (
         select ''active'' as place, a.attempts, a.stalled::int, a.failures::int, a.worker,
                a.claimed_at as since, a.lease_deadline as until, 1 as precedence
           from emq.active a where a.id = j.id
         union all
         select ''pending'', p.attempts, p.stalled, p.failures, null, null, null, 2
           from emq.pending p
          where p.queue = j.queue and p.rank in (j.priority * 2, j.priority * 2 + 1) and p.id = j.id
         union all
         select ''scheduled'', s.attempts, s.stalled, s.failures, null, null, s.run_at, 3
           from emq.scheduled s where s.id = j.id
         union all
         select ''dead'', d.attempts, d.stalled, d.failures, d.worker, d.died_at, null, 4
           from emq.dead d where d.id = j.id
         union all
         select r.status, r.attempts, r.stalled, r.failures, r.worker, r.claimed_at, r.finished_at, 5
           from emq.archive r
          where r.id = $1 and r.finished_at >= $2 and r.finished_at < $3
            and r.finished_at > j.enqueued_at - interval ''1 h''
       ) w
      where j.id = $1
      order by w.precedence
      limit 1'
    using p_id, emq.id_time(p_id) - interval '1 day', clock_timestamp() + interval '1 hour';
end $_$;

--
-- Name: promote(integer); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.promote(p_limit integer DEFAULT 1000) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
declare
  v_n int;
  v_now timestamptz := clock_timestamp();
  v_from timestamptz;
begin
  v_from := coalesce((select case when s.t > v_now then '-infinity' else s.promote_from end
                        from emq.settled s order by s.n desc limit 1), '-infinity');
  with x as materialized (
    select s.ctid as c from emq.scheduled s
     where s.run_at <= v_now and s.run_at >= v_from
     order by s.run_at, s.id limit p_limit
     for update skip locked
  ), d as (
    delete from emq.scheduled s using x where s.ctid = x.c returning s.*
  ), i as (
    insert into emq.pending (id, queue, attempts, lease_ms, rank, stalled, failures)
    select d.id, d.queue, d.attempts, d.lease_ms, d.rank, d.stalled, d.failures
      from d order by d.run_at, d.id
    returning 1
  )
  select count(*) into v_n from i;
  return v_n;
end $$;

--
-- Name: put_back(text, uuid[], bigint[], interval[], text[]); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.put_back(p_verb text, p_ids uuid[], p_fences bigint[], p_delays interval[], p_errors text[]) RETURNS text[]
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
  select emq.hand_back(
    p_verb, array_fill(case p_verb when 'retry' then 'exception' else p_verb end,
                       array[coalesce(cardinality(p_ids), 0)]),
    p_ids, p_fences, p_delays, p_errors)
$$;

--
-- Name: reap(integer); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.reap(p_limit integer DEFAULT 500, OUT recovered integer, OUT dead integer, OUT skipped integer) RETURNS record
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
  select cardinality(w.back), cardinality(w.died), w.skipped from emq.sweep(null, null, p_limit) w
$$;

--
-- Name: reap_one(uuid, bigint, integer); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.reap_one(p_id uuid, p_fence bigint, p_max_stalled integer) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
declare
  v_run emq.active;
begin
  delete from emq.active x where x.id = p_id and x.fence = p_fence returning x.* into v_run;
  return (emq.end_runs(array[v_run], array['stalled'], p_max_stalled => p_max_stalled))[1];
end $$;

--
-- Name: record_refusals(uuid[], bigint[], text[], timestamp with time zone[]); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.record_refusals(p_ids uuid[], p_fences bigint[], p_verbs text[], p_at timestamp with time zone[]) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $_$
declare
  v_from timestamptz;
  n int;
begin
  select min(emq.id_time(u)) - interval '1 day' into v_from from unnest(p_ids) u;
  execute $q$
    insert into emq.refusal (at, id, fence, held, verb, task, queue, worker, attempts, late, overlap)
    select k.at, k.id, k.fence, a.fence, k.verb, j.task, coalesce(t.queue, j.queue), t.worker,
           case when k.fence >> 40 > 0 then (k.fence >> 40)::int end,
           case when t.lease_deadline <= t.ended_at and t.lease_deadline < k.at
                then k.at - t.lease_deadline end,
           case when t.queue is not null and n.claimed_at < k.at
                then greatest(least(k.at, n.ended_at) - n.claimed_at, interval '0') end
      from (select u.id, u.fence, coalesce(u.verb, 'unknown') as verb,
                   coalesce(u.at, clock_timestamp()) as at, emq.id_time(u.id) - interval '1 day' as since
              from unnest($1, $2, $3, $4) as u (id, fence, verb, at)) k
      left join lateral (select y.fence, y.claimed_at from emq.active y where y.id = k.id offset 0) a
             on true
      left join lateral (select y.task, y.queue from emq.job y where y.id = k.id offset 0) j on true
      left join lateral (
        select e.queue, e.worker, e.lease_deadline, e.ended_at, e.how
          from emq.attempt e
         where e.id = k.id and e.fence = k.fence
           and e.ended_at >= $5 and e.ended_at >= k.since and e.ended_at < $6
        union all
        select e.queue, e.worker, e.lease_deadline, e.finished_at, 'completed' from emq.archive e
         where e.id = k.id and e.fence = k.fence
           and e.finished_at >= $5 and e.finished_at >= k.since and e.finished_at < $6
         limit 1) t on true
      left join lateral (
        select y.claimed_at, y.ended_at
          from (select a.fence >> 40 as attempts, a.claimed_at, null::timestamptz as ended_at
                 where a.fence >> 40 > k.fence >> 40
                union all
                select e.fence >> 40, e.claimed_at, e.ended_at from emq.attempt e
                 where e.id = k.id and e.fence >> 40 > k.fence >> 40
                   and e.ended_at >= $5 and e.ended_at >= k.since and e.ended_at < $6
                union all
                select e.attempts, e.claimed_at, e.finished_at from emq.archive e
                 where e.id = k.id and e.attempts > k.fence >> 40 and e.claimed_at is not null
                   and e.finished_at >= $5 and e.finished_at >= k.since and e.finished_at < $6
               ) y order by y.attempts limit 1) n on true
     where t.how is null
        or not (k.verb = 'extend' and t.how in ('completed', 'failed', 'timed out', 'snoozed')
                or k.verb = 'complete' and t.how = 'completed')
  $q$ using p_ids, p_fences, p_verbs, p_at, v_from, clock_timestamp() + interval '1 hour';
  get diagnostics n = row_count;
  return n;
end $_$;

--
-- Name: refuse(uuid[], bigint[], text[], text); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.refuse(p_ids uuid[], p_fences bigint[], p_answers text[], p_verb text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  v_ids uuid[];
  v_fences bigint[];
begin
  select array_agg(k.id), array_agg(k.fence) into v_ids, v_fences
    from unnest(p_ids, p_fences, p_answers) as k (id, fence, answer)
   where k.answer = 'lost' and k.id is not null;
  if v_ids is not null then
    perform emq.record_refusals(
      v_ids, v_fences, array_fill(p_verb, array[cardinality(v_ids)]), null);
  end if;
end $$;

--
-- Name: refuse_new(text, uuid[]); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.refuse_new(p_queue text, p_ids uuid[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
declare
  v uuid;
begin
  if p_queue is null or p_queue !~ '^[a-z0-9][a-z0-9_.:-]{0,62}$' then
    raise exception 'emq: queue name % is outside the grammar', quote_nullable(left(p_queue, 100))
      using errcode = 'EQ006',
            hint = 'Lower-case letters, digits and _ . : - only, at most 63, first a letter or digit.';
  end if;
  select u into v from unnest(p_ids) u where emq.id_time(u) is null limit 1;
  if found then
    raise exception 'emq: job id % is not a UUIDv7', quote_nullable(v::text)
      using errcode = 'EQ002', hint = 'emq.job_id(key, at) makes one from a key.';
  end if;
  select u into v from unnest(p_ids) u
    where emq.id_time(u) > clock_timestamp() + interval '1 day' limit 1;
  if found then
    raise exception 'emq: job id % is dated more than a day ahead', v
      using errcode = 'EQ003',
            hint = 'Look at the clock of the producer, or at the instant given to emq.job_id.';
  end if;
end $_$;

--
-- Name: refuse_settings(jsonb, text[]); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.refuse_settings(p_given jsonb, p_known text[]) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  v text;
begin
  if jsonb_typeof(p_given) is distinct from 'object' then
    raise exception 'emq: an object of names and values is needed, not %',
                    coalesce(jsonb_typeof(p_given), 'null')
      using errcode = 'EQ006', hint = 'Names are: ' || array_to_string(p_known, ', ') || '.';
  end if;
  select k into v from jsonb_object_keys(p_given) k where k <> all (p_known) order by 1 limit 1;
  if found then
    raise exception 'emq: % is no name that is known here', quote_literal(left(v, 100))
      using errcode = 'EQ006', hint = 'Names are: ' || array_to_string(p_known, ', ') || '.';
  end if;
end $$;

--
-- Name: release(uuid[], bigint[]); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.release(p_ids uuid[], p_fences bigint[]) RETURNS text[]
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ select emq.put_back('release', p_ids, p_fences, null, null) $$;

--
-- Name: release_key(text, text); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.release_key(p_key text, p_label text DEFAULT NULL::text) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '5s'
    AS $$
declare
  v_id uuid;
begin
  delete from emq.unique_key u where u.key = p_key returning u.id into v_id;
  if v_id is not null then
    insert into emq.audit (verb, id, label) values ('release_key', v_id, p_label);
  end if;
  return v_id;
end $$;

--
-- Name: release_worker(text, integer, text); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.release_worker(p_worker text, p_limit integer DEFAULT 1000, p_label text DEFAULT NULL::text, OUT released integer, OUT busy integer) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
declare
  v_limit int := greatest(coalesce(p_limit, 1000), 1);
  v_runs emq.active[];
  v_from timestamptz;
begin
  v_from := coalesce((select case when s.t > clock_timestamp() then '-infinity' else s.reap_from end
                        from emq.settled s order by s.n desc limit 1), '-infinity');
  with x as materialized (
    select a.id, a.fence from emq.active a
     where a.lease_deadline >= v_from and a.worker = p_worker
     order by a.lease_deadline limit v_limit
     for update skip locked
  ), d as (  -- by key: follows an extend that committed after the snapshot, where a ctid would not
    delete from emq.active a using x
     where a.id = any (array[x.id]) and a.fence = x.fence
    returning a as run, a.claimed_at, a.id
  )
  select array_agg(d.run order by d.claimed_at, d.id) into v_runs from d;
  released := coalesce(cardinality(v_runs), 0);
  if released > 0 then
    perform emq.end_runs(v_runs, array_fill('release'::text, array[released]));
  end if;
  busy := 0;
  if released < v_limit then
    select count(*) into busy from emq.active a
     where a.lease_deadline >= v_from and a.worker = p_worker;
  end if;
  if released > 0 then
    insert into emq.audit (verb, label, detail)
    values ('release_worker', p_label,
            jsonb_build_object('worker', p_worker, 'released', released, 'busy', busy));
  end if;
end $$;

--
-- Name: replay(uuid, text); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.replay(p_id uuid, p_label text DEFAULT NULL::text) RETURNS text
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ select emq.replay_one(p_id, false, p_label) $$;

--
-- Name: replay_count(jsonb); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.replay_count(p_filter jsonb, OUT at timestamp with time zone, OUT replay bigint, OUT permanent bigint, OUT never bigint, OUT too_old bigint) RETURNS record
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  at := clock_timestamp();
  select count(*) filter (where m.verdict = 'replay'),
         count(*) filter (where m.verdict = 'permanent'),
         count(*) filter (where m.verdict = 'never'), count(*) filter (where m.verdict = 'too old')
    into replay, permanent, never, too_old
    from emq.dead_matching(p_filter, false, null, null) m;
end $$;

--
-- Name: replay_many(jsonb, integer, text, jsonb); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.replay_many(p_filter jsonb, p_limit integer DEFAULT 500, p_label text DEFAULT NULL::text, p_after jsonb DEFAULT NULL::jsonb, OUT replayed integer, OUT permanent integer, OUT never integer, OUT too_old integer, OUT busy integer, OUT queues text[], OUT next jsonb) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
declare
  v_left uuid[];
begin
  with m as materialized (
    select * from emq.dead_matching(p_filter, false, p_limit, p_after)
  ), x as materialized (
    select m.id from m
     cross join lateral (select 1 from emq.dead d where d.id = m.id for update skip locked) l
     where m.verdict = 'replay'
  ), d as (
    delete from emq.dead d using x where d.id = any (array[x.id]) returning d.*
  ), b as (
    insert into emq.pending (id, queue, attempts, lease_ms, rank)
    select d.id, d.queue, d.attempts, j.lease_ms, d.rank | 1
      from d
      left join lateral (select y.lease_ms from emq.job y where y.id = d.id offset 0) j on true
     order by d.died_at, d.id
  ), u as (
    insert into emq.audit (verb, queue, id, label, detail)
    select 'replay', d.queue, d.id, p_label,
           jsonb_build_object('reason', d.reason, 'stalled', d.stalled, 'failures', d.failures)
      from d
  )
  select (select count(*) from d), count(*) filter (where m.verdict = 'permanent'),
         count(*) filter (where m.verdict = 'never'), count(*) filter (where m.verdict = 'too old'),
         array_agg(m.id) filter (where m.verdict = 'replay'
                                   and not m.id = any (array(select d.id from d))),
         coalesce((select array_agg(distinct d.queue) from d), '{}'),
         case when count(*) = p_limit
              then (array_agg(jsonb_build_object('died_at', m.died_at, 'id', m.id)
                              order by m.died_at desc, m.id desc))[1] end
    into replayed, permanent, never, too_old, v_left, queues, next
    from m;
  -- In a newer snapshot: what another replay has taken meanwhile is not here any more.
  select count(*) into busy from emq.dead d where d.id = any (v_left);
end $$;

--
-- Name: replay_one(uuid, boolean, text); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.replay_one(p_id uuid, p_force boolean DEFAULT false, p_label text DEFAULT NULL::text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
declare
  v_verdict text;
  n int;
begin
  select emq.replay_verdict(d.reason, d.died_at, q.replay_within, clock_timestamp(), true)
    into v_verdict
    from emq.dead d
    left join lateral (select y.replay_within from emq.queue y where y.name = d.queue offset 0) q on true
   where d.id = p_id;
  if not found then
    return 'lost';
  end if;
  if v_verdict <> 'replay' and p_force is not true then
    return v_verdict;
  end if;
  with x as materialized (
    select d.id from emq.dead d where d.id = p_id for update skip locked
  ), d as (
    delete from emq.dead d using x where d.id = any (array[x.id]) returning d.*
  ), b as (
    insert into emq.pending (id, queue, attempts, lease_ms, rank)
    select d.id, d.queue, d.attempts, j.lease_ms, d.rank | 1
      from d
      left join lateral (select y.lease_ms from emq.job y where y.id = d.id offset 0) j on true
    returning 1
  ), u as (
    insert into emq.audit (verb, queue, id, label, detail)
    select 'replay', d.queue, d.id, p_label,
           jsonb_build_object('reason', d.reason, 'stalled', d.stalled, 'failures', d.failures)
           || case when v_verdict = 'replay' then '{}' else jsonb_build_object('forced', v_verdict) end
      from d
  )
  select count(*) into n from b;
  if n > 0 then
    return 'done';
  end if;
  perform 1 from emq.dead d where d.id = p_id;
  return case when found then 'busy' else 'lost' end;
end $$;

--
-- Name: replay_verdict(text, timestamp with time zone, interval, timestamp with time zone, boolean); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.replay_verdict(p_reason text, p_died_at timestamp with time zone, p_within interval, p_now timestamp with time zone, p_named boolean) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    AS $$
  select case when p_within = interval '0' then 'never'
              when p_within <= interval '5000 years' and p_died_at < p_now - p_within then 'too old'
              when p_reason in ('permanent', 'expired') and p_named is not true then 'permanent'
              else 'replay' end
$$;

--
-- Name: rest(uuid[], bigint[], uuid[], bigint[], text); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.rest(p_ids uuid[], p_fences bigint[], p_done uuid[], p_donef bigint[], p_verb text) RETURNS text[]
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
declare
  r text[];
  v_arch uuid[];
  v_archf bigint[];
begin
  select array_agg(
           case when (k.id, k.fence) in (select * from unnest(p_done, p_donef)) then 'done'
                when a.fence = k.fence then 'busy'
                else 'lost' end order by k.i)
    into r
    from unnest(p_ids, p_fences) with ordinality as k (id, fence, i)
    left join lateral (select y.fence from emq.active y where y.id = k.id offset 0) a on true;

  if p_verb = 'complete' and 'lost' = any (r) then
    select array_agg(x.id), array_agg(x.fence) into v_arch, v_archf
      from emq.archived((select array_agg(k.id) from unnest(p_ids, r) as k (id, answer)
                          where k.answer = 'lost')) x
     where x.status = 'completed';
    if v_arch is not null then
      select array_agg(
               case when k.answer = 'lost'
                     and (k.id, k.fence) in (select * from unnest(v_arch, v_archf)) then 'done'
                    else k.answer end order by k.i)
        into r
        from unnest(p_ids, p_fences, r) with ordinality as k (id, fence, answer, i);
    end if;
  end if;

  if 'lost' = any (r) then
    perform emq.refuse(p_ids, p_fences, r, p_verb);
  end if;
  return r;
end $$;

--
-- Name: result(uuid); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.result(p_id uuid) RETURNS TABLE(finished_at timestamp with time zone, result jsonb)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $_$
begin
  return query execute
    'select x.finished_at, x.result from emq.archive x
      where x.id = $1 and x.status = ''completed''
        and x.finished_at >= $2 and x.finished_at < $3'
    using p_id, emq.id_time(p_id) - interval '1 day', clock_timestamp() + interval '1 hour';
end $_$;

--
-- Name: resume(text, text); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.resume(p_queue text, p_label text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '5s'
    AS $$
begin
  perform emq.refuse_new(p_queue, '{}');
  update emq.queue set paused = false where name = p_queue;
  insert into emq.audit (verb, queue, label) values ('resume', p_queue, p_label);
end $$;

--
-- Name: retire(date, integer); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.retire(p_day date, p_limit integer DEFAULT 10000, OUT status text, OUT remaining bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '300ms'
    SET "TimeZone" TO 'UTC'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $_$
declare
  v_t text := 'archive_' || to_char(p_day, 'YYYYMMDD');
  s emq.retiring;
  e emq.exported;
  v_n bigint;
  v_upto uuid;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'emq: retire needs READ COMMITTED'
      using errcode = '25001', hint = 'Call it in a transaction of its own.';
  end if;
  if clock_timestamp() < (p_day + 1)::timestamptz + interval '1 hour' then
    status := 'open';
    return;
  end if;
  if to_regclass('emq.' || v_t) is null then
    status := 'none';
    remaining := 0;
    return;
  end if;
  if not pg_try_advisory_xact_lock(7306, 'emq.retiring'::regclass::oid::int) then
    status := 'busy';
    return;
  end if;
  status := emq.export_stands(p_day);
  if status <> 'yes' then
    return;
  end if;

  select x.* into s from emq.retiring x where x.day = p_day;
  if not found then
    execute format('lock table emq.%I in share mode', v_t);  -- whoever wrote it has ended
    execute format('select count(*) from emq.%I', v_t) into v_n;
    insert into emq.retiring (day, total) values (p_day, v_n) returning * into s;
  end if;
  execute format(
    'with c as materialized (
       select a.id, a.finished_at from emq.%I a where a.id > $1 order by a.id limit $2
     ), d as (
       delete from emq.job y using c where y.id = any (array[c.id]) and y.enqueued_at < c.finished_at + interval ''1 h''
     )
     select count(*), (array_agg(c.id order by c.id desc))[1] from c', v_t)
    into v_n, v_upto
    using coalesce(s.upto, '00000000-0000-0000-0000-000000000000'), p_limit;
  update emq.retiring x set upto = coalesce(v_upto, x.upto), done = x.done + v_n
   where x.day = p_day returning * into s;
  remaining := s.total - s.done;
  status := 'more';
  if v_n = p_limit and remaining > 0 then
    return;
  end if;

  begin  -- only the drop is undone when a lock is not had
    execute format('lock table emq.%I in share mode', v_t);
    execute format('select count(*) from emq.%I', v_t) into v_n;
    select x.* into e from emq.exported x where x.day = p_day;
    if found and v_n + e.removed <> e.rows then  -- however it came past the trigger
      update emq.exported x set compared = false where x.day = p_day;
      status := 'late';
      remaining := v_n;
      return;
    end if;
    if v_n <> s.done then  -- a late row: over again, which is safe
      update emq.retiring x set upto = null, done = 0, total = v_n where x.day = p_day;
      remaining := v_n;
      return;
    end if;
    perform set_config('lock_timeout', '100ms', true);
    execute format('drop table emq.%I', v_t);
    delete from emq.retiring x where x.day = p_day;
    delete from emq.day_end x where x.day = p_day;
    if e.day is null then
      delete from emq.export_claim x where x.day = p_day;
    end if;
    update emq.exported x set dropped_at = clock_timestamp(), removed = x.rows where x.day = p_day;
    insert into emq.audit (verb, detail)
    values ('retire', jsonb_build_object('day', p_day, 'rows', v_n, 'export', e.location,
                                         'version', e.version));
    status := 'dropped';
    remaining := 0;
  exception when lock_not_available or deadlock_detected then
    status := 'busy';
  end;
exception when lock_not_available or deadlock_detected then
  status := 'busy';
  remaining := s.total - s.done;
end $_$;

--
-- Name: retry(uuid[], bigint[], interval[], text[]); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.retry(p_ids uuid[], p_fences bigint[], p_delays interval[], p_errors text[]) RETURNS text[]
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ select emq.put_back('retry', p_ids, p_fences, p_delays, p_errors) $$;

--
-- Name: ring(text); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.ring(p_queue text) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ select pg_notify('emq.ring', p_queue) $$;

--
-- Name: ring_parked(text[]); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.ring_parked(p_queues text[]) RETURNS text[]
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  b record;
  v_rung text[] := '{}';
begin
  for b in select distinct x.queue, x.lock from emq.bell_locks(p_queues) x loop
    if pg_try_advisory_lock(7306, b.lock) then
      perform pg_advisory_unlock(7306, b.lock);
    else
      perform pg_notify('emq.ring', b.queue);
      v_rung := v_rung || b.queue;
    end if;
  end loop;
  return v_rung;
end $$;

--
-- Name: search(jsonb, integer); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.search(p_filter jsonb DEFAULT '{}'::jsonb, p_limit integer DEFAULT 100) RETURNS TABLE(id uuid, queue text, task text, status text, worker text, attempts integer, stalled integer, failures integer, enqueued_at timestamp with time zone, claimed_at timestamp with time zone, finished_at timestamp with time zone, error text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS $_$
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
end $_$;

--
-- Name: search_where(jsonb); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.search_where(p_filter jsonb) RETURNS text
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
declare
  k text;
  v jsonb;
  v_text text;
  v_needs text;
  v_part text;
  v_ok boolean;
  v_where text := 'true';
begin
  perform emq.refuse_settings(p_filter, array[
    'id', 'task', 'queue', 'worker', 'status', 'error', 'finished_after', 'finished_before',
    'payload']);
  for k, v in select * from jsonb_each(p_filter) loop
    v_text := v #>> '{}';
    begin
      if k in ('finished_after', 'finished_before') then
        v_needs := 'an instant with its offset, such as 2026-01-31T10:00:00+00:00';
        v_ok := jsonb_typeof(v) = 'string' and v_text::timestamptz is not null
                and v_text ~* ':\d\d(\.\d+)?(z|[+-]\d\d(:?\d\d)?)$';
        v_part := format('a.finished_at %s ($1 ->> %L)::timestamptz',
                         case k when 'finished_after' then '>=' else '<' end, k);
      elsif k = 'payload' then
        v_needs := 'an object, such as {"order_id": 42}';
        v_ok := jsonb_typeof(v) = 'object';
        v_part := 'j.payload @> ($1 -> ''payload'')';
      elsif k = 'error' then
        v_needs := 'a text';
        v_ok := jsonb_typeof(v) = 'string' and v_text <> '';
        v_part :=
          '(a.attempts > 1 or a.status <> ''completed'') and ('
          'exists (select from emq.attempt t'
          ' where t.id = a.id and strpos(t.error, $1 ->> ''error'') > 0'
          ' and t.ended_at >= emq.id_time(a.id) - interval ''1 day'''
          ' and t.ended_at < a.finished_at + interval ''1 hour'')'
          ' or exists (select from emq.audit u where u.id = a.id and u.verb = ''discard'''
          ' and strpos(u.detail ->> ''error'', $1 ->> ''error'') > 0))';
      else
        v_needs := case k when 'id' then 'one or more ids'
                          when 'status' then 'one or more of completed, cancelled, discarded'
                          else 'a text, or an array of texts' end;
        select coalesce(bool_and(
                 jsonb_typeof(x) = 'string'
                 and (k <> 'status' or x #>> '{}' in ('completed', 'cancelled', 'discarded'))
                 and (k <> 'id' or (x #>> '{}')::uuid is not null)), true)
          into v_ok
          from jsonb_array_elements(
                 case jsonb_typeof(v) when 'array' then v else jsonb_build_array(v) end) x;
        v_part := format(
          '%s = any (array(select (x #>> ''{}'')::%s from jsonb_path_query($1, ''$.%s[*]'') x))',
          case k when 'task' then 'j.task' else 'a.' || k end,
          case k when 'id' then 'uuid' else 'text' end, k);
      end if;
    exception when data_exception then
      v_ok := false;
    end;
    if not v_ok then
      raise exception 'emq: % of finished jobs cannot be %', k, left(coalesce(v_text, 'null'), 100)
        using errcode = 'EQ006', hint = format('Give %s.', v_needs);
    end if;
    v_where := v_where || ' and ' || v_part;
  end loop;
  return v_where;
end $_$;

--
-- Name: set_ledger(jsonb, text); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.set_ledger(p_settings jsonb, p_label text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '5s'
    AS $_$
declare
  s jsonb := p_settings;
  v_broken text;
  v_said text;
begin
  perform emq.refuse_settings(s, array['retention', 'audit_retention', 'inbox_retention', 'export_first']);
  if s @? 'strict $.* ? (@.type() == "object" || @.type() == "array")' then
    raise exception using errcode = 'data_exception', message = 'one value is needed for each name';
  end if;
  update emq.meta m set
    retention = case when s ? 'retention'
      then coalesce(emq.finite('retention', (s ->> 'retention')::interval), '30 days')
      else m.retention end,
    audit_retention = case when s ? 'audit_retention'
      then coalesce(emq.finite('audit_retention', (s ->> 'audit_retention')::interval), '1 year')
      else m.audit_retention end,
    inbox_retention = case when s ? 'inbox_retention'
      then coalesce(emq.finite('inbox_retention', (s ->> 'inbox_retention')::interval), '30 days')
      else m.inbox_retention end,
    export_first = case when s ? 'export_first'
      then coalesce((s ->> 'export_first')::boolean, false) else m.export_first end;
  insert into emq.audit (verb, label, detail) values ('configure', p_label, s);
exception when data_exception or check_violation then
  get stacked diagnostics v_broken = constraint_name;
  select obj_description(c.oid, 'pg_constraint') into v_said
    from pg_constraint c
   where c.conname = v_broken and c.conrelid in ('emq.queue'::regclass, 'emq.meta'::regclass);
  raise exception 'emq: a setting of the ledger cannot be: %', coalesce(v_said, sqlerrm)
    using errcode = 'EQ006', hint = 'Look at the settings that were given: ' || s::text;
end $_$;

--
-- Name: set_queue(text, jsonb, text); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.set_queue(p_queue text, p_settings jsonb, p_label text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '5s'
    AS $_$
declare
  s jsonb := p_settings;
  v_broken text;
  v_said text;
begin
  perform emq.refuse_new(p_queue, '{}');
  perform emq.refuse_settings(s, array[
    'lease', 'max_attempts', 'max_stalled', 'max_active', 'retention', 'cancelled_retention',
    'dead_retention', 'replay_within', 'unknown_after', 'quarantine', 'quarantine_after', 'on_dead',
    'on_dead_queue']);
  if s @? 'strict $.* ? (@.type() == "object" || @.type() == "array")' then
    raise exception using errcode = 'data_exception', message = 'one value is needed for each name';
  end if;
  insert into emq.queue (name) values (p_queue) on conflict on constraint queue_pk do nothing;
  update emq.queue q set
    lease = case when s ? 'lease'
      then coalesce(emq.finite('lease', (s ->> 'lease')::interval), '30 s') else q.lease end,
    max_attempts = case when s ? 'max_attempts' then coalesce((s ->> 'max_attempts')::smallint, 25)
                        else q.max_attempts end,
    max_stalled = case when s ? 'max_stalled' then coalesce((s ->> 'max_stalled')::smallint, 3)
                       else q.max_stalled end,
    max_active = case when s ? 'max_active' then (s ->> 'max_active')::int else q.max_active end,
    retention = case when s ? 'retention'
      then emq.finite('retention', (s ->> 'retention')::interval) else q.retention end,
    cancelled_retention = case when s ? 'cancelled_retention'
      then emq.finite('cancelled_retention', (s ->> 'cancelled_retention')::interval)
      else q.cancelled_retention end,
    dead_retention = case when s ? 'dead_retention'
      then emq.finite('dead_retention', (s ->> 'dead_retention')::interval)
      else q.dead_retention end,
    replay_within = case when s ? 'replay_within'
      then emq.finite('replay_within', (s ->> 'replay_within')::interval)
      else q.replay_within end,
    unknown_after = case when s ? 'unknown_after'
      then emq.finite('unknown_after', (s ->> 'unknown_after')::interval)
      else q.unknown_after end,
    quarantine = case when s ? 'quarantine' then s ->> 'quarantine' else q.quarantine end,
    quarantine_after = case when s ? 'quarantine_after' then (s ->> 'quarantine_after')::smallint
                            else q.quarantine_after end,
    on_dead = case when s ? 'on_dead' then s ->> 'on_dead' else q.on_dead end,
    on_dead_queue = case when s ? 'on_dead_queue' then s ->> 'on_dead_queue'
                         else q.on_dead_queue end
   where q.name = p_queue;
  if exists (select from emq.queue q where q.name = p_queue and q.quarantine is not null
               and coalesce(q.quarantine_after, 2) >= q.max_stalled) then
    raise exception using errcode = 'check_violation', constraint = 'queue_quarantine_after_ck',
      message = 'jobs of the queue would be dead before they are lost often enough';
  end if;
  insert into emq.audit (verb, queue, label, detail) values ('configure', p_queue, p_label, s);
exception when data_exception or check_violation then
  get stacked diagnostics v_broken = constraint_name;
  select obj_description(c.oid, 'pg_constraint') into v_said
    from pg_constraint c
   where c.conname = v_broken and c.conrelid in ('emq.queue'::regclass, 'emq.meta'::regclass);
  raise exception 'emq: a setting of the queue % cannot be: %', p_queue, coalesce(v_said, sqlerrm)
    using errcode = 'EQ006', hint = 'Look at the settings that were given: ' || s::text;
end $_$;

--
-- Name: settle(uuid, bigint, text, boolean, jsonb, interval, text); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.settle(p_id uuid, p_fence bigint, p_verb text, p_last boolean, p_result jsonb DEFAULT NULL::jsonb, p_delay interval DEFAULT NULL::interval, p_error text DEFAULT NULL::text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
declare
  v_lease_ms int;
begin
  if p_verb is null or p_verb not in ('complete', 'retry', 'snooze') then
    raise exception 'emq: settle: the verb % is none', coalesce(quote_literal(p_verb), 'null')
      using errcode = 'EQ006', hint = 'complete, retry or snooze.';
  end if;
  select a.lease_ms into v_lease_ms
    from emq.active a where a.id = p_id and a.fence = p_fence for update skip locked;
  if not found then
    perform 1 from emq.active a where a.id = p_id and a.fence = p_fence;
    if found then
      return 'busy';
    end if;
    perform emq.hold(p_id, p_fence);
    return 'done';
  end if;
  perform emq.bound(v_lease_ms, p_last);
  if p_verb = 'complete' then
    return (emq.complete(array[p_id], array[p_fence], array[p_result]))[1];
  end if;
  return (emq.put_back(p_verb, array[p_id], array[p_fence], array[p_delay], array[p_error]))[1];
end $$;

--
-- Name: snooze(uuid[], bigint[], interval[]); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.snooze(p_ids uuid[], p_fences bigint[], p_delays interval[]) RETURNS text[]
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ select emq.put_back('snooze', p_ids, p_fences, p_delays, null) $$;

--
-- Name: sql_stops(uuid[]); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.sql_stops(p_ids uuid[]) RETURNS uuid[]
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
  select coalesce(array_agg(u), '{}') from unnest(p_ids) u
   where exists (
     select from emq.audit a
      where a.id = u and a.verb = 'stop sql'
        and (a.at > clock_timestamp() - interval '1 min'
             or exists (select from emq.audit c
                         where c.id = u and c.verb = 'cancel'
                           and c.at between a.at and a.at + interval '1 min')))
$$;

--
-- Name: stall(uuid[], bigint[], text[]); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.stall(p_ids uuid[], p_fences bigint[], p_errors text[] DEFAULT NULL::text[]) RETURNS text[]
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
  select emq.hand_back(
    'stall', array_fill('stalled'::text, array[coalesce(cardinality(p_ids), 0)]),
    p_ids, p_fences, null, p_errors)
$$;

--
-- Name: stop_sql(uuid, text); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.stop_sql(p_id uuid, p_label text DEFAULT NULL::text) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
  insert into emq.audit (verb, queue, id, label)
  select 'stop sql', j.queue, j.id, p_label from emq.job j where j.id = p_id
$$;

--
-- Name: story(uuid); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.story(p_id uuid) RETURNS TABLE(at timestamp with time zone, event text, attempts integer, worker text, detail text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
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
end $_$;

--
-- Name: sweep(text, integer, integer); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.sweep(p_queue text, p_max_stalled integer, p_limit integer, OUT back uuid[], OUT died uuid[], OUT skipped integer) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
declare
  v_now timestamptz := clock_timestamp();
  v_from timestamptz;
  v_runs emq.active[];
  v_where text[];
  c record;
begin
  v_from := coalesce((select case when s.t > v_now then '-infinity' else s.reap_from end
                        from emq.settled s order by s.n desc limit 1), '-infinity');
  back := '{}';
  died := '{}';
  skipped := 0;
  begin
    with x as materialized (
      select a.ctid as c from emq.active a
       where a.lease_deadline < v_now and a.lease_deadline >= v_from
         and (p_queue is null or a.queue = p_queue)
       order by a.lease_deadline limit p_limit
       for update skip locked
    ), d as (
      delete from emq.active a using x where a.ctid = x.c returning a as run
    )
    select array_agg(d.run order by (d.run).lease_deadline) into v_runs from d;
    if v_runs is not null then
      v_where := emq.end_runs(
        v_runs, array_fill('stalled'::text, array[cardinality(v_runs)]),
        p_max_stalled => p_max_stalled);
      select coalesce(array_agg(k.id) filter (where k.answer <> 'dead'), '{}'),
             coalesce(array_agg(k.id) filter (where k.answer = 'dead'), '{}')
        into back, died
        from unnest(v_runs, v_where) as k (
          id, fence, lease_deadline, claimed_at, attempts, lease_ms, extensions, rank, stalled,
          failures, queue, worker, answer);
    end if;
  exception when data_exception or integrity_constraint_violation or raise_exception then
    back := '{}';
    died := '{}';
    for c in
      select a.id, a.fence from emq.active a
       where a.lease_deadline < v_now and a.lease_deadline >= v_from
         and (p_queue is null or a.queue = p_queue)
       order by a.lease_deadline limit p_limit
       for update skip locked
    loop
      begin
        if emq.reap_one(c.id, c.fence, p_max_stalled) = 'dead' then
          died := died || c.id;
        else
          back := back || c.id;
        end if;
      exception when others then
        skipped := skipped + 1;
      end;
    end loop;
  end;

  if back <> '{}' or died <> '{}' or skipped > 0
     or not exists (select 1 from emq.reap_log l where l.at > v_now - interval '5 s') then
    insert into emq.reap_log (recovered, dead, skipped, who)
    values (cardinality(back), cardinality(died), skipped,
            coalesce(nullif(current_setting('application_name'), ''), session_user::text));
    delete from emq.reap_log l where l.at < v_now - interval '1 day';
  end if;
end $$;

--
-- Name: tag(text, text); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.tag(p_environment text, p_label text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '5s'
    AS $$
begin
  update emq.meta set environment = p_environment;
  insert into emq.audit (verb, label, detail)
  values ('tag', p_label, jsonb_build_object('environment', p_environment));
end $$;

--
-- Name: take_key(text, uuid, text, timestamp with time zone); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.take_key(p_key text, p_id uuid, p_scope text, p_until timestamp with time zone) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
declare
  v emq.unique_key;
begin
  loop
    insert into emq.unique_key (key, id, scope, until, look_at)
    values (p_key, p_id, p_scope, p_until, coalesce(p_until, clock_timestamp() + interval '1 h'))
    on conflict (key) do nothing;
    if found then
      return p_id;
    end if;
    select * into v from emq.unique_key u where u.key = p_key;
    if emq.holds_key(v.id, v.scope, v.until) then
      return v.id;
    end if;
    -- Whoever has taken it since, or takes it now, is another holder: then all is looked at again.
    update emq.unique_key u
       set id = p_id, scope = p_scope, until = p_until,
           look_at = coalesce(p_until, clock_timestamp() + interval '1 h')
     where u.key = p_key and u.id = v.id and u.until is not distinct from v.until;
    if found then
      return p_id;
    end if;
  end loop;
end $$;

--
-- Name: tell_dead(uuid[]); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.tell_dead(p_ids uuid[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  with d as materialized (
    select emq.uuid7() as hook, coalesce(h.on_dead_queue, h.name) as line, h.on_dead, d.*
      from unnest(p_ids) as k (id)
      join emq.dead d on d.id = any (array[k.id])
      left join emq.job j on j.id = any (array[k.id])
      cross join lateral (
        select q.name, q.on_dead, q.on_dead_queue
          from emq.queue q
         where q.on_dead is not null
           and (q.name = d.queue
                or q.quarantine = d.queue
                   and exists (select from emq.attempt t where t.id = d.id and t.queue = q.name))
         order by q.name = d.queue desc, q.name limit 1) h
     where not coalesce(j.headers ? 'emq-on-dead', false)
  ), j as (
    insert into emq.job (id, priority, queue, task, payload, headers)
    select d.hook, 2, d.line, d.on_dead, jsonb_build_object(
             'job_id', d.id, 'queue', d.queue, 'task', d.task, 'reason', d.reason,
             'error', d.error, 'attempts', d.attempts, 'stalled', d.stalled, 'failures', d.failures),
           '{"emq-on-dead": true}'
      from d
  )
  insert into emq.pending (id, queue, rank) select d.hook, d.line, 5 from d;
end $$;

--
-- Name: tidy(integer); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.tidy(p_limit integer DEFAULT 2000, OUT did text, OUT what text, OUT remaining bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '300ms'
    SET "TimeZone" TO 'UTC'
    AS $_$
declare
  v_kind text;
  v_busy text;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'emq: tidy needs READ COMMITTED'
      using errcode = '25001', hint = 'Call it in a transaction of its own.';
  end if;
  if not pg_try_advisory_xact_lock(7308, 'emq.tidying'::regclass::oid::int) then
    did := 'busy';
    return;
  end if;
  foreach v_kind in array array['days', 'queues', 'dead', 'attempts', 'records', 'inbox', 'keys', 'strays'] loop
    begin
      execute format('select t.* from emq.%I($1) t', 'tidy_' || v_kind)
        into did, what, remaining using greatest(p_limit, 1);
    exception
      when lock_not_available then
        did := 'busy';
        what := v_kind;
      when others then
        raise warning 'emq: retention cannot go on with the %: %', v_kind, sqlerrm
          using errcode = sqlstate;
        did := 'busy';
        what := format('%s: %s', v_kind, sqlerrm);
    end;
    if did <> 'busy' then
      return;
    end if;
    v_busy := coalesce(v_busy, case when did = 'busy' then what end);
  end loop;
  did := case when v_busy is null then 'nothing' else 'busy' end;
  what := v_busy;
  remaining := null;
end $_$;

--
-- Name: tidy_attempts(integer); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.tidy_attempts(p_limit integer, OUT did text, OUT what text, OUT remaining bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    SET lock_timeout TO '300ms'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $_$
declare
  v_kept_from timestamptz := emq.kept_from();
  v_n bigint;
  v_gone bigint;
  v_upto uuid;
  v_kept uuid[];
  s emq.tidying;
begin
  select p.name into what
    from emq.days_of('attempt') p
   where p.last <= v_kept_from and p.last <= clock_timestamp() - interval '1 hour'
     and not exists (select from emq.tidying t
                      where t.what = p.name and t.ended_at > clock_timestamp() - interval '1 day')
   order by p.day limit 1;
  if not found then
    if exists (select from emq.tidying t where t.what = 'attempt_default'
                       and t.ended_at > clock_timestamp() - interval '1 day')
       or not exists (select from emq.attempt_default a where a.ended_at < v_kept_from) then
      return;
    end if;
    what := 'attempt_default';
  end if;

  insert into emq.tidying as t (what) values (tidy_attempts.what)
  on conflict on constraint tidying_pk
     do update set ended_at = null, upto = case when t.ended_at is null then t.upto end
  returning * into s;
  execute format(
    'with c as materialized (
       select distinct a.id from emq.%I a where a.id > $1 order by a.id limit $2
     ), d as (
       delete from emq.%I a using c
        where a.id = any (array[c.id]) and a.ended_at < $3
          and not exists (select from emq.job j where j.id = a.id offset 0)
       returning 1
     )
     select count(*), (array_agg(c.id order by c.id desc))[1], (select count(*) from d) from c',
    what, what)
    into v_n, v_upto, v_gone
    using coalesce(s.upto, '00000000-0000-0000-0000-000000000000'), p_limit, v_kept_from;
  update emq.tidying t set upto = coalesce(v_upto, t.upto), gone = t.gone + v_gone
   where t.what = tidy_attempts.what;
  did := case when v_gone > 0 then 'deleted' else 'visited' end;
  if v_n = p_limit then
    return;
  end if;

  if what = 'attempt_default' then
    update emq.tidying t set upto = null, gone = 0, ended_at = clock_timestamp()
     where t.what = 'attempt_default';
    return;
  end if;
  begin
    execute format('lock table emq.%I in share mode', what);  -- whoever wrote it has ended
    execute format('select count(*) from (select from emq.%I limit $1) x', what)
      into v_n using 10 * p_limit + 1;
    if v_n > 10 * p_limit then
      update emq.tidying t set upto = null, gone = 0, ended_at = clock_timestamp()
       where t.what = tidy_attempts.what;
      return;
    end if;
    execute format(  -- before anybody waits for the drop
      'select array(select distinct a.id from emq.%I a
                     where exists (select from emq.job j where j.id = a.id offset 0))', what)
      into v_kept;
    v_n := emq.drop_attempts(what, v_kept);
    insert into emq.audit (verb, label, detail)
    values ('retire', 'retention', jsonb_build_object('attempts', what, 'kept', v_n));
    did := 'dropped';
    remaining := 0;
  exception when lock_not_available then
    if v_gone = 0 then
      did := 'busy';
    end if;
  end;
end $_$;

--
-- Name: tidy_days(integer); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.tidy_days(p_limit integer, OUT did text, OUT what text, OUT remaining bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  v_kept_from timestamptz := emq.kept_from();
  p record;
  v_status text;
begin
  for p in
    select x.day, x.name
      from emq.days_of('archive') x
     where x.last <= v_kept_from
       and (not (select m.export_first from emq.meta m)
            or exists (select from emq.exported e
                        where e.day = x.day and e.verified_at is not null))
       and not exists (select from emq.tidying t
                        where t.what = x.name and t.ended_at > clock_timestamp() - interval '10 min')
     order by 1
  loop
    select r.status, r.remaining into v_status, remaining from emq.retire(p.day, p_limit) r;
    did := case v_status when 'more' then 'retired' when 'dropped' then 'dropped'
                         when 'busy' then 'busy' end;
    if v_status = 'dropped' then
      delete from emq.tidying t where t.what = p.name;
    elsif v_status = 'late' then
      insert into emq.tidying (what, ended_at) values (p.name, clock_timestamp())
      on conflict on constraint tidying_pk do update set ended_at = excluded.ended_at;
    end if;
    if did is not null then
      what := p.name;
      return;
    end if;
  end loop;
end $$;

--
-- Name: tidy_dead(integer); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.tidy_dead(p_limit integer, OUT did text, OUT what text, OUT remaining bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$
declare
  n int;
begin
  with x as materialized (
    select l.id
      from (select q.name, emq.ago(q.dead_retention) as before
              from emq.queue q where q.dead_retention is not null offset 0) q
     cross join lateral (select y.id from emq.dead y
                          where y.queue = q.name and y.died_at < q.before
                          order by y.died_at limit p_limit for update skip locked) l
     limit p_limit
  ), d as (
    delete from emq.dead d using x where d.id = any (array[x.id]) returning d.*
  ), i as (
    insert into emq.archive (id, finished_at, attempts, stalled, failures, status, queue, worker)
    select d.id, clock_timestamp(), d.attempts, d.stalled, d.failures, 'discarded', d.queue, d.worker
      from d
  ), u as (
    insert into emq.audit (verb, queue, id, label, detail)
    select 'discard', d.queue, d.id, 'retention',
           jsonb_build_object('reason', d.reason, 'error', d.error)
      from d
  )
  select count(*) into n from d;
  if n > 0 then
    did := 'discarded';
    what := 'dead';
  end if;
end $$;

--
-- Name: tidy_inbox(integer); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.tidy_inbox(p_limit integer, OUT did text, OUT what text, OUT remaining bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$
declare
  v_before timestamptz;
  n bigint;
begin
  select emq.ago(m.inbox_retention) into v_before from emq.meta m;
  with x as materialized (
    select r.ctid as c from emq.inbox r where r.at < v_before order by r.at limit p_limit
  )
  delete from emq.inbox r using x where r.ctid = x.c;
  get diagnostics n = row_count;
  if n > 0 then
    did := 'deleted';
    what := 'inbox';
  end if;
end $$;

--
-- Name: tidy_keys(integer); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.tidy_keys(p_limit integer, OUT did text, OUT what text, OUT remaining bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$
declare
  v_due text[];
begin
  select array_agg(x.key) into v_due from (
    select u.key from emq.unique_key u
     where u.look_at <= clock_timestamp()
     order by u.look_at limit p_limit
       for update skip locked) x;
  if v_due is null then
    return;
  end if;
  delete from emq.unique_key u
   where u.key = any (v_due) and not emq.holds_key(u.id, u.scope, u.until);
  update emq.unique_key u set look_at = clock_timestamp() + interval '1 h' where u.key = any (v_due);
  did := 'deleted';
  what := 'unique keys';
end $$;

--
-- Name: tidy_marks(timestamp with time zone); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.tidy_marks(p_kept_from timestamp with time zone) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

--
-- Name: tidy_queues(integer); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.tidy_queues(p_limit integer, OUT did text, OUT what text, OUT remaining bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $_$
declare
  v_kept_from timestamptz := emq.kept_from();
  v_day date;
  v_first boolean := false;
  v_stands text;
  v_n bigint;
  v_gone bigint;
  v_upto uuid;
  s emq.tidying;
begin
  if not emq.tidy_marks(v_kept_from) then
    return;
  end if;
  loop
    select min(t.day) into v_day from emq.tidied t;
    if v_day is null then
      v_first := true;
      with t as materialized (
        select x.through, emq.ago(x.retention) as before from emq.tidied x
      )
      select min(p.day) into v_day
        from emq.days_of('archive') p
       where p.last > v_kept_from and p.last <= clock_timestamp() - interval '1 hour'
         and exists (select from t where t.through < p.day and t.before >= p.last
                                     and t.before > v_kept_from);
      if v_day is null then
        return;
      end if;
    end if;
    what := 'archive_' || to_char(v_day, 'YYYYMMDD');
    exit when to_regclass('emq.' || what) is not null;
    update emq.tidied t set through = v_day, day = null where t.day = v_day;  -- it has been dropped
  end loop;

  select t.* into s from emq.tidying t where t.what = tidy_queues.what;
  if s.ended_at > clock_timestamp() - interval '10 min' then
    return;
  end if;
  v_stands := emq.export_stands(v_day);
  if v_stands <> 'yes' then
    if v_stands <> 'busy' then  -- it may have counted the rows, so not again at once
      insert into emq.tidying (what, ended_at) values (tidy_queues.what, clock_timestamp())
      on conflict on constraint tidying_pk do update set ended_at = excluded.ended_at;
    end if;
    return;
  end if;
  if v_first then
    update emq.tidied t set day = v_day
     where t.through < v_day and emq.ago(t.retention) >= (v_day + 1)::timestamptz
       and emq.ago(t.retention) > v_kept_from;
    delete from emq.tidying t where t.what ~ '^archive_\d';  -- a visit that was given up counts not
    insert into emq.tidying (what) values (tidy_queues.what) returning * into s;
  end if;

  execute format(
    'with c as materialized (
       select a.ctid as c, a.id, a.finished_at, a.queue, a.status = ''completed'' as completed
         from emq.%I a where a.id > $1 order by a.id limit $2
     ), m as materialized (
       select c.* from c
         left join lateral (select case when c.completed then y.retention
                                        else y.cancelled_retention end as own
                              from emq.queue y where y.name = c.queue offset 0) q on true
        where exists (select from emq.tidied t
                       where t.day = $3 and t.completed = c.completed
                         and t.queue = case when q.own is null then ''*'' else c.queue end)
     ), d as (
       delete from emq.%I a using m where a.ctid = m.c
     ), j as (
       delete from emq.job y using m
        where y.id = any (array[m.id]) and y.enqueued_at < m.finished_at + interval ''1 h''
     )
     select count(*), (array_agg(c.id order by c.id desc))[1], (select count(*) from m) from c',
    what, what)
    into v_n, v_upto, v_gone
    using coalesce(s.upto, '00000000-0000-0000-0000-000000000000'), p_limit, v_day;
  update emq.exported x set removed = x.removed + v_gone where x.day = v_day and v_gone > 0;
  update emq.tidying t set upto = coalesce(v_upto, t.upto), gone = t.gone + v_gone, ended_at = null
   where t.what = tidy_queues.what returning * into s;
  did := case when v_gone > 0 then 'deleted' else 'visited' end;
  if v_n < p_limit then
    delete from emq.tidying t where t.what = tidy_queues.what;
    update emq.tidied t set through = v_day, day = null where t.day = v_day;
    if s.gone > 0 then
      insert into emq.audit (verb, label, detail)
      values ('tidy', 'retention', jsonb_build_object('day', v_day, 'rows', s.gone));
    end if;
  end if;
end $_$;

--
-- Name: tidy_records(integer); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.tidy_records(p_limit integer, OUT did text, OUT what text, OUT remaining bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $_$
declare
  v_before timestamptz := emq.kept_from();
  n bigint;
begin
  foreach what in array array['refusal', 'late', 'audit'] loop
    if what = 'audit' then
      select emq.ago(m.audit_retention) into v_before from emq.meta m;
    end if;
    execute format(
      'with x as materialized (
         select r.ctid as c from emq.%I r where r.at < $1 order by r.at limit $2
       )
       delete from emq.%I r using x where r.ctid = x.c', what, what)
      using v_before, p_limit;
    get diagnostics n = row_count;
    if n > 0 then
      did := 'deleted';
      return;
    end if;
  end loop;
  what := null;
end $_$;

--
-- Name: tidy_strays(integer); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.tidy_strays(p_limit integer, OUT did text, OUT what text, OUT remaining bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$
declare
  v_closed timestamptz := clock_timestamp() - interval '1 hour';
  v_kept timestamptz;
  v_n bigint;
  v_gone bigint;
  v_upto uuid;
  s emq.tidying;
begin
  perform from emq.archive_default limit 1;
  if not found or (select m.export_first from emq.meta m)
     or exists (select from emq.tidying t where t.what = 'archive_default'
                                  and t.ended_at > clock_timestamp() - interval '1 day') then
    return;
  end if;
  what := 'archive_default';
  select emq.ago(m.retention) into v_kept from emq.meta m;
  insert into emq.tidying as t (what) values ('archive_default')
  on conflict on constraint tidying_pk
     do update set ended_at = null, upto = case when t.ended_at is null then t.upto end
  returning * into s;
  with c as materialized (
    select a.ctid as c, a.id, a.finished_at, a.queue, a.status = 'completed' as completed
      from emq.archive_default a
     where a.id > coalesce(s.upto, '00000000-0000-0000-0000-000000000000') order by a.id limit p_limit
  ), m as materialized (
    select c.* from c
      left join lateral (select emq.ago(case when c.completed then y.retention
                                             else y.cancelled_retention end) as before
                           from emq.queue y where y.name = c.queue offset 0) q on true
     where c.finished_at < least(coalesce(q.before, v_kept), v_closed)
  ), d as (
    delete from emq.archive_default a using m where a.ctid = m.c
  ), j as (
    delete from emq.job y using m
     where y.id = any (array[m.id]) and y.enqueued_at < m.finished_at + interval '1 h'
  )
  select count(*), (array_agg(c.id order by c.id desc))[1], (select count(*) from m)
    into v_n, v_upto, v_gone
    from c;
  update emq.tidying t
     set upto = case when v_n = p_limit then v_upto end, gone = t.gone + v_gone,
         ended_at = case when v_n < p_limit then clock_timestamp() end
   where t.what = 'archive_default';
  did := case when v_gone > 0 then 'deleted' else 'visited' end;
end $$;

--
-- Name: unseat(uuid[], boolean); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.unseat(p_ids uuid[], p_active boolean) RETURNS uuid[]
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $_$
declare
  v_ids uuid[];
  v_added timestamptz[];
  v_from timestamptz;
  v_active uuid[];
  v_dead uuid[];
  v_ended uuid[];
begin
  select array_agg(j.id), array_agg(j.enqueued_at), min(emq.id_time(j.id)) - interval '1 day'
    into v_ids, v_added, v_from
    from (select y.id, y.enqueued_at from emq.job y where y.id = any (p_ids)
           order by y.id for update skip locked) j;
  if v_ids is null then
    return null;
  end if;
  if p_active then
    with x as materialized (
      select a.id from emq.active a where a.id = any (v_ids) order by a.id for update skip locked
    ), d as (
      delete from emq.active a using x where a.id = any (array[x.id]) returning a.id
    )
    select array_agg(d.id) into v_active from d;
  end if;
  with x as materialized (
    select y.id from emq.dead y where y.id = any (v_ids) order by y.id for update skip locked
  ), d as (
    delete from emq.dead y using x where y.id = any (array[x.id]) returning y.id
  )
  select array_agg(d.id) into v_dead from d;
  execute
    'select array_agg(distinct x.id)
       from unnest($1, $2) as k (id, enqueued_at)
       join emq.archive x on x.id = k.id
      where x.finished_at >= $3 and x.finished_at > k.enqueued_at - interval ''1 h'''
    into v_ended using v_ids, v_added, v_from;
  return v_active || v_dead || v_ended;
end $_$;

--
-- Name: uuid7(); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.uuid7() RETURNS uuid
    LANGUAGE sql
    AS $$ select pg_catalog.uuidv7() $$;

--
-- Name: withdraw(text, integer, boolean, jsonb); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.withdraw(p_queue text, p_limit integer, p_scheduled boolean, p_after jsonb) RETURNS TABLE(id uuid, attempts integer, stalled smallint, failures smallint, at jsonb)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
declare
  v_rank int := coalesce((p_after ->> 'rank')::int, 0);
  v_ord bigint := coalesce((p_after ->> 'ord')::bigint, 0);
  v_run_at timestamptz := coalesce((p_after ->> 'run_at')::timestamptz, '-infinity');
  v_id uuid := coalesce((p_after ->> 'id')::uuid, '00000000-0000-0000-0000-000000000000');
  n int := 0;
begin
  if not coalesce(p_after ? 'run_at', false) then
    return query
    with x as materialized (
      select l.*
        from generate_series(v_rank, 9) as r (rank)
        cross join lateral (
          select p.ctid as c, p.id, p.rank, p.ord, p.attempts, p.stalled, p.failures
            from emq.pending p
           where p.queue = p_queue and p.rank = r.rank::smallint
             and p.ord > case when r.rank = v_rank then v_ord else 0 end
           order by p.ord limit p_limit
           for update skip locked) l
       limit p_limit
    ), d as (
      delete from emq.pending p using x where p.ctid = x.c
    )
    select x.id, x.attempts, x.stalled, x.failures,
           jsonb_build_object('rank', x.rank, 'ord', x.ord)
      from x order by x.rank, x.ord;
    get diagnostics n = row_count;
  end if;
  if p_scheduled and n < p_limit then
    return query
    with x as materialized (
      select s.ctid as c, s.id, s.run_at, s.attempts, s.stalled, s.failures
        from emq.scheduled s
       where s.queue = p_queue and (s.run_at, s.id) > (v_run_at, v_id)
       order by s.run_at, s.id limit p_limit - n
       for update skip locked
    ), d as (
      delete from emq.scheduled s using x where s.ctid = x.c
    )
    select x.id, x.attempts, x.stalled, x.failures,
           jsonb_build_object('run_at', x.run_at, 'id', x.id)
      from x order by x.run_at, x.id;
  end if;
end $$;

--
-- Name: worker_gone(text); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.worker_gone(p_name text) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ delete from emq.worker w where w.name = p_name $$;

--
-- Name: worker_seen(text, text[], integer, text); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.worker_seen(p_name text, p_queues text[], p_slots integer, p_version text) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
  insert into emq.worker (name, queues, slots, version)
  values (p_name, p_queues, p_slots, p_version)
  on conflict on constraint worker_pk do update
    set seen_at = clock_timestamp(), queues = excluded.queues, slots = excluded.slots
$$;

--
-- Name: archive; Type: TABLE; Schema: emq; Owner: -
--

CREATE TABLE emq.archive (
    id uuid NOT NULL,
    fence bigint,
    finished_at timestamp with time zone NOT NULL,
    claimed_at timestamp with time zone,
    attempts integer NOT NULL,
    stalled smallint NOT NULL,
    failures smallint NOT NULL,
    status text NOT NULL,
    queue text NOT NULL COLLATE pg_catalog."C",
    worker text,
    result jsonb,
    lease_deadline timestamp with time zone,
    CONSTRAINT archive_status_ck CHECK (((status = ANY (ARRAY['completed'::text, 'cancelled'::text, 'discarded'::text])) AND ((fence IS NOT NULL) = (status = 'completed'::text))))
)
PARTITION BY RANGE (finished_at);

--
-- Name: archive_default; Type: TABLE; Schema: emq; Owner: -
--

CREATE TABLE emq.archive_default (
    id uuid CONSTRAINT archive_id_not_null NOT NULL,
    fence bigint,
    finished_at timestamp with time zone CONSTRAINT archive_finished_at_not_null NOT NULL,
    claimed_at timestamp with time zone,
    attempts integer CONSTRAINT archive_attempts_not_null NOT NULL,
    stalled smallint CONSTRAINT archive_stalled_not_null NOT NULL,
    failures smallint CONSTRAINT archive_failures_not_null NOT NULL,
    status text CONSTRAINT archive_status_not_null NOT NULL,
    queue text CONSTRAINT archive_queue_not_null NOT NULL COLLATE pg_catalog."C",
    worker text,
    result jsonb,
    lease_deadline timestamp with time zone,
    CONSTRAINT archive_status_ck CHECK (((status = ANY (ARRAY['completed'::text, 'cancelled'::text, 'discarded'::text])) AND ((fence IS NOT NULL) = (status = 'completed'::text))))
);

ALTER TABLE ONLY emq.archive_default REPLICA IDENTITY FULL;

--
-- Name: attempt; Type: TABLE; Schema: emq; Owner: -
--

CREATE TABLE emq.attempt (
    id uuid NOT NULL,
    fence bigint NOT NULL,
    ended_at timestamp with time zone NOT NULL,
    claimed_at timestamp with time zone NOT NULL,
    lease_deadline timestamp with time zone NOT NULL,
    extensions integer NOT NULL,
    how text NOT NULL,
    queue text NOT NULL COLLATE pg_catalog."C",
    worker text NOT NULL,
    error text
)
PARTITION BY RANGE (ended_at);

--
-- Name: attempt_default; Type: TABLE; Schema: emq; Owner: -
--

CREATE TABLE emq.attempt_default (
    id uuid CONSTRAINT attempt_id_not_null NOT NULL,
    fence bigint CONSTRAINT attempt_fence_not_null NOT NULL,
    ended_at timestamp with time zone CONSTRAINT attempt_ended_at_not_null NOT NULL,
    claimed_at timestamp with time zone CONSTRAINT attempt_claimed_at_not_null NOT NULL,
    lease_deadline timestamp with time zone CONSTRAINT attempt_lease_deadline_not_null NOT NULL,
    extensions integer CONSTRAINT attempt_extensions_not_null NOT NULL,
    how text CONSTRAINT attempt_how_not_null NOT NULL,
    queue text CONSTRAINT attempt_queue_not_null NOT NULL COLLATE pg_catalog."C",
    worker text CONSTRAINT attempt_worker_not_null NOT NULL,
    error text
);

ALTER TABLE ONLY emq.attempt_default REPLICA IDENTITY FULL;

--
-- Name: audit; Type: TABLE; Schema: emq; Owner: -
--

CREATE TABLE emq.audit (
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    verb text NOT NULL,
    queue text COLLATE pg_catalog."C",
    id uuid,
    who text DEFAULT SESSION_USER NOT NULL,
    label text,
    detail jsonb
);

ALTER TABLE ONLY emq.audit REPLICA IDENTITY FULL;

--
-- Name: day_end; Type: TABLE; Schema: emq; Owner: -
--

CREATE TABLE emq.day_end (
    day date NOT NULL,
    xid xid8 NOT NULL,
    noted_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

--
-- Name: dead; Type: TABLE; Schema: emq; Owner: -
--

CREATE TABLE emq.dead (
    id uuid NOT NULL,
    died_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    fence bigint,
    attempts integer NOT NULL,
    rank smallint NOT NULL,
    stalled smallint NOT NULL,
    failures smallint NOT NULL,
    queue text NOT NULL COLLATE pg_catalog."C",
    reason text NOT NULL,
    error text,
    task text,
    worker text,
    fingerprint text
);

--
-- Name: job; Type: TABLE; Schema: emq; Owner: -
--

CREATE TABLE emq.job (
    id uuid NOT NULL,
    enqueued_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    lease_ms integer,
    priority smallint NOT NULL,
    max_attempts smallint,
    queue text NOT NULL COLLATE pg_catalog."C",
    task text NOT NULL,
    payload jsonb NOT NULL,
    headers jsonb,
    CONSTRAINT job_headers_ck CHECK ((jsonb_typeof(headers) = 'object'::text)),
    CONSTRAINT job_lease_ck CHECK (((lease_ms >= 200) AND (lease_ms <= 86400000))),
    CONSTRAINT job_max_attempts_ck CHECK ((max_attempts > 0)),
    CONSTRAINT job_payload_ck CHECK ((jsonb_typeof(payload) = 'object'::text)),
    CONSTRAINT job_priority_ck CHECK (((priority >= 0) AND (priority <= 4))),
    CONSTRAINT job_task_ck CHECK (((length(task) >= 1) AND (length(task) <= 200)))
);

--
-- Name: ord_seq; Type: SEQUENCE; Schema: emq; Owner: -
--

CREATE SEQUENCE emq.ord_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

--
-- Name: pending; Type: TABLE; Schema: emq; Owner: -
--

CREATE TABLE emq.pending (
    ord bigint DEFAULT 
CASE
    WHEN (pg_current_xact_id() IS NOT NULL) THEN nextval('emq.ord_seq'::regclass)
    ELSE NULL::bigint
END NOT NULL,
    id uuid NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    lease_ms integer,
    rank smallint NOT NULL,
    stalled smallint DEFAULT 0 NOT NULL,
    failures smallint DEFAULT 0 NOT NULL,
    queue text NOT NULL COLLATE pg_catalog."C"
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='10000', autovacuum_vacuum_cost_delay='0', autovacuum_analyze_scale_factor='0', autovacuum_analyze_threshold='1000000000');

--
-- Name: queue; Type: TABLE; Schema: emq; Owner: -
--

CREATE TABLE emq.queue (
    name text NOT NULL COLLATE pg_catalog."C",
    paused boolean DEFAULT false NOT NULL,
    lease interval DEFAULT '00:00:30'::interval NOT NULL,
    max_attempts smallint DEFAULT 25 NOT NULL,
    max_stalled smallint DEFAULT 3 NOT NULL,
    retention interval,
    max_active integer,
    cancelled_retention interval,
    dead_retention interval,
    replay_within interval,
    unknown_after interval,
    quarantine text COLLATE pg_catalog."C",
    quarantine_after smallint,
    on_dead text,
    on_dead_queue text COLLATE pg_catalog."C",
    CONSTRAINT queue_cancelled_retention_ck CHECK ((cancelled_retention > '00:00:00'::interval)),
    CONSTRAINT queue_dead_retention_ck CHECK ((dead_retention > '00:00:00'::interval)),
    CONSTRAINT queue_lease_ck CHECK (((lease >= '00:00:00.2'::interval) AND (lease <= '1 day'::interval))),
    CONSTRAINT queue_max_active_ck CHECK ((max_active > 0)),
    CONSTRAINT queue_max_attempts_ck CHECK ((max_attempts > 0)),
    CONSTRAINT queue_max_stalled_ck CHECK ((max_stalled > 0)),
    CONSTRAINT queue_name_ck CHECK ((name ~ '^[a-z0-9][a-z0-9_.:-]{0,62}$'::text)),
    CONSTRAINT queue_on_dead_ck CHECK (((length(on_dead) >= 1) AND (length(on_dead) <= 200))),
    CONSTRAINT queue_on_dead_queue_ck CHECK ((on_dead_queue ~ '^[a-z0-9][a-z0-9_.:-]{0,62}$'::text)),
    CONSTRAINT queue_quarantine_after_ck CHECK ((quarantine_after > 0)),
    CONSTRAINT queue_quarantine_ck CHECK (((quarantine ~ '^[a-z0-9][a-z0-9_.:-]{0,62}$'::text) AND (quarantine <> name))),
    CONSTRAINT queue_replay_within_ck CHECK ((replay_within >= '00:00:00'::interval)),
    CONSTRAINT queue_retention_ck CHECK ((retention > '00:00:00'::interval)),
    CONSTRAINT queue_unknown_after_ck CHECK ((unknown_after > '00:00:00'::interval))
);

--
-- Name: CONSTRAINT queue_cancelled_retention_ck ON queue; Type: COMMENT; Schema: emq; Owner: -
--

COMMENT ON CONSTRAINT queue_cancelled_retention_ck ON emq.queue IS 'cancelled_retention is more than nothing';

--
-- Name: CONSTRAINT queue_dead_retention_ck ON queue; Type: COMMENT; Schema: emq; Owner: -
--

COMMENT ON CONSTRAINT queue_dead_retention_ck ON emq.queue IS 'dead_retention is more than nothing';

--
-- Name: CONSTRAINT queue_lease_ck ON queue; Type: COMMENT; Schema: emq; Owner: -
--

COMMENT ON CONSTRAINT queue_lease_ck ON emq.queue IS 'lease is 200 ms to 1 day';

--
-- Name: CONSTRAINT queue_max_active_ck ON queue; Type: COMMENT; Schema: emq; Owner: -
--

COMMENT ON CONSTRAINT queue_max_active_ck ON emq.queue IS 'max_active is 1 or more';

--
-- Name: CONSTRAINT queue_max_attempts_ck ON queue; Type: COMMENT; Schema: emq; Owner: -
--

COMMENT ON CONSTRAINT queue_max_attempts_ck ON emq.queue IS 'max_attempts is 1 to 32767';

--
-- Name: CONSTRAINT queue_max_stalled_ck ON queue; Type: COMMENT; Schema: emq; Owner: -
--

COMMENT ON CONSTRAINT queue_max_stalled_ck ON emq.queue IS 'max_stalled is 1 to 32767';

--
-- Name: CONSTRAINT queue_on_dead_ck ON queue; Type: COMMENT; Schema: emq; Owner: -
--

COMMENT ON CONSTRAINT queue_on_dead_ck ON emq.queue IS 'on_dead is the name of a task, 1 to 200 characters';

--
-- Name: CONSTRAINT queue_on_dead_queue_ck ON queue; Type: COMMENT; Schema: emq; Owner: -
--

COMMENT ON CONSTRAINT queue_on_dead_queue_ck ON emq.queue IS 'on_dead_queue is the name of a queue: lower-case letters, digits and _ . : -';

--
-- Name: CONSTRAINT queue_quarantine_after_ck ON queue; Type: COMMENT; Schema: emq; Owner: -
--

COMMENT ON CONSTRAINT queue_quarantine_after_ck ON emq.queue IS 'quarantine_after is 1 to 32767, and less than max_stalled';

--
-- Name: CONSTRAINT queue_quarantine_ck ON queue; Type: COMMENT; Schema: emq; Owner: -
--

COMMENT ON CONSTRAINT queue_quarantine_ck ON emq.queue IS 'quarantine is the name of another queue: lower-case letters, digits and _ . : -';

--
-- Name: CONSTRAINT queue_replay_within_ck ON queue; Type: COMMENT; Schema: emq; Owner: -
--

COMMENT ON CONSTRAINT queue_replay_within_ck ON emq.queue IS 'replay_within is 0 (never) or more';

--
-- Name: CONSTRAINT queue_retention_ck ON queue; Type: COMMENT; Schema: emq; Owner: -
--

COMMENT ON CONSTRAINT queue_retention_ck ON emq.queue IS 'retention is more than nothing';

--
-- Name: CONSTRAINT queue_unknown_after_ck ON queue; Type: COMMENT; Schema: emq; Owner: -
--

COMMENT ON CONSTRAINT queue_unknown_after_ck ON emq.queue IS 'unknown_after is more than nothing';

--
-- Name: scheduled; Type: TABLE; Schema: emq; Owner: -
--

CREATE TABLE emq.scheduled (
    run_at timestamp with time zone NOT NULL,
    id uuid NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    lease_ms integer,
    rank smallint NOT NULL,
    stalled smallint DEFAULT 0 NOT NULL,
    failures smallint DEFAULT 0 NOT NULL,
    queue text NOT NULL COLLATE pg_catalog."C"
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='10000', autovacuum_vacuum_cost_delay='0', autovacuum_analyze_scale_factor='0', autovacuum_analyze_threshold='1000000000');

--
-- Name: depth; Type: VIEW; Schema: emq; Owner: -
--

CREATE VIEW emq.depth AS
 WITH n AS (
         SELECT pending.queue,
            count(*) AS pending,
            (0)::bigint AS scheduled,
            (0)::bigint AS active,
            (0)::bigint AS expired,
            (0)::bigint AS dead
           FROM emq.pending
          GROUP BY pending.queue
        UNION ALL
         SELECT scheduled.queue,
            0,
            count(*) AS count,
            0,
            0,
            0
           FROM emq.scheduled
          GROUP BY scheduled.queue
        UNION ALL
         SELECT active.queue,
            0,
            0,
            count(*) AS count,
            count(*) FILTER (WHERE (active.lease_deadline < clock_timestamp())) AS count,
            0
           FROM emq.active
          GROUP BY active.queue
        UNION ALL
         SELECT dead.queue,
            0,
            0,
            0,
            0,
            count(*) AS count
           FROM emq.dead
          GROUP BY dead.queue
        UNION ALL
         SELECT queue.name,
            0,
            0,
            0,
            0,
            0
           FROM emq.queue
        )
 SELECT n.queue,
    COALESCE(bool_or(q.paused), false) AS paused,
    (sum(n.pending))::bigint AS pending,
    (sum(n.scheduled))::bigint AS scheduled,
    (sum(n.active))::bigint AS active,
    (sum(n.expired))::bigint AS expired,
    (sum(n.dead))::bigint AS dead,
    (EXTRACT(epoch FROM (clock_timestamp() - ( SELECT min(h.enqueued_at) AS min
           FROM (generate_series(0, 9) r(rank)
             CROSS JOIN LATERAL ( SELECT j.enqueued_at
                   FROM (( SELECT p_1.id
                           FROM emq.pending p_1
                          WHERE ((p_1.queue = n.queue) AND (p_1.rank = (r.rank)::smallint))
                          ORDER BY p_1.ord
                         LIMIT 1) p
                     JOIN emq.job j ON ((j.id = p.id)))) h)))))::double precision AS oldest_seconds
   FROM (n
     LEFT JOIN emq.queue q ON ((q.name = n.queue)))
  GROUP BY n.queue;

--
-- Name: export_claim; Type: TABLE; Schema: emq; Owner: -
--

CREATE TABLE emq.export_claim (
    day date NOT NULL,
    series uuid DEFAULT gen_random_uuid() NOT NULL,
    version integer,
    fence bigint,
    session bigint,
    seen_at timestamp with time zone,
    who text
);

--
-- Name: export_part; Type: TABLE; Schema: emq; Owner: -
--

CREATE TABLE emq.export_part (
    day date NOT NULL,
    version integer NOT NULL,
    part integer NOT NULL,
    rows bigint NOT NULL,
    bytes bigint NOT NULL,
    min_id uuid NOT NULL,
    max_id uuid NOT NULL,
    max_at timestamp with time zone NOT NULL,
    checksum text NOT NULL,
    location text NOT NULL,
    path text NOT NULL,
    written_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT export_part_checksum_ck CHECK ((checksum ~ '^[0-9a-f]{64}$'::text)),
    CONSTRAINT export_part_part_ck CHECK ((part >= 0)),
    CONSTRAINT export_part_rows_ck CHECK ((rows > 0)),
    CONSTRAINT export_part_version_ck CHECK ((version > 0))
);

--
-- Name: exported; Type: TABLE; Schema: emq; Owner: -
--

CREATE TABLE emq.exported (
    day date NOT NULL,
    version integer NOT NULL,
    parts integer NOT NULL,
    rows bigint NOT NULL,
    bytes bigint NOT NULL,
    min_id uuid,
    max_id uuid,
    checksum text NOT NULL,
    location text NOT NULL,
    schema_version integer NOT NULL,
    verified_at timestamp with time zone,
    removed bigint DEFAULT 0 NOT NULL,
    compared boolean DEFAULT false NOT NULL,
    retiring_since timestamp with time zone,
    dropped_at timestamp with time zone,
    who text DEFAULT SESSION_USER NOT NULL,
    CONSTRAINT exported_checksum_ck CHECK ((checksum ~ '^[0-9a-f]{64}$'::text))
);

--
-- Name: inbox; Type: TABLE; Schema: emq; Owner: -
--

CREATE TABLE emq.inbox (
    key text NOT NULL COLLATE pg_catalog."C",
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    id uuid NOT NULL,
    fence bigint NOT NULL,
    CONSTRAINT inbox_key_ck CHECK (((length(key) >= 1) AND (length(key) <= 500)))
);

--
-- Name: late; Type: TABLE; Schema: emq; Owner: -
--

CREATE TABLE emq.late (
    n bigint NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    id uuid NOT NULL,
    fence bigint NOT NULL,
    lease_deadline timestamp with time zone NOT NULL
);

--
-- Name: late_n_seq; Type: SEQUENCE; Schema: emq; Owner: -
--

ALTER TABLE emq.late ALTER COLUMN n ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME emq.late_n_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: ledger; Type: VIEW; Schema: emq; Owner: -
--

CREATE VIEW emq.ledger AS
 SELECT a.id,
    a.queue,
    j.task,
    a.worker,
    a.attempts,
    a.stalled,
    a.failures,
    a.claimed_at,
    a.lease_deadline,
    (EXTRACT(epoch FROM (clock_timestamp() - a.claimed_at)))::double precision AS running_seconds,
    (EXTRACT(epoch FROM (a.lease_deadline - clock_timestamp())))::double precision AS seconds_left,
    a.extensions,
        CASE
            WHEN (a.lease_deadline < clock_timestamp()) THEN 'expired'::text
            ELSE 'held'::text
        END AS lease_state
   FROM (emq.active a
     JOIN emq.job j ON ((j.id = a.id)));

--
-- Name: meta; Type: TABLE; Schema: emq; Owner: -
--

CREATE TABLE emq.meta (
    one boolean DEFAULT true NOT NULL,
    version integer DEFAULT 0 NOT NULL,
    ledger_id uuid DEFAULT gen_random_uuid() NOT NULL,
    environment text,
    installed_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    upgraded_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    retention interval DEFAULT '30 days'::interval NOT NULL,
    audit_retention interval DEFAULT '1 year'::interval NOT NULL,
    export_first boolean DEFAULT false NOT NULL,
    home text,
    inbox_retention interval DEFAULT '30 days'::interval NOT NULL,
    CONSTRAINT meta_audit_retention_ck CHECK ((audit_retention >= '1 day'::interval)),
    CONSTRAINT meta_inbox_retention_ck CHECK ((inbox_retention >= '01:00:00'::interval)),
    CONSTRAINT meta_one_ck CHECK (one),
    CONSTRAINT meta_retention_ck CHECK ((retention >= '01:00:00'::interval))
);

--
-- Name: CONSTRAINT meta_audit_retention_ck ON meta; Type: COMMENT; Schema: emq; Owner: -
--

COMMENT ON CONSTRAINT meta_audit_retention_ck ON emq.meta IS 'audit_retention is 1 day or more';

--
-- Name: CONSTRAINT meta_inbox_retention_ck ON meta; Type: COMMENT; Schema: emq; Owner: -
--

COMMENT ON CONSTRAINT meta_inbox_retention_ck ON emq.meta IS 'inbox_retention is 1 hour or more';

--
-- Name: CONSTRAINT meta_retention_ck ON meta; Type: COMMENT; Schema: emq; Owner: -
--

COMMENT ON CONSTRAINT meta_retention_ck ON emq.meta IS 'retention is 1 hour or more';

--
-- Name: misplaced; Type: VIEW; Schema: emq; Owner: -
--

CREATE VIEW emq.misplaced AS
 WITH p AS (
         SELECT pending.id,
            NULL::timestamp with time zone AS at
           FROM emq.pending
        UNION ALL
         SELECT active.id,
            NULL::timestamp with time zone
           FROM emq.active
        UNION ALL
         SELECT scheduled.id,
            NULL::timestamp with time zone
           FROM emq.scheduled
        UNION ALL
         SELECT dead.id,
            NULL::timestamp with time zone
           FROM emq.dead
        UNION ALL
         SELECT archive.id,
            archive.finished_at
           FROM emq.archive
        )
 SELECT j.id,
    count(p.id) AS places
   FROM (emq.job j
     LEFT JOIN p ON (((p.id = j.id) AND (COALESCE(p.at, 'infinity'::timestamp with time zone) > (j.enqueued_at - '01:00:00'::interval)))))
  GROUP BY j.id
 HAVING (count(p.id) <> 1)
UNION ALL
 SELECT p.id,
    '-1'::integer AS places
   FROM p
  WHERE ((p.at IS NULL) AND (NOT (EXISTS ( SELECT 1
           FROM emq.job j
          WHERE (j.id = p.id)))));

--
-- Name: reap_log; Type: TABLE; Schema: emq; Owner: -
--

CREATE TABLE emq.reap_log (
    n bigint NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    recovered integer NOT NULL,
    dead integer NOT NULL,
    skipped integer NOT NULL,
    who text NOT NULL
);

--
-- Name: reap_log_n_seq; Type: SEQUENCE; Schema: emq; Owner: -
--

ALTER TABLE emq.reap_log ALTER COLUMN n ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME emq.reap_log_n_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: refusal; Type: TABLE; Schema: emq; Owner: -
--

CREATE TABLE emq.refusal (
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    id uuid NOT NULL,
    fence bigint,
    held bigint,
    verb text NOT NULL,
    task text,
    queue text COLLATE pg_catalog."C",
    worker text,
    attempts integer,
    late interval,
    overlap interval
);

ALTER TABLE ONLY emq.refusal REPLICA IDENTITY FULL;

--
-- Name: retiring; Type: TABLE; Schema: emq; Owner: -
--

CREATE TABLE emq.retiring (
    day date NOT NULL,
    upto uuid,
    done bigint DEFAULT 0 NOT NULL,
    total bigint NOT NULL
);

--
-- Name: settled; Type: TABLE; Schema: emq; Owner: -
--

CREATE TABLE emq.settled (
    n bigint NOT NULL,
    w bigint DEFAULT 0 NOT NULL,
    t timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    reap_from timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    promote_from timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    cand_w bigint,
    cand_t timestamp with time zone,
    holders text[],
    at timestamp with time zone DEFAULT clock_timestamp()
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000');

--
-- Name: settled_n_seq; Type: SEQUENCE; Schema: emq; Owner: -
--

ALTER TABLE emq.settled ALTER COLUMN n ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME emq.settled_n_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: tidied; Type: TABLE; Schema: emq; Owner: -
--

CREATE TABLE emq.tidied (
    queue text NOT NULL COLLATE pg_catalog."C",
    completed boolean NOT NULL,
    retention interval NOT NULL,
    through date DEFAULT '-infinity'::date NOT NULL,
    day date
);

--
-- Name: tidying; Type: TABLE; Schema: emq; Owner: -
--

CREATE TABLE emq.tidying (
    what text NOT NULL COLLATE pg_catalog."C",
    upto uuid,
    gone bigint DEFAULT 0 NOT NULL,
    ended_at timestamp with time zone
);

--
-- Name: unique_key; Type: TABLE; Schema: emq; Owner: -
--

CREATE TABLE emq.unique_key (
    key text NOT NULL COLLATE pg_catalog."C",
    id uuid NOT NULL,
    scope text NOT NULL,
    until timestamp with time zone,
    look_at timestamp with time zone NOT NULL,
    CONSTRAINT unique_key_ck CHECK (((length(key) >= 1) AND (length(key) <= 500))),
    CONSTRAINT unique_key_scope_ck CHECK ((scope = ANY (ARRAY['waiting'::text, 'unfinished'::text, 'until'::text]))),
    CONSTRAINT unique_key_until_ck CHECK (((scope = 'until'::text) = (until IS NOT NULL)))
);

--
-- Name: worker; Type: TABLE; Schema: emq; Owner: -
--

CREATE TABLE emq.worker (
    name text NOT NULL,
    started_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    seen_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    queues text[] NOT NULL,
    slots integer NOT NULL,
    version text NOT NULL
);

--
-- Name: archive_default; Type: TABLE ATTACH; Schema: emq; Owner: -
--

ALTER TABLE ONLY emq.archive ATTACH PARTITION emq.archive_default DEFAULT;

--
-- Name: attempt_default; Type: TABLE ATTACH; Schema: emq; Owner: -
--

ALTER TABLE ONLY emq.attempt ATTACH PARTITION emq.attempt_default DEFAULT;

--
-- Name: active active_pk; Type: CONSTRAINT; Schema: emq; Owner: -
--

ALTER TABLE ONLY emq.active
    ADD CONSTRAINT active_pk PRIMARY KEY (id);

--
-- Name: day_end day_end_pk; Type: CONSTRAINT; Schema: emq; Owner: -
--

ALTER TABLE ONLY emq.day_end
    ADD CONSTRAINT day_end_pk PRIMARY KEY (day);

--
-- Name: dead dead_pk; Type: CONSTRAINT; Schema: emq; Owner: -
--

ALTER TABLE ONLY emq.dead
    ADD CONSTRAINT dead_pk PRIMARY KEY (id);

--
-- Name: export_claim export_claim_pk; Type: CONSTRAINT; Schema: emq; Owner: -
--

ALTER TABLE ONLY emq.export_claim
    ADD CONSTRAINT export_claim_pk PRIMARY KEY (day);

--
-- Name: export_part export_part_pk; Type: CONSTRAINT; Schema: emq; Owner: -
--

ALTER TABLE ONLY emq.export_part
    ADD CONSTRAINT export_part_pk PRIMARY KEY (day, version, part);

--
-- Name: exported exported_pk; Type: CONSTRAINT; Schema: emq; Owner: -
--

ALTER TABLE ONLY emq.exported
    ADD CONSTRAINT exported_pk PRIMARY KEY (day);

--
-- Name: inbox inbox_pk; Type: CONSTRAINT; Schema: emq; Owner: -
--

ALTER TABLE ONLY emq.inbox
    ADD CONSTRAINT inbox_pk PRIMARY KEY (key);

--
-- Name: job job_pk; Type: CONSTRAINT; Schema: emq; Owner: -
--

ALTER TABLE ONLY emq.job
    ADD CONSTRAINT job_pk PRIMARY KEY (id);

--
-- Name: late late_pk; Type: CONSTRAINT; Schema: emq; Owner: -
--

ALTER TABLE ONLY emq.late
    ADD CONSTRAINT late_pk PRIMARY KEY (n);

--
-- Name: meta meta_pk; Type: CONSTRAINT; Schema: emq; Owner: -
--

ALTER TABLE ONLY emq.meta
    ADD CONSTRAINT meta_pk PRIMARY KEY (one);

--
-- Name: pending pending_pk; Type: CONSTRAINT; Schema: emq; Owner: -
--

ALTER TABLE ONLY emq.pending
    ADD CONSTRAINT pending_pk PRIMARY KEY (queue, rank, ord);

--
-- Name: queue queue_pk; Type: CONSTRAINT; Schema: emq; Owner: -
--

ALTER TABLE ONLY emq.queue
    ADD CONSTRAINT queue_pk PRIMARY KEY (name);

--
-- Name: reap_log reap_log_pk; Type: CONSTRAINT; Schema: emq; Owner: -
--

ALTER TABLE ONLY emq.reap_log
    ADD CONSTRAINT reap_log_pk PRIMARY KEY (n);

--
-- Name: retiring retiring_pk; Type: CONSTRAINT; Schema: emq; Owner: -
--

ALTER TABLE ONLY emq.retiring
    ADD CONSTRAINT retiring_pk PRIMARY KEY (day);

--
-- Name: scheduled scheduled_pk; Type: CONSTRAINT; Schema: emq; Owner: -
--

ALTER TABLE ONLY emq.scheduled
    ADD CONSTRAINT scheduled_pk PRIMARY KEY (run_at, id);

--
-- Name: settled settled_pk; Type: CONSTRAINT; Schema: emq; Owner: -
--

ALTER TABLE ONLY emq.settled
    ADD CONSTRAINT settled_pk PRIMARY KEY (n);

--
-- Name: tidied tidied_pk; Type: CONSTRAINT; Schema: emq; Owner: -
--

ALTER TABLE ONLY emq.tidied
    ADD CONSTRAINT tidied_pk PRIMARY KEY (queue, completed);

--
-- Name: tidying tidying_pk; Type: CONSTRAINT; Schema: emq; Owner: -
--

ALTER TABLE ONLY emq.tidying
    ADD CONSTRAINT tidying_pk PRIMARY KEY (what);

--
-- Name: unique_key unique_key_pk; Type: CONSTRAINT; Schema: emq; Owner: -
--

ALTER TABLE ONLY emq.unique_key
    ADD CONSTRAINT unique_key_pk PRIMARY KEY (key);

--
-- Name: worker worker_pk; Type: CONSTRAINT; Schema: emq; Owner: -
--

ALTER TABLE ONLY emq.worker
    ADD CONSTRAINT worker_pk PRIMARY KEY (name);

--
-- Name: active_deadline_idx; Type: INDEX; Schema: emq; Owner: -
--

CREATE INDEX active_deadline_idx ON emq.active USING btree (lease_deadline);

--
-- Name: archive_id_idx; Type: INDEX; Schema: emq; Owner: -
--

CREATE INDEX archive_id_idx ON ONLY emq.archive USING btree (id);

--
-- Name: archive_default_id_idx; Type: INDEX; Schema: emq; Owner: -
--

CREATE INDEX archive_default_id_idx ON emq.archive_default USING btree (id);

--
-- Name: attempt_id_idx; Type: INDEX; Schema: emq; Owner: -
--

CREATE INDEX attempt_id_idx ON ONLY emq.attempt USING btree (id);

--
-- Name: attempt_default_id_idx; Type: INDEX; Schema: emq; Owner: -
--

CREATE INDEX attempt_default_id_idx ON emq.attempt_default USING btree (id);

--
-- Name: audit_at_idx; Type: INDEX; Schema: emq; Owner: -
--

CREATE INDEX audit_at_idx ON emq.audit USING btree (at);

--
-- Name: audit_id_idx; Type: INDEX; Schema: emq; Owner: -
--

CREATE INDEX audit_id_idx ON emq.audit USING btree (id) WHERE (id IS NOT NULL);

--
-- Name: dead_died_at_idx; Type: INDEX; Schema: emq; Owner: -
--

CREATE INDEX dead_died_at_idx ON emq.dead USING btree (died_at, id);

--
-- Name: dead_queue_died_at_idx; Type: INDEX; Schema: emq; Owner: -
--

CREATE INDEX dead_queue_died_at_idx ON emq.dead USING btree (queue, died_at);

--
-- Name: inbox_at_idx; Type: INDEX; Schema: emq; Owner: -
--

CREATE INDEX inbox_at_idx ON emq.inbox USING btree (at);

--
-- Name: inbox_id_idx; Type: INDEX; Schema: emq; Owner: -
--

CREATE INDEX inbox_id_idx ON emq.inbox USING btree (id);

--
-- Name: late_at_idx; Type: INDEX; Schema: emq; Owner: -
--

CREATE INDEX late_at_idx ON emq.late USING btree (at);

--
-- Name: late_id_idx; Type: INDEX; Schema: emq; Owner: -
--

CREATE INDEX late_id_idx ON emq.late USING btree (id);

--
-- Name: reap_log_at_idx; Type: INDEX; Schema: emq; Owner: -
--

CREATE INDEX reap_log_at_idx ON emq.reap_log USING btree (at);

--
-- Name: refusal_at_idx; Type: INDEX; Schema: emq; Owner: -
--

CREATE INDEX refusal_at_idx ON emq.refusal USING btree (at);

--
-- Name: refusal_id_idx; Type: INDEX; Schema: emq; Owner: -
--

CREATE INDEX refusal_id_idx ON emq.refusal USING btree (id);

--
-- Name: unique_key_id_idx; Type: INDEX; Schema: emq; Owner: -
--

CREATE INDEX unique_key_id_idx ON emq.unique_key USING btree (id);

--
-- Name: unique_key_look_at_idx; Type: INDEX; Schema: emq; Owner: -
--

CREATE INDEX unique_key_look_at_idx ON emq.unique_key USING btree (look_at);

--
-- Name: archive_default_id_idx; Type: INDEX ATTACH; Schema: emq; Owner: -
--

ALTER INDEX emq.archive_id_idx ATTACH PARTITION emq.archive_default_id_idx;

--
-- Name: attempt_default_id_idx; Type: INDEX ATTACH; Schema: emq; Owner: -
--

ALTER INDEX emq.attempt_id_idx ATTACH PARTITION emq.attempt_default_id_idx;

--
-- Name: FUNCTION adopt(p_environment text, p_what text, p_limit integer, p_label text, OUT status text, OUT cancelled integer, OUT discarded integer, OUT paused text[]); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.adopt(p_environment text, p_what text, p_limit integer, p_label text, OUT status text, OUT cancelled integer, OUT discarded integer, OUT paused text[]) FROM PUBLIC;

--
-- Name: FUNCTION ago(p_retention interval); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.ago(p_retention interval) FROM PUBLIC;

--
-- Name: FUNCTION archive_days(p_ahead integer, p_from date); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.archive_days(p_ahead integer, p_from date) FROM PUBLIC;

--
-- Name: FUNCTION archived(p_ids uuid[]); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.archived(p_ids uuid[]) FROM PUBLIC;

--
-- Name: FUNCTION as_of(p_at timestamp with time zone, p_limit integer, p_longest interval); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.as_of(p_at timestamp with time zone, p_limit integer, p_longest interval) FROM PUBLIC;

--
-- Name: FUNCTION at_home(p_environment text); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.at_home(p_environment text) FROM PUBLIC;

--
-- Name: FUNCTION bell_locks(p_queues text[]); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.bell_locks(p_queues text[]) FROM PUBLIC;

--
-- Name: FUNCTION bound(p_lease_ms integer, p_last boolean); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.bound(p_lease_ms integer, p_last boolean) FROM PUBLIC;

--
-- Name: FUNCTION cancel(p_id uuid, p_label text); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.cancel(p_id uuid, p_label text) FROM PUBLIC;

--
-- Name: FUNCTION check_stalled(p_queue text, p_max_stalled integer, p_limit integer, OUT recovered uuid[], OUT dead uuid[]); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.check_stalled(p_queue text, p_max_stalled integer, p_limit integer, OUT recovered uuid[], OUT dead uuid[]) FROM PUBLIC;

--
-- Name: FUNCTION claim(p_queue text, p_n integer, p_worker text, p_nonce bigint, p_lease interval); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.claim(p_queue text, p_n integer, p_worker text, p_nonce bigint, p_lease interval) FROM PUBLIC;

--
-- Name: FUNCTION claim_any(p_queues text[], p_n integer, p_worker text, p_nonce bigint, p_lease interval); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.claim_any(p_queues text[], p_n integer, p_worker text, p_nonce bigint, p_lease interval) FROM PUBLIC;

--
-- Name: FUNCTION claimed(p_nonce bigint); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.claimed(p_nonce bigint) FROM PUBLIC;

--
-- Name: FUNCTION closed(p_day date, OUT status text, OUT held_by text); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.closed(p_day date, OUT status text, OUT held_by text) FROM PUBLIC;

--
-- Name: FUNCTION complete(p_ids uuid[], p_fences bigint[], p_results jsonb[]); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.complete(p_ids uuid[], p_fences bigint[], p_results jsonb[]) FROM PUBLIC;

--
-- Name: FUNCTION complete_and_claim(p_ids uuid[], p_fences bigint[], p_results jsonb[], p_queue text, p_n integer, p_worker text, p_nonce bigint, p_lease interval); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.complete_and_claim(p_ids uuid[], p_fences bigint[], p_results jsonb[], p_queue text, p_n integer, p_worker text, p_nonce bigint, p_lease interval) FROM PUBLIC;

--
-- Name: FUNCTION configure(p_queue text, p_lease interval, p_max_attempts integer, p_max_stalled integer, p_retention interval, p_label text); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.configure(p_queue text, p_lease interval, p_max_attempts integer, p_max_stalled integer, p_retention interval, p_label text) FROM PUBLIC;

--
-- Name: FUNCTION days_of(p_parent text); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.days_of(p_parent text) FROM PUBLIC;

--
-- Name: FUNCTION dead_groups(p_filter jsonb, p_limit integer); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.dead_groups(p_filter jsonb, p_limit integer) FROM PUBLIC;

--
-- Name: FUNCTION dead_letter(p_id uuid); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.dead_letter(p_id uuid) FROM PUBLIC;

--
-- Name: FUNCTION dead_list(p_filter jsonb, p_limit integer, p_after jsonb); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.dead_list(p_filter jsonb, p_limit integer, p_after jsonb) FROM PUBLIC;

--
-- Name: FUNCTION dead_matching(p_filter jsonb, p_newest boolean, p_limit integer, p_after jsonb); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.dead_matching(p_filter jsonb, p_newest boolean, p_limit integer, p_after jsonb) FROM PUBLIC;

--
-- Name: FUNCTION dead_where(p_filter jsonb); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.dead_where(p_filter jsonb) FROM PUBLIC;

--
-- Name: FUNCTION decided(p_id uuid, p_fence bigint); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.decided(p_id uuid, p_fence bigint) FROM PUBLIC;

--
-- Name: FUNCTION discard(p_id uuid, p_label text); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.discard(p_id uuid, p_label text) FROM PUBLIC;

--
-- Name: FUNCTION discard_many(p_filter jsonb, p_reason text, p_limit integer, p_after jsonb, OUT discarded integer, OUT busy integer, OUT next jsonb); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.discard_many(p_filter jsonb, p_reason text, p_limit integer, p_after jsonb, OUT discarded integer, OUT busy integer, OUT next jsonb) FROM PUBLIC;

--
-- Name: FUNCTION drain(p_queue text, p_limit integer, p_scheduled boolean, p_after jsonb, p_label text, OUT cancelled integer, OUT next jsonb); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.drain(p_queue text, p_limit integer, p_scheduled boolean, p_after jsonb, p_label text, OUT cancelled integer, OUT next jsonb) FROM PUBLIC;

--
-- Name: FUNCTION drop_attempts(p_name text, p_kept uuid[]); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.drop_attempts(p_name text, p_kept uuid[]) FROM PUBLIC;

--
-- Name: FUNCTION end_of(p_id uuid, p_fence bigint, OUT how text, OUT ours boolean); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.end_of(p_id uuid, p_fence bigint, OUT how text, OUT ours boolean) FROM PUBLIC;

--
-- Name: FUNCTION end_runs(p_runs emq.active[], p_ends text[], p_delays interval[], p_errors text[], p_max_stalled integer); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.end_runs(p_runs emq.active[], p_ends text[], p_delays interval[], p_errors text[], p_max_stalled integer) FROM PUBLIC;

--
-- Name: FUNCTION enqueue(p_queue text, p_task text, p_payload jsonb, p_id uuid, p_priority integer, p_run_at timestamp with time zone, p_delay interval, p_max_attempts integer, p_lease interval, p_headers jsonb, OUT id uuid, OUT status text); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.enqueue(p_queue text, p_task text, p_payload jsonb, p_id uuid, p_priority integer, p_run_at timestamp with time zone, p_delay interval, p_max_attempts integer, p_lease interval, p_headers jsonb, OUT id uuid, OUT status text) FROM PUBLIC;

--
-- Name: FUNCTION enqueue_batch(p_queue text, p_task text, p_ids uuid[], p_payloads jsonb, p_priority integer, p_max_attempts integer, p_lease interval, p_headers jsonb); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.enqueue_batch(p_queue text, p_task text, p_ids uuid[], p_payloads jsonb, p_priority integer, p_max_attempts integer, p_lease interval, p_headers jsonb) FROM PUBLIC;

--
-- Name: FUNCTION enqueue_many(p_queue text, p_ids uuid[], p_tasks text[], p_payloads jsonb[], p_priorities integer[], p_run_ats timestamp with time zone[], p_delays interval[], p_max_attempts integer[], p_leases interval[], p_headers jsonb[]); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.enqueue_many(p_queue text, p_ids uuid[], p_tasks text[], p_payloads jsonb[], p_priorities integer[], p_run_ats timestamp with time zone[], p_delays interval[], p_max_attempts integer[], p_leases interval[], p_headers jsonb[]) FROM PUBLIC;

--
-- Name: FUNCTION enqueue_unique(p_queue text, p_keys text[], p_ids uuid[], p_tasks text[], p_payloads jsonb[], p_scopes text[], p_fors interval[], p_priorities integer[], p_run_ats timestamp with time zone[], p_delays interval[], p_max_attempts integer[], p_leases interval[], p_headers jsonb[], OUT ids uuid[], OUT statuses text[]); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.enqueue_unique(p_queue text, p_keys text[], p_ids uuid[], p_tasks text[], p_payloads jsonb[], p_scopes text[], p_fors interval[], p_priorities integer[], p_run_ats timestamp with time zone[], p_delays interval[], p_max_attempts integer[], p_leases interval[], p_headers jsonb[], OUT ids uuid[], OUT statuses text[]) FROM PUBLIC;

--
-- Name: FUNCTION enqueue_unless_waiting(p_queue text, p_task text, p_payload jsonb, p_id uuid, p_priority integer, p_run_at timestamp with time zone, p_delay interval, p_max_attempts integer, p_lease interval, p_headers jsonb, OUT id uuid, OUT status text); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.enqueue_unless_waiting(p_queue text, p_task text, p_payload jsonb, p_id uuid, p_priority integer, p_run_at timestamp with time zone, p_delay interval, p_max_attempts integer, p_lease interval, p_headers jsonb, OUT id uuid, OUT status text) FROM PUBLIC;

--
-- Name: FUNCTION envelope(p_id uuid); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.envelope(p_id uuid) FROM PUBLIC;

--
-- Name: FUNCTION erase(p_ids uuid[]); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.erase(p_ids uuid[]) FROM PUBLIC;

--
-- Name: FUNCTION export_add(p_day date, p_fence bigint, p_version integer, p_part integer, p_rows bigint, p_bytes bigint, p_min_id uuid, p_max_id uuid, p_max_at timestamp with time zone, p_checksum text, p_location text, p_path text); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.export_add(p_day date, p_fence bigint, p_version integer, p_part integer, p_rows bigint, p_bytes bigint, p_min_id uuid, p_max_id uuid, p_max_at timestamp with time zone, p_checksum text, p_location text, p_path text) FROM PUBLIC;

--
-- Name: FUNCTION export_at_work(p_day date); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.export_at_work(p_day date) FROM PUBLIC;

--
-- Name: FUNCTION export_begin(p_day date, p_location text, OUT status text, OUT fence bigint, OUT series uuid, OUT version integer, OUT part integer, OUT rows bigint, OUT written bigint, OUT after_id uuid, OUT after_at timestamp with time zone, OUT late boolean, OUT location text); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.export_begin(p_day date, p_location text, OUT status text, OUT fence bigint, OUT series uuid, OUT version integer, OUT part integer, OUT rows bigint, OUT written bigint, OUT after_id uuid, OUT after_at timestamp with time zone, OUT late boolean, OUT location text) FROM PUBLIC;

--
-- Name: FUNCTION export_days(p_until date); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.export_days(p_until date) FROM PUBLIC;

--
-- Name: FUNCTION export_done(p_day date, p_fence bigint, p_version integer, p_late boolean, p_location text, p_checksum text); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.export_done(p_day date, p_fence bigint, p_version integer, p_late boolean, p_location text, p_checksum text) FROM PUBLIC;

--
-- Name: FUNCTION export_end(p_day date, p_fence bigint); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.export_end(p_day date, p_fence bigint) FROM PUBLIC;

--
-- Name: FUNCTION export_extend(p_day date, p_fence bigint); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.export_extend(p_day date, p_fence bigint) FROM PUBLIC;

--
-- Name: FUNCTION export_forget(p_day date, p_label text); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.export_forget(p_day date, p_label text) FROM PUBLIC;

--
-- Name: FUNCTION export_rows(p_day date, p_after_id uuid, p_after_at timestamp with time zone, p_limit integer, p_bytes bigint); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.export_rows(p_day date, p_after_id uuid, p_after_at timestamp with time zone, p_limit integer, p_bytes bigint) FROM PUBLIC;

--
-- Name: FUNCTION export_stands(p_day date); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.export_stands(p_day date) FROM PUBLIC;

--
-- Name: FUNCTION export_verified(p_day date, p_version integer, p_location text, p_damage text); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.export_verified(p_day date, p_version integer, p_location text, p_damage text) FROM PUBLIC;

--
-- Name: FUNCTION extend(p_ids uuid[], p_fences bigint[], p_lease interval); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.extend(p_ids uuid[], p_fences bigint[], p_lease interval) FROM PUBLIC;

--
-- Name: FUNCTION fail(p_ids uuid[], p_fences bigint[], p_reasons text[], p_delays interval[], p_errors text[]); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.fail(p_ids uuid[], p_fences bigint[], p_reasons text[], p_delays interval[], p_errors text[]) FROM PUBLIC;

--
-- Name: FUNCTION fingerprint(p_task text, p_reason text, p_error text); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.fingerprint(p_task text, p_reason text, p_error text) FROM PUBLIC;

--
-- Name: FUNCTION finite(p_name text, p_length interval); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.finite(p_name text, p_length interval) FROM PUBLIC;

--
-- Name: FUNCTION guard(p_id uuid, p_fence bigint); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.guard(p_id uuid, p_fence bigint) FROM PUBLIC;

--
-- Name: FUNCTION guard_commit(p_id uuid, p_fence bigint); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.guard_commit(p_id uuid, p_fence bigint) FROM PUBLIC;

--
-- Name: FUNCTION hand_back(p_verb text, p_ends text[], p_ids uuid[], p_fences bigint[], p_delays interval[], p_errors text[]); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.hand_back(p_verb text, p_ends text[], p_ids uuid[], p_fences bigint[], p_delays interval[], p_errors text[]) FROM PUBLIC;

--
-- Name: FUNCTION headline(p_error text); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.headline(p_error text) FROM PUBLIC;

--
-- Name: FUNCTION here(); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.here() FROM PUBLIC;

--
-- Name: FUNCTION hold(p_id uuid, p_fence bigint); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.hold(p_id uuid, p_fence bigint) FROM PUBLIC;

--
-- Name: FUNCTION holds_key(p_id uuid, p_scope text, p_until timestamp with time zone); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.holds_key(p_id uuid, p_scope text, p_until timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION id_time(p_id uuid); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.id_time(p_id uuid) FROM PUBLIC;

--
-- Name: FUNCTION job_id(p_key text, p_at timestamp with time zone); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.job_id(p_key text, p_at timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION keep(p_ids uuid[], p_fences bigint[], p_queues text[], p_lease interval, OUT answers text[], OUT paused text[]); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.keep(p_ids uuid[], p_fences bigint[], p_queues text[], p_lease interval, OUT answers text[], OUT paused text[]) FROM PUBLIC;

--
-- Name: FUNCTION kept_days(); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.kept_days() FROM PUBLIC;

--
-- Name: FUNCTION kept_from(); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.kept_from() FROM PUBLIC;

--
-- Name: FUNCTION key_holder(p_key text); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.key_holder(p_key text) FROM PUBLIC;

--
-- Name: FUNCTION last_chance(p_ids uuid[], p_fences bigint[]); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.last_chance(p_ids uuid[], p_fences bigint[]) FROM PUBLIC;

--
-- Name: FUNCTION late_row(); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.late_row() FROM PUBLIC;

--
-- Name: FUNCTION ledger_id(); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.ledger_id() FROM PUBLIC;

--
-- Name: FUNCTION maintain(p_limit integer, OUT ran boolean, OUT promoted integer, OUT recovered integer, OUT dead integer); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.maintain(p_limit integer, OUT ran boolean, OUT promoted integer, OUT recovered integer, OUT dead integer) FROM PUBLIC;

--
-- Name: FUNCTION maintain_due(p_every interval, p_limit integer, OUT ran boolean, OUT promoted integer, OUT recovered integer, OUT dead integer); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.maintain_due(p_every interval, p_limit integer, OUT ran boolean, OUT promoted integer, OUT recovered integer, OUT dead integer) FROM PUBLIC;

--
-- Name: PROCEDURE maintain_loop(IN p_seconds integer, IN p_every interval); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON PROCEDURE emq.maintain_loop(IN p_seconds integer, IN p_every interval) FROM PUBLIC;

--
-- Name: FUNCTION mine(p_xmin xid); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.mine(p_xmin xid) FROM PUBLIC;

--
-- Name: FUNCTION note_refusals(p_ids uuid[], p_fences bigint[], p_verbs text[], p_ago interval[], p_again boolean); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.note_refusals(p_ids uuid[], p_fences bigint[], p_verbs text[], p_ago interval[], p_again boolean) FROM PUBLIC;

--
-- Name: FUNCTION obliterate(p_queue text, p_confirm text, p_after jsonb, p_limit integer, p_force boolean, p_dry_run boolean, p_label text, OUT status text, OUT erased integer, OUT next jsonb, OUT remaining bigint); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.obliterate(p_queue text, p_confirm text, p_after jsonb, p_limit integer, p_force boolean, p_dry_run boolean, p_label text, OUT status text, OUT erased integer, OUT next jsonb, OUT remaining bigint) FROM PUBLIC;

--
-- Name: FUNCTION once(p_key text, p_id uuid, p_fence bigint); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.once(p_key text, p_id uuid, p_fence bigint) FROM PUBLIC;

--
-- Name: FUNCTION outcome(p_id uuid, p_fence bigint); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.outcome(p_id uuid, p_fence bigint) FROM PUBLIC;

--
-- Name: FUNCTION park(p_queues text[]); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.park(p_queues text[]) FROM PUBLIC;

--
-- Name: FUNCTION pause(p_queue text, p_label text); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.pause(p_queue text, p_label text) FROM PUBLIC;

--
-- Name: FUNCTION place(p_id uuid); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.place(p_id uuid) FROM PUBLIC;

--
-- Name: FUNCTION promote(p_limit integer); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.promote(p_limit integer) FROM PUBLIC;

--
-- Name: FUNCTION put_back(p_verb text, p_ids uuid[], p_fences bigint[], p_delays interval[], p_errors text[]); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.put_back(p_verb text, p_ids uuid[], p_fences bigint[], p_delays interval[], p_errors text[]) FROM PUBLIC;

--
-- Name: FUNCTION reap(p_limit integer, OUT recovered integer, OUT dead integer, OUT skipped integer); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.reap(p_limit integer, OUT recovered integer, OUT dead integer, OUT skipped integer) FROM PUBLIC;

--
-- Name: FUNCTION reap_one(p_id uuid, p_fence bigint, p_max_stalled integer); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.reap_one(p_id uuid, p_fence bigint, p_max_stalled integer) FROM PUBLIC;

--
-- Name: FUNCTION record_refusals(p_ids uuid[], p_fences bigint[], p_verbs text[], p_at timestamp with time zone[]); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.record_refusals(p_ids uuid[], p_fences bigint[], p_verbs text[], p_at timestamp with time zone[]) FROM PUBLIC;

--
-- Name: FUNCTION refuse(p_ids uuid[], p_fences bigint[], p_answers text[], p_verb text); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.refuse(p_ids uuid[], p_fences bigint[], p_answers text[], p_verb text) FROM PUBLIC;

--
-- Name: FUNCTION refuse_new(p_queue text, p_ids uuid[]); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.refuse_new(p_queue text, p_ids uuid[]) FROM PUBLIC;

--
-- Name: FUNCTION refuse_settings(p_given jsonb, p_known text[]); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.refuse_settings(p_given jsonb, p_known text[]) FROM PUBLIC;

--
-- Name: FUNCTION release(p_ids uuid[], p_fences bigint[]); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.release(p_ids uuid[], p_fences bigint[]) FROM PUBLIC;

--
-- Name: FUNCTION release_key(p_key text, p_label text); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.release_key(p_key text, p_label text) FROM PUBLIC;

--
-- Name: FUNCTION release_worker(p_worker text, p_limit integer, p_label text, OUT released integer, OUT busy integer); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.release_worker(p_worker text, p_limit integer, p_label text, OUT released integer, OUT busy integer) FROM PUBLIC;

--
-- Name: FUNCTION replay(p_id uuid, p_label text); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.replay(p_id uuid, p_label text) FROM PUBLIC;

--
-- Name: FUNCTION replay_count(p_filter jsonb, OUT at timestamp with time zone, OUT replay bigint, OUT permanent bigint, OUT never bigint, OUT too_old bigint); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.replay_count(p_filter jsonb, OUT at timestamp with time zone, OUT replay bigint, OUT permanent bigint, OUT never bigint, OUT too_old bigint) FROM PUBLIC;

--
-- Name: FUNCTION replay_many(p_filter jsonb, p_limit integer, p_label text, p_after jsonb, OUT replayed integer, OUT permanent integer, OUT never integer, OUT too_old integer, OUT busy integer, OUT queues text[], OUT next jsonb); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.replay_many(p_filter jsonb, p_limit integer, p_label text, p_after jsonb, OUT replayed integer, OUT permanent integer, OUT never integer, OUT too_old integer, OUT busy integer, OUT queues text[], OUT next jsonb) FROM PUBLIC;

--
-- Name: FUNCTION replay_one(p_id uuid, p_force boolean, p_label text); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.replay_one(p_id uuid, p_force boolean, p_label text) FROM PUBLIC;

--
-- Name: FUNCTION replay_verdict(p_reason text, p_died_at timestamp with time zone, p_within interval, p_now timestamp with time zone, p_named boolean); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.replay_verdict(p_reason text, p_died_at timestamp with time zone, p_within interval, p_now timestamp with time zone, p_named boolean) FROM PUBLIC;

--
-- Name: FUNCTION rest(p_ids uuid[], p_fences bigint[], p_done uuid[], p_donef bigint[], p_verb text); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.rest(p_ids uuid[], p_fences bigint[], p_done uuid[], p_donef bigint[], p_verb text) FROM PUBLIC;

--
-- Name: FUNCTION result(p_id uuid); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.result(p_id uuid) FROM PUBLIC;

--
-- Name: FUNCTION resume(p_queue text, p_label text); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.resume(p_queue text, p_label text) FROM PUBLIC;

--
-- Name: FUNCTION retire(p_day date, p_limit integer, OUT status text, OUT remaining bigint); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.retire(p_day date, p_limit integer, OUT status text, OUT remaining bigint) FROM PUBLIC;

--
-- Name: FUNCTION retry(p_ids uuid[], p_fences bigint[], p_delays interval[], p_errors text[]); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.retry(p_ids uuid[], p_fences bigint[], p_delays interval[], p_errors text[]) FROM PUBLIC;

--
-- Name: FUNCTION ring(p_queue text); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.ring(p_queue text) FROM PUBLIC;

--
-- Name: FUNCTION ring_parked(p_queues text[]); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.ring_parked(p_queues text[]) FROM PUBLIC;

--
-- Name: FUNCTION search(p_filter jsonb, p_limit integer); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.search(p_filter jsonb, p_limit integer) FROM PUBLIC;

--
-- Name: FUNCTION search_where(p_filter jsonb); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.search_where(p_filter jsonb) FROM PUBLIC;

--
-- Name: FUNCTION set_ledger(p_settings jsonb, p_label text); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.set_ledger(p_settings jsonb, p_label text) FROM PUBLIC;

--
-- Name: FUNCTION set_queue(p_queue text, p_settings jsonb, p_label text); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.set_queue(p_queue text, p_settings jsonb, p_label text) FROM PUBLIC;

--
-- Name: FUNCTION settle(p_id uuid, p_fence bigint, p_verb text, p_last boolean, p_result jsonb, p_delay interval, p_error text); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.settle(p_id uuid, p_fence bigint, p_verb text, p_last boolean, p_result jsonb, p_delay interval, p_error text) FROM PUBLIC;

--
-- Name: FUNCTION snooze(p_ids uuid[], p_fences bigint[], p_delays interval[]); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.snooze(p_ids uuid[], p_fences bigint[], p_delays interval[]) FROM PUBLIC;

--
-- Name: FUNCTION sql_stops(p_ids uuid[]); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.sql_stops(p_ids uuid[]) FROM PUBLIC;

--
-- Name: FUNCTION stall(p_ids uuid[], p_fences bigint[], p_errors text[]); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.stall(p_ids uuid[], p_fences bigint[], p_errors text[]) FROM PUBLIC;

--
-- Name: FUNCTION stop_sql(p_id uuid, p_label text); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.stop_sql(p_id uuid, p_label text) FROM PUBLIC;

--
-- Name: FUNCTION story(p_id uuid); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.story(p_id uuid) FROM PUBLIC;

--
-- Name: FUNCTION sweep(p_queue text, p_max_stalled integer, p_limit integer, OUT back uuid[], OUT died uuid[], OUT skipped integer); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.sweep(p_queue text, p_max_stalled integer, p_limit integer, OUT back uuid[], OUT died uuid[], OUT skipped integer) FROM PUBLIC;

--
-- Name: FUNCTION tag(p_environment text, p_label text); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.tag(p_environment text, p_label text) FROM PUBLIC;

--
-- Name: FUNCTION take_key(p_key text, p_id uuid, p_scope text, p_until timestamp with time zone); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.take_key(p_key text, p_id uuid, p_scope text, p_until timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION tell_dead(p_ids uuid[]); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.tell_dead(p_ids uuid[]) FROM PUBLIC;

--
-- Name: FUNCTION tidy(p_limit integer, OUT did text, OUT what text, OUT remaining bigint); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.tidy(p_limit integer, OUT did text, OUT what text, OUT remaining bigint) FROM PUBLIC;

--
-- Name: FUNCTION tidy_attempts(p_limit integer, OUT did text, OUT what text, OUT remaining bigint); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.tidy_attempts(p_limit integer, OUT did text, OUT what text, OUT remaining bigint) FROM PUBLIC;

--
-- Name: FUNCTION tidy_days(p_limit integer, OUT did text, OUT what text, OUT remaining bigint); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.tidy_days(p_limit integer, OUT did text, OUT what text, OUT remaining bigint) FROM PUBLIC;

--
-- Name: FUNCTION tidy_dead(p_limit integer, OUT did text, OUT what text, OUT remaining bigint); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.tidy_dead(p_limit integer, OUT did text, OUT what text, OUT remaining bigint) FROM PUBLIC;

--
-- Name: FUNCTION tidy_inbox(p_limit integer, OUT did text, OUT what text, OUT remaining bigint); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.tidy_inbox(p_limit integer, OUT did text, OUT what text, OUT remaining bigint) FROM PUBLIC;

--
-- Name: FUNCTION tidy_keys(p_limit integer, OUT did text, OUT what text, OUT remaining bigint); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.tidy_keys(p_limit integer, OUT did text, OUT what text, OUT remaining bigint) FROM PUBLIC;

--
-- Name: FUNCTION tidy_marks(p_kept_from timestamp with time zone); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.tidy_marks(p_kept_from timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION tidy_queues(p_limit integer, OUT did text, OUT what text, OUT remaining bigint); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.tidy_queues(p_limit integer, OUT did text, OUT what text, OUT remaining bigint) FROM PUBLIC;

--
-- Name: FUNCTION tidy_records(p_limit integer, OUT did text, OUT what text, OUT remaining bigint); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.tidy_records(p_limit integer, OUT did text, OUT what text, OUT remaining bigint) FROM PUBLIC;

--
-- Name: FUNCTION tidy_strays(p_limit integer, OUT did text, OUT what text, OUT remaining bigint); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.tidy_strays(p_limit integer, OUT did text, OUT what text, OUT remaining bigint) FROM PUBLIC;

--
-- Name: FUNCTION unseat(p_ids uuid[], p_active boolean); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.unseat(p_ids uuid[], p_active boolean) FROM PUBLIC;

--
-- Name: FUNCTION uuid7(); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.uuid7() FROM PUBLIC;

--
-- Name: FUNCTION withdraw(p_queue text, p_limit integer, p_scheduled boolean, p_after jsonb); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.withdraw(p_queue text, p_limit integer, p_scheduled boolean, p_after jsonb) FROM PUBLIC;

--
-- Name: FUNCTION worker_gone(p_name text); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.worker_gone(p_name text) FROM PUBLIC;

--
-- Name: FUNCTION worker_seen(p_name text, p_queues text[], p_slots integer, p_version text); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.worker_seen(p_name text, p_queues text[], p_slots integer, p_version text) FROM PUBLIC;

--
-- PostgreSQL database dump complete
--
