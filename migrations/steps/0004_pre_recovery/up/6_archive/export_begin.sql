-- Promise: takes up the export of a day, where an earlier one was killed too. What is recorded of it is
--   recorded under the fence that this answers; from here on no earlier exporter records anything. Answers
--     none       there is no such partition
--     busy       another exporter seems to be at work on it (see export_at_work.sql), or it is retired
--     done       the day is exported to this location, verified, and no row has come since
--     ready      write parts, from `part` on, of the rows behind (after_id, after_at), null for the
--                first; then export_done, export_end. With `late` only those that the files of earlier
--                versions lack
--     elsewhere  rows or envelopes have gone since it was exported to another location, or
--     damaged    to this one, whose files are not verified: they cannot be written anew
-- Parameters: p_day; p_location.
-- Locks: the day's row in export_claim, SKIP LOCKED; ACCESS SHARE on the partition (300 ms).
-- Index: export_claim_pk, exported_pk, export_part_pk.
-- Parts of a version that was begun otherwise (to another location, or anew instead of on) are
-- forgotten, and the version with them: its files stay where they are and count no more.
create function emq.export_begin(
  p_day date, p_location text,
  out status text, out fence bigint, out series uuid, out version int, out part int, out rows bigint,
  out written bigint, out after_id uuid, out after_at timestamptz, out late boolean,
  out location text
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '300ms'
as $$
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
revoke all on function emq.export_begin from public;
