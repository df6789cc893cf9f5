#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# /healthz of muster web. Proves:
#  1. it tries a write, once a second for all who ask; what it writes is nothing that a check finds, and goes by itself
#  2. a full Redis, a replica, a user without the right and a Redis that stands still are 503, each in words; then 200
#  3. with --read-only it tries a read, which a full Redis and a replica answer
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
unset MUSTER_TIMEOUT # a Redis that does not answer is part of this

ask() { python3 "$(dirname "$0")/web_ask.py" "$port" GET /healthz </dev/null; }
is_told() {
    ask >"$tmp/answer" 2>/dev/null
    grep -q "^$1\$" "$tmp/answer" && grep -qF -- "$2" "$tmp/answer"
}
listens() { grep -q 'listens at' "$tmp/web.err"; }
begin() {
    start web "$MUSTER" web --listen 127.0.0.1:0 "$@"
    wait_for listens
    port=$(grep -oE '[0-9]+/$' "$tmp/web.err" | tr -d /)
}
writes() { redis INFO commandstats | sed -nE 's/^cmdstat_set:calls=([0-9]+).*/\1/p'; }
start_redis
begin

# ---- 1
wait_for is_told 200 '"state":"well","tried":"write"'
check_clean
redis CONFIG RESETSTAT >"$tmp/out"
began=$SECONDS
python3 - "$port" <<'PYTHON'
import sys, threading, urllib.request
def ask():
    for _ in range(20):
        assert urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/healthz", timeout=60).status == 200
threads = [threading.Thread(target=ask) for _ in range(10)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
PYTHON
n=$(writes)
((${n:-0} <= SECONDS - began + 2)) || fail "200 probes within $((SECONDS - began)) s have written $n times"
has_gone() { redis_is 0 EXISTS muster:take:probe; }
wait_for has_gone

# ---- 2
redis CONFIG SET maxmemory 1 >"$tmp/out"
wait_for is_told 503 '"error":"E_FULL"'
grep -qF 'full' "$tmp/answer" || fail "not in words: $(cat "$tmp/answer")"
redis CONFIG SET maxmemory 0 >"$tmp/out"
wait_for is_told 200 '"state":"well"'
redis REPLICAOF 127.0.0.1 1 >"$tmp/out"
wait_for is_told 503 '"error":"E_BUSY"'
wait_for is_told 503 'replica'
redis REPLICAOF NO ONE >"$tmp/out"
wait_for is_told 200 '"state":"well"'
redis ACL SETUSER default -set >"$tmp/out"
wait_for is_told 503 '"error":"E_DENIED"'
grep -qiF 'denied' "$tmp/answer" || fail "not in words: $(cat "$tmp/answer")"
redis ACL SETUSER default +set >"$tmp/out"
wait_for is_told 200 '"state":"well"'
kill -STOP "${pids[redis]}"
wait_for is_told 503 'answer'
kill -CONT "${pids[redis]}"
wait_for is_told 200 '"state":"well"'
end web TERM 0

# ---- 3
begin --read-only
redis CONFIG SET maxmemory 1 >"$tmp/out"
redis REPLICAOF 127.0.0.1 1 >"$tmp/out"
redis ACL SETUSER default -set >"$tmp/out"
wait_for is_told 200 '"state":"well","tried":"read"'
redis ACL SETUSER default -exists >"$tmp/out"
wait_for is_told 503 '"error":"E_DENIED"'
end web TERM 0
