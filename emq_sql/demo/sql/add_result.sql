-- Promise: one result, in the transaction that completes its job.
-- Parameters: one for each column.
-- Locks: none but that of the new row.
-- Index: result_job_id_idx.
insert into demo.result
  (path, job_id, fence, attempts, measured_by, size, sha256, lines, functions, classes, error)
values
  (%(path)s, %(job_id)s, %(fence)s, %(attempts)s, %(measured_by)s, %(size)s, %(sha256)s, %(lines)s,
   %(functions)s, %(classes)s, %(error)s)
