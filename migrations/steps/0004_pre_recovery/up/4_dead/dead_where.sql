-- Promise: a filter of dead letters as a condition in SQL. All that the filter names must hold; an
--   empty one is true of every letter. An unknown name, or a value that is none for its name, is
--   refused with what it may be (EQ006): a filter with a slip in it must not mean all.
-- Parameters: p_filter, an object. One text or an array of them, any of which it may be: queue, task,
--   reason, fingerprint, worker, ids. A text that the error has in it: error. An instant with its
--   offset: died_after (then or later), died_before. An interval, or seconds: older_than,
--   younger_than. A whole number: min_attempts, min_stalled, min_failures. true or false:
--   include_permanent, which chooses no letter (see replay_verdict.sql).
-- Locks: none.
-- Index: none here; see dead_matching.sql. No value is put into the text: it speaks of the letter d,
--   its task t, its fingerprint f, the filter as $1 and the present as $2.
create function emq.dead_where(p_filter jsonb) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
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
end $$;
revoke all on function emq.dead_where from public;
