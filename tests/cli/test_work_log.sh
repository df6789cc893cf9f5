#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The log of muster work. Proves:
#  1. without --log, events and failures are told in plain lines, and tasks that are finished are not; MUSTER_LOG chooses
#     another form, and --log wins over it; another word is refused
#  2. --log json: each line is an object; a task's has its queue, process, job, outcome, how long it ran and a job
#     waited, and for a failure the group and the message; events, the library's lines and the reason for the end are
#     such lines, too. A job without a retry left has failed
#  3. --log text: the same with time and level; --log none: only why the worker ends
#  4. nothing that a task or a message holds controls a terminal, or breaks a line
#  5. a reader that has stopped reading costs no heartbeat, and holds up no end; what it did not read is told
#  7. --log-file has these lines alone, appended; standard error has what the commands write there, and how many lines a
#     full disk has cost
#  6. a Redis that may drop keys is told of once, as a warning; without the right to ask, nothing is said
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
start_redis
# shellcheck disable=SC2016
script='read -r x; case $x in bad*) exit 3 ;; again) exit 75 ;; *) exit 0 ;; esac'

# work_on FORM...: a burst on what the arguments before have enqueued; the log is in $tmp/err
work_on() { check_exit 0 "$MUSTER" work q --id w --burst "$@" -- sh -c "$script"; }
put_all() {
    "$MUSTER" enqueue q good bad >"$tmp/said"
    "$MUSTER" put q --id job-good good >"$tmp/said"
    "$MUSTER" put q --id job-bad bad --retries 1 --backoff 0s >"$tmp/said"
}

# ---- 1
put_all
work_on
sed -E 's/w:[0-9a-v]{11}:q/PROCESS/; s/[0-9]+ ms/N ms/g' "$tmp/err" | sort >"$tmp/lines"
diff "$tmp/lines" - <<'LINES' || fail "the lines are not these: $(cat "$tmp/err")"
muster work: w: failed: exit-3: sh ended with exit status 3: PROCESS, job job-bad, waited N ms, ran N ms
muster work: w: failed: exit-3: sh ended with exit status 3: PROCESS, ran N ms
muster work: w: retried: exit-3: sh ended with exit status 3: PROCESS, job job-bad, waited N ms, ran N ms
muster work: w: takes tasks
LINES
put_all
MUSTER_LOG=json work_on
grep -q '^{.*"job":"job-good","outcome":"finished"' "$tmp/err" || fail "MUSTER_LOG: $(cat "$tmp/err")"
put_all
MUSTER_LOG=json work_on --log none
[[ ! -s $tmp/err ]] || fail "--log none: $(cat "$tmp/err")"
check_usage work q --log loud --print
check_err '--log: it must be one of failures, text, json and none'

# ---- 7
put_all
script='echo "{not ours" >&2; exit 3' work_on --log json --log-file "$tmp/file" --message exit
grep -q '^{.*"event":"ended"' "$tmp/file" || fail "not in the file: $(cat "$tmp/file")"
! grep -vq '^{"time":.*}$' "$tmp/file" || fail "not alone in the file: $(cat "$tmp/file")"
! grep -vxq '{not ours' "$tmp/err" || fail "more than the commands': $(cat "$tmp/err")"
lines=$(wc -l <"$tmp/file")
work_on --log text --log-file "$tmp/file"
(($(wc -l <"$tmp/file") > lines)) || fail "not appended: $(cat "$tmp/file")"
for ((i = 0; i < 60; i++)); do echo $i; done | "$MUSTER" enqueue q >"$tmp/said"
is_full() {
    ulimit -f 4
    exec "$MUSTER" work q --burst --log json --log-file "$tmp/small" --print
}
(is_full) >"$tmp/out" 2>"$tmp/err" || fail "a full disk ended it: $(cat "$tmp/err")"
check_err 'could not be written'
check_usage work q --log-file "$tmp/file" --print
check_usage work q --log json --log-file "$tmp/none/file" --print
check_err "'$tmp/none/file' cannot be opened: No such file or directory"
check_usage work q --in-turn --prefetch 5 --print
check_err '--in-turn and --prefetch exclude each other'
"$MUSTER" drop q --all >"$tmp/said"
"$MUSTER" cancel --job job-bad >"$tmp/said" 2>&1 || true
"$MUSTER" cancel --job job-good >"$tmp/said" 2>&1 || true
MUSTER_LOG=loud check_usage work q --print
check_err 'MUSTER_LOG: it must be'

