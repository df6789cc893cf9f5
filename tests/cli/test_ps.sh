#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# muster ps. Proves:
#  1. no process: the headings as text, nothing as JSON, status 0
#  2. a row for each task in hand: the process' id, when it started by Redis' clock, whether it was cancelled, the
#     task's length and, on one line, safe for a terminal and not longer than 60 columns, its beginning; JSON has all of
#     it
#  3. --queue, --worker and --task choose
#  4. a lease that was taken under a name shows it, and --holder chooses
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
start_redis

ps() { check_exit 0 "$MUSTER" ps "$@"; }
# The token, the time and the width of the columns vary.
generic() { sed -i 's/:[0-9a-v]\{11\}:/:TOKEN:/; s/  [0-9]\.[0-9] s  /  TIME  /; s/   */  /g' "$tmp/out"; }
# tasks: the tasks in the JSON, in any order
tasks() { sed 's/.*"task":"\(.*\)","started_at":"[^"]*","lease_ends_at":.*/\1/' "$tmp/out" | sort | paste -sd' '; }

# ---- 1
ps
check_out 'PROCESS  ELAPSED  LEASE-ENDS  CANCELLED  PROGRESS  JOB  HOLDER  LEN  TASK'
ps --json
check_out ''

# ---- 2
start w1 "$MUSTER" work one two --id w1 -c 10 -- sleep 1000
wait_for says w1 'takes tasks'
"$MUSTER" enqueue one $'grüße\n\t\\\e[31m\xff\xc2\x9b' >"$tmp/out"
wait_for redis_is 1 HLEN muster:processing:w1:one
ps
generic
check_out 'PROCESS  ELAPSED  LEASE-ENDS  CANCELLED  PROGRESS  JOB  HOLDER  LEN  TASK
w1:TOKEN:one  TIME  -  no  -  -  18  grüße\n\t\\\x1b[31m\xff\xc2\x9b'
printf 'a%.0s' {1..61} | "$MUSTER" enqueue two --whole >"$tmp/out"
wait_for redis_is 1 HLEN muster:processing:w1:two
ps --queue two
generic
check_out "PROCESS  ELAPSED  LEASE-ENDS  CANCELLED  PROGRESS  JOB  HOLDER  LEN  TASK
w1:TOKEN:two  TIME  -  no  -  -  61  $(printf 'a%.0s' {1..59})…"
ps --queue two --json
token=$(redis HKEYS muster:processing:w1:two)
started=$(sed 's/.*"started_at_ms":\([0-9]*\).*/\1/' "$tmp/out")
now=$(date +%s%3N)
((started > now - 60000 && started <= now + 1000)) || fail "started at $started, now it is $now"
check_out "{\"process\":\"w1:$token:two\",\"worker\":\"w1\",\"queue\":\"two\",\"token\":\"$token\",\
\"started_at_ms\":$started,\"lease_ends_at_ms\":null,\"cancelled\":false,\"progress\":\"\",\"len\":61,\"task\":\"$(printf 'a%.0s' {1..61})\",\"started_at\":\"$(iso "$started")\",\"lease_ends_at\":null}"
ps --queue two
grep -qE "^w1:$token:two +[0-9]+(\.[0-9])? s +- " "$tmp/out" || fail "not at $started: $(cat "$tmp/out")"

# ---- 3
start w2 "$MUSTER" work one --id w2 -c 10 -- sleep 1000
wait_for says w2 'takes tasks'
"$MUSTER" enqueue one same >"$tmp/out"
"$MUSTER" enqueue two same >"$tmp/out"
wait_for redis_is 1 HLEN muster:processing:w2:one
wait_for redis_is 2 HLEN muster:processing:w1:two
ps --json
(($(wc -l <"$tmp/out") == 4)) || fail "not 4 processes: $(cat "$tmp/out")"
ps --task same --json
[[ $(tasks) == 'same same' ]] || fail "not two: $(cat "$tmp/out")"
ps --task same --worker w2 --json
[[ $(tasks) == same && $(cat "$tmp/out") == *'"worker":"w2","queue":"one"'* ]] || fail "not that of w2: $(cat "$tmp/out")"
ps --worker w2 --queue two --json
check_out ''
ps --task sam --json
check_out ''
ps --task '' --json
check_out ''
check_exit 3 "$MUSTER" ps --worker nobody --json
check_out ''

# ---- 4
"$MUSTER" enqueue leased first second third >"$tmp/out"
check_exit 0 "$MUSTER" take leased --holder host-1
check_exit 0 "$MUSTER" take leased --holder host-2 --json
[[ $(cat "$tmp/out") == *'"holder":"host-2",'* ]] || fail "no holder: $(cat "$tmp/out")"
check_exit 0 "$MUSTER" take leased
ps --holder host-1
grep -qE '^\.lease:[0-9a-v]{11}:leased +.* host-1 +5 +first$' "$tmp/out" || fail "no holder: $(cat "$tmp/out")"
(($(wc -l <"$tmp/out") == 2)) || fail "more than one: $(cat "$tmp/out")"
ps --holder host-2 --json
[[ $(tasks) == second ]] || fail "not its own: $(cat "$tmp/out")"
ps --queue leased --json
[[ $(tasks) == 'first second third' ]] || fail "not all: $(cat "$tmp/out")"
ps --holder nobody --json
check_out ''
check_usage ps --holder host-1 --worker w1
check_usage ps --holder 'a b'
check_usage take leased --holder .lease
