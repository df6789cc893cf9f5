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
from support import Case, eventually

USERS = Path(os.environ["MUSTER_SOURCE"]) / "examples" / "users.acl"
LEASED = ".lease:00000000001:q"

# Each call that blocks, and the roles that may do it, by their first letters. "w" is the name of a lease, and no worker is
# dead: to end the life of one takes more rights.
CALLS = {
    "enqueue": ("pw-o", lambda c: c.enqueue("q", "task")),
    "enqueue_many": ("pw-o", lambda c: c.enqueue_many("q", ["a", "b"])),
    "enqueue_unique": ("pw-o", lambda c: c.enqueue_unique("q", "alone")),
    "cancel": ("pw-o", lambda c: c.cancel("q", "t1")),
    "cancel_process": ("pw-o", lambda c: c.cancel_process(LEASED)),
    "peek": ("pwvo", lambda c: c.peek("q")),
    "length": ("pwvo", lambda c: c.length("q")),
    "queues": ("pwvo", lambda c: c.queues()),
    "queue": ("pwvo", lambda c: c.queue("q")),
    "pause": ("pw-o", lambda c: c.pause("q")),
    "resume": ("pw-o", lambda c: c.resume("q")),
    "workers": ("pwvo", lambda c: c.workers()),
    "fail_worker": ("pw-o", lambda c: c.fail_worker("w")),
    "sweep": ("pw-o", lambda c: c.sweep()),
    "processes": ("pwvo", lambda c: c.processes()),
    "time": ("pwvo", lambda c: c.time()),
    "take": ("pw-o", lambda c: c.take("q", lease=10, holder="me")),
    "take_one": ("-w-o", lambda c: c.take_one("none", lease=1, wait=0.001)),
    "finish": ("pw-o", lambda c: c.finish(LEASED, "result")),
    "give_back": ("pw-o", lambda c: c.give_back(LEASED)),
    "retry": ("pw-o", lambda c: c.retry(LEASED, 0)),
    "fail": ("pw-o", lambda c: c.fail(LEASED, "g", "m")),
    "extend": ("pw-o", lambda c: c.extend(LEASED, 1)),
    "end_many": ("pw-o", lambda c: c.end_many([LeaseEnd.finish(LEASED)])),
    "extend_many": ("pw-o", lambda c: c.extend_many([LEASED], 1)),
    "put": ("pw-o", lambda c: c.put("q", JobSpec("data", id="new"))),
    "put_many": ("pw-o", lambda c: c.put_many("q", ["data"])),
    "job": ("pwvo", lambda c: c.job("waiting")),
    "parents": ("pwvo", lambda c: c.parents("depends")),
    "jobs": ("pwvo", lambda c: c.jobs("q", state="waiting")),
    "job_counts": ("pwvo", lambda c: c.job_counts("q")),
    "cancel_jobs": ("pw-o", lambda c: c.cancel_jobs(["waiting"], dependents=True)),
    "wait": ("-w-o", lambda c: c.wait(["scheduled"], 0.001)),
    "stats": ("pwvo", lambda c: c.stats("q")),
    "open_batch": ("pw-o", lambda c: c.open_batch("b")),
    "close_batch": ("pw-o", lambda c: c.close_batch("batch")),
    "cancel_batch": ("pw-o", lambda c: c.cancel_batch("batch")),
    "batch": ("pwvo", lambda c: c.batch("batch")),
    "batches": ("pwvo", lambda c: c.batches()),
    "failures": ("pwvo", lambda c: c.failures("q")),
    "failed_groups": ("pwvo", lambda c: c.failed_groups()),
    "replay": ("pw-o", lambda c: c.replay("q")),
    "drop": ("pw-o", lambda c: c.drop("q")),
    "settings": ("pwvo", lambda c: c.settings("q")),
    "set": ("pw-o", lambda c: c.set("max_running", 3, queue="q")),
    "delete_queue": ("---o", lambda c: c.delete_queue("q")),
}
# They ask nothing of Redis, or by others of these.
NO_CALLS = {"close", "interrupt", "take_interrupt_back", "c_options", "give_back_all", "call"}


def calls_of(kind):
    return {name for name in vars(kind) if not name.startswith("_") and callable(getattr(kind, name))} - NO_CALLS


def rule_of(role):
    lines = USERS.read_text().splitlines()
    return next(line.split()[3:] for line in lines if line.startswith(f"user {role} on "))


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

    def make_world(self):
        self.forget_all()
        self.client.enqueue("q", "held")
        self.client.take("q", lease=600, holder="w")
        self.client.enqueue("q", "broken")
        self.client.take_one("q", lease=600).fail("g", "m")
        self.client.enqueue_many("q", ["t1", "t2"])
        self.client.put("q", JobSpec("d", id="waiting"))
        self.client.put("q", JobSpec("d", id="scheduled", delay=600))
        self.client.put("q", JobSpec("d", id="depends", after=["waiting"]))
        self.client.open_batch("batch")

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
                denial_in(call(client))
            except muster.Error as raised:
                error = raised
            self.check(name, how, error, role)

    async def call_all_async(self, client, how, role=""):
        for name in CALLS.keys() & calls_of(muster.AsyncClient):
            error = None
            try:
                denial_in(await asyncio.wait_for(CALLS[name][1](client), 60))
            except muster.Error as raised:
                error = raised
            # A take that waits has mostly ended before it is told that it may not hear; and the connection that counts
            # waiting tasks writes down the format first, which a viewer may not.
            is_told = name not in ("take_one", "length")
            self.check(name, f"{how}, asynchronously", error, role if is_told else "")

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
                thread.join(60)
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
                    await asyncio.wait_for(taking, 60)

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
