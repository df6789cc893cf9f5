#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# muster upgrade, of the namespaces in format1.redis, format2.redis and format3.redis: older releases have left them. Proves:
#  1. until it is upgraded everybody refuses it, says what to do, and changes nothing
#  2. while a worker is alive the upgrade is refused, names it, and changes nothing
#  3. afterwards there is no damage, and everything is what and where it was
#  4. an upgrade that was interrupted is told as one, and the next call goes on with it; one more has nothing to do
#  5. everything that waited, ran or failed runs to its end
#  6. an empty namespace needs none; an unknown format is refused
#  7. of formats 2 and 3 nothing changes but the number, at once; all the rest is as of format 1
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck disable=SC2154 # tmp is lib.sh's
cd "$tmp"
mkdir ran
start_redis --enable-debug-command yes

# load FORMAT
load() {
    redis FLUSHALL >said
    grep -v '^#' "$here/format$1.redis" | redis >said
    ! grep -vxE 'OK|[0-9]+' said || fail "not loaded: $(cat said)"
    head -c 17000 /dev/zero | tr '\0' x | redis -x LPUSH muster:queues:plain >said
}
digest() { redis DEBUG DIGEST; }

# check_refused FORMAT: everybody refuses it; so does the upgrade while a worker is alive
check_refused() {
    local verb
    digest >before
    for verb in queues 'enqueue plain more' 'take plain' check 'work plain --print --burst'; do
        # shellcheck disable=SC2086
        check_exit 1 "$MUSTER" $verb
        check_err "is written in format $1"
        check_err "stop the workers and producers of the older release, then run \`muster upgrade\`"
    done
    digest | cmp -s before || fail 'a refused call has changed something'
    redis SET muster:alive:dead 1 >said
    digest >before
    check_exit 1 "$MUSTER" upgrade
    check_err 'workers of the older release are alive: stop them first: dead'
    digest | cmp -s before || fail 'a refused upgrade has changed something'
    redis DEL muster:alive:dead >said
}

# ---- 1 and 2
load 1
check_refused 1

# ---- 3
check_exit 0 "$MUSTER" upgrade
check_out '12 changes made; the namespace is up to date'
check_redis 4 GET muster:format
check_clean
check_redis $'second\nthird\nfourth' ZRANGE muster:dependents:first 0 -1
check_redis third ZRANGE muster:dependents:second 0 -1
check_redis 0 EXISTS muster:crashes:crashing muster:crashes:leased
for queue in plain foreign retried; do
    check_redis 1 HGET "muster:queue:$queue" big
done
check_exit 0 "$MUSTER" job "done"
grep -q '12 kg' out || fail "no result: $(cat out)"
check_exit 0 "$MUSTER" ps --json
grep -q '"process":"dead:1h7ftq9726v:held".*"job":"heldjob"' out || fail "not in the dead worker's hands: $(cat out)"
check_exit 0 "$MUSTER" enqueue asked --request 4711 'a book'
check_redis 'a book' LRANGE muster:queues:asked 0 -1

# ---- 4
digest >before
check_exit 0 "$MUSTER" upgrade --json
check_out '{"changed":0}'
digest | cmp -s before || fail 'an upgrade too many has changed something'
for interrupted in 1-2 1-3 1-4; do # by the releases before, and by this one
    load 1
    redis SET muster:format $interrupted >said
    redis SREM muster:dependents:first second fourth >said
    redis ZADD muster:upgrade:first 1732278231907000 second 1732278232083000 fourth >said
    check_exit 1 "$MUSTER" queues
    check_err "has begun and is not done: \`muster upgrade\` goes on with it"
    check_exit 0 "$MUSTER" upgrade
    check_redis 4 GET muster:format
    check_redis $'second\nthird\nfourth' ZRANGE muster:dependents:first 0 -1
    check_clean
done

# ---- 5
list_ran() {
    local file
    for file in ran/*; do
        [[ -e $file ]] || continue
        printf '%s %s\n' "${file##*:}" "$(tr -c 'a-z0-9 ' . <"$file" | cut -c 1-20)"
    done | sort
}
has_run_all() { list_ran >found && cmp -s expected found; }

# check_runs_all QUEUE...: what `expected` lists runs on these and on the queues of format 1, and nothing is left
check_runs_all() {
    local call
    for call in 'fail-worker away' 'resume paused' 'replay failed --all' 'replay jobs --all' 'cancel --job nightly'; do
        # shellcheck disable=SC2086
        check_exit 0 "$MUSTER" $call
    done
    rm -f ran/*
    # shellcheck disable=SC2016 # for the command's shell
    start worker "$MUSTER" work plain foreign retried failed leased crashing held attic jobs unique paused asked "$@" \
        --id w --ttl 1s -c 2 -- sh -c 'cat >"ran/$MUSTER_PROCESS"'
    wait_for has_run_all
    end worker TERM 0
    check_exit 0 "$MUSTER" ps --json
    check_out ''
    check_exit 0 "$MUSTER" failed --json
    check_out ''
    check_clean
}
load 1
check_exit 0 "$MUSTER" upgrade
cat >expected <<'END'
asked a book
attic a1
crashing poison
failed bad one
failed bad two
foreign pushed
held h1
held h2
held h3
held hj
jobs b
jobs d
jobs f
jobs r
jobs s
jobs t
jobs u
jobs w
leased lapses
leased noted
paused waits
plain bytes......quoted.
plain one
plain two
plain xxxxxxxxxxxxxxxxxxxx
retried later
unique only one
END
check_runs_all

# ---- 6
check_exit 0 "$MUSTER" upgrade --prefix empty
check_redis 0 EXISTS empty:format
redis SET other:format 9 >said
check_exit 1 "$MUSTER" upgrade --prefix other
check_err 'is written in format 9'
check_redis 9 GET other:format
check_usage upgrade word

# ---- 7
# Each key with a digest of its content, but the records of workers, whose epochs are drawn anew, the token for that, and
# what is to move between these workers.
describe() {
    redis --scan | grep -vxE 'muster:(token|format|worker:.*|moves:.*|queue:shared)' | sort >names
    xargs -d '\n' redis-cli -s "$socket" DEBUG DIGEST-VALUE <names >digests
    paste names digests
}
# check_number_changes FORMAT
check_number_changes() {
    load "$1"
    check_refused "$1"
    describe >before
    check_exit 0 "$MUSTER" upgrade
    check_out '1 change made; the namespace is up to date'
    check_redis 4 GET muster:format
    describe >after
    cmp -s before after || fail "the upgrade has changed $(diff before after)"
    check_clean
    check_exit 0 "$MUSTER" upgrade --json
    check_out '{"changed":0}'
    check_exit 0 "$MUSTER" ps --json
    grep -q '"process":"dead:[0-9a-v]*:held".*"job":"heldjob"' out || fail "not in the dead worker's hands: $(cat out)"
}
check_number_changes 2
cat >>expected <<'END'
again first
again second
again third
freed l
freed m
END
sort -o expected expected
check_runs_all again freed quiet

check_number_changes 3
check_redis 0 EXISTS muster:moves:shared
check_redis '' HGET muster:queue:shared moves
check_redis '' HGET muster:worker:full o:shared
check_redis 12 HGET muster:queue:shared hands
grep -c '"process":"full:[0-9a-v]*:shared"' out | grep -qx 6 || fail "not in the sharing worker's hands: $(cat out)"
cat >>expected <<'END'
jobs v
shared s1
shared s2
shared s3
shared s4
shared s5
shared s6
shared s7
END
sort -o expected expected
check_runs_all again freed quiet shared
