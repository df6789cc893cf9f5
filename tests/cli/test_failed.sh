#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# muster failed, replay and drop. Proves:
#  1. nothing failed in a queue that exists: the headings as text, nothing as JSON, status 0
#  2. without QUEUE, and with --groups, the groups with their counts; with QUEUE its entries, newest first; with GROUP
#     those; -n and --offset page through them; the table is safe for a terminal; JSON has all bytes, even if not text
#  3. replay puts back the chosen ones, the oldest failure first; drop removes them; both print how many
#  4. if one of several ENTRYs does not exist, it has its own line and status 3, and the others are done
#  5. without a choice, and with two that exclude each other, nothing is done: status 2
#  6. a replayed task goes to an idle worker
#  7. a key of another type: status 1, nothing changed
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC2154 # tmp is lib.sh's
cd "$tmp"
start_redis

ok() { check_exit 0 "$MUSTER" "$@"; }
# fail_task QUEUE GROUP TASK [MESSAGE]
fail_task() {
    printf %s "$3" | "$MUSTER" enqueue "$1" --whole >enqueued
    "$MUSTER" fail "$("$MUSTER" take --lease 1h "$1" | head -n 1 | cut -f 1)" --group "$2" ${4+--message "$4"} >failed
}
# tasks: the tasks in the JSON
tasks() { sed 's/.*"task":"\(.*\)","failed_at":"[^"]*"}$/\1/' out | paste -sd' '; }
entries() { "$MUSTER" failed "$@" --json | sed 's/^{"entry":"\([^"]*\)".*/\1/'; }
# check_tasks QUEUE TASKS: these must be on the failed list
check_tasks() {
    ok failed "$1" --json
    [[ $(tasks) == "$2" ]] || fail "failed in $1: $(cat out)"
}
check_waiting() {
    check_exit 0 "$MUSTER" peek "$1" -n 1000
    check_out "$2"
}

# ---- 1
ok failed
check_out 'QUEUE  GROUP  FAILED'
"$MUSTER" config --queue q keep_failed=0 >said
ok failed q
check_out 'ENTRY  FAILED  GROUP  MESSAGE  JOB  HOLDER  LEN  TASK'
for operands in '' q 'q g' 'q --groups'; do
    # shellcheck disable=SC2086
    ok failed $operands --json
    check_out ''
done

# ---- 2
for n in 1 2 3 4; do
    fail_task q odd$((n % 2)) task$n
done
fail_task q 'other group' five $'no\nway, and this is a message of some length'
fail_task p odd1 six
ok failed
sort out >sorted
diff sorted - <<'TABLE'
QUEUE  GROUP        FAILED
p      odd1              1
q      odd0              2
q      odd1              2
q      other group       1
TABLE
ok failed q --groups --json
diff <(sort out) - <<'JSON'
{"queue":"q","group":"odd0","failed":2}
{"queue":"q","group":"odd1","failed":2}
{"queue":"q","group":"other group","failed":1}
JSON
check_tasks q 'five task4 task3 task2 task1'
ok failed q odd1 --json
[[ $(tasks) == 'task3 task1' ]] || fail "of odd1: $(cat out)"
ok failed q --group odd1 --json
[[ $(tasks) == 'task3 task1' ]] || fail "of --group odd1: $(cat out)"
ok failed q odd1 -n 1 --offset 1 --json
[[ $(tasks) == 'task1' ]] || fail "the second of odd1: $(cat out)"
ok failed q -n 2 --offset 1 --json
[[ $(tasks) == 'task4 task3' ]] || fail "two of q: $(cat out)"
ok failed q nobody --json
check_out ''
ok failed q -n 1
sed -E 's/^[0-9a-v]{11} /ENTRY /; s/now|[0-9]+ s ago/TIME/; s/  +/  /g' out >shown
diff shown - <<'TABLE'
ENTRY  FAILED  GROUP  MESSAGE  JOB  HOLDER  LEN  TASK
ENTRY  TIME  other group  no\nway, and this is a messag…  -  -  4  five
TABLE
ok failed q -n 1 --json
now=$(date +%s%3N)
at=$(sed 's/.*"failed_at_ms":\([0-9]*\).*/\1/' out)
((at > now - 60000 && at <= now + 1000)) || fail "failed at $at, now it is $now"
grep -qE '^\{"entry":"[0-9a-v]{11}","queue":"q","process":"\.lease:[0-9a-v]{11}:q","worker":"\.lease","failed_at_ms":[0-9]+,'\
'"group":"other group","message":"no\\nway, and this is a message of some length","len":4,"task":"five",' out ||
    fail "not in form: $(cat out)"
