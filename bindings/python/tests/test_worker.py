# SPDX-License-Identifier: MIT
"""The worker on threads. Proves:
1. what a handler returns or raises ends its process in that way; it may end it itself, and learn that it has counted
2. so many handlers run at once as there are hands, and the worker goes on while they compute
3. handlers learn that they are to stop, and why; progress, limits, data, the next queue
4. a worker is stopped by stop(), a block, signals, and the end of the program; what is not done goes back
5. refusals are said: a wrong handler, a worker that is used twice, a live worker's id
"""

import logging
import signal
import threading
import time
import unittest

import muster
from muster import Backoff, Fail, GiveBack, JobSpec, Retry, StopReason
from support import DEADLINE_S, Case, eventually, slow


class Outcomes(Case):
    def outcome(self, handler, put=None, **options):
        """Run a handler on one task, or job, until the queue hands out nothing more."""
        if put is None:
            self.client.enqueue("q", "task")
        else:
            self.client.put("q", put)
        worker = self.worker(burst=True, **options)
        worker.serve("q", handler)
        worker.run()

    def test_what_is_returned_is_the_result(self):
        for result, kept in ((None, None), ("über", "über".encode()), (b"\0", b"\0"), ("", b"")):
            self.outcome(lambda p: result, JobSpec(id="a"))
            job = self.client.job("a")
            self.assertEqual((job.state, job.result), ("complete", kept))

    def test_something_else_that_is_returned_fails(self):
        self.outcome(lambda p: 5)
        self.assertEqual(self.client.failures("q")[0].group, "TypeError")

    def test_an_exception_fails_a_task(self):
        def handler(process):
            raise ValueError("bad \0 task")

        self.outcome(handler)
        failure = self.client.failures("q")[0]
        self.assertEqual((failure.group, failure.task), ("ValueError", b"task"))
        self.assertRegex(failure.message, r'^ValueError: bad \\0 task\nTraceback (.|\n)*in handler\n')

    def test_an_exception_retries_a_job_by_its_retries(self):
        seen = []

        def handler(process):
            seen.append(process.job.retried)
            raise KeyError(process.job.id)

        self.outcome(handler, JobSpec("x", id="a", retries=2, backoff=Backoff(0)))
        self.assertEqual(seen, [0, 1, 2])
        self.assertEqual((self.client.job("a").state, self.client.job("a").group), ("failed", "KeyError"))

    def test_exceptions_that_say_the_end(self):
        def raises(why):
            def handler(process):
                raise why

            return handler

        self.outcome(raises(Fail("no", group="g")), JobSpec("x", id="a"))
        self.assertEqual((self.client.job("a").state, self.client.job("a").message), ("failed", "no"))
        self.outcome(raises(Retry(1000, group="later")), JobSpec("x", id="b"))
        self.assertEqual((self.client.job("b").state, self.client.job("b").group), ("scheduled", "later"))
        self.outcome(raises(GiveBack()), max_tasks=1)
        self.assertEqual(self.client.length("q"), 1)

    def test_sys_exit_in_a_handler_is_a_failure(self):
        def handler(process):
            raise SystemExit(3)

        self.outcome(handler)
        self.assertEqual(self.client.failures("q")[0].group, "SystemExit")

    def test_a_handler_may_end_its_process_itself(self):
        def handler(process):
            process.finish("early", wait=True)
            self.assertEqual(self.client.job("a").state, "complete")
            with self.assertRaises(muster.Lost):
                process.progress("too late")
            self.assertTrue(process.stopped)
            seen.append((process.id, process.job.id))
            raise ValueError("means nothing any more")

        seen = []
        self.outcome(handler, JobSpec("x", id="a"), tell_ended=True)
        self.assertEqual(self.client.job("a").result, b"early")
        self.assertEqual(eventually(lambda: seen)[0][1], "a")
        self.assertEqual(self.client.failures("q"), [])

    def test_an_end_that_does_not_count_is_told(self):
        def handler(process):
            self.client.finish(process.id)
            try:
                process.finish(wait=True)
            except muster.Error as why:
                seen.append(type(why))

        seen = []
        self.outcome(handler, tell_ended=True)
        self.assertEqual(eventually(lambda: seen), [muster.Lost])

    def test_to_wait_for_an_end_needs_the_option(self):
        def handler(process):
            with self.assertRaisesRegex(muster.WrongState, "tell_ended=True"):
                process.finish(wait=True)
            seen.append(1)

        seen = []
        self.outcome(handler)
        self.assertEqual(seen, [1])

    def test_a_worker_enqueues(self):
        def handler(process):
            seen.append(process.worker.enqueue("next", process.task + b"!").result(DEADLINE_S))
            seen.append(process.worker.put("next", JobSpec("x", id="made")).result(DEADLINE_S))
            seen.append(process.worker.put("next", JobSpec("x", id="made")).exception(20))

        seen = []
        self.outcome(handler)
        self.assertEqual((seen[:2], self.client.peek("next")[0].task), ([1, "made"], b"task!"))
        self.assertIsInstance(seen[2], muster.Exists)

    def test_a_job_goes_on_with_new_data(self):
        def handler(process):
            process.set_data("half done")
            process.go_on_in("r")

        self.outcome(handler, JobSpec("x", id="a"))
        job = self.client.job("a")
        self.assertEqual((job.queue, job.state, job.data), ("r", "waiting", b"half done"))


