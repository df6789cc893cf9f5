#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# muster put, and enqueue --unique. Proves:
#  1. put prints the id, a new one or the given one; the data is the operand or all of standard input, any bytes
#  2. each option is in the job's record
#  3. the id of a job that is alive is refused, with its state; --replace changes it and moves it, and keeps what is not
#     given; complete and failed jobs may be put again
#  4. jobs come out by priority, those below 0 before tasks and those above 0 after them; peek shows them so
#  5. delayed jobs are scheduled; jobs that wait for others depend, and become ready when these are complete
#  6. a recurring job makes jobs
#  7. wrong options and backoffs: status 2, and nothing is sent; refusals of Redis: status 1 or 2 and one line
#  8. enqueue --unique: only one of equal tasks while it is alive; status 4 if there was one; --json has the ids
#  9. a unique task fails once, as a task, and is shown, replayed and cancelled as one
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC2154 # tmp is lib.sh's
cd "$tmp"
start_redis

ok() { check_exit 0 "$MUSTER" "$@"; }
put() { ok put "$@"; }
# has ID PATTERN...: each must be in the JSON of its record
has() {
    local pattern
    ok job "$1" --json
    for pattern in "${@:2}"; do
        grep -qE -- "$pattern" out || fail "$1 lacks $pattern: $(cat out)"
    done
}
# taken QUEUE N: takes N and finishes them; prints their data in order
taken() {
    "$MUSTER" take "$1" -n "$2" >taken
    cut -f 1 taken | xargs -r "$MUSTER" finish >finished
    cut -f 2- taken | paste -sd' '
}
check_taken() {
    local got
    got=$(taken "$1" "$2")
    [[ $got == "$3" ]] || fail "$1 gave '$got', not '$3'"
}

# ---- 1
put mail 'the data'
id=$(cat out)
[[ $id =~ ^[0-9a-f]{32}$ ]] || fail "no id: $id"
has "$id" '"queue":"mail"' '"state":"waiting"' '"data":"the data"' '"priority":0' '"retries":5'
put mail --id 'odd id: ü' x
check_out 'odd id: ü'
put mail --id j1 x --json
check_out '{"id":"j1","queue":"mail"}'
printf 'a\0b\n' | put mail --id nul
has nul '"data_base64":"YQBiCg=="'
ok job nul --data
printf 'a\0b\n' | cmp - out
put mail --id empty </dev/null
has empty '"len":0,"data":""'
put mail --id words -- -dashed-
has words '"data":"-dashed-"'
ok take mail -n 10
(($(grep -c ':mail' out) == 6)) || fail "not 6 jobs: $(cat out)"

# ---- 2
put opt data --id full --priority -7 --retries 3 --backoff 10s..1h,jitter=20% --limit 5m --tag t1 --tag 'tag two' --track \
    --after never --may-be-missing --delay 1h
has full '"priority":-7' '"retries":3' '"limit_ms":300000' '"tags":\["t1","tag two"\]' '"tracked":true' \
    '"backoff":"10s..1h,jitter=20%"' '"backoff_ms":10000,"backoff_max_ms":3600000,"backoff_exponential":true' \
    '"backoff_jitter_percent":20' '"state":"scheduled"'
put opt data --id none --retries 0 --priority 0 --backoff 0s
has none '"retries":0' '"priority":0' '"backoff_ms":0'
put opt data --id default
has default '"backoff":"1s..1h,jitter=20%"'
for backoff in 10s 10s..1h 10s.. 1ms,jitter=100% 2s..,jitter=1%; do
    put opt x --id "b $backoff" --backoff "$backoff"
    has "b $backoff" "\"backoff\":\"$backoff\""
done

