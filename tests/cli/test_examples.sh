#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The example programs do what their heads say:
#   producer         enqueues its arguments, or lines, in their order; names the error when there is no Redis
#   worker           works off what a producer enqueued, and what is enqueued while it is idle; puts an empty task on
#                    the failed list; ends with status 0 on SIGTERM and leaves no key of its own
#   worker_own_loop  works in the program's loop, whose timer and signal go on beside it
#   worker_epoll     takes and ends a thousand tasks in a loop of epoll, and stops on SIGTERM with nothing left
#   threads          runs tasks beside a long one, stays alive while this takes longer than its ttl, and gives it back
#                    when it must stop
#   persistent       each connection is kept by one worker at a time; when a worker is killed or stops, another one
#                    takes over its connections, and only these. Where the queue shares evenly, 24 connections lie on
#                    three workers as 8, 8, 8, and on four, after one has joined, as 6, 6, 6, 6
#   fencing          the file refuses a writer that was stopped for longer than its ttl, once another one has written
#   cancel           one of the streams that three workers keep open is cancelled: only its owner is told, its hand goes
#                    to the stream that waits, and all others stay
#   lease.sh         finishes, retries or fails by the command's exit status; the task reaches it byte by byte; a lease
#                    is extended while the command runs; a cancelled command is stopped, and one that SIGTERM interrupts
#                    is given back
#   jobs             pays and packs before it ships, and pays at the second attempt; a job that exists is not put again
#   pipeline.sh      films are fetched, encoded twice and published once, though a worker is killed; the second time, too
#   retry            tries until there is a Redis; under one id the tasks are there once, and other tasks are refused
set -euo pipefail
# shellcheck source=tests/cli/lib.sh
. "$MUSTER_SOURCE/tests/cli/lib.sh"

producer=$MUSTER_EXAMPLES/producer
worker=$MUSTER_EXAMPLES/worker
start_redis

# peeks QUEUE TASKS: these wait, the next out first
peeks() {
    check_exit 0 "$MUSTER" peek "$1" -n 100
    check_out "$2"
}

# ---- producer

check_exit 2 "$producer"
check_exit 2 env MUSTER_URL=nonsense "$producer" words
check_exit 1 env MUSTER_URL="unix://$tmp/nobody" "$producer" words "a task"
check_err E_CONN

check_exit 0 "$producer" words "one" "and two"
check_out "2 waiting"
check_exit 0 "$producer" words < <(printf 'now three words\n\nlast')
check_out "5 waiting"
check_redis $'one\nand two\nnow three words\n\nlast' eval \
    "local t = redis.call('LRANGE', 'muster:queues:words', 0, -1); local r = {}
     for i = #t, 1, -1 do r[#r + 1] = t[i] end return r" 0

# ---- worker

check_exit 2 "$worker"
start worker "$worker" words
done_so_far() { (($(wc -l <"$tmp/worker.out") == $1)); }
wait_for done_so_far 4
check_redis 1 ZCARD muster:failed:words
wait_for redis_is 1 ZCARD muster:idle:words
check_exit 0 "$producer" words "here is number five"
check_out "0 waiting"
wait_for done_so_far 5
[[ $(cut -d' ' -f2- "$tmp/worker.out" | xargs) == "1 words 2 words 3 words 1 words 4 words" ]] ||
    fail "the worker counted wrongly: $(cat "$tmp/worker.out")"
says worker "takes tasks" || fail "no word of the start: $(cat "$tmp/worker.err")"

kill -TERM "${pids[worker]}"
check_end worker 0
check_redis 0 EXISTS muster:registry muster:ttls muster:idle:words muster:queues:words

# ---- worker_own_loop

check_exit 2 "$MUSTER_EXAMPLES/worker_own_loop"
check_exit 0 "$producer" guest "one" "two"
start guest "$MUSTER_EXAMPLES/worker_own_loop" guest
wait_for says guest "2 so far"
check_exit 0 "$producer" guest "three"
wait_for says guest "3 so far"
end guest TERM 0
[[ $(cat "$tmp/guest.out") == $'one\ntwo\nthree' ]] || fail "it printed: $(cat "$tmp/guest.out")"
check_redis 0 EXISTS muster:registry muster:idle:guest

# ---- worker_epoll