class Hands(Case):
    def test_many_tasks_by_many_hands(self):
        seen, most, now, lock = set(), 0, 0, threading.Lock()
        worker = self.worker(hands=8, prefetch=100, burst=True)

        @worker.handler("q", hands=3)
        def handler(process):
            nonlocal most, now
            with lock:
                now += 1
                most = max(most, now)
            time.sleep(0.0005)
            with lock:
                now -= 1
                seen.add((process.task, process.token))

        self.client.enqueue_many("q", [b"%d" % i for i in range(2000)])
        worker.run()
        self.assertEqual((len(seen), len({task for task, _ in seen}), most), (2000, 2000, 3))

    def test_a_worker_that_computes_keeps_its_registration(self):
        worker = self.worker(ttl=slow(0.5), hands=2, burst=True)
        tokens = []

        @worker.handler("q")
        def handler(process):
            tokens.append(process.token)
            end = time.monotonic() + 2
            while time.monotonic() < end:
                sum(range(1000))

        self.client.enqueue_many("q", ["a", "b"])
        worker.run()
        self.assertEqual(len(tokens), 2)

    def test_an_end_does_not_wait_for_the_handler_of_another_task(self):
        release = threading.Event()
        worker = self.worker(hands=2)

        @worker.handler("q")
        def handler(process):
            if process.task == b"long":
                release.wait(60)

        with worker:
            self.client.enqueue_many("q", ["short"] * 50 + ["long"])
            eventually(lambda: [row.task for row in self.client.processes()] == [b"long"], "the short ones' ends")
            self.client.enqueue_many("q", ["short"] * 50)
            eventually(lambda: self.client.queue("q").waiting == 0 and len(self.client.processes()) == 1)
            release.set()


class Stops(Case):
    def one(self, handler, **options):
        """A worker whose handler has begun with its one task, and where that says what it has seen."""
        worker = self.worker(**options)
        seen, began = [], threading.Event()

        def run(process):
            began.set()
            seen.append(handler(process))

        worker.serve("q", run)
        worker.start()
        self.addCleanup(self.end, worker)
        self.client.enqueue("q", "task")
        self.assertTrue(began.wait(60))
        return worker, seen

    def end(self, worker):
        worker.stop(0)
        worker.join(DEADLINE_S)

    @staticmethod
    def wait(process):
        process.wait_stopped(60)
        return process.stop_reason

    def test_a_cancelled_handler_is_told(self):
        _, seen = self.one(self.wait)
        self.client.cancel("q", "task")
        self.assertEqual(eventually(lambda: seen), [StopReason.CANCELLED])

    def test_a_handler_past_its_limit_is_told_and_fails(self):
        def handler(process):
            process.wait_stopped(60)
            seen.append(process.stop_reason)
            process.raise_if_stopped()

        seen = []
        self.one(handler, limit=0.1)
        eventually(lambda: self.client.failures("q"))
        self.assertEqual((seen, self.client.failures("q")[0].group), ([StopReason.LIMIT], "limit"))

    def test_a_limit_can_be_extended(self):
        def handler(process):
            process.extend(60)
            process.progress("page 3 of 7")
            time.sleep(slow(0.8))
            return process.stopped

        _, seen = self.one(handler, limit=slow(0.4))
        eventually(lambda: any(row.progress == "page 3 of 7" for row in self.client.processes()) or seen)
        self.assertEqual(eventually(lambda: seen), [False])

    def test_what_is_lost_is_told(self):
        worker, seen = self.one(self.wait)
        self.client.fail_worker(worker.id)
        self.assertEqual(eventually(lambda: seen)[0], StopReason.LOST)

    def test_a_drain_ends_and_what_runs_goes_back(self):
        def handler(process):
            reason = self.wait(process)
            seen.append(reason)
            raise GiveBack()  # the end may be in time, and then it counts

        worker, seen = self.one(handler)
        worker.stop(0.1)
        self.assertTrue(worker.join(DEADLINE_S))
        self.assertIn(eventually(lambda: seen)[0], (StopReason.DRAIN, StopReason.LOST))
        self.assertEqual((self.client.length("q"), self.client.workers()), (1, []))

    def test_stop_lets_a_handler_end(self):
        release = threading.Event()
        worker, seen = self.one(lambda process: release.wait(60))
        worker.stop()
        self.assertFalse(worker.join(0.2))
        release.set()
        self.assertTrue(worker.join(DEADLINE_S))
        self.assertTrue(worker.stopped)
        self.assertEqual((seen, self.client.length("q"), self.client.processes()), ([True], 0, []))

    def test_a_queue_is_left_and_served_again(self):
        events = []
        worker = self.worker(on_event=events.append)
        worker.serve("q", lambda process: None)
        worker.start()
        self.addCleanup(self.end, worker)
        worker.leave("q")
        eventually(lambda: [event for event in events if event.type == "left" and event.queue == "q"])
        self.client.enqueue("q", "a")
        done = threading.Event()
        worker.serve("q", lambda process: done.set())
        self.assertTrue(done.wait(20))


