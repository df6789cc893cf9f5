# SPDX-License-Identifier: MIT
#
# What players in Python share: orders, answers, the clock, and what a task is. player.h says what they are.
import sys
import time

TASK_LEN = 100
DIGITS = 20

count = total = started_ns = 0
listening = False


def make_task(number):
    return str(number).zfill(DIGITS).ljust(TASK_LEN, "m")


def say(*words):
    print(*words, flush=True)


def handle(task):
    """To be called by every handler. Returns how many have been in this drain."""
    global count, total
    now = time.monotonic_ns()
    if len(task) != TASK_LEN:
        sys.exit(f"a task of {len(task)} bytes came out, of {TASK_LEN} went in")
    number = int(task[:DIGITS])
    if listening:
        say("got", now - number)
    count += 1
    total += number
    return count


def start_clock():
    global count, total, started_ns
    count = total = 0
    started_ns = time.monotonic_ns()


def produce(fill, send):
    for order in sys.stdin:
        if order == "send\n":
            send(make_task(time.monotonic_ns()))
            say("sent")
            continue
        tasks = [make_task(i + 1) for i in range(int(order.split()[1]))]
        start_clock()
        fill(tasks)
        say("done", time.monotonic_ns() - started_ns)


def drain(run):
    for order in sys.stdin:
        run(int(order.split()[1]))
        say("done", time.monotonic_ns() - started_ns, count, total)


def listen(run):
    global listening
    listening = True
    say("ready")
    run()
