# SPDX-License-Identifier: MIT
"""web_attack.py PORT PID REDIS_PID: attack the server on 127.0.0.1, and stop its Redis for a while.

Prints what went wrong, a line each; the exit status is 1 then. Redis must hold what `test_web_security.sh` puts there.
"""
import http.client
import json
import os
import re
import signal
import socket
import sys
import threading
import time
import urllib.parse

port, pid, redis_pid = map(int, sys.argv[1:])
EVIL = "<script>alert(1)</script>\"'&\u2028"
PAUSE = "/api/queues/mail/pause"
HOST = b"Host: localhost\r\n"
REFUSED = (400, 403, 404, 405, 413, 414, 421, 431, 501)
DEADLINE_S = 120  # reached by nothing but what fails
wrong = []


def check(what, is_right, seen=""):
    if not is_right:
        wrong.append(what)
        print(f"{what}: {seen!r}"[:600], flush=True)


def ask(method, path, body=None, headers=None, timeout=60):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read(), {name.lower(): value for name, value in answer.getheaders()}
    finally:
        connection.close()


def connect(timeout=60):
    return socket.create_connection(("127.0.0.1", port), timeout)


def raw(data, is_half=False):
    """All that comes back until the server closes, or for ten seconds."""
    out = b""
    with connect() as s:
        try:
            s.sendall(data)
            if is_half:
                s.shutdown(socket.SHUT_WR)
            while piece := s.recv(65536):
                out += piece
        except OSError:
            pass
    return out


def raw_get(path, more=HOST, method="GET"):
    return raw(f"{method} {path} HTTP/1.1\r\n".encode("latin-1") + more + b"Connection: close\r\n\r\n")


def status_of(out):
    found = re.match(rb"HTTP/1\.[01] (\d+) ", out)
    return int(found.group(1)) if found else None


def wait_for(what, condition, limit_s=DEADLINE_S):
    end = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > end:
            check(what, False, f"not within {limit_s} s")
            return
        time.sleep(0.1)


def status(path="/healthz", timeout=60):
    try:
        return ask("GET", path, timeout=timeout)[0]
    except (OSError, http.client.HTTPException):
        return None


def memory():
    with open(f"/proc/{pid}/status", encoding="ascii") as lines:
        return int(re.search(r"VmRSS:\s+(\d+)", lines.read()).group(1)) * 1024


def descriptors():
    return len(os.listdir(f"/proc/{pid}/fd"))


def is_paused():
    return b'"paused":true' in ask("GET", "/api/queues")[1]


def attack_with_markup():
    encoded = urllib.parse.quote(EVIL, safe="")
    paths = ("queues", "workers", "processes", "failed", "failed?queue=mail", "jobs/" + encoded, "queues/mail/tasks",
             f"queues/{encoded}/tasks", "jobs?queue=mail&state=waiting", "jobs?tags=1", "stats?queue=" + encoded)
    told = b""
    for path in paths:
        code, body, headers = ask("GET", "/api/" + path)
        check(f"{path} is told", code == 200, (code, body))
        check(f"{path} is JSON", headers.get("content-type", "").startswith("application/json"), headers)
        check(f"{path} is not guessed at", headers.get("x-content-type-options") == "nosniff", headers)
        check(f"{path} can be read", isinstance(json.loads(body), dict), body)
        told += body
    check("markup is told as it is", told.count(b"<script>alert(1)") >= 5, told)
    for path in ("/%3Cscript%3E", "/api/%3Cscript%3E", "/assets/%3Cscript%3E", "/<script>", "/api/jobs/<script>"):
        head, _, body = raw_get(path).partition(b"\r\n\r\n")
        check(f"{path} is no page", b"text/html" not in head.lower() or b"<script>" not in body, head + body)


def attack_with_names():
    for host in ("evil.example", f"evil.example:{port}", "localhost.evil.example", "", "127.0.0.1.evil.example",
                 "localhost@evil.example", "[::1"):
        for path in ("/", "/api/queues", "/metrics", "/healthz", "/api/live"):
            out = raw_get(path, f"Host: {host}\r\n".encode())
            check(f"Host {host} {path}", status_of(out) in REFUSED, out)
    check("no Host", status_of(raw_get("/", b"")) in REFUSED)
    for host in ("localhost", f"127.0.0.1:{port}", "LOCALHOST:1234"):
        out = raw_get("/api/session", f"Host: {host}\r\n".encode())
        check(f"Host {host} is right", status_of(out) == 200, out)
    good = {"Content-Type": "application/json", "X-Muster-CSRF": json.loads(ask("GET", "/api/session")[1])["csrf"]}
    for origin in ("http://evil.example", "null", f"http://127.0.0.1.evil.example:{port}", "https://",
                   f"http://127.0.0.1:{port}.evil.example"):
        code, body, _ = ask("POST", PAUSE, "{}", good | {"Origin": origin})
        check(f"Origin {origin}", code == 403, (code, body))
    secret = good["X-Muster-CSRF"]
    for forged in ("", secret[:-1], secret + "0", secret[::-1] + "x"):
        check("a forged secret", ask("POST", PAUSE, "{}", good | {"X-Muster-CSRF": forged})[0] == 403, forged)
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "FOO", "GET", "HEAD"):
        out = raw_get(PAUSE, HOST + f"X-Muster-CSRF: {secret}\r\nX-Echo: echoed\r\n".encode(), method)
        check(f"{method} an action", status_of(out) in REFUSED, out)
        check(f"{method} echoes nothing", b"echoed" not in out and b"Access-Control" not in out, out)
    check("nothing was paused", not is_paused())
    check("a right POST", ask("POST", PAUSE, "{}", good | {"Origin": f"http://127.0.0.1:{port}"})[0] == 200)
    check("it is paused", is_paused())


