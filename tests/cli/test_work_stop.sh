#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# How muster work ends, and what it prints meanwhile. Proves:
#  1. SIGTERM, SIGINT or SIGHUP: the running tasks end, others are given back, status 0; under nohup a
#     hang-up is ignored
#  2. a second signal, or the end of the drain time, gives running tasks back to the front in order, and ends the
#     children
#  3. the id of a live worker is refused with status 4; the id of a crashed worker is free after its ttl
#  4. without Redis it says so once and keeps trying until there is one; with --timeout it ends with status 124,
#     unless it was told to stop before
#  5. a Redis that goes away and comes back: a line for each; if it lost its data, the worker registers again
#  6. a wrong password ends it with status 77, another format with status 1
#  7. a key of a wrong type keeps it from deregistering: it ends at once with status 1, and names the key; a replica:
#     one line when it begins, one when it is over, and status 75 if it must stop meanwhile
#  8. a dead worker's tasks are taken over, with a line about it
#  9. one that is to stop and loses its registration, or finds that COMMAND cannot be run, lets its COMMANDs end, and
#     says why it ends, by its status too, whatever goes wrong meanwhile
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
unset MUSTER_TIMEOUT # a Redis that does not answer is part of this
cd "$tmp"
start_redis

enqueue() { "$MUSTER" enqueue "$@" >out; }
# Makes a file at-TASK, and ends when it is removed.
cat >hold <<'SH'
name=$(cat)
: >"at-$name"
while [ -e "at-$name" ]; do sleep 0.02; done
echo "$name" >>ended
SH
process_gone() { ! kill -0 "$1" 2>/dev/null; }

# ---- 1
for signal in TERM INT HUP; do
    start worker "$MUSTER" work $signal --id w -c 2 --prefetch 1 -- sh hold
    enqueue $signal 1 2 3 4
    wait_for test -e at-1 -a -e at-2
    wait_for redis_is 3 HLEN "muster:processing:w:$signal"
    kill -$signal "${pids[worker]}"
    wait_for redis_is 2 HLEN "muster:processing:w:$signal"
    runs worker || fail "SIG$signal ended it while tasks ran"
    rm at-1 at-2
    check_end worker 0
    check_exit 0 "$MUSTER" peek $signal
    check_out $'3\n4'
    [[ $(sort ended | paste -sd' ') == '1 2' ]] || fail "ended: $(cat ended)"
    rm ended
    check_redis 0 EXISTS muster:worker:w "muster:processing:w:$signal" muster:alive:w
done
start worker nohup "$MUSTER" work nohup -- sh hold
wait_for says worker 'takes tasks'
kill -HUP "${pids[worker]}"
enqueue nohup 1
wait_for test -e at-1
rm at-1
end worker TERM 0

# ---- 2
start worker "$MUSTER" work twice --id w -c 3 --ttl 1s -- sh -c 'echo $$ >>children; . ./hold'
enqueue twice 1 2 3 4
wait_for test -e at-1 -a -e at-2 -a -e at-3
kill -TERM "${pids[worker]}"
enqueue twice 5
end worker INT 0
check_exit 0 "$MUSTER" peek twice
check_out $'1\n2\n3\n4\n5'
while read -r child; do
    wait_for process_gone "$child"
done <children
rm at-*
for drain in 0s 100ms; do
    start worker "$MUSTER" work twice --id w -c 2 --drain $drain -- sh hold
    wait_for test -e at-1 -a -e at-2
    end worker TERM 0
    check_exit 0 "$MUSTER" peek twice
    check_out $'1\n2\n3\n4\n5'
    rm at-*
done

# ---- 3
start worker "$MUSTER" work q --print --id w --ttl 15s # in which a start is refused, however slow it is
wait_for says worker 'takes tasks'
check_exit 4 "$MUSTER" work q --print --id w
check_err "another live worker has the id 'w'"
check_exit 0 "$MUSTER" workers --json
(($(wc -l <out) == 1)) || fail "not one worker: $(cat out)"
end worker KILL 137
check_exit 4 "$MUSTER" work q --print --id w
wait_for redis_is 0 EXISTS muster:alive:w
register() {
    start worker "$MUSTER" work q --print --id w
    wait_for eval "says worker 'takes tasks' || has_ended worker"
    runs worker
}
wait_for register
end worker TERM 0

# ---- 4
start early "$MUSTER" work q --print --url "unix://$tmp/late.sock" --ttl 300ms --id early
wait_for says early 'no Redis, keeps trying'
start late redis-server --port 0 --unixsocket "$tmp/late.sock" --dir "$tmp" --save '' --appendonly no
wait_for says early 'takes tasks'
(($(grep -c 'no Redis' early.err) == 1)) || fail "told more than once: $(cat early.err)"
end early TERM 0
check_exit 124 "$MUSTER" work q --print --url "unix://$tmp/nobody" --ttl 100ms --timeout 200ms
grep -q 'not registered within --timeout 200ms' err || fail "no reason: $(cat err)"
# What it was told to first is why it ends, although its way out takes longer than --timeout.
is_handled() { ! ((0x$(sed -n 's/^ShdPnd:[[:blank:]]*//p' "/proc/${pids[$1]}/status") & 1 << $2 - 1)); }
start_gate
start held "$MUSTER" work q --print --timeout 1h --url "unix://$tmp/gate.sock"
wait_for test -e held
kill -TERM "${pids[held]}"
wait_for is_handled held 15
kill -ALRM "${pids[held]}" 2>out || true # after a few seconds it ends by itself
check_end held 0
end gate KILL 137

