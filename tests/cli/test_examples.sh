#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The example programs do what their heads say:
#   producer  enqueues its arguments, or lines, in their order; names the error when there is no Redis
#   worker    works off what a producer enqueued, and what is enqueued while it is idle; puts an empty task onto the
#             failed list; ends with status 0 on SIGTERM and leaves no key of its own
set -euo pipefail
# shellcheck source=tests/cli/lib.sh
. "$MUSTER_SOURCE/tests/cli/lib.sh"

producer=$MUSTER_EXAMPLES/producer
worker=$MUSTER_EXAMPLES/worker
start_redis

# ---- producer

check_exit 2 "$producer"
check_exit 2 env MUSTER_URL=nonsense "$producer" words
check_exit 1 env MUSTER_URL="unix://$tmp/nobody" "$producer" words "a task"
check_err E_CONN

check_exit 0 "$producer" words "one" "and two"
check_out "2 waiting"
check_exit 0 "$producer" words < <(printf 'now three words\n\nlast')
check_out "5 waiting"
check_redis $'one\nand two\nnow three words\n\nlast' eval \
    "local t = redis.call('LRANGE', 'muster:queues:words', 0, -1); local r = {}
     for i = #t, 1, -1 do r[#r + 1] = t[i] end return r" 0

# ---- worker

check_exit 2 "$worker"
start worker "$worker" words
done_so_far() { (($(wc -l <"$tmp/worker.out") == $1)); }
wait_for done_so_far 4
check_redis 1 ZCARD muster:failed:words
wait_for redis_is 1 ZCARD muster:idle:words
check_exit 0 "$producer" words "here is number five"
check_out "0 waiting"
wait_for done_so_far 5
[[ $(cut -d' ' -f2- "$tmp/worker.out" | xargs) == "1 words 2 words 3 words 1 words 4 words" ]] ||
    fail "the worker counted wrongly: $(cat "$tmp/worker.out")"
says worker "takes tasks" || fail "no word of the start: $(cat "$tmp/worker.err")"

kill -TERM "${pids[worker]}"
check_end worker 0
check_redis 0 EXISTS muster:registry muster:ttls muster:idle:words muster:queues:words
