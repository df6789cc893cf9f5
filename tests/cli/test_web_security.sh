#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# muster web under attack. Proves:
#  1. what a queue, task, job, tag, group or message holds is told as JSON alone, and makes no header
#  2. another site, another name of this host, another method or a forged secret changes nothing
#  3. paths, headers and bodies that are wrong, long or slow are refused; those who leave in the middle are forgotten
#  4. a thousand connections, more viewers than there are places, and one who talks, leave it responsive and its memory
#     bounded; one who reads a long answer slowly has all of it
#  5. while Redis stands still, each request is answered in time, and the pages and the health at once
#  6. a forged token or cookie opens nothing, however often it is tried
#  7. SIGTERM with open streams and requests under way ends it with status 0
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
unset MUSTER_TIMEOUT # a Redis that does not answer is part of this

here=$(dirname "$0")
listens() { grep -q 'listens at' "$tmp/web.err"; }
# begin [OPTION...]
begin() {
    start web "$MUSTER" web --listen 127.0.0.1:0 "$@"
    wait_for listens
    port=$(grep -oE '[0-9]+/$' "$tmp/web.err" | tr -d /)
}
evil=$(printf '%s\xe2\x80\xa8' "<script>alert(1)</script>\"'&")
start_redis
check_exit 2 "$MUSTER" work other --id '<script>alert(1)</script>' -- true
"$MUSTER" enqueue "$evil" "$evil" >"$tmp/out"
"$MUSTER" enqueue mail "$evil" >"$tmp/out"
"$MUSTER" put failing data --id "$evil" --tag "$evil" >"$tmp/out"
process=$("$MUSTER" take --lease 1h failing | cut -f 1)
head -c 4000000 /dev/zero | tr '\0' y | "$MUSTER" put later --id long >"$tmp/out"
"$MUSTER" fail "$process" --group "$evil" --message "$evil" >"$tmp/out"

# ---- 1 to 5
begin
healthy() { python3 "$here/web_ask.py" "$port" GET /healthz | grep -q '^200$'; }
wait_for healthy
python3 "$here/web_attack.py" "$port" "${pids[web]}" "${pids[redis]}" >"$tmp/attack.out" 2>"$tmp/attack.err" ||
    fail "$(cat "$tmp/attack.out"; tail -n 5 "$tmp/attack.err")"
! grep -qP '[\x00-\x08\x0b-\x1f\x7f]' "$tmp/web.err" || fail "control characters in the log: $(cat -v "$tmp/web.err")"

# ---- 7
start stream python3 "$here/web_ask.py" "$port" GET /api/live stream
streams() { grep -q 'event: overview' "$tmp/stream.out"; }
wait_for streams
redis CLIENT PAUSE 1000 ALL >"$tmp/out"
start asking python3 "$here/web_ask.py" "$port" GET /api/queues/mail/tasks
end web TERM 0
! grep -qE 'Sanitizer|runtime error' "$tmp/web.err" || fail "$(cat "$tmp/web.err")"

# ---- 6
echo hidden-token-of-this-server >"$tmp/token"
chmod 600 "$tmp/token"
begin --token-file "$tmp/token"
python3 - "$port" <<'PYTHON' >"$tmp/out" || fail "$(cat "$tmp/out")"
import http.client, sys
connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=60)
token, opened = "hidden-token-of-this-server", []
forged = [token[:n] for n in range(len(token))] + [token + "x", token.upper(), "x" * 8000] + [f"{n:040x}" for n in range(300)]
for text in forged:
    for headers in ({"Authorization": "Bearer " + text}, {"Authorization": "Basic " + text}, {"Cookie": "muster_session=" + text}):
        connection.request("GET", "/api/queues", None, headers)
        answer = connection.getresponse()
        answer.read()
        if answer.status != 401:
            opened.append((answer.status, headers))
connection.request("GET", "/api/queues?token=" + token)
if connection.getresponse().status != 401:
    opened.append("a token in the URL")
print(opened[:5])
sys.exit(bool(opened))
PYTHON
end web TERM 0
