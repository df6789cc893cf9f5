# SPDX-License-Identifier: MIT
#
# Celery's player: one producer for all sends, as there is no send for many, and a worker whose pool is the process
# itself ("solo"), without results and the talk between workers, which prefetches much.
import logging
import sys
import warnings

import celery
import player
from celery.signals import worker_ready
from celery.worker import state

role, path = sys.argv[1:]
app = celery.Celery(broker=f"redis+socket://{path}")
app.conf.update(task_ignore_result=True, worker_prefetch_multiplier=100, worker_hijack_root_logger=False)
app.conf.update(worker_enable_remote_control=False, worker_redirect_stdouts=False)
logging.disable()
warnings.simplefilter("ignore")
wanted = 0


@app.task
def handle(task):
    if player.handle(task) == wanted:
        state.should_stop = 0


def fill(tasks):
    with app.producer_pool.acquire(block=True) as producer:
        for task in tasks:
            handle.apply_async((task,), queue="fill", producer=producer)


def send(task):
    handle.apply_async((task,), queue="send")


def work(queue):
    state.should_stop = None
    worker = app.Worker(
        pool="solo", queues=[queue], without_gossip=True, without_mingle=True, without_heartbeat=True, quiet=True
    )
    worker.start()


@worker_ready.connect
def on_ready(**_):
    player.start_clock()


def drain(n):
    global wanted
    wanted = n
    work("fill")


if role == "produce":
    player.produce(fill, send)
elif role == "drain":
    player.drain(drain)
else:
    player.listen(lambda: work("send"))
