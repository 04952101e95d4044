-- Who may call the first of each pair may call the second: the new code of an application must not wait
-- for somebody to run roles.sql again.
do $do$
declare
  r record;
begin
  for r in
    select k.new, x.grantee, x.is_grantable
      from (values ('emq.enqueue_many', 'emq.enqueue_unique'), ('emq.pause', 'emq.release_key'),
                   ('emq.place', 'emq.key_holder')) k (old, new)
      join pg_proc p on p.oid = k.old::regproc
      cross join lateral aclexplode(p.proacl) x
     where x.privilege_type = 'EXECUTE' and x.grantee <> p.proowner
  loop
    execute format('grant execute on function %s to %s%s', r.new::regproc,
      case when r.grantee = 0 then 'public' else quote_ident(pg_get_userbyid(r.grantee)) end,
      case when r.is_grantable then ' with grant option' else '' end);
  end loop;
end $do$;
