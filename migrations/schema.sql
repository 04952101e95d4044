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
        execute format('create index %I on emq.%I (id)', v_t || '_id_idx', v_t);
        execute format('alter table emq.%I attach partition emq.%I for values from (%L) to (%L)',
                       v_p, v_t, d::timestamptz, (d + 1)::timestamptz);
        v_n := v_n + 1;
      exception
        when lock_not_available then return -1 - v_n;
        when check_violation then null;
        when others then
          raise warning 'emq: the partition % could not be made: %', v_t, sqlerrm
            using errcode = sqlstate;
          return -1 - v_n;
      end;
    end loop;
  end loop;
  return v_n;
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
      (id, finished_at, claimed_at, attempts, stalled, failures, status, queue, worker)
    select m.id, clock_timestamp(), m.claimed_at, m.attempts, m.stalled, m.failures, 'cancelled',
           m.queue, m.worker
      from (
        select a.id, a.claimed_at, a.attempts, a.stalled, a.failures, a.queue, a.worker from a
        union all
        select p.id, null, p.attempts, p.stalled, p.failures, p.queue, null from p
        union all
        select s.id, null, s.attempts, s.stalled, s.failures, s.queue, null from s) m
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
  v_s bigint[];
  v_hi bigint;
  v_x record;
begin
  select q.paused, q.lease into v_paused, v_lease from emq.queue q where q.name = p_queue;
  if v_paused or p_n is null or p_n < 1 then  -- LIMIT null would be no limit
    return;
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
         order by r.ord limit p_n
         for update skip locked) l
     -- asked again in this statement's own snapshot: a pause that has committed holds
     where not exists (select 1 from emq.queue q where q.name = p_queue and q.paused)
     limit p_n
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
              x.result
  ), i as (
    insert into emq.archive
      (id, fence, finished_at, claimed_at, attempts, stalled, failures, status, queue, worker, result)
    select d.id, d.fence, clock_timestamp(), d.claimed_at, d.attempts, d.stalled, d.failures,
           'completed', d.queue, d.worker, d.result
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
    AS $$
begin
  perform emq.refuse_new(p_queue, '{}');
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
    insert into emq.archive (id, finished_at, attempts, stalled, failures, status, queue)
    select d.id, clock_timestamp(), d.attempts, d.stalled, d.failures, 'discarded', d.queue from d
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
    select k.* from k
     cross join lateral (select 1 from emq.active a
                          where a.id = k.id and a.fence = k.fence for no key update skip locked) l
  ), e as (
    update emq.active a
       set lease_deadline = greatest(
             a.lease_deadline, clock_timestamp() + coalesce(p_lease, a.lease_ms * interval '1 ms')),
           extensions = a.extensions + 1
      from x
     where a.id = any (array[x.id]) and a.fence = x.fence
    returning a.id, a.fence
  )
  select array_agg(e.id), array_agg(e.fence) into r, rf from e;
  if cardinality(r) = n then
    return array_fill('done'::text, array[n]);
  end if;
  return coalesce(emq.rest(p_ids, p_fences, r, rf, 'extend'), '{}');
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
begin
  perform 1 from emq.active a where a.id = p_id and a.fence = p_fence for key share;
  if not found then
    raise exception 'emq: the lease of job % is lost', p_id
      using errcode = 'EQ001',
            hint = 'Another worker holds or has finished this job: roll back.';
  end if;
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
  if found then
    return case when v = p_fence then 'yours' else 'superseded' end;
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
  if found then
    return v_s;
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
    AS $$
