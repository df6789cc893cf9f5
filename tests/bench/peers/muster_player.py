# SPDX-License-Identifier: MIT
#
# muster's player in Python, on the binding: the third argument is "threads" or "asyncio". Draining, its worker has 32
# hands and 300 tasks ahead; listening, one hand.
import asyncio
import sys

import muster
import player

role, path, kind = sys.argv[1:]
url = f"unix://{path}"
options = {"hands": 32, "prefetch": 300, "drain": 60}
wanted = 0


def handle(process):
    if player.handle(process.text) == wanted:
        process.worker.stop()


async def handle_async(process):
    handle(process)


def work(queue, **options):
    player.start_clock()
    if kind == "asyncio":
        worker = muster.AsyncWorker(url, tell_ended=False, **options)
        worker.serve(queue, handle_async)
        asyncio.run(worker.run())
    else:
        worker = muster.Worker(url, **options)
        worker.serve(queue, handle)
        worker.run()


def drain(n):
    global wanted
    wanted = n
    work("fill", **options)


async def produce():
    """The calls of the player block: it is the only one here that waits."""
    async with muster.AsyncClient(url) as client:
        loop = asyncio.get_running_loop()

        async def fill(tasks):
            await asyncio.gather(*(client.enqueue("fill", task) for task in tasks))

        async def send(task):
            await client.enqueue("send", task)

        def wait(coroutine):
            asyncio.run_coroutine_threadsafe(coroutine, loop).result()

        await asyncio.to_thread(player.produce, lambda tasks: wait(fill(tasks)), lambda task: wait(send(task)))


if role == "drain":
    player.drain(drain)
elif role == "listen":
    player.listen(lambda: work("send"))
elif kind == "asyncio":
    asyncio.run(produce())
else:
    with muster.Client(url) as client:
        player.produce(lambda tasks: client.enqueue_many("fill", tasks), lambda task: client.enqueue("send", task))
