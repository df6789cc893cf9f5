#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Connecting by names that the system looks up, with a name server of the test's own, in network and mount namespaces of
# its own. Proves, of a worker (whose connections are on a loop) and of a producer (whose is blocking):
#  1. a name server that drops the questions for IPv6 holds nobody up
#  2. an answer that is too large for a datagram is asked for again, over TCP
#  3. a worker that runs sees that /etc/hosts or the name server has changed
#  4. a name server that answers nothing is told, within the time of the call
#
# Passed over, with words, where namespaces may not be made.
set -eu
if [[ ${1-} != inside ]]; then
    for how in -nm -rnm; do
        ! unshare $how true 2>/dev/null || exec unshare $how "$BASH" "$0" inside
    done
    echo "passed over: namespaces may not be made here"
    exit 0
fi
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
unset MUSTER_TIMEOUT # a name server that does not answer is part of this
# shellcheck disable=SC2154 # tmp is lib.sh's
cd "$tmp"
if ! command -v python3 >out || ! command -v ip >out; then
    echo "passed over: without python3 or ip"
    exit 0
fi
ip link set lo up

# use_names ADDRESS: that is asked from now on
use_names() { echo "nameserver $1" >resolv.conf; }
echo '127.0.0.1 localhost' >hosts
echo 'hosts: files dns' >nsswitch.conf
use_names 127.0.0.1
for file in hosts nsswitch.conf resolv.conf; do mount --bind "$file" "/etc/$file"; done

# A name says what becomes of the questions for it.
cat >names.py <<'END'
import selectors, socket, struct
def answer(q, is_tcp):
    end = q.index(b"\0", 12) + 5
    name, kind = q[12:end - 4].lower(), struct.unpack(">H", q[end - 4:end - 2])[0]
    if b"silent" in name or (b"half" in name and kind == 28):
        return b""
    if b"large" in name and not is_tcp:
        return q[:2] + b"\x87\x80" + struct.pack(">HHHH", 1, 0, 0, 0) + q[12:end]
    n = 0 if kind != 1 else 40 if b"large" in name else 1
    record = b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 1, 4) + bytes([127, 0, 0, 1])
    return q[:2] + b"\x85\x80" + struct.pack(">HHHH", 1, n, 0, 0) + q[12:end] + n * record
udp, tcp = socket.socket(type=socket.SOCK_DGRAM), socket.socket()
for s in udp, tcp:
    s.bind(("127.0.0.1", 53))
tcp.listen()
all = selectors.DefaultSelector()
all.register(udp, selectors.EVENT_READ)
all.register(tcp, selectors.EVENT_READ)
print("serves", flush=True)
while True:
    for key, _ in all.select():
        s = key.fileobj
        if s is tcp:
            all.register(tcp.accept()[0], selectors.EVENT_READ)
        elif s is udp:
            q, of = udp.recvfrom(4096)
            a = answer(q, False)
            if a:
                udp.sendto(a, of)
        else:
            q = s.recv(4096)
            if q:
                a = answer(q[2:], True)
                s.sendall(struct.pack(">H", len(a)) + a)
            else:
                all.unregister(s)
                s.close()
END
start names "$(command -v /usr/bin/python3 || command -v python3)" names.py
wait_for grep -q serves names.out
start_redis --port 6379 --bind 127.0.0.1

# works URL: a worker and a producer by it
works() {
    start worker "$MUSTER" work q --print --url "$1"
    check_exit 0 "$MUSTER" enqueue q "by $1" --url "$1"
    wait_for grep -qx "by $1" worker.out
    end worker TERM 0
}

# ---- 1, 2
works redis://half.test
works redis://large.test

# ---- 3: nobody listens at the first address
echo '127.0.0.9 moved.test' >>hosts
start worker "$MUSTER" work q --print --url redis://moved.test
wait_for says worker 'Connection refused'
echo '127.0.0.1 moved.test' >hosts
wait_for says worker 'takes tasks'
end worker TERM 0
use_names 127.0.0.9
start worker "$MUSTER" work q --print --url redis://plain.test
wait_for says worker 'name resolution'
use_names 127.0.0.1
wait_for says worker 'takes tasks'
end worker TERM 0

# ---- 4
check_exit 124 "$MUSTER" enqueue q t --url redis://silent.test --timeout 300ms
check_err 'silent.test: the name lookup has had no answer within 300 ms'
start worker "$MUSTER" work q --print --url redis://silent.test --ttl 1s
wait_for says worker 'silent.test:6379: the name lookup has had no answer for'
end worker TERM 0
