# SPDX-License-Identifier: MIT
"""The blocking client. Proves:
1. tasks, jobs, batches, failures, settings: what goes in comes out, and is told of in rows
2. leases: each end, by the lease and by its id, and what the end of a block does
3. each error is an exception of its class, with words; nothing is cut off or swallowed in silence
4. Ctrl-C ends a call that waits, promptly, and leaves nothing taken; threads take turns
5. a child of fork() refuses what it inherited
"""

import os
import signal
import subprocess
import threading
import time
import unittest
from pathlib import Path

import muster
from muster import Backoff, Fail, Follower, GiveBack, JobSpec, LeaseEnd, Retry
from support import DEADLINE_S, Case, eventually, slow

NO_ROOM = "unix:///nowhere/socket"


class Tasks(Case):
    def test_tasks_come_out_as_they_went_in(self):
        tasks = [b"", b"\0\xff", "über".encode(), b"x" * 100_000]
        self.assertEqual(self.client.enqueue("q", tasks[0]), 1)
        self.assertEqual(self.client.enqueue_many("q", iter(tasks[1:])), 4)
        seen = self.client.peek("q")  # the beginning of a long one
        self.assertEqual([row.task for row in seen], [task[:65536] for task in tasks])
        self.assertEqual([row.length for row in seen], [len(task) for task in tasks])
        self.assertEqual([row.position for row in self.client.peek("q", 2, start=1)], [1, 2])
        self.assertEqual(self.client.length("q"), 4)
        taken = self.client.take("q", 10, lease=10)
        self.assertEqual([lease.task for lease in taken], tasks)
        self.assertEqual(taken[2].text, "über")
        self.client.enqueue("q", bytearray(b"a"))
        self.client.enqueue_many("q", ["b", memoryview(b"c")], at_front=True)
        self.assertEqual([row.task for row in self.client.peek("q")], [b"b", b"c", b"a"])
        self.assertEqual(self.client.enqueue_many("q", []), 3)

    def test_many_tasks(self):
        tasks = [b"%d" % i for i in range(5000)]
        self.assertEqual(self.client.enqueue_many("q", tasks), 5000)
        self.assertEqual([row.task for row in self.client.peek("q", 5000)], tasks)

    def test_a_repetition_under_a_request_id_adds_nothing(self):
        for _ in range(2):
            self.assertEqual(self.client.enqueue_many("q", [b"a", b"b"], request_id="r"), 2)
        with self.assertRaises(muster.Exists):
            self.client.enqueue_many("q", [b"other"], request_id="r")
        self.assertEqual(self.client.length("q"), 2)

    def test_a_unique_task_is_there_once(self):
        id = self.client.enqueue_unique("q", "a")
        with self.assertRaises(muster.Exists):
            self.client.enqueue_unique("q", "a")
        self.assertEqual((self.client.job(id).unique, self.client.job(id).data), (True, b"a"))

    def test_cancel_tells_how_many(self):
        self.client.enqueue_many("q", ["a", "b", "a"])
        self.client.take("q", lease=10)
        self.assertEqual(self.client.cancel("q", "a"), (1, 1))
        self.assertTrue(self.client.processes(task="a")[0].cancelled)
        self.assertEqual([row.task for row in self.client.peek("q")], [b"b"])

    def test_a_queue_is_paused_resumed_told_of_and_deleted(self):
        self.client.enqueue("q", "a")
        self.client.pause("q")
        self.assertEqual(self.client.take("q", lease=10), [])
        row = self.client.queue("q")
        self.assertEqual((row.name, row.waiting, row.paused, row.came, row.went), ("q", 1, True, 1, 0))
        self.assertEqual([row.name for row in self.client.queues()], ["q"])
        self.client.resume("q")
        self.assertFalse(self.client.queue("q").paused)
        self.assertEqual(self.client.delete_queue("q"), (1, 0))
        with self.assertRaises(muster.NotFound):
            self.client.queue("q")

    def test_names_that_are_not_utf8_can_be_given_back(self):
        self.client.enqueue(b"q\xff", "a")
        row = self.client.queues()[0]
        self.assertEqual(self.client.length(row.name), 1)

    def test_settings(self):
        self.client.set("max_running", 1, queue="q")
        self.client.enqueue_many("q", ["a", "b"])
        self.assertEqual(len(self.client.take("q", 2, lease=10)), 1)
        setting = self.client.settings("q")["max_running"]
        self.assertEqual((setting.value, setting.source, setting.fallback), (1, "queue", 0))
        self.client.set("max_running", None, queue="q")
        self.assertEqual(self.client.settings("q")["max_running"].source, "default")
        with self.assertRaises(muster.NotFound):
            self.client.set("nonsense", 1)


