#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# lease.sh: works off a queue from the shell without being a worker. Each task is taken under a lease, which is extended
# while COMMAND runs. The exit status of COMMAND decides what happens to the task. If this script ends before it has
# ended a task, the task goes back to the front of its queue: at once, or when its lease lapses.
#
# `muster work QUEUE -- COMMAND` does more: tasks are handed to it, and its peers give them back when it dies. A lease
# is for a program that is not a worker, such as a cron job, or a script that decides after each task whether to go on.
set -euo pipefail

if (($# < 2)); then
    cat >&2 <<'TEXT'
Usage: lease.sh QUEUE COMMAND [ARGUMENT...]

Takes the tasks of QUEUE one after the other and runs COMMAND with each on its standard input: exit status 0 finishes
the task, 75 retries it in a minute, any other fails it. Ends when no task has come for LEASE_WAIT (default 10s). The
lease lasts three times LEASE_BEAT_S seconds (default 10), and is extended every LEASE_BEAT_S seconds. MUSTER_URL, if
set, says where Redis is.
TEXT
    exit 2
fi
queue=$1
shift
beat_s=${LEASE_BEAT_S:-10}
lease=$((3 * beat_s))s
dir=$(mktemp -d "${TMPDIR:-/tmp}/lease.XXXXXX")
process='' command='' keeper=''

# If the signal came while a task was taken, only the file knows the lease.
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

# `muster take` prints the process id, a tab, the task and a newline. A file keeps what a variable loses: NULs, and
# newlines at the end.
take() {
    muster take "$queue" --lease "$lease" --wait "${LEASE_WAIT:-10s}" >"$dir/taken" || return
    IFS=$'\t' read -r process _ <"$dir/taken"
    tail -c "+$(($(printf '%s\t' "$process" | wc -c) + 1))" "$dir/taken" | head -c -1 >"$dir/task"
}

# Extends the lease until its standard input ends, because the script closes it or is dead. If it is refused (1), the
# lease has lapsed or the task was cancelled, and COMMAND must stop. If there is no answer, two more beats are left.
keep() {
    local refused=0
    until read -rt "$beat_s" || (($? <= 128)); do # above 128: the time is over
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

# Sets $status to the exit status of COMMAND.
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

# A cancelled task that is given back is gone. If an end does not count, muster says so, and the task is in other hands.
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
((code == 3)) || exit "$code" # 3: no task came
