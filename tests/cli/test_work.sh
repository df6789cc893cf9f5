#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# muster work with a command. Proves:
#  1. exit 0 finishes a task; 75 retries it after the delay; any other status, or a signal, puts it on the failed list
#     with its group. If COMMAND cannot be executed the task is given back, and the worker ends with status 3 and one
#     line; that COMMAND itself exits with 126 or 127 is a failure like any other
#  2. a command that does not exist or cannot be executed is refused before anything is connected to
#  3. the command gets every byte of the task on standard input, even of an empty one and of 5 MiB; its output goes
#     where the worker's output goes
#  4. it knows queue, process, token and worker from its environment
#  5. -I puts the task into the arguments; a task that no argument can hold fails, and the worker goes on
#  6. -c N runs N at once and no more
# shellcheck disable=SC2016 # what stands in single quotes is for another shell
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$tmp"
start_redis

enqueue() { "$MUSTER" enqueue "$@" >"$tmp/out"; }
work() { start worker "$MUSTER" work "$@"; }
stop() {
    end worker TERM 0
}
nothing_held() { [[ $(redis HGET "muster:queue:$1" running) =~ ^(0|)$ ]]; }
# is_over QUEUE: have all its tasks ended?
is_over() { redis_is 0 LLEN "muster:queues:$1" && nothing_held "$1"; }
# failed QUEUE GROUP: how many tasks failed in this group
failed() { redis ZRANGE "muster:failed:$1" 0 -1 | grep -cF "$2" || true; }

# ---- 1: tasks are scripts
work q --id w --retry-delay 1h -- sh
enqueue q 'exit 0' 'exit 75' 'exit 3' 'kill -KILL $$' 'exit 255'
wait_for redis_is 3 ZCARD muster:failed:q
wait_for is_over q
check_redis 0 HLEN muster:processing:w:q
check_redis 1 ZCARD muster:delayed:q
for group in exit-3 signal-9 exit-255; do
    (($(failed q $group) == 1)) || fail "not one task failed with $group: $(redis ZRANGE muster:failed:q 0 -1)"
done
stop
work again --retry-delay 50ms -- sh
enqueue again "[ -e ran ] && echo twice >>ran || { echo once >ran; exit 75; }"
wait_for grep -qs twice ran
wait_for is_over again
check_redis 0 ZCARD muster:delayed:again
check_redis 0 ZCARD muster:failed:again
[[ $(paste -sd' ' ran) == 'once twice' ]] || fail "it ran: $(cat ran)"
stop
enqueue odd 'exit 126' 'no-such-program-anywhere'
check_exit 0 "$MUSTER" work odd --burst -- sh
check_exit 0 "$MUSTER" failed odd --json
[[ $(grep -o "exit-12." out | sort -u | paste -sd" ") == "exit-126 exit-127" ]] || fail "groups: $(cat out)"
echo '#!/no/such/interpreter' >cannot
chmod +x cannot
enqueue cannot first behind
check_exit 3 "$MUSTER" work cannot --id w -- ./cannot
grep -qE "^muster work: .*/cannot cannot be run: No such file.*given back" err || fail "nothing about it: $(cat err)"
check_exit 0 "$MUSTER" peek cannot
check_out first$'\n'behind
check_redis 0 HLEN muster:processing:w:cannot

# ---- 2
nobody=unix://$tmp/nobody
check_exit 3 "$MUSTER" work q --url "$nobody" -- ./not-there
check_err "the command './not-there' is not found or cannot be executed"
check_exit 3 "$MUSTER" work q --url "$nobody" -- muster-not-in-path
: >not-executable
check_exit 3 "$MUSTER" work q --url "$nobody" -- ./not-executable

# ---- 3
for i in {0..255}; do
    # shellcheck disable=SC2059
    printf "\\$(printf %03o "$i")"
done >bytes
head -c $((5 * 1024 * 1024)) /dev/urandom >large
: >empty
work input -- sha256sum
for name in bytes large empty; do
    "$MUSTER" enqueue input --whole <$name >out
    wait_for is_over input
    sha256sum <$name >>sums
    wait_for cmp -s sums worker.out
done
stop

# ---- 4
work 'a queue' --id w -- sh -c 'echo "$MUSTER_QUEUE|$MUSTER_PROCESS|$MUSTER_TOKEN|$MUSTER_WORKER" >variables.new
    mv variables.new variables; while [ -e variables ]; do sleep 0.02; done'
enqueue 'a queue' x
wait_for test -e variables
token=$(redis HKEYS 'muster:processing:w:a queue')
[[ $(cat variables) == "a queue|w:$token:a queue|$token|w" ]] || fail "variables: $(cat variables)"
rm variables
stop

# ---- 5
work arguments -I '{}' --id w -- sh -c 'printf "%s\n" "$@"' sh '{}' '<{}|{}>' plain
enqueue arguments 'a  "b" {} $c' ''
wait_for is_over arguments
check_lines() { [[ $(cat worker.out) == "$1" ]] || fail "the command got: $(cat worker.out)"; }
check_lines 'a  "b" {} $c
<a  "b" {} $c|a  "b" {} $c>
plain

<|>
plain'
printf 'a\0b' | "$MUSTER" enqueue arguments --whole >out
head -c 200000 /dev/zero | tr '\0' x | "$MUSTER" enqueue arguments --whole >out
enqueue arguments last
wait_for grep -q '<last|last>' worker.out
wait_for is_over arguments
(($(failed arguments bad-argument) == 2)) || fail "failed: $(redis ZRANGE muster:failed:arguments 0 -1 | cut -c1-200)"
stop

# ---- 6: each waits until its file is removed
work hands -c 3 -- sh -c 'name=$(cat); : >"at-$name"; while [ -e "at-$name" ]; do sleep 0.02; done'
enqueue hands 1 2 3 4 5
count_is() { (($(find . -name 'at-*' | wc -l) == $1)); }
wait_for count_is 3
check_redis 2 LLEN muster:queues:hands
rm at-2
wait_for test -e at-4
count_is 3 || fail "not three at once: $(ls)"
check_redis 1 LLEN muster:queues:hands
rm at-1 at-3 at-4
wait_for test -e at-5
rm at-5
wait_for is_over hands
stop
