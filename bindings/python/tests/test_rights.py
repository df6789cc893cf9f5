# SPDX-License-Identifier: MIT
"""Whatever a user of Redis may not do, and whatever a full Redis refuses. Proves:
1. each call of a client, blocking or asynchronous, answers each role of examples/users.acl: a denial is Denied, with
   words, and what the role may do is not denied
2. with any right taken away, and on a full Redis, each call returns or raises an error of muster with words, and the
   client is sound after it
3. a take, a wait and a listener that wait while their rights go are told
"""

import asyncio
import os
import threading
import unittest
from pathlib import Path

import muster
from muster import JobSpec, LeaseEnd
from support import DEADLINE_S, Case, eventually

USERS = Path(os.environ["MUSTER_SOURCE"]) / "examples" / "users.acl"
world = {}  # of all cases: "leased", a process under a lease


def leased():
    return world["leased"]


# Each call that blocks, and the roles that may do it, by their first letters. `wait` is long for who may not hear: so it
# is told before the time is over.
CALLS = {
    "enqueue": ("pw-o", lambda c, wait: c.enqueue("q", "task")),
    "enqueue_many": ("pw-o", lambda c, wait: c.enqueue_many("q", ["a", "b"])),
    "enqueue_unique": ("pw-o", lambda c, wait: c.enqueue_unique("q", "alone")),
    "cancel": ("pw-o", lambda c, wait: c.cancel("q", "t1")),
    "cancel_process": ("pw-o", lambda c, wait: c.cancel_process(leased())),
    "peek": ("pwvo", lambda c, wait: c.peek("q")),
    "length": ("pwvo", lambda c, wait: c.length("q")),
    "queues": ("pwvo", lambda c, wait: c.queues()),
    "queue": ("pwvo", lambda c, wait: c.queue("q")),
    "pause": ("pw-o", lambda c, wait: c.pause("q")),
    "resume": ("pw-o", lambda c, wait: c.resume("q")),
    "workers": ("pwvo", lambda c, wait: c.workers()),
    "fail_worker": ("-w-o", lambda c, wait: c.fail_worker("dead")),
    "sweep": ("-w-o", lambda c, wait: c.sweep()),
    "processes": ("pwvo", lambda c, wait: c.processes()),
    "time": ("pwvo", lambda c, wait: c.time()),
    "take": ("pw-o", lambda c, wait: c.take("q", lease=10, holder="me")),
    "take_one": ("-w-o", lambda c, wait: c.take_one("none", lease=1, wait=wait)),
    "finish": ("pw-o", lambda c, wait: c.finish(leased(), "result")),
    "give_back": ("pw-o", lambda c, wait: c.give_back(leased())),
    "retry": ("pw-o", lambda c, wait: c.retry(leased(), 0)),
    "fail": ("pw-o", lambda c, wait: c.fail(leased(), "g", "m")),
    "extend": ("pw-o", lambda c, wait: c.extend(leased(), 1)),
    "end_many": ("pw-o", lambda c, wait: c.end_many([LeaseEnd.finish(leased())])),
    "extend_many": ("pw-o", lambda c, wait: c.extend_many([leased()], 1)),
    "put": ("pw-o", lambda c, wait: c.put("q", JobSpec("data", id="new"))),
    "put_many": ("pw-o", lambda c, wait: c.put_many("q", ["data"])),
    "job": ("pwvo", lambda c, wait: c.job("waiting")),
    "peek_job": ("pwvo", lambda c, wait: c.peek_job("waiting")),
    "parents": ("pwvo", lambda c, wait: c.parents("depends")),
    "jobs": ("pwvo", lambda c, wait: c.jobs("q", state="waiting")),
    "job_counts": ("pwvo", lambda c, wait: c.job_counts("q")),
    "cancel_jobs": ("pw-o", lambda c, wait: c.cancel_jobs(["waiting"], dependents=True)),
    "wait": ("-w-o", lambda c, wait: c.wait(["scheduled"], wait)),
    "stats": ("pwvo", lambda c, wait: c.stats("q")),
    "open_batch": ("pw-o", lambda c, wait: c.open_batch("b")),
    "close_batch": ("pw-o", lambda c, wait: c.close_batch("batch")),
    "cancel_batch": ("pw-o", lambda c, wait: c.cancel_batch("batch")),
    "batch": ("pwvo", lambda c, wait: c.batch("batch")),
    "batches": ("pwvo", lambda c, wait: c.batches()),
    "failures": ("pwvo", lambda c, wait: c.failures("q")),
    "failed_groups": ("pwvo", lambda c, wait: c.failed_groups()),
    "replay": ("pw-o", lambda c, wait: c.replay("q")),
    "drop": ("pw-o", lambda c, wait: c.drop("q")),
    "settings": ("pwvo", lambda c, wait: c.settings("q")),
    "set": ("pw-o", lambda c, wait: c.set("max_running", 3, queue="q")),
    "delete_queue": ("---o", lambda c, wait: c.delete_queue("q")),
}
SHORT_S, LONG_S = 0.001, 600
DEAD = """
import sys, muster
worker = muster.Worker(id="dead")
worker.serve("q", lambda process: print("holds", flush=True) or sys.stdin.readline())
worker.run()
"""
# In Lua: all keys of one database, and only they, to another one.
COPY = """
redis.call("SELECT", ARGV[2]) redis.call("FLUSHDB") redis.call("SELECT", ARGV[1])
for _, key in ipairs(redis.call("KEYS", "*")) do redis.call("COPY", key, key, "DB", ARGV[2]) end
"""
# They ask nothing of Redis, or by others of these.
NO_CALLS = {"close", "interrupt", "take_interrupt_back", "c_options", "give_back_all", "call"}


