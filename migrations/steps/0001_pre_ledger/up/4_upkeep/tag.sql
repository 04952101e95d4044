-- Promise: names the environment that this database belongs to. A worker whose application names
--   another one, or none, refuses to run: a copied production database runs nothing. Audited.
-- Parameters: p_environment, null to take the tag off; p_label.
-- Locks: the meta row.
-- Index: meta_pk.
create function emq.tag(p_environment text, p_label text default null) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  update emq.meta set environment = p_environment;
  insert into emq.audit (verb, label, detail)
  values ('tag', p_label, jsonb_build_object('environment', p_environment));
end $$;
