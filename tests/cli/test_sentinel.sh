#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The command under Sentinel: a master, two replicas, three sentinels on loopback. Proves:
#  1. a worker and a producer find the master by any sentinel that is there; a name that no sentinel knows is refused;
#     one that refuses the login is passed over for the next one, unless all do, or the master does
#     doctor names the master, its replicas, one that is late, and that min-replicas-to-write is 0
#     and that all replicas must confirm, or a failover may lose what was confirmed
#  2. a master that lives is replaced: long before it becomes a replica, who listens at it is told that events may be
#     missed, what is not heard lies there, and a worker goes to the new one, before its peers there take it for dead
#  3. the master is killed, and comes back as a replica: the worker goes on at the new one by itself. A producer with
#     replicas=2 that repeats each task under its request id until it is acknowledged loses none and runs none twice
#     that was confirmed once, but what was in the worker's hands
# The long form, test_sentinel.sh ROUNDS: masters that are killed, and failovers of masters that live, in turn.
set -eu
rounds=${1:-1}
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
unset MUSTER_TIMEOUT # a Redis that does not answer is part of this
# shellcheck disable=SC2154 # tmp is lib.sh's
cd "$tmp"

declare -A ports=()
answers() { [[ $(redis-cli -p "${ports[$1]}" PING 2>/dev/null) == PONG ]]; }
answers_or_ended() { answers "$1" || has_ended "$1"; }

# start_server NAME ARGUMENT...: on a port below those that the kernel draws
start_server() {
    local name=$1 try
    for ((try = 0; try < 20; try++)); do
        ports[$name]=${ports[$name]-$((RANDOM % 10000 + 12000))}
        mkdir -p "$name"
        start "$name" redis-server ${conf:+"$conf"} --port "${ports[$name]}" --bind 127.0.0.1 --dir "$tmp/$name" "${@:2}"
        wait_for answers_or_ended "$name"
        answers "$name" && return
        unset "ports[$name]"
    done
    fail "no free port for $name: $(tail -n 3 "$name.out")"
}

start_redis_server() { conf='' start_server "$@" --save '' --appendonly no --repl-diskless-sync-delay 0; }

start_sentinel() {
    cat >"$1.conf" <<CONF
sentinel monitor queue 127.0.0.1 ${ports[r0]} 2
sentinel down-after-milliseconds queue 1000
sentinel failover-timeout queue 4000
CONF
    conf=$tmp/$1.conf start_server "$1" --sentinel
}

is_role() { [[ $(redis-cli -p "${ports[$1]}" ROLE 2>/dev/null | head -n 1) == "$2" ]]; }
has_replicas() { redis-cli -p "${ports[$1]}" INFO replication | grep -q "connected_slaves:$2"; }
knows_all() { [[ $(redis-cli -p "${ports[$1]}" SENTINEL MASTER queue | grep -A1 '^num-slaves$' | tail -n 1) == 2 &&
    $(redis-cli -p "${ports[$1]}" SENTINEL MASTER queue | grep -A1 '^num-other-sentinels$' | tail -n 1) == 2 ]]; }
names() { [[ $(redis-cli -p "${ports[$1]}" SENTINEL GET-MASTER-ADDR-BY-NAME queue | tail -n 1) != "${ports[$2]}" ]]; }

start_redis_server r0
start_redis_server r1 --replicaof 127.0.0.1 "${ports[r0]}"
start_redis_server r2 --replicaof 127.0.0.1 "${ports[r0]}"
wait_for has_replicas r0 2
for s in s0 s1 s2; do start_sentinel $s; done
for s in s0 s1 s2; do wait_for knows_all $s; done
sentinels=127.0.0.1:${ports[s0]},127.0.0.1:${ports[s1]},127.0.0.1:${ports[s2]}
hosts=127.0.0.1:1,$sentinels

