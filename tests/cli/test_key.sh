#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Jobs of a key. Proves:
#  1. at most max_running_per_key of a key run; the others are held, and listed so; jobs of other keys go on
#  2. an end lets the next one in; change --key takes one out of it; a raised limit lets all go
#  3. a worker runs no two of a key at once, and all of them in the end
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC2154 # tmp is lib.sh's
cd "$tmp"
start_redis

ok() { check_exit 0 "$MUSTER" "$@"; }
check_held() {
    local got
    got=$("$MUSTER" jobs --queue q --state held --json | sed 's/^{"id":"\([^"]*\)".*/\1/' | paste -sd' ')
    [[ $got == "$1" ]] || fail "held are '$got', not '$1'"
}

# ---- 1
"$MUSTER" config --queue q max_running_per_key=1 >said 2>&1
for id in a b c; do
    ok put q "$id" --id "$id" --key customer-7
done
ok put q x --id x --key customer-8
check_held 'b c'
ok take q
process=$(cut -f1 out)
ok take q
grep -q x out || fail "another key waits: $(cat out)"
check_exit 3 "$MUSTER" take q

# ---- 2
ok finish "$process"
check_held 'c'
ok change c --key ''
check_held ''
ok job c --json
! grep -q '"key"' out || fail 'c has a key'
for id in d e f; do
    ok put q "$id" --id "$id" --key customer-7
done
check_held 'd e f'
ok config --queue q max_running_per_key=9
ok take q
check_held ''
check_clean

# ---- 3
ok config --queue w max_running_per_key=1
seq 20 | while read -r n; do
    "$MUSTER" put w "$n" --key k >said
done
# shellcheck disable=SC2016 # for the worker's shell
"$MUSTER" work w -c 4 --burst -- sh -c 'mkdir lock || echo two; rmdir lock; echo one' >ran 2>errors
! grep -q two ran || fail 'two of a key ran at once'
(($(grep -c one ran) == 20)) || fail "not all ran: $(cat ran errors)"
check_clean
