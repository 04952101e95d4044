-- Takes back what the functions before need no more; every job stays as it is.
drop function emq.enqueue_batch;