check_exit 2 "$MUSTER_EXAMPLES/worker_epoll"
start epoll "$MUSTER_EXAMPLES/worker_epoll" loop
seq 1000 >"$tmp/thousand"
check_exit 0 "$producer" loop <"$tmp/thousand"
wait_for is_quiet loop
end epoll TERM 0
says epoll "1000 done" || fail "it said: $(cat "$tmp/epoll.err")"
check_redis 0 EXISTS muster:registry muster:idle:loop

# ---- threads

check_exit 2 "$MUSTER_EXAMPLES/threads" primes
check_exit 2 "$MUSTER_EXAMPLES/threads" primes 0
long=1000000000000
check_exit 0 "$producer" primes $long 10 1000
start threads "$MUSTER_EXAMPLES/threads" primes 2
printed() { grep -qxF -- "$2" "$tmp/$1.out"; }
wait_for printed threads "4 primes below 10"
wait_for printed threads "168 primes below 1000"
epoch=$(redis HGET "muster:worker:$(redis ZRANGE muster:registry 0 0)" epoch)
began=$SECONDS
ttl_is_over() { ((SECONDS > began + 3)); }
wait_for ttl_is_over
check_redis "$epoch" HGET "muster:worker:$(redis ZRANGE muster:registry 0 0)" epoch
check_redis 1 HGET muster:queue:primes running
end threads TERM 0
printed threads "2 tasks done" || fail "it printed: $(cat "$tmp/threads.out")"
peeks primes $long

# ---- persistent: it writes the process' id, `<worker>:<token>:<queue>`, to each connection

check_exit 2 "$MUSTER_EXAMPLES/persistent"
redis HSET muster:queue:lines max_crashes 0 >"$tmp/out"

# keep NAME: starts a worker without an id of its own; its id is then in ${ids[NAME]}
declare -A ids=()
id_of_pid() { "$MUSTER" workers --json | sed -n "s/^{\"worker\":\"\([^\"]*\)\".*\"pid\":$1,.*/\1/p"; }
is_idle() {
    ids[$1]=$(id_of_pid "${pids[$1]}")
    [[ ${ids[$1]} && $(redis ZSCORE muster:idle:lines "${ids[$1]}") ]]
}
keep() {
    start "$1" "$MUSTER_EXAMPLES/persistent" lines
    wait_for is_idle "$1"
}
# kept_by NAME FILE...: is the last line in each this worker's?
kept_by() {
    local file
    for file in "${@:2}"; do
        [[ $(tail -qn 1 "$file" 2>"$tmp/tail.err") == "${ids[$1]}:"*:lines ]] || return 1
    done
}
ids_in() { uniq "$1" | wc -l; }

some=("$tmp"/connection-{1..3})
others=("$tmp"/connection-{4..6})
keep k1
check_exit 0 "$producer" lines "${some[@]}"
wait_for kept_by k1 "${some[@]}"
keep k2
check_exit 0 "$producer" lines "${others[@]}"
wait_for kept_by k2 "${others[@]}"
end k2 KILL 137
wait_for kept_by k1 "${others[@]}"
for file in "${some[@]}"; do
    (($(ids_in "$file") == 1)) || fail "$file did not stay open: $(uniq "$file")"
done
keep k3
end k1 TERM 0
wait_for kept_by k3 "${some[@]}" "${others[@]}"
end k3 TERM 0
for file in "${some[@]}" "${others[@]}"; do
    cut -d: -f2 "$file" | uniq | sort -cu || fail "two workers kept $file at once: $(uniq "$file")"
done
peeks lines "$(printf '%s\n' "${some[@]}" "${others[@]}")"
check_redis 0 HGET muster:queue:lines running

# ---- persistent, in a queue that shares evenly

check_exit 0 "$MUSTER" delete lines --yes
check_exit 0 "$MUSTER" config --queue lines share=even max_crashes=0
shares() { # SHARE NAME...: each holds so many
    local name
    for name in "${@:2}"; do
        redis_is "$1" HLEN "muster:processing:${ids[$name]}:lines" || return 1
    done
}
for name in s1 s2 s3; do
    keep "$name"
done
check_exit 0 "$producer" lines "$tmp"/even-{1..24}
wait_for shares 8 s1 s2 s3
keep s4
wait_for shares 6 s1 s2 s3 s4
check_redis 6 HGET muster:queue:lines moved
for name in s1 s2 s3 s4; do
    end "$name" TERM 0
