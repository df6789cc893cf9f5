#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The rows of muster web, of which only those are made anew that have changed. Proves:
#  1. a row in which nothing comes or goes has the age of now, and a viewer is told of it
#  2. a change is told, to one who views and to one who asks, and no other row with it
#  3. a queue that goes is told, and another one that comes has its own figures and history
#  4. the history has as many new failures as there were, however many looks fall into a step of it
#     and who asks for what is behind the last step that it has gets that one again, because it goes on
#  5. after looks that failed all rows are those of now: what changed, came and went meanwhile; who comes before is told that
#     they failed
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

listens() { grep -q 'listens at' "$tmp/web.err"; }
ask() { python3 "$(dirname "$0")/web_ask.py" "$port" GET "$@" </dev/null | sed 1d; }
start_redis
"$MUSTER" enqueue mail 'to ann' >"$tmp/out"
"$MUSTER" enqueue still 'x' >"$tmp/out"
"$MUSTER" enqueue old 'x' >"$tmp/out"
start worker "$MUSTER" work idle --id w -- true
wait_for says worker 'takes tasks'
redis ACL SETUSER web on '>a-long-password' '~*' '&*' +@all >"$tmp/out"
start web env MUSTER_URL="unix://web:a-long-password@$socket" "$MUSTER" web --listen 127.0.0.1:0
wait_for listens
port=$(grep -oE '[0-9]+/$' "$tmp/web.err" | tr -d /)
start live python3 "$(dirname "$0")/web_ask.py" "$port" GET /api/live stream
# value QUEUE KEY: of the row, as the API has it
cat >"$tmp/value.py" <<'PYTHON'
import json, sys
rows = [row for row in json.load(sys.stdin)["items"] if row.get("queue", row.get("worker")) == sys.argv[1]]
print(json.dumps(rows[0].get(sys.argv[2])) if len(rows) == 1 else f"{len(rows)} rows")
PYTHON
value() { ask /api/queues | python3 "$tmp/value.py" "$@"; }
is_value() { [[ $(value "$1" "$2") == "$3" ]]; }
# told QUEUE KEY: the values that the viewer was told, one a line
cat >"$tmp/told.py" <<'PYTHON'
import json, sys
kind, name, key = sys.argv[1:]
lines = open(f"{sys.argv[0].rsplit('/', 1)[0]}/live.out").read().split("\n")
for event, data in zip(lines, lines[1:]):
    if event == f"event: {kind}" and data.startswith("data: ") and data.endswith("}"):
        change = json.loads(data[6:])
        for row in change["items"]:
            if row.get("queue", row.get("worker")) == name:
                print(json.dumps(row.get(key)))
        if name in change["gone"]:
            print("gone")
PYTHON
told() { python3 "$tmp/told.py" queues "$@"; }
is_told() { [[ $(told "$1" "$2" | tail -n 1) == "$3" ]]; }
wait_for is_told still waiting 1
wait_for is_value still in_per_s 0

# ---- 1
first=$(value still oldest_ms)
is_older() { (($(value still oldest_ms) >= first + 1000)); }
wait_for is_older
is_told_older() { (($(told still oldest_ms | tail -n 1) >= first + 1000)); }
deadline_s=30 wait_for is_told_older

# ---- 2
ages() { told still oldest_ms | wc -l; }
events=$(grep -c '^event: overview' "$tmp/live.out")
before=$(ages)
for n in 2 3 4; do
    "$MUSTER" enqueue mail 'to bob' >"$tmp/out"
    wait_for is_told mail waiting "$n"
    is_value mail waiting "$n" || fail "the API has $(value mail waiting), not $n"
done
rounds=$(($(grep -c '^event: overview' "$tmp/live.out") - events))
# But for its tenth look, and one more that may have begun before.
(($(ages) - before <= rounds / 10 + 2)) || fail "the row that is still was told $(($(ages) - before)) times in $rounds looks"
wait_for is_value mail in_per_s 0

# ---- 3
"$MUSTER" delete old --yes >"$tmp/out" 2>&1 || fail "$(cat "$tmp/out")"
wait_for is_told old waiting gone
is_value old waiting null || [[ $(value old waiting) == '0 rows' ]] || fail "it is still there: $(value old waiting)"
"$MUSTER" enqueue new 1 2 3 4 5 >"$tmp/out"
wait_for is_told new waiting 5
is_value mail waiting 4 || fail "mail has $(value mail waiting)"
ask /api/queues/new | grep -qE '"waiting":\[(null,)*5(,5)*\]' || fail "its history: $(ask /api/queues/new)"

