#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# muster put and change with --after-end and --after-failure. Proves:
#  1. the record tells in which way a job waits for which, as text and as JSON; the other's record names it
#  2. --after-end runs it after any end, --after-failure after a failure; after another end it is cancelled
#  3. what is there too late sees the end; what cannot come is refused, in words: status 1 or 3
#  4. change adds and takes away what a job waits for in each way
#  5. lines of JSON say the same
#  6. wrong options: status 2, and nothing is sent
#  7. who waits for a job that has failed is blocked by it, in the record and in the list, until that is replayed
#  8. --parents lists what a job was put to wait for, with results; a COMMAND gets those of its own job
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC2154 # tmp is lib.sh's
cd "$tmp"
start_redis

ok() { check_exit 0 "$MUSTER" "$@"; }
put() { ok put "$@"; }
has() {
    local pattern
    ok job "$1" --json
    for pattern in "${@:2}"; do
        grep -qE -- "$pattern" out || fail "$1 lacks $pattern: $(cat out)"
    done
}
check_gone() { check_exit 3 "$MUSTER" job "$1"; }
# end HOW ID: takes the next job of the queue `first`, which is this one, and ends it so
end() {
    local process
    process=$("$MUSTER" take --lease 1h first | cut -f 1)
    ok "$1" "$process"
}

# 1
put first x --id a --retries 0
put first x --id b --retries 0
put first x --id c --retries 0
put q x --id job --after a --after-end b --after-failure c
has job '"state":"depends"' '"after":\["a"\],"after_end":\["b"\],"after_failure":\["c"\]'
ok job job
grep -qE '^after +a$' out || fail "no after: $(cat out)"
grep -qE '^after end +b$' out || fail "no end: $(cat out)"
grep -qE '^after failure +c$' out || fail "no failure: $(cat out)"
for id in a b c; do
    has "$id" '"before":\["job"\]'
done

# 2
end finish a
end fail b
has job '"state":"depends"' '"after":\[\],"after_end":\[\],"after_failure":\["c"\]'
end fail c
has job '"state":"waiting"'
ok cancel --job job
put first x --id d
put q x --id cleanup --after-end d
put q x --id alarm --after-failure d
end finish d
has cleanup '"state":"waiting"'
check_gone alarm
ok stats --queue q --json
grep -q '"cancelled":2' out || fail "nobody counts it: $(cat out)"

# 3
put q x --id late --after-end d --after-failure b
has late '"state":"waiting"'
check_exit 1 "$MUSTER" put q x --id late2 --after-failure d
check_err "'d' is complete and will not fail"
check_exit 3 "$MUSTER" put q x --id late2 --after-failure nobody
check_err "no job 'nobody' whose failure"
check_exit 3 "$MUSTER" put q x --id late2 --after-end nobody
check_err 'say that it may be missing'
check_gone late2
put q x --id late2 --after-end nobody --may-be-missing
has late2 '"state":"waiting"'

# 4
put first x --id e --retries 0
put q x --id moves --after e
ok change moves --after-failure +e
has moves '"after":\[\],"after_end":\[\],"after_failure":\["e"\]'
ok change moves --after-end +e
has moves '"after":\[\],"after_end":\["e"\],"after_failure":\[\]'
check_exit 1 "$MUSTER" change moves --after-failure +d
check_err "'d' is complete and will not fail"
check_exit 3 "$MUSTER" change moves --after-end +nobody
ok change moves --after-end +nobody --may-be-missing
ok change moves --after -e
has moves '"state":"waiting"'

# 5
cat >lines <<'LINES'
{"id": "l1"}
{"id": "l2", "after-end": "l1", "after-failure": ["e"]}
LINES
check_exit 0 "$MUSTER" put q --json-lines <lines
has l2 '"after_end":\["l1"\],"after_failure":\["e"\]'

# 6
check_usage put q x --every 1h --after-end a
check_usage put q x --cron @daily --after-failure a
check_usage put q x --after-failure a --may-be-missing
check_usage put q x --after-end ''
check_usage change moves --after-end a
check_usage change moves --after-failure -a
check_exit 2 "$MUSTER" put q x --id twice --after a --after-end a
check_err 'in one way only'
check_gone twice

# 7
ok cancel --job e --dependents
put alone x --id f --retries 0
put held x --id blocked --after f
ok fail "$("$MUSTER" take --lease 1h alone | cut -f 1)"
has blocked '"blocked_by":\["f"\]'
ok job blocked
grep -qE '^blocked by +f$' out || fail "not blocked: $(cat out)"
ok jobs --queue held --state depends --json
grep -qE '"id":"blocked".*"blocked_by":\["f"\]' out || fail "the list does not tell: $(cat out)"
ok jobs --queue held --state depends
grep -qE '^ID +.* BLOCKED +TAGS' out || fail "no column: $(cat out)"
ok replay alone --all
has blocked '"blocked_by":\[\]'

# 8
ok finish "$("$MUSTER" take --lease 1h alone | cut -f 1)" --result '12 kg'
ok job blocked --parents
grep -qE '^f +complete +alone +.* 12 kg$' out || fail "no result: $(cat out)"
put held x --id many --after f --after nobody --may-be-missing
ok job many --parents --json
grep -qE '"id":"f","state":"complete".*"result":"12 kg"' out || fail "no result: $(cat out)"
grep -qE '"id":"nobody","state":"gone"' out || fail "not gone: $(cat out)"
check_exit 3 "$MUSTER" job none --parents
check_usage job many blocked --parents
check_usage job many --parents --result
# shellcheck disable=SC2016 # the worker's shell is to see the variable
check_exit 0 "$MUSTER" work held --drain 0s --id w --result stdout --max-tasks 1 -- sh -c \
    '"$0" job "$MUSTER_JOB" --parents --json' "$MUSTER"
ok job blocked --result
grep -q '"result":"12 kg"' out || fail "the command has no results of its parents: $(cat out)"
