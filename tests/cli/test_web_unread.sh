#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# muster web whose standard error nobody reads, as on a terminal that is paused: a pipe of its own, and one that it may not
# open, as one that root has made for it. Proves of each:
#  1. it serves on, whatever it has to say
#  2. when somebody reads again, it tells how many lines were left out
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
unset MUSTER_TIMEOUT # a Redis that does not answer is part of this

is_told() { python3 "$(dirname "$0")/web_ask.py" "$port" GET "$2" </dev/null 2>/dev/null | grep -q "^$1\$"; }
# Without the right of root to open what it may not.
drop=-dac_override,-dac_read_search
less=(setpriv --bounding-set="$drop" --inh-caps="$drop")
"${less[@]}" true 2>"$tmp/said" || less=(env)
for whose in own foreign; do
    start_redis
    mkfifo "$tmp/$whose"
    exec {unread}<>"$tmp/$whose"
    exec {error}>"$tmp/$whose"
    exec {filler}>"$tmp/$whose"
    [[ $whose == own ]] || chmod 0 "$tmp/$whose"
    "${less[@]}" setpriv --pdeathsig KILL "$checked" web --listen 127.0.0.1:0 >"$tmp/web.out" 2>&"$error" </dev/null \
        {messages}>&- {never}<&- {unread}<&- {error}>&- {filler}>&- &
    pids[web]=$!
    exec {error}>&-
    read -r line <&"$unread"
    port=$(grep -oE '[0-9]+/$' <<<"$line" | tr -d /)
    wait_for is_told 200 /api/overview

    # ---- 1
    ! dd if=/dev/zero oflag=nonblock bs=4096 1>&"$filler" 2>"$tmp/filled" || fail 'the pipe has no end'
    filled=$(sed -nE 's/^([0-9]+) bytes.*/\1/p' "$tmp/filled")
    end redis TERM 0
    wait_for is_told 503 /api/overview
    start_redis
    wait_for is_told 200 /api/overview
    is_told 200 / || fail 'no page'

    # ---- 2
    head -c "$filled" <&"$unread" >"$tmp/zeroes"
    # shellcheck disable=SC2016 # it is the inner shell that knows
    start reader bash -c 'exec cat <&"$0"' "$unread"
    end redis TERM 0
    wait_for is_told 503 /api/overview
    wait_for grep -q 'keeps trying' "$tmp/reader.out"
    grep -qE '^muster web: [0-9]+ lines that nobody read in time' "$tmp/reader.out" || fail "it said: $(cat "$tmp/reader.out")"
    end web TERM 0
    end reader KILL 137
    exec {unread}<&- {filler}>&-
done
