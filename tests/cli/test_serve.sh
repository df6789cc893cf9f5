#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# muster serve. Proves:
#  1. it prints the URL and the line for a shell once Redis takes connections, as JSON its pid and directory, too; what
#     it prints works
#  2. Redis is set for a queue: AOF, no eviction, no snapshots, loopback only, the socket for its owner alone
#  3. SIGINT, SIGTERM and SIGHUP end it with status 0 and its Redis with it; enqueued tasks are there at the next start
#  4. --temporary leaves nothing behind, however it ends: by a signal, by the death of its Redis, or by a closed output;
#     if it is killed itself, its Redis still ends; a second signal ends a Redis that hangs
#  5. a port or socket that is in use, a file that is in the way, a directory in use or not usable, a path that is too
#     long, no redis-server, one that fails: status 1 and one line, nothing touched; one that is not ready in time: 124
#  6. the place of the data without --dir; paths with odd characters
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
unset MUSTER_TIMEOUT # a Redis that does not answer is part of this
cd "$tmp"
mkdir temporary
export TMPDIR=$tmp/temporary

# serve ARGUMENT...: runs it in the background, and sets $url and $redis_pid when it is ready
serve() {
    start serve "$MUSTER" serve "$@"
    wait_for eval 'says serve "Redis runs" || has_ended serve'
    runs serve || return 1
    url=$(sed -n 's/^export MUSTER_URL=//p' serve.out)
    redis_pid=$(pgrep -P "${pids[serve]}" || true)
}
redis_gone() { [[ ! -e /proc/$redis_pid ]]; }
check_nothing_left() {
    redis_gone || fail "its Redis $redis_pid runs still"
    [[ -z $(ls temporary) ]] || fail "left behind: $(find temporary)"
}
# setting NAME: its value in the Redis at $url
setting() { redis-cli -s "$(printf '%b' "${url//%/\\x}" | sed 's|^unix://||')" CONFIG GET "$1" | tail -n +2; }

# ---- 1
serve --socket ./here.sock --dir data
[[ $(cat serve.out) == "unix://$tmp/here.sock
export MUSTER_URL=unix://$tmp/here.sock" ]] || fail "it printed: $(cat serve.out)"
check_exit 0 env MUSTER_URL="$url" "$MUSTER" enqueue q kept
check_out '1 enqueued, 1 waiting'

# ---- 2
for wanted in 'appendonly yes' 'appendfsync everysec' 'save ' 'maxmemory-policy noeviction' 'protected-mode yes' \
    'bind 127.0.0.1' 'port 0' "dir $tmp/data"; do
    [[ $(setting "${wanted%% *}") == "${wanted#* }" ]] || fail "not $wanted: $(setting "${wanted%% *}")"
done
[[ $(stat -c %a here.sock) == 700 && $(stat -c %a data) == 700 ]] || fail "others may: $(ls -l)"
[[ -s data/redis.log ]]

# ---- 3
for signal in TERM INT HUP; do
    end serve $signal 0
    redis_gone || fail "its Redis runs still after SIG$signal"
    [[ ! -e here.sock ]] || fail "the socket is there still after SIG$signal"
    serve --socket here.sock --dir data
    check_exit 0 env MUSTER_URL="$url" "$MUSTER" peek q
    check_out kept
done

# ---- 5: with the directory and socket of the one that runs
check_exit 1 "$MUSTER" serve --socket here.sock --dir other
check_err "the socket '$tmp/here.sock' is in use; name another with --socket"
if command -v python3 >out; then
    start_full_socket "$tmp/full.sock"
    check_exit 1 "$MUSTER" serve --socket full.sock --dir other
    check_err "the socket '$tmp/full.sock' is in use; name another with --socket"
fi
# also if somebody has tidied up its log
for log in there gone; do
    [[ $log == there ]] || rm data/redis.log
    start "log-$log" "$MUSTER" serve --socket there.sock --dir data
    wait_for eval "says log-$log 'Redis runs' || has_ended log-$log"
    check_end "log-$log" 1
    says "log-$log" "'$tmp/data' is in use by another" || fail "it said: $(cat "log-$log.err")"
    [[ ! -e there.sock ]]
done
check_exit 0 env MUSTER_URL="$url" "$MUSTER" peek q
end serve TERM 0
start unlocked env ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD="$MUSTER_BUILD/tests/libheld_lock.so" \
    MUSTER_TEST_NO_LOCKS=1 "$MUSTER" serve --socket there.sock --dir data
check_end unlocked 1
says unlocked 'No locks available' || fail "it said: $(cat unlocked.err)"
# Nobody can tell whether somebody listens there, or it is no Redis: its socket stays.
if command -v python3 >out; then
    start owner "$(command -v /usr/bin/python3 || command -v python3)" -c 'import socket, sys, time
owner = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
owner.bind(sys.argv[1])
print("bound", flush=True)
while True:
    time.sleep(1000)' "$tmp/letters.sock"
    wait_for grep -q bound owner.out
    start letters "$MUSTER" serve --socket letters.sock --dir other
    wait_for eval "says letters 'Redis runs' || has_ended letters"
    check_end letters 1
    says letters "cannot tell whether the socket '$tmp/letters.sock' is in use: Protocol wrong type" ||
        fail "it said: $(cat letters.err)"
    [[ ! -e other ]] || fail "left behind: $(find other)"
    end owner KILL 137
fi
: >file
check_exit 1 "$MUSTER" serve --socket file --dir data
check_err "'$tmp/file' exists and is not a socket"
[[ -f file ]]
check_exit 1 "$MUSTER" serve --socket s --dir file/data
check_err "cannot use 'file/data': Not a directory"
check_exit 1 "$MUSTER" serve --socket not-there/s --dir data
check_err "cannot make a socket at 'not-there/s': No such file"
# Of several that begin at once in a new directory one runs, and the others leave it alone.
for round in {1..5}; do
    for i in {1..6}; do start "at-once-$i" "$MUSTER" serve --dir "new-$round" --socket "new-$i.sock"; done
    for i in {1..6}; do
        wait_for eval "says at-once-$i 'Redis runs' || has_ended at-once-$i"
        if runs "at-once-$i"; then
            [[ -e new-$round/redis.log ]] || fail 'its log is gone'
            winner=at-once-$i
        else
            check_end "at-once-$i" 1
            says "at-once-$i" 'is in use by another' || fail "it said: $(cat "at-once-$i.err")"
        fi
    done
    end "$winner" TERM 0
done
# One opens the log of another, which removes it, because it has not been used, before the first one locks it.
# hold_lock: `held` is about to lock the log of the directory `late`, which was made for `first`; its Redis has no words
hold_lock() {
    start first env PATH="$tmp/silent:$PATH" "$MUSTER" serve --dir late --socket first.sock
    wait_for pgrep -P "${pids[first]}" -x sleep >out
    start held env ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD="$MUSTER_BUILD/tests/libheld_lock.so" \
        MUSTER_TEST_FIFO="$tmp/fifo" "$MUSTER" serve --dir late --socket held.sock
    read -r _ <fifo || true
    end first TERM 0
    [[ ! -e late ]] || fail "left behind: $(find late)"
}
mkdir silent
printf '#!/bin/sh\nexec sleep 1000\n' >silent/redis-server
chmod +x silent/redis-server
mkfifo fifo
hold_lock
serve --dir late --socket here.sock
: >fifo
check_end held 1
says held "'$tmp/late' is in use by another" || fail "it said: $(cat held.err)"
check_exit 0 env MUSTER_URL="$url" "$MUSTER" queues
end serve TERM 0
rm -r late
hold_lock
mkdir late # by somebody else
: >fifo
wait_for eval "says held 'Redis runs' || has_ended held"
[[ -s late/redis.log ]] || fail "it has locked a log that is gone: $(cat held.err)"
end held TERM 0
# Of two that begin at once at one socket or port, one runs: the other one's Redis would take over the socket, and at a port
# answer for both.
mkdir slow
printf '#!/bin/sh\n: <"%s"\nexec "%s" "$@"\n' "$tmp/fifo" "$(command -v redis-server)" >slow/redis-server
chmod +x slow/redis-server
# begin_slowly ARGUMENT...: its Redis is about to begin
begin_slowly() {
    start slow env PATH="$tmp/slow:$PATH" "$MUSTER" serve --dir slowly "$@"
    wait_for eval "pgrep -P ${pids[slow]} -x redis-server >out || has_ended slow"
    runs slow
}
# check_refused WORDS ARGUMENT...: another one is refused so, and the slow one runs
check_refused() {
    start quick "$MUSTER" serve --dir quickly "${@:2}"
    wait_for eval "says quick 'Redis runs' || has_ended quick"
    check_end quick 1
    says quick "$1" || fail "it said: $(cat quick.err)"
    : >fifo
    wait_for eval "says slow 'Redis runs' || has_ended slow"
    end slow TERM 0
}
begin_slowly --socket one.sock
check_refused "the socket '$tmp/one.sock' is in use" --socket ./one.sock
begin_at_any_port() {
    port=$((RANDOM % 20000 + 20000))
    begin_slowly --port "$port"
}
wait_for begin_at_any_port
check_refused "port $port is in use" --port "$port"
# Each number of descriptors that is too small in another place.
for n in {3..12}; do
    (ulimit -n "$n" && exec "$MUSTER" serve --temporary) </dev/null >>lacking 2>&1 || true
done
grep -q 'cannot start redis-server: Too many open files' lacking || fail "it said: $(cat lacking)"
! grep 'Bad file descriptor' lacking || fail 'it said another reason than the one that it had'
long=$(printf 'x%.0s' {1..120})
check_exit 1 "$MUSTER" serve --socket "$long" --dir data
check_err 'bytes too long for a socket'
check_exit 1 env PATH="$tmp" "$MUSTER" serve --socket s --dir data
check_err 'apt-get install redis-server'
# fake TEXT: makes this script run as redis-server
fake() {
    mkdir -p fake
    printf '#!/bin/sh\n%s\n' "$1" >fake/redis-server
    chmod +x fake/redis-server
}
fake 'echo its reason; exit 3'
check_exit 1 env PATH="$tmp/fake:$PATH" "$MUSTER" serve --socket s --dir data
check_err 'Redis ended by itself; its last message: its reason'
fake 'echo its reason; exec sleep 1000'
check_exit 124 env PATH="$tmp/fake:$PATH" "$MUSTER" serve --temporary --timeout 3s
check_err 'its last message: its reason; give it more time with --timeout'
[[ -z $(ls temporary) ]] || fail "left behind: $(find temporary)"
TMPDIR=$tmp/not-there check_exit 1 "$MUSTER" serve --temporary
check_err "set TMPDIR"
env -u HOME -u XDG_DATA_HOME "$MUSTER" serve --socket s 2>err || true
check_err 'HOME is not set'

# ---- 1 and 5: a port. A free one is found by trying.
any_port() {
    port=$((RANDOM % 20000 + 20000))
    serve --port "$port" --dir data --json
}
wait_for any_port
[[ $(cat serve.out) == "{\"url\":\"redis://127.0.0.1:$port\",\"pid\":$redis_pid,\"dir\":\"$tmp/data\"}" ]] ||
    fail "it printed: $(cat serve.out)"
check_exit 0 "$MUSTER" peek q --url "redis://127.0.0.1:$port"
check_out kept
check_exit 1 "$MUSTER" serve --port "$port" --dir other
check_err "port $port is in use"
[[ ! -e other ]] || fail "left behind: $(find other)"
check_usage serve --temporary --url "redis://127.0.0.1:$port"
check_usage serve --temporary --prefix mine
end serve TERM 0

# ---- 3 and 4: Redis dies by itself
serve --socket here.sock --dir data
kill -KILL "$redis_pid"
check_end serve 1
says serve 'Redis was ended by signal 9' || fail "no reason: $(cat serve.err)"
serve --socket here.sock --dir data || fail "the socket of a dead Redis is in the way: $(cat serve.err)"
end serve TERM 0

# ---- 4
for signal in TERM INT HUP; do
    serve --temporary
    [[ $url == unix://$tmp/temporary/muster-*/redis.sock ]] || fail "it printed: $(cat serve.out)"
    check_exit 0 env MUSTER_URL="$url" "$MUSTER" enqueue q x
    end serve $signal 0
    check_nothing_left
done
serve --temporary
kill -KILL "$redis_pid"
check_end serve 1
check_nothing_left
serve --temporary
redis-cli -s "${url#unix://}" SHUTDOWN NOSAVE
check_end serve 1
says serve 'Redis ended by itself' || fail "no reason: $(cat serve.err)"
check_nothing_left
serve --temporary
kill -STOP "$redis_pid" # it cannot end when it is asked to
is_stopped() { grep -q '^State:.T' "/proc/$redis_pid/status"; }
wait_for is_stopped
kill -TERM "${pids[serve]}"
was_asked() { grep -q '^ShdPnd:.*4...$' "/proc/$redis_pid/status"; } # SIGTERM is pending
wait_for was_asked
end serve TERM 0
check_nothing_left
for output in /dev/full closed; do
    code=0
    if [[ $output == closed ]]; then
        "$MUSTER" serve --temporary >&- 2>err || code=$?
    else
        "$MUSTER" serve --temporary >$output 2>err || code=$?
    fi
    ((code == 1)) || fail "status $code with output $output"
    check_err 'cannot write standard output'
    check_nothing_left
done
serve --temporary
pids[orphan]=$redis_pid
end serve KILL 137
wait_for redis_gone
unset "pids[orphan]"

# ---- 6
export HOME="$tmp/a home" XDG_DATA_HOME=
serve --socket "odd %20 \"name\" ü;\$(x)"
[[ $url =~ ^unix:///[A-Za-z0-9/._%-]+$ ]] || fail "a shell may misread $url"
check_exit 0 env MUSTER_URL="$url" "$MUSTER" enqueue q x
[[ $(setting dir) == "$HOME/.local/share/muster" ]] || fail "its data is in $(setting dir)"
end serve TERM 0
export XDG_DATA_HOME=$tmp/xdg
serve --socket s
[[ $(setting dir) == "$tmp/xdg/muster" ]] || fail "its data is in $(setting dir)"
end serve TERM 0