class Leases(Case):
    def take(self, queue="q"):
        return self.client.take_one(queue, lease=30)

    def test_a_holder_is_shown_and_all_of_its_leases_can_be_ended(self):
        self.client.enqueue_many("q", ["a", "b", "c"])
        self.client.take("q", 2, lease=30, holder="host-1")
        self.client.take_one("q", lease=30)
        self.assertEqual([row.task for row in self.client.processes(holder="host-1")], [b"a", b"b"])
        self.assertEqual(sorted(str(row.holder) for row in self.client.processes()), ["None", "host-1", "host-1"])
        self.assertEqual(self.client.fail_worker("host-1"), 2)
        self.assertEqual([row.task for row in self.client.peek("q", 9)], [b"a", b"b"])

    def test_a_take_of_nothing_and_a_lease_of_no_time_are_refused(self):
        for n, lease in ((0, 30), (1, 0)):
            with self.assertRaises(ValueError):
                self.client.take("q", n, lease=lease)

    def test_each_end(self):
        self.client.enqueue_many("q", ["done", "back", "again", "failed"])
        self.assertIsNone(self.client.take_one("none", lease=1))
        lease = self.take()
        row = self.client.processes()[0]
        self.assertEqual((row.id, row.task, row.token, row.worker), (lease.id, b"done", lease.token, ".lease"))
        lease.extend(60, progress="half")
        row = self.client.processes(queue="q")[0]
        self.assertEqual(row.progress, "half")
        self.assertGreater(row.ends_at, self.client.time() + 50)
        lease.finish(b"result")
        self.take().give_back()
        self.assertEqual(self.client.peek("q", 1)[0].task, b"back")
        self.take().finish()
        self.take().retry(1000)
        self.assertEqual(self.client.queue("q").delayed, 1)
        self.take().fail("broken", "it is")
        failure = self.client.failures("q")[0]
        self.assertEqual((failure.task, failure.group, failure.message), (b"failed", "broken", "it is"))
        self.assertEqual(self.client.failed_groups(), [("q", "broken", 1)])
        self.assertEqual(self.client.drop("q", entries=[]), 0)
        self.assertEqual(self.client.replay("q", entries=[failure.entry]), 1)
        with self.assertRaises(muster.NotFound):
            self.client.drop("q", entries=[failure.entry])
        self.assertEqual(self.client.length("q"), 1)

    def test_an_end_counts_once(self):
        self.client.enqueue("q", "a")
        lease = self.take()
        self.client.finish(lease.id)
        for end in (lease.finish, lease.give_back, lease.retry, lease.fail):
            with self.assertRaises(muster.Lost):
                end()
        with self.assertRaises(muster.Lost):
            self.client.cancel_process(lease.id)

    def test_many_end_in_one_call_each_in_its_own_way(self):
        self.client.enqueue_many("q", ["done", "back", "again", "failed"])
        job = self.client.put("j", JobSpec("x", retries=2))
        done, back, again, failed = self.client.take("q", 4, lease=30)
        on = self.client.take_one("j", lease=30)
        ends = [
            LeaseEnd.finish(done.id, "r"),
            LeaseEnd.finish(done.id),
            LeaseEnd.give_back(back.id),
            LeaseEnd.fail("no process"),
            LeaseEnd.retry(again.id, 1000),
            LeaseEnd.fail(failed.id, "g", "m"),
            LeaseEnd(on.id, "give_back", result="r"),
            LeaseEnd.retry(on.id, 500, group="h", message="why"),
        ]
        told = self.client.end_many(iter(ends))
        kinds = [None, muster.Lost, None, muster.Invalid, None, None, muster.Invalid, None]
        self.assertEqual([why and type(why) for why in told], kinds)
        self.assertRegex(str(told[1]), done.id)
        row = self.client.queue("q")
        self.assertEqual((row.waiting, row.delayed, row.failed, row.running), (1, 1, 1, 0))
        self.assertEqual([(f.group, f.message) for f in self.client.failures("q")], [("g", "m")])
        record = self.client.job(job)
        self.assertEqual((record.state, record.group, record.message), ("scheduled", "h", "why"))
        with self.assertRaisesRegex(ValueError, "outcome"):
            self.client.end_many([LeaseEnd(back.id, "finished")])
        self.assertEqual(self.client.end_many([]), [])

    def test_a_job_goes_on_by_an_end_of_many(self):
        first = self.client.put("q", JobSpec("x", id="a"))
        self.client.put("q", JobSpec("y", id="b"))
        lease = self.take()
        self.assertEqual(self.client.end_many([LeaseEnd.finish(lease.id, next="r", after=["b"])]), [None])
        self.assertEqual((self.client.job(first).queue, self.client.job(first).state), ("r", "depends"))

    def test_very_many_are_extended_and_ended(self):
        self.client.enqueue_many("q", [b"%d" % i for i in range(900)])
        leases = [lease.id for lease in self.client.take("q", 1000, lease=30)]
        self.client.finish(leases[450])
        told = self.client.extend_many(leases, 5000, progress="half")
        self.assertEqual([i for i, why in enumerate(told) if why], [450])
        self.assertIsInstance(told[450], muster.Lost)
        rows = self.client.processes()
        self.assertEqual({row.progress for row in rows}, {"half"})
        self.assertGreater(min(row.ends_at for row in rows), self.client.time() + 4000)
        told = self.client.end_many([LeaseEnd.finish(id) for id in leases])
        self.assertEqual([i for i, why in enumerate(told) if why], [450])
        self.assertEqual(self.client.processes(), [])
        told = self.client.extend_many(leases[:2], progress="x" * 5000)
        self.assertEqual([type(why) for why in told], [muster.TooBig] * 2)
        with self.assertRaises(muster.Invalid):
            self.client.extend_many(leases, 0)
        self.assertEqual(self.client.extend_many([], 1), [])

    def test_a_block_ends_its_lease(self):
        self.client.enqueue("q", "a")
        with self.take():
            pass
        self.assertEqual((self.client.processes(), self.client.length("q")), ([], 0))
        self.client.enqueue("q", "b")
        with self.take() as lease:
            lease.fail("g")
        self.assertEqual(self.client.failures("q")[0].group, "g")

    def test_a_block_that_raises_fails_its_task(self):
        self.client.enqueue("q", "a")
        with self.assertRaisesRegex(KeyError, "what"):
            with self.take():
                raise KeyError("what")
        failure = self.client.failures("q")[0]
        self.assertEqual(failure.group, "KeyError")
        self.assertRegex(failure.message, r"^KeyError: 'what'\nTraceback (.|\n)*test_client.py")

    def test_a_block_that_raises_retries_its_job(self):
        id = self.client.put("q", JobSpec("a", retries=1, backoff=Backoff(0)))
        for _ in range(2):
            with self.assertRaises(ValueError):
                with self.take() as lease:
                    self.assertEqual(lease.job.id, id)
                    raise ValueError("no")
        job = self.client.job(id)
        self.assertEqual((job.state, job.group, job.retried), ("failed", "ValueError", 1))

    def test_a_block_may_say_how_it_ends(self):
        def end(why):
            self.client.enqueue("q", "a")
            with self.assertRaises(type(why)):
                with self.take():
                    raise why

        end(GiveBack())
        self.assertEqual(self.client.delete_queue("q"), (1, 0))
        end(KeyboardInterrupt())
        self.assertEqual(self.client.delete_queue("q"), (1, 0))
        end(Retry(1000))
        self.assertEqual(self.client.queue("q").delayed, 1)
        end(Fail("why", group="g"))
        self.assertEqual([(f.group, f.message) for f in self.client.failures("q")], [("g", "why")])

    def test_a_lease_that_lapsed_is_told(self):
        self.client.enqueue("q", "a")
        with self.assertRaises(muster.Lost):
            with self.client.take_one("q", lease=0.001):
                eventually(lambda: self.client.sweep() == 0 and self.client.take("q", lease=10), "the lapse")

    def test_a_take_waits_for_work(self):
        threading.Timer(0.2, muster.Client(self.redis.url).enqueue, ("q", "late")).start()
        self.assertEqual(self.client.take_one("q", lease=10, wait=20).task, b"late")


