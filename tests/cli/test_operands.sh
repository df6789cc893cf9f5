#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The exit status of several operands. Proves:
#  1. status 2 means that nothing was tried: a wrong operand behind others is found before, or ends with another status
#  2. what is wrong with one operand alone, behind others, keeps none behind it from being done; nor does a job that would
#     have too many tags, also as the first one
#  3. the highest status of all is told, and which ones are missing
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC2154 # tmp is lib.sh's
cd "$tmp"
start_redis

setting() { "$MUSTER" config "$@" 2>/dev/null; }
put() { "$MUSTER" put q --id "$@" >/dev/null; }

# ---- 1
before=$(setting keep_jobs)
for wrong in max_running=2 keep_history=1 keep_failed=-1 keep_jobs_ms=400d; do
    check_exit 2 "$MUSTER" config keep_jobs=5 $wrong
    [[ $(setting keep_jobs) == "$before" ]] || fail "set, although '$wrong' is wrong"
done
check_exit 2 "$MUSTER" config --queue q rate_burst=5 rate=5/400d
check_err 'from 0 to 1000000000, or that in a time of up to 366 days, as in 100/1m'
[[ $(setting --queue q rate_ms) == 1000 ]] || fail 'half of the rate was set'
[[ $(setting --queue q rate_burst) == 0 ]] || fail 'what stands before the rate was set'
"$MUSTER" enqueue q a b c d >/dev/null
for _ in 1 2 3 4; do "$MUSTER" fail "$("$MUSTER" take q | cut -f 1)" --group g >/dev/null; done
mapfile -t entries < <("$MUSTER" failed q g --json | sed 's/.*"entry":"\([^"]*\)".*/\1/')
check_exit 2 "$MUSTER" drop q 'no entry!' "${entries[0]}"
check_err "'no entry!' is not the name of an entry"
check_redis 4 ZCARD muster:failed:q

# ---- 2
check_exit 1 "$MUSTER" drop q "${entries[0]}" 'no entry!' "${entries[1]}"
check_out 'q: 2 dropped'
check_redis 2 ZCARD muster:failed:q
check_exit 1 "$MUSTER" replay q "${entries[2]}" 'no entry!' "${entries[3]}"
check_out 'q: 2 replayed'
put every --every 1h x
put j1 x
put j2 x
check_exit 1 "$MUSTER" change j1 every j2 --retries 7 --if waiting
for id in j1 j2; do
    "$MUSTER" job $id --json | grep -q '"retries":7' || fail "$id was not changed"
done
tags=()
for n in {1..100}; do tags+=(--tag "t$n"); done
put full x "${tags[@]}"
check_exit 1 "$MUSTER" change full j2 --tag +new
check_err "the job 'full' would have more than 100 tags"
"$MUSTER" job j2 --json | grep -q '"new"' || fail 'j2 was not changed'

# ---- 3
"$MUSTER" put p --id over x >/dev/null
"$MUSTER" finish "$("$MUSTER" take p | cut -f 1)" >/dev/null
check_exit 3 "$MUSTER" cancel --job j1 over nosuch j2
check_out '2 removed, 0 running told to stop'
check_err "the job 'over' does not exist or is complete, and so 1 other is"
put j1 x
check_exit 3 "$MUSTER" cancel --job j1 nosuch --json
check_err "the job 'nosuch' does not exist or is complete"
check_exit 3 "$MUSTER" cancel --job over nosuch
check_err 'none of these jobs exists, or those that do are complete'
put j1 x
put j2 x
check_exit 0 "$MUSTER" cancel --job j1 j2 j1
"$MUSTER" put p --id bad --retries 0 x >/dev/null
"$MUSTER" fail "$("$MUSTER" take p | cut -f 1)" --group g >/dev/null
check_exit 3 "$MUSTER" wait bad nosuch over
check_exit 1 "$MUSTER" wait bad over
check_exit 3 "$MUSTER" queues nosuch q other
check_exit 3 "$MUSTER" job nosuch over
