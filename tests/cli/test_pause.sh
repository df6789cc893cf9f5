#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# muster pause, resume and delete. Proves:
#  1. a paused queue hands out nothing, to a worker or to a lease; running tasks go on; once resumed, its tasks go to
#     idle workers
#  2. both succeed if nothing changes; a queue can be paused before it exists; `muster queues` shows it. A name that no
#     queue has is said: status 3 for resume, a line on standard error for what can be said of it all the same
#  3. delete without --yes: status 2, a line that says what would be deleted, and Redis is not even asked
#  4. delete removes all that waits, is delayed or has failed, and the settings; running tasks are counted and may
#     finish, with any other end they are gone; the worker goes on serving the name
#  5. a key of another type: status 1, nothing changed
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC2154 # tmp is lib.sh's
cd "$tmp"
start_redis

enqueue() { "$MUSTER" enqueue "$@" >enqueued; }
ok() { check_exit 0 "$MUSTER" "$@"; }
check_waiting() {
    check_exit 0 "$MUSTER" peek "$1"
    check_out "$2"
}
# Makes a file at-TASK, and ends when it is removed, with the status in it.
cat >hold <<'SH'
name=$(cat)
echo 0 >"at-$name"
while [ -s "at-$name" ]; do code=$(cat "at-$name"); sleep 0.02; done
exit "${code:-0}"
SH

# ---- 1
start worker "$MUSTER" work q --id w -c 2 -- sh hold
enqueue q 1
wait_for test -s at-1
ok pause q
check_out 'q: paused'
enqueue q 2 3 4
check_waiting q $'2\n3\n4'
check_exit 3 "$MUSTER" take q
: >at-1
wait_for redis_is 0 HLEN muster:processing:w:q
wait_for redis_is 1 ZCARD muster:idle:q
check_waiting q $'2\n3\n4'
ok queues
grep -qE '^q +3( +0){4} +1  yes +[0-9]' out || fail "not in form: $(cat out)"
ok resume q
check_out 'q: resumed'
wait_for test -s at-2 -a -s at-3
check_waiting q 4
: >at-2
: >at-3
wait_for test -s at-4
: >at-4
wait_for redis_is 0 HLEN muster:processing:w:q
end worker TERM 0

# ---- 2
for _ in 1 2; do
    ok pause new --json
    check_out '{"queue":"new","paused":true}'
done
for _ in 1 2; do
    ok resume new --json
    check_out '{"queue":"new","paused":false}'
done
enqueue new task
ok take new
check_exit 3 "$MUSTER" resume typo
check_out ''
check_err "there is no queue 'typo'"
check_redis 0 EXISTS muster:queue:typo
ok pause typo
check_err "there is no queue 'typo' yet; it begins paused"
ok resume typo
for verb in 'peek tpyo' 'stats --queue tpyo' 'cancel tpyo task'; do
    # shellcheck disable=SC2086
    check_exit 3 "$MUSTER" $verb
    check_out ''
    check_err "there is no queue 'tpyo'"
done
for verb in 'config --queue tpyo' 'config --queue tpyo keep_jobs'; do
    # shellcheck disable=SC2086
    ok $verb
    check_err "there is no queue 'tpyo'"
done
ok config --queue tpyo keep_jobs=9
check_err "there is no queue 'tpyo' yet"
ok config --queue tpyo
[[ ! -s err ]] || fail "a queue that has a setting is not known: $(cat err)"

# ---- 3
enqueue doomed 1 2 3 4 5
for options in '' '--json' "--url unix://$tmp/nobody"; do
    # shellcheck disable=SC2086
    check_usage delete doomed $options
    check_err "all that waits, is delayed or has failed in the queue 'doomed', for good"
    check_err 'say --yes'
done
check_redis 5 LLEN muster:queues:doomed

# ---- 4
mapfile -t processes < <("$MUSTER" take doomed -n 2 --lease 1h | cut -f 1)
ok retry "${processes[0]}" --delay 1h
ok fail "${processes[1]}"
start worker "$MUSTER" work doomed --id w -c 2 -- sh hold
wait_for test -s at-3 -a -s at-4
redis HSET muster:queue:doomed max_crashes 0 >said
ok delete doomed --yes
check_out 'doomed: deleted, with 2 tasks that were still to run; 2 are still running'
check_redis 0 EXISTS muster:queues:doomed muster:delayed:doomed muster:failed:doomed muster:failures:doomed
check_redis '' HGET muster:queue:doomed max_crashes
wait_for says worker 'the queue was deleted, tasks that do not finish are gone: w:'
echo 1 >at-3
echo 75 >at-4
rm at-3 at-4
wait_for redis_is 0 HLEN muster:processing:w:doomed
check_redis 0 EXISTS muster:queues:doomed muster:delayed:doomed muster:failed:doomed
enqueue doomed new
wait_for test -s at-new
: >at-new
wait_for redis_is 0 HLEN muster:processing:w:doomed
end worker TERM 0
check_exit 3 "$MUSTER" delete nothing --yes --json
check_out ''
check_err "there is no queue 'nothing'"
redis LPUSH muster:queues:foreign x >"$tmp/pushed"
ok delete foreign --yes --json
check_out '{"queue":"foreign","removed":1,"running":0}'
enqueue leased a b
process=$("$MUSTER" take --lease 1h leased | cut -f 1)
ok delete leased --yes --json
check_out '{"queue":"leased","removed":1,"running":1}'
check_exit 1 "$MUSTER" give-back "$process"
check_waiting leased ''

# ---- 5
enqueue wrong a
redis SET muster:delayed:wrong text >said
check_exit 1 "$MUSTER" delete wrong --yes
check_err 'muster:delayed:wrong'
check_waiting wrong a
redis DEL muster:queue:wrong >said
redis SET muster:queue:wrong text >said
for verb in pause resume; do
    check_exit 1 "$MUSTER" $verb wrong
    check_err 'muster:queue:wrong'
done
