# SPDX-License-Identifier: MIT
"""The client and the worker for asyncio. Proves:
1. thousands of calls are in flight, each future has its answer; errors are exceptions
2. leases, and what the end of a block does; a call that is cancelled leaves nothing taken
   takes wait for work, any number at once; close() ends them
3. handlers are coroutines, so many at once as there are hands; what they return, raise and end
4. a handler that is to stop is cancelled; a process that was not begun is ended, too
5. a worker stops by stop(), its block, signals, and when run() is cancelled; the program ends while it runs
"""

import asyncio
import signal
import time
import unittest

import muster
from muster import Backoff, GiveBack, JobSpec, LeaseEnd, StopReason
from support import DEADLINE_S, Case, eventually, slow


async def soon(condition):
    """Wait until condition() is true, in the loop."""
    turns = DEADLINE_S * 100  # as eventually() counts them
    while not (got := condition()):
        if (turns := turns - 1) < 0:
            raise AssertionError("what is waited for has not come about")
        await asyncio.sleep(0.01)
    return got


class AioCase(Case):
    def run_with_client(self, main, **options):
        async def run():
            async with muster.AsyncClient(self.redis.url, **options) as client:
                return await main(client)

        return asyncio.run(run())

    def async_worker(self, **options):
        options.setdefault("ttl", 1.0)
        return muster.AsyncWorker(self.redis.url, **options)

    def work_off(self, handler, **options):
        worker = self.async_worker(burst=True, **options)
        worker.serve("q", handler)
        asyncio.run(worker.run())


class Clients(AioCase):
    def test_many_are_in_flight(self):
        async def main(client):
            futures = [client.enqueue("q", b"%d" % i) for i in range(5000)]
            waiting = await asyncio.gather(*futures)
            self.assertEqual(max(waiting), 5000)
            self.assertEqual(await client.length("q"), 5000)

        self.run_with_client(main)
        self.assertEqual([row.task for row in self.client.peek("q", 5000)], [b"%d" % i for i in range(5000)])

    def test_an_end_of_the_block_waits_for_what_is_in_flight(self):
        async def main(client):
            for i in range(1000):
                client.enqueue("q", "x").cancel()  # a future that nobody wants; the call is made all the same

        self.run_with_client(main)
        self.assertEqual(self.client.length("q"), 1000)

    def test_too_many_are_refused(self):
        async def main(client):
            futures = [client.enqueue("q", "x") for _ in range(3)]
            with self.assertRaises(muster.Busy):
                for _ in range(100):
                    futures.append(client.enqueue("q", "x"))
            await asyncio.gather(*futures)
            await client.enqueue("q", "x")

        self.run_with_client(main, max_in_flight=3)

    def test_errors(self):
        async def main(client):
            with self.assertRaisesRegex(muster.Invalid, "control"):
                client.enqueue("q\n", "x")
            with self.assertRaises(muster.Lost):
                await client.finish("w:1j0sfv40rim:q")
            with self.assertRaises(muster.NotFound):
                await client.job("none")
            with self.assertRaises(muster.Timeout):
                await client.wait([await client.put("q", "x")], 0)

        self.run_with_client(main)

        async def nobody():
            async with muster.AsyncClient("unix:///nowhere/socket", timeout=0.2) as client:
                with self.assertRaises(muster.NoConnection):
                    await client.enqueue("q", "x")

        asyncio.run(nobody())

    def test_a_client_belongs_to_its_loop(self):
        client = muster.AsyncClient(self.redis.url)

        async def use():
            await client.enqueue("q", "x")

        async def close():
            await client.close()

        loop = asyncio.new_event_loop()
        loop.run_until_complete(use())
        with self.assertRaisesRegex(RuntimeError, "another loop"):
            asyncio.run(use())
        loop.run_until_complete(close())
        with self.assertRaisesRegex(ValueError, "closed"):
            loop.run_until_complete(use())
        loop.close()

    def test_jobs_are_put_without_a_thread(self):
        async def main(client):
            ids = await asyncio.gather(*(client.put("q", b"%d" % i) for i in range(1000)))
            self.assertEqual((len(set(ids)), await client.length("q")), (1000, 1000))
            spec = JobSpec("x", id="j", retries=0, priority=-5, tags=["t"], backoff=Backoff(7), after=["a"])
            with self.assertRaisesRegex(muster.NotFound, "there is no job 'a' for the job 'j' to wait for: put that one first"):
                await client.put("r", spec)
            await client.put("other", JobSpec("x", id="a"))
            self.assertEqual(await client.put("r", spec), "j")
            with self.assertRaisesRegex(muster.Exists, "'j' is waiting for others: replace or cancel it") as refused:
                await client.put("r", spec)
            self.assertEqual(refused.exception.ids, ["j"])
            with self.assertRaises(muster.Invalid):
                client.put("r", JobSpec("x", id="a\nb"))
            self.assertIsNone(client._executor)
            put = client.put("r", JobSpec("x", id="daily", cron="0 3 * * *"))
            self.assertEqual(await put, "daily")

        self.run_with_client(main)
        job = self.client.job("j")
        self.assertEqual((job.queue, job.data, job.retries, job.priority, job.tags), ("r", b"x", 0, -5, ["t"]))
        self.assertEqual((job.backoff.delay, self.client.job("daily").cron), (7, "0 3 * * *"))

    def test_everything_else_by_call(self):
        async def main(client):
            await client.put_many("q", [JobSpec("a", id="a"), "b"])
            self.assertEqual((await client.call(muster.Client.job_counts, "q"))["waiting"], 2)
            self.assertEqual((await client.job("a")).data, b"a")
            await client.pause("q")
            self.assertTrue((await client.queue("q")).paused)
            await client.resume("q")
            self.assertEqual(await client.cancel_jobs(["a"]), (1, 0))

        self.run_with_client(main)


