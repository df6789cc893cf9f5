#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# muster listen. Proves:
#  1. it says when it listens; from then on each event of its queues is a line, written at once, and --kind leaves out
#     others; a task with a newline or a tab stays on its line
#  2. --json has the bytes, and the result
#  3. SIGINT and SIGTERM end it with status 0, --timeout with 124 (and words, if it never listened), a closed pipe with
#     SIGPIPE; where nobody reads, the
#     second signal ends it, and where it is read more slowly than it hears, the first one does
#  4. it goes on when Redis is killed and starts again, and says that events may be missed, once, and when it listens again
#  5. if it cannot begin it ends: without Redis with 69, without the right to with 77
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC2154 # tmp is lib.sh's
cd "$tmp"
start_redis

ok() { check_exit 0 "$MUSTER" "$@"; }
listen() {
    start "$@"
    wait_for says "$1" 'listens'
}
take() { "$MUSTER" take "$1" | cut -f 1; }
# finish QUEUE TASK...: enqueues it, takes it and finishes it
finish() {
    ok enqueue "$1" "$2"
    process=$(take "$1" | head -n 1)
    ok finish "$process" "${@:3}"
}
has_lines() { (($(wc -l <"$1.out") == $2)); }

# ---- 1
ok enqueue q first
ok cancel q first
listen all "$MUSTER" listen q r
listen ends "$MUSTER" listen q --kind 'done'
listen some "$MUSTER" listen q r --kind cancelled --kind deleted
listen json "$MUSTER" listen q r --json
finish q $'a\tb\nc' --result $'\x01\xff'
p1=$process
finish r plain
p2=$process
finish other unheard
ok cancel q gone
ok delete r --yes
wait_for has_lines all 4
printf 'done\tq\t%s\ta\\tb\\nc\ndone\tr\t%s\tplain\ncancelled\tq\t-\tgone\ndeleted\tr\n' "$p1" "$p2" | diff - all.out ||
    fail "it heard: $(cat all.out)"
wait_for has_lines some 2
diff some.out - <<<$'cancelled\tq\t-\tgone\ndeleted\tr' || fail "some: $(cat some.out)"
wait_for has_lines ends 1
grep -qF "$p1" ends.out || fail "ends: $(cat ends.out)"

# ---- 2
wait_for has_lines json 4
python3 -c '
import base64, json, sys
rows = [json.loads(line) for line in sys.stdin]
assert rows[0] == {"what": "done", "queue": "q", "process": sys.argv[1], "worker": ".lease", "task": "a\tb\nc",
                   "result_base64": base64.b64encode(b"\x01\xff").decode()}, rows[0]
assert rows[2] == {"what": "cancelled", "queue": "q", "task": "gone"}, rows[2]
assert rows[3] == {"what": "deleted", "queue": "r"}, rows[3]
' "$p1" <json.out 2>said || fail "not in form: $(cat json.out said)"

# ---- 3
end all INT 0
end ends TERM 0
diff all.err - <<<"muster listen: there is no queue 'r' yet
muster listen: listens" || fail "it said: $(cat all.err)"
for time in 1ms 300ms; do
    check_exit 124 "$MUSTER" listen q --timeout "$time"
    check_out ''
    grep -qE 'listens$|no answer within 1 ms|before it listened to the queue .q.: ' "$tmp/err" || fail "in $time it said: $(cat "$tmp/err")"
done
mkfifo pipe
# shellcheck disable=SC2016 # the inner shell's $0
start closed env --default-signal=PIPE bash -c 'exec "$0" listen q >pipe' "$MUSTER"
head -n 1 pipe >first &
reader=$!
wait_for says closed listens
finish q one
wait "$reader"
finish q two
check_end closed 141
(($(wc -l <closed.err) == 1)) || fail "it said: $(cat closed.err)"
# Of a pipe that is full: the second one ends it at once.
mkfifo full
exec {reader}<>full
! dd if=/dev/zero of=full oflag=nonblock bs=4096 2>filled || fail 'the pipe has no end'
# shellcheck disable=SC2016 # the inner shell's $0
start stuck bash -c 'exec "$0" listen q >full' "$checked"
wait_for says stuck listens
"$MUSTER" enqueue q task >said
ok work q --print --burst
prints() { (($(find "/proc/${pids[stuck]}/fd" -lname "$tmp/full" | wc -l) > 2)); } # it has it another time then
wait_for prints
kill -TERM "${pids[stuck]}"
wait_for catches_no_more stuck 15 # its handler has run
end stuck TERM 143
exec {reader}<&-
# A reader that reads a line for each look whether it has ended.
# shellcheck disable=SC2016 # the inner shell's $0
start slow bash -c 'exec "$0" listen q >pipe' "$checked"
exec {reader}<pipe
wait_for says slow listens
seq 8000 | sed 's/^/a task of some length, of which there are many: /' | "$MUSTER" enqueue q >said
ok work q --print --burst -c 64
kill -TERM "${pids[slow]}"
n=0
until ! runs slow; do
    read -r -u "$reader" _ || break
    n=$((n + 1))
done
check_end slow 0
exec {reader}<&-
((n < 8000)) || fail 'it went on until nothing was left'

# ---- 4
kill -KILL "${pids[redis]}"
check_end redis 137
wait_for says json 'events may be missed'
wait_for says some 'events may be missed'
start_redis
wait_for says json 'listens again'
wait_for says some 'listens again'
ok cancel q later
wait_for has_lines some 3
wait_for grep -q later json.out
(($(grep -c 'may be missed' some.err) == 1 && $(grep -c 'listens again' some.err) == 1)) || fail "it said: $(cat some.err)"
end json INT 0
end some INT 0

# ---- 5
check_exit 69 "$MUSTER" listen q --url "unix://$tmp/nobody"
check_err 'start one with'
redis ACL SETUSER deaf on '>pw' '~*' '&*' +@all -evalsha -eval >said
check_exit 77 "$MUSTER" listen q --url "unix://deaf:pw@$socket"
check_out ''
grep -q denied err || fail "it said: $(cat err)"
redis ACL SETUSER loser on '>pw' '~*' '&*' +@all >said
start loser "$MUSTER" listen q r --url "unix://loser:pw@$socket"
wait_for says loser listens
redis ACL SETUSER loser resetchannels >said
wait_for says loser 'keeps trying: '
grep -q 'keeps trying: .*NOPERM' loser.err || fail "it said: $(cat loser.err)"
redis ACL SETUSER loser '&*' >said
wait_for says loser 'listens again'
(($(wc -l <loser.err) == 4)) || fail "it said: $(cat loser.err)"
end loser INT 0

check_usage listen
check_err 'QUEUE is missing'
check_usage listen q q
check_err "the queue 'q' is given twice"
check_usage listen q --kind job
check_err 'done, cancelled or deleted'
check_usage listen ''
check_clean
