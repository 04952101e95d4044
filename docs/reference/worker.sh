#!/usr/bin/env bash
# A worker for one queue, one job at a time:
#
#   EMQ_DSN=postgresql:///shop EMQ_TASKS=/srv/tasks bash worker.sh mail
#
# The task of a job is the name of a program in EMQ_TASKS. It reads the payload from its standard
# input and finds the job's id in EMQ_JOB_ID. Exit code 0 completes the job; any other fails it, with
# the last line of the output as the error. On SIGTERM it may run for EMQ_GRACE seconds (10) more,
# then the job is given back; on a second SIGTERM at once.
set -u
queue=${1:-${EMQ_QUEUE:-default}} worker=$HOSTNAME:$$:$RANDOM stop=''
id='' fence='' nonce='' attempts='' failures='' error=''
export PGCONNECT_TIMEOUT=5 PGOPTIONS="${PGOPTIONS-} -c default_transaction_isolation=read\ committed"
output=$(mktemp)
trap 'rm -f "$output"' EXIT
trap 'stop=${stop:+0}; stop=${stop:-$((SECONDS + ${EMQ_GRACE:-10}))}' TERM INT

ask() {  # Values reach the statement as psql's variables, never as its text.
  timeout 5 psql ${EMQ_DSN:+"$EMQ_DSN"} -XAqt -F ' ' -v ON_ERROR_STOP=1 -v queue="$queue" \
    -v worker="$worker" -v nonce="$nonce" -v id="$id" -v fence="$fence" -v attempts="$attempts" \
    -v failures="$failures" -v error="$error" -v environment="${EMQ_ENVIRONMENT-}" <<<"$1"
}

run() {  # Runs the job's program and extends the lease. The verdict: its exit code, stopped or lost.
  exec {program}< <(  # in a process group of its own, deaf to signals that are for the worker
    set -m; trap '' TERM INT
    EMQ_JOB_ID=$id "$EMQ_TASKS/$task" <<<"$payload" >"$output" 2>&1 & echo $!; wait $!; echo $?
  )
  read -ru "$program" group
  verdict=''
  printf -v tick '0.%03d' $((lease / 3 < 999 ? lease / 3 : 999))
  while [ -z "$verdict" ]; do
    read -rt "$tick" -u "$program" code
    if [ $? -le 128 ]; then
      verdict=${code:-gone}
    elif [ "$stop" ] && [ "$SECONDS" -ge "$stop" ]; then
      verdict=stopped
    elif [ $((SECONDS - extended)) -lt $((lease / 3000)) ]; then
      ask "select from emq.maintain_due('1 s')" >/dev/null
    else
      asked=$SECONDS
      case $(ask "select answers[1] from emq.keep($held)") in
        done) extended=$asked ;;
        busy) ;;
        lost | cancelled) verdict=lost ;;
        *) [ $((SECONDS + 6 - extended)) -lt $((lease / 1000)) ] || verdict=lost ;;
      esac
    fi
  done
  case $verdict in stopped | lost) kill -KILL -- "-$group"; read -ru "$program" code ;; esac
  exec {program}<&-
  cat "$output" >&2
}

settle() {  # Asks until it is known what became of the job; if it never is, the end of the lease says.
  extended=$SECONDS
  while [ $((SECONDS - extended)) -le $((lease / 1000)) ]; do
    answer=$(ask "select (emq.$1)[1]")
    case $answer in
      busy) sleep 0.5; ask "select from emq.keep($held)" >/dev/null; extended=$SECONDS ;;
      '') sleep 1; case $(ask "select emq.outcome(:'id', :fence)") in '' | yours) ;; *) return ;; esac ;;
      *) echo "$id $task: $answer" >&2; return ;;
    esac
    [ "$stop" ] && [ $((SECONDS - stop)) -gt 10 ] && return
  done
}

found=$(ask "select version, coalesce(environment, '') from emq.meta")
case $found in "8 ${EMQ_ENVIRONMENT-}" | '8 ') ;; *)
  echo "Schema 8 and environment '${EMQ_ENVIRONMENT-}' are wanted here, and there is: $found" >&2
  exit 1
esac
if [ "$(ask "select emq.at_home(nullif(:'environment', ''))")" = no ]; then
  echo 'This database is a copy, or has moved, and is not adopted yet: emq adopt.' >&2
  exit 1
fi
held="array[:'id']::uuid[], array[:fence]::bigint[]"
job="select id, fence, lease_ms, attempts, failures,
            case when task ~ '^[a-zA-Z0-9][a-zA-Z0-9_.-]*\$' then task else '.' end, payload"
later="interval '5 s' * 2 ^ least(:attempts - 1, 9)"
backoff="interval '1 s' * greatest(0.5, random() * 2 ^ least(:failures + 1, 11))"

while [ -z "$stop" ]; do
  ask "select from emq.maintain_due('1 s')" >/dev/null
  nonce=$(($(od -An -N5 -tu8 /dev/urandom))) extended=$SECONDS
  claimed=$(ask "$job from emq.claim(:'queue', 1, :'worker', :nonce)") ||
    until claimed=$(sleep 1; ask "$job from emq.claimed(:nonce)") || [ "$stop" ]; do :; done
  [ "$claimed" ] || { sleep 1; continue; }
  read -r id fence lease attempts failures task payload <<<"$claimed"
  [ -f "$EMQ_TASKS/$task" ] && [ -x "$EMQ_TASKS/$task" ] || { settle "fail($held, array['no handler'], array[$later])"; continue; }
  run
  case $verdict in
    0) settle "complete($held)" ;;
    lost) echo "$id $task: lease lost" >&2 ;;
    stopped) settle "release($held)" ;;
    *)
      error=$(tail -c 1000 "$output" | tail -n 1 | LC_ALL=C tr -cd '[:print:]')
      settle "fail($held, array['exception'], array[$backoff], array[:'error'])"
      ;;
  esac
done
