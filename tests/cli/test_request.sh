#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# muster enqueue --request ID. Proves:
#  1. a repetition adds nothing and prints the same, as text and as JSON, even if the tasks have been taken since
#  2. another ID, and no ID, adds; an ID holds for its namespace
#  3. other tasks, another order, another queue or another place under the same ID: status 1, one line that names the
#     ID, nothing is added
#  4. the same for input of more than 1000 lines, at the end and at the front; tasks that a failure left out come
#     with the next try
#  5. a record lives for an hour, and after that a repetition adds again; an ID that is not allowed is wrong use
#  6. a longer input that begins like the former one is different content, too
#  7. it does not matter how a pipe splits the input
# shellcheck disable=SC2016 # what stands in single quotes is for sed
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
start_redis

enqueue() { check_exit 0 "$MUSTER" enqueue "$@"; }
refused() {
    check_exit 1 "$MUSTER" enqueue "$@"
    check_out ''
    check_err 'had other content before'
    check_err "'id"
}
check_length() { check_redis "$2" LLEN "muster:queues:$1"; }
check_waiting() {
    check_exit 0 "$MUSTER" peek "$1" -n 100000
    cmp "$tmp/out" "$2" || fail "$1 holds something else"
}

# ---- 1
for _ in 1 2; do
    enqueue q --request id one two
    check_out '2 enqueued, 2 waiting'
    check_length q 2
done
redis DEL muster:queues:q >"$tmp/out"
enqueue q --request id one two --json
check_out '{"queue":"q","enqueued":2,"waiting":2}'
check_length q 0

# ---- 2
enqueue q --request other one two
enqueue q one two
enqueue q one two
check_length q 6
enqueue q --request id --prefix elsewhere one two
check_redis 2 LLEN elsewhere:queues:q

# ---- 3
refused q --request id one
refused q --request id one two three
refused q --request id two one
refused q --request id 'one two'
refused q --request id onet wo
refused other --request id one two
refused q --request id --front one two
check_length q 6
check_length other 0

# ---- 4
seq 2500 >"$tmp/lines"
for option in '' --front; do
    for _ in 1 2; do
        enqueue "many$option" --request "id-many$option" ${option:+"$option"} <"$tmp/lines"
        check_out '2500 enqueued, 2500 waiting'
        check_waiting "many$option" "$tmp/lines"
    done
done
for change in 's/^2400$/changed/' '$d' '$a\more'; do
    sed "$change" "$tmp/lines" >"$tmp/changed"
    refused many --request id-many <"$tmp/changed"
    check_length many 2500
done
used=$(redis INFO memory | sed -n 's/^used_memory:\([0-9]*\).*/\1/p')
for i in {1..200}; do
    printf '%065535d\n' "$i"
done >"$tmp/large"
redis CONFIG SET maxmemory $((used + 6 * 1024 * 1024)) >"$tmp/out"
check_exit 75 "$MUSTER" enqueue large --request id-large <"$tmp/large"
redis CONFIG SET maxmemory 0 >"$tmp/out"
length=$(redis LLEN muster:queues:large)
((length > 0 && length < 200)) || fail "$length tasks fitted"
for _ in 1 2; do
    enqueue large --request id-large <"$tmp/large"
    check_out '200 enqueued, 200 waiting'
    check_waiting large "$tmp/large"
done

# ---- 5
mapfile -t records < <(redis --scan --pattern 'muster:request:id*')
((${#records[@]} > 0)) || fail "no record"
for record in "${records[@]}"; do
    left=$(redis PTTL "$record")
    ((left > 3000 * 1000 && left <= 3600 * 1000)) || fail "$record lives for $left ms"
done
redis DEL "${records[@]}" >"$tmp/out"
enqueue q --request id one two
check_out '2 enqueued, 8 waiting'
for id in '' "$(printf 'i%.0s' {1..201})" $'a\nb'; do
    check_usage enqueue q --request "$id" task
    check_err '--request: '
done
enqueue q --request "$(printf 'i%.0s' {1..180})" task
check_out '1 enqueued, 9 waiting'

# ---- 6
enqueue thousand --request id-thousand < <(seq 1000)
refused thousand --request id-thousand < <(seq 1500)
check_length thousand 1000

# ---- 7
one_by_one() {
    while read -r line; do
        echo "$line"
    done <"$tmp/lines"
}
one_by_one | enqueue slow --request id-slow
enqueue slow --request id-slow <"$tmp/lines"
check_out '2500 enqueued, 2500 waiting'
check_waiting slow "$tmp/lines"
