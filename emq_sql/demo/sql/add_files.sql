-- Promise: a row for each file of a batch, in the transaction that enqueues their jobs.
-- Parameters: paths, jobs, sizes in step.
-- Locks: none but those of the new rows.
-- Index: file_pk, file_path_excl.
insert into demo.file (path, job_id, size)
select * from unnest(%(paths)s::text[], %(jobs)s::uuid[], %(sizes)s::bigint[])
