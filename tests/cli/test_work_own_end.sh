#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# COMMANDs that end their own processes. Proves:
#  1. finish, fail, retry and give-back by $MUSTER_PROCESS count at once, for tasks and jobs; COMMAND is not stopped, its
#     exit status and output mean nothing, and the worker says nothing; with --log text it says what was done
#  2. the options of the worker's connection reach COMMAND, also a password that came by a pipe, by whatever name
#  3. while COMMAND runs on it keeps its hand: the next task goes to another worker; and it keeps its time limit
#  4. an end by somebody else still stops COMMAND
#  5. COMMANDs that exit at once, or run on, while the worker's connections are cut all the time: none is stopped, none is
#     warned of, and each job is what its COMMAND wanted
#  6. `muster check` finds and mends what the worker's record says wrongly of it
# shellcheck disable=SC2016 # COMMAND's shell expands them
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
unset MUSTER_TIMEOUT # a Redis that does not answer is part of this
cd "$tmp"
start_redis
export PATH="${MUSTER%/*}:$PATH"

put() { "$MUSTER" put "$@" >out; }
is_in() { [[ $("$MUSTER" job "$1" --json | sed 's/.*"state":"\([a-z]*\)".*/\1/') == "$2" ]]; }
lines() { [[ -e $1 ]] && (($(wc -l <"$1") == $2)); }
not_running() { redis_is 0 HGET "muster:queue:$1" running; }

# ---- 1: it ends its process, waits until the test has seen that, and exits with 7
cat >own <<'SH'
trap 'echo stopped >>stopped' TERM
verb=$(cat)
case $verb in
    finish) muster finish "$MUSTER_PROCESS" --result 'its own' ;;
    fail) muster fail "$MUSTER_PROCESS" --group g --message 'its own' ;;
    retry) muster retry "$MUSTER_PROCESS" --delay 1h --group g --message 'its own' ;;
    give-back) muster pause own; muster give-back "$MUSTER_PROCESS" ;;
    task) muster fail "$MUSTER_PROCESS" --group t --message 'its own' ;;
esac >>said || echo failed >>stopped
echo "$verb" >>ended
until [ -e "go-$verb" ]; do sleep 0.02; done
echo output
exit 7
SH
start worker "$MUSTER" work own --id w -c 5 --ttl 1s --result stdout -- sh own
for verb in finish fail retry; do put own --id $verb $verb; done
"$MUSTER" enqueue own task >out
wait_for lines ended 4
put own --id give-back give-back
wait_for lines ended 5
wait_for not_running own
is_as_wanted() { is_in finish complete && is_in fail failed && is_in retry scheduled && is_in give-back waiting; }
is_as_wanted || fail "states: $("$MUSTER" jobs --queue own)"
check_exit 0 "$MUSTER" job finish --result
check_out 'its own'
check_exit 0 "$MUSTER" job retry --json
grep -q '"group":"g","message":"its own"' out || fail "the retry: $(cat out)"
check_exit 0 "$MUSTER" failed own t --json
grep -q '"message":"its own"' out || fail "the task: $(cat out)"
redis_is 0 HGET muster:worker:w held || fail "it holds $(redis HGET muster:worker:w held)"
wait_for redis_is 0 HGET muster:worker:w hands
touch go-finish go-fail go-retry go-give-back go-task
wait_for redis_is 5 HGET muster:worker:w hands
end worker TERM 0
[[ ! -e stopped ]] || fail "a command was stopped: $(cat worker.err)"
[[ $(cat worker.err) == 'muster work: w: takes tasks' ]] || fail "the worker said: $(cat worker.err)"
is_as_wanted || fail "states after the exit: $("$MUSTER" jobs --queue own)"

# ---- 1: the log, of one that is known before the exit
put log --id log x
start worker "$MUSTER" work log --id w --burst --log text -- \
    sh -c 'muster retry "$MUSTER_PROCESS" --delay 1h; until grep -q "has ended it: retried" worker.err; do sleep 0.02; done; exit 3'
check_end worker 0
grep -q 'info  muster work: w: its own command has ended it: retried: w:' worker.err || fail "log: $(cat worker.err)"
grep -q 'info  muster work: w: retried: w:.*, job log' worker.err || fail "log: $(cat worker.err)"
! grep -qE ' (warn|error) ' worker.err || fail "warned: $(cat worker.err)"

