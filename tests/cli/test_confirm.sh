#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The parameter replicas=N,MS, for the verbs that add. Proves:
#  1. without a replica: status 74, one line that says what is true and what to do next; the tasks are there once
#  2. many lines are all enqueued, and one line counts what is not confirmed
#  3. a repeated request, job or unique task adds nothing, and is not confirmed either
#  4. put prints the job's id all the same
#  5. as soon as a replica has it: status 0; a job and a unique task are answered that they are there
#  6. a time that is not below --timeout is wrong use
#  7. what is not confirmed keeps nothing behind it from being added, and is told beside whatever fails later
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

port=$((RANDOM % 10000 + 12000))
start_redis --port "$port" --bind 127.0.0.1 --repl-diskless-sync-delay 0
export MUSTER_URL="unix://$socket?replicas=1,100"

# ---- 1
check_exit 74 "$MUSTER" enqueue q one two
check_out ''
check_err 'confirmed by 0 of 1 replica after 100 ms: it is there, but may be lost if this server fails'
check_err '2 tasks were enqueued, 2 of them unconfirmed: only with --request can they be sent again'
check_redis 2 LLEN muster:queues:q
check_exit 74 "$MUSTER" enqueue q --front zero
check_err '; 1 task was enqueued, 1 of them unconfirmed'

# ---- 2
seq 2500 | check_exit 74 "$MUSTER" enqueue many
check_err '2500 tasks were enqueued, 2500 of them unconfirmed'
check_redis 2500 LLEN muster:queues:many

# ---- 3, 4
for _ in 1 2; do
    check_exit 74 "$MUSTER" enqueue r --request id a b
    check_err 'the same call with the same --request adds nothing, and tells when it is confirmed'
    check_redis 2 LLEN muster:queues:r
    check_exit 74 "$MUSTER" put j data --id job
    check_out job
    check_err 'with --id job again adds no second one as long as the job is alive: status 74, and 4 once it is confirmed;'
    check_exit 74 "$MUSTER" put k data --request id2
    check_out id2:1
    check_err 'with the same --request adds nothing, and succeeds once it is confirmed'
    "$MUSTER" queues k --json | grep -q '"waiting":1,' || fail 'it was added twice, or not at all'
    check_exit 74 "$MUSTER" enqueue u --unique x
    check_err 'the same call adds none that is alive: status 74 until all are confirmed, then 4'
done
check_exit 74 "$MUSTER" put j data
id=$(cat "$tmp/out")
check_exit 0 "$MUSTER" job "$id"
check_exit 74 "$MUSTER" put j --id job --replace other
check_err "the same \`muster put\` changes it again, and succeeds once it is confirmed"

# ---- 7: each way to add more than one, as operands and as lines
waiting() { "$MUSTER" queues "$1" --json | grep -q "\"waiting\":$2," || fail "not $2 wait: $("$MUSTER" queues "$1" --json)"; }
check_exit 74 "$MUSTER" enqueue all1 --unique a b c
check_err '3 tasks are there, 3 of them unconfirmed; the same call adds none that is alive'
waiting all1 3
printf '%s\n' a b c | check_exit 74 "$MUSTER" enqueue all2 --unique
check_err '3 tasks are there, 3 of them unconfirmed'
waiting all2 3
check_exit 74 "$MUSTER" enqueue all3 --wait a b c
check_err "3 tasks were enqueued, 3 of them unconfirmed; \`muster wait\` knows the ids on standard output"
waiting all3 3
[[ $(wc -l <"$tmp/out") == 3 ]] || fail "not three ids: $(cat "$tmp/out")"
while read -r id; do
    "$MUSTER" job "$id" >/dev/null || fail "there is no job '$id'"
done <"$tmp/out"
for lines in --lines --json-lines; do
    printf '%s\n' '{"data":"a"}' '{"data":"b"}' '{"data":"c"}' | check_exit 74 "$MUSTER" put "all4$lines" $lines
    check_err '3 jobs were put, 3 of them unconfirmed'
    waiting "all4$lines" 3
done
printf '%s\n' '{"id":"a"}' '{"id":"b"}' '{"bad":1}' | check_exit 1 "$MUSTER" put later --json-lines
check_err "see \`muster put --help\`; 2 jobs were put, of the lines before it, 2 of them unconfirmed"
redis SET "muster:job:$(printf 6:later2x | sha1sum | cut -d ' ' -f 1)" damaged >/dev/null
check_exit 1 "$MUSTER" enqueue later2 --unique a x b
check_err '1 task is there, 1 of them unconfirmed'
waiting later2 1
check_exit 74 "$MUSTER" batch open b --on-end q
check_out b
check_exit 74 "$MUSTER" batch open b --on-end q

# ---- 5
start replica redis-server --port 0 --unixsocket "$tmp/replica.sock" --dir "$tmp" --dbfilename replica.rdb --save '' \
    --replicaof 127.0.0.1 "$port"
has_replica() { redis_is 1 WAIT 1 100; }
wait_for has_replica
export MUSTER_URL="unix://$socket?replicas=1,5000"
check_exit 0 "$MUSTER" enqueue r --request id a b --timeout 10s
check_redis 2 LLEN muster:queues:r
check_exit 4 "$MUSTER" put j data --id job --timeout 10s
check_err "the job 'job' is waiting"
check_exit 0 "$MUSTER" take k
check_exit 0 "$MUSTER" finish "$(cut -f 1 "$tmp/out")"
check_exit 0 "$MUSTER" put k data --request id2 --timeout 10s # also one that has ended
check_out id2:1
"$MUSTER" queues k --json | grep -q '"waiting":0,' || fail 'it was added again'
check_exit 4 "$MUSTER" enqueue u --unique x --timeout 10s
check_out '0 enqueued, 1 there already'
seq 2500 | check_exit 0 "$MUSTER" enqueue all --timeout 10s
check_out '2500 enqueued, 2500 waiting'
check_exit 0 "$MUSTER" put j data --id other --timeout 10s
check_exit 0 "$MUSTER" put j --id job --replace other --timeout 10s
check_exit 4 "$MUSTER" batch open b --on-end q --timeout 10s

# ---- 6
check_exit 2 "$MUSTER" enqueue q x --timeout 5s
check_err 'replicas may take 5000 ms to confirm, but the answer is waited for only 5000 ms'
