-- Promise: raises the named error (EQ006) for what is no object, or for the first name in it that is
--   not one of these; returns when all are.
-- Parameters: p_given; p_known.
-- Locks: none.
-- Index: none.
create function emq.refuse_settings(p_given jsonb, p_known text[]) returns void
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
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
revoke all on function emq.refuse_settings from public;