# ---- 4
"$MUSTER" enqueue bounce first >"$tmp/out"
wait_for is_value bounce waiting 1
"$MUSTER" enqueue bounce second third >"$tmp/out"
"$MUSTER" work bounce --burst -c 3 --log none -- false
cat >"$tmp/failures.py" <<'PYTHON'
import json, sys
answer = json.load(sys.stdin)
print(sum(n or 0 for n in answer.get("history", answer)["series"]["failures"]))
PYTHON
have_failed() { [[ $(ask /api/history | python3 "$tmp/failures.py") == "$1" ]]; }
of_bounce_have_failed() { [[ $(ask /api/queues/bounce | python3 "$tmp/failures.py") == "$1" ]]; }
wait_for have_failed 3
wait_for of_bounce_have_failed 3
before=$(redis TIME | head -n 1)
a_later_step() { (($(redis TIME | head -n 1) > before + 6)); } # steps of 5 s: looks in which nothing fails change nothing
wait_for a_later_step
have_failed 3 || fail "the history has $(ask /api/history | python3 "$tmp/failures.py") failures, not 3"

python3 - "$port" <<'PYTHON' || fail 'the history since a step'
import json, sys, urllib.request
def get(query):
    return json.load(urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/api/history{query}"))
whole = get("")
last = whole["from"] + (len(whole["series"]["failures"]) - 1) * whole["step_ms"]
assert get(f"?since={last + 1}")["from"] == last, (get(f"?since={last + 1}"), last)
assert get(f"?since={2 ** 63 - 1}")["series"]["failures"] == []
PYTHON
# One queue has the row of this moment, whatever its name is, and that of no other one.
"$MUSTER" enqueue just-now 1 2 >"$tmp/out"
ask /api/queues/just-now | grep -qF '"waiting":2' || fail "a new queue: $(ask /api/queues/just-now)"
"$MUSTER" enqueue $'\xff' 1 2 3 >"$tmp/out"
"$MUSTER" enqueue /w== 1 >"$tmp/out"
has_history() { ask "/api/queues/$1" | grep -qE "\"waiting\":$2,.*\"history\":.*\"waiting\":\[(null,)*$2(,$2)*\]"; }
wait_for has_history %FF 3
wait_for has_history %2Fw%3D%3D 1
"$MUSTER" delete /w== --yes >"$tmp/out" 2>&1 || fail "$(cat "$tmp/out")"
"$MUSTER" delete $'\xff' --yes >"$tmp/out" 2>&1 || fail "$(cat "$tmp/out")"

# ---- 5
redis ACL SETUSER web -zrange >"$tmp/out"
has_trouble() { grep -q '^event: trouble' "$tmp/live.out"; }
wait_for has_trouble
start late python3 "$(dirname "$0")/web_ask.py" "$port" GET /api/live stream
hears_rows() { grep -q '^event: workers' "$tmp/late.out" && grep -q '^event: trouble' "$tmp/late.out"; }
wait_for hears_rows # who comes now is told of the rows as they were, and that they are old
! grep -q '^event: overview' "$tmp/late.out" || fail "that would end it: $(head -c 900 "$tmp/late.out")"
# A refusal is one wherever it is met.
"$MUSTER" enqueue mail 'for ps' >"$tmp/out"
"$MUSTER" take --lease 1h mail >"$tmp/out"
for path in queues workers overview processes 'jobs?queue=mail&state=waiting'; do
    python3 "$(dirname "$0")/web_ask.py" "$port" GET "/api/$path" </dev/null >"$tmp/answer"
    if [[ $(<"$tmp/answer") != 403*E_DENIED* ]]; then echo "$path: $(<"$tmp/answer")"; fi
done >"$tmp/wrong"
[[ ! -s $tmp/wrong ]] || fail "$(<"$tmp/wrong")"
"$MUSTER" enqueue mail 'to cid' >"$tmp/out"
"$MUSTER" enqueue later 1 2 >"$tmp/out"
"$MUSTER" delete new --yes >"$tmp/out" 2>&1 || fail "$(cat "$tmp/out")"
redis ACL SETUSER web +zrange >"$tmp/out"
wait_for is_told mail waiting 5
wait_for is_told later waiting 2
wait_for is_told new waiting gone
is_value still waiting 1 || fail "still has $(value still waiting)"
is_value later waiting 2 || fail "later has $(value later waiting)"
[[ $(value new waiting) == '0 rows' ]] || fail "new is still there"
[[ $(ask /api/workers | python3 "$tmp/value.py" w hands) == 1 ]] || fail "the worker: $(ask /api/workers)"
end web TERM 0
end worker TERM 0
