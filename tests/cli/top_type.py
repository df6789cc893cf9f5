#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# top_type.py CASE [ARGUMENT...]: one case of test_top.sh: types into `muster top`, and looks at the terminal.
import os
import re
import signal
import subprocess
import sys
import time

from screen import Screen

MUSTER = os.environ["MUSTER"]
UP, DOWN, END, PAGE_DOWN, ESCAPE, ENTER = "\x1b[A", "\x1b[B", "\x1b[4~", "\x1b[6~", "\x1b", "\r"


def muster(*words):
    return subprocess.run([MUSTER, *words], capture_output=True, text=True, check=True).stdout


def check(holds, what, screen):
    if not holds:
        screen.stop(what)


def top(*words, columns=100, lines=24, env=None):
    return Screen([MUSTER, "top", "--interval", "100ms", *words], columns, lines, env)


def leave(s):
    s.type("q")
    s.check_end()


# The first words of the rows below the headings.
def names(s):
    lines = s.lines()
    at = next((i for i, line in enumerate(lines) if re.match(r"(NAME|ID|PROCESS)[v^ ]", line)), len(lines) - 2)
    return [line.split()[0] for line in lines[at + 1 : -1] if line]


def wait_names(s, wanted):
    s.wait(lambda: names(s) == wanted, f"rows {wanted}")


# The row of the bar, which is shown in reverse.
def bar(s):
    for y, line in enumerate(s.lines()):
        if s.screen.buffer[y][0].reverse:
            return line.split()[0] if line.split() else ""
    return ""


def wait_bar(s, name):
    s.wait(lambda: bar(s) == name, f"the bar on {name}")


def unknown_terminal():
    for kind in ("no-such-terminal", "dumb", ""):
        s = top(columns=200, env={"TERM": kind})
        s.wait("set TERM to its kind")
        s.check_end(1)


# Prints "without" if the program was built without it, and says so.
def build():
    s = top(columns=200)
    s.wait(lambda: "[1 queues]" in s.text() or "built without it" in s.text(), "a screen or words")
    if "built without it" in s.text():
        s.wait("muster queues")
        s.check_end(1)
        print("without")
        return
    leave(s)


def views():
    s = top(columns=130)
    s.wait(lambda: re.search(r"^alpha +3 +0 ", s.text(), re.M), "the queue alpha")
    check("[1 queues]" in s.text() and "prefix muster" in s.text(), "no heading", s)
    s.wait(lambda: re.search(r"^beta +0 +1 .* 1 +no ", s.text(), re.M), "a running task and an idle hand")
    s.wait(lambda: re.search(r"3 rows  WAITING 4  RUNNING 2", s.text()), "sums")
    s.type("2")
    s.wait(lambda: re.search(r"^counter +yes .* 2 +1 .* beta$", s.text(), re.M), "the worker")
    s.type("\t")
    s.wait("[3 processes]")
    s.wait(lambda: s.line_with("counter:") and s.line_with(".lease:"), "both processes")
    s.type("1")
    wait_names(s, ["alpha", "beta", "gamma"])
    s.type(DOWN + "j")
    wait_bar(s, "gamma")
    s.type(ENTER)
    s.wait("of gamma")
    s.wait(lambda: len(names(s)) == 1 and names(s)[0].endswith(":gamma"), "only gamma's process")
    s.type(ESCAPE)
    s.wait(lambda: len(names(s)) == 2, "all processes")
    s.type("1?")
    s.wait("sort by the next column")
    s.type("x")

    def is_rate_seen():
        muster("enqueue", "delta", "d1", "d2")
        return re.search(r"^delta .* [1-9][0-9]*\.[0-9] +0\.0$", s.text(), re.M)

    s.wait(is_rate_seen, "a rate of what came in")
    muster("delete", "delta", "--yes")
    wait_names(s, ["alpha", "beta", "gamma"])
    leave(s)


def addresses():
    """A long address gives way to the prefix."""
    s = top("--url", "redis://a-name-that-is-" + "very-" * 12 + "long.invalid:6379/3", "--prefix", "{other}", columns=80)
    s.wait("prefix {other}")
    check("redis://a-name-" in s.text() and "6379" not in s.text(), "the address is not cut", s)
    leave(s)


