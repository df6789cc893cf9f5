#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# muster work --status. Proves:
#  1. the metrics are those of this worker, agree with what ran, and promtool finds nothing wrong in them
#  2. / says who it is; nothing else is there, nothing can be changed, and another name of the host is refused
#  3. the health is 200 while it works, and 503 in words while Redis is away, before the first registration, while the
#     loop stands still, and while it stops
#  4. 1 000 connections, and those who ask and never read, hold up no task
#  5. beyond loopback it needs a token; with one nothing is told without it
#  6. a port that is taken, and options that have no effect, are refused before anything is registered
#  7. no command that the worker runs has a descriptor of the server
#  8. standard error that nobody reads holds up neither its thread, which has to say what it lacks, nor the worker's end
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
unset MUSTER_TIMEOUT # a Redis that does not answer is part of this

here=$(dirname "$0")
ask() { python3 "$here/web_ask.py" "$port" "$@" </dev/null; }
told() {
    ask "${@:2}" >"$tmp/answer" || fail "${*:2}: no answer"
    grep -qF -- "$1" "$tmp/answer" || fail "${*:2}: no '$1' in $(head -c 600 "$tmp/answer")"
}
is_told() { ask "${@:2}" 2>/dev/null | grep -qF -- "$1"; }
has_status() { grep -q 'its status is at' "$tmp/worker.err"; }
# begin ARGUMENT...: a worker with a status
begin() {
    start worker "$MUSTER" work "$@"
    wait_for has_status
    port=$(grep -oE 'http://[^ ]+:[0-9]+/' "$tmp/worker.err" | head -n 1 | grep -oE '[0-9]+/$' | tr -d /)
}
value() { sed 1d "$tmp/answer" | sed -nE "s/^$1 //p"; }
is_value() { ask GET /metrics >"$tmp/answer" && [[ $(value "$1") == "$2" ]]; }
start_redis
cat >"$tmp/command" <<'COMMAND'
#!/bin/sh
read -r task
ls -l "/proc/$$/fd" >>"$FDS"
case $task in
fail) exit 1 ;;
long) sleep 60 ;;
esac
COMMAND
chmod +x "$tmp/command"
export FDS=$tmp/fds

# ---- 1
begin q --id w --status 127.0.0.1:0 -- "$tmp/command"
"$MUSTER" enqueue q one two three fail >"$tmp/out"
wait_for is_value 'muster_tasks_finished_total[{]outcome="finished"[}]' 3
wait_for is_value 'muster_tasks_finished_total[{]outcome="failed"[}]' 1
wait_for is_value muster_tasks_held 0
for pair in 'muster_tasks_taken_total 4' 'muster_tasks_started_total 4' 'muster_task_run_seconds_count 4' \
    'muster_task_run_seconds_bucket[{]le="[+]Inf"[}] 4' 'muster_tasks_running 0' 'muster_hands 1' 'muster_registered 1' \
    'muster_subscribed 1' 'muster_healthy 1' 'muster_stopping 0' 'muster_stale_results_total 0'; do
    read -r name number <<<"$pair"
    [[ $(value "$name") == "$number" ]] || fail "$name is $(value "$name"), not $number"
done
"$MUSTER" put q data --id job >"$tmp/out"
wait_for is_value muster_task_wait_seconds_count 1
sed 1d "$tmp/answer" >"$tmp/metrics"
! cut -d ' ' -f 1 "$tmp/metrics" | grep -F '"w"' || fail 'the id is a label'
if command -v promtool >/dev/null; then
    promtool check metrics <"$tmp/metrics" >"$tmp/out" 2>&1 || fail "promtool: $(cat "$tmp/out")"
    [[ ! -s $tmp/out ]] || fail "promtool: $(cat "$tmp/out")"
fi
# No name is that of a metric of the dashboard, but the version.
grep -oE '^# TYPE [a-z_]+' "$tmp/metrics" | cut -d ' ' -f 3 | sort >"$tmp/names"
(($(wc -l <"$tmp/names") > 30)) || fail "too few metrics: $(cat "$tmp/names")"
start web "$MUSTER" web --listen 127.0.0.1:0
listens() { grep -q 'listens at' "$tmp/web.err"; }
wait_for listens
(port=$(grep -oE '[0-9]+/$' "$tmp/web.err" | tr -d /) && ask GET /metrics) | grep -oE '^# TYPE [a-z_]+' | cut -d ' ' -f 3 |
    sort >"$tmp/others"
[[ $(comm -12 "$tmp/names" "$tmp/others") == muster_build_info ]] || fail "both have $(comm -12 "$tmp/names" "$tmp/others")"
end web TERM 0

# ---- 2
told '"worker":"w"' GET /
for text in '"state":"well"' '"queues":["q"]' '"ttl_ms":3000' '"prefix":"muster"' "\"pid\":${pids[worker]}"; do
    told "$text" GET /
done
told 404 GET /api/queues
told 405 POST /healthz
told 403 GET /metrics 'Host: evil.example'
grep -qF 'ask by its address' "$tmp/answer" || fail "what to do is not told: $(cat "$tmp/answer")"
told 400 GET '/%zz'

