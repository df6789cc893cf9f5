# SPDX-License-Identifier: MIT
#
# RQ's player: a pipelined enqueue_many, and the worker that does not fork for each job, which is its fastest.
import logging
import sys

import player
import redis
import rq

BULK = 500
KEEP = {"result_ttl": 0}

role, path = sys.argv[1:]
connection = redis.Redis(unix_socket_path=path)
many, single = (rq.Queue(name, connection=connection) for name in ("fill", "send"))
logging.disable()


def fill(tasks):
    for i in range(0, len(tasks), BULK):
        many.enqueue_many([rq.Queue.prepare_data(player.handle, (task,), **KEEP) for task in tasks[i : i + BULK]])


def send(task):
    single.enqueue(player.handle, task, **KEEP)


def work(queue, **how):
    worker = rq.SimpleWorker([queue], connection=connection)
    player.start_clock()
    worker.work(logging_level="CRITICAL", **how)


if role == "produce":
    player.produce(fill, send)
elif role == "drain":
    player.drain(lambda n: work(many, burst=True, max_jobs=n))
else:
    player.listen(lambda: work(single))