# ---- 2
put_all
work_on --log json
# shellcheck disable=SC2016
python3 - "$tmp/err" <<'PYTHON' || fail "$(cat "$tmp/err")"
import json, re, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
for line in lines:
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"]), line
    assert line["level"] in ("info", "warn") and line["worker"] == "w", line
    assert {"time", "level", "event", "worker", "waited_ms", "ran_ms", "message"} <= line.keys(), line
assert lines[0]["event"] == "started" and lines[0]["waited_ms"] is None
ends = [line for line in lines if line["event"] == "ended"]
for line in ends:
    assert line["queue"] == "q" and re.fullmatch(r"w:[0-9a-v]{11}:q", line["process"]), line
    assert isinstance(line["ran_ms"], int) and 0 <= line["ran_ms"] < 60000, line
    is_job = "job" in line
    assert isinstance(line["waited_ms"], int) and line["waited_ms"] >= 0 if is_job else line["waited_ms"] is None, line
    if line["outcome"] == "finished":
        assert line["level"] == "info" and "group" not in line and line["message"] == "", line
    else:
        assert line["level"] == "warn" and line["group"] == "exit-3", line
        assert line["message"] == "sh ended with exit status 3", line
seen = sorted((line.get("job", "-"), line["outcome"]) for line in ends)
assert seen == [("-", "failed"), ("-", "finished"), ("job-bad", "failed"), ("job-bad", "retried"),
                ("job-good", "finished")], seen
PYTHON
tail -n 1 "$tmp/err" | grep -q '"level":"info","event":"stopped","worker":"w"' || fail "no line at the end: $(cat "$tmp/err")"
"$MUSTER" enqueue q again >"$tmp/said"
work_on --log json --max-tasks 1
grep -q '"level":"info","event":"ended".*"outcome":"retried"' "$tmp/err" || fail "asked for: $(cat "$tmp/err")"
check_exit 3 "$MUSTER" work q --log json -- no-such-program
grep -q '^{"time":.*"level":"error",.*no-such-program' "$tmp/err" || fail "the end: $(cat "$tmp/err")"
start holder "$MUSTER" work other --id taken --print
wait_for says holder 'takes tasks'
check_exit 4 "$MUSTER" work other --id taken --print --log json
grep -q '"level":"error",.*"error":"E_EXISTS",.*another live worker' "$tmp/err" || fail "the end: $(cat "$tmp/err")"
end holder TERM 0

# ---- 3
put_all
work_on --log text
time='^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{3}Z'
(($(grep -cE "$time (info |warn ) muster work: w: " "$tmp/err") == $(wc -l <"$tmp/err"))) ||
    fail "not each line has time and level: $(cat "$tmp/err")"
grep -qE "$time info  muster work: w: finished: w:[0-9a-v]{11}:q, ran [0-9]+ ms\$" "$tmp/err" ||
    fail "no line for a finished task: $(cat "$tmp/err")"
grep -qE ' finished: w:[0-9a-v]{11}:q, job job-good, waited [0-9]+ ms, ran [0-9]+ ms$' "$tmp/err" ||
    fail "a job is not named: $(cat "$tmp/err")"
tail -n 1 "$tmp/err" | grep -qE "$time info  muster work: w: stopped\$" || fail "no line at the end: $(cat "$tmp/err")"
check_exit 3 "$MUSTER" work q --log none -- no-such-program
check_err 'no-such-program'

# ---- 4: the command's name is in the message
evil=$'ev\e[31mil\xc2\x9b\n'
printf '#!/bin/sh\nexit 3\n' >"$tmp/$evil"
chmod +x "$tmp/$evil"
for form in failures text; do
    "$MUSTER" enqueue evil x >"$tmp/said"
    check_exit 0 "$MUSTER" work evil --id w --burst --log "$form" -- "$tmp/$evil"
    ! LC_ALL=C grep -q $'\e\|\x9b' "$tmp/err" || fail "raw: $(cat -v "$tmp/err")"
    (($(grep -cF 'ev\x1b[31mil\xc2\x9b\n ended with exit status 3' "$tmp/err") == 1)) || fail "$(cat -v "$tmp/err")"
done

