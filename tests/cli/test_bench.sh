#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The benchmark, but not how fast anything is. Proves:
#  1. muster bench --json measures on a Redis of its own and prints an object per row with all its members; the table
#     has the same rows; nothing is left behind
#  2. with a URL it works there under a prefix of its own, and touches nothing else
#  3. a signal, and a SIGKILL, leave neither a process nor a directory nor a key
#  4. a row, a Redis or a program that does not exist: its exit code and one line
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
export TMPDIR=$tmp/scratch # where its own Redis lives
mkdir "$TMPDIR"
nothing_left() { [[ -z $(ls -A "$TMPDIR") ]] && ! pgrep -f "$TMPDIR" >"$tmp/pgrep"; }
json_row() {
    grep -cE '^\{"name":"'"$1"'","unit":"[^"]+","muster":[0-9.e+]+,"raw":('"$2"'),"ratio":('"$2"'),"goal":'"$3"',"redis_cpu_us":[0-9.e+-]+\}$' \
        "$tmp/out" >"$tmp/count" || fail "no valid row $1: $(cat "$tmp/out" "$tmp/err")"
}
number='[0-9.]+(e[+-][0-9]+)?'

# ---- 1
check_exit 0 "$MUSTER" bench drain drain_cpu herd_1 drain_tcp --seconds 1 --json
json_row drain "$number" '">= 0.9"'
json_row drain_cpu "$number" '"<= 1.2"'
json_row herd_1 null null
json_row drain_tcp "$number" null
(($(wc -l <"$tmp/out") == 4)) || fail "not four rows: $(cat "$tmp/out")"
nothing_left || fail "left behind: $(ls -A "$TMPDIR"; cat "$tmp/pgrep")"
check_exit 0 "$MUSTER" bench kill_restart --seconds 1
grep -qE '^kill_restart +ms ' "$tmp/out" || fail "no row in: $(cat "$tmp/out")"
grep -qE '^[0-9]+ goals? w(as|ere) missed$' "$tmp/out" || fail "no end in: $(cat "$tmp/out")"
check_exit 0 "$MUSTER" bench --list
for row in enqueue_batch drain drain_cpu drain_4 enqueue_serial wake_p50 wake_p99 wake_take herd_300 idle_300 \
    bytes_waiting bytes_process due_p99 scale wake_cold_p50 wake_cold_p99 handover_cpu; do
    grep -qE "^$row .*[<>]= [0-9.]+ " "$tmp/out" || fail "no goal of $row in the list"
done

grep -qE "^mix_p999 " "$tmp/out" || fail "no row mix_p999 in the list"
check_exit 0 "$MUSTER" bench mix_p50 mix_p999 --seconds 1 --json
json_row mix_p50 "$number" null
json_row mix_p999 "$number" null

# ---- 2
start_redis
redis SET muster-bench mine >"$tmp/set"
check_exit 0 "$MUSTER" bench enqueue_batch drain_tcp --seconds 1 --json
json_row enqueue_batch "$number" '">= 1"'
(($(wc -l <"$tmp/out") == 1)) || fail "not one row: $(cat "$tmp/out")"
grep -q 'drain_tcp is left out' "$tmp/err" || fail "nothing about drain_tcp: $(cat "$tmp/err")"
check_redis 1 DBSIZE

# ---- 3
works() { (($(redis DBSIZE) > 1)); }
is_alone() { redis_is 1 DBSIZE; }
start given "$MUSTER" bench herd_300 --seconds 60
wait_for works
end given TERM 143
start given "$MUSTER" bench herd_300 --seconds 60 --url "$MUSTER_URL"
wait_for works
! tr '\0' '\n' <"/proc/${pids[given]}/cmdline" | grep -q "$socket" || fail 'the URL can be seen from outside'
end given TERM 143
check_exit 2 env MUSTER_PASSWORD_FILE="$tmp/set" "$MUSTER" bench --list
check_err 'MUSTER_PASSWORD_FILE: the benchmark does not take it'
check_redis 1 DBSIZE
start given "$MUSTER" bench herd_300 --seconds 60
wait_for works
end given KILL 137
wait_for is_alone
unset MUSTER_URL
has_server() { [[ -S $(echo "$TMPDIR"/*/redis.sock) ]]; }
start own "$MUSTER" bench drain_4 --seconds 60
wait_for has_server
end own INT 130
nothing_left || fail "left behind: $(ls -A "$TMPDIR"; cat "$tmp/pgrep")"
start own "$MUSTER" bench drain_4 --seconds 60
wait_for has_server
end own KILL 137
wait_for nothing_left

# ---- 4
check_exit 2 "$MUSTER" bench no_such_row
check_err "there is no row 'no_such_row'"
check_exit 69 "$MUSTER" bench --url "unix://$tmp/nobody"
check_err "$tmp/nobody"
cp "$MUSTER" "$tmp/muster"
check_exit 1 "$tmp/muster" bench
check_err 'there is neither'
check_exit 1 env PATH=/nowhere "$MUSTER" bench drain
check_err 'redis-server cannot be run'
nothing_left || fail "left behind: $(ls -A "$TMPDIR")"
