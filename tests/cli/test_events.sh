#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# muster events. Proves:
#  1. it says when it listens; from then on each event is one line of JSON, with its time, and written at once
#  2. --queue and --tracked leave out all others
#  3. SIGINT and SIGTERM end it with status 0, --timeout with 124, a closed pipe with SIGPIPE, all without a line about it
#  4. when nobody listens, nothing is published
#  5. it does not hear another database of the same Redis
#  6. one that stood still until Redis had forgotten it ends with 69, because events may be missing
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC2154 # tmp is lib.sh's
cd "$tmp"
start_redis

ok() { check_exit 0 "$MUSTER" "$@"; }
listen() {
    start "$@"
    wait_for says "$1" 'listens'
}
# events NAME: the events that were heard, each with its job
events() { sed 's/.*"what":"\([^"]*\)","id":"\([^"]*\)".*/\1 \2/' "$1.out" | paste -sd,; }
events_are() { [[ $(events "$1") == "$2" ]]; }

# ---- 1
listen all "$MUSTER" events
listen one "$MUSTER" events --queue q
listen tracked "$MUSTER" events --tracked
ok put q data --id a
ok put other data --id b --track
process=$("$MUSTER" take --lease 1h q | cut -f 1)
ok retry "$process" --delay 0s
process=$("$MUSTER" take --lease 1h q | cut -f 1)
ok finish "$process"
ok change b --log 'a line'
ok cancel --job b
wait_for grep -q '"what":"cancelled"' all.out
grep -qE '^\{"at_ms":[0-9]+,"what":"put","id":"a","queue":"q",("text":"[^"]*",)?"tracked":false,"at":"20[^"]*Z"\}$' all.out ||
    fail "not in form: $(cat all.out)"
grep -qE '"what":"taken","id":"a","queue":"q","worker":"\.lease",' all.out || fail "no worker: $(cat all.out)"
grep -qE '"what":"log","id":"b","queue":"other","text":"a line","tracked":true,"at":"20[^"]*Z"\}$' all.out || fail "no line: $(cat all.out)"
now=$(date +%s%3N)
at=$(head -n 1 all.out | sed 's/.*"at_ms":\([0-9]*\).*/\1/')
((at > now - 60000 && at <= now + 1000)) || fail "at $at, now it is $now"

# ---- 2
grep '"queue":"q"' all.out >of-q
wait_for cmp -s of-q one.out
grep '"id":"b"' all.out >of-b
wait_for cmp -s of-b tracked.out
events_are one 'put a,taken a,retried a,taken a,completed a' || fail "of q: $(events one)"

# ---- 3
end all INT 0
end one TERM 0
diff one.err - <<<"muster events: there is no queue 'q' yet
muster events: listens" || fail "it said: $(cat one.err)"
end tracked KILL 137
check_exit 124 "$MUSTER" events --timeout 100ms
check_out ''
check_err 'listens'
mkfifo pipe
# shellcheck disable=SC2016 # the inner shell's $0
start closed env --default-signal=PIPE bash -c 'exec "$0" events >pipe' "$MUSTER"
head -n 1 pipe >first &
reader=$!
wait_for says closed listens
ok put q data --id c
wait "$reader"
ok cancel --job c
check_end closed 141
(($(wc -l <closed.err) == 1)) || fail "it said: $(cat closed.err)"

# ---- 4
redis HDEL muster:config listen >said
start monitor redis-cli -s "$socket" MONITOR
wait_for grep -q OK monitor.out
ok put q data --id d
wait_for grep -q '"muster:job:d"' monitor.out
ok job d
wait_for grep -q 'HGETALL.*job:d' monitor.out
! grep -qi publish monitor.out || fail "published: $(grep -i publish monitor.out)"
end monitor KILL 137

# ---- 5
listen here "$MUSTER" events
listen there "$MUSTER" events --url "$MUSTER_URL?db=1"
ok put q data --id one --url "$MUSTER_URL?db=1"
ok put q data --id zero
ok put q data --id two --url "$MUSTER_URL?db=1"
wait_for events_are there 'put one,put two'
wait_for events_are here 'put zero'
end here INT 0
events_are here 'put zero' || fail "heard here: $(events here)"
end there INT 0

# ---- 6
is_forgotten() { (($(redis HGET muster:config listen) < $(date +%s%3N))); }
listen still "$MUSTER" events
ok put q data --id heard
kill -STOP "${pids[still]}"
wait_for is_forgotten
ok put q data --id missed
kill -CONT "${pids[still]}"
check_end still 69
events_are still 'put heard' || fail "heard: $(events still)"
says still 'events may have been missed' || fail "it said: $(cat still.err)"

check_usage events word
check_usage events --queue ''
check_clean
