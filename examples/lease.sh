#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# lease.sh: a queue worked off from the shell without being a worker. Each task is taken under a lease, which is extended
# as long as COMMAND runs; its exit status decides what becomes of the task. Whatever becomes of this script, a task that
# it has not ended goes back to the front of its queue: at once, or when its lease lapses.
#
# `muster work QUEUE -- COMMAND` does more: it is handed its tasks, and its peers give them back when it dies. A lease is
# for whoever is no worker, such as a cron job, or a script that decides after each task whether to go on.
set -euo pipefail

if (($# < 2)); then
    cat >&2 <<'TEXT'
Usage: lease.sh QUEUE COMMAND [ARGUMENT...]

Takes the tasks of QUEUE one after the other and runs COMMAND with each on its standard input: exit status 0 finishes
the task, 75 retries it in a minute, any other fails it. Ends when none has come for LEASE_WAIT (10s). The lease is
three times LEASE_BEAT_S (10) seconds, and extended every LEASE_BEAT_S. In MUSTER_URL, if set, is a Redis.
TEXT
    exit 2
fi
queue=$1
shift
beat_s=${LEASE_BEAT_S:-10}
lease=$((3 * beat_s))s
dir=$(mktemp -d "${TMPDIR:-/tmp}/lease.XXXXXX")
process='' command='' keeper=''

# A lease that was taken while the signal came is known from the file alone.
clean_up() {
    local status=$?
    trap '' INT TERM HUP
    if [[ $command ]]; then
        kill "$command" 2>/dev/null || true
        wait "$command" || true
    fi
    [[ ! $keeper ]] || let_go || true
    if [[ -s $dir/taken ]] && IFS=$'\t' read -r process _ <"$dir/taken"; then
        muster give-back "$process" >&2 || true
    fi
    rm -rf "$dir"
    exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# What comes is the process' id, a tab, the task, a newline. A file keeps what a variable would not: NULs, and newlines at
# the end.
take() {
    muster take "$queue" --lease "$lease" --wait "${LEASE_WAIT:-10s}" >"$dir/taken" || return
    IFS=$'\t' read -r process _ <"$dir/taken"
    tail -c "+$(($(printf '%s\t' "$process" | wc -c) + 1))" "$dir/taken" | head -c -1 >"$dir/task"
}

# Extends the lease until its standard input ends: when the script closes it, or is dead. Refused (1), the lease has lapsed
# or the task was cancelled, and COMMAND has to stop. Without an answer there are two more beats before it lapses.
keep() {
    local refused=0
    until read -rt "$beat_s" || (($? <= 128)); do # above: the time is over
        muster extend "$process" --lease "$lease" >&2 || (($? != 1)) || {
            refused=1
            kill "$command" || true
        }
    done
    return $refused
}
let_go() {
    local pid=$keeper
    keeper=''
    exec {hold}>&-
    wait "$pid"
}

# COMMAND's exit status is then in $status.
run() {
    status=0 is_refused=''
    "$@" <"$dir/task" &
    command=$!
    exec {hold}> >(keep)
    keeper=$!
    wait "$command" || status=$?
    command=''
    let_go || is_refused=yes
}

# Given back, a task that was cancelled is gone. An end that does not count says so, and the task is in other hands.
end() {
    local verb=(fail --group "exit-$status")
    ((status != 0)) || verb=(finish)
    ((status != 75)) || verb=(retry --delay 1m)
    [[ ! $is_refused ]] || verb=(give-back)
    muster "${verb[@]}" "$process" >&2 || true
    : >"$dir/taken"
}

code=0
while take || { code=$? && false; }; do
    run "$@"
    end
done
((code == 3)) || exit "$code" # 3: nothing came
