-- Takes back what the functions before need no more; every job stays as it is, and is unique no more.
drop function emq.enqueue_unique, emq.take_key, emq.tidy_keys, emq.release_key, emq.key_holder, emq.holds_key;
drop table emq.unique_key;