# ---- 7
! grep -q socket "$tmp/fds" || fail "a command has a socket of the worker: $(cat "$tmp/fds")"
[[ -s $tmp/fds ]] || fail 'no command has run'

# ---- 3
told 200 GET /healthz
told '"state":"well"' GET /healthz
kill -STOP "${pids[redis]}"
wait_for is_told '"state":"suspended"' GET /healthz
told 503 GET /healthz
told 'no heartbeat was confirmed' GET /healthz
wait_for is_told 'muster_healthy 0' GET /metrics
kill -CONT "${pids[redis]}"
wait_for is_told '"state":"well"' GET /healthz
"$MUSTER" enqueue q long >"$tmp/out"
wait_for is_value muster_tasks_running 1
kill -TERM "${pids[worker]}"
wait_for is_told '"state":"stopping"' GET /healthz
told 503 GET /healthz
told 'and 1 handler runs' GET /healthz
told 'muster_stopping 1' GET /metrics
end worker TERM 0
"$MUSTER" delete q --yes >"$tmp/out"

# Standard output that nobody reads does not hold up the loop.
mkfifo "$tmp/pipe"
exec {reader}<>"$tmp/pipe"
head -c 65536 /dev/zero >"$tmp/pipe"
start_with_pipe() {
    # shellcheck disable=SC2016 # it is the inner shell that opens the pipe
    start worker bash -c 'exec "$@" >"$0"' "$tmp/pipe" "$MUSTER" work q --print --ttl 60s --status 127.0.0.1:0
}
start_with_pipe
wait_for has_status
port=$(grep -oE '[0-9]+/$' "$tmp/worker.err" | tr -d /)
wait_for is_told 200 GET /healthz
"$MUSTER" enqueue q task >"$tmp/out"
wait_for is_value muster_tasks_running 1
told '"state":"well"' GET /healthz
head -c 65536 <&"$reader" >"$tmp/out"
end worker TERM 0
exec {reader}<&-

# A loop that stands still is told by the thread that does not.
start worker env MUSTER_FAILPOINT=turn:before_send:1:hold MUSTER_FAILPOINT_FILE="$tmp/hold" \
    "$MUSTER" work q --ttl 60s --status 127.0.0.1:0 -- true
wait_for has_status
port=$(grep -oE '[0-9]+/$' "$tmp/worker.err" | tr -d /)
wait_for is_told 200 GET /healthz
: >"$tmp/hold"
"$MUSTER" enqueue q task >"$tmp/out"
wait_for is_told '"state":"stuck"' GET /healthz
told 'stands still' GET /healthz
told 503 GET /healthz
rm "$tmp/hold"
wait_for is_told '"state":"well"' GET /healthz
end worker TERM 0

start worker env MUSTER_URL="unix://$tmp/nobody" "$MUSTER" work q --status 127.0.0.1:0 --log json -- true
wait_for has_status
port=$(grep -oE 'http://[^ ]+:[0-9]+/' "$tmp/worker.err" | head -n 1 | grep -oE '[0-9]+/$' | tr -d /)
wait_for is_told '"error":"E_CONN"' GET /healthz
told '"state":"connecting"' GET /healthz
told 'not registered: no Redis' GET /healthz
told 503 GET /healthz
grep -qF '"level":"info","event":"status"' "$tmp/worker.err" || fail "no line of the log: $(cat "$tmp/worker.err")"
end worker TERM 0

# ---- 4
begin q --id w --status 127.0.0.1:0 -- true
python3 - "$port" "$MUSTER" <<'PYTHON' >"$tmp/out" || fail "$(cat "$tmp/out")"
import http.client, json, resource, socket, subprocess, sys, time
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
port, muster, wrong = int(sys.argv[1]), sys.argv[2], []

opened = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
def ask(path):
    opened.request("GET", path)
    answer = opened.getresponse()
    return answer.status, answer.read().decode()
def figure(name):
    return next(float(line.split()[1]) for line in ask("/metrics")[1].splitlines() if line.startswith(name + " "))

if ask("/healthz")[0] != 200:
    wrong.append("not well at first")
many = []
for i in range(1000):
    s = socket.socket()
    s.setblocking(False)
    s.connect_ex(("127.0.0.1", port))
    many.append(s)
for s in many[:60]:  # each wants megabytes, and reads nothing
    try:
        s.setblocking(True)
        s.settimeout(0.2)
        s.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 300)
    except OSError:
        pass
before = figure("muster_tasks_started_total")
subprocess.run([muster, "enqueue", "q", *map(str, range(50))], check=True, stdout=subprocess.DEVNULL)
end = time.monotonic() + 120
while figure("muster_tasks_started_total") < before + 50 and time.monotonic() < end:
    time.sleep(0.05)
if figure("muster_tasks_started_total") != before + 50:
    wrong.append(f"only {figure('muster_tasks_started_total') - before} tasks were started")
