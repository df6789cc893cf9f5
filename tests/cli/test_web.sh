#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# muster web. Proves:
#  1. it serves the page and what belongs to it, with headers that let a browser do nothing else with it
#  2. the API has the rows of --json, and does what it is asked for
#  3. what it refuses has a name and words; nothing is changed without the secret
#  4. metrics and health follow Redis, also when it goes away and comes back
#  5. a stream tells of looks and of events of jobs
#  6. beyond loopback it needs a token; with one nothing is told without it
#  7. SIGTERM ends it with status 0
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

# ask METHOD PATH [HEADER...] [< BODY]: the status, then the body
ask() { python3 "$(dirname "$0")/web_ask.py" "$port" "$@"; }
# told TEXT METHOD PATH...: the answer must hold this text
told() {
    ask "${@:2}" </dev/null >"$tmp/answer" || fail "${*:2}: no answer"
    grep -qF -- "$1" "$tmp/answer" || fail "${*:2}: no '$1' in $(head -c 600 "$tmp/answer")"
}
# post STATUS PATH BODY
post() {
    ask POST "$2" "X-Muster-CSRF: $csrf" 'Content-Type: application/json' <<<"$3" >"$tmp/answer"
    grep -q "^$1\$" "$tmp/answer" || fail "POST $2 $3: not $1 but $(cat "$tmp/answer")"
}
is_told() { ask "${@:2}" </dev/null 2>/dev/null | grep -qF -- "$1"; }
listens() { grep -q 'listens at' "$tmp/web.err"; }
# begin [OPTION...]
begin() {
    start web "$MUSTER" web --listen 127.0.0.1:0 "$@"
    wait_for listens
    port=$(grep -oE '[0-9]+/$' "$tmp/web.err" | tr -d /)
}
start_redis
begin

# ---- 1
told '<!doctype html>' GET /
told 'Chart' GET /assets/chart.js
told '404' GET /assets/../../etc/passwd
ask HEAD / headers >"$tmp/answer" </dev/null
for header in "Content-Security-Policy: default-src 'none'" 'X-Content-Type-Options: nosniff' 'X-Frame-Options: DENY'; do
    grep -qF "$header" "$tmp/answer" || fail "no header $header in $(cat "$tmp/answer")"
done

# ---- 2
csrf=$(ask GET /api/session </dev/null | grep -oE '"csrf":"[0-9a-f]+"' | cut -d '"' -f 4)
"$MUSTER" enqueue mail one '<script>two</script>' >"$tmp/out"
"$MUSTER" put print --id p1 data >"$tmp/out"
"$MUSTER" put print --id p2 data --after p1 --tag both --tag two >"$tmp/out"
for pair in '/api/queues/mail/tasks peek mail' '/api/jobs/p1 job p1' '/api/jobs?queue=print&state=waiting jobs --queue print --state waiting' \
    '/api/stats?queue=print stats --queue print' '/api/processes ps' '/api/processes?holder=nobody ps --holder nobody' '/api/failed failed' '/api/jobs/p2/parents job p2 --parents'; do
    read -r path verb <<<"$pair"
    # shellcheck disable=SC2086
    "$MUSTER" $verb --json | while read -r row; do
        told "$row" GET "$path"
    done
done
wait_for is_told '"queue":"mail","waiting":2' GET /api/queues
told '"name":"max_running"' GET /api/queues/mail
told '"next":"1"' GET '/api/queues/mail/tasks?count=1'
told '<script>two' GET '/api/queues/mail/tasks?count=1&cursor=1'
# Long tasks: the answer is cut, says so, and the cursor leads to the end.
long=$(head -c 70000 /dev/zero | tr '\0' x)
for _ in {1..15}; do
    "$MUSTER" enqueue long "$long"{0..9} >"$tmp/out"
