#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# muster take. Proves:
#  1. no task: status 3, one line, nothing on standard output; also with a paused queue, and after --wait
#  2. per task the id of its process, a tab and the bytes as they are; -n takes N, in order; they are processes then,
#     which `muster ps` shows with the end of the lease by Redis' clock
#  3. JSON has what ps has, and the bytes as text if they are UTF-8 without NUL, otherwise as base64
#  4. every byte value, the empty task and 5 MiB come out as they went in
#  5. --wait ends with a task that another process enqueues, and with a delayed one that becomes due; --timeout does not
#     limit the wait; an idle worker comes first
#  6. a lease that lapses puts the task back to the front, and its process no longer exists; the third time it fails
#  7. tasks that cannot be printed are given back at once, in order
#  8. no Redis: status 69; also if it is killed during the wait
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC2154 # tmp is lib.sh's
cd "$tmp"
start_redis

enqueue() { "$MUSTER" enqueue "$@" >enqueued; }
take() { check_exit 0 "$MUSTER" take "$@"; }
taken() { cut -f 2- out; }
held() { redis HLEN "muster:processing:.lease:$1"; }
# check_waiting QUEUE TASKS
check_waiting() {
    check_exit 0 "$MUSTER" peek "$1" -n 100
    check_out "$2"
}
# waits QUEUE: does a caller other than an idle worker wait for its tasks?
listens() { redis_is "$(printf 'muster_%s_work\n%d' "$1" "${2:-1}")" PUBSUB NUMSUB "muster_$1_work"; }

# ---- 1
for option in '' '-n 100' '--json' '--lease 1h'; do
    # shellcheck disable=SC2086
    check_exit 3 "$MUSTER" take nothing $option
    check_out ''
    check_err "there is no queue 'nothing'"
done
check_redis 0 EXISTS muster:queue:nothing muster:names muster:processing:.lease:nothing
check_exit 3 "$MUSTER" take nothing --wait 50ms
check_out ''
check_err "nothing came from 'nothing' within 50ms"
enqueue stopped a
check_exit 0 "$MUSTER" pause stopped
check_exit 3 "$MUSTER" take stopped
check_err 'or it is paused'
check_exit 0 "$MUSTER" resume stopped
take stopped
[[ $(taken) == a ]]

# ---- 2
enqueue q one $'two\ttabs\nand lines' three four
take q
grep -qE $'^\\.lease:[0-9a-v]{11}:q\tone$' out || fail "not in form: $(cat -A out)"
take q -n 2
[[ $(taken) == $'two\ttabs\nand lines\nthree' ]] || fail "not as they were: $(cat -A out)"
take q -n 1000 --lease 1h
[[ $(taken) == four ]] || fail "not the rest: $(cat -A out)"
check_redis 4 HLEN muster:processing:.lease:q
check_redis 0 LLEN muster:queues:q
process=$(cut -f 1 out)
now=$(date +%s%3N)
check_exit 0 "$MUSTER" ps --task four --json
row="^\{\"process\":\"$process\",\"worker\":\".lease\",\"queue\":\"q\",\"token\":\"[0-9a-v]{11}\",\"started_at_ms\":[0-9]+,\
\"lease_ends_at_ms\":[0-9]+,\"cancelled\":false,\"progress\":\"\",\"len\":4,\"task\":\"four\",\"started_at\":\"20[^\"]*Z\",\"lease_ends_at\":\"20[^\"]*Z\"\}\$"
grep -qE "$row" out || fail "not in form: $(cat out)"
ends=$(sed 's/.*"lease_ends_at_ms":\([0-9]*\).*/\1/' out)
((ends > now + 3540000 && ends <= now + 3600000)) || fail "ends at $ends, now it is $now"
check_exit 0 "$MUSTER" ps
(($(grep -cE '^\.lease:[0-9a-v]{11}:q +[0-9.]+ s +in [0-9]+ (s|min) +no ' out) == 4)) || fail "no leases: $(cat out)"

# ---- 3
enqueue text 'grüße' '' $'a"\n'
take text -n 9 --json
sed -E 's/.*"len"/{"len"/; s/,"started_at":.*/}/' out >tasks
printf '%s\n' '{"len":7,"task":"grüße"}' '{"len":0,"task":""}' '{"len":3,"task":"a\"\n"}' | diff - tasks
check_exit 0 "$MUSTER" ps --queue text --json
diff <(sort out) <("$MUSTER" ps --queue text --json | sort)
printf 'a\0b\0\xff\0' | "$MUSTER" enqueue other -0 >enqueued
printf 'a\0b' | "$MUSTER" enqueue other --whole >enqueued
take other -n 9 --json
sed -E 's/.*"len"/{"len"/; s/,"started_at":.*/}/' out >tasks
printf '%s\n' '{"len":1,"task":"a"}' '{"len":1,"task":"b"}' '{"len":1,"task_base64":"/w=="}' \
    '{"len":3,"task_base64":"YQBi"}' | diff - tasks

# ---- 4
for i in {0..255}; do
    # shellcheck disable=SC2059
    printf "\\$(printf %03o "$i")"