done
for file in "$tmp"/even-*; do
    cut -d: -f2 "$file" | uniq | sort -cu || fail "two workers kept $file at once: $(uniq "$file")"
done

# ---- fencing

check_exit 2 "$MUSTER_EXAMPLES/fencing" ledger
ledger=$tmp/ledger
start stale "$MUSTER_EXAMPLES/fencing" ledger "$ledger" 3
check_exit 0 "$producer" ledger "a line"
wait_for says stale begins
kill -STOP "${pids[stale]}"
start fresh "$MUSTER_EXAMPLES/fencing" ledger "$ledger" 0
wait_for says fresh written
kill -CONT "${pids[stale]}"
wait_for says stale "refused, the file has seen a later token"
says stale ": written" && fail "the stale one wrote: $(cat "$tmp/stale.err")"
[[ $(cut -d' ' -f2- "$ledger") == "a line" ]] || fail "the file: $(cat "$ledger")"
check_exit 0 "$producer" ledger "another"
two_lines() { (($(wc -l <"$ledger") == 2)); }
wait_for two_lines
sort -cn "$ledger" || fail "the tokens do not rise: $(cat "$ledger")"
end stale TERM 0
end fresh TERM 0
check_redis 0 EXISTS muster:queues:ledger muster:failed:ledger muster:registry

# ---- cancel: it says `WORKER opens TASK`, and `WORKER is told to close TASK`