class Life(Case):
    def test_events_are_told(self):
        events = []
        worker = self.worker(on_event=events.append, burst=True)
        worker.serve("q", lambda process: None)
        worker.run()
        types = [event.type for event in events]
        self.assertEqual((types[0], types[-1]), ("started", "stopped"))

    def test_an_event_handler_that_raises_does_no_harm(self):
        def on_event(event):
            raise ValueError(event.type)

        with self.assertLogs("muster", logging.ERROR) as logs:
            worker = self.worker(on_event=on_event, burst=True)
            worker.serve("q", lambda process: None)
            worker.run()
        self.assertIn("on_event has raised", logs.output[0])

    def test_what_a_handler_raises_is_logged(self):
        with self.assertLogs("muster", logging.WARNING) as logs:
            worker = self.worker(burst=True)
            worker.serve("q", lambda process: 1 / 0)
            self.client.enqueue("q", "a")
            worker.run()
        self.assertIn("its handler has raised ZeroDivisionError", logs.output[0])

    def test_the_id_of_a_live_worker_is_refused(self):
        with self.worker(id="w") as worker:
            eventually(self.client.workers)
            self.assertEqual(worker.id, "w")
            with self.assertRaises(muster.Exists):
                self.worker(id="w").run()

    def test_an_error_of_the_worker_is_a_note_of_what_its_block_raises(self):
        with self.worker(id="w"):
            eventually(self.client.workers)
            other = self.worker(id="w")
            with self.assertRaises(KeyError) as raised:
                with other:
                    other._over.wait()
                    raise KeyError("mine")
        self.assertIn("the worker of this block ended with an error", raised.exception.__notes__[0])

    def test_wrong_use_is_said(self):
        async def coroutine(process):
            pass

        with self.assertRaisesRegex(TypeError, "AsyncWorker has coroutines"):
            self.worker().serve("q", coroutine)
        worker = self.worker()
        worker.serve("q", print)
        with self.assertRaisesRegex(muster.Exists, "serves q already"):
            worker.serve("q", print)
        with self.assertRaises(muster.Invalid):
            worker.serve("r", print, hands=2)
        with self.assertRaises(muster.NotStarted):
            worker.stop()
        with self.assertRaises(muster.Invalid):
            self.worker(hands=0)
        with self.assertRaisesRegex(muster.Invalid, "ttl"):
            self.worker(ttl=0.001)
        with self.assertRaisesRegex(muster.Invalid, "on_limit"):
            self.worker(on_limit="explode")
        bad = self.worker()
        bad.serve("a\n", print)
        with self.assertRaisesRegex(muster.Invalid, "control"):
            bad.start()
        with worker:
            with self.assertRaisesRegex(muster.WrongState, "started before"):
                worker.start()
        with self.assertRaisesRegex(muster.WrongState, "started before"):
            worker.run()


PROGRAM = """
import muster, sys, time, os, threading
worker = muster.Worker(hands=4, ttl=2)
@worker.handler("q")
def handler(process):
    os.write(1, b"begins\\n")
    {handler}
{main}
"""