done >bytes
head -c $((5 * 1024 * 1024)) /dev/urandom >large
: >empty
for name in bytes large empty; do
    # shellcheck disable=SC2094 # the one is a queue
    "$MUSTER" enqueue $name --whole <$name >enqueued
    take $name
    { printf '%s\t' "$(redis HKEYS muster:processing:.lease:$name | sed "s/.*/.lease:&:$name/")" && cat $name && echo; } | cmp - out
done

# ---- 5: the wait is longer than this test would wait for it
start waiter "$MUSTER" take woken --wait 5m --timeout 200ms
began=$(date +%s%3N)
wait_for listens woken
longer_than_timeout() { (($(date +%s%3N) > began + 500)); }
wait_for longer_than_timeout
enqueue woken hello
check_end waiter 0
[[ $(cut -f 2 waiter.out) == hello ]] || fail "it got: $(cat waiter.out)"
check_redis 1 HLEN muster:processing:.lease:woken
start waiter "$MUSTER" take due --wait 5m
wait_for listens due
enqueue due later
check_end waiter 0
check_exit 0 "$MUSTER" retry "$(cut -f 1 waiter.out)" --delay 300ms
# Before the delay is over there is none; how long the next command takes to begin is not known.
code=0 && "$MUSTER" take due >out 2>err || code=$?
((code == 3)) || [[ $code == 0 && $(taken) == later && $(redis ZCARD muster:delayed:due) == 0 ]] ||
    fail "status $code: $(cat err)"
((code == 0)) || check_exit 0 "$MUSTER" take due --wait 5m
[[ $(taken) == later ]]
start waiter "$MUSTER" take shared --wait 5m --json
wait_for listens shared
start worker "$MUSTER" work shared --print --id w
wait_for redis_is 1 ZCARD muster:idle:shared
enqueue shared first
wait_for grep -qx first worker.out
runs waiter || fail 'the task went to both, or to the wrong one'
end worker TERM 0
enqueue shared second
check_end waiter 0
grep -qF '"task":"second"' waiter.out || fail "it got: $(cat waiter.out)"
for foreign in 'LPUSH muster:queues:foreign bare' 'PUBLISH muster_foreign_work any'; do
    [[ $foreign == LPUSH* ]] && start waiter "$MUSTER" take foreign --wait 5m && wait_for listens foreign
    # shellcheck disable=SC2086
    redis $foreign >pushed
done
check_end waiter 0
[[ $(cut -f 2 waiter.out) == bare ]] || fail "it got: $(cat waiter.out)"

# ---- 6
enqueue lapse poison next
for n in 0 1 2 3; do # the first lapse says nothing but that it is a suspect
    take lapse --lease 1ms
    [[ $(taken) == poison ]] || fail "time $n: $(cat out)"
    process=$(cut -f 1 out)
    check_swept() {
        check_exit 0 "$MUSTER" sweep
        redis_is 0 HLEN muster:processing:.lease:lapse
    }
    wait_for check_swept
    check_exit 1 "$MUSTER" finish "$process"
    ((n == 3)) || check_waiting lapse $'poison\nnext'
done
check_waiting lapse next
check_exit 0 "$MUSTER" failed lapse --json
grep -qF '"group":"crashed"' out || fail "not failed: $(cat out)"
# The next take moves lapsed tasks, too.
take lapse --lease 1ms
again() {
    "$MUSTER" take lapse --lease 1h >out 2>err
}
wait_for again
[[ $(taken) == next ]] || fail "it got: $(cat out)"

# ---- 7
seq 500 | "$MUSTER" enqueue many >enqueued
mkfifo pipe
# shellcheck disable=SC2094 # a pipe whose reader has gone
exec {both}<>pipe {closed}>pipe {both}<&-
exec {full}>/dev/full
for output in "$full" "$closed"; do
    code=0 && "$MUSTER" take many -n 500 1>&"$output" 2>err || code=$?
    ((code == 1)) || fail "status $code on $output"
    check_err '; 500 tasks were given back'
    check_redis 0 HLEN muster:processing:.lease:many
    check_waiting many "$(seq 100)"
    (($("$MUSTER" peek many -n 1000 | wc -l) == 500)) || fail "not all are back"
done

# A file that may not grow any more takes the first ones.
limited() {
    ulimit -f 1
    exec "$MUSTER" take many -n 500 >file
}
code=0 && (limited) 2>err || code=$?
((code == 1)) || fail "status $code with a file that may not grow"
check_err 'cannot write standard output: File too large; '
back=$(sed 's/.*; \([0-9]*\) tasks were given back$/\1/' err)
((back > 400 && back < 500)) || fail "$back of 500 were given back"
check_redis $((500 - back)) HLEN muster:processing:.lease:many

# What has lapsed by then is not given back.
has_lapsed() {
    echo x | "$MUSTER" enqueue late >/dev/null
    "$MUSTER" take late --lease 1ms 1>&"$full" 2>err || true
    grep -qF '; 0 tasks were given back, 1 lease had ended by then' err
}
wait_for has_lapsed

# ---- 8
check_exit 69 "$MUSTER" take q --url "unix://$tmp/nobody"
check_err "start one with \`muster serve\`"
start waiter "$MUSTER" take gone --wait 5m
wait_for listens gone
end redis KILL 137
check_end waiter 69
[[ ! -s waiter.out ]]