class Jobs(Case):
    def test_a_job_has_what_it_was_put_with(self):
        spec = JobSpec("data", id="a", priority=-3, retries=0, tags=["t", "u"], key="k", limit=2.5, delay=1000, track=True)
        self.assertEqual(self.client.put("q", spec), "a")
        job = self.client.job("a")
        self.assertEqual((job.state, job.data, job.priority, job.retries), ("scheduled", b"data", -3, 0))
        self.assertEqual((job.tags, job.key, job.limit, job.tracked), (["t", "u"], "k", 2.5, True))
        self.assertAlmostEqual(job.due_at - self.client.time(), 1000, delta=30)
        self.assertEqual(job.history[0].what, "put")
        self.client.put("q", JobSpec(id="a", replace=True, delay=0, priority=0))
        job = self.client.job("a")
        self.assertEqual((job.state, job.data, job.priority), ("waiting", b"data", 0))

    def test_of_a_large_job_there_is_a_look_at_its_beginning(self):
        large = bytes(range(256)) * 1024
        self.client.put("q", JobSpec(large, id="large", tags=["t"]))
        job = self.client.peek_job("large")
        self.assertEqual((job.data, job.length, job.tags), (large[: 64 * 1024], len(large), ["t"]))
        self.assertEqual((job.before, job.before_count), ([], 0))
        self.client.put("q", JobSpec(b"", id="behind", after=["large"]))
        job = self.client.peek_job("large")
        self.assertEqual((job.before, job.before_count), (["behind"], 1))
        self.assertEqual([line.what for line in job.history], ["put"])
        whole = self.client.job("large")
        self.assertEqual((whole.data, whole.length), (large, len(large)))
        [lease] = self.client.take("q", lease=60)
        lease.finish(large[1:])
        job = self.client.peek_job("large")
        self.assertEqual((job.result, job.result_length), (large[1 : 64 * 1024 + 1], len(large) - 1))
        with self.assertRaises(muster.NotFound):
            self.client.peek_job("none")
        self.assertEqual(self.client.put("q", JobSpec(b"small", id="small")), "small")
        self.assertEqual((self.client.peek_job("small").data, self.client.peek_job("small").result), (b"small", None))

    def test_jobs_wait_for_each_other_and_have_results(self):
        self.client.put_many("q", [JobSpec("1", id="a"), JobSpec("2", id="b", after=["a"])])
        self.assertEqual(self.client.job_counts("q")["depends"], 1)
        with self.client.take_one("q", lease=10) as lease:
            lease.finish(next="r")
        with self.client.take_one("r", lease=10) as lease:
            lease.extend(data="new")
            lease.finish("12 kg")
        ended = self.client.wait(["a"], 5)["a"]
        self.assertEqual((ended.how, ended.result, ended.job.data), ("complete", b"12 kg", b"new"))
        self.assertEqual(self.client.parents("b")[0][1].result, b"12 kg")
        with self.assertRaises(muster.Timeout):
            self.client.wait(["b"], 0)
        self.assertEqual(self.client.stats("q").put, 2)

    def test_jobs_are_listed_and_cancelled(self):
        for i in range(3):
            self.client.put("q", JobSpec(str(i), id=f"j{i}", tags=["t"]))
        self.assertEqual([job.id for job in self.client.jobs(order="newest", n=2)], ["j2", "j1"])
        past = self.client.jobs(order="newest", n=2)[-1]
        self.assertEqual([job.id for job in self.client.jobs(order="newest", past=past)], ["j0"])
        self.assertEqual(len(self.client.jobs("q", state="waiting", tag="t")), 3)
        self.assertEqual(self.client.cancel_jobs(["j0", "j1", "none"]), (2, 0))
        self.assertEqual(self.client.cancel_jobs([]), (0, 0))

    def test_a_refused_job_is_named(self):
        with self.assertRaisesRegex(muster.Exists, "job 2 of 2") as caught:
            self.client.put_many("q", [JobSpec(id="x"), JobSpec(id="x")])
        self.assertEqual((caught.exception.put, caught.exception.refused, caught.exception.ids), (0, 1, ["x", "x"]))

    def test_many_jobs(self):
        ids = self.client.put_many("q", (b"%d" % i for i in range(450)), request_id="r")
        self.assertEqual(ids, [f"r:{i + 1}" for i in range(450)])
        self.assertEqual(len(self.client.jobs("q", state="waiting")), 450)

    def test_a_batch_is_followed(self):
        batch = self.client.open_batch("b", on_complete=Follower("then", "go"))
        self.client.put("q", JobSpec("a", batch=batch))
        self.client.close_batch(batch)
        self.assertEqual((self.client.batch(batch).state, self.client.batch(batch).left), ("closed", 1))
        with self.client.take_one("q", lease=10):
            pass
        self.assertEqual(self.client.batches()[0].on_complete.job, "b-complete")
        self.assertEqual(self.client.take_one("then", lease=10).task, b"go")


