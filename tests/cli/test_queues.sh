#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# muster queues. Proves:
#  1. no queue: the headings as text, nothing as JSON, status 0
#  2. a row for each queue, the oldest first, with what waits, runs, is delayed and has failed and how many bytes that
#     is, with idle workers, and whether it is paused; in JSON also what was cancelled, and jobs in other states
#  3. names and figures of any width stay in their columns; names that are not UTF-8 are escaped, and base64 in JSON
#  4. for how long at least the oldest waits, and how many have come and left
#  5. more rows than a table holds back at once are all there, under one heading
#  6. queues that are named have the rows, in this order; one that is not there is named, with status 3
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
start_redis

# What changes by itself is looked at in 4.
queues() {
    check_exit 0 "$MUSTER" queues "$@"
    sed -Ei -e 's/  OLDEST$//; s/  (no|yes) .*$/  \1/; s/,"oldest_ms":.*/}/' "$tmp/out"
}

# ---- 1
queues
check_out 'NAME  WAITING  RUNNING  DELAYED  FAILED  FAILED-BYTES  IDLE  PAUSED'
queues --json
check_out ''

# ---- 2: one task in hand, one delayed, two failed, one waiting after them
"$MUSTER" enqueue mixed 'exit 75' 'exit 1' 'exit 2' 'exec sleep 1000' waits >"$tmp/out"
"$MUSTER" enqueue plain a b >"$tmp/out"
start worker "$MUSTER" work mixed idle --retry-delay 1h --drain 0s -- sh
wait_for redis_is 2 ZCARD muster:failed:mixed
wait_for redis_is 1 HGET muster:queue:mixed running
wait_for redis_is 1 LLEN muster:queues:mixed
bytes=$(redis HGET muster:failures:mixed bytes)
queues
check_out "NAME   WAITING  RUNNING  DELAYED  FAILED  FAILED-BYTES  IDLE  PAUSED
mixed        1        1        1       2           $bytes     0  no
plain        2        0        0       0             0     0  no
idle         0        0        0       0             0     0  no"
queues --json
none='"depends":0,"recurring":0,"complete":0,"cancelled":0,"failed_dropped":0'
check_out '{"queue":"mixed","waiting":1,"running":1,"delayed":1,"failed":2,"failed_bytes":'"$bytes"',"idle":0,"paused":false,'"$none"'}
{"queue":"plain","waiting":2,"running":0,"delayed":0,"failed":0,"failed_bytes":0,"idle":0,"paused":false,'"$none"'}
{"queue":"idle","waiting":0,"running":0,"delayed":0,"failed":0,"failed_bytes":0,"idle":0,"paused":false,'"$none"'}'
end worker TERM 0
start worker "$MUSTER" work idle --print
wait_for redis_is 1 ZCARD muster:idle:idle
queues
grep -qE '^idle +0 +0 +0 +0 +0 +1  no$' "$tmp/out" || fail "no idle worker: $(cat "$tmp/out")"
end worker TERM 0

redis HSET muster:queue:plain paused 1 >"$tmp/out"
queues
grep -qE '^plain +2 +0 +0 +0 +0 +0  yes$' "$tmp/out" || fail "not paused: $(cat "$tmp/out")"
queues --json
grep -qF '"queue":"plain","waiting":2,"running":0,"delayed":0,"failed":0,"failed_bytes":0,"idle":0,"paused":true' "$tmp/out" ||
    fail "not paused: $(cat "$tmp/out")"

# ---- 3
"$MUSTER" enqueue --prefix other $'\xe9\xc2\x9b' x >"$tmp/out"
"$MUSTER" enqueue --prefix other 'grüße' x >"$tmp/out"
seq 123456 | "$MUSTER" enqueue --prefix other 'a longer name' >"$tmp/out"
queues --prefix other
check_out 'NAME           WAITING  RUNNING  DELAYED  FAILED  FAILED-BYTES  IDLE  PAUSED
\xe9\xc2\x9b         1        0        0       0             0     0  no
grüße                1        0        0       0             0     0  no
a longer name   123456        0        0       0             0     0  no'
queues --prefix other --json
grep -q '^{"queue_base64":"6cKb","waiting":1,' "$tmp/out" || fail "not base64: $(cat "$tmp/out")"
grep -q '^{"queue":"grüße","waiting":1,' "$tmp/out" || fail "not text: $(cat "$tmp/out")"

# ---- 4
redis LPUSH muster:queues:plain foreign >"$tmp/out"
check_exit 0 "$MUSTER" queues --json
grep -qE '"queue":"plain",.*,"oldest_ms":[0-9]+,"oldest_error_ms":[0-9]+,"in":3,"out":0,"share":"none","hands":0,"moved":0,"held":0,"stalled":0,"died":0}$' "$tmp/out" ||
    fail "no age: $(cat "$tmp/out")"
grep -qE '"queue":"idle",.*,"oldest_ms":null,"oldest_error_ms":null,"in":0,"out":0,"share":"none","hands":0,"moved":0,"held":0,"stalled":0,"died":0}$' "$tmp/out" ||
    fail "an age: $(cat "$tmp/out")"
check_exit 0 "$MUSTER" queues
grep -qE '^NAME .* OLDEST$' "$tmp/out" || fail "no heading: $(cat "$tmp/out")"
grep -qE '^plain +3 .* yes +[0-9.]+ (s|min)' "$tmp/out" || fail "no age: $(cat "$tmp/out")"

# ---- 5
redis EVAL "for i = 1, 2500 do redis.call('ZADD', 'lots:names', i, 'queue' .. i) end" 0 >"$tmp/out"
queues --prefix lots
(($(wc -l <"$tmp/out") == 2501)) || fail "$(wc -l <"$tmp/out") lines, not 2501"
cmp <(awk '{ print $1 }' "$tmp/out") <(echo NAME && seq -f 'queue%.0f' 2500)

# ---- 6
check_exit 3 "$MUSTER" queues plain nosuch mixed
[[ $(awk '{ print $1 }' "$tmp/out" | xargs) == 'NAME plain mixed' ]] || fail "not these: $(cat "$tmp/out")"
check_err "there is no queue 'nosuch'"
check_usage queues ''