#variable_conflict use_column
begin
  return query
  select j.id, w.place, j.queue, j.task, j.priority::int, w.attempts, w.stalled, w.failures,
         w.worker, j.enqueued_at, w.since, w.until
    from emq.job j
    cross join lateral (
      select 'active' as place, a.attempts, a.stalled::int, a.failures::int, a.worker,
             a.claimed_at as since, a.lease_deadline as until, 1 as precedence
        from emq.active a where a.id = j.id
      union all
      select 'pending', p.attempts, p.stalled, p.failures, null, null, null, 2
        from emq.pending p
       where p.queue = j.queue and p.rank in (j.priority * 2, j.priority * 2 + 1) and p.id = j.id
      union all
      select 'scheduled', s.attempts, s.stalled, s.failures, null, null, s.run_at, 3
        from emq.scheduled s where s.id = j.id
      union all
      select 'dead', d.attempts, d.stalled, d.failures, null, d.died_at, null, 4
        from emq.dead d where d.id = j.id
      union all
      select r.status, r.attempts, r.stalled, r.failures, r.worker, r.claimed_at, r.finished_at, 5
        from emq.archive r where r.id = j.id and r.finished_at > j.enqueued_at - interval '1 h'
    ) w
   where j.id = p_id
   order by w.precedence
   limit 1;
end $$;

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
  v_where text[];
  v_rest text[];
begin
  with k as (
    select u.id, u.fence, u.delay, u.error
      from unnest(p_ids, p_fences, p_delays, p_errors) as u (id, fence, delay, error)
     order by 1
  ), x as materialized (
    select k.* from k
     cross join lateral (select 1 from emq.active a
                          where a.id = k.id and a.fence = k.fence for update skip locked) l
  ), d as (
    delete from emq.active a using x
     where a.id = any (array[x.id]) and a.fence = x.fence
    returning a.*, x.error, clock_timestamp() as at,
              case when x.delay > interval '0' then clock_timestamp() + x.delay end as run_at,
              a.failures + (p_verb = 'retry')::int as f
  ), m as materialized (
    select d.*, j.lease_ms as own_lease_ms,
           p_verb = 'retry'
             and d.f + d.stalled >= coalesce(j.max_attempts, q.max_attempts, 25) as spent
      from d
      left join lateral (select y.max_attempts, y.lease_ms from emq.job y
                          where y.id = d.id offset 0) j on true
      left join lateral (select y.max_attempts from emq.queue y
                          where y.name = d.queue offset 0) q on true
  ), t as (
    insert into emq.attempt
      (id, fence, ended_at, claimed_at, lease_deadline, extensions, how, queue, worker, error)
    select m.id, m.fence, m.at, m.claimed_at, m.lease_deadline, m.extensions,
           case p_verb when 'retry' then 'failed' when 'snooze' then 'snoozed' else 'released' end,
           m.queue, m.worker, m.error
      from m
  ), e as (
    insert into emq.dead (id, fence, queue, attempts, rank, stalled, failures, reason, error)
    select m.id, m.fence, m.queue, m.attempts, m.rank, m.stalled, m.f, 'exception', m.error
      from m where m.spent
  ), s as (
    insert into emq.scheduled (run_at, id, queue, attempts, lease_ms, rank, stalled, failures)
    select m.run_at, m.id, m.queue, m.attempts, m.own_lease_ms, m.rank | 1, m.stalled, m.f
      from m where not m.spent and m.run_at is not null
  ), b as (
    insert into emq.pending (id, queue, attempts, lease_ms, rank, stalled, failures)
    select m.id, m.queue, m.attempts, m.own_lease_ms,
           case p_verb when 'release' then m.rank & ~1 else m.rank | 1 end, m.stalled, m.f
      from m where not m.spent and m.run_at is null
  )
  select array_agg(m.id), array_agg(m.fence),
         array_agg(case when m.spent then 'dead'
                        when m.run_at is not null then 'scheduled' else 'pending' end)
    into r, rf, v_where
    from m;

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
  a emq.active;
  q emq.queue;
  j emq.job;