class Leases(AioCase):
    def test_ends(self):
        self.client.enqueue_many("q", ["done", "back", "again", "failed"])

        async def main(client):
            self.assertIsNone(await client.take_one("none", lease=1))
            done, back, again, failed = await client.take("q", 4, lease=30)
            await done.extend(60, progress="half")
            self.assertEqual([row.progress for row in await client.processes() if row.id == done.id], ["half"])
            await asyncio.gather(done.finish("r"), back.give_back(), again.retry(1000), failed.fail("g", "m"))
            with self.assertRaises(muster.Lost):
                await done.finish()

        self.run_with_client(main)
        row = self.client.queue("q")
        self.assertEqual((row.waiting, row.delayed, row.failed, row.running), (1, 1, 1, 0))

    def test_blocks(self):
        self.client.enqueue_many("q", ["good", "bad"])
        self.client.put("j", JobSpec("x", id="j", retries=1, backoff=Backoff(1000)))

        async def main(client):
            async with await client.take_one("q", lease=30):
                pass
            with self.assertRaises(ValueError):
                async with await client.take_one("q", lease=30):
                    raise ValueError("no")
            with self.assertRaises(ValueError):
                async with await client.take_one("j", lease=30) as lease:
                    self.assertEqual(lease.job.id, "j")
                    raise ValueError("later")

        self.run_with_client(main)
        self.assertEqual([(f.task, f.group) for f in self.client.failures("q")], [(b"bad", "ValueError")])
        self.assertEqual((self.client.job("j").state, self.client.job("j").group), ("scheduled", "ValueError"))

    def test_a_retry_says_why(self):
        self.client.put("q", JobSpec("x", id="j", retries=2))
        self.client.enqueue("q", "task")

        async def main(client):
            task, job = sorted(await client.take("q", 2, lease=30), key=lambda lease: lease.job is not None)
            with self.assertRaises(muster.WrongState):
                await task.retry(group="g")
            await job.retry(1000, group="g", message="m")
            self.assertIsNone(client._executor)

        self.run_with_client(main)
        job = self.client.job("j")
        self.assertEqual((job.state, job.group, job.message), ("scheduled", "g", "m"))

    def test_many_at_once(self):
        self.client.enqueue_many("q", ["a", "b"])

        async def main(client):
            a, b = await client.take("q", 2, lease=30)
            self.assertEqual(await client.extend_many([a.id, b.id], 60, progress="p"), [None, None])
            self.assertEqual([row.progress for row in await client.processes()], ["p", "p"])
            told = await client.end_many([LeaseEnd.finish(a.id), LeaseEnd.give_back(b.id), LeaseEnd.finish(a.id)])
            self.assertEqual([why and type(why) for why in told], [None, None, muster.Lost])

        self.run_with_client(main)
        self.assertEqual((self.client.length("q"), self.client.processes()), (1, []))

    def test_a_holder_has_its_name(self):
        self.client.enqueue("q", "a")

        async def main(client):
            lease = await client.take_one("q", lease=30, holder="me")
            self.assertEqual([row.holder for row in await client.processes()], ["me"])
            await lease.finish()
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(client.take("q", lease=30, wait=600, holder="me"), 0.1)

        self.run_with_client(main)

    def test_a_block_whose_task_is_cancelled_gives_back(self):
        self.client.enqueue("q", "a")

        async def main(client):
            began = asyncio.Event()

            async def work():
                async with await client.take_one("q", lease=30):
                    began.set()
                    await asyncio.sleep(600)

            task = asyncio.create_task(work())
            await began.wait()
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task

        self.run_with_client(main)
        self.assertEqual((self.client.length("q"), self.client.processes()), (1, []))

    def test_a_take_that_is_cancelled_leaves_nothing_taken(self):
        async def main(client):
            start = time.monotonic()
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(client.take("q", lease=600, wait=600), 0.3)
            self.assertLess(time.monotonic() - start, slow(10))
            # Cancelled at any moment, with work that comes at any moment, on threads and on the one connection.
            takes = (
                lambda: client.take("q", 2, lease=600),
                lambda: client.take("q", 2, lease=600, wait=600),
                lambda: client.take("q", 2, lease=600, wait=600, holder="me"),
                lambda: client.call(muster.Client.take_one, "q", lease=600, wait=600),
            )
            for i in range(120):
                taking = asyncio.ensure_future(takes[i % 4]())
                await asyncio.sleep(0)
                sent = client.enqueue("q", b"%d" % i)
                await asyncio.sleep(i % 7 / 2000)
                taking.cancel()
                await sent
                try:
                    got = await taking
                    for lease in got if isinstance(got, list) else [got]:
                        await client.finish(lease.id)
                except asyncio.CancelledError:
                    pass
                for lease in await client.take("q", 10, lease=600):
                    await lease.finish()

        self.run_with_client(main)
        self.assertEqual(self.client.processes(), [])