# The heading that the rows are sorted by, with its mark.
def sorted_by(s):
    found = re.search(r"^(?:NAME|ID|PROCESS)[v^ ].*$", s.text(), re.M)
    marked = re.search(r"[A-Z/-]+[v^]", found.group()) if found else None
    return marked.group() if marked else ""


def sorting():
    s = top()
    wait_names(s, ["alpha", "beta", "gamma"])
    check(sorted_by(s) == "NAME^", "not sorted by name", s)
    s.type("s")
    s.wait(lambda: sorted_by(s) == "WAITINGv" and names(s) == ["alpha", "gamma", "beta"], "sorted by WAITING")
    s.type("r")
    s.wait(lambda: sorted_by(s) == "WAITING^" and names(s) == ["beta", "gamma", "alpha"], "reversed")
    s.type(">")
    s.wait(lambda: sorted_by(s) == "RUNNINGv" and names(s)[2] == "alpha", "sorted by RUNNING")
    s.type("<<")
    s.wait(lambda: sorted_by(s) == "NAME^", "sorted by NAME")
    s.type("<")
    s.wait(lambda: sorted_by(s) == "OUT/Sv", "from the first column to the last")
    s.type(">")
    s.wait(lambda: sorted_by(s) == "NAME^", "back to the first")
    s.type("j")
    wait_bar(s, "beta")
    s.type("r")
    wait_names(s, ["gamma", "beta", "alpha"])
    wait_bar(s, "beta")
    s.type("G")
    wait_bar(s, "alpha")
    s.type("r/A")
    wait_names(s, ["alpha", "beta", "gamma"])
    s.type("LP")
    wait_names(s, ["alpha"])
    s.type("\x7f\x7fM")
    wait_names(s, ["gamma"])
    s.wait("1 of 3 rows")
    s.type(ENTER)
    s.wait("filter: AM")
    wait_names(s, ["gamma"])
    s.type(ESCAPE)
    wait_names(s, ["alpha", "beta", "gamma"])
    s.type("/q")
    wait_names(s, [])
    s.type(ESCAPE + "q")
    s.check_end()


def is_paused(queue):
    return re.search(rf'"queue":"{queue}".*"paused":true', muster("queues", "--json")) is not None


def pausing():
    s = top()
    wait_names(s, ["alpha", "beta", "gamma"])
    wait_bar(s, "alpha")
    s.type("jjkp")
    s.wait("pause queue beta? y/n")
    s.type("n")
    s.wait("nothing was changed")
    check(not is_paused("beta"), "paused without a yes", s)
    s.type("p")
    s.wait("pause queue beta? y/n")
    s.type("y")
    s.wait("beta: paused")
    check(is_paused("beta"), "not paused", s)
    s.wait(lambda: re.search(r"^beta .* yes ", s.text(), re.M), "PAUSED yes")
    s.type("p")
    s.wait("resume queue beta? y/n")
    s.type("y")
    s.wait("beta: resumed")
    check(not is_paused("beta"), "not resumed", s)
    s.type("c")
    s.wait("choose one in view 3")
    leave(s)


# What was asked of Redis is done, although it is left before Redis has answered; a signal ends it all the same.
def leaving(redis):
    for is_kept in (True, False):
        s = top(*NO_END)
        wait_bar(s, "alpha")
        os.kill(int(redis), signal.SIGSTOP)
        try:
            s.type("p")
            s.wait("pause queue alpha? y/n")
            s.type("y")
            s.wait("Redis is asked")
            s.type("q")
            s.wait(lambda: s.modes() == s.before, "the terminal as it was")
            if not is_kept:
                os.kill(s.pid, signal.SIGTERM)
                s.check_end(128 + signal.SIGTERM)
        finally:
            os.kill(int(redis), signal.SIGCONT)
        if is_kept:
            s.check_end()
            s.wait("muster top: alpha: paused")
            check(is_paused("alpha"), "not paused", s)
            muster("resume", "alpha")


