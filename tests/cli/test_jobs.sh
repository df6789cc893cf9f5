#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# muster jobs and muster change. Proves:
#  1. counts per state, of all queues or one; without any job: the headings as text
#  2. the jobs of a state, tag, group of failures, or tracked, in their order, with -n and --offset; the tags by use
#  3. change: priority, tags, the jobs it waits for, queue, tracking, a line of history, interval, data; several ids
#  4. a change that the state does not allow is refused as a whole: status 1; no such job: status 3; a circle: status 2
#  5. wrong use: status 2
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC2154 # tmp is lib.sh's
cd "$tmp"
start_redis

ok() { check_exit 0 "$MUSTER" "$@"; }
put() { "$MUSTER" put "$@" >said; }
has() {
    local pattern
    ok job "$1" --json
    for pattern in "${@:2}"; do
        grep -qE -- "$pattern" out || fail "$1 lacks $pattern: $(cat out)"
    done
}
# check_ids IDS OPTION...: these must be listed
check_ids() {
    ok jobs "${@:2}" --json
    local got
    got=$(sed 's/^{"id":"\([^"]*\)".*/\1/' out | paste -sd' ')
    [[ $got == "$1" ]] || fail "jobs ${*:2} are '$got', not '$1'"
}

# ---- 1
ok jobs
check_out 'QUEUE  SCHEDULED  DEPENDS  WAITING  RUNNING  FAILED  COMPLETE  RECURRING  HELD'
check_exit 3 "$MUSTER" jobs --queue q --json
check_out ''
"$MUSTER" config --queue q max_running=9 >said
ok jobs --queue q --json
check_out '{"queue":"q","scheduled":0,"depends":0,"waiting":0,"running":0,"failed":0,"complete":0,"recurring":0,"held":0}'
put q a --id w1 --tag t
put q b --id w2 --priority -1 --tag t --tag u
put q c --id s1 --delay 2h --tag t
put q d --id s2 --delay 1h
put q e --id d1 --after s1 --track
put q f --id r1 --every 1h --offset 1h
put f g --id f1
"$MUSTER" fail "$("$MUSTER" take --lease 1h f | cut -f 1)" --group g1 >said
put f h --id f2
"$MUSTER" fail "$("$MUSTER" take --lease 1h f | cut -f 1)" --group g2 >said
put f i --id c1 --tag u
"$MUSTER" finish "$("$MUSTER" take --lease 1h f | cut -f 1)" >said
put f j --id run
"$MUSTER" take f >said
ok jobs
check_out 'QUEUE  SCHEDULED  DEPENDS  WAITING  RUNNING  FAILED  COMPLETE  RECURRING  HELD
q              2        1        2        0       0         0          1     0
f              0        0        0        1       2         1          0     0'
ok jobs --queue f --json
check_out '{"queue":"f","scheduled":0,"depends":0,"waiting":0,"running":1,"failed":2,"complete":1,"recurring":0,"held":0}'

# ---- 2
check_ids 'w2 w1' --queue q --state waiting
check_ids 's2 s1' --queue q --state scheduled
check_ids 'd1' --queue q --state depends
check_ids 'r1' --queue q --state recurring
check_ids 'run' --queue f --state running
check_ids 'f2 f1' --queue f --state failed
check_ids 'c1' --queue f --state complete
check_ids 'f1' --queue f --group g1
check_ids '' --queue f --group nobody
check_ids 'w1 w2 s1' --tag t
check_ids 'w1 w2' --tag t --state waiting
check_ids 'w2 c1' --tag u
check_ids 'c1' --tag u --queue f
check_ids 'w2' --tag t --tag u
check_ids 'w2' --tag u --tag t -n 1
check_ids '' --tag t --tag u --offset 1
check_ids '' --tag t --tag nothing
check_ids 'd1' --tracked
check_ids 'w1' --queue q --state waiting --offset 1
check_ids 'w2' --queue q --state waiting -n 1
check_ids 'w2' --tag t -n 1 --offset 1
ok jobs --queue q --state scheduled -n 1
sed -E 's/now|(in )?[0-9]+ (s|min|h)( ago)?/TIME/g; s/  +/  /g' out >shown
diff shown - <<'TABLE'
ID  QUEUE  STATE  PRIORITY  RETRIED  SINCE  DUE  BLOCKED  TAGS  LEN  DATA
s2  q  scheduled  0  0  TIME  TIME  1  d
TABLE
ok jobs --tags
check_out 'TAG  JOBS
t       3
u       2'
ok jobs --tags -n 1 --offset 1 --json
check_out '{"tag":"u","jobs":2}'
seq 300 | xargs -I{} "$MUSTER" put many data --id 'm{}' >said
check_ids "$(seq -f 'm%.0f' 300 | paste -sd' ')" --queue many --state waiting
check_ids "$(seq -f 'm%.0f' 121 260 | paste -sd' ')" --queue many --state waiting --offset 120 -n 140

