#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The examples in C++ do what their heads say:
#   producer  enqueues its arguments, or lines, in their order; names the error when there is no Redis
#   worker    works off what a producer enqueued; puts an empty task on the failed list; SIGTERM lets the running task
#             end, and leaves no key of its own; a URL that is wrong is named
#   retry     tries until there is a Redis; under one id the tasks are there once, and other tasks are refused
#   resizer   halves pictures on threads, and who asked gets the results; one that cannot be read is failed, with words
set -euo pipefail
# shellcheck source=tests/cli/lib.sh
. "$MUSTER_SOURCE/tests/cli/lib.sh"

producer=$MUSTER_EXAMPLES/producer_cpp
worker=$MUSTER_EXAMPLES/worker_cpp
start_redis

# ---- producer

check_exit 2 "$producer"
check_exit 1 env MUSTER_URL=nonsense "$producer" words
check_err 'E_INVALID: MUSTER_URL'
check_exit 1 env MUSTER_URL="unix://$tmp/nobody" "$producer" words "a task"
check_err E_CONN
check_exit 0 "$producer" words "one" "and two"
check_out "2 waiting"
check_exit 0 "$producer" words < <(printf 'now three words\n\nlast')
check_out "5 waiting"
check_exit 0 "$MUSTER" peek words
check_out $'one\nand two\nnow three words\n\nlast'

# ---- worker

check_exit 2 "$worker"
check_exit 1 env MUSTER_URL=nonsense "$worker" words
check_err 'E_INVALID: MUSTER_URL'
start worker "$worker" words
done_so_far() { (($(wc -l <"$tmp/worker.out") == $1)); }
wait_for done_so_far 4
check_redis 1 ZCARD muster:failed:words
[[ $(cut -d' ' -f2- "$tmp/worker.out" | xargs) == "1 words 2 words 3 words 1 words" ]] ||
    fail "the worker counted wrongly: $(cat "$tmp/worker.out")"
says worker "takes tasks" || fail "no word of the start: $(cat "$tmp/worker.err")"
end worker TERM 0
check_redis 0 EXISTS muster:registry muster:ttls muster:idle:words muster:queues:words

# ---- retry

retry=$MUSTER_EXAMPLES/retry_cpp
check_exit 2 "$retry" orders 4711
end redis TERM 0
start retry "$retry" orders 4711 "a book" "a pen"
wait_for says retry E_CONN
start_redis
check_end retry 0
check_exit 0 "$retry" orders 4711 "a book" "a pen"
check_out "2 waiting"
check_redis $'a pen\na book' LRANGE muster:queues:orders 0 -1
check_exit 1 "$retry" orders 4711 "a book"
check_err E_EXISTS
check_redis 2 LLEN muster:queues:orders

# ---- resizer

resizer=$MUSTER_EXAMPLES/resizer_cpp
check_exit 2 "$resizer" pictures
printf 'P5 4 2 255\nabcdefgh' >"$tmp/one"
printf 'P5 2 2 255\nabcd' >"$tmp/two"
printf 'P5 9 9 255\nabcd' >"$tmp/short"
start resizer "$resizer" pictures 2
check_exit 1 "$resizer" pictures 1 "$tmp/one" "$tmp/two" "$tmp/short"
[[ $(sort "$tmp/out") == "$tmp/one: 2x1
$tmp/short: failed: $tmp/short is too short (its one retry is used up)
$tmp/two: 1x1" ]] || fail "it printed: $(cat "$tmp/out")"
[[ $(cat "$tmp/one.half") == $'P5 2 1 255\nac' ]] || fail "the picture: $(cat "$tmp/one.half")"
check_exit 0 "$resizer" pictures 1 "$tmp/two"
check_out "$tmp/two: 1x1"
end resizer TERM 0
check_clean