class Waiting(AioCase):
    """Takes that wait. A lease lasts longer than any test: what is not given back is seen."""

    async def sleeps(self, queue="q"):
        await soon(lambda: f"_{queue}_" in self.redis.run("pubsub", "channels"))

    def test_any_number_waits_on_one_connection(self):
        async def main(client):
            taking = [asyncio.ensure_future(client.take_one(f"q{i % 7}", lease=600, wait=600)) for i in range(700)]
            await self.sleeps("q6")
            for i in range(700):
                client.enqueue(f"q{i % 7}", b"%d" % i)
            leases = await asyncio.gather(*taking)
            self.assertEqual({lease.task for lease in leases}, {b"%d" % i for i in range(700)})
            self.assertIsNone(client._executor)
            await asyncio.gather(*(lease.finish() for lease in leases))

        self.run_with_client(main)
        self.assertEqual(self.client.processes(), [])

    def test_it_ends_in_time(self):
        async def main(client):
            start = time.monotonic()
            self.assertEqual(await client.take("q", lease=600, wait=0.2), [])
            self.assertTrue(0.15 < time.monotonic() - start < slow(10))
            with self.assertRaises(muster.Invalid):
                await client.take("q", lease=600, wait=-1)
            with self.assertRaises(muster.Invalid):
                await client.take("q", 0, lease=600, wait=1)

        self.run_with_client(main)

    def test_what_comes_for_a_take_that_was_cancelled_goes_back(self):
        async def main(client):
            taking = [asyncio.ensure_future(client.take("q", 5, lease=600, wait=600)) for _ in range(10)]
            await self.sleeps()
            for one in taking:
                one.cancel()
            await asyncio.gather(*taking, return_exceptions=True)
            self.client.enqueue_many("q", ["a", "b"])
            # Each of the ten takes what comes, and it is there again at the end.
            await soon(lambda: not client._waiting and self.client.length("q") == 2)
            self.assertEqual([row.task for row in self.client.peek("q")], [b"a", b"b"])

        self.run_with_client(main)
        self.assertEqual(self.client.processes(), [])

    def test_waiting_a_little_again_and_again_leaves_no_more_and_no_more_under_way(self):
        async def main(client):
            for _ in range(20):
                with self.assertRaises(asyncio.TimeoutError):
                    await asyncio.wait_for(client.take("q", lease=600, wait=600), 0.01)
            start = time.monotonic()
            self.assertEqual(await client.take("q", lease=600, wait=0.1), [])
            self.assertLess(time.monotonic() - start, slow(10))
            self.client.enqueue("q", "a")
            lease = (await client.take("q", lease=600, wait=600))[0]
            await lease.finish()

        self.run_with_client(main, max_in_flight=2)
        self.assertEqual(self.client.processes(), [])

    def test_one_that_was_left_and_ends_is_followed_by_another(self):
        async def main(client):
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(client.take("q", lease=600, wait=0.3), 0.01)
            asked = client._next_ask
            taking = asyncio.ensure_future(client.take("q", lease=600, wait=600))
            await soon(lambda: client._next_ask > asked)
            self.client.enqueue("q", "a")
            await (await taking)[0].finish()

        self.run_with_client(main)
        self.assertEqual(self.client.processes(), [])

    def test_close_ends_it(self):
        job = self.client.put("other", "x")

        async def main():
            start = time.monotonic()
            async with muster.AsyncClient(self.redis.url) as client:
                waits = [
                    client.take("q", lease=600, wait=600),
                    client.take("q", lease=600, wait=600, holder="me"),
                    client.wait([job]),
                    client.call(muster.Client.take_one, "q", lease=600, wait=600),
                ]
                waiting = [asyncio.ensure_future(one) for one in waits]
                left = asyncio.ensure_future(client.take("r", lease=600, wait=600))
                await self.sleeps("r")
                left.cancel()
                await soon(lambda: len(client._busy) == 3)
                sent = [client.enqueue("s", "x") for _ in range(100)]
            self.assertLess(time.monotonic() - start, slow(20))
            self.assertEqual(len(await asyncio.gather(*sent)), 100)
            for one in waiting:
                with self.assertRaises(muster.Interrupted):
                    await one
            with self.assertRaisesRegex(ValueError, "closed"):
                await client.take("q", lease=600, wait=1)

        asyncio.run(main())
        self.client.enqueue_many("q", ["a"])
        self.client.enqueue_many("r", ["b"])
        self.assertEqual((self.client.length("q"), self.client.length("r"), self.client.processes()), (1, 1, []))

    def test_close_at_any_moment_leaves_nothing_taken(self):
        async def once(i):
            async with muster.AsyncClient(self.redis.url) as client:
                taking = [asyncio.ensure_future(client.take("q", lease=600, wait=600)) for _ in range(5)]
                await client.length("q")
                client.enqueue("q", b"%d" % i)
                self.client.enqueue("q", b"x")
                await asyncio.sleep(i % 5 / 2000)
                if i % 3 == 0:
                    taking[0].cancel()
            for one in await asyncio.gather(*taking, return_exceptions=True):
                if isinstance(one, list):
                    for lease in one:
                        self.client.finish(lease.id)
                else:
                    self.assertIsInstance(one, (muster.Interrupted, asyncio.CancelledError))

        for i in range(40):
            asyncio.run(once(i))
        self.assertEqual(self.client.processes(), [])


    def test_a_take_of_many_under_a_name_leaves_nothing_taken_when_it_is_ended_on_its_way(self):
        self.client.enqueue_many("q", [b"x"] * 1000)

        async def once(i):
            async with muster.AsyncClient(self.redis.url) as client:
                await client.call(muster.Client.time)
                taking = asyncio.ensure_future(client.take("q", 1000, lease=600, wait=600, holder="me"))
                while not client._busy and not taking.done():
                    await asyncio.sleep(0)
                await asyncio.sleep(i % 10 / 500)
                if i % 2:
                    taking.cancel()
            try:
                self.client.end_many(LeaseEnd.give_back(lease.id) for lease in await taking)
            except (muster.Interrupted, asyncio.CancelledError):
                pass
            self.assertEqual((self.client.length("q"), self.client.processes()), (1000, []))

        for i in range(40):
            asyncio.run(once(i))


