#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# put --cron and the other options of recurring jobs. Proves:
#  1. a schedule, its zone, bounds and overlap are in the record, as text and as JSON, with the next times
#  2. change alters schedule, zone and overlap; its refusals name the reason
#  3. a job says by which recurring job it was made
#  4. lines of JSON have the options, too
#  5. a schedule or zone that is none, and options that exclude each other, are refused in words
#  6. a worker that lacks a zone says so, and goes on with all else
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC2154 # tmp is lib.sh's
cd "$tmp"
start_redis

ok() { check_exit 0 "$MUSTER" "$@"; }
# has ID PART...: each must be in the JSON of its record
has() {
    local part
    ok job "$1" --json
    for part in "${@:2}"; do
        grep -qF -- "$part" out || fail "$1 lacks $part: $(cat out)"
    done
}
# next_of ID: its next time, as a date in UTC
next_of() { TZ=UTC0 date -d "@$(($(redis HGET "muster:job:$1" due) / 1000))" '+%m-%d %H:%M'; }

# ---- 1
ok put q x --id year --cron '30 2 24 dec *' --zone Asia/Tokyo --until 2090-01-01T00:00Z --count 7 --overlap skip --backlog 2
has year '"cron":"30 2 24 dec *","zone":"Asia/Tokyo"' '"until":"2090-01-01T00:00:00.000Z"' '"count":7,' \
    '"overlap":"skip","queued":false,"backlog":2,"made":0' '"ticks":[{"at_ms":'
[[ $(next_of year) == '12-23 17:30' ]] || fail "the next time is $(next_of year)"
ok job year
grep -qE '^cron +30 2 24 dec \*$' out || fail "no schedule: $(cat out)"
(($(grep -cE '^  20[0-9-]+-12-23T17:30' out) == 5)) || fail "not the next five times: $(cat out)"
ok put q x --id late --cron @monthly --from 2089-05-05T00:00Z
has late '"due_at":"2089-06-01T00:00:00.000Z"' '"zone":"UTC"'
ok put q x --id every --every 1d --from 2089-05-05T00:00Z --overlap queue
has every '"due_at":"2089-05-05T00:00:00.000Z"' '"overlap":"queue"' '"ticks":[]'

# ---- 2
ok change year --zone UTC
[[ $(next_of year) == '12-24 02:30' ]] || fail "the next time is $(next_of year)"
ok change year --cron '0 6 1 3 *' --overlap allow
[[ $(next_of year) == '03-01 06:00' ]] || fail "the next time is $(next_of year)"
has year '"cron":"0 6 1 3 *","zone":"UTC"' '"overlap":"allow"'
ok change every --overlap allow
has every '"overlap":"allow"' '"due_at":"2089-05-05T00:00:00.000Z"'
check_exit 1 "$MUSTER" change every --cron @daily
check_err 'does not recur by a schedule'
check_exit 3 "$MUSTER" change nobody --zone UTC
check_exit 1 "$MUSTER" change year --every 1d
check_err 'is recurring'
ok put q x --id plain
check_exit 1 "$MUSTER" change plain --overlap skip

# ---- 3
ok put made x --id r --every 1h --count 1
ok take made
has r-1 '"made_by":"r"'
has r '"state":"complete"'

# ---- 4
echo '{"id": "line", "data": "x", "cron": "@daily", "zone": "Europe/Berlin", "overlap": "queue"}' | ok put q --json-lines
has line '"cron":"@daily","zone":"Europe/Berlin"' '"overlap":"queue"'

# ---- 5
for bad in "'61 * * * *'|minute" "'* * * *'|five fields" "'0 0 31 2 *'|no month has this one" '@reboot|nickname' "''|five fields"; do
    eval "check_usage put q x --cron ${bad%|*}"
    check_err "${bad#*|}"
done
check_usage put q x --cron @daily --zone Europe/Berlim
check_err "no time zone 'Europe/Berlim'"
check_usage change year --zone ../UTC
check_usage put q x --zone UTC
check_err '--cron is missing'
check_usage put q x --cron @daily --overlap maybe
check_err 'allow, skip or queue'
for clash in '--every 1h' '--offset 1h' '--delay 1h' '--at 2089-01-01T00:00Z' '--after year' --wait; do
    # shellcheck disable=SC2086
    check_usage put q x --cron @daily $clash
done
for alone in '--from 2089-01-01T00:00Z' '--until 2089-01-01T00:00Z' '--count 2' '--overlap skip'; do
    # shellcheck disable=SC2086
    check_usage put q x $alone
    check_err '--cron or --every is missing'
done
check_exit 2 "$MUSTER" put q x --cron @daily --until 2020-01-01T00:00Z
check_err 'no time up to its last one'

# ---- 6
redis HSET muster:job:late zone No/Where >said
redis ZADD muster:crons 1 late >said
redis ZADD muster:due 1 '' >said
ok put work x --id soon --delay 100ms
start worker "$MUSTER" work work -- true
wait_for says worker "cannot tell when the job 'late' recurs next: there is no time zone 'No/Where'"
done_soon() { "$MUSTER" job soon --json | grep -qF '"state":"complete"'; }
wait_for done_soon
end worker TERM 0
redis HSET muster:job:late zone UTC >said
check_clean
