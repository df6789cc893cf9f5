#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# muster peek. Proves:
#  1. the next ten tasks, raw, a line each, in the order in which they come out; -n and --offset choose others;
#     of a queue that does not exist status 3; nothing is taken
#  2. JSON has each task's position, and the bytes as text if they are UTF-8 without NUL, otherwise as base64
#  3. every byte value, the empty task and 5 MiB come back as they went in
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
grep -qE "^\{\"position\":1,\"due_at_ms\":$due,\"task\":\"three\",\"due_at\":\"20[^\"]*Z\"\}\$" "$tmp/out" ||
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
check_out '{"position":0,"task":"ascii"}
{"position":1,"task":"grüße €😀"}
{"position":2,"task":"a\"\n\t\\"}
{"position":3,"task":""}'
printf '\xff\0a\0b\0\xed\xa0\x80\0\xc0\xaf\0\xf4\x90\x80\x80\0\xe2\x82' | "$MUSTER" enqueue other -0 >"$tmp/out"
printf 'a\0b' | "$MUSTER" enqueue other --whole >"$tmp/out"
peek other --json --offset 1
check_out '{"position":1,"task":"a"}
{"position":2,"task":"b"}
{"position":3,"task_base64":"7aCA"}
{"position":4,"task_base64":"wK8="}
{"position":5,"task_base64":"9JCAgA=="}
{"position":6,"task_base64":"4oI="}
{"position":7,"task_base64":"YQBi"}'

# ---- 3
for i in {0..255}; do
    # shellcheck disable=SC2059
    printf "\\$(printf %03o "$i")"
done >"$tmp/bytes"
head -c $((5 * 1024 * 1024)) /dev/urandom >"$tmp/large"
: >"$tmp/empty"
(($(wc -c <"$tmp/bytes") == 256))
for name in bytes large empty; do
    "$MUSTER" enqueue "$name" --whole <"$tmp/$name" >"$tmp/out"
    peek "$name"
    { cat "$tmp/$name" && echo; } | cmp - "$tmp/out"
done
for name in bytes large; do
    peek "$name" --json
    sed 's/^{"position":0,"task_base64":"//; s/"}$//' "$tmp/out" | base64 -d | cmp - "$tmp/$name"
done