check_exit 2 "$MUSTER_EXAMPLES/cancel"
check_exit 0 "$MUSTER_EXAMPLES/cancel" streams
owner=$(sed -n 's/ opens stream 3$//p' "$tmp/out")
[[ $(grep -E "told|cancelled" "$tmp/out") == "cancelled: stream 3, in 1 hands
$owner is told to close stream 3
1 told, 6 streams are left" ]] || fail "it printed: $(cat "$tmp/out")"
grep -qx "$owner opens stream 7" "$tmp/out" || fail "the freed hand got nothing: $(cat "$tmp/out")"
[[ $("$MUSTER" peek streams | sort) == "$(printf 'stream %d\n' 1 2 4 5 6 7)" ]] ||
    fail "left in the queue: $("$MUSTER" peek streams)"
check_redis 1 HGET muster:queue:streams cancelled
check_exit 1 "$MUSTER_EXAMPLES/cancel" streams
check_err "wait in the queue"
(($("$MUSTER" peek streams | wc -l) == 6)) || fail "left in the queue: $("$MUSTER" peek streams)"

# ---- lease.sh

PATH=$(dirname "$MUSTER"):$PATH
lease=$MUSTER_SOURCE/examples/lease.sh
export LEASE_BEAT_S=1 LEASE_WAIT=1ms TMPDIR=$tmp
check_exit 2 "$lease" shell
check_exit 69 env MUSTER_URL="unix://$tmp/nobody" "$lease" shell true
printf ' a\0b\t\n\n' >"$tmp/odd"
"$MUSTER" enqueue shell --whole <"$tmp/odd" >"$tmp/enqueued"
check_exit 0 "$lease" shell cp /dev/stdin "$tmp/copy"
cmp "$tmp/odd" "$tmp/copy" || fail "the task came as: $(od -c "$tmp/copy")"
check_redis 0 EXISTS muster:queues:shell muster:failed:shell muster:processing:.lease:shell
check_exit 0 "$producer" shell 75 4 0
check_exit 0 "$lease" shell sh -c "exit \$(cat)"
check_redis 1 ZCARD muster:delayed:shell
check_redis 1 HGET muster:failures:shell g:exit-4
check_redis 0 HGET muster:queue:shell running
redis DEL muster:delayed:shell muster:failed:shell muster:failures:shell >"$tmp/out"

# The end of the only lease, server ms; 0: there is none.
lease_ends() {
    local at
    at=$(redis ZRANGE muster:leases:shell 0 0 WITHSCORES | tail -n 1)
    echo "${at:-0}"
}
ends_after() { (($(lease_ends) > $1)); }
check_exit 0 "$producer" shell "a long one"
start lease "$lease" shell sh -c "while [ -d '$tmp' ] && [ ! -e '$tmp/go' ]; do sleep 0.05; done"
wait_for ends_after 0
wait_for ends_after "$(($(lease_ends) + 3000))" # it was extended when the first lease would have ended
touch "$tmp/go"
check_end lease 0
check_redis 0 EXISTS muster:queues:shell muster:processing:.lease:shell
rm "$tmp/go"
# It ends with this test, because lease.sh would leave it behind if it were killed.
endless=(sh -c "trap 'touch \"$tmp/told\"; exit 9' TERM; touch '$tmp/go'; while [ -d '$tmp' ]; do sleep 0.05; done")
exists() { [[ -e $1 ]]; }
check_exit 0 "$producer" shell "an endless one"
start lease "$lease" shell "${endless[@]}"
wait_for exists "$tmp/go"
check_exit 0 "$MUSTER" cancel shell "an endless one"
check_end lease 0
exists "$tmp/told" || fail "the cancelled command was not told"
check_redis 0 EXISTS muster:queues:shell muster:failed:shell muster:processing:.lease:shell
rm "$tmp/go" "$tmp/told"
check_exit 0 "$producer" shell "an endless one"
start lease "$lease" shell "${endless[@]}"
wait_for exists "$tmp/go"
end lease TERM 143
exists "$tmp/told" || fail "the command runs on"
peeks shell "an endless one"
check_redis 0 EXISTS muster:processing:.lease:shell muster:suspects:shell

# ---- jobs

check_exit 2 "$MUSTER_EXAMPLES/jobs" orders
check_exit 2 "$MUSTER_EXAMPLES/jobs" orders "$(printf 'q%.0s' {1..200})"
"$MUSTER" put orders pack --id 17-pack >"$tmp/put" # as a program that died has left it
check_exit 0 "$MUSTER_EXAMPLES/jobs" orders 17
[[ $(grep attempt "$tmp/out" | sort) == "17-pack, attempt 1: done
17-pay, attempt 1: no answer from the bank
17-pay, attempt 2: done
17-ship, attempt 1: done" ]] || fail "it printed: $(cat "$tmp/out")"
[[ $(sed -n '4,$p' "$tmp/out" | sed 's/[0-9]* ms: //') == "17-ship, attempt 1: done
17-ship is complete: on its way
  put
  ready
  taken
  completed" ]] || fail "it printed: $(cat "$tmp/out")"
check_redis 0 EXISTS muster:waiting:orders muster:depends:orders muster:scheduled:orders muster:failed:orders
check_clean
check_exit 1 env MUSTER_URL="unix://$tmp/nobody" "$MUSTER_EXAMPLES/jobs" orders 18
check_err E_CONN

# ---- retry

retry=$MUSTER_EXAMPLES/retry
check_exit 2 "$retry" orders 4711
end redis TERM 0
start retry "$retry" orders 4711 "a book" "a pen"
wait_for says retry E_CONN
start_redis
check_end retry 0
check_exit 0 "$retry" orders 4711 "a book" "a pen"
check_out "2 waiting"
check_redis $'a pen\na book' LRANGE muster:queues:orders 0 -1
check_exit 1 "$retry" orders 4711 "a book"
check_err E_EXISTS
check_redis 2 LLEN muster:queues:orders

# ---- pipeline.sh

pipeline=$MUSTER_SOURCE/examples/pipeline.sh
(($(wc -l <"$pipeline") < 100)) || fail 'it is no longer short'
check_exit 2 "$pipeline"
mkdir "$tmp/bin"
ln -s "$MUSTER" "$tmp/bin/muster"
check_exit 0 env PATH="$tmp/bin:$PATH" "$pipeline" "$tmp/films" 6
grep -q "published 12 files" "$tmp/out" || fail "it said: $(cat "$tmp/out")"
[[ $(cat "$tmp/films/film-6.large") == FILM-6 ]] || fail "film 6: $(cat "$tmp/films/film-6.large")"
[[ $("$MUSTER" jobs --queue publish --prefix pipeline --json) == *'"complete":1,'* ]] || fail 'published more than once'
[[ $("$MUSTER" jobs --queue fetch --prefix pipeline --json) == *'"recurring":1'* ]] || fail 'no schedule'
check_exit 0 "$MUSTER" check --prefix pipeline
