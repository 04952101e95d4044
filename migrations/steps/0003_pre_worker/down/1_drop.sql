-- Takes back what the step made; every job stays as it is.
drop function emq.stall, emq.keep, emq.ring_parked, emq.park, emq.bell_locks, emq.claim_any,
  emq.maintain_due;
alter table emq.settled drop column at;