printf 'a\0b' >nul
"$MUSTER" enqueue bytes --whole <nul >enqueued
"$MUSTER" fail "$("$MUSTER" take --lease 1h bytes --json | sed 's/^{"process":"\([^"]*\)".*/\1/')" --message $'\xff' >failed
ok failed bytes --json
grep -qE '"group":"failed","message_base64":"/w==","len":3,"task_base64":"YQBi",' out || fail "not base64: $(cat out)"
ok failed bytes
grep -qE 'failed +\\xff +- +- +3  a\\x00b$' out || fail "not escaped: $(cat out)"
printf '%s\n' {1..250} | "$MUSTER" enqueue pages >enqueued
"$MUSTER" take pages -n 1000 | cut -f 1 | xargs "$MUSTER" fail >failed
check_tasks pages "$(seq 250 -1 1 | paste -sd' ')"
ok failed pages --json -n 120 --offset 110
[[ $(tasks) == "$(seq 140 -1 21 | paste -sd' ')" ]] || fail "a page: $(tasks)"

# ---- 3
ok replay q --group odd1
check_out 'q: 2 replayed'
check_waiting q $'task1\ntask3'
ok drop q -n 1 --group odd0
check_out 'q: 1 dropped'
check_tasks q 'five task4'
check_exit 3 "$MUSTER" drop q --group nobody --json
check_out ''
ok replay q -n 1 --json
check_out '{"queue":"q","replayed":1}'
check_waiting q $'task1\ntask3\ntask4'
ok drop q --all
check_out 'q: 1 dropped'
check_redis 0 EXISTS muster:failed:q muster:failures:q
ok replay q --all
check_out 'q: 0 replayed'
ok replay pages -n 240
check_out 'pages: 240 replayed'
check_waiting pages "$(seq 240)"
check_tasks pages '250 249 248 247 246 245 244 243 242 241'
ok drop pages --all
check_out 'pages: 10 dropped'
ok replay bytes --all
check_exit 0 "$MUSTER" peek bytes
{ cat nul && echo; } | cmp - out

# ---- 4
for n in 1 2 3; do
    fail_task r g $n
done
mapfile -t ids < <(entries r)
ok replay r "${ids[0]}"
check_out 'r: 1 replayed'
check_exit 3 "$MUSTER" replay r "${ids[2]}" "${ids[0]}" "${ids[1]}"
check_out 'r: 2 replayed'
check_err "${ids[0]}"
check_waiting r $'3\n1\n2'
check_exit 3 "$MUSTER" drop r "${ids[0]}" nonsense --json
check_out ''
(($(wc -l <err) == 2)) || fail "not a line for each: $(cat err)"
fail_task s g 1
check_exit 3 "$MUSTER" drop r "$(entries s)"
check_tasks s 1
ok drop s "$(entries s)" --json
check_out '{"queue":"s","dropped":1}'

# ---- 5
for verb in replay drop; do
    check_usage $verb q
    check_err 'ENTRY, --group, -n or --all is missing'
    for choice in 'entry --all' 'entry -n 1' 'entry --group g' '--all -n 1' '--all --group g'; do
        # shellcheck disable=SC2086
        check_usage $verb q $choice
        check_err 'exclude each other'
    done
done
check_usage failed q g --groups
check_usage failed q --group g --groups
check_err 'a GROUP is given'
check_usage failed q g --group g
check_err 'GROUP is given twice'
check_usage failed --group g
check_err 'QUEUE, which is missing'
check_usage failed -n 1
check_usage failed --offset 1
check_usage failed q --groups -n 1
check_usage failed q ''
check_err "GROUP '': a group has"

# ---- 6
fail_task t g again
start worker "$MUSTER" work t --print --id w
wait_for redis_is 1 ZCARD muster:idle:t
ok replay t --all
wait_for grep -qx again worker.out
end worker TERM 0

# ---- 7
fail_task wrong g 1
redis RENAME muster:failed:wrong aside >said
redis SET muster:failed:wrong text >said
for verb in replay drop; do
    check_exit 1 "$MUSTER" $verb wrong --all
    check_out ''
    check_redis text GET muster:failed:wrong
done
redis RENAME aside muster:failed:wrong >said
redis DEL muster:queues:wrong >said
redis SET muster:queues:wrong text >said
check_exit 1 "$MUSTER" replay wrong --all
check_err 'muster:queues:wrong'
check_tasks wrong 1
