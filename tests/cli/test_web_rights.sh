#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# muster web as users with few rights, by the rules of examples/users.acl. Proves:
#  1. a viewer reads every page of the API; what the server says of itself, and events of jobs, are refused in words,
#     and the metrics have none of the server's figures, and say so
#  2. an operator reads and hears both, also as metrics; the server is asked for what it is once in five seconds, for all who view
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

start_redis
"$MUSTER" enqueue mail 'to ann' >"$tmp/out"
"$MUSTER" put print --id pack 'parcel' --tag order >"$tmp/out"
"$MUSTER" put print --id ship 'label' --after pack >"$tmp/out"
"$MUSTER" batch open trip --on-end after >"$tmp/out"
"$MUSTER" enqueue broken one >"$tmp/out"
"$MUSTER" fail "$("$MUSTER" take --lease 1h broken | cut -f 1)" --group why --message 'not so' >"$tmp/out"
start worker "$MUSTER" work mail --id w -- sleep 600
wait_for says worker 'takes tasks'
ask() { python3 "$(dirname "$0")/web_ask.py" "$port" GET "$@" </dev/null; }
is_told() { ask "$2" >"$tmp/answer" && grep -qF -- "$1" "$tmp/answer"; }
heard() { grep -qF -- "$1" "$tmp/live.out"; }
listens() { grep -q 'listens at' "$tmp/web.err"; }
# serve_as ROLE: muster web with the rights of this role, and somebody who views
serve_as() {
    local rule
    rule=$(sed -n "s/^user $1 on //p" "$MUSTER_SOURCE/examples/users.acl")
    # shellcheck disable=SC2086 # the rule is words
    redis ACL SETUSER "$1" on ">a-long-password" $rule >"$tmp/out"
    start web env MUSTER_URL="unix://$1:a-long-password@$socket" "$MUSTER" web --listen 127.0.0.1:0 --read-only
    wait_for listens
    port=$(grep -oE '[0-9]+/$' "$tmp/web.err" | tr -d /)
    start live python3 "$(dirname "$0")/web_ask.py" "$port" GET /api/live stream
}
leave() {
    kill "${pids[live]}"
    wait "${pids[live]}" || true
    unset 'pids[live]'
    end web TERM 0
} 2>/dev/null

# ---- 1
serve_as viewer
for path in queues queues/mail queues/mail/tasks workers processes failed 'failed?queue=broken' jobs 'jobs?tag=order' \
    'jobs?queue=print&state=depends' 'jobs?tags=1' jobs/ship batches batches/trip stats history session overview; do
    ask "/api/$path" >"$tmp/answer"
    grep -q '^200$' "$tmp/answer" || fail "a viewer who asks for $path: $(cat "$tmp/answer")"
done
wait_for is_told '"redis":{"error":"E_DENIED","message":"this user may not read' /api/overview
wait_for is_told '"engine":null' /api/session
is_told 'muster_redis_told 0' /metrics || fail "it is not said: $(cat "$tmp/answer")"
! grep -qE '^muster_redis_(memory|replicas)' "$tmp/answer" || fail "figures of a viewer: $(cat "$tmp/answer")"
wait_for heard '"heard":false,"error":"E_DENIED"'
heard 'a listener must write that it listens' || fail "not in words: $(cat "$tmp/live.out")"
# It is tried again, and not all the time: Redis logs each refusal.
refusals() { redis INFO commandstats | awk -F '[=,]' '/^cmdstat_subscribe:/ { n = $8 } END { print n + 0 }'; }
redis CONFIG RESETSTAT >"$tmp/out"
began=$SECONDS
is_tried_again() { (($(refusals) >= 2)); }
wait_for is_tried_again
n=$(refusals)
((n <= 3 * ((SECONDS - began) / 5 + 2))) || # a listener may be refused again before it is ended
    fail "it was tried $n times in $((SECONDS - began)) s"
# One who comes later is told at once.
start later python3 "$(dirname "$0")/web_ask.py" "$port" GET /api/live stream
is_told_later() { [[ $(grep -m 1 '^event: ' "$tmp/later.out") == 'event: hearing' ]]; }
wait_for is_told_later
kill "${pids[later]}"
wait "${pids[later]}" 2>/dev/null || true
unset 'pids[later]'
# Once he may listen, the next try is the last one, however many events come before it is ready.
start flood redis-cli -s "$socket" -r -1 EVAL "for _ = 1, 5 do redis.call('PUBLISH', KEYS[1], ARGV[1]) end" 1 muster:events $'put\t1\tprint\tx\t\t0\t'
n=$(refusals)
has_just_tried() { (($(refusals) > n)); }
wait_for has_just_tried
redis CONFIG RESETSTAT >"$tmp/out" # what is refused is counted apart
redis ACL SETUSER viewer +@all '~*' '&*' >"$tmp/out"
wait_for heard '"heard":true'
n=$(redis INFO commandstats | awk -F '[=,]' '/^cmdstat_subscribe:/ { print $2 }')
((n == 2)) || fail "a listener of two channels has subscribed $n times"
end flood TERM 143
leave

# ---- 2
serve_as operator
wait_for is_told '"redis":{"engine":"' /api/overview
is_told 'muster_redis_told 1' /metrics || fail "metrics: $(cat "$tmp/answer")"
grep -qE '^muster_redis_memory_bytes [1-9][0-9]+' "$tmp/answer" || fail "memory: $(cat "$tmp/answer")"
grep -qx 'muster_redis_memory_max_bytes 0' "$tmp/answer" || fail "its bound: $(cat "$tmp/answer")"
grep -qx 'muster_redis_replicas 0' "$tmp/answer" || fail "replicas: $(cat "$tmp/answer")"
is_told '"used_memory":' /api/overview || fail "figures: $(cat "$tmp/answer")"
wait_for is_told '"engine":"' /api/session
hears() {
    "$MUSTER" put print 'a job' >"$tmp/out"
    heard 'event: job'
}
wait_for hears
! heard '"heard":false' || fail "an operator: $(cat "$tmp/live.out")"
infos() { redis INFO commandstats | sed -nE 's/^cmdstat_info:calls=([0-9]+).*/\1/p'; }
redis CONFIG RESETSTAT >"$tmp/out"
began=$SECONDS
told=$(grep -c '^event: overview' "$tmp/live.out")
has_looked() { (($(grep -c '^event: overview' "$tmp/live.out") >= told + 7)); }
wait_for has_looked
n=$(infos)
((${n:-0} >= 1 && n - 1 <= (SECONDS - began) / 5 + 1)) || fail "INFO was asked for $n times in $((SECONDS - began)) s"
leave
