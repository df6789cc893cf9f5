#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# put --at and change --at. Proves:
#  1. a time is read to the millisecond, with any distance from UTC; seconds are optional
#  2. a time that is over means at once; one that comes lets the job wait for it, also if it waits for others
#  3. change moves the time of a job that is scheduled, waits, or depends
#  4. lines of JSON have it, too
#  5. what is no time, or has no distance from UTC, is refused in words; so is a second time
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC2154 # tmp is lib.sh's
cd "$tmp"
start_redis

ok() { check_exit 0 "$MUSTER" "$@"; }
# due ID: when it is due, in ms, or nothing
due() { redis HGET "muster:job:$1" due; }
ms() { date -d "$1" +%s%3N; }
check_due() { [[ $(due "$1") == "$2" ]] || fail "$1 is due at $(due "$1"), not $2"; }
has() {
    ok job "$1" --json
    grep -qF -- "$2" out || fail "$1 lacks $2: $(cat out)"
}

# ---- 1
n=0
while read -r when; do
    n=$((n + 1))
    ok put q x --id "t$n" --at "$when"
    check_due "t$n" "$(ms "$when")"
    has "t$n" '"state":"scheduled"'
done <<'TIMES'
2096-12-24T18:00+01:00
2096-12-24T17:00Z
2096-12-24T17:00:30Z
2096-12-24T17:00:30.5Z
2096-12-24T17:00:30.123Z
2096-12-24T12:00:00-05:00
2096-12-24T22:45+05:45
2096-02-29T00:00+14:00
TIMES
((n == 8)) || fail "only $n times were tried"
check_due t3 4007206830000

# ---- 2
ok put q x --id over --at 2020-01-01T00:00Z
has over '"state":"waiting"'
has over '"due_at_ms":null'
ok put q x --id after --after t1 --at 2096-12-25T00:00Z
has after '"state":"depends"'
check_due after 4007232000000

# ---- 3
ok change t1 --at 2095-01-01T00:00Z
check_due t1 3944678400000
ok change t2 --at 2001-01-01T00:00Z
has t2 '"state":"waiting"'
ok change over --at 2096-12-24T17:00Z
has over '"state":"scheduled"'
check_due over 4007206800000
ok change after --at 2097-01-01T00:00Z
check_due after 4007836800000
ok put q y --id t3 --replace --at 2097-01-01T00:00Z
check_due t3 4007836800000
ok put q y --id t3 --replace
check_due t3 4007836800000

# ---- 4
echo '{"id": "line", "data": "x", "at": "2096-12-24T18:00+01:00"}' | ok put q --json-lines
check_due line 4007206800000

# ---- 5
for when in 2096-12-24 2096-12-24T18:00 '2096-12-24 18:00Z' 2096-02-30T00:00Z 2096-12-24T24:00Z 2096-12-24T18:60Z \
    2096-12-24T18:00+1 2096-12-24T18:00+24:00 2096-12-24T18:00ZZ 2096-12-24T18:00:61Z 2096-12-24T18:00:00.Z \
    2096-12-24T18:00:00.1234Z tomorrow ''; do
    check_usage put q x --at "$when"
    check_err '--at'
    check_usage change t1 --at "$when"
done
check_err '2026-12-24T18:00+01:00'
check_usage put q x --at 2096-12-24T18:00Z --delay 1h
check_err '--delay and --at exclude each other'
check_usage put q x --at 2096-12-24T18:00Z --every 1h
check_err '--offset, or --from, sets its first time'
check_usage change t1 --at 2096-12-24T18:00Z --now
check_clean
