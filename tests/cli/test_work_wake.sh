#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What wakes the worker of muster work. Proves:
#  1. a foreign LPUSH with a PUBLISH on P_<queue>_work wakes it long before its next heartbeat
#  2. muster enqueue hands a task to an idle worker: nothing waits afterwards
#  3. MUSTER_TRACE shows states, script calls and wake messages on standard error; without it, nothing is shown
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
start_redis

# The heartbeat comes only every 8 hours, so it cannot cause anything here.
start worker env MUSTER_TRACE=state,script,wake "$MUSTER" work q --print --id w --ttl 24h
wait_for redis_is 1 ZCARD muster:idle:q
printed() { [[ $(cat "$tmp/worker.out") == "$1" ]]; }

# ---- 1
redis LPUSH muster:queues:q foreign >"$tmp/out"
redis PUBLISH muster_q_work 1 >"$tmp/out"
wait_for printed foreign
wait_for redis_is 1 ZCARD muster:idle:q

# ---- 2
check_exit 0 "$MUSTER" enqueue q handed
check_out '1 enqueued, 0 waiting'
wait_for printed $'foreign\nhanded'

# ---- 3
end worker TERM 0
for class in state script wake; do
    grep -qE "^[0-9:.]+ $class +[^ ]" "$tmp/worker.err" || fail "no trace of $class: $(cat "$tmp/worker.err")"
done
start worker env MUSTER_TRACE=script "$MUSTER" work q --print
wait_for says worker 'takes tasks'
end worker TERM 0
! grep -qE ' (state|wake) ' "$tmp/worker.err" || fail "traces that were not asked for: $(cat "$tmp/worker.err")"
start worker "$MUSTER" work q --print --id w
wait_for says worker 'takes tasks'
end worker TERM 0
[[ $(cat "$tmp/worker.err") == 'muster work: w: takes tasks' ]] || fail "more than asked for: $(cat "$tmp/worker.err")"
