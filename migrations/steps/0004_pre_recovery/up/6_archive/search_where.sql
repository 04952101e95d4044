-- Promise: a filter of the archive as a condition in SQL. All that the filter names must hold; an empty
--   one is true of every finished job. An unknown name, or a value that is none for its name, is
--   refused with what it may be (EQ006): a filter with a slip in it must not mean all.
-- Parameters: p_filter, an object. One text or an array of them, any of which it may be: id, task,
--   queue, worker, status. A text that an error of its attempts, or of the dead letter that it was,
--   has in it: error. An instant with its offset: finished_after (then or later), finished_before. An
--   object that the payload contains: payload.
-- Locks: none.
-- Index: none here; see search.sql. No value is put into the text: it speaks of the archive row a, of
--   its envelope j, and of the filter as $1.
create function emq.search_where(p_filter jsonb) returns text
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
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
end $$;
revoke all on function emq.search_where from public;