# ---- 5
start worker "$MUSTER" work q --id w --ttl 300ms -- cat
wait_for says worker 'takes tasks'
end redis TERM 0
wait_for says worker 'no connection to Redis, keeps trying'
start_redis
wait_for says worker 'Redis is back'
wait_for says worker 'was lost, registers again'
(($(grep -c 'keeps trying' worker.err) == 1)) || fail "told more than once: $(cat worker.err)"
redis CONFIG SET requirepass secret >out
redis -a secret --no-auth-warning CLIENT KILL TYPE normal >out
redis -a secret --no-auth-warning CLIENT KILL TYPE pubsub >out
wait_for says worker 'cannot use Redis, keeps trying'
redis -a secret --no-auth-warning CONFIG SET requirepass '' >out
wait_for eval "(( \$(grep -c 'Redis is back' worker.err) == 2 ))"
enqueue q $'still there\n'
wait_for grep -q 'still there' worker.out
end worker TERM 0

# ---- 6
redis CONFIG SET requirepass secret >out
check_exit 77 "$MUSTER" work q --print --url "unix://:wrong@$socket"
check_err 'denied: '
! grep -q 'keeps trying' err || fail "it does not keep trying: $(cat err)"
redis -a secret --no-auth-warning CONFIG SET requirepass '' >out
redis SET other:format 9 >out
check_exit 1 "$MUSTER" work q --print --prefix other
check_err 'or another prefix'

# ---- 7
redis HSET muster:queues:bad a b >out
start worker "$MUSTER" work bad good --ttl 1s --drain 1h -- sh hold
wait_for redis_is 1 ZCARD muster:idle:good # it serves both
end worker TERM 1
says worker "could not deregister: the key 'muster:queues:bad' has a wrong type; \`muster check\` says what to do" ||
    fail "the key is not named: $(cat worker.err)"
! says worker 'connection to Redis' || fail "Redis was there: $(cat worker.err)"
redis DEL muster:queues:bad >out
told_twice() { (($(grep -c READONLY worker.err) == 2)); }
check_exit 0 "$MUSTER" sweep
start worker "$MUSTER" work q --print --ttl 300ms --drain 0s
wait_for says worker 'takes tasks'
redis REPLICAOF 127.0.0.1 1 >out
wait_for says worker 'nothing until one is'
sleep 1 # in which it has connected several times
redis REPLICAOF NO ONE >out
wait_for says worker 'Redis is back'
(($(grep -c 'READONLY' worker.err) == 1 && $(grep -c 'Redis is back' worker.err) == 1)) ||
    fail "told more than once: $(cat worker.err)"
redis REPLICAOF 127.0.0.1 1 >out
wait_for told_twice
end worker TERM 75
redis REPLICAOF NO ONE >out

# ---- 8
start victim "$MUSTER" work shared --id victim --ttl 300ms -- sh hold
enqueue shared 1
wait_for test -e at-1
end victim KILL 137
rm -f at-1
start heir "$MUSTER" work shared --id heir --ttl 300ms -- sh hold
wait_for says heir 'worker victim failed: gave 1 of its tasks back'
wait_for test -e at-1
rm at-1
wait_for redis_is 0 HGET muster:queue:shared running
end heir TERM 0

# ---- 9
cat >clean <<'SH'
trap 'until [ -e go ]; do sleep 0.02; done; : >cleaned; exit 1' TERM
: >begun
while :; do sleep 0.02; done
SH
start worker "$MUSTER" work lost --id w -c 2 --ttl 1s -- sh clean
enqueue lost 1
wait_for test -e begun
kill -TERM "${pids[worker]}"
wait_for redis_is 0 HGET muster:worker:w hands # it drains
check_exit 0 "$MUSTER" fail-worker w
wait_for says worker 'was lost, and ends: the registration is gone'
runs worker || fail "it has not waited for its COMMAND: $(cat worker.err)"
: >go
check_end worker 1
[[ -e cleaned ]] || fail "COMMAND was killed: $(cat worker.err)"
says worker 'the registration was lost before what ran had ended' || fail "no reason: $(cat worker.err)"
! says worker 'registers again' || fail "it does not: $(cat worker.err)"
rm go
# One COMMAND runs when its interpreter is gone.
ln -s "$(command -v sh)" interpreter
printf '#!%s/interpreter\n. ./hold\n' "$tmp" >program
chmod +x program
start worker "$MUSTER" work broken --id w -c 2 --ttl 1s -- ./program
enqueue broken 1
wait_for test -e at-1
rm interpreter
enqueue broken 2
wait_for redis_is 0 HGET muster:worker:w hands # it drains
redis CLIENT KILL TYPE normal >out
wait_for says worker 'Redis is back'
rm at-1
check_end worker 3
[[ $(tail -n 1 worker.err) == *'program cannot be run: No such file or directory'* ]] || fail "no reason: $(cat worker.err)"
