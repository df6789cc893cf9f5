# SPDX-License-Identifier: MIT
"""Listeners. Proves:
1. what happens in queues and to jobs is heard, of the kinds that were asked for, by a loop and in asyncio
2. a restart of Redis is told: a gap, then ready again
3. waiting ends by its time, by Ctrl-C, and when its task is cancelled, and loses nothing
4. in asyncio other tasks have their turns, however much is there; who waits no time gets what is there all the same
"""

import asyncio
import select
import signal
import unittest

import muster
from muster import JobSpec
from support import DEADLINE_S, Case


class Listens(Case):
    def listener(self):
        listener = muster.Listener(self.redis.url)
        self.addCleanup(listener.close)
        return listener

    def heard(self, listener, type):
        """The next one of this type; what comes before is no failure."""
        while (heard := listener.next(30)) is not None:
            if heard.type == type:
                return heard
        self.fail(f"{type} was not heard")

    def test_what_happens_is_heard(self):
        listener = self.listener()
        listener.add("q")
        listener.add("r", "done")
        self.assertEqual({self.heard(listener, "ready").queue for _ in range(2)}, {"q", "r"})
        self.client.enqueue("q", "a")
        self.client.take_one("q", lease=10).finish("result")
        heard = self.heard(listener, "done")
        self.assertEqual((heard.queue, heard.task, heard.result, heard.worker), ("q", b"a", b"result", ".lease"))
        self.client.enqueue("q", "b")
        self.client.take("q", lease=10, holder="me")[0].finish()
        self.assertEqual(self.heard(listener, "done").holder, "me")
        self.client.cancel("r", "not asked for")
        self.client.cancel("q", "c")
        self.assertEqual(self.heard(listener, "cancelled").task, b"c")
        self.client.put("q", JobSpec("x", id="j"))
        heard = self.heard(listener, "job")
        self.assertEqual((heard.job.what, heard.job.id, heard.job.queue), ("put", "j", "q"))
        self.client.delete_queue("q")
        self.assertEqual(self.heard(listener, "deleted").queue, "q")
        listener.remove("q")

    def test_jobs_of_all_queues(self):
        listener = self.listener()
        listener.add(None, "jobs")
        self.assertIsNone(self.heard(listener, "ready").queue)
        self.client.put("some", JobSpec(id="j"))
        self.assertEqual(self.heard(listener, "job").job.id, "j")

    def test_a_gap_is_told(self):
        listener = self.listener()
        listener.add("q")
        self.heard(listener, "ready")
        self.redis.kill()
        self.assertIsInstance(self.heard(listener, "gap").error, muster.NoConnection)
        self.redis.start()
        self.heard(listener, "ready")
        with muster.Client(self.redis.url) as client:
            client.cancel("q", "a")
        self.assertEqual(self.heard(listener, "cancelled").task, b"a")

    def test_wrong_use_is_said(self):
        listener = self.listener()
        with self.assertRaisesRegex(muster.Invalid, "kinds are done"):
            listener.add("q", "everything")
        with self.assertRaises(muster.Invalid):
            listener.add(None, "done")
        self.assertIsNone(listener.next(0.05))
        listener.close()
        listener.close()
        with self.assertRaisesRegex(ValueError, "closed"):
            listener.add("q")

    def test_ctrl_c_ends_waiting(self):
        child = self.program("import muster; l = muster.Listener(); print('waits', flush=True); next(iter(l))")
        child.stdout.readline()
        child.send_signal(signal.SIGINT)
        _, errors = self.finished(child)
        self.assertIn("KeyboardInterrupt", errors)

    def test_in_asyncio(self):
        async def main():
            async with muster.AsyncListener(self.redis.url) as listener:
                listener.add("q", "done")
                self.assertEqual((await listener.next()).type, "ready")
                for _ in range(20):  # a wait that is cancelled loses nothing
                    with self.assertRaises(asyncio.TimeoutError):
                        await asyncio.wait_for(listener.next(), 0.002)
                self.client.enqueue_many("q", [b"%d" % i for i in range(500)])
                for lease in self.client.take("q", 500, lease=600):
                    lease.finish()
                tasks = []
                async for heard in listener:
                    tasks.append(heard.task)
                    if len(tasks) == 500:
                        break
                self.assertEqual(tasks, [b"%d" % i for i in range(500)])

        asyncio.run(asyncio.wait_for(main(), DEADLINE_S))

    def test_other_tasks_have_their_turns(self):
        turns = 0

        async def take_turns():
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        async def main():
            async with muster.AsyncListener(self.redis.url) as listener:
                listener.add("q", "cancelled")
                self.assertEqual((await listener.next()).type, "ready")
                other = asyncio.create_task(take_turns())
                for _ in range(20):
                    self.client.cancel("q", "x")
                    self.assertTrue(select.select([listener._fd], [], [], DEADLINE_S)[0])
                    self.assertEqual((await listener.next()).type, "cancelled")
                other.cancel()

        asyncio.run(asyncio.wait_for(main(), DEADLINE_S))
        self.assertGreaterEqual(turns, 20)

    def test_who_waits_no_time_gets_what_is_there(self):
        def at_once(listener):
            """What next() gives before it leaves the loop to others."""
            asked = listener.next()
            try:
                asked.send(None)
            except StopIteration as end:
                return end.value
            asked.close()
            return None

        async def main():
            async with muster.AsyncListener(self.redis.url) as listener:
                listener.add("q", "cancelled")
                self.assertEqual((await listener.next()).type, "ready")
                for _ in range(3):
                    self.client.cancel("q", "x")
                    self.assertTrue(select.select([listener._fd], [], [], DEADLINE_S)[0])
                    heard = at_once(listener) or at_once(listener)
                    self.assertEqual(heard and heard.type, "cancelled")

        asyncio.run(asyncio.wait_for(main(), DEADLINE_S))


if __name__ == "__main__":
    unittest.main()
