#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# muster cancel. Proves:
#  1. all copies that wait or are delayed are gone and counted, and nothing else; it is no error if there is none
#  2. each of several tasks has a line; bytes that control a terminal are escaped, and JSON has them as they are
#  3. a running task is marked: if it is given back, retried, failed or lapses, it is gone; a finish counts
#  4. --process cancels one of two copies; one that does not exist is refused with status 1, the others are done
#  5. cancelled tasks are counted by queues
#  6. a key of another type: status 1, nothing changed
#  7. jobs that run are gone at once, too: no end counts, and a new job has their id; they are counted apart; a lease that is over does not run
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC2154 # tmp is lib.sh's
cd "$tmp"
start_redis

enqueue() { "$MUSTER" enqueue "$@" >enqueued; }
ok() { check_exit 0 "$MUSTER" "$@"; }
take() { "$MUSTER" take "$@" --lease 1h | cut -f 1; }
check_waiting() {
    check_exit 0 "$MUSTER" peek "$1"
    check_out "$2"
}

# ---- 1
enqueue q a b a c a
process=$(take q)
ok retry "$process" --delay 1h
process=$(take q)
ok retry "$process" --delay 1h
ok cancel q a
check_out 'a: 3 removed, 0 running told to stop'
check_waiting q c
check_redis 1 ZCARD muster:delayed:q
ok cancel q A a 'c ' ''
check_out 'A: 0 removed, 0 running told to stop
a: 0 removed, 0 running told to stop
c : 0 removed, 0 running told to stop
: 0 removed, 0 running told to stop'
check_exit 3 "$MUSTER" cancel nothing a b
check_err "there is no queue 'nothing'"
check_out ''
check_redis 0 EXISTS muster:queue:nothing
check_waiting q c

# ---- 2
odd=$'gr\xc3\xbc\xc3\x9fe\n\e[31m'
enqueue odd "$odd" '' $'\xff' "$odd" -- -x
ok cancel odd -- "$odd" '' $'\xff' -x
check_out 'grüße\n\x1b[31m: 2 removed, 0 running told to stop
: 1 removed, 0 running told to stop
\xff: 1 removed, 0 running told to stop
-x: 1 removed, 0 running told to stop'
enqueue odd "$odd" $'\xff'
ok cancel odd "$odd" $'\xff' --json
check_out '{"queue":"odd","task":"grüße\n\u001b[31m","removed":1,"running":0}
{"queue":"odd","task_base64":"/w==","removed":1,"running":0}'

# ---- 3
for end in give-back 'retry' 'retry --delay 1h' fail finish; do
    enqueue ends x y
    process=$(take ends)
    ok cancel ends x --json
    check_out '{"queue":"ends","task":"x","removed":0,"running":1}'
    expected=1
    [[ $end == finish ]] && expected=0
    # shellcheck disable=SC2086
    check_exit $expected "$MUSTER" $end "$process"
    check_waiting ends y
    check_redis 0 EXISTS muster:delayed:ends muster:failed:ends muster:processing:.lease:ends
    check_redis 0 HGET muster:queue:ends running
    ok cancel ends y
done
enqueue lapse x
process=$("$MUSTER" take lapse --lease 500ms | cut -f 1)
ok cancel lapse x
check_lapsed() {
    check_exit 0 "$MUSTER" sweep
    redis_is 0 HLEN muster:processing:.lease:lapse
}
wait_for check_lapsed
check_exit 3 "$MUSTER" peek lapse # with its last task it went itself
check_exit 1 "$MUSTER" finish "$process"

# ---- 4
enqueue two same same same
mapfile -t processes < <(take two -n 2)
ok cancel --process "${processes[0]}"
check_out "${processes[0]}: told to stop"
check_exit 1 "$MUSTER" give-back "${processes[@]}"
check_out "${processes[1]}: given back"
check_waiting two $'same\nsame'
mapfile -t again < <(take two -n 2)
check_exit 1 "$MUSTER" cancel --process "${processes[0]}" "${again[0]}" "${processes[1]}" "${again[1]}" --json
check_out "{\"process\":\"${again[0]}\",\"outcome\":\"told to stop\"}
{\"process\":\"${again[1]}\",\"outcome\":\"told to stop\"}"
for lost in "${processes[@]}"; do
    grep -q "^{\"error\":\"E_LOST\",.*$lost" err || fail "not told of $lost: $(cat err)"
done
ok cancel --process "${again[0]}"
ok finish "${again[@]}"
check_usage cancel q
check_err 'TASK is missing'
check_usage cancel --process
check_usage cancel $'a\nb' x
check_err 'QUEUE '

# ---- 5
ok queues --json
grep -qE '^\{"queue":"q",.*"cancelled":3,' out || fail "not 3 of q: $(cat out)"
grep -qE '^\{"queue":"two",.*"cancelled":1,' out || fail "not 1 of two: $(cat out)"

# ---- 6
enqueue wrong a
redis SET muster:delayed:wrong text >said
check_exit 1 "$MUSTER" cancel wrong a b
(($(grep -c 'muster:delayed:wrong' err) == 2)) || fail "not a line for each: $(cat err)"
check_waiting wrong a

# ---- 7
put() { "$MUSTER" put "$@" >id; }
put work --id runs x
process=$(take work)
put work --id waits x
put work --id later --delay 1h x
put work --id every --every 1h --offset 1h x
ok cancel --job runs waits later every
check_out '3 removed, 1 running told to stop'
ok ps --queue work --json
grep -q '"cancelled":true' out || fail "not marked: $(cat out)"
check_exit 3 "$MUSTER" job runs
put other --id runs new
check_exit 1 "$MUSTER" finish "$process"
check_err 'was cancelled'
check_exit 3 "$MUSTER" job waits
ok job runs --json
grep -q '"state":"waiting".*"data":"new"' out || fail "the new one: $(cat out)"
ok cancel --job runs --json
check_out '{"removed":1,"running":0}'
put work --id runs x
process=$(take work)
ok cancel --process "$process"
check_exit 3 "$MUSTER" job runs
check_exit 1 "$MUSTER" finish "$process" --to other
check_err 'was cancelled'
check_exit 3 "$MUSTER" job runs
check_exit 3 "$MUSTER" cancel --job runs waits
check_out '0 removed, 0 running told to stop'
mapfile -t many < <(seq -f 'nobody-%g' 501)
check_exit 1 "$MUSTER" cancel --job "${many[@]}"
check_err 'one call cancels at most 500 jobs that are named'
check_exit 3 "$MUSTER" cancel --job "${many[@]:1}"
enqueue over x x y z
put over --id job x
"$MUSTER" take over -n 5 --lease 1ms >taken
ok cancel over x
check_out 'x: 2 removed, 0 running told to stop'
ok cancel --job job
check_out '1 removed, 0 running told to stop'
ok delete over --yes --json
check_out '{"queue":"over","removed":2,"running":0}'
