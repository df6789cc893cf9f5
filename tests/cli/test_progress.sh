#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Long verbs. Proves:
#  1. on a terminal one line says how far the verb is: done, rate, time left where the whole is known. It is gone at the
#     end, and is never wider than the terminal
#  2. in a pipe, with TERM=dumb, and for what is short, nothing of it is written
#  3. after SIGINT or SIGTERM the verb says what it has done, and that is what there is in Redis; the rest is as it was; and
#     what it prints meanwhile to a reader who takes his time is printed whole
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
start_redis

# on_terminal COLUMNS SIGNAL WANTED SHELL: runs the shell's command on a terminal of its own, and sends SIGNAL (0: none)
# when the terminal has shown WANTED. What it wrote is in $tmp/screen, its status in $status.
on_terminal() {
    status=0
    timeout --foreground 90 python3 - "$tmp/screen" "$@" <<'PYTHON' || status=$?
import fcntl, os, pty, select, struct, sys, termios
screen, columns, signal, wanted, shell = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4].encode(), sys.argv[5]
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    os.environ.setdefault("TERM", "xterm")
    os.execvp("bash", ["bash", "-c", shell])
out, sent, status = b"", False, None
while True:
    if select.select([fd], [], [], 0 if status is not None else 0.05)[0]:
        try:
            part = os.read(fd, 65536)
        except OSError:
            part = b""
        if not part:
            break
        out += part
    elif status is not None:  # others may hold the terminal for longer
        break
    else:
        gone, how = os.waitpid(pid, os.WNOHANG)
        status = os.waitstatus_to_exitcode(how) if gone else None
    if signal and not sent and wanted in out:
        os.kill(pid, signal)
        sent = True
open(screen, "wb").write(out)
if status is None:
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
sys.exit(status & 255)
PYTHON
}
said() { tr '\r' '\n' <"$tmp/screen" | sed 's/\x1b\[K//'; }
length() { redis-cli -s "$socket" llen "muster:queues:$1"; }

# slow_lines N: lines that come for longer than the first second, in which nothing is shown
slow_lines() { for ((i = 0; i < $1; i++)); do echo "task $i" && sleep 0.01; done; }
export -f slow_lines
export TERM=xterm

# ---- 1 and 2
on_terminal 60 0 '' "slow_lines 200 | '$MUSTER' enqueue piped"
[[ $status == 0 ]] || fail "$(cat -v "$tmp/screen")"
said | grep -qE '^muster enqueue: [0-9]+ enqueued, [0-9]+/s$' || fail "no line: $(cat -v "$tmp/screen")"
said | awk 'length > 60 { exit 1 }' || fail "wider than the terminal: $(cat -v "$tmp/screen")"
said | grep -v '^$' | tail -n 1 | grep -qx '200 enqueued, 200 waiting' || fail "not the last: $(cat -v "$tmp/screen")"
grep -qF $'\r\e[K200 enqueued' "$tmp/screen" || fail "the line stays: $(cat -v "$tmp/screen")"
on_terminal 12 0 '' "slow_lines 150 | '$MUSTER' enqueue piped"
said | grep -v enqueued, | awk 'length > 12 { exit 1 }' || fail "wider than the terminal: $(cat -v "$tmp/screen")"

for shell in "slow_lines 150 | TERM=dumb '$MUSTER' enqueue dumb" "slow_lines 150 | '$MUSTER' enqueue dumb 2>'$tmp/err'" \
    "echo short | '$MUSTER' enqueue dumb"; do
    on_terminal 60 0 '' "$shell"
    [[ $status == 0 ]] || fail "$(cat -v "$tmp/screen")"
    ! grep -q $'\e' "$tmp/screen" "$tmp/err" 2>/dev/null || fail "not quiet: $(cat -v "$tmp/screen")"
done
[[ ! -s $tmp/err ]] || fail "not quiet: $(cat "$tmp/err")"

# A file is as long as it is: so the rest has a time.
seq 400000 >"$tmp/numbers"
on_terminal 100 2 ' %' "exec '$MUSTER' enqueue --unique once <'$tmp/numbers'"
said | grep -qE '^muster enqueue: [0-9]+ enqueued, [0-9]+/s, [0-9]+ %' || fail "no part: $(cat -v "$tmp/screen")"

# ---- 3
[[ $status == 130 ]] || fail "status $status: $(cat -v "$tmp/screen")"
n=$(said | sed -nE 's/^muster enqueue: interrupted; ([0-9]+) tasks were enqueued$/\1/p')
[[ -n $n ]] || fail "not told: $(cat -v "$tmp/screen")"
waiting=$("$MUSTER" queues --json | sed -nE 's/.*"queue":"once","waiting":([0-9]+).*/\1/p')
[[ $waiting == "$n" ]] || fail "$n were told, $waiting are there"

