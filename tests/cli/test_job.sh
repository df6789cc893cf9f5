#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# muster job, and what other verbs do with jobs. Proves:
#  1. the record as text and as JSON, with its history; data and result alone, byte by byte
#  2. a job that does not exist: status 3, and the others are shown
#  3. take, ps, failed and queues show a job's id; work takes jobs
#  4. finish stores a result, and moves a job, but not a task, on --to a queue
#  5. retry without --delay goes by the job's backoff, and the last one fails; give-back; replay begins again; drop
#     removes
#  6. extend --data gives the next taker new data
#  7. cancel --job: jobs that wait, that run, and that others wait for
#  8. of many jobs that wait for one the first are shown, and how many there are
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC2154 # tmp is lib.sh's
cd "$tmp"
start_redis

ok() { check_exit 0 "$MUSTER" "$@"; }
put() { "$MUSTER" put "$@" >said; }
# take QUEUE: the process id is then in $process
take() {
    ok take "$1" --lease 5m
    process=$(head -n 1 out | cut -f 1)
}
# has ID PATTERN...: each must be in the JSON of its record
has() {
    local pattern
    ok job "$1" --json
    for pattern in "${@:2}"; do
        grep -qE -- "$pattern" out || fail "$1 lacks $pattern: $(cat out)"
    done
}
# history ID: the events of its history
history() { "$MUSTER" job "$1" --json | grep -o '"what":"[^"]*"' | cut -d'"' -f 4 | paste -sd' '; }
state() { "$MUSTER" job "$1" --json | sed 's/.*"state":"\([^"]*\)".*/\1/'; }
state_is() { [[ $(state "$1") == "$2" ]]; }
check_state() { state_is "$@" || fail "$1 is $(state "$1"), not $2"; }

# ---- 1
put q $'two\nlines' --id one --tag t --after zero --may-be-missing --limit 2m --track
ok job one
sed -E 's/[0-9-]{10}T[0-9:.]{12}Z/TIME/; s/  +/ /' out >shown
diff shown - <<'TEXT'
id one
queue q
state waiting
priority 0
retries 5
retried 0
crashes 0
tracked yes
put TIME
since TIME
limit 2m
backoff 1s..1h,jitter=20%
tags t
data two\nlines
parents zero
history
 TIME  put
TEXT
has one '^\{"id":"one","queue":"q","state":"waiting","priority":0,"retries":5,"retried":0,"crashes":0,"tracked":true,' \
    '"cancelled":false,"put_at_ms":[0-9]+,"since_ms":[0-9]+,"due_at_ms":null,"limit_ms":120000,"every_ms":null,' \
    '"tags":\["t"\],"result_len":null,"len":9,"data":"two\\nlines","after":\[\],"after_end":\[\],"after_failure":\[\],"before":\[\],"before_count":0,"parents":\["zero"\],"ticks":\[\],"history":\[\{"at_ms":[0-9]+,"what":"put","text":' \
    '\],"put_at":"20[^"]*Z","since":"20[^"]*Z","due_at":null,"from":null,"until":null\}$'
now=$(date +%s%3N)
at=$(sed 's/.*"put_at_ms":\([0-9]*\).*/\1/' out)
((at > now - 60000 && at <= now + 1000)) || fail "put at $at, now it is $now"
take q
has one '"state":"running"' '"worker":"\.lease"' "\"process\":\"$process\""
printf '\0\xff' >result
ok finish "$process" --result 'a result'
has one '"state":"complete"' '"result":"a result"'
ok job one --result
[[ $(cat out) == 'a result' && $(wc -c <out) == 8 ]] || fail "the result: $(cat out)"
[[ $(history one) == 'put taken completed' ]] || fail "one's history: $(history one)"
ok job one --data
[[ $(wc -c <out) == 9 ]] || fail "the data: $(cat out)"
put q x --id two
take q
ok finish "$process"
has two '"state":"complete"'
! grep -q '"result":"' out || fail "two has a result: $(cat out)"

# ---- 2
check_exit 3 "$MUSTER" job nobody
check_err 'nobody'
check_exit 3 "$MUSTER" job one nobody two --json
(($(wc -l <out) == 2)) || fail "not two: $(cat out)"
check_err 'nobody'
check_usage job
check_usage job one --data --json
check_usage job one --data --result
check_usage job ''

# ---- 3
put seen data --id s
ok queues --json
grep -qE '"queue":"seen","waiting":1,' out || fail "it does not count: $(cat out)"
ok take seen --json
grep -qE '"progress":"","job":"s","len":4,"task":"data",' out || fail "no job: $(cat out)"
process=$(sed 's/^{"process":"\([^"]*\)".*/\1/' out)
ok ps --queue seen
grep -qE '  s +- +4  data$' out || fail "no job: $(cat out)"
ok ps --queue seen --json
grep -qF '"job":"s","len":4,"task":"data"' out || fail "no job: $(cat out)"
ok fail "$process" --group g --message why
has s '"state":"failed"' '"group":"g","message":"why"'
ok failed seen --json
grep -qF '"group":"g","message":"why","job":"s","len":4,"task":"data"' out || fail "no job: $(cat out)"
ok failed seen
grep -qE 'why +s +- +4  data$' out || fail "no job: $(cat out)"

