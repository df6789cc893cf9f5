#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# muster doctor. Proves:
#  1. a Redis that loses nothing, with work that is served, is well: status 0, a line for each thing
#  2. each thing that is to be mended has a line that says what to do, and status 1: eviction, no append-only file,
#     appendfsync, a time-out for idle connections, memory that is nearly used up, a replica, a full Redis
#  3. a queue that nobody serves, unless it is paused; dead workers without a peer, failures that are older than a week
#  4. with the rights of examples/users.acl it is well, and what this user may not see is unknown; each right that is missing is
#     named with the rule that grants it, and with that rule it is there
#  5. it leaves nothing behind; --json has the same lines
#  6. each of these has its line, and none waits for what does not come ($MUSTER_TIMEOUT is far above what is waited for): a
#     Redis that is slow, which is told before the rest is looked at, one that stands still again and again, after no more
#     tries than fit in a second, limits below the longest task, a replica, more replicas asked for than there are
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
start_redis --enable-debug-command yes
redis CONFIG SET appendonly yes >"$tmp/said"
is_written() { redis INFO persistence | grep -q 'aof_rewrite_in_progress:0'; }
wait_for is_written

# A Redis that answers late on a busy machine is truly slow: that is looked at again, and nothing else is.
is_not_slow() {
    "$MUSTER" doctor "$@" >"$tmp/out" 2>"$tmp/err" && return
    [[ $(grep '^mend' "$tmp/out") != 'mend '*([[:blank:]])'answers: '*', which is slow'* || $(grep -c '^mend' "$tmp/out") != 1 ]]
}
well() {
    wait_for is_not_slow "$@"
    ! grep -q '^mend' "$tmp/out" || fail "not well: $(cat "$tmp/out")"
}
# mends SUBJECT TEXT: it has a line with this to mend
mends() {
    check_exit 1 "$MUSTER" doctor
    grep -qE "^mend +$1: .*$2" "$tmp/out" || fail "no '$2' of $1: $(cat "$tmp/out")"
}
# told STATE SUBJECT...: each has a line in this state
told() {
    local subject
    for subject in "${@:2}"; do
        grep -qE "^$1 +$subject: " "$tmp/out" || fail "$subject is not $1: $(cat "$tmp/out")"
    done
}

# ---- 1
well
told good answers clock version eviction memory disk replicas appendfsync limits rights write script messages workers \
    queues failures
! grep -q '^mend' "$tmp/out" || fail "well, and yet: $(cat "$tmp/out")"

# ---- 2
redis CONFIG SET maxmemory-policy allkeys-lru >"$tmp/said"
mends eviction 'allkeys-lru: .*; CONFIG SET maxmemory-policy noeviction'
redis CONFIG SET maxmemory-policy noeviction >"$tmp/said"
redis CONFIG SET appendfsync no >"$tmp/said"
mends appendfsync 'CONFIG SET appendfsync everysec'
redis CONFIG SET appendfsync everysec >"$tmp/said"
redis CONFIG SET timeout 300 >"$tmp/said"
mends timeout '300 s.*CONFIG SET timeout 0'
redis CONFIG SET timeout 0 >"$tmp/said"
redis CONFIG SET maxmemory 1 >"$tmp/said"
mends memory 'raise maxmemory'
grep -qE '^mend +write: a write is refused: .*OOM' "$tmp/out" || fail "the write: $(cat "$tmp/out")"
redis CONFIG SET maxmemory 0 >"$tmp/said"
redis CONFIG SET appendonly no >"$tmp/said"
mends disk 'CONFIG SET appendonly yes'
redis CONFIG SET appendonly yes >"$tmp/said"
wait_for is_written
well

# ---- 3
"$MUSTER" enqueue lonely task >"$tmp/said"
mends queues "no worker serves 'lonely', where 1 task waits; start a worker"
# Paused is on purpose, and what is taken under leases needs no worker.
"$MUSTER" pause lonely 2>"$tmp/err" >"$tmp/said"
well
"$MUSTER" resume lonely >"$tmp/said"
"$MUSTER" enqueue lonely another >"$tmp/said"
lease=$("$MUSTER" take --lease 1h lonely | cut -f 1)
well
"$MUSTER" finish "$lease" >"$tmp/said"
start worker "$MUSTER" work lonely --id w --ttl 3s -- sleep 1000
wait_for says worker 'takes tasks'
wait_for redis_is 0 LLEN muster:queues:lonely
well
end worker KILL 137
wait_for redis_is 0 EXISTS muster:alive:w
mends workers "1 worker is dead, as 'w', .*muster sweep"
"$MUSTER" sweep >"$tmp/said"
"$MUSTER" fail "$("$MUSTER" take --lease 1h lonely | cut -f 1)" >"$tmp/said"
well
redis EVAL "local member = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES') -- the score is when it failed, in us
    redis.call('ZADD', KEYS[1], string.format('%.0f', member[2] - 8 * 86400 * 1000000), member[1])" 1 \
    muster:failed:lonely >"$tmp/said"
mends failures "'lonely' has 1 failure, the oldest of them 8 days ago; .muster replay"
"$MUSTER" drop lonely --all >"$tmp/said"
well

