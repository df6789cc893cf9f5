#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# muster sweep. Proves:
#  1. nothing to sweep is no error; a live worker is left alone, and so is a dead one that is permanent
#  2. when no worker is left, it gives the tasks of the dead ones back to the front, in order, and prints how many
#     workers they were; the second time nothing is left to do
#  3. a task whose worker has died three times goes to the failed list, group "crashed"; one that saw only two of
#     these deaths does not; with a limit of 0 none does. Replayed it is no suspect. The help of `work` tells the way.
#  4. it takes no operands, and needs a Redis
#  5. a damaged worker is named, with status 1; it is not changed, and the others are swept all the same
#  6. all leases that have lapsed are over after one sweep, however many there are
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
start_redis

sweep() { check_exit 0 "$MUSTER" sweep "$@"; }
enqueue() { "$MUSTER" enqueue "$@" >"$tmp/out"; }
nothing_waits() { [[ -z $("$MUSTER" peek "$1") ]]; }
has_begun() { [[ -n $(<"/proc/${pids[$1]}/task/${pids[$1]}/children") ]]; }
# die NAME QUEUE: a worker takes all that waits in the queue, begins, and dies
die() {
    start "$1" "$MUSTER" work "$2" --id "$1" -c 9 --ttl 500ms -- sleep 1000
    wait_for nothing_waits "$2"
    wait_for has_begun "$1"
    end "$1" KILL 137
}
# swept N: waits until the ttl and any grace are over; then one sweep must find N
swept() {
    [[ $("$MUSTER" sweep --json | tee "$tmp/swept") == "{\"workers\":$1}" ]] && return
    [[ $(cat "$tmp/swept") == '{"workers":0}' ]] || fail "not $1 at once: $(cat "$tmp/swept")"
    return 1
}
check_waiting() {
    check_exit 0 "$MUSTER" peek "$1"
    check_out "$2"
}

# ---- 1
sweep
check_out '0 dead workers swept'
sweep --json
check_out '{"workers":0}'
start alive "$MUSTER" work other --print --id alive --ttl 1m
wait_for says alive 'takes tasks'
start permanent "$MUSTER" work p --id permanent --permanent --ttl 500ms -- sleep 1000
enqueue p kept
wait_for redis_is 1 HLEN muster:processing:permanent:p
end permanent KILL 137
wait_for redis_is 0 EXISTS muster:alive:permanent
enqueue p kept
sweep
check_out '0 dead workers swept'
check_redis 1 HLEN muster:processing:permanent:p
check_redis 2 ZCARD muster:registry
end alive TERM 0

# ---- 2
enqueue q one two three
die w1 q
enqueue q four
wait_for swept 1
check_waiting q $'one\ntwo\nthree\nfour'
check_redis 0 EXISTS muster:worker:w1 muster:processing:w1:q
check_redis 0 HGET muster:queue:q running
sweep
check_out '0 dead workers swept'

# ---- 3
enqueue poison bad
for neighbour in first second third; do # the first death says nothing but that it is a suspect
    die w1 poison
    wait_for swept 1
    enqueue poison $neighbour
done
check_redis 0 EXISTS muster:failed:poison
die w1 poison
wait_for swept 1
check_waiting poison $'first\nsecond\nthird'
check_redis 1 ZCARD muster:failed:poison
[[ $(redis ZRANGE muster:failed:poison 0 -1) =~ ^[0-9a-v]{11}:2:7:.*:w1crashed.*bad$ ]] ||
    fail "the failed one: $(redis ZRANGE muster:failed:poison 0 -1)"
[[ $(redis ZRANGE muster:failed:poison 0 -1) == *'its worker died 3 times while it ran alone'* ]] ||
    fail "the message: $(redis ZRANGE muster:failed:poison 0 -1)"
check_exit 0 "$MUSTER" replay poison --group crashed
check_waiting poison $'first\nsecond\nthird\nbad'
check_redis 0 EXISTS muster:suspects:poison
redis HSET muster:queue:never max_crashes 0 >"$tmp/out"
enqueue never bad
for _ in 1 2 3 4; do
    die w1 never
    wait_for swept 1
done
check_waiting never bad

check_exit 0 "$MUSTER" work --help
grep -q 'four in all.*crashed' <(tr '\n' ' ' <"$tmp/out") || fail "how many deaths? $(cat "$tmp/out")"
grep -q 'replay QUEUE --group crashed' "$tmp/out" || fail "what then? $(cat "$tmp/out")"

# ---- 4
check_usage sweep word
check_err "'word' is one word too many"
check_exit 69 "$MUSTER" sweep --url "unix://$tmp/nobody"

# ---- 5: the damaged one has been dead for longer, so it is swept first
enqueue broken task
die w1 broken
redis RENAME muster:processing:w1:broken aside >"$tmp/out"
redis SET muster:processing:w1:broken 'not a hash' >"$tmp/out"
enqueue good task
die w2 good
refused() { ! "$MUSTER" sweep >"$tmp/out" 2>"$tmp/err"; }
wait_for refused
check_err "'muster:processing:w1:broken' has a wrong type"
swept_in_passing() {
    check_exit 1 "$MUSTER" sweep
    redis_is 0 EXISTS muster:worker:w2
}
wait_for swept_in_passing
check_waiting good task
check_redis 1 EXISTS muster:worker:w1
redis RENAME aside muster:processing:w1:broken >"$tmp/out"
sweep
check_out '1 dead worker swept'
check_waiting broken task

# ---- 6
export MUSTER_PREFIX=leases # of which nobody else moves anything
seq 900 | "$MUSTER" enqueue q >"$tmp/out"
"$MUSTER" take q -n 900 --lease 1h >"$tmp/out"
lapse="for _, field in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do redis.call('ZADD', KEYS[1], 1, field) end
    return redis.call('HSET', KEYS[2], 'due', 1)"
redis EVAL "$lapse" 2 leases:leases:q leases:queue:q >"$tmp/out"
check_redis 900 ZCARD leases:leases:q
sweep
check_redis 0 ZCARD leases:leases:q
check_waiting q "$(seq 900 | head -n 10)"
