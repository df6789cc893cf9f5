#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What COMMANDs print. Proves:
#  1. standard error is passed through, byte by byte, and its end is the message on the failed list and in the log; with
#     --message exit the message is the exit status
#  2. lines of COMMANDs side by side stay whole
#  3. a reader that does not read holds up a COMMAND that prints, but neither the worker nor others; nothing is lost. A
#     standard error that is closed costs nothing but what is printed there
#  4. with --result stdout what is printed is the result, for a job's record and for listeners, and nothing is passed
#     through; beyond --result-max it is cut off, which a line tells
#  5. a terminal that nobody reads costs the worker nothing either, whether COMMANDs print there or the log does
#  6. what has no effect is refused
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$tmp"
start_redis

enqueue() { "$MUSTER" enqueue "$@" >out; }

# ---- 1
enqueue said 'printf "begins\n\000\033[31mno route\033[0m\n" >&2; exit 3'
check_exit 0 "$MUSTER" work said --burst --id w --log text -- sh
mv err log
grep -qaF $'begins\n' log || fail "not passed through: $(cat -v log)"
grep -qaP '^\x00\x1b\[31mno route\x1b\[0m$' log || fail "not byte by byte: $(cat -v log)"
grep -qa 'WARN.*w: failed: exit-3: begins.*no route: w:\|warn.*failed: exit-3: begins.*no route: w:' log ||
    fail "the log: $(cat -v log)"
check_exit 0 "$MUSTER" failed said --json
grep -qF '"group":"exit-3","message":"begins\n?no route"' out || fail "the message: $(cat out)"
enqueue exit 'echo said >&2; exit 3'
check_exit 0 "$MUSTER" work exit --burst --id w --message exit -- sh
grep -qx said err || fail "not passed through: $(cat err)"
check_exit 0 "$MUSTER" failed exit --json
grep -qF '"message":"sh ended with exit status 3"' out || fail "the message: $(cat out)"

# ---- 2
seq -f 'seq -f %g-%%0200.0f 500 >&2' 8 | enqueue lines
check_exit 0 "$MUSTER" work lines --burst -c 8 --log none -- sh
(($(wc -l <err) == 4000)) || fail "$(wc -l <err) lines"
! grep -vxE '[1-8]-[0-9]{200}' err || fail 'lines are mixed'

# ---- 3
mkfifo pipe
exec {pipe}<>pipe
enqueue slow 'seq -f %099.0f 5000 >&2'
setpriv --pdeathsig KILL "$MUSTER" work slow quick --id w -c 2 --ttl 400ms --log none -- sh 2>pipe >worker.out &
pids[worker]=$!
wait_for redis_is 1 HGET muster:queue:slow running
now_ms() { redis TIME | { read -r s && read -r us && echo $((s * 1000 + us / 1000)); }; }
beat_after() { (($(redis --raw HGET muster:beat at) >= $1)); }
wait_for beat_after $(($(now_ms) + 1200))
check_redis 1 HGET muster:queue:slow running
enqueue quick true
wait_for is_quiet quick
head -n 5000 <&"$pipe" >lines
seq -f %099.0f 5000 | cmp - lines
wait_for is_quiet slow
end worker TERM 0
exec {pipe}<&-
setpriv --pdeathsig KILL "$MUSTER" work closed --id w --log none -- sh 2>&- >worker.out &
pids[worker]=$!
enqueue closed 'seq 100000 >&2; echo last >&2; exit 9'
wait_for redis_is 1 ZCARD muster:failed:closed
end worker TERM 0
check_exit 0 "$MUSTER" failed closed --json
grep -q '"group":"exit-9","message":".*100000\\nlast"' out || fail "without a standard error: $(cat out)"

# ---- 4
"$MUSTER" put sizes --id a 'some text' >out
check_exit 0 "$MUSTER" work sizes --burst --id w --result stdout -- sh -c 'wc -c; echo note >&2'
check_out ''
grep -qx note err || fail "standard error: $(cat err)"
check_exit 0 "$MUSTER" job a --result
check_out 9
start listener redis-cli -s "$socket" SUBSCRIBE muster_plain_done
wait_for grep -q subscribe listener.out
"$MUSTER" config --queue plain broadcast=1 >out
enqueue plain 'printf "r\000s"'
check_exit 0 "$MUSTER" work plain --burst --id w --result stdout -- sh
heard() { grep -qaP 'r\x00s$' listener.out; }
wait_for heard
"$MUSTER" put cut --id cut 'printf 1234; printf 567' >out
check_exit 0 "$MUSTER" work cut --burst --id w --result stdout --result-max 5 -- sh
grep -q 'w: its result was cut off: its command printed more than the 5 bytes that a result may have: w:.*:cut' err ||
    fail "not told: $(cat err)"
check_exit 0 "$MUSTER" job cut --result
check_out 12345

# ---- 5
cat >stuck <<'PY'
import os, pty, sys
reader, terminal = pty.openpty()
os.set_inheritable(reader, True)  # nobody reads, but somebody could
os.dup2(terminal, 2)
os.execv(sys.argv[1], sys.argv[1:])
PY
enqueue stuck 'seq 100000 >&2'
start printing python3 stuck "$checked" work stuck --id w --permanent --ttl 400ms --drain 0s -- sh
wait_for redis_is 1 HLEN muster:processing:w:stuck
wait_for beat_after $(($(now_ms) + 1500))
end printing TERM 0
check_exit 0 "$MUSTER" peek stuck
check_out 'seq 100000 >&2'
seq 1000 | enqueue logged
start logging python3 stuck "$checked" work logged --id w --permanent --ttl 400ms -c 4 --log json -- true
wait_for is_quiet logged
wait_for beat_after $(($(now_ms) + 1500))
end logging TERM 0

# ---- 6
check_usage work q --print --result stdout
check_err 'for a command'
check_usage work q --print --message exit
check_usage work q --result stderr -- true
check_err 'it must be one of stdout and none'
check_usage work q --message stdout -- true
check_usage work q --result-max 10 -- true
check_err 'no effect without --result stdout'
check_usage work q --result stdout --result-max 0 -- true
check_usage work q --result stdout --result-max 100000000 -- true
check_clean