begin
  delete from emq.active x where x.id = p_id and x.fence = p_fence returning x.* into a;
  select y.* into q from emq.queue y where y.name = a.queue;
  select y.* into j from emq.job y where y.id = p_id;
  insert into emq.attempt
    (id, fence, ended_at, claimed_at, lease_deadline, extensions, how, queue, worker)
  values (a.id, a.fence, clock_timestamp(), a.claimed_at, a.lease_deadline, a.extensions,
          'stalled', a.queue, a.worker);
  if a.stalled + 1 >= coalesce(p_max_stalled, q.max_stalled, 3)
     or a.stalled + 1 + a.failures >= coalesce(j.max_attempts, q.max_attempts, 25) then
    insert into emq.dead (id, fence, queue, attempts, rank, stalled, failures, reason)
    values (a.id, a.fence, a.queue, a.attempts, a.rank, a.stalled + 1, a.failures, 'stalled');
    return 'dead';
  end if;
  insert into emq.pending (id, queue, attempts, lease_ms, rank, stalled, failures)
  values (a.id, a.queue, a.attempts, j.lease_ms, a.rank & ~1, a.stalled + 1, a.failures);
  return 'pending';
end $$;

--
-- Name: refuse(uuid[], bigint[], text[], text); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.refuse(p_ids uuid[], p_fences bigint[], p_answers text[], p_verb text) RETURNS void
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
  insert into emq.refusal (id, fence, held, verb)
  select k.id, k.fence, (select a.fence from emq.active a where a.id = k.id), p_verb
    from unnest(p_ids, p_fences, p_answers) as k (id, fence, answer)
   where k.answer = 'lost' and k.id is not null;
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
-- Name: release(uuid[], bigint[]); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.release(p_ids uuid[], p_fences bigint[]) RETURNS text[]
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ select emq.put_back('release', p_ids, p_fences, null, null) $$;

--
-- Name: replay(uuid, text); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.replay(p_id uuid, p_label text DEFAULT NULL::text) RETURNS text
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
    if v_n <> s.done then  -- a late row: over again, which is safe
      update emq.retiring x set upto = null, done = 0, total = v_n where x.day = p_day;
      remaining := v_n;
      return;
    end if;
    perform set_config('lock_timeout', '100ms', true);
    execute format('drop table emq.%I', v_t);
    delete from emq.retiring x where x.day = p_day;
    status := 'dropped';
    remaining := 0;
  exception when lock_not_available then
    status := 'busy';
  end;
exception when lock_not_available then
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
-- Name: snooze(uuid[], bigint[], interval[]); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.snooze(p_ids uuid[], p_fences bigint[], p_delays interval[]) RETURNS text[]
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ select emq.put_back('snooze', p_ids, p_fences, p_delays, null) $$;

--
-- Name: stall(uuid[], bigint[], text[]); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.stall(p_ids uuid[], p_fences bigint[], p_errors text[] DEFAULT NULL::text[]) RETURNS text[]
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
  v_where text[];
  v_rest text[];
begin
  with k as (
    select u.id, u.fence, u.error from unnest(p_ids, p_fences, p_errors) as u (id, fence, error)
     order by 1
  ), x as materialized (
    select k.* from k
     cross join lateral (select 1 from emq.active a
                          where a.id = k.id and a.fence = k.fence for update skip locked) l
  ), d as (
    delete from emq.active a using x
     where a.id = any (array[x.id]) and a.fence = x.fence
    returning a.id, a.fence, a.queue, a.attempts, a.rank, (a.stalled + 1)::smallint as stalled,
              a.failures, a.claimed_at, a.lease_deadline, a.extensions, a.worker, x.error
  ), m as materialized (
    select d.*, j.lease_ms as own_lease_ms,
           d.stalled >= coalesce(q.max_stalled, 3)
             or d.stalled + d.failures >= coalesce(j.max_attempts, q.max_attempts, 25) as spent
      from d
      left join lateral (select y.max_stalled, y.max_attempts from emq.queue y
                          where y.name = d.queue offset 0) q on true
      left join lateral (select y.max_attempts, y.lease_ms from emq.job y
                          where y.id = d.id offset 0) j on true
  ), t as (
    insert into emq.attempt
      (id, fence, ended_at, claimed_at, lease_deadline, extensions, how, queue, worker, error)
    select m.id, m.fence, clock_timestamp(), m.claimed_at, m.lease_deadline, m.extensions,
           'stalled', m.queue, m.worker, m.error
      from m
  ), b as (
    insert into emq.pending (id, queue, attempts, lease_ms, rank, stalled, failures)
    select m.id, m.queue, m.attempts, m.own_lease_ms, m.rank & ~1, m.stalled, m.failures
      from m where not m.spent
  ), e as (
    insert into emq.dead (id, fence, queue, attempts, rank, stalled, failures, reason, error)
    select m.id, m.fence, m.queue, m.attempts, m.rank, m.stalled, m.failures, 'stalled', m.error
      from m where m.spent
  )
  select array_agg(m.id), array_agg(m.fence),
         array_agg(case when m.spent then 'dead' else 'pending' end)
    into r, rf, v_where
    from m;

  v_rest := emq.rest(p_ids, p_fences, r, rf, 'stall');
  return (
    select coalesce(array_agg(
             coalesce(case when k.answer = 'done' then v_where[array_position(r, k.id)] end, k.answer)
             order by k.i), '{}')
      from unnest(p_ids, v_rest) with ordinality as k (id, answer, i));
