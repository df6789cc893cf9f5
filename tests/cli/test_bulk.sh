#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Jobs that are chosen by what they are. Proves:
#  1. --dry-run only counts; cancel, change, replay and drop do it, and tell how many; --json
#  2. one that refuses is named: status 1
#  3. --newest, --oldest, from page to page by --past; --any; a state over all queues
#  4. wrong use: status 2; no such queue: status 3
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC2154 # tmp is lib.sh's
cd "$tmp"
start_redis

ok() { check_exit 0 "$MUSTER" "$@"; }
wrong() { check_exit 2 "$MUSTER" "$@"; }
ids() { "$MUSTER" jobs "$@" --json | sed 's/^{"id":"\([^"]*\)".*/\1/' | paste -sd' '; }
check_ids() {
    local got
    got=$(ids "${@:2}")
    [[ $got == "$1" ]] || fail "jobs ${*:2} are '$got', not '$1'"
}
# Each in a millisecond of its own: the order by age is known.
for id in a b c d e f; do
    queue=q
    [[ $id < d ]] || queue=r
    tags=(--tag all)
    [[ $id == [ace] ]] && tags+=(--tag odd)
    "$MUSTER" put "$queue" data --id "$id" "${tags[@]}" >said
done
"$MUSTER" put r data --id late --after f >said

# ---- 3
check_ids 'a b c d e f late' --oldest
check_ids 'late f' --newest -n 2
past=$("$MUSTER" jobs --newest -n 2 --json | tail -1 | sed 's/.*"id":"\([^"]*\)".*"put_at_ms":\([0-9]*\).*/\2:\1/')
check_ids 'e d c b a' --newest --past "$past"
check_ids 'a b c d e f' --state waiting
check_ids 'late' --state depends
check_ids 'a c e' --tag all --tag odd
check_ids 'a b c d e f' --tag all --tag odd --any

# ---- 1
ok cancel --tag odd --dry-run
check_out '3 jobs chosen; none was cancelled, because this is a dry run'
ok change --tag odd --state waiting --priority 4 --tag +changed
check_out '3 jobs chosen; 3 changed'
check_ids 'a c e' --tag changed
ok change --in-queue q --priority 5 --dry-run --json
check_out '{"chosen":3,"done":0,"running":0,"passed":0,"refused":0,"dry_run":true}'
process=$("$MUSTER" take --lease 1h q | cut -f1)
"$MUSTER" fail "$process" --group x
ok replay --group x --dry-run
check_out '1 job chosen; none was replayed, because this is a dry run'
ok replay --group x --tag all
check_out '1 job chosen; 1 replayed'
process=$("$MUSTER" take --lease 1h q | cut -f1)
"$MUSTER" fail "$process" --group x
ok drop --queue q
check_out '1 job chosen; 1 dropped'
check_ids '' --state failed

# ---- 2
check_exit 1 "$MUSTER" cancel --tag all --queue r
check_err 'late'
check_ids 'f late' --queue r --oldest
ok cancel --queue r --dependents --json
check_ids '' --queue r --oldest
check_exit 3 "$MUSTER" cancel --tag nobody
check_err "no job has the tag 'nobody'"
check_exit 3 "$MUSTER" replay --group none
check_err "no job has failed in the group 'none'"

# ---- 4
check_exit 3 "$MUSTER" cancel --queue missing
check_exit 3 "$MUSTER" replay --queue missing
wrong cancel --tag odd q task
wrong cancel --tag odd --job a
wrong cancel --dry-run
wrong cancel --state complete --group x
wrong cancel --any --tag odd
wrong replay
wrong replay --tag odd --all
wrong replay q --tag odd
wrong drop --dry-run
wrong change --tag odd
wrong change --tag odd a --priority 3
wrong change --dry-run a --priority 3
wrong change --priority 3
wrong jobs --newest --oldest
wrong jobs --past 5:a
wrong jobs --newest --past a
wrong jobs --any --tag a
wrong jobs --group x --state waiting
