#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# muster batch and muster batches. Proves:
#  1. a batch is opened, filled by `muster put --batch`, closed and shown; its followers are put with their data
#  2. COMMAND finds its batch in MUSTER_BATCH, and adds jobs to it while it is open
#  3. a closed batch takes no more jobs, and one that is not there none at all: in words, with the exit code
#  4. batches lists them, and the JSON has all fields; a job's record names its batch
#  5. a nested batch is a member of its parent; cancel cancels the members of both
#  6. options that do not fit, and IDs that are words, are refused
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC2154 # tmp is lib.sh's
cd "$tmp"
start_redis

ok() { check_exit 0 "$MUSTER" "$@"; }

# show ID WORDS...: the record of the batch has each of these lines
show() {
    ok batch "$1"
    for line in "${@:2}"; do
        tr -s ' ' <"$tmp/out" | grep -qxF -- "$line" || fail "batch $1 has no line '$line': $(cat "$tmp/out")"
    done
}

# ---- 1
ok batch open b --on-end ends='all over' --on-complete ends --on-failure alarms
check_out b
ok put q one --batch b --id j1
show b 'state open' 'members 1' 'left 1' 'complete 0' 'on end ends' 'ttl 1d'

# ---- 2
# shellcheck disable=SC2016 # the command's shell expands it
"$MUSTER" work q --burst --max-tasks 1 -- sh -c '"$MUSTER" put q more --id j2 --batch "$MUSTER_BATCH"' >worked 2>&1 ||
    fail "work: $(cat worked)"
show b 'state open' 'members 2' 'left 1' 'complete 1'
ok job j2 --json
grep -qF '"batch":"b"' "$tmp/out" || fail "the record of j2 does not name its batch"

# ---- 1, the end
ok batch close b
check_out 'b: closed'
"$MUSTER" work q --burst -- true >worked 2>&1
show b 'state ended' 'left 0' 'complete 2' 'end job b-end' 'complete job b-complete'
ok job b-end --data
check_out 'all over'
ok job b-complete --data
check_out b
check_redis 0 EXISTS muster:job:b-failure

# ---- 3
check_exit 1 "$MUSTER" put q x --batch b
check_err "muster put: the batch 'b' has ended: no more jobs can be put to it; nothing was changed"
check_exit 3 "$MUSTER" put q x --batch nothing
check_err "muster put: there is no batch 'nothing' (any more): open it first; nothing was changed"
check_exit 3 "$MUSTER" batch nothing
check_exit 3 "$MUSTER" batch close nothing
check_exit 1 "$MUSTER" batch cancel b
check_err "muster batch: the batch 'b' has ended: nothing of it can be cancelled"

# ---- 4
ok batches --json
for field in id state members left complete failed cancelled gone is_cancelled since_ms due_at_ms opened_at_ms \
    closed_at_ms ttl_ms depth on_end end_job on_complete complete_job on_failure; do
    grep -qF "\"$field\":" "$tmp/out" || fail "batches --json has no $field: $(cat "$tmp/out")"
done
ok batches
grep -qE '^b +ended +2 +0 +2 ' "$tmp/out" || fail "batches: $(cat "$tmp/out")"

# ---- 5
ok batch open outer --ttl 2h
ok batch open inner --batch outer --on-end ends
ok put q x --batch inner
ok put q y --batch outer
ok batch cancel outer
check_out '2 removed, 0 running told to stop'
show inner 'state ended' 'cancelled 1' 'closed by cancel' 'batch outer' 'depth 2' 'end job inner-end'
show outer 'state ended' 'members 2' 'cancelled 2' 'is cancelled yes'
ok batch open again
check_exit 4 "$MUSTER" batch open again
check_err "muster batch: the batch 'again' is open: choose another id, or wait for its end; nothing was changed"
ok batch open
grep -qxE '[0-9a-f]{32}' "$tmp/out" || fail "a made id: $(cat "$tmp/out")"

# ---- 6
# refused WORDS VERB...: it is wrong usage, with these words
refused() {
    check_usage "${@:2}"
    grep -qF -- "$1" "$tmp/err" || fail "${*:2}: $(cat "$tmp/err")"
}
# shellcheck disable=SC2016 # backquotes are the message's
{
    refused '--ttl is for `muster batch open`' batch close again --ttl 1h
    refused 'say what to do: open, close ID, cancel ID, or ID alone' batch
    refused 'ID is missing' batch close
    refused "'halt' is none of open, close and cancel" batch halt again
    refused "ID 'close': \`muster batch\` could not name it" batch open close
    refused "--on-end: '' is no queue" batch open c --on-end =x
}
check_clean