end $$;

--
-- Name: story(uuid); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.story(p_id uuid) RETURNS TABLE(at timestamp with time zone, event text, attempts integer, worker text, detail text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
begin
  return query
  select e.at, e.event, e.attempts, e.worker, e.detail
    from (
      select j.enqueued_at as at, 'enqueued' as event, null::int as attempts, null::text as worker,
             format('task %s, queue %s, priority %s', j.task, j.queue, j.priority) as detail, 0 as n
        from emq.job j where j.id = p_id
      union all
      select t.claimed_at, 'claimed', (t.fence >> 40)::int, t.worker, null, 1
        from emq.attempt t where t.id = p_id
      union all
      select t.ended_at, t.how, (t.fence >> 40)::int, t.worker,
             coalesce(t.error, format('lease_deadline %s, extended %s times',
                                      t.lease_deadline, t.extensions)), 3
        from emq.attempt t where t.id = p_id
      union all
      select a.claimed_at, 'claimed', a.attempts, a.worker,
             format('lease_deadline %s, extended %s times', a.lease_deadline, a.extensions), 1
        from emq.active a where a.id = p_id
      union all
      select r.at, 'refused', (r.fence >> 40)::int, null,
             format('%s under a stale fence; the job was %s', r.verb,
                    coalesce('held at attempt ' || (r.held >> 40), 'held by nobody')), 4
        from emq.refusal r where r.id = p_id
      union all
      select d.died_at, 'dead', d.attempts, null, coalesce(d.reason || ': ' || d.error, d.reason), 5
        from emq.dead d where d.id = p_id
      union all
      select r.claimed_at, 'claimed', r.attempts, r.worker, null, 1
        from emq.archive r where r.id = p_id and r.status = 'completed'
      union all
      select r.finished_at, r.status, r.attempts, r.worker, r.result::text, 6
        from emq.archive r where r.id = p_id
    ) e
   order by e.at, e.n;
end $$;

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
  c record;
begin
  v_from := coalesce((select case when s.t > v_now then '-infinity' else s.reap_from end
                        from emq.settled s order by s.n desc limit 1), '-infinity');
  begin
    skipped := 0;
    with x as materialized (
      select a.ctid as c from emq.active a
       where a.lease_deadline < v_now and a.lease_deadline >= v_from
         and (p_queue is null or a.queue = p_queue)
       order by a.lease_deadline limit p_limit
       for update skip locked
    ), d as (
      delete from emq.active a using x where a.ctid = x.c
      returning a.id, a.fence, a.queue, a.attempts, a.rank, (a.stalled + 1)::smallint as stalled,
                a.failures, a.claimed_at, a.lease_deadline, a.extensions, a.worker
    ), m as materialized (
      select d.*, j.lease_ms as own_lease_ms,
             d.stalled >= coalesce(p_max_stalled, q.max_stalled, 3)
               or d.stalled + d.failures >= coalesce(j.max_attempts, q.max_attempts, 25) as spent
        from d
        left join lateral (select y.max_stalled, y.max_attempts from emq.queue y
                            where y.name = d.queue offset 0) q on true
        left join lateral (select y.max_attempts, y.lease_ms from emq.job y
                            where y.id = d.id offset 0) j on true
    ), t as (
      insert into emq.attempt
        (id, fence, ended_at, claimed_at, lease_deadline, extensions, how, queue, worker)
      select m.id, m.fence, clock_timestamp(), m.claimed_at, m.lease_deadline, m.extensions,
             'stalled', m.queue, m.worker
        from m
    ), b as (
      insert into emq.pending (id, queue, attempts, lease_ms, rank, stalled, failures)
      select m.id, m.queue, m.attempts, m.own_lease_ms, m.rank & ~1, m.stalled, m.failures
        from m where not m.spent
      returning id
    ), e as (
      insert into emq.dead (id, fence, queue, attempts, rank, stalled, failures, reason)
      select m.id, m.fence, m.queue, m.attempts, m.rank, m.stalled, m.failures, 'stalled'
        from m where m.spent
      returning id
    )
    select (select coalesce(array_agg(b.id), '{}') from b),
           (select coalesce(array_agg(e.id), '{}') from e)
      into back, died;
  exception when data_exception or integrity_constraint_violation or raise_exception then
    back := '{}';
    died := '{}';
    skipped := 0;
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
    AS $$
begin
  update emq.meta set environment = p_environment;
  insert into emq.audit (verb, label, detail)
  values ('tag', p_label, jsonb_build_object('environment', p_environment));
end $$;

--
-- Name: uuid7(); Type: FUNCTION; Schema: emq; Owner: -
--

CREATE FUNCTION emq.uuid7() RETURNS uuid
    LANGUAGE sql
    AS $$ select pg_catalog.uuidv7() $$;

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
    CONSTRAINT archive_status_ck CHECK (((status = ANY (ARRAY['completed'::text, 'cancelled'::text, 'discarded'::text])) AND ((fence IS NOT NULL) = (status = 'completed'::text))))
);

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
    error text
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
    CONSTRAINT queue_lease_ck CHECK (((lease >= '00:00:00.2'::interval) AND (lease <= '1 day'::interval))),
    CONSTRAINT queue_max_attempts_ck CHECK ((max_attempts > 0)),
    CONSTRAINT queue_max_stalled_ck CHECK ((max_stalled > 0)),
    CONSTRAINT queue_name_ck CHECK ((name ~ '^[a-z0-9][a-z0-9_.:-]{0,62}$'::text)),
    CONSTRAINT queue_retention_ck CHECK ((retention > '00:00:00'::interval))
);

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
    CONSTRAINT meta_one_ck CHECK (one)
);

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
    verb text NOT NULL
);

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
-- Name: dead dead_pk; Type: CONSTRAINT; Schema: emq; Owner: -
--

