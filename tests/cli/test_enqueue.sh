#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# muster enqueue. Proves:
#  1. tasks from operands and from lines are in the queue in their order, unchanged, and the answer counts them, as text
#     and as JSON; a last line without newline counts, empty lines are empty tasks, no input is no task
#  2. -0 splits only at NUL bytes; --whole makes one task of all input, even if it is empty
#  3. --front puts the first task first, across batches
#  4. tens of thousands of lines stay in order; input that comes slowly is enqueued as it comes
#  5. a task over 64 MiB is refused, nothing of its batch is sent, and what was sent before is counted
#  6. after a failure in the middle the message counts what is in the queue, neither more nor less
#  7. input that cannot be read is an error
#  8. a task that is too large for Redis is told by its number; tasks that are too large only together are enqueued
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
start_redis

enqueue() { check_exit 0 "$MUSTER" enqueue "$@"; }
# tasks QUEUE: its tasks as redis-cli quotes them, the next one out first
tasks() { redis --no-raw LRANGE "muster:queues:$1" 0 -1 | sed 's/^ *[0-9]*) //' | tac | paste -sd' '; }
check_tasks() { [[ $(tasks "$1") == "$2" ]] || fail "$1 holds $(tasks "$1"), not $2"; }

# ---- 1
enqueue operands one 'two words' '' $'line\nbreak'
check_out '4 enqueued, 4 waiting'
check_tasks operands '"one" "two words" "" "line\nbreak"'
enqueue operands --json -- -dashed- --json
check_out '{"queue":"operands","enqueued":2,"waiting":6}'
printf 'one\n\n  two \r\nlast' | enqueue lines
check_out '4 enqueued, 4 waiting'
check_tasks lines '"one" "" "  two \r" "last"'
enqueue lines </dev/null
check_out '0 enqueued, 4 waiting'
enqueue 'odd {name} \*:ü' x --prefix '{other}'
check_redis 1 LLEN '{other}:queues:odd {name} \*:ü'
enqueue $'latin\xe9' x --json
check_out '{"queue_base64":"bGF0aW7p","enqueued":1,"waiting":1}'
MUSTER_PREFIX=environment enqueue q x
check_redis 1 LLEN environment:queues:q

# ---- 2
printf 'a\nb\0\0c' | enqueue nul -0
check_tasks nul '"a\nb" "" "c"'
printf 'a\n\0b\n' | enqueue whole --whole
check_tasks whole '"a\n\x00b\n"'
enqueue whole --whole </dev/null
check_out '1 enqueued, 2 waiting'

# ---- 3
enqueue front last
enqueue front --front a b c
check_tasks front '"a" "b" "c" "last"'
seq 2500 | enqueue front --front
check_out '2500 enqueued, 2504 waiting'
check_exit 0 "$MUSTER" peek front -n 10000
cmp "$tmp/out" <(seq 2500 && printf '%s\n' a b c last)

# ---- 4
seq 50000 | enqueue many
check_out '50000 enqueued, 50000 waiting'
check_exit 0 "$MUSTER" peek many -n 100000
cmp "$tmp/out" <(seq 50000)
mkfifo "$tmp/pipe"
setpriv --pdeathsig KILL "$MUSTER" enqueue slow <"$tmp/pipe" >"$tmp/slow.out" 2>"$tmp/slow.err" &
pids[slow]=$!
exec {pipe}>"$tmp/pipe"
printf 'first\nsec' >&"$pipe"
wait_for redis_is 1 LLEN muster:queues:slow
printf 'ond\nthird' >&"$pipe"
wait_for redis_is 2 LLEN muster:queues:slow
exec {pipe}>&-
check_end slow 0
check_tasks slow '"first" "second" "third"'

# ---- 5
limit=$((64 * 1024 * 1024))
head -c "$limit" /dev/zero | enqueue big --whole
check_redis 1 LLEN muster:queues:big
big() { echo before && head -c "$limit" /dev/zero | tr '\0' x && echo x && echo after; }
check_too_long() {
    check_err "$1 is longer than 64 MiB; $2"
    check_out ''
}
big | check_exit 1 "$MUSTER" enqueue too-big --front
check_too_long 'task 2' 'the last 0 tasks were enqueued'
big | check_exit 1 "$MUSTER" enqueue too-big --whole
check_too_long 'task 1' '0 tasks were enqueued'
check_redis 0 EXISTS muster:queues:too-big
big | check_exit 1 "$MUSTER" enqueue too-big
check_too_long 'task 2' '1 task was enqueued'
check_tasks too-big '"before"'
check_exit 0 "$MUSTER" enqueue there-big --unique before
big | check_exit 1 "$MUSTER" enqueue there-big --unique
check_too_long 'task 2' '1 task is there'

# ---- 6: 200 tasks of 64 KiB, and room for about half of them
used=$(redis INFO memory | sed -n 's/^used_memory:\([0-9]*\).*/\1/p')
redis CONFIG SET maxmemory $((used + 6 * 1024 * 1024)) >"$tmp/out"
head -c $((200 * 65536)) /dev/zero | tr '\0' x | fold -w 65535 >"$tmp/tasks"
check_exit 75 "$MUSTER" enqueue half --front <"$tmp/tasks"
redis CONFIG SET maxmemory 0 >"$tmp/out"
length=$(redis LLEN muster:queues:half)
((length > 0 && length < 200)) || fail "$length tasks fitted"
check_err "; the last $length tasks were enqueued;"

# ---- 7
check_exit 1 "$MUSTER" enqueue q <"$tmp"
check_err 'cannot read standard input: Is a directory'
check_exit 1 "$MUSTER" enqueue q <&-
check_err 'cannot read standard input'

# ---- 8
redis CONFIG SET proto-max-bulk-len 1mb >"$tmp/out"
redis CONFIG SET client-query-buffer-limit 1mb >"$tmp/out"
{
    printf 'a\nb\n'
    head -c 1500000 /dev/zero | tr '\0' x
    printf '\nc\n'
} >"$tmp/tasks"
for how in '' --front --unique --wait '--request large'; do
    # shellcheck disable=SC2086 # words
    check_exit 1 "$MUSTER" enqueue large $how <"$tmp/tasks"
    check_err 'task 3, of 1500000 bytes: '
done
for n in {1..950}; do printf '%01100d\n' "$n"; done >"$tmp/tasks"
check_exit 0 "$MUSTER" enqueue heap <"$tmp/tasks"
check_exit 0 "$MUSTER" enqueue heap --front <"$tmp/tasks"
check_redis 1900 LLEN muster:queues:heap
redis CONFIG SET proto-max-bulk-len 512mb >"$tmp/out"
redis CONFIG SET client-query-buffer-limit 1gb >"$tmp/out"