class Errors(Case):
    def test_words_are_the_librarys(self):
        with self.assertRaisesRegex(muster.Invalid, "control characters") as caught:
            self.client.enqueue("q\n", "a")
        self.assertEqual((caught.exception.code, caught.exception.name), (-2, "E_INVALID"))
        self.assertIsInstance(caught.exception, ValueError)
        with self.assertRaises(muster.TooBig):
            muster.Client(self.redis.url, max_task_len=3).enqueue("q", "four")
        with self.assertRaisesRegex(muster.Invalid, "prefix"):
            muster.Client(prefix="a b")

    def test_nothing_is_cut_off(self):
        with self.assertRaisesRegex(muster.Invalid, "NUL"):
            self.client.enqueue("a\0b", "x")
        with self.assertRaises(TypeError):
            self.client.enqueue("q", 5)
        with self.assertRaises(TypeError):
            self.client.cancel_jobs("ab")
        with self.assertRaises(muster.Invalid):
            self.client.failures("q", n=0)
        with self.assertRaises(muster.Invalid):
            self.client.take("q", lease=float("inf"))
        with self.assertRaises(TypeError):
            muster.AsyncClient(nonsense=1)

    def test_without_redis_it_is_said(self):
        with muster.Client(NO_ROOM) as client:
            with self.assertRaisesRegex(muster.NoConnection, "/nowhere/socket") as caught:
                client.enqueue("q", "a")
        self.assertIsInstance(caught.exception, ConnectionError)

    def test_a_closed_client_says_so(self):
        self.client.close()
        self.client.close()
        with self.assertRaisesRegex(ValueError, "closed"):
            self.client.time()

    def test_a_library_that_does_not_fit_is_said(self):
        def why(path):
            environment = {**os.environ, "MUSTER_LIBRARY": path}
            ran = subprocess.run(["python3", "-c", "import muster"], env=environment, capture_output=True, text=True)
            self.assertEqual(ran.returncode, 1)
            return ran.stderr

        self.assertIn("set MUSTER_LIBRARY to the file's path", why("/nowhere/libmuster.so"))
        self.assertIn("is not muster's library", why("libm.so.6"))