# ---- 2
put there --id there x --url "$MUSTER_URL" --prefix other
(
    unset MUSTER_URL
    "$MUSTER" work there --id w --burst --url "unix://$socket" --prefix other -- \
        sh -c 'muster finish "$MUSTER_PROCESS" --result there; exit 1' >out 2>err
) || fail "it ended with $?: $(cat err)"
check_exit 0 "$MUSTER" job there --result --prefix other
check_out there
redis ACL SETUSER guest on '>its password' '~*' '&*' +@all >said
# piped ARGUMENT...: env runs a worker with these, whose COMMAND has not the descriptor by which the password came
piped() {
    put piped --id piped x
    check_exit 0 env MUSTER_URL="unix://guest@$socket" "$@" -- \
        sh -c 'exec 5<&-; muster finish "$MUSTER_PROCESS" --result piped'
    is_in piped complete || fail "$*: $(cat err)"
}
piped "$MUSTER" work piped --id w --burst --password-file /dev/fd/5 5< <(echo 'its password')
piped MUSTER_PASSWORD_FILE=/dev/fd/5 "$MUSTER" work piped --id w --burst 5< <(echo 'its password')

# ---- 3
start one "$MUSTER" work hand --id one --ttl 1s -- sh -c 'muster finish "$MUSTER_PROCESS" && until [ -e go-on ]; do sleep 0.02; done'
"$MUSTER" enqueue hand first >out
wait_for not_running hand
wait_for redis_is 0 HGET muster:worker:one hands
"$MUSTER" enqueue hand second >out
"$MUSTER" peek hand >out
check_out second
start two "$MUSTER" work hand --id two --ttl 1s -- sh -c 'read -r task; echo "$task" >two'
wait_for lines two 1
end two TERM 0
touch go-on
wait_for redis_is 1 HGET muster:worker:one hands
end one TERM 0
"$MUSTER" enqueue limit x >out
check_exit 0 "$MUSTER" work limit --id w --burst --limit 300ms -- \
    sh -c 'trap "exit 0" TERM; muster finish "$MUSTER_PROCESS"; while :; do sleep 0.02; done'
grep -q 'w: past --limit, is told to stop: w:' err || fail "no limit: $(cat err)"

# ---- 4
put other --id other x
start worker "$MUSTER" work other --id w --ttl 1s -- sh -c 'trap "echo >told; exit 0" TERM; while :; do sleep 0.02; done'
wait_for redis_is 1 HGET muster:queue:other running
process=$(redis HKEYS muster:processing:w:other)
"$MUSTER" finish "w:${process#j}:other" >out
wait_for lines told 1
wait_for says worker 'an end did not count'
end worker TERM 0

# ---- 5
cat >cutting <<'SH'
trap 'echo >>cut-stopped' TERM
read -r verb after
case $verb in
    finish) muster finish "$MUSTER_PROCESS" ;;
    fail) muster fail "$MUSTER_PROCESS" --group g ;;
    retry) muster retry "$MUSTER_PROCESS" --delay 1h ;;
esac >/dev/null || echo "$MUSTER_JOB" >>cut-lost # its own connection was cut: nobody knows
[ "$after" = 1 ] || sleep 0.3
exit $(($$ % 3))
SH
for i in $(seq 20); do
    for verb in finish fail retry; do
        put cut --id "$verb-$i" "$verb $((i % 2))"
    done
done
start worker "$MUSTER" work cut --id w -c 4 --ttl 2s --log text -- sh cutting
wait_for says worker 'takes tasks'
is_cut_done() {
    redis CLIENT KILL TYPE pubsub >kills
    ((RANDOM % 2)) || redis CLIENT KILL TYPE normal SKIPME yes >kills
    is_quiet cut
}
deadline_s=60
wait_for is_cut_done
end worker TERM 0
[[ ! -e cut-stopped ]] || fail "a command was stopped: $(grep -v info worker.err)"
! grep -E 'end did not count|may not have counted' worker.err || fail 'warned'
touch cut-lost
(($(wc -l <cut-lost) < 30)) || fail "too many do not know: $(cat cut-lost)"
check_wanted() { grep -qx "$1" cut-lost || is_in "$1" "$2" || fail "$("$MUSTER" job "$1")"; }
for i in $(seq 20); do
    check_wanted "finish-$i" complete
    check_wanted "fail-$i" failed
    check_wanted "retry-$i" scheduled
done
check_clean

# ---- 6
start worker "$MUSTER" work other --id w --ttl 2s -- sh -c 'until [ -e released ]; do sleep 0.02; done'
"$MUSTER" enqueue other x >out
wait_for redis_is 1 HGET muster:queue:other running
token=$(redis HKEYS muster:processing:w:other)
for field in "e:$token" e:nonsense e:00000000001; do
    letter=f
    [[ $field != e:00000000001 ]] || letter='?'
    redis HSET muster:worker:w "$field" "$letter" >out
    check_exit 1 "$MUSTER" check
    grep -q "muster:worker:w.*a command has ended '${field#e:}', which cannot be" out || fail "not found: $(cat out)"
    check_exit 0 "$MUSTER" check --repair
    check_redis 0 HEXISTS muster:worker:w "$field"
done
touch released
wait_for not_running other
end worker TERM 0
check_clean
