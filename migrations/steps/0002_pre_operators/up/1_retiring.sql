-- Holds: how far retire has come with a day. Each archive row is visited once, in id order.
create table emq.retiring (
  day date constraint retiring_pk primary key,
  upto uuid,
  done bigint not null default 0,
  total bigint not null
);
revoke all on emq.retiring from public;
