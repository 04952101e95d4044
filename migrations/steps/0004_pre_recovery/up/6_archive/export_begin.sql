-- Promise: takes up the export of a day, where an earlier one was killed too; from here until
--   export_end, or the end of the session, nobody else exports or retires it. Answers
--     none       there is no such partition
--     busy       another session exports or retires it
--     done       the day is exported to this location, verified, and no row has come since
--     ready      write parts, from `part` on, of the rows behind (after_id, after_at), null for the
--                first; then export_done. With `late` only those that the files of earlier versions lack
--     elsewhere  rows or envelopes have gone since it was exported to another location, or
--     damaged    to this one, whose files are not verified: they cannot be written anew
-- Parameters: p_day; p_location.
-- Locks: an advisory lock of the day for the session, tried (released where the answer is not ready
--   or done); none on the archive.
-- Index: exported_pk, export_part_pk.
-- Parts of a version that was begun otherwise (to another location, or anew instead of on) are
-- forgotten: their files are overwritten.
create function emq.export_begin(
  p_day date, p_location text,
  out status text, out version int, out part int, out rows bigint, out written bigint,
  out after_id uuid, out after_at timestamptz, out late boolean, out location text
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_t text := 'archive_' || to_char(p_day, 'YYYYMMDD');
  e emq.exported;
  v_first int;
begin
  if not pg_try_advisory_lock(7307, emq.export_key(p_day)) then
    status := 'busy';
    return;
  end if;
  if to_regclass('emq.' || v_t) is null then
    status := 'none';
    perform pg_advisory_unlock(7307, emq.export_key(p_day));
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
    perform pg_advisory_unlock(7307, emq.export_key(p_day));
    return;
  end if;

  status := 'ready';
  late := coalesce(late, false);
  version := coalesce(e.version, 0) + 1;
  v_first := case when late then e.parts else 0 end;
  if exists (select from emq.export_part x where x.day = p_day and x.version = export_begin.version
              having count(*) > 0
                 and (min(x.part) <> v_first or bool_or(x.location <> p_location))) then
    delete from emq.export_part x where x.day = p_day and x.version = export_begin.version;
  end if;
  select coalesce(max(x.part) + 1, v_first), coalesce(sum(x.rows), 0)
    into part, written
    from emq.export_part x where x.day = p_day and x.version = export_begin.version;
  select x.max_id, x.max_at into after_id, after_at
    from emq.export_part x
   where x.day = p_day and x.version = export_begin.version order by x.part desc limit 1;
  location := p_location;
end $$;
revoke all on function emq.export_begin from public;
