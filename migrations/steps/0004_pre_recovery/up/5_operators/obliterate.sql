-- Promise: one batch of taking away everything of a queue: what waits, what is dead, what has ended,
--   with envelopes, attempts, refusals and late extensions, and at the end its settings. Ids are
--   forgotten: enqueued again they are new jobs. The first call only pauses the queue. While jobs of it
--   run, nothing is taken (`active`), unless p_force ends their runs: their holders can commit nothing
--   then. After each batch every job is whole or gone. Answers more (call again with `next`) | active |
--   busy (retention is at work: again, in a moment) | done | left (the end was reached, and
--   `remaining` jobs are there that were added, or moved by an open transaction, meanwhile: begin
--   again; the queue stays paused). Audited, a row a batch.
-- Parameters: p_queue; p_confirm, its name once more; p_after, the `next` of the batch before;
--   p_limit envelopes looked at in a batch, of whatever queue; p_force; p_dry_run: only counts the
--   envelopes, in the same batches; p_label.
-- Locks: those of withdraw; FOR UPDATE SKIP LOCKED on envelopes, ledger rows and dead letters; the
--   advisory lock of tidy, tried: retention takes rows of the archive, too, and both count them.
-- Index: those of withdraw; job_pk is walked once, in chunks, and each envelope's place is found by
--   active_pk, dead_pk and archive_id_idx of a few partitions.
create function emq.obliterate(
  p_queue text, p_confirm text, p_after jsonb default null, p_limit int default 1000,
  p_force boolean default false, p_dry_run boolean default false, p_label text default null,
  out status text, out erased int, out next jsonb, out remaining bigint
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off
as $$
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
revoke all on function emq.obliterate from public;
