-- Takes back what the step made; the ledger itself and every job stay.
drop function emq.cancel, emq.discard, emq.replay, emq.retire;
drop table emq.retiring;
