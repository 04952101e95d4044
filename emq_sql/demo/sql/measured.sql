-- Shows: each file with what was measured of it; nulls while its job is not done.
create view demo.measured as
select f.path, f.job_id, r.size, r.sha256, r.lines, r.functions, r.classes, r.error,
       r.measured_by, r.attempts, r.measured_at
  from demo.file f
  left join demo.result r on r.job_id = f.job_id;
