#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What a worker tells a service manager, by the protocol of sd_notify. A socket of the test's own listens. Proves:
#  1. READY=1 comes when the worker is registered, not before: without Redis it does not come, though the watchdog is fed
#  2. WATCHDOG=1 comes from the loop, twice in the time that the manager allows; it stays away while the loop stands
#     still, and comes again; without a watchdog, or with that of another process, there is none
#  3. STOPPING=1 comes with the signal, while a command still runs; also at the end of a burst
#  4. a command of the worker does not see the manager's variables; a socket that is not there harms nothing; a name that
#     is in no folder works
#  5. what a manager whose socket is full could not take it hears later, in its order
#  6. systemd accepts the units, and calls them well hardened, as far as it is installed
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

# ---- 6
missing=()
if command -v systemd-analyze >"$tmp/out"; then
    mkdir "$tmp/units"
    for unit in "$MUSTER_BUILD"/systemd/*.service; do
        sed -E "s,^(Exec[A-Za-z]*=)[^ ]*/muster ,\1$MUSTER ,; /^Documentation=/d" "$unit" >"$tmp/units/${unit##*/}"
        systemd-analyze verify "$tmp/units/${unit##*/}" >"$tmp/verified" 2>&1 || fail "verify: $(cat "$tmp/verified")"
        ! grep -F "${unit##*/}" "$tmp/verified" || fail "verify: $(cat "$tmp/verified")"
        # A threshold of 20 is an exposure of 2.0.
        systemd-analyze security --offline=true --threshold=20 --no-pager "$tmp/units/${unit##*/}" >"$tmp/security" 2>&1 ||
            fail "security: $(tail -n 3 "$tmp/security")"
    done
else
    missing+=(systemd-analyze)
fi

cat >"$tmp/manager.py" <<'END'
import os, socket, sys, time
manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
address = sys.argv[1].replace("@", "\0", 1)
manager.bind(address)
if len(sys.argv) > 2: # full, until the file is there
    sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    sender.setblocking(False)
    try:
        while True:
            sender.sendto(b"full", address)
    except BlockingIOError:
        pass
print("listens", flush=True)
while len(sys.argv) > 2 and not os.path.exists(sys.argv[2]):
    time.sleep(0.02)
while True:
    print(manager.recv(4096).decode(), flush=True)
END
if ! command -v python3 >"$tmp/out"; then
    echo "not tried, because it is not installed: python3, for a socket ${missing[*]}"
    exit 0
fi
# manager ADDRESS [FILE]: its socket is full until there is this file
manager() {
    start manager python3 "$tmp/manager.py" "$@"
    wait_for heard 1 listens
    export NOTIFY_SOCKET=$1
}
n_heard() { grep -cxF -- "$1" "$tmp/manager.out" || true; }
heard() { (($(n_heard "$2") >= $1)); }

# ---- 1 and 2
manager "$tmp/notify"
export MUSTER_URL=unix://$socket WATCHDOG_USEC=200000
start worker "$MUSTER" work mail --id w --ttl 1h -- sh -c 'env >'"$tmp/environment"'; exec sleep 0.5'
wait_for heard 3 WATCHDOG=1
heard 1 READY=1 && fail 'ready without Redis'
began=$(date +%s%N)
n=$(n_heard WATCHDOG=1)
wait_for heard $((n + 5)) WATCHDOG=1
(($(date +%s%N) - began >= 300000000)) || fail 'the watchdog is fed far more often than it asks for'
start_redis
wait_for heard 1 READY=1
wait_for says worker 'takes tasks'
kill -STOP "${pids[worker]}"
n=$(n_heard WATCHDOG=1)
stood_still() { (($(date +%s%N) - began > 700000000)); }
began=$(date +%s%N)
wait_for stood_still
(($(n_heard WATCHDOG=1) <= n + 1)) || fail 'fed while it stood still'
kill -CONT "${pids[worker]}"
n=$(n_heard WATCHDOG=1)
wait_for heard $((n + 2)) WATCHDOG=1
(($(n_heard READY=1) == 1)) || fail 'ready more than once'

# ---- 3 and 4
check_exit 0 "$MUSTER" enqueue mail one
exists() { [[ -s $1 ]]; }
wait_for exists "$tmp/environment"
kill -TERM "${pids[worker]}"
wait_for heard 1 STOPPING=1
runs worker || fail 'it is gone before it told'
check_end worker 0
! grep -qE '^(NOTIFY_SOCKET|WATCHDOG_)' "$tmp/environment" || fail "the command sees: $(cat "$tmp/environment")"
: >"$tmp/manager.out"
unset WATCHDOG_USEC
check_exit 0 "$MUSTER" work mail --print --burst
wait_for heard 1 STOPPING=1
heard 1 READY=1 || fail 'a burst is not ready'
WATCHDOG_USEC=2000 WATCHDOG_PID=1 check_exit 0 "$MUSTER" work mail --print --burst
heard 1 WATCHDOG=1 && fail "fed a watchdog that nobody asked for"
end manager KILL 137
check_exit 0 "$MUSTER" work mail --print --burst
NOTIFY_SOCKET=/ check_exit 0 "$MUSTER" work mail --print --burst
NOTIFY_SOCKET=$tmp/nobody check_exit 0 "$MUSTER" work mail --print --burst
manager "@muster-test-$$"
check_exit 0 "$MUSTER" work mail --print --burst
wait_for heard 1 READY=1
end manager KILL 137

# ---- 5
manager "$tmp/full" "$tmp/room"
start worker "$MUSTER" work mail --id w --drain 1h -- sh -c "until [ -e '$tmp/go' ]; do sleep 0.02; done"
wait_for says worker 'takes tasks'
check_exit 0 "$MUSTER" enqueue mail one
wait_for redis_is 1 HGET muster:queue:mail running
kill -TERM "${pids[worker]}"
touch "$tmp/room"
wait_for heard 1 STOPPING=1
[[ $(grep -m 1 '=1' "$tmp/manager.out") == READY=1 ]] || fail "it heard: $(cat "$tmp/manager.out")"
runs worker || fail 'it is gone before it told'
touch "$tmp/go"
check_end worker 0
if ((${#missing[@]})); then
    echo "not tried, because it is not installed: ${missing[*]}"
fi