said | grep -qx 'stopping after this step; once more ends it at once' || fail "not told: $(cat -v "$tmp/screen")"

# while it waits for input, which does not come
mkfifo "$tmp/silent"
# shellcheck disable=SC2034 # it only holds the other end
exec {silent}<>"$tmp/silent"
on_terminal 100 15 enqueued "exec '$MUSTER' enqueue waits < <(slow_lines 150; exec cat '$tmp/silent')"
[[ $status == 143 ]] || fail "status $status: $(cat -v "$tmp/screen")"
n=$(said | sed -nE 's/^muster enqueue: interrupted; ([0-9]+) tasks were enqueued$/\1/p')
[[ $n == "$(length waits)" ]] || fail "'$n' were told, $(length waits) are there"
# stop_put OPTION...: its words are in $tmp/verb.err
stop_put() {
    setpriv --pdeathsig KILL "$MUSTER" put jobs "$@" <"$tmp/silent" >"$tmp/verb.out" 2>"$tmp/verb.err" {messages}>&- &
    pids[verb]=$!
    wait_for has_caught verb
    kill -TERM "${pids[verb]}"
    check_end verb 143
}
# SIGTERM among the signals that are caught; the shell that becomes the command catches it, too
has_caught() {
    [[ $(<"/proc/${pids[$1]}/comm") == muster ]] &&
        ((0x$(awk '/^SigCgt:/ { print $2 }' "/proc/${pids[$1]}/status") & 0x4000))
}
has_let_go() { ! has_caught "$1"; }
stop_put
grep -q '^muster put: interrupted; no job was put$' "$tmp/verb.err" || fail "$(cat "$tmp/verb.err")"
stop_put --json
grep -q '^{"error":"E_STOPPED","message":"interrupted; no job was put"}$' "$tmp/verb.err" || fail "$(cat "$tmp/verb.err")"

start_gate
# start_held VERB...
start_held() {
    rm -f "$tmp/held" "$tmp/go"
    MUSTER_URL="unix://$tmp/gate.sock" start verb "$MUSTER" "$@"
    wait_for test -e "$tmp/held"
}
# stopped VERB...: its words are in $tmp/err
stopped() {
    start_held "$@"
    kill -TERM "${pids[verb]}"
    : >"$tmp/go"
    check_end verb 143
    cp "$tmp/verb.err" "$tmp/err"
}

# More than goes in one step: how many tasks a second of the test above has enqueued depends on the machine.
seq 700 | "$MUSTER" put many --lines >"$tmp/said"
stopped delete many --yes
left=$("$MUSTER" queues --json | sed -nE 's/.*"queue":"many","waiting":([0-9]+).*/\1/p')
((left > 0 && left < 700)) || fail "$left of 700 are left"
grep -q "^muster delete: interrupted; $((700 - left)) tasks that were still to run are deleted, " "$tmp/err" || fail "$left are left: $(cat "$tmp/err")"
"$MUSTER" delete many --yes | grep -q "^many: deleted, with $left tasks" || fail 'the rest was not deleted'
"$MUSTER" delete once --yes >"$tmp/said"

"$MUSTER" batch open night >"$tmp/said"
seq 250 | "$MUSTER" put members --lines --batch night >"$tmp/said"
stopped batch cancel night
left=$("$MUSTER" batch night --json | sed -nE 's/.*"left":([0-9]+).*/\1/p')
((left > 0 && left < 250)) || fail "$left of 250 are left"
grep -q "^muster batch: interrupted; $((250 - left)) jobs are cancelled; a worker, or without any the next take, cancels the others\$" \
    "$tmp/err" || fail "$left are left: $(cat "$tmp/err")"

# What is chosen again gets another line: who runs it again is to know.
seq 250 | "$MUSTER" put logged --lines >"$tmp/said"
stopped change --in-queue logged --log 'a line'
done='^muster change: interrupted; 250 jobs chosen; [0-9]+ changed; run it again to do the rest'
grep -qE "$done; those that are chosen again get the line of --log again\$" "$tmp/err" || fail "$(cat "$tmp/err")"
stopped change --in-queue logged --priority 3
grep -qE "$done\$" "$tmp/err" || fail "$(cat "$tmp/err")"

# Another signal ends it at once, also while Redis does not answer.
start_held check
kill -HUP "${pids[verb]}"
wait_for has_let_go verb
kill -TERM "${pids[verb]}"
check_end verb 143
[[ ! -s $tmp/verb.err ]] || fail "it did not end at once: $(cat "$tmp/verb.err")"

stopped check
grep -q '^muster check: interrupted; no damage was found so far, but not all was looked at: run it again$' "$tmp/err" || fail "$(cat "$tmp/err")"
stopped check --json
grep -q '^{"error":"E_STOPPED",' "$tmp/err" || fail "$(cat "$tmp/err")"