# ---- 5: more than a pipe holds
mkfifo "$tmp/log"
exec {reader}<>"$tmp/log"
seq 3000 | "$MUSTER" enqueue many >"$tmp/said"
setpriv --pdeathsig KILL "$MUSTER" work many --id slow --ttl 600ms --log json --print 2>"$tmp/log" >"$tmp/out" &
pids[slow]=$!
is_drained() { redis_is 0 LLEN muster:queues:many && redis_is 0 HLEN muster:processing:slow:many; }
wait_for is_drained
redis_is 1 EXISTS muster:alive:slow || fail 'it has lost its registration'
setpriv --pdeathsig KILL cat <&"$reader" >"$tmp/read" {messages}>&- &
pids[cat]=$!
wait_for test -s "$tmp/read" # by now there is room for the next line
"$MUSTER" enqueue many last >"$tmp/said"
wait_for grep -q 'lines that nobody read in time' "$tmp/read"
kill -TERM "${pids[slow]}"
check_end slow 0
! grep -q '"event":"lost"\|"event":"doubt"' "$tmp/read" || fail "it lost its way: $(grep -v ended "$tmp/read")"
python3 -c 'import json, sys
for line in open(sys.argv[1]): json.loads(line)' "$tmp/read" || fail 'a line is cut'
# Nobody reads at all: neither what the library says nor the reason for the end waits for somebody.
mkfifo "$tmp/full"
exec {unread}<>"$tmp/full"
! dd if=/dev/zero of="$tmp/full" bs=1 oflag=nonblock 2>"$tmp/said" || fail 'it is not full'
# unread NAME ARGUMENT...: a worker whose standard error nobody reads
unread() {
    setpriv --pdeathsig KILL "$checked" work "${@:2}" 2>"$tmp/full" >"$tmp/out" {messages}>&- {unread}<&- {reader}<&- &
    pids[$1]=$!
}
for form in failures none; do
    unread "$form" "$form" --id "$form" --ttl 600ms --log "$form" -- true
    wait_for redis_is 1 EXISTS "muster:alive:$form"
    "$MUSTER" batch open "$form" --ttl 1s >"$tmp/said"
    "$MUSTER" put nobody x --batch "$form" >"$tmp/said"
    is_closed() { "$MUSTER" batch "$form" --json | grep -q '"closed_by":"ttl"'; }
    wait_for is_closed
    "$MUSTER" enqueue "$form" x >"$tmp/said"
    wait_for is_quiet "$form"
    kill -TERM "${pids[$form]}"
    check_end "$form" 0
done
for more in '' --json '--log none' '--log text' '--log json'; do
    # shellcheck disable=SC2086 # words
    unread lost q --print --url "unix://$tmp/nobody" --ttl 100ms --timeout 200ms $more
    check_end lost 124
done

# ---- 6
redis CONFIG SET maxmemory-policy allkeys-lru >"$tmp/said"
risk='this Redis may lose tasks: maxmemory-policy is allkeys-lru: '
for form in failures text json; do
    start risky "$MUSTER" work risky --id r --log "$form" -- true
    wait_for says risky "$risk"
    end risky TERM 0
    (($(grep -cF "$risk" "$tmp/risky.err") == 1)) || fail "not told once: $(cat "$tmp/risky.err")"
done
grep -q '"level":"warn","event":"risk","worker":"r"' "$tmp/risky.err" || fail "no event: $(cat "$tmp/risky.err")"
redis ACL SETUSER few on '>secret' '~*' '&*' +@all -info >"$tmp/said"
start risky "$MUSTER" work risky --id r --url "unix://few:secret@$socket" -- true
is_asked() { redis ACL LOG | grep -q 'info'; }
wait_for is_asked
"$MUSTER" enqueue risky x >"$tmp/said"
wait_for redis_is 0 EXISTS muster:queues:risky
end risky TERM 0
! says risky "$risk" || fail "told without the right: $(cat "$tmp/risky.err")"
redis CONFIG SET maxmemory-policy noeviction >"$tmp/said"
start risky "$MUSTER" work risky --id r -- true
"$MUSTER" enqueue risky x >"$tmp/said"
wait_for redis_is 0 EXISTS muster:queues:risky
end risky TERM 0
! says risky 'may lose' || fail "told of nothing: $(cat "$tmp/risky.err")"
