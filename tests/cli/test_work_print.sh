#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# muster work --print. Proves:
#  1. each task of one or several queues is printed raw as a line, and finished; as JSON with its process and queue
#  2. if the reader has gone, SIGPIPE ends it, quietly; if the disk is full, or nothing can be written there, with
#     status 1 and a line; the task that could not be printed is the next one out
#  3. a reader that does not read costs neither the registration nor a task; each task is printed once
#  4. the same with a task that is larger than a pipe, at any moment: the worker hears a cancel and a stop; the reader
#     gets all of it, or a part that ends its line, which is told when the worker ends
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
start_redis

enqueue() { "$MUSTER" enqueue "$@" >"$tmp/out"; }
has_printed() { [[ $(cat "$tmp/worker.out") == "$1" ]]; }

# ---- 1
start worker "$MUSTER" work one two --print --id w
enqueue one a '' $'b\nc'
wait_for redis_is 0 HGET muster:queue:one running
enqueue two d
wait_for has_printed $'a\n\nb\nc\nd'
end worker TERM 0
check_redis 0 EXISTS muster:queues:one muster:queues:two muster:failed:one muster:failed:two
start worker "$MUSTER" work one --print --id w --json
enqueue one text $'\xff'
json() { [[ $(sed 's/:[0-9a-v]\{11\}:/:TOKEN:/' "$tmp/worker.out") == "$1" ]]; }
wait_for json '{"process":"w:TOKEN:one","queue":"one","task":"text"}
{"process":"w:TOKEN:one","queue":"one","task_base64":"/w=="}'
end worker TERM 0

# ---- 2
enqueue closed first second
mkfifo "$tmp/pipe"
setpriv --pdeathsig KILL env --default-signal=PIPE "$MUSTER" work closed --print >"$tmp/pipe" 2>"$tmp/worker.err" &
pids[worker]=$!
head -n 1 <"$tmp/pipe" >"$tmp/head"
enqueue closed third
check_end worker 141
[[ $(cat "$tmp/head") == first ]] || fail "printed: $(cat "$tmp/head")"
! grep -qi pipe "$tmp/worker.err" || fail "not quiet: $(cat "$tmp/worker.err")"
# Tasks that went into the pipe before its reader left count as printed.
"$MUSTER" peek closed -n 1 >"$tmp/next"
grep -qxE 'second|third' "$tmp/next" || fail "the next out: $(cat "$tmp/next")"
enqueue full a b
code=0
"$MUSTER" work full --print >/dev/full 2>"$tmp/err" || code=$?
((code == 1)) || fail "status $code with a full disk"
grep -q 'cannot write standard output: No space left' "$tmp/err" || fail "no line: $(cat "$tmp/err")"
check_exit 0 "$MUSTER" peek full
check_out $'a\nb'
# One that is closed, or open for reading alone, takes nothing either, whatever it leads to.
for how in '>&-' '1</dev/null' "1<'$tmp/head'"; do
    code=0
    eval '"$MUSTER" work full --print --burst '"$how"' 2>"$tmp/err"' || code=$?
    ((code == 1)) || fail "status $code with $how"
    grep -q 'cannot write standard output: Bad file descriptor' "$tmp/err" || fail "no line with $how: $(cat "$tmp/err")"
    check_exit 0 "$MUSTER" peek full
    check_out $'a\nb'
done

# ---- 3: more than a pipe holds, and a reader that waits until the worker's ttl has passed three times
seq -f '%0999.0f' 300 >"$tmp/tasks"
enqueue slow <"$tmp/tasks"
exec {pipe}<>"$tmp/pipe"
setpriv --pdeathsig KILL "$MUSTER" work slow --print --id w --ttl 400ms >"$tmp/pipe" 2>"$tmp/worker.err" &
pids[worker]=$!
now_ms() { redis TIME | { read -r s && read -r us && echo $((s * 1000 + us / 1000)); }; }
is_stuck() { (($(redis LLEN muster:queues:slow) < 260)); }
wait_for is_stuck
end=$(($(now_ms) + 1200))
beat_after() { (($(redis --raw HGET muster:beat at) >= $1)); }
wait_for beat_after "$end"
head -n 300 <&"$pipe" >"$tmp/read"
cmp "$tmp/tasks" "$tmp/read"
wait_for redis_is 0 HGET muster:queue:slow running
# A machine with other work may hold the loop up for a part of this short ttl; that is told, and loses nothing.
said=$(grep -v 'held up the loop' "$tmp/worker.err")
[[ $said == 'muster work: w: takes tasks' ]] || fail "it lost its way: $said"
end worker TERM 0

# ---- 4
printf '%0300000d' 0 >"$tmp/big"
exec {pipe}>&-
# print_to FIFO OPTION...: the worker, and a reader that does not read
print_to() {
    mkfifo "$tmp/$1"
    exec {pipe}<>"$tmp/$1"
    setpriv --pdeathsig KILL "$checked" work large --print --id w --permanent --ttl 400ms "${@:2}" \
        >"$tmp/$1" 2>"$tmp/worker.err" {pipe}>&- &
    pids[worker]=$!
    enqueue large --whole <"$tmp/big"
    wait_for read -rt 0 -u "$pipe"
    end=$(($(now_ms) + 1200))
    wait_for beat_after "$end"
    check_redis 1 HLEN muster:processing:w:large
}
is_over() { redis_is 0 HLEN muster:processing:w:large; }
# A cancel; then the next line begins anew.
print_to first
check_exit 0 "$MUSTER" ps --json
[[ $(<"$tmp/out") =~ \"process\":\"(w:[^\"]*:large)\" ]] || fail "no process: $(head -c 300 "$tmp/out")"
check_exit 0 "$MUSTER" cancel --process "${BASH_REMATCH[1]}"
wait_for is_over
cat <"$tmp/first" >"$tmp/read" {pipe}>&- &
pids[reader]=$!
exec {pipe}>&-
enqueue large after
last_is() { [[ $(tail -n 1 "$tmp/read") == "$1" && $(wc -l <"$tmp/read") == 2 ]]; }
wait_for last_is after
wait_for is_over
enqueue large --whole <"$tmp/big"
wait_for is_over
end worker TERM 0
check_end reader 0
tail -n 1 "$tmp/read" | cmp - <(cat "$tmp/big" && echo)
says worker 'printed only in part, and given back: 1' || fail "it is not told: $(cat "$tmp/worker.err")"
# A stop, whatever its drain time: nobody reads.
print_to second --drain 1h
end worker TERM 0
says worker 'printed only in part, and given back: 1' || fail "it is not told: $(cat "$tmp/worker.err")"
exec {pipe}>&-
check_exit 0 "$MUSTER" peek large --json
[[ $(<"$tmp/out") == *'"len":300000'* ]] || fail "it has not gone back: $(head -c 300 "$tmp/out")"