class Signals(Case):
    WAITS = """
import muster, sys
client = muster.Client(timeout=60)
try:
    print("waits", flush=True)
    {call}
except KeyboardInterrupt:
    print("stopped", flush=True)
    print(client.enqueue("after", "works"))
"""

    def interrupt(self, child):
        start = time.monotonic()
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.stdout.readline(), "stopped\n")
        self.assertLess(time.monotonic() - start, slow(5))

    def interrupted(self, call, is_waiting):
        child = self.program(self.WAITS.format(call=call))
        self.assertEqual(child.stdout.readline(), "waits\n")
        eventually(is_waiting, "the wait")
        self.interrupt(child)
        self.assertEqual(self.finished(child), ("1\n", ""))
        self.client.delete_queue("after")

    def listens(self):
        channels = subprocess.run(
            ["redis-cli", "-s", f"{self.redis.dir}/socket", "client", "list", "type", "pubsub"], capture_output=True
        )
        return b"fd=" in channels.stdout

    def test_a_take_that_waits_is_interrupted_and_leaves_nothing_taken(self):
        self.interrupted("client.take('q', lease=60, wait=600)", self.listens)
        self.client.enqueue("q", "a")
        self.assertEqual((self.client.length("q"), self.client.processes()), (1, []))

    def test_a_wait_for_a_job_is_interrupted(self):
        self.client.put("q", JobSpec("a", id="a"))
        self.interrupted("client.wait(['a'])", self.listens)

    def test_takes_amid_signals_lose_nothing(self):
        # A signal that raises comes every few milliseconds, wherever the program is. What it was told of is ended.
        tasks = {b"%d" % i for i in range(300)}
        self.client.enqueue_many("q", tasks)
        text = """
import muster, random, signal
client = muster.Client()
class Now(Exception): pass
def now(*_): raise Now
signal.signal(signal.SIGALRM, now)
taken = set()
while True:
    try:
        signal.setitimer(signal.ITIMER_REAL, random.uniform(0.0002, 0.003))
        leases = client.take("q", 3, lease=600)
        signal.setitimer(signal.ITIMER_REAL, 0)
    except Now:
        continue
    if not leases:
        break
    for lease in leases:
        lease.finish()
        taken.add(lease.task)
print(len(taken))
"""
        said, errors = self.finished(self.program(text))
        left = {row.task for row in self.client.processes()}
        # A signal between the return of take() and the next line loses what Python had in hand; never more than that.
        self.assertEqual(errors, "")
        self.assertLess(len(left), 30, "tasks that stay taken")
        self.assertEqual(int(said) + len(left), len(tasks))

    def test_a_plain_call_is_interrupted_while_redis_hangs(self):
        call = "client.time(); print('asks', flush=True); sys.stdin.readline(); client.length('q')"
        child = self.program(self.WAITS.format(call=call))
        self.assertEqual([child.stdout.readline() for _ in range(2)], ["waits\n", "asks\n"])
        self.redis.pause()
        try:
            child.stdin.write("go\n")
            child.stdin.flush()
            eventually(lambda: "poll" in Path(f"/proc/{child.pid}/wchan").read_text(), "the call")
            self.interrupt(child)
        finally:
            self.redis.go_on()
        self.assertEqual(self.finished(child), ("1\n", ""))


