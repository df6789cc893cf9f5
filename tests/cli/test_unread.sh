#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Verbs that catch signals, and whose output nobody reads: a pipe that is full, and a terminal that is stopped. Proves:
#  1. one signal ends each of them, and what was done and not printed is on standard error, or undone
#  2. so it is where standard error is that pipe, too
#  3. so it is on a terminal that is stopped
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
start_redis
cd "$tmp"

mkfifo full
exec 9<>full
! dd if=/dev/zero of=full oflag=nonblock bs=4096 2>filled || fail 'the pipe has no end'
# begin NAME REDIRECTION VERB...: its output goes there. The time that it waits for Redis is more than it waits for a reader.
begin() {
    # shellcheck disable=SC2016 # the inner shell's
    start "$1" bash -c "exec \"\$0\" \"\$@\" $2 9<&-" "$checked" "${@:3}"
}
# Once it prints, it has the pipe another time.
prints() { (($(find "/proc/${pids[$1]}/fd" -lname "$tmp/full" | wc -l) > $2)); }
told() { grep -qE "$2" "$1.err" || fail "$1 said: $(cat "$1.err")"; }
unread='cannot write standard output: nobody reads it'

# ---- 1
seq 1000 >lines
begin lines '<lines >full' put jobs --lines --timeout 5m
"$MUSTER" enqueue taken a b c d >said
mapfile -t ids < <("$MUSTER" take taken -n 4 --lease 1h | cut -f 1)
"$MUSTER" enqueue given task >said
begin take '>full' take given --lease 1h --timeout 5m
begin events '>full' events --timeout 1h
begin listen '>full' listen heard --timeout 1h
begin serve '>full' serve --dir "$tmp/data" --socket "$tmp/serve.sock" --timeout 5m
wait_for says events listens
wait_for says listen listens
"$MUSTER" put ending data --id ended >said
"$MUSTER" work ending --burst -- true
"$MUSTER" enqueue heard task >said
"$MUSTER" work heard --burst -- true
begin 'wait' '>full' wait ended --timeout 1h
for name in lines take events listen serve 'wait'; do
    wait_for prints "$name" 1
done
start_gate
MUSTER_URL="unix://$tmp/gate.sock" begin finish '>full' finish "${ids[@]}" --timeout 5m
wait_for test -e held
for name in lines take events listen serve 'wait' finish; do
    kill -TERM "${pids[$name]}"
done
: >go
check_end lines 143
n=$(sed -nE 's/^muster put: interrupted; ([0-9]+) jobs were put$/\1/p' lines.err)
((n > 0 && n < 1000)) || fail "it said: $(cat lines.err)"
told lines "^muster: $unread; it was still to read:$"
sed "1,/$unread/d" lines.err | grep . | sort >put
(($(wc -l <put) == n)) || fail "$(wc -l <put) ids: $(cat lines.err)"
"$MUSTER" jobs --queue jobs --state waiting --json | sed -nE 's/.*"id":"([^"]*)".*/\1/p' | sort | diff - put || fail "other ids than those of the jobs"
check_end take 1
told take "$unread; 1 task was given back$"
[[ $("$MUSTER" take given | cut -f 2) == task ]] || fail 'what was not printed is not back'
check_end events 1
told events "^muster: $unread; it was still to read:$"
told events '"id":"ended"'
check_end listen 1
told listen "^done	heard	"
check_end wait 1
told 'wait' "^ended	complete"
check_end serve 1
told serve "$unread"
grep -rq 'ready to exit, bye bye' data || fail "Redis was killed: $(tail -n 5 data/*)"
check_end finish 143
told finish '^muster finish: interrupted; the last 3 operands were not tried$'
told finish "^${ids[0]}: finished$"

# ---- 2
begin both '<lines >full 2>&1' put both --lines --timeout 5m
wait_for prints both 2
end both TERM 143

# ---- 3
timeout --foreground 90 python3 - "$checked" >screen <<'PYTHON' || fail "it does not end: $(cat -v screen)"
import os, pty, signal, sys, time
input_end, lines = os.pipe()
pid, screen = pty.fork()
if pid == 0:
    os.dup2(input_end, 0)
    os.close(lines)
    os.environ["TERM"] = "xterm"
    os.execv(sys.argv[1], ["muster", "enqueue", "typed", "--timeout", "5m"])
out = b""
while b" enqueued, " not in out:  # the line that says how far it is
    os.write(lines, b"task\n")
    time.sleep(0.01)
    os.set_blocking(screen, False)
    try:
        out += os.read(screen, 65536)
    except BlockingIOError:
        pass
os.write(screen, b"\x13")
os.kill(pid, signal.SIGTERM)
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
print(status, out)
sys.exit(status != 143)
PYTHON
