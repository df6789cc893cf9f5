#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# muster work with a command that kills its worker. Proves:
#  1. such a task ends on the failed list, group crashed, after one death that makes suspects and three alone; all
#     others, which were in the dead worker's hands too, run to their end
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$tmp"
start_redis

cat >handler.sh <<'SH'
task=$(cat)
echo "$task" >>begun
case $task in
poison) kill -9 $PPID; sleep 10 ;;
esac
sleep 0.05
echo "$task" >>ended
SH
is_over() { redis_is 0 HGET muster:queue:q running && [[ $("$MUSTER" peek q) == '' ]]; }

# ---- 1
start watch "$MUSTER" work other --id watch --ttl 300ms
"$MUSTER" enqueue q a b c d poison e f g h i j >out
lives=0
until is_over; do
    ((lives++ < 8)) || fail "too many deaths; begun: $(paste -sd' ' begun)"
    start "w$lives" "$MUSTER" work q --id "w$lives" --ttl 500ms -c 8 --prefetch 20 -- sh handler.sh
    wait_for eval "is_over || has_ended w$lives"
done
end "w$lives" TERM 0
((lives == 5)) || fail "$((lives - 1)) workers died"
[[ $(sort -u ended | paste -sd' ') == 'a b c d e f g h i j' ]] || fail "ended: $(sort ended | paste -sd' ')"
check_exit 0 "$MUSTER" failed q --json
(($(wc -l <out) == 1)) || fail "more than one failed: $(cat out)"
grep -q '"group":"crashed".*poison' out || fail "it failed otherwise: $(cat out)"
check_redis 0 EXISTS muster:suspects:q
check_clean
