#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# A queue or worker that does not exist looks like an empty one, so a verb that names it says so. Proves:
#  1. lists of a queue: a line on standard error, nothing on standard output, and status 3
#  2. ps of a worker: the same
#  3. replay, drop and cancel of nothing, take and delete: the same
#  4. no such line if the queue or worker exists, and is merely empty; also if a foreign program has made the queue
#  5. nothing was made by asking
#  6. replay and drop say why they do nothing, and what they leave: the list is empty, has nothing of the group, or an equal unique task lives
#  7. a name that resembles a queue's is told with that one; wait tells an id under which there is nothing
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC2154 # tmp is lib.sh's
cd "$tmp"
start_redis

ok() { check_exit 0 "$MUSTER" "$@"; }
# is_told NAME VERB...: status 3, and one line that says that there is no such thing
is_told() {
    check_exit 3 "$MUSTER" "${@:2}"
    check_err "there is no $1"
    [[ ! -s out ]] || fail "${*:2}: $(cat out)"
    (($(wc -l <err) == 1)) || fail "${*:2}: more than a line: $(cat err)"
}
is_silent() {
    ok "$@"
    [[ ! -s err ]] || fail "$*: $(cat err)"
}
lists=('failed %' 'failed % --groups' 'failed % group' 'ps --queue %' 'jobs --queue %' 'jobs --queue % --state waiting'
    'jobs --queue % --group g' 'jobs --queue % --tag t' 'peek %' 'stats --queue %')
moves=('replay % --all' 'drop % --all' 'cancel % task' 'cancel --queue %')

# ---- 1, 3
for list in "${lists[@]}" "${moves[@]}"; do
    # shellcheck disable=SC2086
    is_told "queue 'typo'" ${list//%/typo}
    # shellcheck disable=SC2086
    is_told "queue 'typo'" ${list//%/typo} --json
done
check_exit 3 "$MUSTER" take typo
check_err "there is no queue 'typo'"
check_exit 3 "$MUSTER" delete typo --yes

# ---- 2
is_told "worker 'nobody'" ps --worker nobody
is_told "worker 'nobody'" ps --worker nobody --json

# ---- 5
check_redis muster:format KEYS '*'

# ---- 4
start w "$MUSTER" work served --id w -- true
wait_for says w 'takes tasks'
redis LPUSH muster:queues:foreign x >said
for list in "${lists[@]}"; do
    # shellcheck disable=SC2086
    is_silent ${list//%/served}
    # shellcheck disable=SC2086
    is_silent ${list//%/foreign}
done
is_silent ps --worker w

# ---- 6, 7
for move in replay drop; do
    ok $move served --all
    check_err "the failed list of the queue 'served' is empty"
done
"$MUSTER" enqueue apart --unique u >said
"$MUSTER" fail "$("$MUSTER" take apart | cut -f 1)" >said
is_told "queue 'apatr'; did you mean 'apart'?" peek apatr
check_exit 3 "$MUSTER" replay apart --group none
check_err "has nothing of the group 'none'"
"$MUSTER" enqueue apart --unique u >said
ok replay apart --all
check_out 'apart: 0 replayed'
check_err 'while an equal unique task is alive'
"$MUSTER" enqueue apart other >said
"$MUSTER" fail "$("$MUSTER" take apart -n 2 | grep -F other | cut -f 1)" >said
ok replay apart --all
check_out 'apart: 1 replayed'
check_err "1 stays on the failed list of the queue 'apart': not replayed while an equal unique task is alive"
check_exit 3 "$MUSTER" wait nope
check_out $'nope\tgone'
check_err "there is no job 'nope' (any more): none was put under this id, or its record is gone"
check_exit 3 "$MUSTER" take served
check_err "nothing waits in the queue 'served', or it is paused"