ALTER TABLE ONLY emq.dead
    ADD CONSTRAINT dead_pk PRIMARY KEY (id);

--
-- Name: job job_pk; Type: CONSTRAINT; Schema: emq; Owner: -
--

ALTER TABLE ONLY emq.job
    ADD CONSTRAINT job_pk PRIMARY KEY (id);

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
-- Name: reap_log_at_idx; Type: INDEX; Schema: emq; Owner: -
--

CREATE INDEX reap_log_at_idx ON emq.reap_log USING btree (at);

--
-- Name: refusal_id_idx; Type: INDEX; Schema: emq; Owner: -
--

CREATE INDEX refusal_id_idx ON emq.refusal USING btree (id);

--
-- Name: archive_default_id_idx; Type: INDEX ATTACH; Schema: emq; Owner: -
--

ALTER INDEX emq.archive_id_idx ATTACH PARTITION emq.archive_default_id_idx;

--
-- Name: attempt_default_id_idx; Type: INDEX ATTACH; Schema: emq; Owner: -
--

ALTER INDEX emq.attempt_id_idx ATTACH PARTITION emq.attempt_default_id_idx;

--
-- Name: FUNCTION archive_days(p_ahead integer, p_from date); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.archive_days(p_ahead integer, p_from date) FROM PUBLIC;

