#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# muster finish, give-back, retry, fail and extend. Proves:
#  1. each does what it says to one lease, and says so, as text and as JSON
#  2. each of several processes has a line; one that no longer exists has its own and makes the status 1, and the others
#     are done all the same; a second time all are lost
#  3. a worker's process can be ended by its id: its owner is told to stop, and the owner's end no longer counts
#  4. ids are checked before anything is connected to; without Redis the first one fails and the rest is not tried
#  5. extend moves the lease's end, or writes a note that ps shows, or both; '' removes it; a worker's process has no
#     lease, and one that was cancelled gets neither: status 1
#  6. a key of another type: status 1, nothing changed
#  7. each refusal of extend says what is true, and nothing else; give-back, retry and fail of a process that was
#     cancelled, or whose queue was deleted, say that its task is gone instead: status 1. A finish counts
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC2154 # tmp is lib.sh's
cd "$tmp"
start_redis

enqueue() { "$MUSTER" enqueue "$@" >enqueued; }
# take QUEUE TASK: enqueues it and takes it; its process is in $process
take() {
    enqueue "$1" "$2"
    process=$("$MUSTER" take "$1" --lease 1h | cut -f 1)
}
ok() { check_exit 0 "$MUSTER" "$@"; }
check_waiting() {
    check_exit 0 "$MUSTER" peek "$1"
    check_out "$2"
}
nothing_held() { redis_is 0 HLEN "muster:processing:${2:-.lease}:$1"; }
check_lost() {
    local verb
    for verb in finish give-back retry fail 'extend --progress x'; do
        # shellcheck disable=SC2086
        check_exit 1 "$MUSTER" $verb "$1"
        check_out ''
        check_err "muster ${verb%% *}: "
        check_err "$1"
    done
}

# ---- 1
take q ready
ok finish "$process"
check_out "$process: finished"
check_lost "$process"
take q ready
ok finish "$process" --json --result ''
check_out "{\"process\":\"$process\",\"outcome\":\"finished\"}"
check_waiting q ''
enqueue q behind
process=$("$MUSTER" take --lease 1h q | cut -f 1)
enqueue q last
ok give-back "$process"
check_out "$process: given back"
check_lost "$process"
check_waiting q $'behind\nlast'
process=$("$MUSTER" take --lease 1h q | cut -f 1)
ok retry "$process"
check_out "$process: retried"
check_lost "$process"
check_waiting q $'last\nbehind'
process=$("$MUSTER" take --lease 1h q | cut -f 1)
ok retry "$process" --delay 1h --json
check_out "{\"process\":\"$process\",\"outcome\":\"retried\"}"
check_waiting q behind
check_redis 1 ZCARD muster:delayed:q
process=$("$MUSTER" take --lease 1h q | cut -f 1)
ok fail "$process"
check_out "$process: failed"
check_lost "$process"
take q bad
ok fail "$process" --group $'gr\xc3\xbcn' --message $'line\nline'
ok failed q --json
grep -qE "\"process\":\"$process\",\"worker\":\".lease\",.*\"group\":\"grün\",\"message\":\"line\\\\nline\",\"len\":3,\"task\":\"bad\"," \
    out || fail "not in form: $(cat out)"
grep -qE '"group":"failed","message":"","len":6,"task":"behind",' out || fail "not in form: $(cat out)"
check_redis 0 HGET muster:queue:q running
nothing_held q

# ---- 2
enqueue several 1 2 3 4
mapfile -t processes < <("$MUSTER" take several -n 4 --lease 1h | cut -f 1)
ok finish "${processes[1]}"
check_exit 1 "$MUSTER" give-back "${processes[3]}" "${processes[2]}" "${processes[1]}" "${processes[0]}"
check_out "${processes[3]}: given back
${processes[2]}: given back
${processes[0]}: given back"
check_err "${processes[1]}"
check_waiting several $'1\n3\n4'
check_exit 1 "$MUSTER" give-back "${processes[@]}" --json
check_out ''
(($(grep -c '^{"error":"E_LOST",.*\.lease:' err) == 4)) || fail "not a line for each: $(cat err)"

# ---- 3
start worker "$MUSTER" work owned --id w --ttl 1s -- sh -c 'echo $$ >child.new; mv child.new child; exec sleep 1000'
for end in 'finish --result x' give-back 'retry --delay 1h' fail; do
    rm -f child
    enqueue owned "$end"
    wait_for test -e child
    child=$(cat child)
    process=w:$(redis HKEYS muster:processing:w:owned):owned
    # A task that is given back would come again at once.
    [[ $end == give-back ]] && ok pause owned
    # shellcheck disable=SC2086
    ok $end "$process"
    child_gone() { ! kill -0 "$child" 2>/dev/null; }
    wait_for child_gone
    check_lost "$process"
    wait_for nothing_held owned w
    [[ $end == give-back ]] && check_waiting owned give-back && ok delete owned --yes && ok resume owned
done
runs worker || fail "the worker ended: $(cat worker.err)"
check_redis 1 ZCARD muster:delayed:owned
check_redis 1 ZCARD muster:failed:owned
end worker TERM 0

