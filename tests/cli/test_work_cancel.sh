#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What a child of muster work may do, and how it is stopped; the worker survives all of it. Proves:
#  1. a cancelled child gets SIGTERM, and SIGKILL if it goes on; only its task is gone
#  2. the processes that the child started end with it, even if they or the child ignore SIGTERM
#  3. a cancelled child that exits with 0 has finished its task; with any other status the task is gone
#  4. --limit stops a child as a cancel does; --on-limit decides what happens to its task
#  5. a child that prints a gigabyte costs the worker no memory
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC2154 # tmp is lib.sh's
cd "$tmp"
start_redis

enqueue() { "$MUSTER" enqueue "$@" >enqueued; }
ok() { check_exit 0 "$MUSTER" "$@"; }
is_over() { redis_is 0 LLEN "muster:queues:$1" && [[ $(redis HGET "muster:queue:$1" running) =~ ^(0|)$ ]]; }
# all_gone FILE: have all processes ended whose pids are in it?
all_gone() {
    local pid
    while read -r pid; do
        ! kill -0 "$pid" 2>/dev/null || return 1
    done <"$1"
}
lines() { [[ -e $1 ]] && (($(wc -l <"$1") == $2)); }
# check_alive QUEUE: the worker must still do new tasks
check_alive() {
    enqueue "$1" "echo >alive"
    wait_for test -e alive
    wait_for is_over "$1"
    rm alive
}
check_nothing_left() {
    wait_for is_over "$1"
    check_redis 0 EXISTS "muster:queues:$1" "muster:delayed:$1" "muster:failed:$1" "muster:processing:w:$1"
}

# ---- 1: tasks are scripts
start worker "$MUSTER" work q --id w --ttl 1s -c 2 -- sh
enqueue q 'trap "echo TERM >>told" TERM; echo $$ >>stubborn; while :; do sleep 0.02; done'
enqueue q 'echo $$ >>other; until [ -e go ]; do sleep 0.02; done; echo >>other'
wait_for lines stubborn 1
wait_for lines other 1
process=$("$MUSTER" ps --json | grep stubborn | sed 's/^{"process":"\([^"]*\)".*/\1/')
ok cancel --process "$process"
wait_for all_gone stubborn
lines told 1 || fail "not told once before it was killed: $(cat told)"
wait_for says worker "cancelled, is told to stop: $process"
wait_for redis_is 1 HLEN muster:processing:w:q
: >go
wait_for lines other 2
check_nothing_left q
check_alive q

# ---- 2: 'quick' ends at once, but what it started does not; 'slow' does not end either
stubborn='trap "" TERM; echo $$ >>family; while :; do sleep 0.02; done'
for family in "sh -c '$stubborn' & echo \$\$ >>family; wait" \
    "trap '' TERM; sleep 1000 & echo \$! >>family; echo \$\$ >>family; wait; while :; do sleep 0.02; done"; do
    rm -f family
    enqueue q "$family"
    wait_for lines family 2
    ok cancel q "$family"
    check_out "$(printf %s "$family" | cut -c 1-59)…: 0 removed, 1 running told to stop"
    wait_for all_gone family
    check_nothing_left q
    check_alive q
done

# ---- 3: a child that ends by itself when it is told
rm -f begun
for code in 0 1 75 127; do
    child="trap 'exit $code' TERM; echo >>begun; while :; do sleep 0.02; done"
    enqueue q "$child"
    wait_for test -e begun
    rm begun
    ok cancel q "$child"
    check_nothing_left q
    check_alive q
done
# One task finished; those before it and the other three did not.
check_redis 6 HGET muster:queue:q cancelled
end worker TERM 0

# ---- 4: `next` waits after the task; if the task is given back it comes before `next`, if retried after it
child='echo child >>begun; while :; do sleep 0.02; done'
# began ORDER: did these begin first, in this order?
began() { [[ -e begun && $(paste -sd' ' begun) == "$1"* ]]; }
for end in '' fail retry give-back; do
    rm -f begun
    enqueue limit "$child" 'echo next >>begun'
    start worker "$MUSTER" work limit --id w --limit 300ms ${end:+--on-limit "$end"} --retry-delay 10ms -- sh
    case $end in
    '' | fail)
        wait_for is_over limit
        began 'child next' || fail "it began: $(cat begun)"
        ok failed limit --json
        grep -qF '"group":"limit"' out || fail "not failed: $(cat out)"
        ok drop limit --all
        ;;
    retry) wait_for began 'child next child' ;;
    give-back) wait_for began 'child child' ;;
    esac
    ok cancel limit "$child"
    check_nothing_left limit
    says worker 'past --limit, is told to stop: w:' || fail "nothing about it: $(cat worker.err)"
    check_alive limit
    end worker TERM 0
done

# ---- 5
start worker sh -c 'exec "$@" >/dev/null' sh "$MUSTER" work big --id w --ttl 1s -- sh
wait_for says worker 'takes tasks'
enqueue big 'head -c 1073741824 /dev/zero && echo >printed'
wait_for test -e printed
check_nothing_left big
peak=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB$/\1/p' "/proc/${pids[worker]}/status")
((peak < 256 * 1024)) || fail "the worker took $peak KiB"
check_alive big
! says worker 'no heartbeat' || fail "it was in doubt: $(cat worker.err)"
end worker TERM 0