def cancelling():
    s = top()
    s.type("3/gamma" + ENTER)
    s.wait(lambda: len(names(s)) == 1, "the process of gamma")
    process = names(s)[0]
    s.type("c")
    s.wait(f"cancel process {process}? y/n")
    s.type("y")
    s.wait(f"{process}: told to stop")
    check('"cancelled":true' in muster("ps", "--queue", "gamma", "--json"), "not cancelled", s)
    s.wait(lambda: " yes " in s.line_with(process), "CANCELLED yes")
    s.type("c")
    s.wait("y/n")
    muster("finish", process)
    s.type("y")
    s.wait(lambda: ":gamma: there is no process" in s.lines()[-1], "a refusal in words")
    leave(s)


def read_only():
    s = top("--read-only")
    wait_names(s, ["alpha", "beta", "gamma"])
    check("read-only" in s.text() and "p pause" not in s.text(), "not said", s)
    s.type("p")
    s.wait("nothing can be changed: --read-only")
    s.type("y")
    s.wait(lambda: "y/n" not in s.text())
    check(not is_paused("alpha"), "paused", s)
    leave(s)


def is_drawn(s, columns, lines):
    return len(s.lines()) == lines and "alpha" in s.text() and "quit" in s.lines()[-1] and "[1 queues]" in s.text()


def sizes():
    s = top(columns=80)
    s.wait(lambda: is_drawn(s, 80, 24), "80x24")
    straight = [line for line in s.lines() if re.search(r" (no|yes) ", line)]
    check(len(straight) >= 5, "rows are missing", s)
    for line in s.screen.display:
        check(len(line) <= 80, "wider than the terminal", s)
    wide_at = next(y for y, line in enumerate(s.lines()) if line.startswith("日"))
    plain_at = next(y for y, line in enumerate(s.lines()) if line.startswith("alpha"))
    column = s.lines()[plain_at].index(" no ")
    cells = s.screen.buffer[wide_at]
    check("".join(cells[x].data or "" for x in range(column, column + 4)) == " no ", "not straight", s)
    check("…" in s.lines()[wide_at], "not cut", s)
    s.resize(140, 40)
    s.wait(lambda: is_drawn(s, 140, 40) and "FAILED-BYTES" in s.text(), "140x40")
    s.resize(20, 5)
    s.wait(lambda: "[1 queues]" in s.lines()[0] and "alpha" in s.text() and s.lines()[-1].startswith("q quit"), "20x5")
    s.type("jjG?x23")
    s.wait("PROCESS")
    s.resize(1, 1)
    s.type("1js/a" + ESCAPE + "p")
    s.read(0.3)
    s.type("n")
    s.resize(100, 30)
    s.wait(lambda: "alpha" in s.text() and len(s.lines()) == 30, "100x30 again")
    leave(s)
    s = top(columns=60, lines=4, env={"TERM": "vt100"})
    s.wait("alpha")
    leave(s)


def hostile():
    s = top(columns=140)
    s.wait("evil")
    s.type("3")
    s.wait("title")
    s.type("c")
    s.wait("y/n")
    s.type("n1/evil")
    s.wait(lambda: "alpha" not in s.text(), "the filter")
    s.type(ENTER + "p")
    s.wait("pause queue evil")
    s.type("n")
    s.wait("nothing was changed")
    for bad in (b"\x1b]0;title", b"\x1b[31mred", b"\xc2\x9b", "\u202e".encode()):
        check(bad not in s.raw, f"{bad} reached the terminal", s)
    leave(s)


def endings():
    for end in ("q", "\x03", signal.SIGTERM, signal.SIGHUP):
        s = top()
        s.wait("alpha")
        s.type(end) if isinstance(end, str) else os.kill(s.pid, end)
        s.check_end()
        check(b"\x1b[?25l" not in s.raw.rsplit(b"\x1b[?25h", 1)[-1], "the cursor is hidden", s)
    s = top()
    s.wait("alpha")
    s.type("\x1a")
    s.wait(lambda: "T" in open(f"/proc/{s.pid}/stat").read().rsplit(")", 1)[1].split()[0], "its stop")
    check(s.modes() == s.before, "the terminal is not as it was while it is stopped", s)
    s.screen.reset()
    os.kill(s.pid, signal.SIGCONT)
    s.wait("[1 queues]")
    leave(s)