# ---- 4
take q left
for verb in finish give-back retry fail 'extend --lease 1s' 'cancel --process'; do
    for id in '' abc a:b a:b:c ':tokentoken1:q' $'w:00000000001:q\n'; do
        # shellcheck disable=SC2086
        check_exit 2 "$MUSTER" $verb "$process" "$id"
        check_err "muster ${verb%% *}: PROCESS '"
        [[ $id != a* ]] || check_err 'as w1:1j0sfv40rim:mail'
        check_out ''
    done
    # shellcheck disable=SC2086
    check_exit 69 "$MUSTER" $verb "$process" "$process" "$process" --url "unix://$tmp/nobody"
    check_out ''
    check_err "start one with \`muster serve\`"
    check_err "$process"
    check_err 'the 2 operands after it were not tried'
done
check_redis 1 HLEN muster:processing:.lease:q
ok finish "$process"

# ---- 5
check_usage extend "$process"
check_err '--lease, --progress or --data is missing'
long=$(printf 'n%.0s' {1..4097})
check_usage extend "$process" --progress "$long"
check_err '4096 bytes'
take q long
ends() { redis ZSCORE muster:leases:q "$(cut -d : -f 2 <<<"$process")"; }
before=$(ends)
ok extend "$process" --lease 2h
check_out "$process: extended"
(($(ends) > before + 3000000)) || fail "it ends at $(ends), before at $before"
before=$(ends)
ok extend "$process" --progress $'40 of\t100 and some more, so that no table is wide enough'
(($(ends) == before)) || fail "the lease was changed: $(ends), before $before"
ok ps
grep -qF '  40 of\t100 and some more, so …  ' out || fail "no note: $(cat out)"
ok ps --json
grep -qF '"progress":"40 of\t100 and some more, so that no table is wide enough",' out || fail "no note: $(cat out)"
ok extend "$process" --progress "${long:1}"
ok extend "$process" --progress '' --lease 1h --json
check_out "{\"process\":\"$process\",\"outcome\":\"extended\"}"
(($(ends) < before)) || fail "the lease was not changed: $(ends), before $before"
ok ps --json
grep -qF '"progress":"",' out || fail "there is a note: $(cat out)"
ok extend "$process" --progress halfway
ok cancel --process "$process"
for option in '--lease 3h' '--progress x'; do
    # shellcheck disable=SC2086
    check_exit 1 "$MUSTER" extend "$process" $option
    check_err "$process"
    check_out ''
done
ok ps --json
grep -qF '"cancelled":true,"progress":"halfway"' out || fail "not cancelled: $(cat out)"
ok finish "$process"
start worker "$MUSTER" work owned --id w -- sleep 1000
enqueue owned x
wait_for redis_is 1 HLEN muster:processing:w:owned
process=w:$(redis HKEYS muster:processing:w:owned):owned
ok extend "$process" --progress halfway
check_exit 1 "$MUSTER" extend "$process" --lease 1h
ok ps --json
grep -qF '"lease_ends_at_ms":null,"cancelled":false,"progress":"halfway"' out || fail "not in form: $(cat out)"
end worker KILL 137

# ---- 6
take q task
redis RENAME muster:processing:.lease:q aside >said
redis SET muster:processing:.lease:q text >said
for verb in finish give-back retry fail 'extend --lease 1s' 'cancel --process'; do
    # shellcheck disable=SC2086
    check_exit 1 "$MUSTER" $verb "$process" "$process"
    (($(grep -c "wrong type" err) == 2)) || fail "not a line for each: $(cat err)"
done
check_redis text GET muster:processing:.lease:q
redis DEL muster:processing:.lease:q >said
redis RENAME aside muster:processing:.lease:q >said
ok finish "$process"

# ---- 7
check_whole_err() { [[ $(cat err) == "$1" ]] || fail "expected on standard error: $1, got: $(cat err)"; }
take plain task
check_exit 1 "$MUSTER" extend "$process" --data x
check_whole_err "muster extend: the process '$process' is a plain task's, which has no data to change; nothing was changed"
ok finish "$process"
check_gone() {
    check_exit 1 "$MUSTER" extend "$process" --lease 1h
    check_whole_err "muster extend: $1: finish it, or give it back, which drops it; nothing was changed"
    # shellcheck disable=SC2086
    check_exit 1 "$MUSTER" $2 "$process"
    check_out ''
    check_whole_err "muster ${2%% *}: $1: its task is gone, not $3"
    check_lost "$process"
    check_waiting plain ''
    redis_is 0 EXISTS muster:failed:plain muster:delayed:plain muster:marks:.lease || fail "it was kept"
}
while read -r asked verb; do
    take plain task
    ok cancel --process "$process"
    check_gone "the process '$process' was cancelled" "$verb" "${asked/_/ }"
    take plain task
    ok delete plain --yes
    check_gone "the queue of the process '$process' was deleted" "$verb" "${asked/_/ }"
done <<<$'given_back give-back\nretried retry --delay 1h\nfailed fail'
take plain task
ok cancel --process "$process"
ok finish "$process"
check_out "$process: finished"
ok put job x --id j1
process=$("$MUSTER" take job --lease 1h | cut -f 1)
ok cancel --process "$process"
check_exit 1 "$MUSTER" fail "$process"
check_whole_err "muster fail: the process '$process' was cancelled: its task is gone, not failed"
# Not the id of the one before: that lives until its ttl is over.
start worker "$MUSTER" work owned --id v -- sleep 1000
enqueue owned x
wait_for redis_is 1 HLEN muster:processing:v:owned
process=v:$(redis HKEYS muster:processing:v:owned | head -n 1):owned
check_exit 1 "$MUSTER" extend "$process" --lease 1h
check_whole_err "muster extend: the process '$process' is a worker's, which has no lease; nothing was changed"
ok cancel --process "$process"
end worker KILL 137
