-- Holds: one row for each unique key that an enqueue has taken: which job holds it, and for how long it
-- counts. Only an enqueue with a key, tidy and erase look here: no claim, completion, reap or promote
-- knows it, so a row that stays locked or is wrong stops none of them.
create table emq.unique_key (
  key text collate "C" constraint unique_key_pk primary key,
  id uuid not null,
  scope text not null constraint unique_key_scope_ck check (scope in ('waiting', 'unfinished', 'until')),
  until timestamptz,
  look_at timestamptz not null,  -- when tidy looks whether it still counts
  constraint unique_key_ck check (length(key) between 1 and 500),
  constraint unique_key_until_ck check ((scope = 'until') = (until is not null))
);

create index unique_key_look_at_idx on emq.unique_key (look_at);
create index unique_key_id_idx on emq.unique_key (id);
revoke all on emq.unique_key from public;
