-- Promise: the one line of an error that says most: of a Python traceback the line of the exception,
--   of a group of exceptions also that of its first one, of any other text its first line that is not
--   blank. Null for null.
-- Parameters: p_error.
-- Locks: none.
-- Index: none. Of a chain, the exception that arrived is the last one. A frame is its File line and
--   the indented lines below it (source, markers, "repeated"). Where something stands before the
--   traceback, or its middle was left out, the last frame is looked for, in the message too if need be.
create function emq.headline(p_error text) returns text
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
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
revoke all on function emq.headline from public;