# ---- 1: the first sentinel is not there
export MUSTER_URL=redis+sentinel://$hosts/queue
check_exit 0 "$MUSTER" enqueue q first
check_out '1 enqueued, 1 waiting'
check_exit 0 redis-cli -p "${ports[r0]}" LLEN muster:queues:q
check_out 1
MUSTER_URL=redis+sentinel://127.0.0.1:${ports[s1]}/nobody check_exit 69 "$MUSTER" queues --timeout 500ms
check_err "does not know a master 'nobody'"
MUSTER_URL=redis+sentinel://127.0.0.1:${ports[r0]}/queue check_exit 69 "$MUSTER" queues --timeout 500ms
check_err 'this is no Sentinel'
MUSTER_URL=redis://127.0.0.1:${ports[s0]} check_exit 2 "$MUSTER" queues
check_err 'redis+sentinel://'
start_redis_server locked
redis-cli -p "${ports[locked]}" CONFIG SET requirepass secret >said
locked=127.0.0.1:${ports[locked]}
export MUSTER_URL=redis+sentinel://$locked,127.0.0.1:${ports[s0]}/queue
check_exit 0 "$MUSTER" enqueue passed first
check_exit 0 "$MUSTER" work passed --print --burst
[[ $(cat out) == first ]] || fail "not the task: $(cat out)"
# shellcheck disable=SC2016 # $0 is for the inner shell
start passing bash -c 'exec "$0" listen passed 2>&1' "$checked"
wait_for grep -q ': listens' passing.out
[[ $(wc -l <passing.out) == 1 ]] || fail "it says more: $(cat passing.out)"
end passing TERM 0
export MUSTER_URL=redis+sentinel://$locked,$locked/queue
check_exit 77 "$MUSTER" enqueue passed first
check_exit 77 "$MUSTER" work passed --print
check_exit 77 "$MUSTER" listen passed
# The master refuses, and the first sentinel is not there.
export MUSTER_URL=redis+sentinel://:wrong@$hosts/queue
check_exit 77 "$MUSTER" enqueue passed first
check_exit 77 "$MUSTER" work passed --print
check_exit 77 "$MUSTER" listen passed
export MUSTER_URL=redis+sentinel://$hosts/queue
for r in r0 r1 r2; do
    redis-cli -p "${ports[$r]}" CONFIG SET appendonly yes >said
done
is_written() { redis-cli -p "${ports[r0]}" INFO persistence | grep -q 'aof_rewrite_in_progress:0'; }
wait_for is_written
check_exit 1 "$MUSTER" doctor
grep -qE "^good +sentinel: the sentinels name .*:${ports[r0]}.* as the master$" out || fail "no master: $(cat out)"
grep -qE '^good +replicas: it is a master, and 2 replicas are connected$' out || fail "no replicas: $(cat out)"
MUSTER_URL="$MUSTER_URL?replicas=1" check_exit 1 "$MUSTER" doctor
grep -qE '^mend +replicas: replicas=1, but 2 replicas are connected: .*; say replicas=2$' out || fail "no number: $(cat out)"
grep -qE '^mend +min-replicas: .*; CONFIG SET min-replicas-to-write 1' out || fail "no min-replicas: $(cat out)"
redis-cli -p "${ports[r0]}" CONFIG SET min-replicas-to-write 1 >said
"$MUSTER" doctor >out || true
! grep -q 'min-replicas' out || fail "still: $(cat out)"
redis-cli -p "${ports[r0]}" CONFIG SET min-replicas-to-write 0 >said
kill -STOP "${pids[r2]}"
is_late() { "$MUSTER" doctor >out 2>err || true; grep -qE "^mend +replicas: the replica 127.0.0.1:${ports[r2]} was last heard [0-9]+ s ago" out; }
wait_for is_late
kill -CONT "${pids[r2]}"

