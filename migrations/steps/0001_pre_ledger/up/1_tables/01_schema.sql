-- Holds: everything of this ledger. One schema, so that one name qualifies it all, and dropping it
-- is the whole of uninstalling. Another name than emq is put in when a step is rendered.
create schema emq;

-- The floors of claims are settings that begin with the schema's name. A name that an extension has
-- reserved for its own settings is refused here, and not by the first claim.
do $do$
begin
  perform set_config('emq.f', '', true);
end $do$;

-- Holds: places in line. A sequence, because a place must be had without waiting for anybody;
-- gaps are harmless, and order among open transactions is approximate by nature.
create sequence emq.ord_seq as bigint;
