#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# muster upgrade of a large namespace that an older release has left: format1.redis, thousands of queues, and jobs that
# thousands wait for. Whoever dies in the middle of it, the upgrade or Redis, the next call goes on, and what it leaves
# is what an undisturbed one leaves.
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck disable=SC2154 # tmp is lib.sh's
cd "$tmp"

queues=4000
tries=40

start_durable_redis() { start_redis --enable-debug-command yes --appendonly yes --appendfsync everysec; }

# Commands that make what an older release would have left. All queues are in the registry of names, and all is due late.
write_namespace() {
    grep -v '^#' "$here/format1.redis"
    awk -v queues="$queues" '
        function token(n,    text, i) {
            for (i = 0; i < 5; i++) {
                text = substr("0123456789abcdefghijklmnopqrstuv", n % 32 + 1, 1) text
                n = int(n / 32)
            }
            return "1h7ftq" text
        }
        function put(id, state,    place) {
            place = token(++n_jobs)
            print "HSET muster:job:" id " queue many state " state " put 1732278231907 place " place \
                " retries 5 data d since 1732278231907"
            if (state == "waiting")
                print "ZADD muster:waiting:many 0 " place id
            else
                print "ZADD muster:depends:many 1732278231907 " place id
        }
        function hub(id, n,    i) {
            put(id, "waiting")
            for (i = n; i > 0; i--) {
                put(id "-" i, "depends")
                print "SADD muster:dependencies:" id "-" i " " id
                print "SADD muster:dependents:" id " " id "-" i
            }
        }
        BEGIN {
            for (i = 0; i < queues; i++) {
                print "RPUSH muster:queues:q" i " two one"
                print "ZADD muster:names 1732278222721 q" i
                if (i % 3 == 0) {
                    print "HSET muster:queue:q" i " named 1 crashes 1"
                    print "HSET muster:crashes:q" i " e6aa09fd40ce4f9df7183e38dec4c3d874ece1cc 1"
                } else if (i % 3 == 1) {
                    print "HSET muster:queue:q" i " named 1 due 4102444800000"
                    print "ZADD muster:delayed:q" i " 4102444800000 1h7ftq2ffbp:later"
                    print "ZADD muster:due 4102444800000 q" i
                } else {
                    print "HSET muster:queue:q" i " named 1"
                }
            }
            print "HSET muster:queue:many named 1 jobs 1"
            print "ZADD muster:names 1732278222721 many"
            hub("most", 2500)
            for (i = 0; i < 30; i++)
                hub("hub" i, 50)
        }'
}

load() {
    redis FLUSHALL >said
    redis --pipe <namespace >said 2>&1 || fail "not loaded: $(cat said)"
    grep -q 'errors: 0,' said || fail "not loaded: $(cat said)"
}

# Each key with its content. Tokens and times of day, which each run draws anew, are left out.
describe() {
    redis --scan | grep -vxE 'muster:(token|names|worker:.*)' | sort >keys
    # shellcheck disable=SC2046 # the names of queues and jobs are words
    xargs -d '\n' -n 500 redis-cli -s "$socket" DEBUG DIGEST-VALUE <keys >digests
    paste keys digests
    redis ZRANGE muster:names 0 -1 | sort
}

check_same() {
    describe >after
    cmp -s undisturbed after || fail "not what an undisturbed upgrade leaves: $(diff undisturbed after | head -n 4)"
    check_redis 4 GET muster:format
}

# start_upgrade N: returns when it has moved so many lots of keys, or has ended
start_upgrade() {
    start upgrade env MUSTER_TRACE=script "$MUSTER" upgrade
    wait_for has_moved "$1"
}
has_moved() { grep -s upgrade_keys "$tmp/upgrade.err" | sed -n "$1{p;q;}" | grep -q . || has_ended upgrade; }

kill_now() {
    kill -KILL "${pids[$1]}" || true # it may have ended by now
    wait "${pids[$1]}" || true
    unset "pids[$1]"
} 2>/dev/null # the shell would print there that a job was killed

write_namespace >namespace
start_durable_redis

# ---- undisturbed
load
check_exit 0 "$MUSTER" upgrade
check_clean
describe >undisturbed

# ---- the upgrade dies
killed=0
for ((i = 1; i <= tries && killed < 3; i++)); do
    load
    start_upgrade $((i % 4 * 8 + 1))
    kill_now upgrade
    redis_is 1-4 GET muster:format || continue
    killed=$((killed + 1))
    check_exit 1 "$MUSTER" queues
    check_err 'has begun and is not done'
    check_exit 0 "$MUSTER" upgrade
    check_same
done
((killed == 3)) || fail "only $killed upgrades were killed in the middle"

# ---- Redis dies
killed=0
for ((i = 1; i <= tries && killed < 2; i++)); do
    load
    start_upgrade $((i % 4 * 8 + 1))
    kill_now redis
    wait_for has_ended upgrade
    start_durable_redis
    redis_is 1-4 GET muster:format || continue
    killed=$((killed + 1))
    check_end upgrade 69
    check_exit 0 "$MUSTER" upgrade
    check_same
done
((killed == 2)) || fail "only in $killed upgrades Redis was killed in the middle"
check_clean
