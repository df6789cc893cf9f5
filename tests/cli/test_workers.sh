#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# muster workers. Proves:
#  1. no worker: the headings as text, nothing as JSON, status 0
#  2. a row for each worker: its id, whether it is alive, when it was last heard, its hands and the tasks it holds, its
#     ttl, host, pid and queues
#  3. a worker whose liveness key has expired is listed as not alive
#  4. of each queue that shares evenly, what a worker holds, and its share; and the queue's row, its hands and moves
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
start_redis

workers() { check_exit 0 "$MUSTER" workers "$@"; }

# ---- 1
workers
check_out 'ID  ALIVE  HEARD  HANDS  HELD  TTL  HOST  PID  QUEUES'
workers --json
check_out ''

# ---- 2
"$MUSTER" enqueue one task >"$tmp/out"
start w1 "$MUSTER" work one two --id w1 -c 3 --ttl 1m -- sleep 1000
wait_for redis_is 1 HLEN muster:processing:w1:one
wait_for redis_is 1 ZCARD muster:idle:two
workers
sed -i "s/ $(hostname) / HOST /; s/ ${pids[w1]} / PID /; s/ [0-9]\.[0-9] s / HEARD /; s/  */ /g" "$tmp/out"
check_out 'ID ALIVE HEARD HANDS HELD TTL HOST PID QUEUES
w1 yes HEARD 3 1 1m HOST PID one,two'
workers --json
started=$(sed 's/.*"started_at_ms":\([0-9]*\).*/\1/' "$tmp/out")
now=$(date +%s%3N)
((started > now - 60000 && started <= now + 1000)) || fail "started at $started, now it is $now"
sed -i 's/"heard_ms":[0-9]*,/"heard_ms":N,/; s/"started_at_ms":[0-9]*/"started_at_ms":N/; s/"epoch":"[0-9a-v]\{11\}"/"epoch":"E"/; s/"started_at":"20[^"]*Z"/"started_at":TIME/' "$tmp/out"
version=$("$MUSTER" --version)
check_out "{\"worker\":\"w1\",\"alive\":true,\"heard_ms\":N,\"hands\":3,\"held\":1,\"ttl_ms\":60000,\
\"host\":\"$(hostname)\",\"pid\":${pids[w1]},\"queues\":[\"one\",\"two\"],\"permanent\":false,\"version\":\"${version#muster }\",\"started_at_ms\":N,\"epoch\":\"E\",\"shares\":[],\"started_at\":TIME}"

# ---- 3
end w1 KILL 137
redis DEL muster:alive:w1 >"$tmp/out"
workers
grep -qE '^w1 +no +- +3 ' "$tmp/out" || fail "not dead: $(cat "$tmp/out")"
workers --json
grep -qF '"alive":false,"heard_ms":null,' "$tmp/out" || fail "not dead: $(cat "$tmp/out")"

# ---- 4: five tasks that stay, on 4 and 6 hands: 2 and 3
"$MUSTER" config --queue even share=even max_crashes=0 >"$tmp/out"
start a "$MUSTER" work even one --id a -c 4 --ttl 1s --drain 0s -- sleep 1000
wait_for redis_is 1 ZCARD muster:idle:even
"$MUSTER" enqueue even 1 2 3 4 >"$tmp/out"
wait_for redis_is 4 HLEN muster:processing:a:even
workers --json
grep -F '"worker":"a"' "$tmp/out" | grep -qF '"shares":[{"queue":"even","hands":4,"holds":4,"least":4,"most":4}]' ||
    fail "no share: $(cat "$tmp/out")"
start b "$MUSTER" work even --id b -c 6 --ttl 1s --drain 0s -- sleep 1000
wait_for redis_is 1 HEXISTS muster:worker:b s:even
"$MUSTER" enqueue even 5 >"$tmp/out"
wait_for redis_is 2 HLEN muster:processing:a:even
wait_for redis_is 3 HLEN muster:processing:b:even
workers --json
grep -F '"worker":"a"' "$tmp/out" | grep -qF '"shares":[{"queue":"even","hands":4,"holds":2,"least":2,"most":2}]' ||
    fail "another share of a: $(cat "$tmp/out")"
grep -F '"worker":"b"' "$tmp/out" | grep -qF '"shares":[{"queue":"even","hands":6,"holds":3,"least":3,"most":3}]' ||
    fail "another share of b: $(cat "$tmp/out")"
check_exit 0 "$MUSTER" queues --json
grep -qF '"share":"even","hands":10,"moved":2,"held":0,"stalled":0,"died":0}' "$tmp/out" || fail "another row: $(cat "$tmp/out")"
end a TERM 0
end b TERM 0