# ---- 3
put again x --id a1 --tag keep --retries 9
check_exit 4 "$MUSTER" put again y --id a1
check_err 'a1'
check_err 'waiting'
check_out ''
put moved y --id a1 --replace --priority 4
has a1 '"queue":"moved"' '"data":"y"' '"priority":4' '"retries":9' '"tags":\["keep"\]' '"state":"waiting"'
put moved y --id a1 --replace --priority 0 --retries 0
has a1 '"priority":0' '"retries":0'
put moved y --id a2 --delay 1h --limit 1m
put moved y --id a2 --replace --limit 0s
has a2 '"state":"scheduled"' '"limit_ms":null'
put moved y --id a2 --replace --delay 0s --priority 1
has a2 '"state":"waiting"' '"due_at_ms":null'
# Without data it keeps what it has; so there must be a job that has some.
put moved --id a2 --replace --priority 2 </dev/null
has a2 '"data":"y"' '"priority":2'
printf new | put moved --id a2 --replace
has a2 '"data":"new"' '"priority":2'
put moved '' --id a2 --replace
has a2 '"data":""'
put moved y --id a2 --replace
check_exit 3 "$MUSTER" put moved --id a3 --replace --delay 1h </dev/null
check_err "no job 'a3' whose data could stay"
put moved '' --id a3 --replace --delay 1h
has a3 '"data":""' '"state":"scheduled"'
check_taken moved 2 'y y'
has a1 '"state":"complete"'
put again z --id a1
has a1 '"state":"waiting"' '"data":"z"' '"tags":\[\]'
"$MUSTER" fail "$("$MUSTER" take --lease 1h again | cut -f 1)" >said
has a1 '"state":"failed"' '"group":"failed"'
put again z --id a1
has a1 '"state":"waiting"'
"$MUSTER" take again >taken
check_exit 4 "$MUSTER" put again z --id a1
check_err 'running'
put again late --id a1 --replace
has a1 '"state":"waiting"' '"data":"late"'
check_exit 1 "$MUSTER" finish "$(cut -f 1 taken)"
check_taken again 2 late

# ---- 4
put order p5 --priority 5
put order p-1 --priority -1
"$MUSTER" enqueue order t1 t2 >said
put order p-2 --priority -2
put order p-1b --priority -1
put order p5b --priority 5
ok peek order
check_out $'p-2\np-1\np-1b\nt1\nt2\np5\np5b'
ok peek order -n 4 --offset 2
check_out $'p-1b\nt1\nt2\np5'
ok peek order -n 1 --offset 4 --json
check_out '{"position":4,"len":2,"task":"t2"}'
ok peek order -n 1 --offset 6 --json
grep -qE '^\{"position":6,"job":"[0-9a-f]{32}","len":3,"task":"p5b"\}$' out || fail "no job: $(cat out)"
ok peek order --offset 7
check_out ''
check_taken order 10 'p-2 p-1 p-1b t1 t2 p5 p5b'

# ---- 5
put later x --id s1 --delay 1h
has s1 '"state":"scheduled"'
now=$(date +%s%3N)
due=$(sed 's/.*"due_at_ms":\([0-9]*\).*/\1/' out)
((due > now + 3500000 && due < now + 3700000)) || fail "due at $due, now it is $now"
check_exit 3 "$MUSTER" take later
put later first --id d1
check_exit 3 "$MUSTER" put later second --id d2 --after d1 --after unknown
check_err "there is no job 'unknown' for the job 'd2' to wait for: put that one first, or say that it may be missing"
check_exit 2 "$MUSTER" put later second --id d2 --may-be-missing
check_err '--may-be-missing is for the jobs of --after'
put later second --id d2 --after d1 --after unknown --may-be-missing
[[ ! -s err ]] || fail "it says: $(cat err)"
has d2 '"state":"depends"' '"after":\["d1"\]'
has d1 '"before":\["d2"\]'
put later third --id d3 --after d2 --after d1
check_taken later 5 first
check_taken later 5 second
check_taken later 5 third
put later soon --id s2 --delay 1ms
ok take later --wait 10s
"$MUSTER" finish "$(cut -f 1 out)" >said

# ---- 6
put clock tick --id r --every 1h --backlog 2 --tag c
has r '"state":"recurring"' '"every_ms":3600000,.*"overlap":"allow","queued":false,"backlog":2'
take_is_done() { "$MUSTER" take clock >taken; }
wait_for take_is_done
has r '"made":1'
has r-1 '"queue":"clock"' '"data":"tick"' '"tags":\["c"\]'
put clock tick --id r2 --every 1h --offset 30m --backlog 3
has r2 '"state":"recurring"' '"made":0'
put clock tick --id r2 --replace --backlog 0
has r2 '"state":"recurring"' '"backlog":0' '"made":0'
check_exit 2 "$MUSTER" put clock tick --id r2 --replace --after r-1
check_err "'r2' recurs"
put clock tick --id r2 --replace --offset 0s
wait_for "$MUSTER" take clock
has r2 '"made":1'
ok finish "$(cut -f 1 taken)"
has r-1 '"state":"complete"'

