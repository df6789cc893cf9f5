# SPDX-License-Identifier: MIT
"""web_ask.py PORT METHOD PATH [HEADER...]: ask on 127.0.0.1, print the status and the body.

The body of a POST is standard input without its last newline. With the word `headers` among the headers these are
printed instead of the body; with `stream` the body is printed as it comes.
"""
import http.client
import sys

port, method, path, *words = sys.argv[1:]
headers = dict(word.split(": ", 1) for word in words if ": " in word)
body = sys.stdin.buffer.read().removesuffix(b"\n") if method == "POST" else None
connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=60)
connection.putrequest(method, path, skip_host="Host" in headers, skip_accept_encoding=True)
for name, value in headers.items():
    connection.putheader(name, value)
if body is not None:
    connection.putheader("Content-Length", str(len(body)))
connection.endheaders(body)
answer = connection.getresponse()
print(answer.status, flush=True)
if "headers" in words:
    print(*(f"{name}: {value}" for name, value in answer.getheaders()), sep="\n")
elif "stream" in words:
    connection.sock.settimeout(60)
    while line := answer.readline():
        print(line.decode(), end="", flush=True)
else:
    sys.stdout.buffer.write(answer.read())
    print()
