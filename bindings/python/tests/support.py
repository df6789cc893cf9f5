# SPDX-License-Identifier: MIT
"""What the tests share: a private Redis on a Unix socket, programs that die with the test, and waiting for a condition."""

import ctypes
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import muster

PACKAGE = Path(__file__).resolve().parent.parent
SOURCE = PACKAGE.parent.parent
DEADLINE_S = 300  # only what hangs comes to it: a loaded machine needs minutes for what takes seconds

os.environ.pop("MUSTER_PREFIX", None)


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def eventually(condition, what="what is waited for"):
    """Wait until condition() is true, and return what it said."""
    turns = DEADLINE_S * 100  # not by the clock: a turn takes longer where everything does
    while not (got := condition()):
        if (turns := turns - 1) < 0:
            raise AssertionError(f"{what} has not come about in {DEADLINE_S} s")
        time.sleep(0.01)
    return got


def slowness_of_work():
    """How many times as long as on a good machine a piece of work takes: a limit on the processor shows in no load."""
    began, x = time.monotonic(), 0
    for i in range(200_000):
        x = (x * 31 + i) & 0xFFFF
    return (time.monotonic() - began) / 0.02


SLOWNESS = min(8, max(1, os.getloadavg()[0] / os.cpu_count(), slowness_of_work()))


def slow(seconds):
    """So long a time here on a machine that does nothing else: for a ttl or a limit that a busy machine must not miss."""
    return seconds * SLOWNESS


class Redis:
    """A server whose data outlives kill()."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="muster-python.")
        self.url = f"unix://{self.dir}/socket"
        self.start()

    def start(self):
        argv = "redis-server --port 0 --unixsocket socket --logfile log --save".split() + [""]
        argv += "--appendonly yes --appendfsync always".split()
        self.child = subprocess.Popen(argv, cwd=self.dir, stdout=subprocess.DEVNULL, preexec_fn=die_with_parent)
        with muster.Client(self.url, timeout=1) as client:
            eventually(lambda: self._answers(client), "Redis")

    @staticmethod
    def _answers(client):
        try:
            return client.time()
        except (muster.NoConnection, muster.Busy, muster.Timeout):
            return 0

    def run(self, *argv):
        """One command; what redis-cli prints of its answer."""
        ran = subprocess.run(
            ["redis-cli", "-s", f"{self.dir}/socket", *argv], check=True, capture_output=True, text=True
        )
        return ran.stdout.strip()

    def kill(self):
        self.child.kill()
        self.child.wait()

    def pause(self):
        self.child.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.child.send_signal(signal.SIGCONT)

    def close(self):
        self.kill()
        shutil.rmtree(self.dir)


class Case(unittest.TestCase):
    """A case with a Redis of its class, emptied before it, and a client."""

    @classmethod
    def setUpClass(cls):
        logging.getLogger("muster").setLevel(logging.CRITICAL)
        cls.redis = Redis()
        cls.addClassCleanup(cls.redis.close)

    def setUp(self):
        self.forget_all()
        self.client = muster.Client(self.redis.url)
        self.addCleanup(self.client.close)

    def forget_all(self):
        self.redis.run("flushall")

    def worker(self, **options):
        options.setdefault("ttl", 3.0)
        return muster.Worker(self.redis.url, **options)

    def program(self, text, *args, **options):
        """A program of Python, with its output; dies with the test."""
        environment = {**os.environ, "MUSTER_URL": self.redis.url, "PYTHONPATH": str(PACKAGE), "PYTHONUNBUFFERED": "1"}
        child = subprocess.Popen(
            [sys.executable, "-c", text, *args],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            preexec_fn=die_with_parent,
            **options,
        )
        self.addCleanup(end_child, child)
        return child

    def finished(self, child):
        """Its output and its errors, when it has ended by itself."""
        try:
            child.wait(timeout=DEADLINE_S)
            return child.stdout.read(), child.stderr.read()  # communicate() would lose what readline() has read ahead
        except subprocess.TimeoutExpired:
            child.kill()
            self.fail(f"the program does not end; it said {child.communicate()}")


def end_child(child):
    if child.poll() is None:
        child.kill()
    child.communicate()
