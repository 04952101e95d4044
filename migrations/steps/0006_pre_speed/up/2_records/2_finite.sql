-- Promise: the length that was given, or the named error (EQ006) when it is infinite, or so long that
--   no client can tell it from that (two million years and more). "For ever" is a long time.
-- Parameters: p_name of the setting; p_length, which may be null.
-- Locks: none.
-- Index: none.
create function emq.finite(p_name text, p_length interval) returns interval
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  if not isfinite(p_length) or p_length >= interval '2000000 years'
     or p_length <= interval '-2000000 years' then
    raise exception 'emq: % cannot be infinite', p_name
      using errcode = 'EQ006', hint = 'Give a length; 1000 years is for ever.';
  end if;
  return p_length;
end $$;
revoke all on function emq.finite from public;