class Threads(Case):
    def test_threads_take_turns(self):
        def enqueue(name):
            for i in range(200):
                self.client.enqueue("q", f"{name} {i}")

        threads = [threading.Thread(target=enqueue, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len({row.task for row in self.client.peek("q", 1000)}), 800)

    def test_interrupt_ends_a_call_of_another_thread(self):
        got = []

        def take():
            try:
                self.client.take("q", lease=1, wait=600)
            except muster.Error as why:
                got.append(why)

        thread = threading.Thread(target=take)
        thread.start()
        self.client.interrupt()
        thread.join(DEADLINE_S)
        self.assertIsInstance(got[0], muster.Interrupted)
        self.assertEqual(self.client.length("q"), 0)

    def test_a_handler_of_a_signal_cannot_use_a_client_in_a_call(self):
        text = """
import muster, signal
client = muster.Client()
def alarm(*_): client.enqueue("q", "a")
signal.signal(signal.SIGALRM, alarm)
signal.setitimer(signal.ITIMER_REAL, 0.3)
client.take("q", lease=1, wait=600)
"""
        _, errors = self.finished(self.program(text))
        self.assertIn("a handler of a signal needs a client of its own", errors)

    def test_a_child_of_fork_refuses_what_it_inherited(self):
        text = """
import muster, os, sys
client = muster.Client()
client.enqueue("q", "parent")
if os.fork() == 0:
    try:
        client.enqueue("q", "child")
    except RuntimeError as why:
        print(why, flush=True)
    with muster.Client() as mine:
        mine.enqueue("q", "child's own")
    del client
    sys.exit()
os.wait()
client.enqueue("q", "parent again")
"""
        said, errors = self.finished(self.program(text))
        self.assertIn("was made before fork()", said)
        self.assertEqual(errors, "")
        self.assertEqual([row.task for row in self.client.peek("q")], [b"parent", b"child's own", b"parent again"])


if __name__ == "__main__":
    unittest.main()