# ---- 7
for backoff in '' 10 s 10s...1h 10s..5s 10s..0s 10s..1h.. 10s,jitter=20 10s,jitter=101% 10s,jitter=-1% '10s ' \
    10s..1h,jitter ,jitter=1% 9999999d; do
    check_usage put q x --backoff "$backoff"
    check_err '--backoff: it must be 10s'
done
long=$(printf 'q%.0s' {1..201})
for id in '' "$long" $'a\nb'; do
    check_usage put q x --id "$id"
    check_usage put q x --after "$id"
    check_usage put q x --tag "$id"
    check_usage job "$id"
done
for number in '' x 1x --1 - ' 1' +1 1.5 99999999999999999999; do
    check_usage put q x --priority "$number"
    check_err 'is not a number'
done
check_usage put q x --priority 1000000001
check_usage put q x --retries -1
check_usage put q x --retries 1000001
check_usage put q x --delay 1
check_usage put q x --delay 3661d
check_usage put q x --every 999ms
check_usage put q x --backlog 1
check_usage put q x --offset 1s
check_usage put q x --every 1h --delay 1s
check_usage put q x --every 1h --after a
check_usage put q x --id a --replace --offset 1s --delay 1s
check_usage put q x --id a --replace --backlog 1 --after b
check_usage put q x --replace
check_redis 0 EXISTS muster:waiting:q
check_exit 1 "$MUSTER" put q <&-
check_err 'cannot read standard input'
{ head -c $((64 * 1024 * 1024)) /dev/zero && echo; } | check_exit 1 "$MUSTER" put q
check_err 'longer than 64 MiB'
check_exit 2 "$MUSTER" put q x --id self --after self
check_err 'self'
put q x --id c1
put q x --id c2 --after c1
check_exit 2 "$MUSTER" put q x --id c1 --after c2 --replace
has c1 '"state":"waiting"' '"after":\[\]'
many=()
for n in {1..101}; do many+=(--tag "t$n"); done
check_exit 1 "$MUSTER" put q x "${many[@]}"
check_err '101 tags are over the limit of 100; nothing was sent'
! grep -q 'make its place' err || fail "advice for data that are too long: $(cat err)"
redis SET muster:job:wrong text >said
check_exit 1 "$MUSTER" put q x --id wrong
check_err 'muster:job:wrong'
check_redis text GET muster:job:wrong
redis DEL muster:job:wrong >said

# ---- 8
ok enqueue once --unique a b
check_out '2 enqueued, 0 there already'
check_exit 4 "$MUSTER" enqueue once --unique b c
check_out '1 enqueued, 1 there already'
check_err '1 task'
printf 'a\nd\n' | check_exit 4 "$MUSTER" enqueue once --unique --json
id() { printf '%s:%s%s' "${#1}" "$1" "$2" | sha1sum | cut -d' ' -f1; }
check_out "{\"queue\":\"once\",\"enqueued\":1,\"existed\":1,\"ids\":[\"$(id once a)\",\"$(id once d)\"]}"
ok job "$(id once d)" --json
grep -q '"unique":true' out || fail "the record does not say that the task is unique: $(cat out)"
ok enqueue once a
check_out '1 enqueued, 5 waiting'
ok enqueue other --unique a
[[ $(taken once 10 | tr ' ' '\n' | sort | paste -sd' ') == 'a a b c d' ]] || fail "once gave $(cat taken)"
ok enqueue once --unique a
check_taken once 5 a
for clash in --front '--request r'; do
    # shellcheck disable=SC2086
    check_usage enqueue q --unique x $clash
    check_err '--unique excludes'
done

# ---- 9
ok enqueue flaky --unique x
# shellcheck disable=SC2016
ok work flaky --burst -- sh -c 'echo "job ${MUSTER_JOB-none}" >>runs; exit 3'
[[ $(cat runs) == 'job none' ]] || fail "a failing command ran so: $(cat runs)"
ok failed flaky --json
grep -q '"group":"exit-3".*"task":"x"' out || fail "failed: $(cat out)"
! grep -q '"job"' out || fail "failed shows a job: $(cat out)"
ok replay flaky --all
check_exit 4 "$MUSTER" enqueue flaky --unique x
ok peek flaky --json
check_out '{"position":0,"len":1,"task":"x"}'
ok cancel flaky x
check_out 'x: 1 removed, 0 running told to stop'
ok stats --queue flaky --json
! grep -q '"put":[1-9]' out || fail "the statistics of jobs count it: $(cat out)"
check_clean