# ---- 4
put here data --id m
take here
ok finish "$process" --to there --result part
has m '"queue":"there","state":"waiting"'
put there x --id other
take there
ok finish "$process" --to here --delay 1h
has m '"queue":"here","state":"scheduled"'
take there
"$MUSTER" put here x --id first --delay 1h >said
ok finish "$process" --to here --after first
has other '"queue":"here","state":"depends"' '"after":\["first"\]'
"$MUSTER" enqueue here task >said
take here
check_exit 1 "$MUSTER" finish "$process" --to there
ok finish "$process"
check_usage finish "$process" --delay 1s
check_err '--delay and --after are for'
check_usage finish "$process" --to $'a\nb'

# ---- 5
put retry data --id r --retries 2 --backoff 1h
take retry
ok retry "$process"
has r '"state":"scheduled"' '"retried":1'
put retry data --id r --replace --backoff 0s --delay 1ms
ok take retry --wait 10s
process=$(cut -f 1 out)
ok retry "$process"
take retry
ok give-back "$process"
has r '"state":"waiting"' '"retried":1'
take retry
ok retry "$process" --delay 1ms
has r '"retried":2'
ok take retry --wait 10s
check_exit 1 "$MUSTER" retry "$(cut -f 1 out)"
check_err 'has had all its retries: it has failed for good'
has r '"state":"failed"' '"group":"failed-retries"' '"message":"all 2 retries are used up"'
ok replay retry --group failed-retries
check_out 'retry: 1 replayed'
has r '"state":"waiting"' '"retried":0'
take retry
ok fail "$process"
ok drop retry --all
check_out 'retry: 1 dropped'
check_exit 3 "$MUSTER" job r
# The group of a failure is the cause; that the retries are used up stands in message and history.
put cause data --id s --retries 1 --backoff 0s
take cause
ok retry "$process" --group exit-4 --message 'line 1'
has s '"state":"waiting"' '"retried":1' '"group":"exit-4"' '"message":"line 1"'
take cause
check_exit 1 "$MUSTER" retry "$process"
has s '"state":"failed"' '"group":"exit-4"' '"message":"line 1 \(its one retry is used up\)"' '"what":"exhausted","text":"1"'
ok jobs --queue cause --group exit-4 --json
grep -qF '"id":"s"' out || fail "not in the group exit-4: $(cat out)"
ok replay cause --group exit-4
check_out 'cause: 1 replayed'
take cause
ok retry "$process" --message 'no group'
has s '"group":"retried"' '"message":"no group"'
take cause
ok finish "$process"
"$MUSTER" enqueue cause task >said
take cause
for option in --group --message; do
    check_exit 1 "$MUSTER" retry "$process" $option exit-4
    check_err 'a plain task'
done
ok retry "$process"

# ---- 6
put ext old --id e
take ext
ok extend "$process" --data 'new data'
ok give-back "$process"
ok take ext
[[ $(cut -f 2 out) == 'new data' ]] || fail "it came with: $(cat out)"
ok finish "$(cut -f 1 out)"
"$MUSTER" enqueue ext task >said
take ext
check_exit 1 "$MUSTER" extend "$process" --data x
check_usage extend "$process"
check_err '--data is missing'

# ---- 7
put c x --id c1
put c x --id c2 --after c1
put c x --id c3 --after c2
check_exit 1 "$MUSTER" cancel --job c1
check_err 'c2'
check_state c1 waiting
check_exit 3 "$MUSTER" cancel --job c3 unknown
check_out '1 removed, 0 running told to stop'
ok cancel --job c1 --dependents --json
check_out '{"removed":2,"running":0}'
check_exit 3 "$MUSTER" cancel --job c1 c2
check_out '0 removed, 0 running told to stop'
check_err 'none of these jobs'
put c x --id c4
take c
ok cancel --job c4
check_exit 1 "$MUSTER" extend "$process" --lease 1m
check_exit 1 "$MUSTER" give-back "$process"
check_exit 3 "$MUSTER" job c4
put c x --id c5 --every 1h --offset 1h
ok cancel --job c5
check_exit 3 "$MUSTER" job c5
check_usage cancel --job
check_usage cancel --job ''
check_usage cancel --job a --process
check_usage job a --parents --head
check_usage cancel q task --dependents

# ---- 3: a worker
put work 'exit 0' --id w1
put work 'exit 3' --id w2 --retries 0
start worker "$MUSTER" work work --id w -- sh
wait_for state_is w1 complete
wait_for state_is w2 failed
has w2 '"group":"exit-3","message":"sh ended with exit status 3"'
# shellcheck disable=SC2016 # the worker's shell expands them
put work 'echo "$MUSTER_JOB, attempt $MUSTER_ATTEMPT"; exit 4' --id w3 --retries 1
wait_for state_is w3 failed
[[ $(cat worker.out) == $'w3, attempt 1\nw3, attempt 2' ]] || fail "it printed: $(cat worker.out)"
end worker TERM 0
put print 'the data' --id w4
"$MUSTER" enqueue print task >said
ok work print --print --burst --json
sed 's/^{"process":"[^"]*"/{/' out | sort >shown
diff shown - <<'JSON'
{,"queue":"print","job":"w4","task":"the data"}
{,"queue":"print","task":"task"}
JSON
check_state w4 complete

# ---- 8
put first data --id awaited
printf 'x\n%.0s' {1..301} | "$MUSTER" put first --lines --after awaited >said
ok job awaited --json
grep -q '"before_count":301,' out || fail "the record does not say how many wait: $(cat out)"
[[ $(grep -o '"before":\[[^]]*\]' out | tr ',' '\n' | wc -l) == 300 ]] || fail "not 300 are shown: $(cat out)"
ok job awaited
check_err "301 jobs wait for the job 'awaited': only 300 of them are shown"
check_clean