# ---- 3
ok change w1 --priority -5 --tag +new --tag -t --track --log 'in a hurry' --data 'new data'
check_out 'w1: changed'
has w1 '"priority":-5' '"tags":\["new"\]' '"tracked":true' '"data":"new data"' '"what":"log","text":"in a hurry"'
check_ids 'w1 w2' --queue q --state waiting
ok change w1 --priority 0 --untrack --json
check_out '{"id":"w1","outcome":"changed"}'
has w1 '"priority":0' '"tracked":false' '"data":"new data"'
ok change w1 w2 --tag +both
check_ids 'w1 w2' --tag both
ok change w1 --queue elsewhere
has w1 '"queue":"elsewhere","state":"waiting"'
ok change w1 --data ''
has w1 '"data":""'
ok change r1 --every 2h
has r1 '"every_ms":7200000'
ok change d1 --after +s2
has d1 '"state":"depends"'
grep -qE '"after":\["s[12]","s[12]"\]' out || fail "not two: $(cat out)"
ok change d1 --after -s1
has d1 '"state":"depends"' '"after":\["s2"\]'
ok change d1 --after +s1 --after -all
has d1 '"after":\["s1"\]'
ok change d1 --after -all
has d1 '"state":"waiting"' '"after":\[\]'

ok change d1 --delay 1h --retries 9 --backoff 2s..1m,jitter=10% --limit 5s --if waiting
has d1 '"state":"scheduled"' '"retries":9' '"backoff":"2s..1m,jitter=10%"' '"limit_ms":5000'
check_exit 1 "$MUSTER" change d1 --now --if waiting --if failed
check_err 'is scheduled, and was to be changed only in another state'
ok change d1 --now --retries 0 --backoff 0s --limit 0s
has d1 '"state":"waiting"' '"retries":0' '"backoff_ms":0' '"limit_ms":null'

# ---- 4
check_exit 1 "$MUSTER" change run --delay 1s
check_err 'running'
check_usage change w1 --delay 1s --now
check_usage change w1 --if waiting
check_usage change w1 --now --if sleeping
check_exit 1 "$MUSTER" change run --queue q --priority 3
check_err 'running'
has run '"queue":"f"' '"priority":0'
check_exit 1 "$MUSTER" change w1 --after +s1
check_exit 1 "$MUSTER" change w1 --every 1h
check_exit 3 "$MUSTER" change nobody --priority 1
check_err 'nobody'
check_exit 3 "$MUSTER" change w1 nobody w2 --priority 1
check_out $'w1: changed\nw2: changed'
check_err 'nobody'
put q x --id x1 --after s1
put q x --id x2 --after x1
check_exit 2 "$MUSTER" change x1 --after +x2
has x1 '"after":\["s1"\]'

# ---- 5
check_usage change w1
check_err 'there is nothing to change'
check_usage change w1 --tag urgent
check_err '--tag urgent chooses jobs: +urgent adds the tag to the IDs, -urgent removes it'
check_usage change w1 --track --untrack
for value in t '' + - "+$(printf 'q%.0s' {1..201})"; do
    check_usage change w1 --tag "$value"
    check_usage change w1 --after "$value"
done
check_usage change '' --track
check_usage change w1 --queue ''
check_usage change w1 --priority x
check_usage change w1 --every 1ms
check_usage change w1 --log $'a\tb'
check_usage change w1 --log "$(printf 'q%.0s' {1..4097})"
check_usage jobs --queue q --state nowhere
check_err '--state: it must be one of'
check_usage jobs --queue q --group g --state waiting
check_usage jobs --queue q --group ''
check_usage jobs --tag ''
check_usage jobs --tags --queue q
check_usage jobs --queue q -n 1
check_usage jobs --queue ''
check_clean
