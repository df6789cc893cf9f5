#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# muster check. Proves:
#  1. no damage: nothing on standard output, a line on standard error, status 0; also with tasks in every state
#  2. a set that belongs to no worker: a row with its key, status 1, nothing changed; --repair puts its task back, with
#     status 0, and then there is no damage
#  3. damage that only people can repair stays, with status 1, even with --repair; other finds are repaired
#  4. JSON has a row for each find
#  5. a format of a wrong type is the only find, and every verb names the key
#  6. another namespace on the same Redis is left alone
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC2154 # tmp is lib.sh's
cd "$tmp"
start_redis

check() { check_exit "$1" "$MUSTER" check "${@:2}"; }
check_clean() {
    check 0 "$@"
    check_out ''
    check_err 'no damage was found'
}

# ---- 1
check_clean
check_clean --json
check_clean --repair
"$MUSTER" enqueue q 'exit 0' 'exit 1' 'exit 75' 'kill -KILL $$' 'exec sleep 1000' waits >enqueued
start worker "$MUSTER" work q served --id w --retry-delay 1h --drain 0s -- sh
wait_for redis_is 2 ZCARD muster:failed:q
"$MUSTER" enqueue leased a b c >enqueued
process=$("$MUSTER" take --lease 1h leased | cut -f 1)
"$MUSTER" extend "$process" --progress note >said
"$MUSTER" cancel --process "$process" >said
"$MUSTER" pause leased >said
"$MUSTER" enqueue q --request id again >enqueued
wait_for redis_is 1 HLEN muster:processing:w:q
check_clean

# ---- 2
end worker TERM 0
redis HSET muster:processing:nobody:q 00000000001 lost >said
check 1
head -n 1 out | grep -qE '^KEY +REPAIRED +WHAT$' || fail "no headings: $(cat out)"
grep -qE '^muster:processing:nobody:q +no +[^ ]' out || fail "not found: $(cat out)"
grep -q 'damage is left: 1 of 1 finds' err || fail "not told: $(cat err)"
check_redis 1 HLEN muster:processing:nobody:q
check 0 --repair
grep -qE '^muster:processing:nobody:q +yes +[^ ]' out || fail "not repaired: $(cat out)"
check_redis 0 EXISTS muster:processing:nobody:q
check_exit 0 "$MUSTER" peek q
grep -qx lost out || fail "not back: $(cat out)"
check_clean

# ---- 3 and 4
redis SET muster:delayed:wrong text >said
redis HSET muster:processing:nobody:q 00000000001 'lost too' >said
for option in --json '--json --repair'; do
    # shellcheck disable=SC2086
    check 1 $option
    ! grep -vqE '^\{"key":"[^"]+","repaired":(true|false),"what":"[^"]+"\}$' out || fail "not in form: $(cat out)"
    grep -q '^{"key":"muster:delayed:wrong","repaired":false,' out || fail "not found: $(cat out)"
done
grep -q '^{"key":"muster:processing:nobody:q","repaired":true,' out || fail "not repaired: $(cat out)"
check_redis text GET muster:delayed:wrong
check_redis 0 EXISTS muster:processing:nobody:q
redis DEL muster:delayed:wrong >said

# ---- 5
format=$(redis GET muster:format)
redis DEL muster:format >said
redis HSET muster:format field value >said
redis HSET muster:processing:nobody:q 00000000001 lost >said
for option in '' --repair; do
    # shellcheck disable=SC2086
    check 1 $option
    [[ $(grep -c '^muster:' out) == 1 ]] || fail "not the only find: $(cat out)"
    grep -qE '^muster:format +no +has the wrong type hash instead of string' out || fail "not found: $(cat out)"
done
check_redis value HGET muster:format field
for verb in 'enqueue q task' queues 'take q' upgrade; do
    # shellcheck disable=SC2086
    check_exit 1 "$MUSTER" $verb
    check_err "the key 'muster:format' has a wrong type"
done
start worker "$MUSTER" work q --print
wait_for says worker "the key 'muster:format' has a wrong type"
end worker TERM 0
redis DEL muster:format muster:processing:nobody:q >said
redis SET muster:format "$format" >said

# ---- 6
redis HSET musters:processing:nobody:q 00000000001 lost >said
redis SET "muster" text >said
check_clean
check 1 --prefix musters