def attack_with_paths():
    for path in ("/../../etc/passwd", "/assets/../../../etc/passwd", "/assets/..%2f..%2fetc%2fpasswd",
                 "/assets/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/assets//etc/passwd", "/api/../metrics",
                 "/assets/\\..\\x", "/api/queues/a%00b", "/api/queues/a%0d%0aSet-Cookie:%20x=1/tasks",
                 "/api/jobs/" + "x" * 1000, "/api/nothing", "/api", "/api/", "/api/queues//tasks"):
        out = raw_get(path)
        check(f"path {path[:60]}", status_of(out) in REFUSED and b"root:" not in out, out)
        check(f"path {path[:60]} makes no header", b"\nSet-Cookie" not in out, out)
    out = raw_get("/api/queues/mail%0d%0aSet-Cookie:%20x=1/tasks", HOST + b"X-A: b\r\n Set-Cookie: y=1\r\n")
    check("no header is made", b"\nSet-Cookie" not in out, out)


def attack_the_protocol():
    post = b"POST /api/queues/mail/resume HTTP/1.1\r\n" + HOST
    for name, data in (
        ("TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
        ("no version", b"GET /\r\n\r\n"),
        ("NUL in a header", b"GET / HTTP/1.1\r\nHost: local\0host\r\n\r\n"),
        ("negative length", post + b"Content-Length: -5\r\n\r\n"),
        ("huge length", post + b"Content-Length: 99999999999999999999\r\n\r\n"),
        ("huge chunk", post + b"Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFF\r\n"),
        ("100 kB header", b"GET / HTTP/1.1\r\n" + HOST + b"X: " + b"a" * 100000 + b"\r\n\r\n"),
        ("20 000 headers", b"GET / HTTP/1.1\r\n" + HOST + b"X: a\r\n" * 20000 + b"\r\n"),
        ("200 kB path", b"GET /" + b"a" * 200000 + b" HTTP/1.1\r\n" + HOST + b"\r\n"),
        ("3 MiB body", post + b"Content-Length: 3145728\r\n\r\n" + b"x" * 3145728),
    ):
        out = raw(data, is_half=True)
        check(f"{name} is refused", status_of(out) in (None, *REFUSED), out[:200])
        check(f"after {name}", status() == 200)
    one = b"GET /healthz HTTP/1.1\r\n" + HOST
    out = raw((one + b"\r\n") * 20 + one + b"Connection: close\r\n\r\n")
    check("21 in a row", out.count(b"HTTP/1.1 200") == 21, out)
    code, body, _ = ask("HEAD", "/")
    check("HEAD has no body", (code, body) == (200, b""), (code, body))


def attack_and_leave():
    """Disconnect in the middle, at each tenth byte of a request, and while it is answered."""
    body = b'{"tasks":["x"]}'
    request = (b"POST /api/queues/mail/enqueue HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\n"
               + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    for end in range(1, len(request) + 1, 10):
        with connect() as s:
            s.sendall(request[:end])
    for path in (b"/api/queues/mail/tasks", b"/api/live", b"/api/overview", b"/metrics", b"/assets/chart.js"):
        for _ in range(10):
            with connect() as s:
                s.sendall(b"GET " + path + b" HTTP/1.1\r\n" + HOST + b"\r\n")
    check("after those who left", status() == 200)


def is_cut(s):
    try:
        s.setblocking(False)
        return s.recv(65536) == b"" or is_cut(s)
    except BlockingIOError:
        pass
    except OSError:
        return True
    try:
        s.send(b"a")
    except OSError:
        return True
    return False


def attack_slowly():
    slow = [connect() for _ in range(40)]
    for i, s in enumerate(slow):
        s.sendall(b"GET / HTTP/1.1\r\nHost: loc" if i % 2 else
                  b"POST /api/queues/mail/pause HTTP/1.1\r\n" + HOST + b"Content-Length: 100000\r\n\r\n")
    check("beside slow ones", status(timeout=2) == 200)

    def are_cut():
        slow[:] = [s for s in slow if not is_cut(s)]
        return not slow
    wait_for("those who drip are cut off", are_cut)


def read_slowly():
    """No attack: a long answer takes its time. It has as long as it is read, and more than a request has to come."""
    code, job, _ = ask("GET", "/api/jobs/long?head=1")
    size = json.loads(job)["len"] if code == 200 else 0
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)  # the kernel keeps little of it
        s.settimeout(60)
        s.connect(("127.0.0.1", port))
        s.sendall(b"GET /api/jobs/long HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n")
        n = len(s.recv(1))
        begin = time.monotonic()
        try:
            while piece := s.recv(65536):
                n += len(piece)
                time.sleep(max(0, begin + n * 25 / size - time.monotonic()) if size else 0)
        except OSError as e:
            check("one who reads slowly is not cut off", False, e)
    check("a long answer is told whole", n > size > 0, (n, size))


def attack_with_many():
    before = memory()
    opened = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    opened.request("GET", "/healthz")
    opened.getresponse().read()
    many = []
    for _ in range(1000):
        s = socket.socket()
        s.setblocking(False)
        s.connect_ex(("127.0.0.1", port))
        many.append(s)
    for _ in range(20):
        opened.request("GET", "/healthz")
        begin = time.monotonic()
        check("one that is open is served", b'"state":"well"' in opened.getresponse().read())
        check("and soon", time.monotonic() - begin < 2)
    check("descriptors are bounded", descriptors() < 400, descriptors())
    check("memory is bounded", memory() - before < 50 << 20, memory() - before)
    for s in many:
        s.close()
    opened.close()
    wait_for("it recovers", lambda: status(timeout=2) == 200)
    wait_for("descriptors are given back", lambda: descriptors() < 60)


def attack_with_viewers():
    viewers = []
    for _ in range(80):
        s = connect()
        s.sendall(b"GET /api/live HTTP/1.1\r\n" + HOST + b"\r\n")
        viewers.append((s, status_of(s.recv(4096))))
    codes = [code for _, code in viewers]
    check("64 viewers see", codes.count(200) == 64 and codes.count(503) == 16, codes)
    check("beside viewers", status() == 200)
    for s, _ in viewers:
        s.close()
    wait_for("places are free again", lambda: b"muster_web_viewers 0\n" in ask("GET", "/metrics")[1])
    with connect() as s:
        s.sendall(b"HEAD /api/live HTTP/1.1\r\n" + HOST + b"\r\nGET /healthz HTTP/1.1\r\n" + HOST
                  + b"Connection: close\r\n\r\n")
        out = b""
        while piece := s.recv(65536):
            out += piece
    check("HEAD of a stream ends", status_of(out) == 405 and b'"state"' in out, out)
    before = memory()
    with connect(timeout=5) as s:
        s.sendall(b"GET /api/live HTTP/1.1\r\n" + HOST + b"\r\n")
        check("one who talks sees", status_of(s.recv(4096)) == 200)
        try:
            for _ in range(200):
                s.sendall(b"x" * (1 << 20))
        except OSError:
            pass  # it is not read any more
        check("what a viewer says is not kept", memory() - before < 50 << 20, memory() - before)
    wait_for("places are free again", lambda: b"muster_web_viewers 0\n" in ask("GET", "/metrics")[1])


def attack_with_a_still_redis():
    os.kill(redis_pid, signal.SIGSTOP)
    begin = time.monotonic()
    codes = []
    paths = ("/api/queues/mail/tasks", "/api/queues", "/api/jobs", "/api/overview", "/api/queues/mail")
    threads = [threading.Thread(target=lambda i=i: codes.append(status(paths[i % len(paths)]))) for i in range(100)]
    for thread in threads:
        thread.start()
    for path in ("/", "/assets/chart.js", "/api/session", "/metrics"):
        since = time.monotonic()
        check(f"Redis stands: {path}", status(path) == 200 and time.monotonic() - since < 3, time.monotonic() - since)
    since = time.monotonic()
    check("Redis stands: health is told", status() in (200, 503) and time.monotonic() - since < 3)
    for thread in threads:
        thread.join()
    took = time.monotonic() - begin
    check("Redis stands: each is told", len(codes) == 100 and set(codes) <= {200, 503, 504}, codes)
    check("Redis stands: most are refused", sum(code != 200 for code in codes) > 50, codes)
    check("Redis stands: each in time", took < 15, took)
    os.kill(redis_pid, signal.SIGCONT)
    wait_for("Redis goes on", lambda: status() == 200 and status("/api/queues/mail/tasks") == 200)


try:
    for attack in (attack_with_markup, attack_with_names, attack_with_paths, attack_the_protocol, attack_and_leave,
                   attack_slowly, read_slowly, attack_with_many, attack_with_viewers, attack_with_a_still_redis):
        started = time.monotonic()
        attack()
        print(f"{attack.__name__}: {time.monotonic() - started:.1f} s", file=sys.stderr)
finally:
    os.kill(redis_pid, signal.SIGCONT)
sys.exit(bool(wrong))
