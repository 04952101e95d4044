-- Promise: the one line of an error that says most: of a Python traceback the line of the exception,
--   of any other text its first line that is not blank. Null for null.
-- Parameters: p_error.
-- Locks: none.
-- Index: none. The last frame is found greedily, so of a chain that is the exception which arrived.
--   A frame is its File line and the indented lines below it (source, markers, "repeated").
create function emq.headline(p_error text) returns text
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select left(substring(
    case when p_error ~ '(^|\n)Traceback \(most recent call last\)'
         then regexp_replace(p_error, '^.*\n  File "[^\n]*(\n  [^\n]*)*\n', '')
         else p_error end
    from '^\s*([^\n]*)'), 300)
$$;
revoke all on function emq.headline from public;
