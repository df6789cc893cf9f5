#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Errors from outside of the command. Every verb has a row here. Proves, for the verbs that ask Redis:
#  1. no Redis: status 69 and one line that names `muster serve`; one that does not answer: status 124 after --timeout, and
#     of a change the word that it may have been done; of what was sent, with the id that was made for it
#  2. a wrong password, a missing one, a command that is not allowed: status 77
#  3. a full, read-only or loading Redis: status 75, nothing changed
#  4. a key of another type, another format: status 1, nothing changed
#  5. standard output that cannot be written: status 1 and a line for a full disk; a closed pipe ends it by SIGPIPE, or is
#     told where that is ignored, and where something was changed
#  6. no password is shown in any of this, not even by MUSTER_TRACE
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
process=.lease:00000000001:q
asking=(queues workers ps 'peek q' 'enqueue q task' 'pause q' 'resume q' 'cancel q nothing' failed 'failed q' 'replay q --all'
    'drop q --all' sweep upgrade 'put q data' jobs 'jobs --queue q' 'jobs --queue q --state waiting' 'jobs --tag t' 'jobs --tags'
    stats 'stats --queue q' config 'config keep_jobs=9' 'enqueue q --unique' batches 'batch open')
# Those that have another answer when there is nothing for them to do.
others=(check doctor 'delete gone --yes' 'take nothing' "finish $process" "give-back $process" "retry $process" "fail $process" "extend $process --lease 1s"
    "cancel --process $process" "fail-worker nobody" 'job nothing' 'wait nothing' 'listen nothing' 'change nothing --track' 'cancel --job nothing' 'batch nothing'
    'batch close nothing' 'batch cancel nothing')
# A listener tells a Redis that does not answer from the end of its own --timeout.
listeners=(events)
# Those that change something.
changing=$(awk -F '"' '/^    \.name = "/ { name = $2 } /^    \.changes = true,/ { print name }' "$MUSTER_SOURCE"/src/cli/cmd_*.c | paste -sd' ')
does_change() { [[ " $changing " == *" ${1%% *} "* ]]; }
# Those that do more than ask once, whose own tests have their errors; help, which asks nobody;
# and completion, which is silent.
elsewhere=(serve work top web bench completion help)
all_said=$tmp/all-said

# check_all CODE TEXT ENVIRONMENT...: each verb must end with this status and one line with this text, and nothing else
check_all() {
    local code=$1 text=$2 verb
    shift 2
    for verb in "${asking[@]}" "${others[@]}" "${listeners[@]}"; do
        # shellcheck disable=SC2086
        check_exit "$code" env "$@" "$MUSTER" $verb
        check_err "$text"
        check_err "muster ${verb%% *}: "
        check_out ''
        cat "$tmp/err" >>"$all_said"
    done
}

# ---- every verb
printf '%s\n' "${asking[@]}" "${others[@]}" "${listeners[@]}" "${elsewhere[@]}" | cut -d ' ' -f 1 | sort -u >"$tmp/rows"
list_verbs | sort | diff - "$tmp/rows" >"$tmp/diff" ||
    fail "the verbs of \`muster help\` (<) are not those that have a row here (>): $(cat "$tmp/diff")"

# ---- 1
no_redis="start one with \`muster serve\`"
check_all 69 "$no_redis" MUSTER_URL="unix://user:hidden@$tmp/nobody"
# A file that exists but is no socket
check_all 69 "$no_redis" MUSTER_URL="unix://$tmp/out"
start_redis
check_exit 0 "$MUSTER" enqueue q task
for verb in "${asking[@]}"; do
    # shellcheck disable=SC2086
    check_exit 0 "$MUSTER" $verb
done
check_exit 0 "$MUSTER" enqueue q task
kill -STOP "${pids[redis]}"
for verb in "${asking[@]}" "${others[@]}"; do
    # shellcheck disable=SC2086
    check_exit 124 "$MUSTER" $verb --timeout 50ms
    check_err 'no answer within 50 ms'
    if does_change "$verb"; then
        check_err 'it may have been done: look before you do it again'
    else
        check_err 'wait longer with --timeout'
    fi
done
for verb in "${listeners[@]}"; do
    check_exit 69 "$MUSTER" "$verb" --timeout 50ms
    check_err 'no answer within 50 ms'
done
kill -CONT "${pids[redis]}"
wait_for redis_answers
if command -v python3 >"$tmp/out"; then
    for verb in 'put q data' 'batch open'; do
        start_gate
        # shellcheck disable=SC2086
        MUSTER_URL=unix://$tmp/gate.sock start verb "$MUSTER" $verb
        wait_for test -e "$tmp/held"
        end gate KILL 137
        check_end verb 69
        grep -qE 'if it is there, its id is [0-9a-f]{32}; it may have been done' "$tmp/verb.err" ||
            fail "nobody can look for it: $(cat "$tmp/verb.err")"
        rm "$tmp/gate.sock" "$tmp/held"
    done
