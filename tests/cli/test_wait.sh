#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# muster wait, and --wait of put and enqueue. Proves:
#  1. it waits until all jobs have ended, and tells each at once: complete with its result, failed with group and message,
#     cancelled, gone; as a line and as JSON; --result prints results byte by byte
#  2. the exit code is the highest of theirs; --timeout ends it with 124, a variable does not
#  3. put --wait and enqueue --wait tell what became of their own, of tasks on standard input, too
#  4. Redis may restart meanwhile; a full Redis and a user who must not write are no obstacle. A result that Redis does
#     not send for its size is named, with the end
#  5. what has no meaning is refused; a signal ends it; of a task that has no answer the id is told
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$tmp"
start_redis --appendonly yes --appendfsync always

put() { "$MUSTER" put "$@" >said; }
take() { process=$("$MUSTER" take --lease 1h "$1" | cut -f 1); }
is_heard() { (($(redis CLIENT LIST TYPE pubsub | grep -c .) == 1)) && redis_is 1 HEXISTS muster:config listen; }
lines() { [[ -e $1 ]] && (($(wc -l <"$1") == $2)); }

# ---- 1
for id in 'done' failed gone running; do put q --id $id "$id"; done
start waiter "$MUSTER" wait 'done' failed gone never running
wait_for is_heard
wait_for lines waiter.out 1
take q && "$MUSTER" finish "$process" --result $'12\t kg\033' >said
take q && "$MUSTER" fail "$process" --group g --message 'not there' >said
"$MUSTER" cancel --job gone >said
wait_for lines waiter.out 4
runs waiter || fail 'it did not wait for the last one'
take q && "$MUSTER" finish "$process" >said
check_end waiter 3
sort waiter.out >out
check_out $'done\tcomplete\t12\\t kg\\x1b\nfailed\tfailed\tg: not there\ngone\tcancelled\nnever\tgone\nrunning\tcomplete'
check_exit 3 "$MUSTER" wait 'done' failed never --json
check_out '{"id":"done","ended":"complete","queue":"q","result":"12\t kg\u001b"}
{"id":"failed","ended":"failed","queue":"q","group":"g","message":"not there"}
{"id":"never","ended":"gone"}'
check_exit 1 "$MUSTER" wait --result 'done' failed
printf '12\t kg\033' | cmp - out
check_err "the job 'failed' has failed: g: not there"

# ---- 2
check_exit 0 "$MUSTER" wait 'done' running
check_exit 3 "$MUSTER" wait 'done' never
put q --id more more
check_exit 124 "$MUSTER" wait 'done' more --timeout 300ms
check_err '1 of the 2 jobs have not ended in time'
grep -q '^done' out || fail "what has ended is not told: $(cat out)"
export MUSTER_TIMEOUT=1s
start waiter "$MUSTER" wait more
start listener "$MUSTER" listen w
start events "$MUSTER" events
start waits "$MUSTER" enqueue other --wait x
export MUSTER_TIMEOUT=1h
for name in listener events; do wait_for says $name listens; done
check_exit 3 "$MUSTER" take empty --wait 1500ms # by the clock of Redis, more than a second goes by
for name in waiter listener events waits; do
    runs $name || fail "the variable has ended $name: $(cat $name.err)"
done
end listener INT 0
end events INT 0
end waits TERM 143
"$MUSTER" cancel --job more >said
check_end waiter 1

