-- Promise: sets what is named of the ledger's own settings and leaves the rest; null resets one to
--   its default. Refusals as in set_queue. Audited.
-- Parameters: p_settings, an object: retention (how long finished jobs are kept where their queue
--   says nothing), audit_retention, inbox_retention, export_first (no day goes that is not exported);
--   p_label.
-- Locks: the meta row, waited for 5 s at most.
-- Index: meta_pk.
create or replace function emq.set_ledger(p_settings jsonb, p_label text default null) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '5s'
as $$
declare
  s jsonb := p_settings;
  v_broken text;
  v_said text;
begin
  perform emq.refuse_settings(s, array['retention', 'audit_retention', 'inbox_retention', 'export_first']);
  if s @? 'strict $.* ? (@.type() == "object" || @.type() == "array")' then
    raise exception using errcode = 'data_exception', message = 'one value is needed for each name';
  end if;
  update emq.meta m set
    retention = case when s ? 'retention'
      then coalesce(emq.finite('retention', (s ->> 'retention')::interval), '30 days')
      else m.retention end,
    audit_retention = case when s ? 'audit_retention'
      then coalesce(emq.finite('audit_retention', (s ->> 'audit_retention')::interval), '1 year')
      else m.audit_retention end,
    inbox_retention = case when s ? 'inbox_retention'
      then coalesce(emq.finite('inbox_retention', (s ->> 'inbox_retention')::interval), '30 days')
      else m.inbox_retention end,
    export_first = case when s ? 'export_first'
      then coalesce((s ->> 'export_first')::boolean, false) else m.export_first end;
  insert into emq.audit (verb, label, detail) values ('configure', p_label, s);
exception when data_exception or check_violation then
  get stacked diagnostics v_broken = constraint_name;
  select obj_description(c.oid, 'pg_constraint') into v_said
    from pg_constraint c
   where c.conname = v_broken and c.conrelid in ('emq.queue'::regclass, 'emq.meta'::regclass);
  raise exception 'emq: a setting of the ledger cannot be: %', coalesce(v_said, sqlerrm)
    using errcode = 'EQ006', hint = 'Look at the settings that were given: ' || s::text;
end $$;
revoke all on function emq.set_ledger from public;
