#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# muster peek. Proves:
#  1. the next ten tasks, raw, a line each, in the order in which they come out; -n and --offset choose others;
#     of a queue that does not exist status 3; nothing is taken
#  2. JSON has each task's position, and the bytes as text if they are UTF-8 without NUL, otherwise as base64
#  3. every byte value, the empty task and 64 KiB come back as they went in; of 5 MiB, whether of a task, of a job or of
#     what is delayed, the first 64 KiB come, with a warning in text and the length in JSON
#  4. --delayed: the plain tasks that wait out a delay, with the time when they are due, the first of them first
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
start_redis

peek() { check_exit 0 "$MUSTER" peek "$@"; }

# ---- 1
seq 15 | "$MUSTER" enqueue q >"$tmp/out"
peek q
check_out "$(seq 10)"
peek q -n 3 --offset 12
check_out "$(seq 13 15)"
peek q --offset 2 -n 2
check_out "$(seq 3 4)"
peek q --offset 15
check_out ''
check_exit 3 "$MUSTER" peek nothing
check_out ''
check_redis 15 LLEN muster:queues:q

# ---- 4
"$MUSTER" enqueue slow one two three $'a\tb' >"$tmp/out"
for delay in 3h 1h 2h 4h; do
    "$MUSTER" retry "$("$MUSTER" take --lease 1h slow | cut -f 1)" --delay "$delay" >"$tmp/out"
done
peek slow
check_out ''
peek slow --delayed
[[ $(cut -f 2- "$tmp/out") == $'two\nthree\none\na\tb' ]] || fail "not by when they are due: $(cat "$tmp/out")"
! grep -vE $'^20[0-9-]{8}T[0-9:.]{12}Z\t' "$tmp/out" >"$tmp/said" || fail "no time: $(cat "$tmp/said")"
peek slow --delayed -n 2 --offset 1 --json
due=$(($(redis ZSCORE muster:delayed:slow "$(redis ZRANGE muster:delayed:slow 1 1)")))
grep -qE "^\{\"position\":1,\"due_at_ms\":$due,\"len\":5,\"task\":\"three\",\"due_at\":\"20[^\"]*Z\"\}\$" "$tmp/out" ||
    fail "not in form: $(cat "$tmp/out")"
(($(wc -l <"$tmp/out") == 2)) || fail "more than were asked for: $(cat "$tmp/out")"
redis EVAL "for i = 1, 50 do redis.call('ZADD', KEYS[1], 9000000000000 + i, '00000000001:many' .. i) end" 1 muster:delayed:slow >"$tmp/said"
peek slow --delayed -n 53 --offset 2
[[ $(wc -l <"$tmp/out") == 52 && $(tail -n 1 "$tmp/out" | cut -f 2) == many50 ]] || fail "not all: $(cat "$tmp/out")"
check_exit 3 "$MUSTER" peek nothing --delayed
check_redis 54 ZCARD muster:delayed:slow

# ---- 2: text, a quote and a newline; not text: a byte alone, a NUL, a surrogate, overlong, beyond Unicode, cut off
"$MUSTER" enqueue text ascii 'grüße €😀' $'a"\n\t\\' '' >"$tmp/out"
peek text --json
check_out '{"position":0,"len":5,"task":"ascii"}
{"position":1,"len":15,"task":"grüße €😀"}
{"position":2,"len":5,"task":"a\"\n\t\\"}
{"position":3,"len":0,"task":""}'
printf '\xff\0a\0b\0\xed\xa0\x80\0\xc0\xaf\0\xf4\x90\x80\x80\0\xe2\x82' | "$MUSTER" enqueue other -0 >"$tmp/out"
printf 'a\0b' | "$MUSTER" enqueue other --whole >"$tmp/out"
peek other --json --offset 1
check_out '{"position":1,"len":1,"task":"a"}
{"position":2,"len":1,"task":"b"}
{"position":3,"len":3,"task_base64":"7aCA"}
{"position":4,"len":2,"task_base64":"wK8="}
{"position":5,"len":4,"task_base64":"9JCAgA=="}
{"position":6,"len":2,"task_base64":"4oI="}
{"position":7,"len":3,"task_base64":"YQBi"}'

# ---- 3
for i in {0..255}; do
    # shellcheck disable=SC2059
    printf "\\$(printf %03o "$i")"
done >"$tmp/bytes"
head -c 65536 /dev/urandom >"$tmp/whole"
{ cat "$tmp/whole" && head -c $((5 * 1024 * 1024 - 65536)) /dev/zero; } >"$tmp/large"
: >"$tmp/empty"
(($(wc -c <"$tmp/bytes") == 256))
for name in bytes whole empty; do
    "$MUSTER" enqueue "$name" --whole <"$tmp/$name" >"$tmp/out"
    peek "$name"
    { cat "$tmp/$name" && echo; } | cmp - "$tmp/out"
    [[ ! -s $tmp/err ]] || fail "a warning: $(cat "$tmp/err")"
done
# check_beginning [OPTION]: `muster peek large` shows that of the large one
check_beginning() {
    peek large "$@"
    check_err 'the task at position 0 has 5242880 bytes: only its first 65536 are shown'
    tail -c 65537 "$tmp/out" | cmp - <(cat "$tmp/whole" && echo)
    peek large "$@" --json
    [[ ! -s $tmp/err ]] || fail "a warning: $(cat "$tmp/err")"
    grep -q '"len":5242880,"task_base64":' "$tmp/out" || fail "no length: $(head -c 200 "$tmp/out")"
    sed 's/^.*"task_base64":"//; s/".*$//' "$tmp/out" | base64 -d | cmp - "$tmp/whole"
}
"$MUSTER" enqueue large --whole <"$tmp/large" >"$tmp/out"
check_beginning
"$MUSTER" take --lease 1h large >"$tmp/out"
"$MUSTER" retry "$(head -n 1 "$tmp/out" | cut -f 1)" --delay 1h >"$tmp/said"
check_beginning --delayed
"$MUSTER" put large --id j <"$tmp/large" >"$tmp/out"
check_beginning
for name in bytes whole; do
    peek "$name" --json
    sed 's/^{"position":0,"len":[0-9]*,"task_base64":"//; s/"}$//' "$tmp/out" | base64 -d | cmp - "$tmp/$name"
done