# ---- 2
export MUSTER_URL=redis+sentinel://$sentinels/queue
# shellcheck disable=SC2016 # $0 is for the inner shell
start listen bash -c 'exec "$0" listen z --kind cancelled 2>&1' "$checked"
start events "$MUSTER" events
start steady "$MUSTER" work y --print
heard() { grep -cE "${1:-^cancelled}" "$tmp/listen.out"; }
heard_n() { (($(heard) >= $1)); }
listens() { (($(heard ': listens') >= 1)) && says events listens && says steady 'takes tasks'; }
wait_for listens
canceller() {
    local i=0
    while [[ ! -e cancelled_all ]]; do
        i=$((i + 1))
        "$MUSTER" enqueue z $i >/dev/null && "$MUSTER" cancel z $i >/dev/null
    done
    echo $i >cancelled_n
} 2>>canceller.log
canceller &
pids[canceller]=$!
wait_for heard_n 2
succeeds() { [[ $(redis-cli -p "$@") == OK ]]; }
wait_for succeeds "${ports[s1]}" SENTINEL FAILOVER queue
wait_for names s1 r0
listens_again() { (($(heard 'listens again') >= 1)); }
wait_for listens_again
grep -q 'may be missed: .*the Sentinel names another master now, .* ms ago it still named this one' listen.out ||
    fail "no reason: $(cat listen.out)"
check_end events 69
says events 'the Sentinel names another master now' || fail "no reason: $(cat events.err)"
is_role r0 master || fail "events ended only after the old master has become a replica: $(cat events.err)"
wait_for says steady 'Redis is back'
is_role r0 master || fail "the worker stayed until the old master became a replica: $(cat steady.err)"
wait_for heard_n $(($(heard) + 2))
touch cancelled_all
wait "${pids[canceller]}"
unset 'pids[canceller]'
heard_last() { grep -q "^cancelled.*[^0-9]$(<cancelled_n)$" "$tmp/listen.out"; }
wait_for heard_last
awk -F '\t' '/^cancelled/ { if ($4 <= n || ($4 != n + 1 && !gap)) exit 1; n = $4; gap = 0 } /may be missed/ { gap = 1 }' \
    listen.out || fail "missed without a word: $(cat listen.out)"
end listen TERM 0
end steady TERM 0
succeeds "${ports[r0]}" REPLICAOF 127.0.0.1 "$(redis-cli -p "${ports[s1]}" SENTINEL GET-MASTER-ADDR-BY-NAME queue | tail -n 1)"

# ---- 3
export MUSTER_URL=redis+sentinel://$hosts/queue
start worker "$MUSTER" work q --id w --print
took() { grep -qxF -- "$1" "$tmp/worker.out"; }
wait_for took first

export MUSTER_URL="redis+sentinel://$hosts/queue?replicas=2,1000"
producer() {
    local i=0
    while [[ ! -e stop ]]; do
        i=$((i + 1))
        until "$MUSTER" enqueue q "t$i" --request "r$i" --timeout 3s >/dev/null 2>>producer.log; do sleep 0.1; done
        echo "t$i" >>acknowledged
    done
}
producer &
pids[producer]=$!
acknowledged() { [[ -e acknowledged ]] && (($(wc -l <acknowledged) >= $1)); }
wait_for acknowledged 20

kill_master() {
    kill -KILL "${pids[$1]}"
    wait "${pids[$1]}" 2>/dev/null || true
    unset "pids[$1]"
    wait_for names s1 "$1"
    start_redis_server "$1"
}
# The old master stays one for a while, and confirms what the other replica has.
replace_master() {
    wait_for succeeds "${ports[s1]}" SENTINEL FAILOVER queue
    wait_for names s1 "$1"
}
find_master() { for master in r0 r1 r2; do is_role $master master && has_replicas $master 2 && return; done; }
deadline_s=60
for ((round = 1; round <= rounds; round++)); do
    wait_for find_master
    old=$master
    before=$(wc -l <acknowledged)
    if ((round % 2)); then kill_master "$old"; else replace_master "$old"; fi
    wait_for is_role "$old" slave
    wait_for acknowledged $((before + 40))
done
touch stop
wait "${pids[producer]}" || true
unset 'pids[producer]'

ran_all() { [[ -z $(sort acknowledged | comm -23 - <(sort worker.out)) ]]; }
wait_for ran_all
runs worker || fail "the worker has ended: $(cat worker.err)"
end worker TERM 0
export MUSTER_URL=redis+sentinel://$hosts/queue
check_clean
echo "acknowledged $(wc -l <acknowledged), lost 0, run again $(sort worker.out | uniq -d | wc -l)"
