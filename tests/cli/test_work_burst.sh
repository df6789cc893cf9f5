#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# A worker that ends by itself, or takes in turn. Proves:
#  1. --burst: all that waits is done, then it ends with status 0; also if nothing waits, or the queue is paused
#  2. tasks that are due are done, delayed ones are not waited for; a task that comes back at once is done again
#  3. it does not end while a task runs
#  4. --max-tasks: N tasks are started and end; the rest, even if prefetched, stays in order
#  5. --in-turn: one task of each queue, instead of all of the first queue first
#  6. a burst that prints tasks; and one that stops at a command that cannot be run, with status 3
#  7. a burst whose own record is damaged, before it begins or while it works, ends with status 1, and names it
# shellcheck disable=SC2016 # what stands in single quotes is for another shell
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC2154 # tmp is lib.sh's
cd "$tmp"
start_redis

enqueue() { "$MUSTER" enqueue "$@" >enqueued; }
ok() { check_exit 0 "$MUSTER" "$@"; }
# work CODE OPERAND...
work() { check_exit "$1" "$MUSTER" work "${@:2}"; }
check_waiting() {
    check_exit 0 "$MUSTER" peek "$1" -n 100
    check_out "$2"
}
check_gone() { check_redis 0 EXISTS "muster:worker:$1" "muster:alive:$1" "muster:processing:$1:q"; }
lines() { [[ -e $1 ]] && (($(wc -l <"$1") == $2)); }

# ---- 1
work 0 q --burst --id w -- false
check_gone w
for options in '-c 1' '-c 3' '-c 2 --prefetch 5'; do
    seq 20 | sed 's/^/echo /' | "$MUSTER" enqueue q >enqueued
    enqueue r 'echo 21' 'exit 4'
    # shellcheck disable=SC2086
    work 0 q r --burst --id w $options -- sh
    [[ $(sort -n out | paste -sd' ') == "$(seq 21 | paste -sd' ')" ]] || fail "with $options it did: $(cat out)"
    check_waiting q ''
    check_waiting r ''
    check_gone w
done
check_redis 3 ZCARD muster:failed:r
enqueue q 1
ok pause q
work 0 q --burst -- cat
check_waiting q 1
ok resume q

# ---- 2
work 0 q --burst -- sh -c 'exit 75'
check_redis 1 ZCARD muster:delayed:q
# For Redis the delay of one second is over, and no other.
is_due() { work 0 q --burst -- cat && [[ $(cat out) == 1 ]]; }
wait_for is_due
check_redis 0 ZCARD muster:delayed:q
enqueue q later
ok retry "$("$MUSTER" take --lease 1h q | cut -f 1)" --delay 1h
work 0 q --burst -- cat
check_out ''
check_redis 1 ZCARD muster:delayed:q
ok cancel q later

# ---- 3: a second task comes while the first one runs
enqueue q first
start worker "$MUSTER" work q --burst --id w -c 2 -- sh -c 'read -r name; echo "$name" >>begun
    until [ -e "go-$name" ]; do sleep 0.02; done; echo "$name" >>ended'
wait_for lines begun 1
wait_for redis_is 1 ZCARD muster:idle:q
runs worker
enqueue q second
wait_for lines begun 2
: >go-second
wait_for lines ended 1
runs worker || fail "it ended while a task ran: $(cat worker.err)"
: >go-first
check_end worker 0
lines ended 2 || fail "ended: $(cat ended)"
check_gone w

# ---- 4
for options in '-c 1' '-c 3' '-c 1 --prefetch 9' '-c 9 --burst'; do
    seq 10 | sed 's/^/echo /' | "$MUSTER" enqueue q >enqueued
    # shellcheck disable=SC2086
    work 0 q --max-tasks 4 --id w $options -- sh
    [[ $(sort -n out | paste -sd' ') == '1 2 3 4' ]] || fail "with $options it did: $(cat out)"
    check_waiting q "$(seq 5 10 | sed 's/^/echo /')"
    check_gone w
    work 0 q --max-tasks 100 --burst -- sh
    [[ $(sort -n out | paste -sd' ') == '5 6 7 8 9 10' ]] || fail "the rest: $(cat out)"
done

# ---- 5
for option in '' --in-turn; do
    enqueue q a b c
    enqueue r 1 2 3
    work 0 q r --print --burst $option
    if [[ $option ]]; then
        [[ $(paste -sd' ' out) =~ ^(a 1 b 2 c 3|1 a 2 b 3 c)$ ]] || fail "not in turn: $(cat out)"
    else
        check_out $'a\nb\nc\n1\n2\n3'
    fi
done

# ---- 6
enqueue q $'two\nlines' last
work 0 q --print --burst --json
sed 's/^.*"queue"/{"queue"/' out | diff - <(printf '%s\n' '{"queue":"q","task":"two\nlines"}' '{"queue":"q","task":"last"}')
enqueue q stays
printf '#!/no/such/interpreter\n' >cannot
chmod +x cannot
work 3 q --burst -- ./cannot
check_waiting q stays
work 3 q --burst -- ./not-there
check_waiting q stays
check_usage work q --burst=1
check_usage work q --max-tasks 0
check_err '0 is not from 1 to'

# ---- 7
redis FLUSHALL >said
redis SET muster:worker:w x >said
work 1 q --burst --id w --ttl 1s -- sh
grep -q "cannot go on: registering was refused: the key 'muster:worker:w' has a wrong type" err || fail "it says: $(cat err)"
for damage in 'SET muster:worker:w x' 'HDEL muster:worker:w ttl' 'HSET muster:worker:w ttl junk'; do
    redis FLUSHALL >said
    enqueue q "redis-cli -s '$socket' $damage"
    work 1 q --burst --id w --ttl 1s -- sh
    grep -q "cannot go on: the heartbeat was refused: .*'muster:worker:w'" err || fail "it says: $(cat err)"
done
redis FLUSHALL >said
