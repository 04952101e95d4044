-- Promise: whether this database is where it was when workers first ran in it: yes | no (it is a copy,
--   or has moved: nothing of it is to run before emq.adopt) | unknown (the server does not say where it
--   is, see here.sql: the tag alone tells). The first who asks makes it the home. A database whose tag
--   is that of the application is at home wherever it is, and its new home is kept; audited.
-- Parameters: p_environment, the application's own, or null.
-- Locks: the meta row when it is written, SKIP LOCKED: else the next one writes it.
-- Index: meta_pk.
create function emq.at_home(p_environment text default null) returns text
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_here text := emq.here();
  m emq.meta;
begin
  select x.* into m from emq.meta x;
  if v_here is null then
    return 'unknown';
  elsif m.home = v_here then
    return 'yes';
  elsif m.home is not null and m.environment is distinct from p_environment
        or m.home is not null and p_environment is null then
    return 'no';
  end if;
  if current_setting('transaction_read_only') = 'off' then  -- else whoever comes next writes it
    update emq.meta x set home = v_here
     where x.one = any (select y.one from emq.meta y
                         where y.home is not distinct from m.home for update skip locked);
    if found and m.home is not null then
      insert into emq.audit (verb, detail)
      values ('moved', jsonb_build_object('from', m.home, 'to', v_here, 'environment', p_environment));
    end if;
  end if;
  return 'yes';
end $$;
revoke all on function emq.at_home from public;
