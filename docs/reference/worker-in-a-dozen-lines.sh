#!/usr/bin/env bash
ask() { psql "$EMQ_DSN" -XAqt -F ' ' -v queue="$EMQ_QUEUE" -v id="$id" -v fence="$fence" -v error="$error" <<<"$1"; }
id='' fence=0 error='' held="array[:'id']::uuid[], array[:fence]::bigint[]"
while ask "select from emq.maintain_due('1 s')" >/dev/null; do
  nonce=$(od -An -N5 -tu8 /dev/urandom)
  read -r id fence beat task payload < <(ask "select id, fence, lease_ms / 3000.0, translate(task, ' /', ''), payload
    from emq.claim(:'queue', 1, 'bash $$', $nonce)") || { sleep 1; continue; }
  while sleep "$beat" && kill -0 $$; do ask "select emq.extend($held)"; done >/dev/null 2>&1 & keeper=$!
  error=$(EMQ_JOB_ID=$id "$EMQ_TASKS/$task" <<<"$payload" 2>&1) && end="complete($held)" || end="retry($held, null, array[:'error'])"
  kill $keeper; wait $keeper 2>/dev/null
  ask "select emq.$end" >/dev/null
done
