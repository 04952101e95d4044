-- Promise: upkeep for p_seconds, for a scheduler that starts it once a minute at most: a pass of
--   maintain each p_every, the next one at once after one that was full, and between them the steps
--   of tidy until there is nothing to do. Each pass and each step is a transaction of its own. One
--   that fails is a warning and ends nothing; when the last one failed too, so does the call, at its
--   end, so that who started it learns of it. Ends by itself once nothing is due within p_seconds.
-- Parameters: p_seconds; p_every, 100 ms at least.
-- Locks: those of maintain and tidy, given back after each. None while it sleeps, and no snapshot
--   older than a second.
-- Index: none.
--
-- A procedure that commits can have no SET clause and cannot run as its owner: so it is INVOKER, and
-- sets the path itself, anew in each transaction, before it looks anything up. All the same it needs
-- no right but to execute this, maintain and tidy. Cannot be called inside a transaction block.
create procedure emq.maintain_loop(p_seconds int default 55, p_every interval default '5 s')
language plpgsql
as $$
declare
  v_until pg_catalog.timestamptz;
  v_next pg_catalog.timestamptz;
  v_full boolean;
  v_tidying boolean;
  v_failed text;
  v_untidy text;
begin
  loop
    commit;
    set transaction isolation level read committed;
    set local search_path = pg_catalog, pg_temp;
    if v_until is null then
      if p_seconds is null or p_seconds < 0 or p_every is null or p_every < interval '100 ms' then
        raise exception 'emq: upkeep for % s, a pass each %, cannot be', p_seconds, p_every
          using errcode = 'EQ006',
                hint = 'Give p_seconds of 0 or more, and p_every of 100 ms or more.';
      end if;
      v_next := clock_timestamp();
      v_until := v_next + make_interval(secs => p_seconds);
      v_tidying := true;
    end if;

    -- COMMIT cannot stand in a block that catches, so it stands before it, at the head of the loop.
    if clock_timestamp() >= v_next then
      v_next := greatest(v_next + p_every, clock_timestamp());
      v_failed := null;
      begin
        select m.promoted >= 1000 or m.recovered + m.dead >= 1000 into v_full
          from emq.maintain(1000) m;
        if v_full then
          v_next := clock_timestamp();
        end if;
      exception when others then
        v_failed := sqlerrm;
        raise warning 'emq: a pass of upkeep failed: %', sqlerrm using errcode = sqlstate;
      end;
    elsif v_tidying then
      v_untidy := null;
      begin
        select t.did not in ('nothing', 'busy') into v_tidying from emq.tidy() t;
      exception when others then
        v_tidying := false;
        v_untidy := sqlerrm;
        raise warning 'emq: a step of tidying failed: %', sqlerrm using errcode = sqlstate;
      end;
    else
      perform pg_sleep(least(1, extract(epoch from v_next - clock_timestamp())));
    end if;
    exit when v_next > v_until and (not v_tidying or clock_timestamp() >= v_until);
  end loop;
  commit;
  if v_failed is not null or v_untidy is not null then
    raise exception 'emq: the last % failed: %',
      case when v_failed is not null then 'pass of upkeep' else 'step of tidying' end,
      coalesce(v_failed, v_untidy);
  end if;
end $$;
revoke all on procedure emq.maintain_loop from public;