# ---- 4
rule=$(sed -n 's/^user muster on //p' "$MUSTER_SOURCE/examples/users.acl")
# shellcheck disable=SC2086 # its words
redis ACL SETUSER work on ">secret" $rule >"$tmp/said"
well --url "unix://work:secret@$socket"
told good rights write script messages
redis ACL SETUSER work -info '-config|get' >"$tmp/said"
well --url "unix://work:secret@$socket"
told unknown server settings
grep -q 'ACL SETUSER USER +info' "$tmp/out" || fail "no rule for INFO: $(cat "$tmp/out")"
lacks() {
    check_exit 1 "$MUSTER" doctor --url "unix://work:secret@$socket"
    for right in "$@"; do
        grep -qE "^mend +rights: a right is missing: .*; ACL SETUSER USER \\+$right\$" "$tmp/out" ||
            fail "$right is not named: $(cat "$tmp/out" "$tmp/err")"
    done
}
few=(@hash @list @set @sortedset eval evalsha exists del unlink rename type persist pexpire pttl time scan publish spublish ping)
redis ACL SETUSER work "${few[@]/#/-}" >"$tmp/said"
lacks "${few[@]}"
redis ACL SETUSER work "${few[@]/#/+}" -@string >"$tmp/said" # the format cannot be read: nothing else can be tried
lacks @string
redis ACL SETUSER work +@string >"$tmp/said"
well --url "unix://work:secret@$socket"
# What a role leaves out on purpose it is not told to get.
for role in producer viewer worker; do
    # shellcheck disable=SC2046 # its words
    redis ACL SETUSER "$role" on '>secret' $(sed -n "s/^user $role on //p" "$MUSTER_SOURCE/examples/users.acl") >"$tmp/said"
    well --role "$role" --url "unix://$role:secret@$socket"
    grep -qE '^unknown +settings: .*needs none; ask as an operator$' "$tmp/out" || fail "$role: $(cat "$tmp/out")"
    ! grep -q 'ACL SETUSER' "$tmp/out" || fail "$role is to get what it needs for nothing: $(cat "$tmp/out")"
done
redis ACL SETUSER work resetchannels '&muster_*' >"$tmp/said"
check_exit 1 "$MUSTER" doctor --url "unix://work:secret@$socket"
grep -qF 'ACL SETUSER USER &muster:*' "$tmp/out" || fail "no rule for channels: $(cat "$tmp/out")"
(($(grep -cF 'ACL SETUSER USER &muster:*' "$tmp/out") == 1)) || fail "the same again and again: $(cat "$tmp/out")"
redis ACL SETUSER work resetkeys '%R~muster:*' >"$tmp/said"
check_exit 1 "$MUSTER" doctor --url "unix://work:secret@$socket"
(($(grep -cF 'ACL SETUSER USER ~muster:*' "$tmp/out") == 1)) || fail "the same again and again: $(cat "$tmp/out")"
redis ACL SETUSER work resetkeys '~other:*' >"$tmp/said"
check_exit 1 "$MUSTER" doctor --url "unix://work:secret@$socket"
grep -qF 'ACL SETUSER USER ~muster:*' "$tmp/out" || fail "no rule for keys: $(cat "$tmp/out")"
check_exit 77 "$MUSTER" doctor --url "unix://work:wrong@$socket"

# ---- 5
check_clean
check_redis 0 EXISTS muster:take:doctor
check_exit 0 "$MUSTER" doctor --json
python3 -c 'import json, sys
for line in open(sys.argv[1]):
    assert list(json.loads(line)) == ["state", "subject", "what", "advice"], line' "$tmp/out"

# ---- 6
# tells SUBJECT TEXT [VARIABLE=VALUE...]: the doctor comes to this line; what it had said by then is in $tmp/said
tells() {
    start doctor env "${@:3}" "$MUSTER" doctor
    wait_for grep -qsE "^mend +$1: .*$2" "$tmp/doctor.out"
    cp "$tmp/doctor.out" "$tmp/said"
    kill -KILL "${pids[doctor]}" || true # it may have come to its end
    wait "${pids[doctor]}" || true
    unset "pids[doctor]"
} 2>/dev/null
# stall S PAUSE: it stands still for so long, and then goes on for a while
stall() {
    while redis DEBUG SLEEP "$1"; do sleep "$2"; done >"$tmp/stalled" &
    pids[staller]=$!
}
go_on() {
    kill "${pids[staller]}"
    wait "${pids[staller]}" || true
    unset 'pids[staller]'
} 2>/dev/null
stall 1.5 0
tells answers 'took [0-9]+ ms, which is slow'
go_on
! sed '/answers: /q' "$tmp/said" | grep -v 'answers: ' || fail "it is told at the end: $(cat "$tmp/said")"
stall 0.4 0.3
tells answers 'took [0-9]+ ms, which is slow'
go_on
tries=$(sed -n 's/.*the slowest of \([0-9]*\) took.*/\1/p' "$tmp/said")
((${tries:-0} <= 26)) || fail "$tries tries, with 40 ms between two" # none: it was slow to connect already
for limit in 'proto-max-bulk-len 1mb' 'client-query-buffer-limit 2mb' 'client-output-buffer-limit normal 33554432 0 0'; do
    name=${limit%% *}
    before=$(redis CONFIG GET "$name" | tail -n 1)
    redis CONFIG SET "$name" "${limit#* }" >"$tmp/said"
    tells limits "$name is .* KiB, and a task may have 65536"
    redis CONFIG SET "$name" "$before" >"$tmp/said"
done
tells replicas 'replicas=2, but only 0 are connected: nothing is confirmed' MUSTER_REPLICAS=2
redis REPLICAOF 127.0.0.1 1 >"$tmp/said"
tells replicas 'this Redis is a replica, which takes no task'
began=$SECONDS # $MUSTER_TIMEOUT is far above what is allowed
check_exit 1 "$MUSTER" doctor
((SECONDS - began < 100)) || fail 'it waits for a replica to take a write'
began=$SECONDS
check_exit 75 "$MUSTER" enqueue q x --timeout 20s --prefix new # whose format is not written down yet
((SECONDS - began < 40)) || fail 'a replica is waited for twice'
redis REPLICAOF NO ONE >"$tmp/said"
