-- Promise: the same short text for errors that are the same but for their particulars: numbers (with
--   sign, fraction, and what joins them to a date or an address), hexadecimals, UUIDs and quoted parts
--   count for nothing. Dead letters are grouped by it.
-- Parameters: p_task; p_reason; p_error, of which the headline counts.
-- Locks: none.
-- Index: none. An apostrophe within a word opens no quoted part; one that is cut off has no end.
create function emq.fingerprint(p_task text, p_reason text, p_error text) returns text
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select left(md5(concat_ws(chr(31), p_task, p_reason,
    regexp_replace(
      regexp_replace(
        regexp_replace(
          regexp_replace(emq.headline(p_error),
            '((?<!\w)[bru]{1,2})?"(\\.|[^"\\])*("|$)|(?<!\w)[bru]{0,2}''(\\.|[^''\\])*(''|$)', '?', 'gi'),
          '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\m(0x[0-9a-f]+|[0-9a-f]*[0-9][0-9a-f]*)\M',
          '?', 'gi'),
        '[0-9]+', '?', 'g'),
      '((?<!\w)[-+])?\?([-+.,:/T]*\s?\?)*', '?', 'g'))), 12)
$$;
revoke all on function emq.fingerprint from public;
