-- Promise: the same key and instant always give the same id, laid out as a UUIDv7, so that it is
--   found in the archive by its instant like any other.
-- Parameters: p_key any text; p_at the instant (to the millisecond) that belongs to the key.
-- Locks: none.
-- Index: none.
create function emq.job_id(p_key text, p_at timestamptz) returns uuid
language sql immutable
as $$
  select encode(
    set_bit(set_bit(set_bit(set_bit(set_bit(set_bit(
      overlay(decode(md5(p_key), 'hex')
        placing substring(int8send(floor(extract(epoch from p_at) * 1000)::bigint) from 3)
        from 1 for 6),
      55, 0), 54, 1), 53, 1), 52, 1), 71, 1), 70, 0),
    'hex')::uuid
$$;
