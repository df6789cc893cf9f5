#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What doc/cpp.md shows is true; that its parts compile, the build has shown. Proves:
#  1. each block of C++ is a program that is tried here, or a part that was compiled
#  2. the two programs, as they stand there: the producer enqueues; what the worker has finished is written even if it
#     is killed then; both find Redis by MUSTER_URL, and say so if there is none or the URL is wrong
set -eu
# shellcheck source=tests/cli/lib.sh
. "$MUSTER_SOURCE/tests/cli/lib.sh"
page=$MUSTER_SOURCE/doc/cpp.md
# shellcheck disable=SC2154 # tmp is lib.sh's
cd "$tmp"

# ---- 1
blocks=$(grep -c '^```cpp$' "$page")
parts=$(grep -c 'static void part_' "$MUSTER_BUILD/manual_parts.cpp")
((blocks > 8 && parts == blocks - 2)) || fail "$blocks blocks, of which $parts parts were compiled"
kinds=$(sed -n 's/^```\(.\+\)/\1/p' "$page" | sort -u | paste -sd,)
[[ $kinds == 'cpp,sh install' ]] || fail "blocks of another kind: $kinds"

# ---- 2
producer=$MUSTER_EXAMPLES/manual_producer worker=$MUSTER_EXAMPLES/manual_worker
start_redis
check_exit 0 "$producer"
check_redis 'to ann' LRANGE muster:queues:mail 0 -1
start worker "$worker"
wait_for redis_is 0 EXISTS muster:queues:mail
wait_for redis_is 0 HGET muster:queue:mail running
end worker KILL 137
[[ $(cat worker.out) == 'to ann' ]] || fail "finished, and not written: '$(cat worker.out)'"
for program in "$producer" "$worker"; do
    check_exit 1 env MUSTER_URL=redis://h:0 "$program"
    check_err 'E_INVALID: MUSTER_URL: '
done
export MUSTER_URL=unix://$tmp/nobody
check_exit 1 "$producer"
check_err "E_CONN: "
start worker "$worker"
wait_for says worker 'no connection to Redis'
end worker TERM 143
(($(wc -l <worker.err) == 1)) || fail "more than a line: $(cat worker.err)"