fi

# ---- 2
redis CONFIG SET requirepass hidden >"$tmp/out"
check_all 77 'denied' MUSTER_URL="unix://:hidden-wrong@$socket"
check_all 77 'denied' MUSTER_URL="unix://nobody:hidden@$socket"
check_all 77 'denied'
check_all 77 'wrong user or password' MUSTER_URL="unix://:hidden-wrong@$socket"
check_exit 0 "$MUSTER" queues --url "unix://:hidden@$socket"
check_exit 0 "$MUSTER" queues --url "unix://default:%68idden@$socket"
export REDISCLI_AUTH=hidden
redis ACL SETUSER reader on '>hidden-reader' '~*' +@read +@connection >"$tmp/out"
check_exit 0 "$MUSTER" peek q --url "unix://reader:hidden-reader@$socket"
check_exit 77 "$MUSTER" enqueue q task --url "unix://reader:hidden-reader@$socket"
check_err 'denied'
cat "$tmp/err" >>"$all_said"

# ---- 6
for trace in state script wake state,script,wake; do
    for url in "unix://:hidden@$socket" "unix://:hidden-wrong@$socket" "unix://reader:hidden-reader@$socket"; do
        MUSTER_TRACE=$trace MUSTER_URL=$url "$MUSTER" enqueue q task >>"$all_said" 2>&1 || true
    done
done
start worker env MUSTER_TRACE=state,script,wake MUSTER_URL="unix://:hidden@$socket" "$MUSTER" work traced --print
wait_for says worker 'takes tasks'
check_exit 0 "$MUSTER" enqueue traced task --url "unix://:hidden@$socket"
wait_for grep -q task "$tmp/worker.out"
end worker TERM 0
cat "$tmp/worker.err" >>"$all_said"
grep -q 'script' "$all_said" || fail "there is no trace: $(cat "$all_said")"
! grep -q 'hid' "$all_said" || fail "a password was shown: $(grep hid "$all_said")"

# ---- 3
redis CONFIG SET requirepass '' >"$tmp/out"
unset REDISCLI_AUTH
length=$(redis LLEN muster:queues:q)
"$MUSTER" enqueue failing broken >"$tmp/out"
"$MUSTER" fail "$("$MUSTER" take --lease 1h failing | cut -f1)" >"$tmp/out"
redis CONFIG SET maxmemory 1 >"$tmp/out"
check_exit 75 "$MUSTER" enqueue q a b
check_err 'Redis is full'
check_err "failed lists hold 1 entries, $(redis HGET muster:failures:failing bytes) bytes, most of them of the queue 'failing'"
check_err 'muster drop'
check_err '0 tasks were enqueued'
! grep -q 'script: ' "$tmp/err" || fail "the words of Redis: $(cat "$tmp/err")"
check_exit 0 "$MUSTER" queues
redis CONFIG SET maxmemory 0 >"$tmp/out"
check_redis "$length" LLEN muster:queues:q
redis REPLICAOF 127.0.0.1 1 >"$tmp/out"
check_exit 75 "$MUSTER" enqueue q a b --timeout 1s
check_err "this Redis is a read-only replica: $socket; 0 tasks were enqueued; name its master"
! grep -qE 'script|READONLY' "$tmp/err" || fail "the words of Redis: $(cat "$tmp/err")"
check_err '; name its master with --url or MUSTER_URL'
redis REPLICAOF NO ONE >"$tmp/out"
check_redis "$length" LLEN muster:queues:q

# ---- 4
redis SET muster:queues:wrong text >"$tmp/out"
check_exit 1 "$MUSTER" enqueue wrong a b
check_err "the key 'muster:queues:wrong' has a wrong type"
check_exit 1 "$MUSTER" peek wrong
check_err "the key 'muster:queues:wrong' has a wrong type"
check_redis text GET muster:queues:wrong
# Redis does not say which key it is.
for row in 'registry workers' 'registry ps' 'registry doctor' 'registry sweep' 'names queues' 'names ps' 'names doctor' 'names sweep'; do
    redis SET "damaged:${row% *}" x >"$tmp/out"
    check_exit 1 "$MUSTER" "${row#* }" --prefix damaged
    grep -qF "the key 'damaged:${row% *}' has a wrong type" "$tmp/err" || fail "$row says: $(cat "$tmp/err")"
    redis DEL "damaged:${row% *}" >"$tmp/out"
done
redis SET other:format 9 >"$tmp/out"
check_exit 1 "$MUSTER" enqueue q task --prefix other
check_err 'or another prefix'
check_redis 1 EXISTS other:format other:queues:q other:names