class Workers(AioCase):
    def test_handlers_run_at_once(self):
        self.client.enqueue_many("q", [b"%d" % i for i in range(500)])
        seen, now, most = set(), 0, 0

        async def handler(process):
            nonlocal now, most
            now += 1
            most = max(most, now)
            await asyncio.sleep(0.001)
            now -= 1
            seen.add(process.task)

        self.work_off(handler, hands=50, prefetch=50)
        self.assertEqual((len(seen), most), (500, 50))

    def test_outcomes(self):
        ends = {
            "result": lambda p: b"r",
            "nothing": lambda p: None,
            "raises": lambda p: 1 / 0,
            "no result": lambda p: 5,
        }

        async def handler(process):
            return ends[process.job.id](process)

        for id in ends:
            self.client.put("q", JobSpec("x", id=id, retries=0))
        self.work_off(handler)
        found = {id: self.client.job(id) for id in ends}
        self.assertEqual([job.state for job in found.values()], ["complete", "complete", "failed", "failed"])
        self.assertEqual([job.group for job in found.values()], ["", "", "ZeroDivisionError", "TypeError"])
        self.assertEqual(found["result"].result, b"r")

    def test_ends_are_awaited(self):
        seen = []

        async def handler(process):
            if process.task == b"lost":
                self.client.finish(process.id)
                try:
                    await process.finish()
                except muster.Lost:
                    seen.append("lost")
            elif process.task == b"done":
                await process.finish("r")
                seen.append("not yet" if self.client.processes(task="done") else "done")
                raise ValueError("means nothing any more")
            elif process.task == b"fail":
                await process.fail("m", group="g")
            else:
                seen.append(await process.worker.enqueue("next", process.task))

        self.client.enqueue_many("q", ["lost", "done", "fail", "on"])
        self.work_off(handler)
        eventually(lambda: len(seen) == 3)
        self.assertEqual(seen, ["lost", "done", 1])
        self.assertEqual([f.group for f in self.client.failures("q")], ["g"])

    def test_a_handler_that_is_to_stop_is_cancelled(self):
        began, reasons = [], []

        async def handler(process):
            began.append(process.task)
            try:
                await asyncio.sleep(600)
            except asyncio.CancelledError:
                reasons.append(process.stop_reason)
                raise

        async def main():
            worker = self.async_worker()
            worker.serve("q", handler)
            async with worker:
                self.client.enqueue("q", "a")
                await soon(lambda: began)
                self.client.cancel("q", "a")
                await soon(lambda: reasons and not self.client.processes())

        asyncio.run(main())
        self.assertEqual(reasons, [StopReason.CANCELLED])
        self.client.enqueue("q", "b")
        self.work_off(handler, limit=0.1)
        self.assertEqual(([f.group for f in self.client.failures("q")], reasons[1]), (["limit"], StopReason.LIMIT))

    def test_what_was_not_begun_is_ended_too(self):
        async def handler(process):
            await asyncio.sleep(600)

        async def main():
            worker = self.async_worker(hands=3)
            worker.serve("q", handler)
            begin = worker._begin
            first = []

            def cancelled_at_once(process):
                first.append(process.token)
                begin(process)
                process._task.cancel()
                worker._begin = begin

            worker._begin = cancelled_at_once
            async with worker:
                self.client.enqueue("q", "a")
                await soon(lambda: first and any(p.token != first[0] for p in self.client.processes()))
                worker.stop(0)

        asyncio.run(main())
        self.assertEqual(self.client.length("q"), 1)

    def test_wrong_handlers_are_refused(self):
        with self.assertRaisesRegex(TypeError, "Worker has functions"):
            self.async_worker().serve("q", print)

        async def two(process, other):
            pass

        self.client.enqueue("q", "a")
        self.work_off(two)
        self.assertEqual(self.client.failures("q")[0].group, "TypeError")

    def test_a_loop_that_is_held_up_keeps_the_registration(self):
        tokens = []

        async def handler(process):
            tokens.append(process.token)
            time.sleep(1.5)

        self.client.enqueue("q", "a")
        self.work_off(handler, ttl=slow(0.5))
        self.assertEqual(len(tokens), 1)

    def test_run_that_is_cancelled_gives_back(self):
        async def handler(process):
            await asyncio.sleep(600)

        async def main():
            worker = self.async_worker()
            worker.serve("q", handler)
            running = asyncio.create_task(worker.run())
            await soon(self.client.workers)
            self.client.enqueue("q", "a")
            await soon(self.client.processes)
            running.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await running

        asyncio.run(main())
        self.assertEqual((self.client.length("q"), self.client.workers()), (1, []))

    def test_a_worker_that_cannot_start_says_so(self):
        async def main():
            async with self.async_worker(id="w"):
                await soon(self.client.workers)
                with self.assertRaises(muster.Exists):
                    await self.async_worker(id="w").run()

        asyncio.run(main())

    def test_give_back(self):
        tokens = []

        async def handler(process):
            tokens.append(process.token)
            if len(tokens) == 1:
                raise GiveBack

        self.client.enqueue("q", "a")
        self.work_off(handler)
        self.assertEqual(len(set(tokens)), 2)