done
python3 - "$port" <<'PYTHON' || fail 'the pages of long tasks'
import json, sys, urllib.request
def get(query):
    return json.load(urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/api/queues/long/tasks?{query}"))
page, cursor, rows, cuts = None, "0", 0, 0
while cursor is not None:
    page = get(f"count=500&cursor={cursor}")
    assert 1 <= len(page["items"]) <= 70, len(page["items"])
    rows, cursor, cuts = rows + len(page["items"]), page["next"], cuts + ("cut" in page)
assert (rows, cuts) == (150, 2), (rows, cuts)
assert get("count=1")["next"] == "1" and "cut" not in get("count=1")
PYTHON
"$MUSTER" delete long --yes >"$tmp/out"
# Of a long job a list has the beginning, and so has one job if it is asked for.
"$MUSTER" put long --id long "$long" >"$tmp/out"
python3 - "$port" <<'PYTHON' || fail 'a long job'
import json, sys, urllib.request
def get(query):
    return json.load(urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/api/jobs{query}"))
rows = [get("?queue=long&state=waiting")["items"][0], get("/long?head=true"), get("/long")]
assert [(len(row["data"]), row["len"]) for row in rows] == [(65536, 70000)] * 2 + [(70000, 70000)]
PYTHON
"$MUSTER" delete long --yes >"$tmp/out"
told '"server":"unix://' GET /api/session
# Parameters are understood as a whole, or refused.
for query in 'count=1&x' 'count' "$(printf 'a%s=&' {1..70})b="; do
    told '400' GET "/api/queues/mail/tasks?$query" headers
done
told '400' GET '/api/jobs?queue=print%00zz&state=waiting' headers
told '400' GET '/api/history?since' headers
told '"id":"p2"' GET '/api/jobs?tag=both&tag=two'
told '"waiting":1' GET '/api/jobs?newest=false&tracked=0'
told '400' GET '/api/jobs?newest=maybe' headers
start worker "$MUSTER" work idle --id w -- true
wait_for is_told '"epoch":"' GET /api/workers
[[ $("$MUSTER" workers --json) =~ \"epoch\":\"[0-9a-v]{11}\" ]] || fail "no epoch: $("$MUSTER" workers --json)"
end worker TERM 0
post 200 /api/queues/mail/pause '{}'
told '"paused":true' GET /api/queues/mail
post 200 /api/queues/mail/resume '{}'
post 200 /api/queues/mail/enqueue '{"tasks":["--three"]}'
post 200 /api/queues/mail/config '{"set":{"max_running":3}}'
post 200 /api/queues/later/put '{"data":"--it","id":"j1","priority":-5,"delay":"1h","tags":["t","u"],"after":["p1"],"retries":2}'
grep -qF '{"done":1,"items":[{"id":"j1","queue":"later"}]}' "$tmp/answer" || fail "put: $(cat "$tmp/answer")"
"$MUSTER" job j1 --json >"$tmp/out"
for part in '"queue":"later","state":"depends","priority":-5,"retries":2' '"tags":["t","u"]' '"data":"--it","after":["p1"]'; do
    grep -qF "$part" "$tmp/out" || fail "the job lacks $part: $(cat "$tmp/out")"
done
post 409 /api/queues/later/put '{"data":"x","id":"j1"}'
grep -qF '"error":"E_EXISTS"' "$tmp/answer" || fail "put twice: $(cat "$tmp/answer")"
post 200 /api/queues/later/put '{"data":"y","id":"j1","replace":true}'
post 200 /api/queues/later/put '{"data":"z","id":"c1","cron":"@daily","zone":"Asia/Tokyo","count":3,"overlap":"skip"}'
post 200 /api/queues/later/put '{"data":"k","id":"k1","key":"customer-7"}'
[[ $("$MUSTER" job k1 --json) == *'"key":"customer-7"'* ]] || fail 'the job has no key'
post 200 /api/jobs/c1/change '{"cron":"@hourly"}'
"$MUSTER" job c1 --json >"$tmp/out"
grep -qF '"cron":"@hourly","zone":"Asia/Tokyo",' "$tmp/out" || fail "the schedule: $(cat "$tmp/out")"
# A name that is not UTF-8 stands in a body as it does in an answer.
"$MUSTER" enqueue $'\xff' one two >"$tmp/out"
"$MUSTER" fail "$("$MUSTER" take --lease 1h $'\xff' | cut -f 1)" --group $'g\xfe' >"$tmp/out"
post 200 /api/failed/replay '{"queue_base64":"/w==","group_base64":"Z/4="}'
grep -qF '{"done":1,' "$tmp/answer" || fail "replay: $(cat "$tmp/answer")"
process=$("$MUSTER" take --lease 1h $'\xff' | cut -f 1)
post 200 /api/processes/cancel "{\"id_base64\":\"$(printf %s "$process" | base64 -w 0)\"}"
post 200 /api/queues/later/put '{"data":"x","id":"named","tags_base64":["/w==","YQ=="]}'
[[ $("$MUSTER" job named --json) == *'"tags_base64":["'@('/w==","YQ=='|'YQ==","/w==')'"]'* ]] || fail "$("$MUSTER" job named --json)"
for body in '{"queue_base64":"/w=","all":true}' '{"queue_base64":"/w==x","all":true}' '{"queue_base64":"YQBi","all":true}' \
    '{"queue_base64":7,"all":true}' '{"queue_base64":["/w==",{}],"all":true}' '{"queue":"a","queue_base64":"/w==","all":true}' '{"_base64":"YQ=="}'; do
    post 400 /api/failed/replay "$body"
done
"$MUSTER" delete $'\xff' --yes >"$tmp/out" 2>&1 || fail "$(cat "$tmp/out")"
post 404 /api/queues/later/put '{"data":"","after":["nobody"]}'
grep -qF "there is no job 'nobody' for the job" "$tmp/answer" || fail "no word: $(cat "$tmp/answer")"
post 200 /api/queues/later/put '{"data":"","after":["nobody"],"may_be_missing":true}'
for body in '{}' '{"data":null}' '{"data":["a"]}' '{"data":7}' '{"data":"x","delay":"soon"}' '{"data":"x","every":"1d","delay":"1h"}'; do
    post 400 /api/queues/later/put "$body"
done
grep -qF 'delay, at and after are not for a recurring job; offset, or from, sets' "$tmp/answer" || fail "options: $(cat "$tmp/answer")"
"$MUSTER" enqueue slow tortoise >"$tmp/out"
"$MUSTER" retry "$("$MUSTER" take --lease 1h slow | cut -f 1)" --delay 1h >"$tmp/out"
told "$("$MUSTER" peek slow --delayed --json)" GET '/api/queues/slow/delayed?count=1'
told '"id":"p1"' GET '/api/jobs?state=waiting'
told '"id":"p2"' GET '/api/jobs?queue=print&newest=1&count=1'
told 'state: it must be one of' GET '/api/jobs?queue=mail&state=hungry'
told "there is no parameter 'sate' here" GET '/api/jobs?sate=waiting'
[[ $("$MUSTER" config --queue mail max_running) == 3 ]] || fail 'max_running was not set'
post 200 /api/jobs/p1/change '{"priority":-2,"tags_add":["t"]}'
[[ $("$MUSTER" job p1 --json) == *'"priority":-2'*'"tags":["t"]'* ]] || fail "the job was not changed"
"$MUSTER" batch open trip --on-end after --on-failure alarm >"$tmp/out"
post 200 /api/queues/later/put '{"data":"x","id":"t1","batch":"trip"}'
told "$("$MUSTER" batch trip --json)" GET /api/batches/trip
"$MUSTER" batch open other >"$tmp/out"
told "$("$MUSTER" batches --json | head -n 1)" GET '/api/batches?count=1'
told '"next":"1"' GET '/api/batches?count=1'
told '404' GET /api/batches/nobody headers
post 200 /api/batches/trip/close '{}'
post 200 /api/batches/trip/cancel '{}'
grep -qF '"removed":1' "$tmp/answer" || fail "the batch was not cancelled: $(cat "$tmp/answer")"
post 200 /api/batches/other/close '{}'
post 409 /api/batches/other/cancel '{}'
process=$("$MUSTER" take --lease 1h mail | cut -f 1)
told "$process" GET '/api/processes?queue=mail'
post 200 /api/processes/cancel "{\"id\":\"$process\"}"
"$MUSTER" finish "$process" >"$tmp/out"
process=$("$MUSTER" take --lease 1h print | cut -f 1)
"$MUSTER" fail "$process" --group broken >"$tmp/out"
told '"group":"broken","failed":1' GET /api/failed
told '"job":"p1"' GET '/api/failed?queue=print'
# What would have no effect is refused: it may be meant to choose.
told '400' GET '/api/failed?group=broken' headers
told 'group are for the entries of a QUEUE, which is missing' GET '/api/failed?group=broken'
told 'past is for a list by' GET '/api/jobs?past=5:p1'
post 200 /api/jobs/p1/replay '{}'
grep -qF '"done":1' "$tmp/answer" || fail "the job was not replayed: $(cat "$tmp/answer")"
post 200 /api/jobs/p1/cancel '{"all":true}'
post 200 /api/queues/mail/delete '{}'

many() { seq -f "\"$1%g\"" -s , 1 "$2"; }
"$MUSTER" put many --lines < <(seq 100) >"$tmp/after"
post 200 /api/queues/many/put "{\"data\":\"x\",\"id\":\"many\",\"tags\":[$(many t 100)],\"after\":[$(sed 's/.*/"&"/' "$tmp/after" | paste -sd ,)]}"
post 200 /api/jobs/many/change "{\"tags_remove\":[$(many t 100)]}"
[[ $("$MUSTER" job many --json) == *'"tags":[]'* ]] || fail "its tags: $("$MUSTER" job many --json)"
"$MUSTER" delete many --yes >"$tmp/out"

# ---- 3
post 404 /api/workers/nobody/fail '{}'
grep -qF '"error":"E_NOT_FOUND"' "$tmp/answer" || fail "no name of the error: $(cat "$tmp/answer")"
post 400 /api/failed/replay '{"queue":"mail"}'
post 400 /api/queues/mail/config '{"set":{"max_running":"many"}}'
post 400 /api/queues/mail/pause '[1]'
post 405 /api/queues/mail/tasks '{}'
post 404 /api/nowhere '{}'
# A number, or a truth, is made no name of: two large numbers would become one.
for name in id key batch cron zone overlap backoff from until at tags after after_end after_failure; do
    for value in 1234567890123456789 7 true '["a",7]' '{}'; do
        post 400 /api/queues/named/put "{\"data\":\"x\",\"$name\":$value}"
        grep -qF "$name must be a text, in quotes" "$tmp/answer" || fail "$name, $value: $(cat "$tmp/answer")"
    done
done
# Nor is a list, an empty one least of all, a value of what there can be only one.
for name in id key batch cron priority delay retries; do
    for value in '[]' '["1"]'; do
        post 400 /api/queues/named/put "{\"data\":\"x\",\"$name\":$value}"
        grep -qE "$name must be a text( or a number|, in quotes)" "$tmp/answer" || fail "$name, $value: $(cat "$tmp/answer")"
    done
done
for body in 'processes/cancel {"id":7' 'failed/drop {"queue":7,"all":true' 'failed/drop {"queue":"named","entry":7' \
    'failed/drop {"queue":"named","group":7' 'jobs/j1/change {"queue":7' 'jobs/j1/change {"tags_add":[7]' \
    'jobs/j1/change {"tags_remove":7' 'jobs/j1/change {"log":7' 'queues/named/enqueue {"tasks":[7]' \
    'queues/named/config {"clear":[7]'; do
    post 400 "/api/${body%% *}" "${body#* }}"
    grep -qE 'text' "$tmp/answer" || fail "$body: $(cat "$tmp/answer")"
done
post 400 /api/queues/named/put '{"data":"x","priority":9007199254740993}'
grep -qF 'priority must be a text, in quotes, because the number is too large' "$tmp/answer" || fail "$(cat "$tmp/answer")"
for body in '{"data":"x","id":"a","id":"b"}' '{"data":"x","data":"y"}' '{"data":"x","tags":["a"],"tags":["b"]}'; do
    post 400 /api/queues/named/put "$body"
    grep -qF 'is there more than once' "$tmp/answer" || fail "$body: $(cat "$tmp/answer")"
done
post 400 /api/queues/named/config '{"set":{"max_running":3,"max_running":4}}'
post 400 /api/queues/named/config '{"set":{"max_running":true}}'
post 400 /api/queues/named/config '{"set":{"max_running":3},"clear":"rate"}'
# However long a name is, the words are UTF-8.
for letter in é €; do
    name=$(printf "$letter%.0s" {1..150})
    for body in "{\"$name\":1}" "{\"set\":{\"$name\":true}}" "{\"set\":{\"$name\":1,\"$name\":1}}"; do
        post 400 /api/queues/named/config "$body"
        iconv -f UTF-8 -t UTF-8 "$tmp/answer" >"$tmp/out" || fail "no UTF-8: $(cat "$tmp/answer")"
    done
done
for set in '[3]' '[3,4]' '["a","a"]' '[{"max_running":3},{"max_running":4}]' '"max_running=3"' 3 true; do
    post 400 /api/queues/named/config "{\"set\":$set}"
    grep -qF 'set must be an object' "$tmp/answer" || fail "$set: $(cat "$tmp/answer")"
done
"$MUSTER" queues named >"$tmp/out" 2>&1 && fail "something was put: $(cat "$tmp/out")"
post 200 /api/queues/named/config '{"set":{"rate_ms":31622400000,"rate":"7"}}'
[[ $("$MUSTER" config --queue named rate_ms 2>"$tmp/err") == 31622400000 ]] || fail 'the number was not set'
"$MUSTER" enqueue kept task >"$tmp/out"
"$MUSTER" fail "$("$MUSTER" take --lease 1h kept | cut -f 1)" --group g >"$tmp/out"
for choice in '' ',"all":"no"' ',"group":{},"all":true' ',"group":"g","all":true' ',"group":["g","h"]' ',"group":[]' ',"entry":[],"all":1'; do
    post 400 /api/failed/drop "{\"queue\":\"kept\"$choice}"
done
told '"group":"g","failed":1' GET /api/failed
for tasks in '["a\u0000b"]' '[1]' '[null]' '[]' '"a"'; do
    post 400 /api/queues/kept/enqueue "{\"tasks\":$tasks}"
done
post 200 /api/queues/kept/enqueue '{"tasks":["a\\u0000b"]}'
post 400 /api/queues/kept/pause '{"force":true}'
for front in '"no"' 2 '[]'; do
    post 400 /api/queues/kept/enqueue "{\"tasks\":[\"z\"],\"front\":$front}"
done
"$MUSTER" put cancels --id cancelled data >"$tmp/out"
post 400 /api/jobs/cancelled/track '{"tracked":"no"}'
post 400 /api/jobs/cancelled/cancel '{"all":"no"}'
post 200 /api/jobs/cancelled/cancel '{"all":false}'
post 404 /api/jobs/cancelled/cancel '{}'
for method in PUT DELETE PATCH OPTIONS; do
    told '"error":"E_INVALID"' "$method" /api/queues/kept
    told 405 "$method" /api/queues/kept headers
done
told 400 GET '/api/history?since=x' headers
told 400 GET '/api/queues/kept/tasks?count=0' headers
for path in '%zz' '%' '%0' 'kept/tasks?count=-5' 'kept/tasks?cursor=1x' 'kept/tasks?from=1' 'kept?x=%z'; do
    told 400 GET "/api/queues/$path"
done
told 404 GET /api/queues/nothing
ask GET /api/queues/kept headers >"$tmp/answer" </dev/null
grep -qF 'Cache-Control: no-store' "$tmp/answer" || fail "kept by a browser: $(cat "$tmp/answer")"
told '"items"' GET '/api/queues/not%FFthere/tasks'
python3 -c 'import json, sys; json.loads(open(sys.argv[1], "rb").read().split(b"\n", 1)[1])' "$tmp/answer" ||
    fail 'an answer is no JSON'
told 405 GET /api/queues/mail/pause
ask POST /api/queues/mail/pause 'Content-Type: application/json' <<<'{}' >"$tmp/answer"
grep -q '^403$' "$tmp/answer" || fail 'a change without the secret'
ask POST /api/queues/later/put 'Content-Type: application/json' <<<'{"data":"x","id":"unsaid"}' >"$tmp/answer"
grep -q '^403$' "$tmp/answer" || fail 'a job without the secret'
check_exit 3 "$MUSTER" job unsaid
ask POST /api/queues/mail/pause 'Content-Type: application/json' "X-Muster-CSRF: $csrf" 'Origin: http://evil.example' <<<'{}' >"$tmp/answer"
grep -q '^403$' "$tmp/answer" || fail 'a change from another site'
ask POST /api/queues/mail/pause 'Content-Type: text/plain' "X-Muster-CSRF: $csrf" <<<'{}' >"$tmp/answer"
grep -q '^415$' "$tmp/answer" || fail 'a change by a form'
told 403 GET /api/queues 'Host: evil.example'
[[ $("$MUSTER" queues --json) != *'"paused":true'* ]] || fail 'something was changed'

# ---- 4
wait_for is_told 'muster_up 1' GET /metrics
told '"state":"well","tried":"write"' GET /healthz
told 'muster_queue_tasks_enqueued_total{queue="kept"} 2' GET /metrics
"$MUSTER" config --queue keyed max_running_per_key=1
"$MUSTER" put keyed --id first --key k data >"$tmp/out"
"$MUSTER" put keyed --id second --key k data >"$tmp/out"
wait_for is_told '"held":1}' GET /api/overview
told 'muster_queue_tasks{queue="keyed",state="held"} 1' GET /metrics
redis HSET muster:queue:kept stalls 3 deaths 4 >"$tmp/out" # live/test_jobs_kept has the counting
wait_for is_told 'muster_queue_stalled_total{queue="kept"} 3' GET /metrics
told 'muster_queue_died_total{queue="kept"} 4' GET /metrics
counts() { is_told '"in_per_s":0,"out_per_s":0' GET /api/overview; }
wait_for counts
kill "${pids[redis]}"
wait_for is_told 'muster_up 0' GET /metrics
wait_for is_told 503 GET /healthz
told '"error":"E_CONN"' GET /healthz
told '"error":"E_CONN"' GET /api/queues
rm -f "$socket"
start_redis
wait_for is_told 'muster_up 1' GET /metrics

# ---- 5
start stream python3 "$(dirname "$0")/web_ask.py" "$port" GET /api/live stream
heard() { grep -qF -- "$1" "$tmp/stream.out"; }
wait_for heard 'event: overview'
id=0
put_one() {
    id=$((id + 1))
    "$MUSTER" put print --id "heard-$id" data >"$tmp/out" && heard '"what":"put","id":"heard-'
}
wait_for put_one
wait_for heard '"queue":"print"'
# One connection hears all of it, and each gap is told.
times() { grep -cF -- "$1" "$tmp/stream.out" || true; }
is_told_times() { (($(times "$1") >= $2)); }
wait_for heard '"heard":true'
connections() { redis INFO stats | tr -d '\r' | sed -n 's/^total_connections_received://p'; }
before=$(connections)
wait_for is_told_times 'event: overview' "$(($(times 'event: overview') + 4))"
(($(connections) == before + 1)) || fail "connections: $before, and now $(connections)" # this one
! heard '"heard":false' || fail "a gap: $(grep -F hearing "$tmp/stream.out")"
seq 1000 | "$MUSTER" put print --lines >"$tmp/out"
all_are_told() { while read -r id; do heard "\"what\":\"put\",\"id\":\"$id\"" || return 1; done <"$tmp/out"; }
wait_for all_are_told
redis CLIENT KILL TYPE pubsub >"$tmp/out"
wait_for heard '"heard":false,"error":"E_CONN"'
wait_for is_told_times '"heard":true' 2
! is_told_times '"heard":true' 3 || fail "ready more often: $(grep -F hearing "$tmp/stream.out")"
kill "${pids[stream]}"
wait "${pids[stream]}" 2>/dev/null || true
unset 'pids[stream]'
# Nobody views: nobody listens; and who comes then is told anew from when on nothing is missed.
has_no_listener() { [[ $(redis CLIENT LIST TYPE pubsub) == '' ]]; }
wait_for has_no_listener
start stream python3 "$(dirname "$0")/web_ask.py" "$port" GET /api/live stream
wait_for heard '"heard":true'

# ---- 7, 6
end web TERM 0
check_exit 2 "$MUSTER" web --listen 0.0.0.0:0
check_err 'a token is needed'
echo hidden-token >"$tmp/token"
chmod 600 "$tmp/token"
begin --token-file "$tmp/token" --read-only
for path in /api/session /api/queues /metrics /healthz /api/live; do
    told 401 GET "$path"
    told 401 GET "$path" 'Authorization: Bearer hidden-toke'
    told 401 GET "$path" 'Cookie: muster_session=hidden-token'
done
told '/login' GET / headers
told '"read_only":true' GET /api/session 'Authorization: Bearer hidden-token'
csrf=$(ask GET /api/session 'Authorization: Bearer hidden-token' </dev/null | grep -oE '"csrf":"[0-9a-f]+"' | cut -d '"' -f 4)
# A long login with many names must not hold the others up: none of it is looked at.
python3 -c 'print("&".join("%06x=" % i for i in range(130000)), end="")' >"$tmp/names"
ask POST /login headers <"$tmp/names" >"$tmp/answer"
grep -q 'failed' "$tmp/answer" || fail "a login of $(wc -c <"$tmp/names") bytes: $(cat "$tmp/answer")"
ask POST /login headers <<<'token=wrong' >"$tmp/answer"
grep -qF 'Location: /login?failed' "$tmp/answer" || fail "signed in with a wrong token: $(cat "$tmp/answer")"
ask POST /login headers <<<'token=hidden-token' >"$tmp/answer"
cookie=$(grep -oE 'muster_session=[0-9a-f]+' "$tmp/answer")
grep -qF 'HttpOnly; SameSite=Strict' "$tmp/answer" || fail "the cookie: $(cat "$tmp/answer")"
told '"items"' GET /api/queues "Cookie: other=1; $cookie"
ask POST /api/queues/print/pause "Cookie: $cookie" "X-Muster-CSRF: $csrf" 'Content-Type: application/json' <<<'{}' >"$tmp/answer"
grep -qF 'read-only' "$tmp/answer" || fail "read-only: $(cat "$tmp/answer")"
ask POST /api/queues/later/put "Cookie: $cookie" "X-Muster-CSRF: $csrf" 'Content-Type: application/json' \
    <<<'{"data":"x","id":"unsaid"}' >"$tmp/answer"
grep -qF 'read-only' "$tmp/answer" || fail "read-only: $(cat "$tmp/answer")"
check_exit 3 "$MUSTER" job unsaid
! grep -rqF hidden-token "$tmp/web.err" "$tmp/answer" || fail 'the token is shown'
end web TERM 0

unset MUSTER_TIMEOUT # what is asked of a server that is not there is tried for so long
# What Redis has not answered in time may have been done, which is said.
begin --timeout 1s
csrf=$(ask GET /api/session </dev/null | grep -oE '"csrf":"[0-9a-f]+"' | cut -d '"' -f 4)
redis CLIENT PAUSE 600000 WRITE >"$tmp/out"
post 503 /api/queues/mail/pause '{}'
grep -qF 'no answer within 1000 ms; it may have been done: look before' "$tmp/answer" || fail "too late: $(cat "$tmp/answer")"
redis CLIENT UNPAUSE >"$tmp/out"
end web TERM 0
is_ill() { grep -q 'keeps trying$' "$tmp/web.err"; }
# What may be a secret in the URL is not shown.
for url in 'redis+sentinel://u:hidden-1@127.0.0.1:1/m?sentinel_password=abc@hidden-2' "unix://u:hid?den@$socket-gone"; do
    begin --url "$url"
    ask GET /api/session </dev/null >"$tmp/answer"
    grep -qE '"server":"(redis\+sentinel://127.0.0.1:1/m|unix:///[^"]*)"' "$tmp/answer" || fail "where: $(cat "$tmp/answer")"
    ! grep -q 'hid' "$tmp/answer" || fail "a secret is shown: $(cat "$tmp/answer")"
    wait_for is_ill
    end web TERM 0
done
