#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# muster config. Proves:
#  1. all settings are listed, with the value that holds and its source: default, namespace or queue
#  2. NAME prints the value, NAME=VALUE sets it, --unset takes it back; several at once; times may have a unit
#  3. raising max_running hands out work
#  4. no such setting: status 3; a value that is not allowed: status 2, and nothing is set
#  5. a full Redis accepts settings, and a bound drops what is beyond it, although there is no worker
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC2154 # tmp is lib.sh's
cd "$tmp"
start_redis

ok() { check_exit 0 "$MUSTER" "$@"; }
check_value() {
    ok config "${@:2}"
    check_out "$1"
}

# ---- 1
ok config --queue q
[[ $(awk '{ print $1, $2, $3 }' out | sort | paste -sd,) == 'NAME VALUE FROM,broadcast 0 default,fair 0 default,keep_failed 0 default,keep_failed_bytes 0 default,keep_failed_ms 0 default,keep_history 100 default,'\
'keep_jobs 50000 default,keep_jobs_ms 604800000 default,max_crashes 3 default,max_running 0 default,max_running_per_key 0 default,rate 0 default,rate_burst 0 default,rate_ms 1000 default,share 0 default,share_moves 0 default,share_ms 30000 default' ]] ||
    fail "the settings: $(cat out)"
ok config keep_jobs=7 keep_history=20
check_out $'keep_jobs: set\nkeep_history: set'
ok config --queue q keep_jobs=8 --json
check_out '{"name":"keep_jobs","outcome":"set"}'
ok config --queue q --json
grep -qF '{"name":"keep_jobs","value":8,"from":"queue","default":50000,"least":0,"most":10000000,"what":' out ||
    fail "not of the queue: $(cat out)"
grep -qF '"name":"keep_history","value":20,"from":"namespace",' out || fail "not of the namespace: $(cat out)"
grep -qF '"name":"max_crashes","value":3,"from":"default",' out || fail "no default: $(cat out)"
ok config
grep -qE '^keep_jobs +7  namespace' out || fail "the namespace: $(cat out)"

# ---- 2
ok config --queue even share=even
check_value 1 --queue even share
ok config --queue even share=none
check_value 0 --queue even share
check_usage config --queue even share=uneven
check_err 'from 0 to 1 or its word: none, even'
ok config --queue calls rate=100/1m
check_out 'rate: set'
check_value $'100\n60000' --queue calls rate rate_ms
ok config --queue calls --unset rate
check_value 0 --queue calls rate
for value in 100/ /1m 100/1 100/0s 1.5/1m 100/1m/2; do
    check_exit 2 "$MUSTER" config --queue calls "rate=$value"
done
check_exit 2 "$MUSTER" config rate=100/1m
check_value 8 --queue q keep_jobs
check_value 7 keep_jobs
check_value 7 --queue other keep_jobs
check_value $'7\n20' keep_jobs keep_history
ok config keep_jobs --json
grep -qE '^\{"name":"keep_jobs","value":7,' out || fail "not JSON: $(cat out)"
ok config --queue q --unset keep_jobs
check_out 'keep_jobs: unset'
check_value 7 --queue q keep_jobs
ok config --unset keep_jobs keep_history
check_value 50000 --queue q keep_jobs
check_redis 0 HEXISTS muster:config keep_jobs
ok config keep_jobs_ms=2d
check_value 172800000 keep_jobs_ms
ok config keep_jobs_ms=5000
check_value 5000 keep_jobs_ms

# ---- 3
ok config --queue narrow max_running=1
printf '%s\n' a b c | "$MUSTER" enqueue narrow >said
ok take narrow -n 3
(($(wc -l <out) == 1)) || fail "more than one: $(cat out)"
check_exit 3 "$MUSTER" take narrow
start waiter "$MUSTER" take narrow --wait 1m -n 3
queue_is_listened() { [[ $(redis HGET muster:queue:narrow listen) ]]; }
wait_for queue_is_listened
ok config --queue narrow max_running=3
check_end waiter 0
(($(wc -l <waiter.out) == 2)) || fail "the waiter got: $(cat waiter.out)"

# ---- 4
for operand in nonsense nonsense=1 ''; do
    check_exit 3 "$MUSTER" config "$operand"
    check_exit 3 "$MUSTER" config --queue q "$operand"
done
check_exit 3 "$MUSTER" config --unset nonsense
check_exit 3 "$MUSTER" config keep_jobs=3 max_runing=3
check_err "there is no setting 'max_runing'; did you mean 'max_running'?"
ok config keep_jobs
check_out 50000
for value in '' x -1 1x ' 1' 1.5 1d 99999999999999999999; do
    check_usage config "keep_jobs=$value"
    check_err 'the value is not a number from 0 to 10000000'
done
check_usage config keep_jobs_ms=1w keep_jobs=3
check_exit 2 "$MUSTER" config keep_history=1
check_exit 2 "$MUSTER" config keep_jobs=10000001
check_exit 2 "$MUSTER" config max_running=1
check_value 50000 keep_jobs
check_redis 1 HLEN muster:config
check_usage config --unset
check_err 'NAME is missing'
check_usage config --unset keep_jobs=1
check_usage config --queue '' keep_jobs
redis RENAME muster:config aside >said
redis SET muster:config text >said
check_exit 1 "$MUSTER" config keep_jobs=1
check_redis text GET muster:config
redis RENAME aside muster:config >said

# ---- 5
seq 20 | "$MUSTER" enqueue full >said
"$MUSTER" take full -n 20 >taken
cut -f1 taken | xargs "$MUSTER" fail >said
redis CONFIG SET maxmemory 1 >said
check_exit 75 "$MUSTER" enqueue full x
ok config --queue full keep_failed=7
check_out 'keep_failed: set'
ok config keep_failed=1000 keep_history=30
redis CONFIG SET maxmemory 0 >said
check_redis 7 ZCARD muster:failed:full
check_value 30 keep_history
ok config --unset keep_failed keep_history
check_clean
