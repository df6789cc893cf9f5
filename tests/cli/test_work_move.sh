#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Commands of a queue that shares evenly. Proves:
#  1. tasks move to a worker that joins until both hold as many; each command that must move got SIGTERM, and its task
#     runs again under another token, whatever exit status it had but 0; nothing has failed
#  2. a command that ignores SIGTERM is killed after --move-time, and its task moves
#  3. a command that ends with 0 when it is told has finished its task
#  4. with --on-move stay no command is told anything, and nothing moves
#  5. --on-move and --move-time are refused where they have no effect, and other values
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
unset MUSTER_TIMEOUT # a Redis that does not answer is part of this
cd "$tmp"
start_redis

# Says with which task it begins and who it is; on SIGTERM does what `$1` says.
cat >keep <<'SH'
task=$(cat)
echo "$MUSTER_WORKER $MUSTER_TOKEN $task" >>begun
code=${1#exits-}
case $1 in
exits-*) trap 'echo "told $task" >>told; exit $code' TERM ;;
ignores) trap 'echo "told $task" >>told' TERM ;;
esac
until [ -e go ]; do sleep 0.05; done
SH
check_exit 0 "$MUSTER" config --queue q share=even max_crashes=0

# work NAME HOW OPTION...
ttl=600ms
work() { start "$1" "$MUSTER" work q --id "$1" -c 4 --ttl "$ttl" "${@:3}" -- sh keep "$2"; }
holds() { redis_is "$2" HLEN "muster:processing:$1:q"; }
lines() { [[ -e $1 ]] && (($(wc -l <"$1") == $2)); }
begin() { # HOW OPTION...: four tasks on a, then b joins
    rm -f begun told go
    redis HDEL muster:queue:q moved >out
    work a "$@"
    check_exit 0 "$MUSTER" enqueue q one two three four
    wait_for lines begun 4
    work b "$@"
}
finish() {
    : >go
    wait_for redis_is 0 HGET muster:queue:q running
    end a TERM 0
    end b TERM 0
    check_redis 0 EXISTS muster:failed:q
    check_exit 0 "$MUSTER" check
}

# ---- 1
for status in 1 75 143; do
    begin "exits-$status"
    wait_for holds b 2
    wait_for lines begun 6
    holds a 2 || fail "a holds $(redis HLEN muster:processing:a:q)"
    check_redis 2 HGET muster:queue:q moved
    lines told 2 || fail "not told two: $(cat told)"
    (($(cut -d' ' -f2 begun | sort -u | wc -l) == 6)) || fail "a token twice: $(cat begun)"
    finish
done

# ---- 2
begin ignores --move-time 200ms
wait_for holds b 2
wait_for lines begun 6
# On a slow machine a reservation may lapse before its process has been killed; then another one is asked.
(($(wc -l <told) >= 2)) || fail "not told two: $(cat told)"
check_redis 2 HGET muster:queue:q moved
finish

# ---- 3: what is left may be shared out again
begin exits-0
have_told_finished() {
    [[ -e told ]] && local n && n=$(wc -l <told) && ((n >= 2)) && redis_is $((4 - n)) HGET muster:queue:q running
}
wait_for have_told_finished
lines begun 4 || fail "what has finished ran again: $(cat begun)"
redis_is '' HGET muster:queue:q moved || fail "finished and moved: $(redis HGET muster:queue:q moved)"
finish

# ---- 4: twice the time that it takes to move; a worker that is late must not be taken for dead meanwhile
ttl=3s
begin exits-1 --on-move stay
heartbeats() { redis PTTL muster:alive:b; }
wait_for redis_is 8 HGET muster:queue:q hands
for _ in 1 2 3 4; do # each time b is heard again
    before=$(heartbeats)
    is_later() { (($(heartbeats) > before)) || { before=$(heartbeats) && false; }; }
    wait_for is_later
done
holds a 4 || fail "a holds $(redis HLEN muster:processing:a:q)"
[[ ! -e told ]] || fail "somebody was told: $(cat told)"
finish

# ---- 5
check_usage work q --on-move leave -- cat
check_err 'it must be one of move and stay'
check_usage work q --on-move stay --print
check_usage work q --move-time 1s --on-move stay -- cat
check_err '--move-time has no effect with --on-move stay'
