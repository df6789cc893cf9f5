#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# muster workers. Proves:
#  1. no worker: the headings as text, nothing as JSON, status 0
#  2. a row for each worker: its id, whether it is alive, when it was last heard, its hands and the tasks it holds, its
#     ttl, host, pid and queues
#  3. a worker whose liveness key has expired is listed as not alive
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
start_redis

workers() { check_exit 0 "$MUSTER" workers "$@"; }

# ---- 1
workers
check_out 'ID  ALIVE  HEARD  HANDS  HELD  TTL  HOST  PID  QUEUES'
workers --json
check_out ''

# ---- 2
"$MUSTER" enqueue one task >"$tmp/out"
start w1 "$MUSTER" work one two --id w1 -c 3 --ttl 1m -- sleep 1000
wait_for redis_is 1 HLEN muster:processing:w1:one
wait_for redis_is 1 ZCARD muster:idle:two
workers
sed -i "s/ $(hostname) / HOST /; s/ ${pids[w1]} / PID /; s/ [0-9]\.[0-9] s / HEARD /; s/  */ /g" "$tmp/out"
check_out 'ID ALIVE HEARD HANDS HELD TTL HOST PID QUEUES
w1 yes HEARD 3 1 1m HOST PID one,two'
workers --json
started=$(sed 's/.*"started_at_ms":\([0-9]*\).*/\1/' "$tmp/out")
now=$(date +%s%3N)
((started > now - 60000 && started <= now + 1000)) || fail "started at $started, now it is $now"
sed -i 's/"heard_ms":[0-9]*,/"heard_ms":N,/; s/"started_at_ms":[0-9]*/"started_at_ms":N/; s/"epoch":"[0-9a-v]\{11\}"/"epoch":"E"/; s/"started_at":"20[^"]*Z"/"started_at":TIME/' "$tmp/out"
version=$("$MUSTER" --version)
check_out "{\"worker\":\"w1\",\"alive\":true,\"heard_ms\":N,\"hands\":3,\"held\":1,\"ttl_ms\":60000,\
\"host\":\"$(hostname)\",\"pid\":${pids[w1]},\"queues\":[\"one\",\"two\"],\"permanent\":false,\"version\":\"${version#muster }\",\"started_at_ms\":N,\"epoch\":\"E\",\"started_at\":TIME}"

# ---- 3
end w1 KILL 137
redis DEL muster:alive:w1 >"$tmp/out"
workers
grep -qE '^w1 +no +- +3 ' "$tmp/out" || fail "not dead: $(cat "$tmp/out")"
workers --json
grep -qF '"alive":false,"heard_ms":null,' "$tmp/out" || fail "not dead: $(cat "$tmp/out")"
