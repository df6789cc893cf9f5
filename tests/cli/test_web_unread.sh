#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# muster web whose standard error nobody reads, as on a terminal that is paused. Proves:
#  1. it serves on, whatever it has to say
#  2. when somebody reads again, it tells how many lines were left out
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
unset MUSTER_TIMEOUT # a Redis that does not answer is part of this

is_told() { python3 "$(dirname "$0")/web_ask.py" "$port" GET "$2" </dev/null 2>/dev/null | grep -q "^$1\$"; }
start_redis
mkfifo "$tmp/web.err"
exec {unread}<>"$tmp/web.err"
start web "$MUSTER" web --listen 127.0.0.1:0
read -r line <&"$unread"
port=$(grep -oE '[0-9]+/$' <<<"$line" | tr -d /)
wait_for is_told 200 /api/overview

# ---- 1
! dd if=/dev/zero of="$tmp/web.err" oflag=nonblock bs=4096 2>"$tmp/filled" || fail 'the pipe has no end'
filled=$(sed -nE 's/^([0-9]+) bytes.*/\1/p' "$tmp/filled")
end redis TERM 0
wait_for is_told 503 /api/overview
start_redis
wait_for is_told 200 /api/overview
is_told 200 / || fail 'no page'

# ---- 2
head -c "$filled" <&"$unread" >"$tmp/zeroes"
start reader cat "$tmp/web.err"
end redis TERM 0
wait_for is_told 503 /api/overview
wait_for grep -q 'keeps trying' "$tmp/reader.out"
grep -qE '^muster web: [0-9]+ lines that nobody read in time' "$tmp/reader.out" || fail "it said: $(cat "$tmp/reader.out")"
end web TERM 0
end reader KILL 137
