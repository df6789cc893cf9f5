#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What the command writes on a terminal. Proves:
#  1. a row has one line, however narrow the terminal is: names and ids are cut with an ellipsis, numbers are not. In a
#     pipe nothing is cut
#  2. nothing that a name, a task, a note or a message holds steers the terminal, whatever verb prints it; in a pipe it
#     is as it was
#  3. times are told as seen from now, by Redis' clock; JSON has them as numbers and in ISO 8601
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
start_redis

# on_terminal COLUMNS COMMAND...: runs it on a terminal of its own; what it wrote there is in $tmp/screen
on_terminal() {
    python3 - "$tmp/screen" "$@" <<'PYTHON' || fail "'${*:2}' failed: $(cat -v "$tmp/screen")"
import fcntl, os, pty, struct, sys, termios
screen, columns, words = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    os.execvp(words[0], words)
out = b""
while True:
    try:
        part = os.read(fd, 65536)
    except OSError:
        break
    if not part:
        break
    out += part
status = os.waitpid(pid, 0)[1]
open(screen, "wb").write(out.replace(b"\r\n", b"\n"))
sys.exit(os.waitstatus_to_exitcode(status))
PYTHON
}
widest() { LC_ALL=C.UTF-8 wc -L <"$tmp/screen"; }
is_raw() { LC_ALL=C grep -q $'\e\|\x07\|\x9b\|\r' "$1"; }

# ---- 1
long=$(printf 'a-long-name-of-a-queue-%.0s' {1..8})
"$MUSTER" enqueue "$long" task >"$tmp/said"
"$MUSTER" enqueue short task >"$tmp/said"
for columns in 90 100 150; do
    on_terminal "$columns" "$MUSTER" queues
    (($(widest) <= columns)) || fail "wider than $columns: $(cat "$tmp/screen")"
    (($(wc -l <"$tmp/screen") == 3)) || fail "not a line each: $(cat "$tmp/screen")"
    grep -q '^a-long-na.*… ' "$tmp/screen" || fail "no ellipsis: $(cat "$tmp/screen")"
done
on_terminal 20 "$MUSTER" queues
grep -qE '^a-long-na… +1 +0 +0 +0 ' "$tmp/screen" || fail "cut too much: $(cat "$tmp/screen")"
"$MUSTER" queues | grep -qF "$long  " || fail 'cut in a pipe'
"$MUSTER" take "$long" >"$tmp/taken"
on_terminal 100 "$MUSTER" ps
(($(widest) <= 100)) || fail "wider than 100: $(cat "$tmp/screen")"

# ---- 2
evil=$'q\xc2\x9b31m\x9b'
task=$'\e]0;title\a\r\e[31mtask'
"$MUSTER" enqueue "$evil" "$task" "$task" >"$tmp/said"
"$MUSTER" put "$evil" "$task" --id "$evil" >"$tmp/said"
process=$("$MUSTER" take "$evil" --lease 1h | cut -f 1)
"$MUSTER" extend "$process" --progress "$task" >"$tmp/said"
for verb in queues ps jobs "pause $evil" "resume $evil" "peek $evil" "job $evil" "jobs --queue $evil --state waiting" \
    "failed $evil" "cancel $evil nothing" "take $evil" "config --queue $evil" "events --queue $evil --timeout 50ms" "listen $evil --timeout 500ms" \
    "work $evil --print --burst" "delete $evil --yes" "enqueue $evil x" "stats --queue $evil"; do
    # shellcheck disable=SC2086
    code=0 && (on_terminal 100 "$MUSTER" $verb) 2>/dev/null {messages}>/dev/null || code=$?
    [[ -s $tmp/screen ]] || fail "$verb wrote nothing"
    ! is_raw "$tmp/screen" || fail "$verb steers the terminal: $(cat -v "$tmp/screen")"
done
"$MUSTER" enqueue "$evil" "$task" >"$tmp/said"
"$MUSTER" work "$evil" --print --burst >"$tmp/out" 2>"$tmp/err"
grep -qF "$task" "$tmp/out" || fail 'changed in a pipe'

# ---- 3
"$MUSTER" enqueue timed task >"$tmp/said"
"$MUSTER" take timed --lease 1h >"$tmp/said"
"$MUSTER" ps --queue timed >"$tmp/out"
head -n 1 "$tmp/out" | grep -q 'ELAPSED  *LEASE-ENDS' || fail "no such columns: $(cat "$tmp/out")"
grep -qE ' [0-9]\.[0-9] s +in 59 min ' "$tmp/out" || fail "not as people read it: $(cat "$tmp/out")"
"$MUSTER" ps --queue timed --json >"$tmp/out"
grep -qE '"started_at_ms":[0-9]{13},.*,"started_at":"20[0-9-]{8}T[0-9:]{8}\.[0-9]{3}Z"' "$tmp/out" || fail "$(cat "$tmp/out")"
"$MUSTER" fail "$("$MUSTER" ps --queue timed --json | sed -E 's/.*"process":"([^"]*)".*/\1/')" >"$tmp/said"
"$MUSTER" failed timed >"$tmp/out"
grep -qE '(now|[0-9]+ s ago) +failed ' "$tmp/out" || fail "no time: $(cat "$tmp/out")"