--
-- Name: FUNCTION archived(p_ids uuid[]); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.archived(p_ids uuid[]) FROM PUBLIC;

--
-- Name: FUNCTION bell_locks(p_queues text[]); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.bell_locks(p_queues text[]) FROM PUBLIC;

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
-- Name: FUNCTION discard(p_id uuid, p_label text); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.discard(p_id uuid, p_label text) FROM PUBLIC;

--
-- Name: FUNCTION enqueue(p_queue text, p_task text, p_payload jsonb, p_id uuid, p_priority integer, p_run_at timestamp with time zone, p_delay interval, p_max_attempts integer, p_lease interval, p_headers jsonb, OUT id uuid, OUT status text); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.enqueue(p_queue text, p_task text, p_payload jsonb, p_id uuid, p_priority integer, p_run_at timestamp with time zone, p_delay interval, p_max_attempts integer, p_lease interval, p_headers jsonb, OUT id uuid, OUT status text) FROM PUBLIC;

--
-- Name: FUNCTION enqueue_many(p_queue text, p_ids uuid[], p_tasks text[], p_payloads jsonb[], p_priorities integer[], p_run_ats timestamp with time zone[], p_delays interval[], p_max_attempts integer[], p_leases interval[], p_headers jsonb[]); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.enqueue_many(p_queue text, p_ids uuid[], p_tasks text[], p_payloads jsonb[], p_priorities integer[], p_run_ats timestamp with time zone[], p_delays interval[], p_max_attempts integer[], p_leases interval[], p_headers jsonb[]) FROM PUBLIC;

--
-- Name: FUNCTION envelope(p_id uuid); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.envelope(p_id uuid) FROM PUBLIC;

--
-- Name: FUNCTION extend(p_ids uuid[], p_fences bigint[], p_lease interval); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.extend(p_ids uuid[], p_fences bigint[], p_lease interval) FROM PUBLIC;

--
-- Name: FUNCTION guard(p_id uuid, p_fence bigint); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.guard(p_id uuid, p_fence bigint) FROM PUBLIC;

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
-- Name: FUNCTION maintain(p_limit integer, OUT ran boolean, OUT promoted integer, OUT recovered integer, OUT dead integer); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.maintain(p_limit integer, OUT ran boolean, OUT promoted integer, OUT recovered integer, OUT dead integer) FROM PUBLIC;

--
-- Name: FUNCTION maintain_due(p_every interval, p_limit integer, OUT ran boolean, OUT promoted integer, OUT recovered integer, OUT dead integer); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.maintain_due(p_every interval, p_limit integer, OUT ran boolean, OUT promoted integer, OUT recovered integer, OUT dead integer) FROM PUBLIC;

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
-- Name: FUNCTION refuse(p_ids uuid[], p_fences bigint[], p_answers text[], p_verb text); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.refuse(p_ids uuid[], p_fences bigint[], p_answers text[], p_verb text) FROM PUBLIC;

--
-- Name: FUNCTION refuse_new(p_queue text, p_ids uuid[]); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.refuse_new(p_queue text, p_ids uuid[]) FROM PUBLIC;

--
-- Name: FUNCTION release(p_ids uuid[], p_fences bigint[]); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.release(p_ids uuid[], p_fences bigint[]) FROM PUBLIC;

--
-- Name: FUNCTION replay(p_id uuid, p_label text); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.replay(p_id uuid, p_label text) FROM PUBLIC;

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
-- Name: FUNCTION snooze(p_ids uuid[], p_fences bigint[], p_delays interval[]); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.snooze(p_ids uuid[], p_fences bigint[], p_delays interval[]) FROM PUBLIC;

--
-- Name: FUNCTION stall(p_ids uuid[], p_fences bigint[], p_errors text[]); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.stall(p_ids uuid[], p_fences bigint[], p_errors text[]) FROM PUBLIC;

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
-- Name: FUNCTION uuid7(); Type: ACL; Schema: emq; Owner: -
--

REVOKE ALL ON FUNCTION emq.uuid7() FROM PUBLIC;

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
