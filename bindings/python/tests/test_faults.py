# SPDX-License-Identifier: MIT
"""Redis and workers are killed. Proves:
1. a worker's process is killed: what it held runs again elsewhere, nothing is lost; a task that kills it has failed
   after four deaths, and nothing else has
2. Redis is killed and comes back: clients, workers and futures go on; each task that was acknowledged runs, each end
   that was awaited is told once; takes that wait go on, and nothing stays taken for nobody
3. Redis forgets everything: a worker registers again
4. Redis is away for good: a worker stops in bounded time, and the program ends
"""

import asyncio
import socket
import threading
import time
import unittest

import muster
from support import DEADLINE_S, Case, eventually, slow

WORKER = """
import muster, os, sys, time
worker = muster.Worker(hands=8, prefetch=20, ttl=1, id=sys.argv[1])
@worker.handler("q")
def handler(process):
    time.sleep(0.01)
    os.write(1, process.task + b"\\n")
worker.run()
"""


POISON = """
import asyncio, muster, os, sys, time
kind, id, hands, prefetch, *queues = sys.argv[1:]
def end(process):
    if process.text == "poison":
        os.kill(os.getpid(), 9)
    os.write(1, process.task + b" ")
def on_thread(process):
    time.sleep(0.01)
    end(process)
async def in_asyncio(process):
    await asyncio.sleep(0.01)
    end(process)
is_async = kind == "asyncio"
worker = (muster.AsyncWorker if is_async else muster.Worker)(id=id, hands=int(hands), prefetch=int(prefetch), ttl=60)
for queue in queues:
    worker.serve(queue, in_asyncio if is_async else on_thread)
asyncio.run(worker.run()) if is_async else worker.run()
"""