if ask("/healthz")[0] != 200 or figure("muster_doubts_total") != 0:
    wrong.append(f"it is not well: {ask('/healthz')}")
for s in many:
    s.close()
print(*wrong, sep="\n")
sys.exit(bool(wrong))
PYTHON
wait_for is_told '"state":"well"' GET /healthz

# ---- 6
check_exit 1 "$MUSTER" work q --id other --status "127.0.0.1:$port" -- true
check_err "cannot listen at 127.0.0.1 port $port: Address already in use"
check_redis 0 EXISTS muster:worker:other
check_exit 2 "$MUSTER" work q --status 0.0.0.0:0 -- true
check_err 'beyond loopback a token is needed: --status-token-file'
check_exit 2 "$MUSTER" work q --status-token-file "$tmp/token" -- true
check_err '--status-token-file is for --status'
check_exit 2 "$MUSTER" work q --status nonsense -- true
check_err 'ADDR:PORT'
end worker TERM 0
# With each number of descriptors that is too small it ends: by itself, or as soon as it is told to. Who asks one that has
# none left waits, and that is told once.
lacking=0
answers() { grep -qm 1 ' accept' "$tmp/worker.err" || read -rt 0.01 -u "$asker" _; }
for n in {5..16}; do
    start worker env ASAN_OPTIONS=detect_leaks=0 bash -c "ulimit -n $n && exec \"\$@\"" bash "$MUSTER" work q --status 127.0.0.1:0 -- true
    wait_for eval "says worker 'keeps trying' || says worker 'takes tasks' || has_ended worker"
    if ! runs worker; then
        check_end worker 1
        continue
    fi
    port=$(grep -oE 'http://[^ ]+:[0-9]+/' "$tmp/worker.err" | grep -oE '[0-9]+/$' | tr -d /)
    exec {asker}<>"/dev/tcp/127.0.0.1/$port"
    printf 'GET / HTTP/1.1\r\nHost: 127.0.0.1:%s\r\n\r\n' "$port" >&"$asker"
    wait_for answers
    exec {asker}>&-
    ! grep -qm 1 'from accept' "$tmp/worker.err" || fail "$n: told again and again: $(head -c 600 "$tmp/worker.err")"
    ((lacking += $(grep -c 'cannot accept a connection: Too many open files' "$tmp/worker.err" || true)))
    end worker TERM 0
done
((lacking > 0)) || fail 'it lacked nothing'

# ---- 8
most=40
mkfifo "$tmp/unread"
exec {unread}<>"$tmp/unread"
# shellcheck disable=SC2016 # it is the inner shell that opens the pipe
start worker env ASAN_OPTIONS=detect_leaks=0 bash -c 'ulimit -n "$1" && exec "${@:2}" 2>"$0"' "$tmp/unread" "$most" "$MUSTER" work q \
    --status 127.0.0.1:0 -- true
said=
has_said() {
    local line
    while read -rt 0.01 -u "$unread" line; do
        said+=$line$'\n'
    done
    [[ $said == *"$1"* ]]
}
wait_for has_said 'takes tasks'
port=$(grep -oE 'http://[^ ]+:[0-9]+/' <<<"$said" | grep -oE '[0-9]+/$' | tr -d /)
! dd if=/dev/zero of="$tmp/unread" oflag=nonblock bs=4096 2>"$tmp/out" || fail 'the pipe has no end'
askers=()
for ((n = 0; n < most; n++)); do
    exec {asker}<>"/dev/tcp/127.0.0.1/$port"
    askers+=("$asker")
done
has_no_more() {
    local all=("/proc/${pids[worker]}/fd"/*)
    ((${#all[@]} >= most))
}
wait_for has_no_more
# turns: how often the threads beside the first one have gone to sleep
turns() {
    local task n=0
    for task in "/proc/${pids[worker]}/task"/*; do
        [[ ${task##*/} == "${pids[worker]}" ]] ||
            ((n += $(sed -n 's/^voluntary_ctxt_switches:[[:blank:]]*//p' "$task/status")))
    done
    echo "$n"
}
before=$(turns)
goes_round() { (($(turns) > before + 10)); }
wait_for goes_round
end worker TERM 0
for asker in "${askers[@]}"; do
    exec {asker}>&-
done
exec {unread}>&-

# ---- 5
echo hidden-token >"$tmp/token"
chmod 600 "$tmp/token"
export MUSTER_STATUS_TOKEN_FILE=$tmp/token
begin q --status 0.0.0.0:0 -- true
for path in / /metrics /healthz /nothing; do
    told 401 GET "$path"
    told 401 GET "$path" 'Authorization: Bearer hidden-toke'
done
wait_for is_told '"state":"well"' GET /healthz 'Authorization: Bearer hidden-token'
told muster_healthy GET /metrics 'Authorization: Bearer hidden-token' 'Host: worker.example.org'
end worker TERM 0
! grep -qF hidden "$tmp/worker.err" || fail 'the token is shown'
check_exit 0 "$MUSTER" work q --burst -- true