def calls_of(kind):
    return {name for name in vars(kind) if not name.startswith("_") and callable(getattr(kind, name))} - NO_CALLS


def rule_of(role):
    lines = USERS.read_text().splitlines()
    return next(line.split()[3:] for line in lines if line.startswith(f"user {role} on "))


def wait_of(name, role):
    return LONG_S if role and role not in CALLS[name][0] else SHORT_S


def denial_in(answer):
    """What ends many tells of each of them."""
    told = [one for one in answer if isinstance(one, muster.Error)] if isinstance(answer, list) else []
    if told:
        raise told[0]


class Rights(Case):
    def give(self, user, rights):
        self.redis.run("acl", "setuser", user, "reset", "on", ">pw", *rights)

    def url(self, user):
        return self.redis.url.replace("unix://", f"unix://{user}:pw@")

    def forget_all(self):
        self.redis.run("flushdb")  # the world is kept in another one

    def make_world(self):
        """It is made once, and a copy of it is what each case begins with."""
        if self.redis.run("-n", "1", "dbsize") != "0":
            self.redis.run("eval", COPY, "0", "1", "0")
            return
        self.client.enqueue("q", "died")
        self.begin_dead_worker()
        self.client.enqueue("q", "held")
        (process,) = self.client.take("q", lease=600, holder="w")
        world["leased"] = process.id
        self.client.enqueue("q", "broken")
        self.client.take_one("q", lease=600).fail("g", "m")
        self.client.enqueue_many("q", ["t1", "t2"])
        self.client.put("q", JobSpec("d", id="waiting"))
        self.client.put("q", JobSpec("d", id="scheduled", delay=600))
        self.client.put("q", JobSpec("d", id="depends", after=["waiting"]))
        self.client.open_batch("batch")
        self.redis.run("eval", COPY, "0", "0", "1")

    def begin_dead_worker(self):
        child = self.program(DEAD)
        self.assertEqual(child.stdout.readline(), "holds\n")
        child.kill()
        child.wait()
        self.redis.run("del", "muster:alive:dead")
        self.redis.run("zadd", "muster:registry", "1", "dead")  # its life is over: a sweep has something to do

    def check(self, name, how, error, role=""):
        """Whether it was denied, and that whatever it raised has words."""
        with self.subTest(call=name, how=how, error=error):
            if error is not None:
                self.assertGreater(len(str(error)), 10)
            if role:
                self.assertEqual(isinstance(error, muster.Denied), role not in CALLS[name][0])

    def call_all(self, client, how, role=""):
        for name, (_, call) in CALLS.items():
            error = None
            try:
                denial_in(call(client, wait_of(name, role)))
            except muster.Error as raised:
                error = raised
            self.check(name, how, error, role)

    async def call_all_async(self, client, how, role=""):
        for name in sorted(CALLS.keys() & calls_of(muster.AsyncClient)):
            error = None
            try:
                denial_in(await asyncio.wait_for(CALLS[name][1](client, wait_of(name, role)), DEADLINE_S))
            except muster.Error as raised:
                error = raised
            self.check(name, f"{how}, asynchronously", error, role)

    def both(self, user, how, role=""):
        """All calls by both clients, on a world of their own."""

        async def main():
            async with muster.AsyncClient(self.url(user)) as client:
                await self.call_all_async(client, how, role)

        self.make_world()
        with muster.Client(self.url(user)) as client:
            self.call_all(client, how, role)
        self.make_world()
        asyncio.run(main())

    def test_no_call_is_missing(self):
        self.assertEqual(calls_of(muster.Client), set(CALLS))
        self.assertEqual(calls_of(muster.AsyncClient) - set(CALLS), set())

    def test_roles(self):
        for role in ("producer", "worker", "viewer", "operator", "muster"):
            self.give(role, rule_of(role))
            self.both(role, role, "o" if role == "muster" else role[0])

    def test_a_right_is_taken_away(self):
        rights = rule_of("muster")
        self.give("u", rights)
        with muster.Client(self.url("u")) as client:
            client.length("q")  # it is connected, and stays it
            for right in rights:
                if right in ("resetchannels", "-@all"):
                    continue
                self.give("u", rights)
                self.make_world()
                self.give("u", [other for other in rights if other != right])
                self.call_all(client, right)
                self.give("u", rights)
                self.assertEqual(client.length("q"), self.client.length("q"), f"after {right}")

    def test_a_full_redis(self):
        self.give("u", rule_of("muster"))
        self.make_world()
        self.redis.run("config", "set", "maxmemory", "1")
        self.addCleanup(self.redis.run, "config", "set", "maxmemory", "0")
        with muster.Client(self.url("u")) as client:
            self.call_all(client, "full")
            with self.assertRaisesRegex(muster.Full, "OOM"):
                client.enqueue("q", "x")

    def lose(self, user, *loss):
        eventually(lambda: f"user={user} " in self.redis.run("client", "list", "type", "pubsub"), "a subscription")
        self.redis.run("acl", "setuser", user, *loss)

    def test_rights_go_while_a_call_waits(self):
        waits = {
            "take": lambda c: c.take("none", lease=1, wait=60),
            "wait": lambda c: c.wait(["never"], 60),
        }
        self.client.put("q", JobSpec(id="never", delay=600))
        for name, wait in waits.items():
            self.give(name, rule_of("muster"))
            told = []
            with muster.Client(self.url(name)) as client:

                def run(client=client, wait=wait, told=told):
                    try:
                        wait(client)
                    except muster.Error as error:
                        told.append(error)

                thread = threading.Thread(target=run)
                thread.start()
                self.lose(name, "-@all", "resetchannels")
                thread.join(DEADLINE_S)
                self.assertFalse(thread.is_alive(), name)
            self.assertEqual([type(error) for error in told], [muster.Denied], name)

    def test_rights_go_while_a_take_is_awaited(self):
        self.give("async", rule_of("muster"))

        async def main():
            async with muster.AsyncClient(self.url("async")) as client:
                taking = asyncio.ensure_future(client.take("none", lease=1, wait=60))
                while "user=async " not in self.redis.run("client", "list", "type", "pubsub"):
                    await asyncio.sleep(0.01)
                self.redis.run("acl", "setuser", "async", "resetchannels")
                with self.assertRaisesRegex(muster.Denied, "NOPERM"):
                    await asyncio.wait_for(taking, DEADLINE_S)

        asyncio.run(main())

    def test_rights_go_while_a_listener_hears(self):
        self.give("ear", rule_of("muster"))
        listener = muster.Listener(self.url("ear"))
        self.addCleanup(listener.close)
        listener.add("q")
        self.assertEqual(listener.next(60).type, "ready")
        self.lose("ear", "resetchannels")
        self.assertIsInstance(listener.next(60).error, muster.NoConnection)
        self.assertIsInstance(listener.next(60).error, muster.Denied)


if __name__ == "__main__":
    unittest.main()
