#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What an access rule of Redis must allow. Proves:
#  1. the rule of examples/users.acl for all is enough for all that is done with a queue and a worker: Redis has denied nothing
#  2. in another database the channels tell the database, and the rule is enough there, too
#  3. without the workers' own channels nobody is woken, but the work is done: with the next heartbeat; and a worker that
#     may not hear its own channel says so
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
start_redis
rule=$(sed -n 's/^user muster on //p' "$MUSTER_SOURCE/examples/users.acl")
# shellcheck disable=SC2086 # its words
redis ACL SETUSER work on ">secret" $rule >"${tmp:?}/said"
[[ $(cat "$tmp/said") == OK ]] || fail "Redis refuses the rule: $(cat "$tmp/said")"

denied() { redis ACL LOG | grep -A 1 -E '^(object|reason)$' || true; }
check_nothing_denied() { [[ -z $(denied) ]] || fail "denied: $(denied)"; }
is_idle() { redis_is 1 -n "$db" ZCARD muster:idle:mail; }
took() { grep -qsxF -- "$1" "$tmp/worker.out"; }

# ---- 1 and 2: heartbeats are so rare that only a message can be in time
for db in 0 3; do
    MUSTER_URL="unix://work:secret@$socket?db=$db"
    start worker "$MUSTER" work mail --id w --ttl 1h --print
    wait_for says worker 'takes tasks'
    wait_for is_idle
    check_exit 0 "$MUSTER" enqueue mail first
    wait_for took first
    wait_for is_idle
    check_exit 0 "$MUSTER" put mail --id job second
    wait_for took second
    end worker TERM 0
    check_exit 0 "$MUSTER" config --queue mail broadcast=1
    start events "$MUSTER" events --timeout 1h
    start waiter "$MUSTER" take other --wait 1h
    listens() { redis_is "$(printf '%s\n1' "$1")" PUBSUB NUMSUB "$1"; }
    root=muster
    ((db == 0)) || root+=@$db
    wait_for listens "$root:events"
    wait_for listens "${root}_other_work"
    check_exit 0 "$MUSTER" enqueue other third
    check_end waiter 0
    check_exit 0 "$MUSTER" enqueue mail to-do cancelled
    check_exit 0 "$MUSTER" cancel mail cancelled
    check_exit 0 "$MUSTER" finish "$("$MUSTER" take mail --lease 1m | cut -f 1)" --result x
    check_exit 0 "$MUSTER" put mail --id late fourth --delay 1h
    check_exit 0 "$MUSTER" cancel --job late
    wait_for grep -q late "$tmp/events.out"
    for call in queues workers ps jobs stats check sweep 'delete mail --yes'; do
        # shellcheck disable=SC2086
        check_exit 0 "$MUSTER" $call
    done
    end events TERM 0
    check_nothing_denied
done

# ---- 3
MUSTER_URL=unix://work:secret@$socket
redis ACL SETUSER work resetchannels '&muster_*' >"$tmp/said"
check_exit 77 "$MUSTER" work mail --id deaf --print
redis ACL SETUSER mute on '>secret' '~muster:*' resetchannels '&muster_*' +@all >"$tmp/said"
MUSTER_URL=unix://$socket
start worker "$MUSTER" work mail --id w --ttl 1s --print
db=0
wait_for is_idle
check_exit 0 "$MUSTER" enqueue mail fifth --url "unix://mute:secret@$socket"
wait_for took fifth
[[ -n $(denied) ]] || fail 'nothing was denied'
end worker TERM 0