def no_color():
    muster("pause", "alpha")
    for env, wanted in (({"NO_COLOR": "1"}, False), ({}, True)):
        s = top(env=env)
        s.wait(lambda: re.search(r"^alpha .* yes ", s.text(), re.M), "alpha paused")
        s.type("j")
        s.wait(lambda: bar(s) and bar(s) != "alpha", "the bar elsewhere")
        colors = {s.screen.buffer[y][x].fg for y in range(24) for x in range(100)}
        check((colors != {"default"}) == wanted, f"colors {colors}", s)
        leave(s)
    muster("resume", "alpha")


# What the library warns of with each look has its place on the screen, and moves nothing.
def damaged():
    s = top(columns=140)
    s.wait("the key 'muster:failed:damaged' has a wrong type")
    for n in range(2, 8):
        muster("enqueue", "damaged", "x")
        s.wait(lambda: re.search(rf"^damaged +{n} +0 ", s.text(), re.M), f"{n} that wait: another look")
        s.wait(lambda: re.match(r"muster .*\n\[1 queues\].*\ndamaged: the key .* has a wrong type", s.text()), "all in its place")
        check(s.text().count("a wrong type") == 1 and s.lines()[-1].startswith("q quit"), "lines have moved", s)
    leave(s)


# A key must have its effect whatever Redis does: a call to it takes longer than anything is waited for.
NO_END = ("--timeout", "1h")


def check_prompt(s, keys, condition):
    s.type(keys)
    s.wait(condition)


def check_keys(s):
    check_prompt(s, "?", "sort by the next column")
    check_prompt(s, "x", "[1 queues]")
    check_prompt(s, "s", "WAITINGv")
    check_prompt(s, "<", "NAME^")
    check_prompt(s, "/alp", lambda: names(s) == ["alpha"])
    check_prompt(s, ESCAPE, lambda: len(names(s)) > 1)


def stopped(redis):
    s = top("--timeout", "3s")
    s.wait("alpha")
    os.kill(int(redis), signal.SIGSTOP)
    try:
        s.wait("OLD, ")
        s.wait("no answer")
        check("alpha" in s.text(), "the rows are gone", s)
        check_keys(s)
    finally:
        os.kill(int(redis), signal.SIGCONT)
    s.wait(lambda: "OLD, " not in s.text() and "WAITING " in s.text(), "its recovery")
    leave(s)
    s = top(*NO_END)
    s.wait("alpha")
    s.type("/evil-t" + ENTER)
    s.wait(lambda: names(s) == ["evil-task"])
    s.type(ENTER)
    s.wait(lambda: len(names(s)) == 1 and "of evil-task" in s.text(), "the process of evil-task")
    s.type("1")
    s.wait("alpha")
    os.kill(int(redis), signal.SIGSTOP)
    try:
        check_keys(s)
        check_prompt(s, "2", "Redis is asked")
        check_prompt(s, "3", "[3 processes]")
        check("Redis is asked" in s.text(), "rows of one queue as those of all", s)
        s.type("q")
        s.wait(s.has_ended, "its end, which waits for Redis")
        s.check_end()
    finally:
        os.kill(int(redis), signal.SIGCONT)


def gone(redis, socket, directory):
    s = top(*NO_END)
    s.wait("alpha")
    os.kill(int(redis), signal.SIGKILL)
    s.wait("OLD, ")
    s.wait("no Redis: ")
    check_keys(s)
    new = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", socket, "--dir", directory, "--save", ""],
                           stdout=subprocess.DEVNULL)
    try:
        # The worker may have come back before the look.
        s.wait(lambda: "OLD, " not in s.text() and "alpha" not in s.text(), "what is in the new Redis")
        muster("enqueue", "again", "x")
        s.wait("again")
        leave(s)
    finally:
        new.kill()
        new.wait()
    s = top()
    s.wait("NO ROWS: no Redis")
    s.type("q")
    s.check_end()


globals()[sys.argv[1]](*sys.argv[2:])
