-- Promise: a new UUIDv7 of the server's clock. Clients mint their own; this is for psql, triggers
--   and other languages.
-- Parameters: none.
-- Locks: none.
-- Index: none.
-- From PostgreSQL 18 it is the built-in uuidv7(); before, the layout of RFC 9562 section 5.7.
do $do$
begin
  if current_setting('server_version_num')::int >= 180000 then
    execute $f$
      create function emq.uuid7() returns uuid
      language sql volatile
      as $q$ select pg_catalog.uuidv7() $q$
    $f$;
  else
    execute $f$
      create function emq.uuid7() returns uuid
      language sql volatile
      as $q$
        select encode(
          set_bit(set_bit(
            overlay(uuid_send(gen_random_uuid())
              placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
              from 1 for 6),
            52, 1), 53, 1),
          'hex')::uuid
      $q$
    $f$;
  end if;
end $do$;
