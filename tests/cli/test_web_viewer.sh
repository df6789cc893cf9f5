#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# A viewer of /api/live who never reads. Proves: what waits for it is bounded, it is cut off, which a metric says, and a
# viewer beside it goes on to be told.
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

listens() { grep -q 'listens at' "$tmp/web.err"; }
start_redis
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:quarantine_size_mb=4" # memory that is free is to be given back
# The rows of all queues are megabytes, and all change at once.
turn() {
    redis EVAL "for i = 1, 8000 do
        local name = string.rep('q', 60) .. i
        redis.call('ZADD', 'muster:names', i, name)
        redis.call('HSET', 'muster:queue:' .. name, 'paused', '1', 'x', '1')
        if ARGV[1] == '0' then redis.call('HDEL', 'muster:queue:' .. name, 'paused') end
    end" 0 "$1" >"$tmp/out"
    ! grep -q ERR "$tmp/out" || fail "$(cat "$tmp/out")"
}
turn 1
start web "$MUSTER" web --listen 127.0.0.1:0
wait_for listens
port=$(grep -oE '[0-9]+/$' "$tmp/web.err" | tr -d /)
ask() { python3 "$(dirname "$0")/web_ask.py" "$port" "$@" </dev/null; }
value() { ask GET /metrics | sed -nE "s/^$1 //p"; }
is_value() { [[ $(value "$1") == "$2" ]]; }
memory() { sed -nE 's/^VmRSS:\s+([0-9]+).*/\1/p' "/proc/${pids[web]}/status"; }
ask GET /api/queues >"$tmp/out"
before=$(memory)
cat >"$tmp/deaf.py" <<'PYTHON'
import socket, sys, time
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
s.connect(("127.0.0.1", int(sys.argv[1])))
s.sendall(b"GET /api/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
time.sleep(600)
PYTHON
start deaf python3 "$tmp/deaf.py" "$port"
start other python3 "$(dirname "$0")/web_ask.py" "$port" GET /api/live stream
wait_for is_value muster_web_viewers 2
paused=0
deadline_s=60
is_dropped() {
    turn "$paused"
    paused=$((1 - paused))
    is_value muster_web_viewers_dropped_total 1
}
wait_for is_dropped
wait_for is_value muster_web_viewers 1
(($(memory) - before < 200 * 1024)) || fail "from $before to $(memory) KiB"
told=$(grep -c '^event: overview' "$tmp/other.out")
is_told_more() { (($(grep -c '^event: overview' "$tmp/other.out") > told + 1)); }
wait_for is_told_more
is_value muster_web_viewers_dropped_total 1 || fail 'the one who reads was dropped, too'
end web TERM 0
