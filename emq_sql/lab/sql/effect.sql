-- Holds: what the handlers of the lab did: a row for each effect. There is no unique key, on purpose:
-- an effect that was had twice stays visible, and the grid counts it.
create table emq.lab_effect (
  cell int not null,
  job_id uuid not null,
  attempts int not null,
  pid int not null
);
