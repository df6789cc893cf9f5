# SPDX-License-Identifier: MIT
"""Redis and workers are killed. Proves:
1. a worker's process is killed: what it held runs again elsewhere, nothing is lost
2. Redis is killed and comes back: clients, workers and futures go on; each task that was acknowledged runs, each end
   that was awaited is told once
3. Redis forgets everything: a worker registers again
4. Redis is away for good: a worker stops in bounded time, and the program ends
"""

import asyncio
import threading
import time
import unittest

import muster
from support import Case, eventually

WORKER = """
import muster, os, sys, time
worker = muster.Worker(hands=8, prefetch=20, ttl=1, id=sys.argv[1])
@worker.handler("q")
def handler(process):
    time.sleep(0.01)
    os.write(1, process.task + b"\\n")
worker.run()
"""


class Killed(Case):
    def test_what_a_killed_worker_held_runs_elsewhere(self):
        tasks = {f"{i}" for i in range(300)}
        first = self.program(WORKER, "first")
        eventually(self.client.workers)
        self.client.enqueue_many("q", tasks)
        done = {first.stdout.readline().strip() for _ in range(20)}
        first.kill()
        first.wait()
        held = len(self.client.processes())
        self.assertGreater(held, 0)
        second = self.program(WORKER, "second")
        done |= {second.stdout.readline().strip() for _ in range(len(tasks) - len(done) - 8)}
        eventually(lambda: self.client.length("q") == 0 and not self.client.processes(), "the end of all tasks")
        second.terminate()
        said, errors = self.finished(second)
        done |= set(said.split()) | set(first.stdout.read().split())
        self.assertEqual(done, tasks)
        self.assertEqual(self.client.failures("q"), [])


class Restarts(Case):
    def setUp(self):
        super().setUp()
        self.addCleanup(self.bring_back)

    def bring_back(self):
        if self.redis.child.poll() is not None:
            self.redis.start()

    def restart(self):
        self.redis.kill()
        self.redis.start()

    def test_a_client_goes_on(self):
        self.client.enqueue("q", "a")
        self.redis.kill()
        with self.assertRaises(muster.NoConnection):
            self.client.enqueue("q", "b")
        self.redis.start()
        self.client.enqueue("q", "c")
        tasks = [row.task for row in self.client.peek("q")]
        self.assertEqual((tasks[0], tasks[-1]), (b"a", b"c"))

    def test_a_worker_goes_on(self):
        done, lock, events = set(), threading.Lock(), []
        worker = self.worker(hands=4, ttl=10.0, on_event=lambda event: events.append(event.type))

        @worker.handler("q")
        def handler(process):
            time.sleep(0.002)
            with lock:
                done.add(process.task)

        tasks = {b"%d" % i for i in range(1500)}
        with worker:
            self.client.enqueue_many("q", tasks)
            eventually(lambda: len(done) > 50)
            self.restart()
            eventually(lambda: len(done) > 700)
            self.restart()
            eventually(lambda: done == tasks, "all tasks")
            eventually(lambda: not self.client.processes())
        self.assertIn("down", events)
        self.assertEqual((self.client.length("q"), self.client.workers()), (0, []))

    def test_a_worker_registers_again_when_all_is_forgotten(self):
        seen = threading.Event()
        worker = self.worker(ttl=0.5)
        worker.serve("q", lambda process: seen.set())
        with worker:
            eventually(self.client.workers)
            self.forget_all()
            eventually(self.client.workers, "another registration")
            self.client.enqueue("q", "a")
            self.assertTrue(seen.wait(30))

    def test_a_worker_stops_without_redis(self):
        worker = self.worker(ttl=0.5)
        worker.serve("q", lambda process: None)
        worker.start()
        eventually(self.client.workers)
        self.redis.kill()
        worker.stop(0)
        with self.assertRaises(muster.NoConnection):
            worker.join(20)

    def test_a_program_ends_without_redis(self):
        child = self.program(WORKER.replace("worker.run()", "worker.start(); sys.stdin.readline()"), "w")
        eventually(self.client.workers)
        self.redis.kill()
        child.stdin.write("\n")
        child.stdin.flush()
        start = time.monotonic()
        self.finished(child)
        self.assertLess(time.monotonic() - start, 10)
        self.assertEqual(child.returncode, 0)

    def test_futures_are_answered(self):
        async def main():
            known, unknown = 0, 0
            async with muster.AsyncClient(self.redis.url, timeout=20) as client:
                for i in range(3):
                    futures = [client.enqueue("q", b"x") for _ in range(5000)]
                    if i == 1:
                        self.restart()  # not on a thread: Redis dies with the one that starts it
                    for answer in await asyncio.gather(*futures, return_exceptions=True):
                        known += isinstance(answer, int)
                        unknown += isinstance(answer, muster.NoConnection)
            return known, unknown

        known, unknown = asyncio.run(main())
        self.assertEqual(known + unknown, 15000)
        self.assertGreaterEqual(known, 10000)
        with muster.Client(self.redis.url) as client:
            self.assertLessEqual(known, client.length("q"))
            self.assertGreaterEqual(known + unknown, client.length("q"))

    def test_awaited_ends_are_told_once(self):
        ends = {"counted": 0, "not": 0}

        async def handler(process):
            try:
                await process.finish()
                ends["counted"] += 1
            except muster.Error:
                ends["not"] += 1

        async def main():
            worker = muster.AsyncWorker(self.redis.url, hands=4, ttl=10.0)
            worker.serve("q", handler)
            async with worker:
                self.client.enqueue_many("q", [b"x"] * 20000)
                while ends["counted"] < 500:
                    await asyncio.sleep(0.01)
                self.restart()  # not on a thread: Redis dies with the one that starts it
                with muster.Client(self.redis.url) as client:
                    while client.length("q") or client.processes():
                        await asyncio.sleep(0.01)

        asyncio.run(asyncio.wait_for(main(), 120))
        # Of an end whose answer was lost nobody knows: it has counted, or its task has run again.
        self.assertLessEqual(ends["counted"], 20000)
        self.assertGreaterEqual(ends["counted"] + ends["not"], 20000)


if __name__ == "__main__":
    unittest.main()