class Ends(Case):
    def begun(self, handler, main):
        child = self.program(PROGRAM.format(handler=handler, main=main))
        eventually(self.client.workers)
        self.client.enqueue("q", "a")
        self.assertEqual(child.stdout.readline(), "begins\n")
        return child

    def test_signals_stop_a_worker_politely(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            child = self.begun("process.wait_stopped(1); print('done', flush=True)", "worker.run(); print('over')")
            child.send_signal(number)
            self.assertEqual(self.finished(child), ("done\nover\n", ""))
            self.assertEqual((child.returncode, self.client.length("q"), self.client.workers()), (0, 0, []))

    def test_a_second_signal_gives_back_at_once(self):
        main = """
def tell():
    while not worker._signalled:
        time.sleep(0.01)
    os.write(1, b"drains\\n")
threading.Thread(target=tell, daemon=True).start()
worker.run()
print("over")"""
        child = self.begun("time.sleep(600)", main)
        child.send_signal(signal.SIGTERM)
        self.assertEqual(child.stdout.readline(), "drains\n")
        child.send_signal(signal.SIGTERM)
        said, _ = self.finished(child)
        self.assertEqual((said, child.returncode, self.client.length("q")), ("over\n", 0, 1))

    def test_the_end_of_the_program_gives_back(self):
        for how, status in (("sys.exit(3)", 3), ("pass", 0), ("raise ValueError('no')", 1)):
            main = f"worker.start()\ntime.sleep(0)\nsys.stdin.readline()\n{how}"
            child = self.begun("time.sleep(600)", main)
            child.stdin.write("\n")
            child.stdin.flush()
            start = time.monotonic()
            _, errors = self.finished(child)
            self.assertLess(time.monotonic() - start, slow(10))
            self.assertEqual((child.returncode, self.client.delete_queue("q"), self.client.workers()), (status, (1, 0), []))
            self.assertEqual([line for line in errors.splitlines() if "ValueError: no" not in line and "Traceback" not in line and "File" not in line], [])

    def test_the_end_of_the_program_amid_work_neither_hangs_nor_crashes(self):
        for _ in range(5):
            child = self.program(PROGRAM.format(handler="pass", main="worker.start(); sys.stdin.readline()"))
            self.client.enqueue_many("q", [b"x"] * 20000)
            self.assertEqual(child.stdout.readline(), "begins\n")
            child.stdin.write("\n")
            child.stdin.flush()
            _, errors = self.finished(child)
            self.assertEqual((child.returncode, errors), (0, ""))
            self.assertEqual((self.client.workers(), self.client.processes()), ([], []))
            self.client.delete_queue("q")

    def test_a_fork_in_a_handler_leaves_the_worker_alone(self):
        handler = """pid = os.fork()
    if pid == 0:
        try:
            worker.stop()
        except RuntimeError as why:
            print("child:", "before fork()" in str(why), flush=True)
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(pid, 0)
    print("parent", process.stopped, flush=True)"""
        child = self.begun(handler, "worker.run()")
        self.assertEqual([child.stdout.readline() for _ in range(2)], ["child: True\n", "parent False\n"])
        child.send_signal(signal.SIGTERM)
        self.assertEqual(self.finished(child), ("", ""))

    def test_a_handler_that_comes_back_in_a_child_ends_the_child(self):
        for end, status in (("return", 0), ("sys.exit(3)", 3), ("sys.exit()", 0), ("raise KeyError(1)", 1)):
            with self.subTest(end):
                handler = f"""pid = os.fork()
    if pid == 0:
        sys.stderr = open(os.devnull, "w")
        {end}
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)"""
                child = self.begun(handler, "worker.run()")
                self.assertEqual(child.stdout.readline(), f"{status}\n")
                child.send_signal(signal.SIGTERM)
                self.assertEqual(self.finished(child), ("", ""))

    def test_multiprocessing_by_fork_ends_without_touching_the_worker(self):
        handler = """import multiprocessing
    one = multiprocessing.get_context("fork").Process(target=print, args=("child",))
    one.start(); one.join()
    print(one.exitcode, flush=True)"""
        child = self.begun(handler, "worker.run()")
        self.assertEqual([child.stdout.readline() for _ in range(2)], ["child\n", "0\n"])
        self.assertEqual(len(self.client.workers()), 1)
        child.send_signal(signal.SIGTERM)
        self.assertEqual(self.finished(child), ("", ""))


if __name__ == "__main__":
    unittest.main()
