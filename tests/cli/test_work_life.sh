#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Workers that come back: --permanent and --resume. Proves:
#  1. both need an --id: status 2
#  2. --resume goes on with the tasks that a killed worker of that id held, under new tokens, before anything else; a
#     start without it gives them back to the front instead
#  3. a permanent worker that is killed keeps its tasks beyond its ttl, even while others sweep; its id can start again
#     when the ttl is over, resuming or not; `muster workers` shows that it is permanent
#  4. starting again counts a crash of each task it held: the third puts the task on the failed list, resumed or not
#  5. while Redis is away for longer than the ttl, a command gets SIGTERM; with --on-doubt run it runs on to its end
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
unset MUSTER_TIMEOUT # a Redis that does not answer is part of this
cd "$tmp"
start_redis

enqueue() { "$MUSTER" enqueue "$@" >out; }
# Writes which process began with which task; ends when there is a file `go`.
cat >hold <<'SH'
task=$(cat)
echo "$MUSTER_WORKER $MUSTER_TOKEN $task" >>begun
until [ -e go ]; do sleep 0.02; done
SH
work() { start "$1" "$MUSTER" work q --id "$1" --ttl 1s "${@:2}" -- sh hold; }
lines() { [[ -e $1 ]] && (($(wc -l <"$1") == $2)); }
begun() { cut -d' ' -f3 begun | paste -sd' '; }
held() { redis_is "$2" HLEN "muster:processing:$1:q"; }
tokens() { redis HKEYS "muster:processing:$1:q" | sort; }
# die NAME: kills it, and waits until its ttl is over
die() {
    end "$1" KILL 137
    wait_for redis_is 0 EXISTS "muster:alive:$1"
}
# restart NAME OPTION...: is refused until the ttl is over in the registry, too
restart() {
    work "$@"
    wait_for eval "says $1 'takes tasks' || has_ended $1"
    runs "$1"
}
# finish_all WORKER...: lets all tasks end, then stops the workers
finish_all() {
    local name
    : >go
    wait_for redis_is 0 HGET muster:queue:q running
    wait_for redis_is 0 LLEN muster:queues:q
    for name in "$@"; do
        end "$name" TERM 0
    done
}

# ---- 1
for option in --permanent --resume; do
    check_usage work q $option
    check_err '--permanent and --resume need an --id, under which the worker comes back'
done
check_usage work q --id w --resume=yes

# ---- 2
for way in resumed given-back; do
    rm -f go begun
    enqueue q 1 2 3
    work w -c 1 --prefetch 2
    wait_for lines begun 1
    wait_for held w 3
    before=$(tokens w)
    die w
    enqueue q --front 0
    if [[ $way == resumed ]]; then
        wait_for restart w --resume
        wait_for lines begun 2
        held w 3 || fail "it took up: $(tokens w)"
        [[ $(tokens w | head -n 1) > $(tail -n 1 <<<"$before") ]] || fail "old tokens: $before, now $(tokens w)"
    else
        wait_for restart w
        wait_for lines begun 2
        held w 1 || fail "it holds: $(tokens w)"
    fi
    finish_all w
    [[ $(begun) == '1 1 2 3 0' ]] || fail "$way: it began $(begun)"
    check_redis 0 EXISTS muster:worker:w muster:processing:w:q
done

# ---- 3
rm go begun
check_exit 0 "$MUSTER" config --queue q max_crashes=0 # if the machine stands still, a peer may die, too
enqueue q 1 2
work host --permanent -c 2
wait_for lines begun 2
start peer "$MUSTER" work q --id peer --ttl 2s -c 9 -- sh hold
wait_for redis_is 1 ZCARD muster:idle:q
check_exit 0 "$MUSTER" workers --json
(($(grep -c '"alive":true,.*"permanent":true,' out) == 1)) || fail "not one permanent: $(cat out)"
die host
died=$(date +%s%3N)
outlived() { (($(redis ZSCORE muster:registry peer) > died + 5000)); } # its ttl beyond its last heartbeat
wait_for outlived
check_exit 0 "$MUSTER" workers --json
grep -qE '^\{"worker":"host","alive":false,.*"held":2,.*"permanent":true,' out || fail "not there: $(cat out)"
held host 2 || fail "it holds no more: $(tokens host)"
wait_for restart host --permanent --resume -c 2
wait_for lines begun 4
! grep -q '^peer ' begun || fail "peer got something: $(cat begun)"
die host
wait_for restart host --permanent -c 2
wait_for lines begun 6
(($(tail -n 2 begun | grep -c '^peer ') == 2)) || fail "given back to whom? $(cat begun)"
finish_all host peer
check_exit 0 "$MUSTER" config --queue q --unset max_crashes

# ---- 4
for option in --resume --permanent; do
    rm -f go begun
    work deadly
    enqueue q "task$option"
    wait_for lines begun 1
    for n in 2 3 4; do
        die deadly
        wait_for restart deadly $option
        wait_for lines begun $n
    done
    die deadly
    wait_for restart deadly $option
    if [[ $option == --permanent ]]; then # it is expected to go away
        wait_for lines begun 5
        check_redis 1 ZCARD muster:failed:q
        finish_all deadly
        continue
    fi
    wait_for redis_is 0 HGET muster:queue:q running
    check_exit 0 "$MUSTER" peek q
    check_out ''
    [[ $(redis ZRANGE muster:failed:q -1 -1) == *":deadlycrashedits worker died 3 times while it ran alonetask$option" ]] ||
        fail "the failed one: $(redis ZRANGE muster:failed:q -1 -1)"
    lines begun 4 || fail "it ran: $(cat begun)"
    end deadly TERM 0
done

# ---- 5
for way in stop run; do
    rm -f go begun
    enqueue q "doubt $way"
    start doubt "$MUSTER" work q --id doubt --ttl 300ms --on-doubt $way -- \
        sh -c 'echo begun >>begun; trap "echo told >>begun" TERM
               until [ -e go ]; do sleep 0.02; done; echo end >>begun'
    wait_for lines begun 1
    kill -STOP "${pids[redis]}"
    wait_for says doubt 'no heartbeat was confirmed'
    [[ $way == run ]] || wait_for lines begun 2
    : >go
    wait_for grep -qx end begun
    kill -CONT "${pids[redis]}"
    wait_for redis_is 0 HGET muster:queue:q running
    [[ $way == stop ]] || ! grep -qx told begun || fail "it was told to stop: $(cat begun)"
    check_redis 0 LLEN muster:queues:q
    end doubt TERM 0
done
