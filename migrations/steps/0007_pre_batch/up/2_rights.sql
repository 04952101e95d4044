-- Who may call enqueue_many may call enqueue_batch, which can do nothing more: the new code of an
-- application must not wait for somebody to run roles.sql again.
do $do$
declare
  r record;
begin
  for r in
    select x.grantee, x.is_grantable
      from pg_proc p, aclexplode(p.proacl) x
     where p.oid = 'emq.enqueue_many'::regproc and x.privilege_type = 'EXECUTE' and x.grantee <> p.proowner
  loop
    execute format('grant execute on function emq.enqueue_batch to %s%s',
      case when r.grantee = 0 then 'public' else quote_ident(pg_get_userbyid(r.grantee)) end,
      case when r.is_grantable then ' with grant option' else '' end);
  end loop;
end $do$;