class Poisoned:
    """A worker of two queues that is started again whenever it dies. In the first one poison lies among others, in the
    second one are innocent suspects."""

    def __init__(self, case, *how):
        self.case, self.how, self.lives, self.done = case, [str(it) for it in how], 0, set()
        self.queues = ["-".join(self.how), "-".join([*self.how, "suspects"])]
        case.client.enqueue_many(self.queues[1], ["s1", "s2", "s3"])
        case.client.take(self.queues[1], 3, lease=0.02)

    def start(self):
        self.lives += 1
        self.id = f"{self.queues[0]}-{self.lives}"
        kind, *numbers = self.how
        self.child = self.case.program(POISON, kind, self.id, *numbers, *self.queues)

    def begin(self):
        self.case.client.enqueue_many(self.queues[0], ["a", "poison", "b"])
        self.start()

    def said_of_suspects(self):
        entries = (self.case.redis.run("hvals", f"muster:suspects:{queue}") for queue in self.queues)
        return sorted(" ".join(entries).split())

    def sweep(self):
        self.case.redis.run("del", f"muster:alive:{self.id}")
        self.case.redis.run("zadd", "muster:registry", "1", self.id)
        eventually(lambda: self.case.redis.run("exists", f"muster:worker:{self.id}") == "0", "its sweep")

    def has_died(self):
        """Its death counts against the poison alone."""
        said, errors = self.case.finished(self.child)
        self.done |= set(said.split())
        self.sweep()
        counted = [str(self.lives - 1)] if 1 < self.lives < 4 else []
        self.case.assertEqual([n for n in self.said_of_suspects() if n != "0"], counted, errors)
        self.start()

    def is_over(self):
        return not any(self.case.client.length(queue) for queue in self.queues)


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

    def test_a_task_that_kills_its_worker_fails_and_no_other_does(self):
        ways = [("threads", 1, 300), *(("asyncio", hands, ahead) for hands in (1, 8) for ahead in (0, 300))]
        with self.worker() as watch:
            watch.serve("other", lambda process: None)
            all_of_them = [Poisoned(self, *way) for way in ways]
            for one in all_of_them:
                eventually(lambda one=one: self.client.length(one.queues[1]) == 3, "suspects")
                one.begin()
            for _ in range(4):
                for one in all_of_them:
                    eventually(lambda one=one: one.child.poll() is not None, "its death")
                    one.has_died()
            for one in all_of_them:
                eventually(one.is_over, "the end of all tasks")
            eventually(lambda: not self.client.processes())
        for one in all_of_them:
            one.child.terminate()
            one.done |= set(self.finished(one.child)[0].split())
            self.assertEqual(one.done, {"a", "b", "s1", "s2", "s3"})
            self.assertEqual([it.task for it in self.client.failures(one.queues[0])], [b"poison"])
            self.assertEqual(self.client.failures(one.queues[1]), [])


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
        worker = self.worker(ttl=slow(0.5))
        worker.serve("q", lambda process: seen.set())
        with worker:
            eventually(self.client.workers)
            self.forget_all()
            eventually(self.client.workers, "another registration")
            self.client.enqueue("q", "a")
            self.assertTrue(seen.wait(30))

    def test_a_worker_stops_without_redis(self):
        worker = self.worker(ttl=slow(0.5))
        worker.serve("q", lambda process: None)
        worker.start()
        eventually(self.client.workers)
        self.redis.kill()
        worker.stop(0)
        with self.assertRaises(muster.NoConnection):
            worker.join(DEADLINE_S)

    def test_a_program_ends_without_redis(self):
        child = self.program(WORKER.replace("worker.run()", "worker.start(); sys.stdin.readline()"), "w")
        eventually(self.client.workers)
        self.redis.kill()
        child.stdin.write("\n")
        child.stdin.flush()
        self.finished(child)
        self.assertEqual(child.returncode, 0)

    def test_futures_are_answered(self):
        async def main():
            known, unknown = 0, 0
            async with muster.AsyncClient(self.redis.url, timeout=slow(20)) as client:
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

    def waits(self):
        return "_q_" in self.redis.run("pubsub", "channels")

    def taking(self, client, n):
        return [asyncio.ensure_future(client.take_one("q", lease=600, wait=600)) for _ in range(n)]

    async def wait_for_takes(self, client):
        """Until no take has a request under way, which a cut would end."""
        while not self.waits():
            await asyncio.sleep(0.01)
        for _ in range(2):  # when the first answer is there the looks after it have been sent, and this is behind them
            await client.length("q")

    def test_takes_that_wait_go_on(self):
        def restart():
            self.restart()

        def cut():
            for kind in ("normal", "pubsub"):
                self.redis.run("client", "kill", "type", kind)

        async def main(fault):
            async with muster.AsyncClient(self.redis.url, timeout=slow(20)) as client:
                taking = self.taking(client, 30)
                await self.wait_for_takes(client)
                fault()  # not on a thread: Redis dies with the one that starts it
                with muster.Client(self.redis.url) as other:
                    other.enqueue_many("q", [b"%d" % i for i in range(30)])
                    leases = await asyncio.wait_for(asyncio.gather(*taking), DEADLINE_S)
                    self.assertEqual({lease.task for lease in leases}, {b"%d" % i for i in range(30)})
                    await asyncio.gather(*(lease.finish() for lease in leases))
                    self.assertEqual(other.processes(), [])

        for fault in (restart, cut):
            asyncio.run(main(fault))

    def test_takes_that_wait_are_told_that_redis_is_away(self):
        async def main():
            async with muster.AsyncClient(self.redis.url, timeout=slow(0.5)) as client:
                taking = self.taking(client, 3)
                await self.wait_for_takes(client)
                self.redis.kill()
                for one in await asyncio.wait_for(asyncio.gather(*taking, return_exceptions=True), DEADLINE_S):
                    self.assertIsInstance(one, muster.NoConnection)

        asyncio.run(main())

    def test_a_client_is_closed_without_redis_while_takes_wait(self):
        async def main():
            async with muster.AsyncClient(self.redis.url, timeout=slow(0.5)) as client:
                taking = self.taking(client, 3)
                await self.wait_for_takes(client)
                self.redis.kill()
                start = time.monotonic()
            self.assertLess(time.monotonic() - start, slow(60))
            for one in await asyncio.gather(*taking, return_exceptions=True):
                self.assertIsInstance(one, (muster.Interrupted, muster.NoConnection))

        asyncio.run(main())

    def test_nothing_stays_taken_for_a_take_whose_answer_is_lost(self):
        async def main():
            async with muster.AsyncClient(self.redis.url, timeout=slow(20)) as client:
                tasks = [b"%d" % i for i in range(400)]
                with muster.Client(self.redis.url) as other:
                    other.enqueue_many("q", tasks)
                taking = self.taking(client, 400)
                done, _ = await asyncio.wait(taking, return_when=asyncio.FIRST_COMPLETED)
                for one in taking[-50:]:
                    one.cancel()
                self.restart()  # not on a thread: Redis dies with the one that starts it
                got = []
                for one in await asyncio.wait_for(asyncio.gather(*taking[:-50], return_exceptions=True), DEADLINE_S):
                    if isinstance(one, muster.AsyncLease):
                        got.append(one)
                    else:
                        self.assertIsInstance(one, (muster.NoConnection, muster.Timeout))
                await asyncio.gather(*taking[-50:], return_exceptions=True)
                await asyncio.gather(*(lease.finish() for lease in got))
                with muster.Client(self.redis.url) as other:
                    while other.processes():
                        await asyncio.sleep(0.01)
                    left = {row.task for row in other.peek("q", 1000)}
                self.assertEqual(left, set(tasks) - {lease.task for lease in got})

        asyncio.run(asyncio.wait_for(main(), DEADLINE_S))

    def test_a_take_of_many_whose_connection_breaks_returns_what_it_has(self):
        # As long as a whole one takes on this machine: the cut is to come at each moment of it.
        self.client.enqueue_many("q", [b"x"] * 1000)
        began = time.monotonic()
        whole = self.client.take("q", 1000, lease=600)
        span = time.monotonic() - began
        self.client.end_many(muster.LeaseEnd.finish(lease.id) for lease in whole)
        n_part = 0
        for i in range(60):
            self.client.enqueue_many("q", [b"x"] * 1000)
            with muster.Client(self.redis.url) as taker, socket.socket(socket.AF_UNIX) as open_socket:
                open_socket.connect(f"{self.redis.dir}/socket")
                taker.length("q")  # it is connected
                cutter = threading.Timer(i % 12 / 12 * span, open_socket.sendall, (b"CLIENT KILL TYPE normal\r\n",))
                cutter.start()
                try:
                    got = taker.take("q", 1000, lease=600)
                except muster.NoConnection:
                    got = []
                cutter.join()
            n_part += 0 < len(got) < 1000
            with muster.Client(self.redis.url) as other:
                self.assertEqual({row.id for row in other.processes()}, {lease.id for lease in got})
                other.delete_queue("q")
                other.end_many(muster.LeaseEnd.finish(lease.id) for lease in got)
            self.client = muster.Client(self.redis.url)
            self.addCleanup(self.client.close)
        self.assertGreater(n_part, 0)

    def test_many_ends_without_an_answer_are_each_told(self):
        self.client.enqueue_many("q", ["a", "b"])
        leases = self.client.take("q", 2, lease=600)
        self.redis.kill()
        told = self.client.end_many([*(muster.LeaseEnd.finish(lease.id) for lease in leases), muster.LeaseEnd.fail("x")])
        self.assertEqual([type(why) for why in told], [muster.NoConnection, muster.NoConnection, muster.Invalid])
        told = self.client.extend_many([lease.id for lease in leases], 600)
        self.assertEqual([type(why) for why in told], [muster.NoConnection] * 2)
        self.redis.start()
        self.assertEqual(self.client.end_many(muster.LeaseEnd.give_back(lease.id) for lease in leases), [None, None])

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

        asyncio.run(asyncio.wait_for(main(), DEADLINE_S))
        # Of an end whose answer was lost nobody knows: it has counted, or its task has run again.
        self.assertLessEqual(ends["counted"], 20000)
        self.assertGreaterEqual(ends["counted"] + ends["not"], 20000)


if __name__ == "__main__":
    unittest.main()
