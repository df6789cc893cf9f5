#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The command on a Redis Cluster of three masters. Proves:
#  1. whichever node the URL names: what waits is heard there by those who wait and listen, long before they would look,
#     and a foreign producer may announce its work at any node
#  2. a worker that waits follows its slot to another node, and is woken there; all nodes but that of the slot are spared
#     the messages of the workers
#  3. a slot whose move takes longer than the ttl of the workers sweeps nobody: what they hold runs on, once
#  4. doctor names the owner of the namespace's slot, and tells of slots that nobody owns
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
unset MUSTER_TIMEOUT # a Redis that does not answer is part of this
# shellcheck source=tests/cli/cluster.sh
. "$(dirname "$0")/cluster.sh"
# shellcheck disable=SC2154 # tmp is lib.sh's
cd "$tmp"
start_cluster 3 0
all=$MUSTER_URL
slot=$(slot_of '{mail}:')
owner=$(owner_of "$slot")
other=$(((owner + 1) % 3))

took() { grep -qsxF -- "$2" "$tmp/$1.out"; }
owner_knows() { node "$owner" "$@"; }
is_idle() { [[ $(owner_knows ZCARD "{mail}:idle:$1") == "$2" ]]; }
# hears CHANNEL: does somebody listen to it, at whatever node?
hears() {
    local i
    for i in 0 1 2; do
        [[ $(node $i PUBSUB NUMSUB "$1" | tail -n 1) == 0 ]] || return 0
    done
    return 1
}
# published I KIND: how often
published() { node "$1" INFO commandstats | sed -n "s/^cmdstat_$2:calls=\([0-9]*\),.*/\1/p"; }

# ---- 1: who waits looks every five seconds, and a worker every twenty minutes
for i in 0 1 2; do
    MUSTER_URL=redis://127.0.0.1:${ports[i]}
    start events "$MUSTER" events
    wait_for hears '{mail}:events'
    # Once within less than five seconds is enough: only who hears can do that, and a starved machine may take longer.
    for _ in {1..5}; do
        MUSTER_URL=redis://127.0.0.1:${ports[i]}
        began_ms=$(date +%s%3N)
        start waiter "$MUSTER" take leased --wait 1h
        wait_for hears '{mail}_leased_work'
        MUSTER_URL=redis://127.0.0.1:${ports[(i + 1) % 3]}
        check_exit 0 "$MUSTER" enqueue leased "task $i"
        check_end waiter 0
        took_ms=$(($(date +%s%3N) - began_ms))
        ((took_ms > 4500)) || break
    done
    ((took_ms <= 4500)) || fail "node $i: the waiting take did not hear of it: $took_ms ms"
    grep -q "task $i" waiter.out || fail "it took: $(cat waiter.out)"
    check_exit 0 "$MUSTER" put jobs --id "job$i" data --delay 1h
    wait_for grep -q "job$i" events.out
    end events TERM 0
done
MUSTER_URL=$all
start worker "$MUSTER" work foreign mail --id w --ttl 1h --print
wait_for is_idle foreign 1
for i in 0 1 2; do
    node "$owner" LPUSH '{mail}:queues:foreign' "pushed $i" >said
    node $i PUBLISH '{mail}_foreign_work' 1 >said
    wait_for took worker "pushed $i"
    wait_for is_idle foreign 1
done

# ---- 2
check_exit 0 "$MUSTER" enqueue mail first
wait_for took worker first
before=$(owner_of "$slot")
move_slot "$slot" "$other"
owner=$other
wait_for is_idle mail 1
moved() { [[ $(node "$owner" PUBSUB SHARDCHANNELS) == '{mail}:wake:w' ]]; }
wait_for moved
wait_for is_idle mail 1
check_exit 0 "$MUSTER" enqueue mail second
wait_for took worker second
[[ -z $(node "$before" PUBSUB SHARDCHANNELS) ]] || fail 'the worker listens at the old node still'
spared=$((3 - owner - before))
[[ -z $(published $spared spublish) ]] || fail "node $spared published $(published $spared spublish) messages"
end worker TERM 0

# ---- 3
for w in a b; do
    # shellcheck disable=SC2016 # for the command's shell
    start $w "$MUSTER" work slow --id $w --ttl 1s --on-doubt run -- sh -c 'cat >>ran; echo >>ran; sleep 6; echo end >>ran'
done
wait_for is_idle slow 2
check_exit 0 "$MUSTER" enqueue slow held
wait_for grep -qs held ran
target=$(((owner + 1) % 3))
node $target CLUSTER SETSLOT "$slot" IMPORTING "$(node "$owner" CLUSTER MYID)" >said
node "$owner" CLUSTER SETSLOT "$slot" MIGRATING "$(node $target CLUSTER MYID)" >said
sleep 4 # the time that the move takes: four times the ttl
node "$owner" CLUSTER SETSLOT "$slot" STABLE >said
node $target CLUSTER SETSLOT "$slot" STABLE >said
wait_for grep -qs end ran
is_quiet() { [[ $("$MUSTER" queues --json) == *'"queue":"slow"'*'"waiting":0'*'"running":0'* ]]; }
wait_for is_quiet
[[ $(cat ran) == held$'\n'end ]] || fail "it ran: $(cat ran)"
for w in a b; do
    ! grep -iE 'swept|registers again|lost' $w.err || fail "$w: $(cat $w.err)"
    end $w TERM 0
done
check_clean

# ---- 4
"$MUSTER" doctor >out || true
grep -qE "^good +cluster: .*:${ports[$(owner_of "$slot")]} owns this namespace; 3 masters cover all slots$" out || fail "$(cat out)"
uncovered=$((slot == 1 ? 2 : 1))
for i in 0 1 2; do
    node "$i" CONFIG SET cluster-require-full-coverage no >said
    node "$i" CLUSTER DELSLOTS "$uncovered" >said
done
tells_of_slot() { "$MUSTER" doctor >out 2>err || true; grep -qE '^mend +cluster: its state is ok: 16383 of 16384 slots' out; }
wait_for tells_of_slot