# ---- 5: more rows than any buffer holds
seq 100000 | "$MUSTER" enqueue many >"$tmp/out"
redis EVAL "for i = 1, 5000 do redis.call('ZADD', 'muster:names', i, 'queue' .. i)
    redis.call('HSET', 'muster:queue:queue' .. i, 'paused', '1') end" 0 >"$tmp/out"
for verb in "${asking[@]}" 'peek many -n 100000' 'peek many -n 100000 --json' 'queues --json' help 'help work' --version; do
    # shellcheck disable=SC2086
    code=0 && "$MUSTER" $verb >/dev/full 2>"$tmp/err" || code=$?
    ((code == 1)) || fail "'$verb' ended with $code on a full disk"
    [[ $(tail -n 1 "$tmp/err") == *'cannot write standard output: No space left on device'* ]] ||
        fail "'$verb' does not say last that the disk is full: $(<"$tmp/err")"
done
mkfifo "$tmp/pipe"
# is_cut LINES VERB...: its reader goes after so many lines
is_cut() {
    head -n "$1" <"$tmp/pipe" >"$tmp/head" &
    code=0
    "${@:2}" >"$tmp/pipe" 2>"$tmp/err" || code=$?
    wait $!
    [[ $1 == 0 || -s $tmp/head ]] || fail "'${*:2}' printed nothing"
} 2>/dev/null # the shell would print there that it is broken
for verb in 'peek many -n 100000' 'peek many -n 100000 --json' queues 'queues --json'; do
    # shellcheck disable=SC2086
    is_cut 1 env --default-signal=PIPE "$MUSTER" $verb
    ((code == 141)) || fail "'$verb' ended with $code on a closed pipe"
    [[ ! -s $tmp/err ]] || fail "'$verb' is not quiet: $(cat "$tmp/err")"
    # shellcheck disable=SC2086
    is_cut 1 env --ignore-signal=PIPE "$MUSTER" $verb
    ((code == 1)) || fail "'$verb' ended with $code on a closed pipe, where SIGPIPE is ignored"
    [[ $(tail -n 1 "$tmp/err") == *'cannot write standard output: Broken pipe'* ]] || fail "'$verb' said: $(<"$tmp/err")"
done
# One line that is in the pipe already may never be read: nobody can tell. So this pipe has no reader from the beginning.
for verb in "${asking[@]}" help 'help work' --version; do
    # shellcheck disable=SC2086
    # shellcheck disable=SC2016 # the inner shell's
    code=$(env --default-signal=PIPE bash -c 'exec 3> >(:); wait $!; "$@" >&3 2>"$0"; echo $?' "$tmp/err" "$MUSTER" $verb) 2>/dev/null
    if does_change "$verb" || [[ $verb == upgrade || $verb == *=* ]]; then
        [[ $code == 1 && $(<"$tmp/err") == *'Broken pipe; what was asked for is done' ]] ||
            fail "'$verb' ended with $code where nobody reads: $(<"$tmp/err")"
    else
        ((code == 141)) || fail "'$verb' ended with $code where nobody reads: $(<"$tmp/err")"
        ! grep -q 'standard output' "$tmp/err" || fail "'$verb' is not quiet: $(<"$tmp/err")"
    fi
done
# shellcheck disable=SC2016 # as above
code=$(bash -c 'exec 3> >(:); wait $!; "$@" >&3 2>"$0"; echo $?' "$tmp/err" "$MUSTER" enqueue piped x)
((code == 1)) || fail "enqueue ended with $code where nobody reads"
check_err 'cannot write standard output: Broken pipe; what was asked for is done'
code=0 && "$MUSTER" enqueue told x >/dev/full 2>"$tmp/err" || code=$?
((code == 1)) || fail "enqueue ended with $code on a full disk"
check_err 'cannot write standard output: No space left on device; what was asked for is done'
check_redis 1 LLEN muster:queues:told
code=0 && "$MUSTER" queues --json >/dev/full 2>"$tmp/err" || code=$?
grep -q '^{"error":"E_SYSTEM","message":"cannot write standard output: ' "$tmp/err" || fail "no JSON: $(cat "$tmp/err")"
code=0 && MUSTER_JSON=1 "$MUSTER" --nope 2>"$tmp/err" || code=$?
grep -q '^{"error":"E_INVALID",' "$tmp/err" || fail "no JSON: $(cat "$tmp/err")"
code=0 && "$MUSTER" bench --list >/dev/full 2>"$tmp/err" || code=$?
((code == 1)) || fail "bench --list ended with $code on a full disk"
check_err 'cannot write standard output: No space left on device'
code=0 && "$MUSTER" queues >&- 2>"$tmp/err" || code=$?
((code == 1)) || fail "status $code without standard output"
check_err 'cannot write standard output: Bad file descriptor'
