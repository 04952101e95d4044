-- Takes back what the step made; every job stays as it is.
drop function emq.stall, emq.keep, emq.ring_parked, emq.park, emq.bell_locks;
