#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# muster take with less memory than a task needs (ulimit -v). Proves:
#  1. what is behind a task and a job for which there is no memory is taken
#  2. if nothing else is there, it ends with words that say for which one, and how many bytes that has; however often this
#     happens, and whatever lease it asks for, it stays at the front, and nobody suspects it
#  3. who has more memory gets it
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$tmp"
start_redis

n_bytes=60000000
head -c $n_bytes /dev/zero >large
"$MUSTER" enqueue q --whole <large >answer
"$MUSTER" put q --id job <large >answer
printf "a\nb\n" | "$MUSTER" enqueue q >answer

# The bytes alone are nearly all that it has.
cat >limited.sh <<'SH'
ulimit -v 90000
exec "$@"
SH
limited=(bash limited.sh "$MUSTER" take q)
words="of $n_bytes bytes is more than this program has memory for; it goes back to the queue"

# ---- 1
for task in a b; do
    check_exit 0 "${limited[@]}" --lease 1h
    [[ $(<out) == *$'\t'$task ]] || fail "not $task: $(cut -c1-100 out)"
    check_err "$words"
    "$MUSTER" finish "$(cut -f1 out)" >answer
done

# ---- 2
for _ in 1 2 3 4; do
    check_exit 1 "${limited[@]}" --lease 1s --wait 1h
    check_out ''
    check_err "$words; and 1 more"
    "$MUSTER" sweep >answer
done
grep -Eq "(task|the job 'job').*$words" err || fail "$(<err)"
check_exit 0 "$MUSTER" failed
[[ $(<out) != *crashed* ]] || fail "it failed: $(<out)"
check_redis 0 EXISTS muster:suspects:q
check_redis 0 HGET muster:queue:q running

# ---- 3
for _ in 1 2; do
    check_exit 0 "$MUSTER" take q --lease 1h
    (($(stat -c %s out) > n_bytes)) || fail "too short: $(cut -c1-100 out)"
    "$MUSTER" finish "$(head -c 100 out | cut -f1 -s)" >answer
done
check_clean