PROGRAM = """
import asyncio, muster, os, sys, time
worker = muster.AsyncWorker(hands=4, ttl=2)
@worker.handler("q")
async def handler(process):
    os.write(1, b"begins\\n")
    {handler}
{main}
"""


class Ends(AioCase):
    def begun(self, handler, main):
        child = self.program(PROGRAM.format(handler=handler, main=main))
        eventually(self.client.workers)
        self.client.enqueue("q", "a")
        self.assertEqual(child.stdout.readline(), "begins\n")
        return child

    def test_signals_stop_a_worker_politely(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            child = self.begun("await asyncio.sleep(0.5); print('done')", "asyncio.run(worker.run()); print('over')")
            child.send_signal(number)
            self.assertEqual(self.finished(child), ("done\nover\n", ""))
            self.assertEqual((self.client.length("q"), self.client.workers()), (0, []))

    def test_ctrl_c_without_run_gives_back(self):
        main = "async def main():\n    async with worker:\n        await asyncio.sleep(600)\nasyncio.run(main())"
        child = self.begun("await asyncio.sleep(600)", main)
        child.send_signal(signal.SIGINT)
        _, errors = self.finished(child)
        self.assertIn("KeyboardInterrupt", errors)
        self.assertEqual((self.client.length("q"), self.client.workers()), (1, []))

    def test_the_end_of_the_program_gives_back(self):
        for how in ("sys.exit(3)", "return"):
            main = f"""
async def main():
    await worker.start()
    await asyncio.to_thread(sys.stdin.readline)
    {how}
asyncio.run(main())"""
            child = self.begun("await asyncio.sleep(600)", main)
            child.stdin.write("\n")
            child.stdin.flush()
            _, errors = self.finished(child)
            self.assertEqual((errors, self.client.delete_queue("q"), self.client.workers()), ("", (1, 0), []))


if __name__ == "__main__":
    unittest.main()