# ---- 3
start worker "$MUSTER" work w --id w -c 4 --result stdout -- sh
check_exit 0 "$MUSTER" put w 'echo twelve' --id p --wait
check_out $'p\tcomplete\ttwelve\\n'
check_exit 1 "$MUSTER" put w 'echo no >&2; exit 3' --id f --retries 0 --wait --json
check_out '{"id":"f","ended":"failed","queue":"w","group":"exit-3","message":"no"}'
check_exit 0 "$MUSTER" enqueue w 'printf one' --wait
grep -qxP '[0-9a-f]{32}\tcomplete\tone' out || fail "enqueue --wait: $(cat out)"
check_exit 1 "$MUSTER" enqueue w 'printf one' 'exit 9' --wait --json
(($(wc -l <out) == 2)) || fail "two tasks: $(cat out)"
grep -q '"ended":"failed","queue":"w","group":"exit-9"' out || fail "the failure: $(cat out)"
seq -f 'printf %g' 30 >tasks
check_exit 0 "$MUSTER" enqueue w --wait <tasks
cut -f 3 out | sort -n | cmp - <(seq 30)
end worker TERM 0
check_exit 124 "$MUSTER" enqueue w nobody --wait --timeout 300ms
check_err 'what was added is there: muster wait '
check_err '; wait longer with --timeout' # what was added is certain
check_redis 0 LLEN muster:queues:w
"$MUSTER" cancel --job "$(sed -n 's/.*is there: muster wait \([0-9a-f]*\);.*/\1/p' err)" >said

# ---- 4
put q --id restart x
start waiter "$MUSTER" wait restart
wait_for is_heard
end redis TERM 0
start redis redis-server --port 0 --unixsocket "$socket" --dir "$tmp" --save '' --appendonly yes
wait_for redis_answers
take q && "$MUSTER" finish "$process" --result after >said
check_end waiter 0
grep -qxP 'restart\tcomplete\tafter' waiter.out || fail "after a restart: $(cat waiter.out)"
put q --id full x
take q
redis CONFIG SET maxmemory 1 >said
start waiter "$MUSTER" wait full
sleep 0.3
runs waiter || fail "a full Redis: $(cat waiter.err)"
"$MUSTER" finish "$process" >said
check_end waiter 0
redis CONFIG SET maxmemory 0 >said
redis ACL SETUSER viewer on '>v' '~*' '&*' +@read +@connection +subscribe +unsubscribe +psubscribe +ping -@write +hello +auth +time +info >said
check_exit 0 "$MUSTER" wait full --url "unix://viewer:v@$socket"
redis CONFIG SET client-output-buffer-limit 'normal 1mb 0 0' >said
start worker "$MUSTER" work r --result stdout --result-max 5000000 -- head -c 3000000 /dev/zero
check_exit 1 "$MUSTER" put r --id large x --wait --timeout 20s
check_out $'large\tcomplete'
check_err "the job 'large' is complete, but its result of 3000000 bytes"
check_exit 1 "$MUSTER" wait large --result --timeout 20s
check_out ''
end worker TERM 0
check_exit 1 "$MUSTER" job large
check_err "the job 'large' has 3000001 bytes"
check_err 'client-output-buffer-limit for normal clients of 1048576'
check_exit 0 "$MUSTER" job large --result --head
check_err "the result of the job 'large' has 3000000 bytes: only its first 65536 are shown"
(($(wc -c <out) == 65536)) || fail "not its beginning, but $(wc -c <out) bytes"
check_exit 0 "$MUSTER" jobs --newest --json
grep -q '"result_len":3000000,' out || fail 'the list does not show how long it is'
redis CONFIG SET client-output-buffer-limit 'normal 0 0 0' >said

# ---- 5
check_usage wait
check_usage wait ''
check_usage wait a --result --json
check_usage put q x --every 1h --wait
check_err 'does not end'
for option in --front --unique '--request r'; do
    # shellcheck disable=SC2086
    check_usage enqueue q x --wait $option
done
put q --id interrupted x
start waiter "$MUSTER" wait interrupted
wait_for is_heard
end waiter TERM 143
"$MUSTER" cancel --job interrupted >said
check_clean

# What has no answer has an id, too.
mkfifo feed
# shellcheck disable=SC2016 # the inner shell's
start feeder bash -c 'exec "$0" enqueue cut --wait <feed' "$MUSTER"
exec {feed}>feed
echo a >&"$feed"
wait_for redis_is 1 ZCARD muster:waiting:cut
end redis KILL 137
echo b >&"$feed"
exec {feed}>&-
check_end feeder 69
grep -qE '; 1 task was enqueued, and perhaps the 1 after under the id [0-9a-f]{32};' feeder.err || fail "it said: $(cat feeder.err)"
