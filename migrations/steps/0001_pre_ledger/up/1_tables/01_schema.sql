-- Holds: everything of this ledger. One schema, so that one name qualifies it all, and dropping it
-- is the whole of uninstalling. Another name than emq is put in when a step is rendered.
create schema emq;

-- Holds: places in line. A sequence, because a place must be had without waiting for anybody;
-- gaps are harmless, and order among open transactions is approximate by nature.
create sequence emq.ord_seq as bigint;
