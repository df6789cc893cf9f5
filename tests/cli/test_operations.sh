#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What doc/operations.md tells to do works as it stands there. Proves:
#  1. each verb and option of muster that it names is one
#  2. backup and restore: what waited waits, what ran is given back, failures and settings are there, nothing is damaged
#  3. a backup does not need the data directory; one that Redis refuses ends with an error and leaves the one before
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
page=$MUSTER_SOURCE/doc/operations.md
PATH=$(dirname "$MUSTER"):$PATH
block() { awk -v word="$1" '/^```/ { inside = $0 == "```sh " word; next } inside' "$page"; }

# ---- 1: `muster VERB ... --option` in code
tr '`' '\n' <"$page" | grep -E '^muster [a-z]' | sort -u >"${tmp:?}/calls"
(($(wc -l <"$tmp/calls") > 15)) || fail "its calls are not found: $(cat "$tmp/calls")"
while read -r _ verb rest; do
    "$MUSTER" "$verb" --help >"$tmp/help" 2>&1 || fail "there is no verb '$verb'"
    for option in $rest; do
        [[ $option == --* ]] || continue
        grep -qE -- "$option\b" "$tmp/help" || fail "muster $verb has no option $option"
    done
done <"$tmp/calls"

# ---- 2
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
PORT=$(free_port) BACKUP=$tmp/backup.rdb DATA=$tmp/data
export PORT BACKUP DATA
mkdir "$DATA" "$tmp/live"
start_redis --port "$PORT" --dir "$tmp/live"
"$MUSTER" enqueue mail one two three >"$tmp/said"
"$MUSTER" fail "$("$MUSTER" take --lease 1h mail | cut -f 1)" --group g >"$tmp/said"
"$MUSTER" put mail --id j data >"$tmp/said"
"$MUSTER" config --queue mail max_running=7 >"$tmp/said"
start worker "$MUSTER" work mail --id w --ttl 300ms -- sleep 1000
wait_for redis_is 1 HGET muster:queue:mail running
check_exit 0 bash -e -c "$(block backup)"
[[ -s $BACKUP ]] || fail 'there is no backup'
end worker KILL 137

# ---- 3
cp "$BACKUP" "$tmp/before.rdb"
redis CONFIG SET requirepass secret >"$tmp/said"
check_exit 1 bash -e -c "$(block backup)"
grep -q NOAUTH "$tmp/err" || fail "it does not tell why: $(cat "$tmp/err")"
cmp "$BACKUP" "$tmp/before.rdb" || fail 'a refused backup has changed the one before'
REDISCLI_AUTH=secret redis CONFIG SET requirepass '' >"$tmp/said"
rm -r "$tmp/live"
BACKUP=$tmp/without.rdb check_exit 0 bash -e -c "$(block backup)"
[[ -s $tmp/without.rdb ]] || fail 'there is no backup without the data directory'

# ---- 2, restore
redis FLUSHALL >"$tmp/said"
end redis TERM 0
ends_redis() { redis-cli -p "$PORT" SHUTDOWN NOSAVE 2>/dev/null || true; }
trap 'ends_redis; clean_up' EXIT
check_exit 0 bash -e -c "$(block restore)"
unset MUSTER_URL
export MUSTER_URL=redis://127.0.0.1:$PORT
is_given_back() { "$MUSTER" sweep >"$tmp/said" && [[ $("$MUSTER" queues --json) == *'"waiting":3,"running":0,"delayed":0,"failed":1,'* ]]; }
wait_for is_given_back
"$MUSTER" peek mail >"$tmp/peek"
grep -q two "$tmp/peek" || fail "not what it was: $(cat "$tmp/peek")"
"$MUSTER" config --queue mail >"$tmp/config"
grep -qE '^max_running +7' "$tmp/config" || fail "no setting: $(cat "$tmp/config")"
check_clean
