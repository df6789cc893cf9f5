#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# muster stats. Proves:
#  1. the events of jobs are counted by queue and day, as a table and as JSON; plain tasks are not counted
#  2. times: their number, mean, deviation and histogram, which add up
#  3. --day takes a day, today and yesterday, by Redis' clock; a day without jobs is all zero
#  4. wrong use: status 2
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC2154 # tmp is lib.sh's
cd "$tmp"
start_redis

ok() { check_exit 0 "$MUSTER" "$@"; }
take() { "$MUSTER" take "$1" | cut -f 1; }
nothing='"put":0,"taken":0,"completed":0,"failed":0,"retried":0,"crashed":0,"cancelled":0,"stalled":0,"died":0,"wait_n":0,"wait_mean_ms":0,'\
'"wait_deviation_ms":0,"wait_histogram":[],"run_n":0,"run_mean_ms":0,"run_deviation_ms":0,"run_histogram":[]'
# All must happen on one day by Redis' clock: near the end of a day this waits for the next one.
is_early() { (($(redis TIME | head -n 1) % 86400 < 86400 - 60)); }
deadline_s=70 wait_for is_early
today=$(date -u -d "@$(redis TIME | head -n 1)" +%F)

# ---- 1
ok stats
check_out 'QUEUE  PUT  TAKEN  COMPLETED  FAILED  RETRIED  CRASHED  CANCELLED  STALLED  DIED  WAIT-MS  RUN-MS'
"$MUSTER" config --queue q max_running=9 >said
ok stats --queue q --json
check_out "{\"queue\":\"q\",\"day\":\"$today\",$nothing}"
for id in a b c d e; do
    "$MUSTER" put q x --id $id >said
done
"$MUSTER" finish "$(take q)" >said
"$MUSTER" finish "$(take q)" >said
"$MUSTER" fail "$(take q)" >said
"$MUSTER" retry "$(take q)" --delay 1h >said
"$MUSTER" cancel --job e >said
"$MUSTER" enqueue plain task >said
"$MUSTER" finish "$(take plain)" >said
ok stats --json
grep -qF "{\"queue\":\"q\",\"day\":\"$today\",\"put\":5,\"taken\":4,\"completed\":2,\"failed\":1,\"retried\":1,"\
'"crashed":0,"cancelled":1,"stalled":0,"died":0,"wait_n":4,' out || fail "counted: $(cat out)"
grep -qF "{\"queue\":\"plain\",\"day\":\"$today\",$nothing}" out || fail "plain tasks count: $(cat out)"
ok stats
grep -qE '^q +5 +4 +2 +1 +1 +0 +1 +0 +0 +[0-9]+\.[0-9] +[0-9]+\.[0-9]$' out || fail "the table: $(cat out)"

# ---- 2
redis HSET "muster:stats:20000:made" put 3 wait_ms 1203 wait_squares 1440009 wait:0 1 wait:2 1 wait:11 1 >said
ok stats --queue made --day 2024-10-04 --json
grep -qF '"put":3,' out || fail "not of that day: $(cat out)"
grep -qE '"wait_n":3,"wait_mean_ms":401,"wait_deviation_ms":564\.97[0-9]+,' out || fail "the times: $(cat out)"
grep -qF '"wait_histogram":[{"below_ms":1,"n":1},{"below_ms":4,"n":1},{"below_ms":2048,"n":1}]' out ||
    fail "the classes: $(cat out)"
ok stats --queue made --day 2024-10-04
tail -n +3 out >classes
diff classes - <<'TABLE'

BELOW   WAITED  RAN
1ms          1    0
4ms          1    0
2048ms       1    0
TABLE

# ---- 3
ok stats --queue q --day today --json
grep -qF "\"day\":\"$today\",\"put\":5" out || fail "not today: $(cat out)"
ok stats --queue q --day "$today" --json
grep -qF "\"day\":\"$today\",\"put\":5" out || fail "not today: $(cat out)"
ok stats --queue q --day yesterday --json
check_out "{\"queue\":\"q\",\"day\":\"$(date -u -d "$today - 1 day" +%F)\",$nothing}"
redis HSET "muster:stats:$(($(redis TIME | head -n 1) / 86400 - 1)):q" put 77 >said
ok stats --queue q --day yesterday --json
grep -qF '"put":77,' out || fail "not yesterday: $(cat out)"
check_exit 3 "$MUSTER" stats --queue nowhere --day 1970-01-01
check_out ''
# Of a queue that is gone there is what happened in it, whatever that was.
for what in put taken completed failed retried crashed cancelled stalled died; do
    redis HSET muster:stats:20000:gone $what 1 >said
    ok stats --queue gone --day 2024-10-04 --json
    grep -qF "\"$what\":1," out || fail "$what: $(cat out)"
    redis DEL muster:stats:20000:gone >said
done

redis DEL muster:stats:20000:made "muster:stats:$(($(redis TIME | head -n 1) / 86400 - 1)):q" >said # they never expire
check_clean

# ---- 4
for day in '' tomorrow 2026-13-01 2026-02-30 2026-1-1 26-01-01 2026-01-01x 20000 -1; do
    check_usage stats --day "$day"
    check_err '--day: it must be YYYY-MM-DD'
done
check_usage stats --queue ''
check_usage stats q
