#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# muster work with less memory than a task needs (ulimit -v). Proves:
#  1. a task for which the worker has no memory, though nothing else runs, fails, group too-large, with words that say so;
#     so does a job; and all others are done
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$tmp"
start_redis

n_bytes=60000000
head -c $n_bytes /dev/zero >large
is_over() { redis_is 0 HGET muster:queue:q running && [[ $("$MUSTER" peek q) == '' ]]; }

# ---- 1: the bytes alone are nearly all that the worker has
"$MUSTER" enqueue q --whole <large >answer
"$MUSTER" put q --id job <large >answer
printf "a\nb\nc\n" | "$MUSTER" enqueue q >answer
cat >worker.sh <<'SH'
ulimit -v 90000
exec "$1" work q --ttl 60s -c 4 -- sh handler.sh
SH
cat >handler.sh <<'SH'
read -r task || true # it ends without a newline
echo "$task" >>ended
SH
start worker bash worker.sh "$MUSTER"
wait_for is_over
[[ $(sort ended | paste -sd' ') == 'a b c' ]] || fail "ended: $(sort ended | paste -sd' ')"
for row in "its task of $n_bytes" 'its record of 600'; do
    says worker "$row" || fail "it says: $(cat worker.err)"
done
check_exit 0 "$MUSTER" failed q --json
(($(grep -c '"group":"too-large".*bytes is more than this worker has memory for"' out) == 2)) || fail "$(cut -c1-500 out)"
end worker TERM 0
check_clean
