-- Hot tables are vacuumed by the number of dead rows, at full speed: they are small when healthy,
-- and their dead rows are what a claim would walk. Analyze is off: the functions pin their plans,
-- and statistics of a moment when a table was empty make a planner choose full scans.
do $do$
declare
  t text;
begin
  foreach t in array array['pending', 'active', 'scheduled'] loop
    execute format(
      'alter table emq.%I set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000,'
      ' autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0,'
      ' autovacuum_analyze_threshold = 1000000000)', t);
  end loop;
end $do$;

alter table emq.settled set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
