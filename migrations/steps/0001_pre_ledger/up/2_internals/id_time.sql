-- Promise: the instant in a UUIDv7 (its first 48 bits); null when the id is not version 7.
-- Parameters: p_id.
-- Locks: none.
-- Index: none. INVOKER and immutable, so that it is inlined.
create function emq.id_time(p_id uuid) returns timestamptz
language sql immutable
as $$
  select case when substr(p_id::text, 15, 1) = '7' then
    to_timestamp(('x' || translate(left(p_id::text, 13), '-', ''))::bit(48)::bigint / 1000.0) end
$$;
