#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# muster fail-worker. Proves:
#  1. without a worker, with two, or with a wrong id: status 2, one line; one that is not registered: status 3
#  2. a worker that is alive: its tasks go back to the front in order, without a crash count, and to an idle worker; it
#     says that it was lost, registers again and goes on; its old commands are ended and count for nothing
#  3. a dead worker, even a permanent one that no sweep touches
#  4. a damaged worker: status 1, its key is named, nothing is changed
#  5. leases that were taken under that name: the tasks go back to the front in order, and nothing counts; others stay
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$tmp"
start_redis

fail_worker() { check_exit "$1" "$MUSTER" fail-worker "${@:2}"; }
enqueue() { "$MUSTER" enqueue "$@" >out; }
# Writes which process began and ended which task; ends when there is a file `go`.
cat >hold <<'SH'
task=$(cat)
echo $$ >>children
echo "$MUSTER_WORKER $task" >>begun
until [ -e go ]; do sleep 0.02; done
echo "$MUSTER_WORKER $task" >>ended
SH
lines() { [[ -e $1 ]] && (($(wc -l <"$1") == $2)); }
check_file() { [[ $(sort "$1") == "$2" ]] || fail "$1: $(cat "$1")"; }
all_gone() {
    local child
    while read -r child; do
        ! kill -0 "$child" 2>/dev/null || return 1
    done <"$1"
}

# ---- 1
check_usage fail-worker
check_err 'WORKER is missing'
check_usage fail-worker one two
check_err "'two' is one word too many"
for id in '' .hidden 'a b' a:b; do
    check_usage fail-worker "$id"
    check_err "a worker's id"
done
fail_worker 3 nobody
check_err "no worker 'nobody' is registered"
check_out ''
fail_worker 69 nobody --url "unix://$tmp/nobody"

# ---- 2
start hung "$MUSTER" work q own --id hung -c 3 --ttl 2s -- sh hold
enqueue q one two three
wait_for lines begun 3
enqueue q four five
mv begun former
mv children former-children
epoch=$(redis HGET muster:worker:hung epoch)
start heir "$MUSTER" work q --id heir -c 4 -- sh hold
wait_for lines begun 2
fail_worker 0 hung
check_out 'hung: 3 tasks given back'
wait_for says hung 'was lost, registers again'
registered() { (($(grep -c 'takes tasks' hung.err) == $1)); }
wait_for registered 2
[[ $(redis HGET muster:worker:hung epoch) > $epoch ]] || fail "the epoch $epoch has not changed"
wait_for lines begun 5
wait_for all_gone former-children
check_redis 0 EXISTS muster:suspects:q muster:failed:q
enqueue own more
: >go
wait_for lines ended 6
check_file former $'hung one\nhung three\nhung two'
check_file ended "$(sort begun)"
check_file ended $'heir five\nheir four\nheir one\nheir two\nhung more\nhung three'
wait_for redis_is 0 HGET muster:queue:q running
check_redis 0 LLEN muster:queues:q
rm go
end heir TERM 0
end hung TERM 0

# ---- 3
start dead "$MUSTER" work p --id dead --permanent --ttl 500ms -c 2 -- sh hold
enqueue p one two
wait_for redis_is 2 HLEN muster:processing:dead:p
end dead KILL 137
wait_for redis_is 0 EXISTS muster:alive:dead
enqueue p three
fail_worker 0 dead --json
check_out '{"worker":"dead","given_back":2}'
check_exit 0 "$MUSTER" peek p
check_out $'one\ntwo\nthree'
check_redis 0 EXISTS muster:worker:dead muster:registry muster:ttls
fail_worker 3 dead

# ---- 4
start damaged "$MUSTER" work d --id damaged --ttl 1m -- sh hold
enqueue d one
wait_for redis_is 1 HLEN muster:processing:damaged:d
end damaged KILL 137
redis SET muster:idle:d 'not a set' >out
fail_worker 1 damaged
check_err muster:idle:d
check_redis 1 HLEN muster:processing:damaged:d
check_redis 1 EXISTS muster:alive:damaged
redis DEL muster:idle:d >out
fail_worker 0 damaged
check_out 'damaged: 1 task given back'

# ---- 5
enqueue leased one two three
check_exit 0 "$MUSTER" take leased -n 2 --holder host-1
check_exit 0 "$MUSTER" take leased --holder host-2
fail_worker 0 host-1
check_out 'host-1: 2 tasks given back'
check_exit 0 "$MUSTER" peek leased
check_out $'one\ntwo'
check_redis 0 EXISTS muster:suspects:leased
fail_worker 3 host-1
check_err "no worker 'host-1' is registered, and nobody holds a lease under this name"
check_exit 0 "$MUSTER" ps --holder host-2 --json
(($(wc -l <out) == 1)) || fail "not that of host-2: $(cat out)"
check_clean
