# SPDX-License-Identifier: MIT
#
# gate.py HERE THERE HELD GO: a Unix socket HERE, between a program and the Redis at THERE, that holds back scripts.
import os, socket, sys, threading, time
here, there, held, go = sys.argv[1:]
def carry(source, target, gate):
    while part := source.recv(65536):
        if gate and b"EVAL" in part and not os.path.exists(go):
            open(held, "w").close()
            while not os.path.exists(go):
                time.sleep(0.01)
        target.sendall(part)
    target.shutdown(socket.SHUT_WR)
server = socket.socket(socket.AF_UNIX)
server.bind(here)
server.listen()
while True:
    client, redis = server.accept()[0], socket.socket(socket.AF_UNIX)
    redis.connect(there)
    for pair in (client, redis, True), (redis, client, False):
        threading.Thread(target=carry, args=pair, daemon=True).start()