grep -v '^#' "$(dirname "$0")/format1.redis" | redis-cli -s "$socket" -n 3 >"$tmp/said"
stop_upgrade() { stopped upgrade --url "unix://$tmp/gate.sock?db=3"; }
redis-cli -s "$socket" -n 3 eval "for i = 1, 3000 do redis.call('LPUSH', 'muster:queues:' .. i, 'x') end" 0 >"$tmp/said"
stop_upgrade
grep -qE '^muster upgrade: interrupted; [0-9]+ changes? w.* made; nobody can use the namespace until it is done: run it again$' "$tmp/err" ||
    fail "$(cat "$tmp/err")"
[[ $(redis-cli -s "$socket" -n 3 get muster:format) != 4 ]] || fail 'the upgrade is done, although it was interrupted'
"$MUSTER" upgrade --url "unix://$socket?db=3" >"$tmp/said"
[[ $(redis-cli -s "$socket" -n 3 get muster:format) == 4 ]] || fail 'the upgrade does not go on'

"$MUSTER" enqueue failing a b c d >"$tmp/said"
"$MUSTER" work failing --burst -- false >"$tmp/said" 2>&1
mapfile -t entries < <("$MUSTER" failed failing --json | sed -nE 's/.*"entry":"([^"]*)".*/\1/p')
((${#entries[@]} == 4)) || fail "not four: ${entries[*]}"
stopped drop failing "${entries[@]}"
grep -q '^muster drop: interrupted; the last 3 operands were not tried$' "$tmp/err" || fail "$(cat "$tmp/err")"
grep -q '^failing: 1 dropped$' "$tmp/verb.out" || fail "$(cat "$tmp/verb.out")"
[[ $("$MUSTER" failed failing --json | wc -l) == 3 ]] || fail 'more than one was dropped'

# The brothers of drop: what was done is told, also where it is printed to a file.
# stopped_after TOLD VERB...: of four operands the first one is done
stopped_after() {
    stopped "${@:2}"
    grep -q "^muster $2: interrupted; the last 3 operands were not tried\$" "$tmp/err" || fail "$2: $(cat "$tmp/err")"
    [[ $(<"$tmp/verb.out") == "$1" ]] || fail "$2 prints: $(cat "$tmp/verb.out")"
}
taken() {
    "$MUSTER" enqueue taken a b c d >"$tmp/said"
    mapfile -t ids < <("$MUSTER" take taken -n 4 --lease 1h | cut -f 1)
}
for row in finish:finished give-back:'given back' retry:retried fail:failed; do
    taken
    stopped_after "${ids[0]}: ${row#*:}" "${row%%:*}" "${ids[@]}"
done
taken
stopped_after "${ids[0]}: extended" extend "${ids[@]}" --lease 1h
stopped_after "${ids[0]}: told to stop" cancel --process "${ids[@]}"
"$MUSTER" enqueue cancelled a b c d >"$tmp/said"
stopped_after "a: 1 removed, 0 running told to stop" cancel cancelled a b c d
for id in a b c d; do "$MUSTER" put changed data --id "$id" >"$tmp/said"; done
stopped_after "a: changed" change a b c d --track
stopped_after "keep_jobs: set" config keep_jobs=9 keep_failed=9 keep_history=9 max_crashes=9

# who reads the ids when it has been told to stop
mkfifo "$tmp/ids"
exec {ids_end}<>"$tmp/ids"
! dd if=/dev/zero of="$tmp/ids" oflag=nonblock bs=4096 2>"$tmp/filled" || fail 'the pipe has no end'
filled=$(sed -nE 's/^([0-9]+) bytes.*/\1/p' "$tmp/filled")
seq 10000 >"$tmp/lines"
setpriv --pdeathsig KILL "$MUSTER" put slowly --lines <"$tmp/lines" >"$tmp/ids" 2>"$tmp/verb.err" {messages}>&- {ids_end}<&- &
pids[verb]=$!
wait_for redis_is 200 ZCARD muster:waiting:slowly
is_asleep() { grep -q '^State:.S' "/proc/${pids[verb]}/status"; }
wait_for is_asleep
kill -TERM "${pids[verb]}"
wait_for has_let_go verb
head -c "$filled" <&"$ids_end" >"$tmp/zeroes"
exec {reader}<"$tmp/ids" {ids_end}>&-
cat <&"$reader" >"$tmp/printed"
exec {reader}<&-
check_end verb 143
n=$(sed -nE 's/^muster put: interrupted; ([0-9]+) jobs were put$/\1/p' "$tmp/verb.err")
[[ $n == "$(wc -l <"$tmp/printed")" ]] || fail "$(wc -l <"$tmp/printed") ids: $(cat "$tmp/verb.err")"
check_redis "$n" ZCARD muster:waiting:slowly
