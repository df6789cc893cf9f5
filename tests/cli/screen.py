# SPDX-License-Identifier: MIT
#
# A program on a terminal of its own, and what that terminal shows: for tests of programs that draw.
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time

import pyte

DEADLINE_S = 120  # reached by nothing but what fails


class Screen:
    def __init__(self, words, columns=100, lines=24, env=None):
        self.raw, self.size = b"", (lines, columns)
        self.screen = pyte.Screen(columns, lines)
        self.stream = pyte.ByteStream(self.screen)
        self.terminal, self.end = pty.openpty()
        self.set_size()
        self.before = self.modes()
        ours, theirs = os.pipe()
        self.leader = os.fork()
        if self.leader == 0:
            self.lead(theirs, words, {**os.environ, "TERM": "linux", "LC_ALL": "C.UTF-8", **(env or {})})
        os.close(theirs)
        self.pid = int(os.read(ours, 20))
        os.close(ours)
        self.status = None

    # A session with the program as a job in it, as a shell has it: so it can be stopped.
    def lead(self, pipe, words, env):
        os.close(self.terminal)
        os.setsid()
        fcntl.ioctl(self.end, termios.TIOCSCTTY, 0)
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        pid = os.fork()
        if pid == 0:
            os.setpgid(0, 0)
            os.tcsetpgrp(self.end, os.getpid())
            signal.signal(signal.SIGTTOU, signal.SIG_DFL)
            signal.signal(signal.SIGHUP, signal.SIG_DFL)
            for fd in range(3):
                os.dup2(self.end, fd)
            os.execvpe(words[0], words, env)
        os.write(pipe, str(pid).encode())
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        os._exit(status if status >= 0 else 128 - status)

    def set_size(self):
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", *self.size, 0, 0))

    def resize(self, columns, lines):
        self.size = (lines, columns)
        self.screen.resize(lines, columns)
        self.set_size()

    def read(self, wait_s=0.02):
        while select.select([self.terminal], [], [], wait_s)[0]:
            part = os.read(self.terminal, 65536)
            self.raw += part
            self.stream.feed(part)
            wait_s = 0

    def lines(self):
        return [line.rstrip() for line in self.screen.display]

    def text(self):
        return "\n".join(self.lines())

    def type(self, keys):
        os.write(self.terminal, keys.encode())

    # Wait until `condition`, a text on the screen or a function, holds; returns how long that took.
    def wait(self, condition, what=None):
        begun = time.monotonic()
        while True:
            self.read()
            holds = condition in self.text() if isinstance(condition, str) else condition()
            if holds:
                return time.monotonic() - begun
            if time.monotonic() - begun > DEADLINE_S:
                self.stop(f"waited too long for {what or condition}")

    def modes(self):
        return termios.tcgetattr(self.end)

    def line_with(self, text):
        return next((line for line in self.lines() if text in line), "")

    def has_ended(self):
        if self.status is None:
            pid, status = os.waitpid(self.leader, os.WNOHANG)
            self.status = os.waitstatus_to_exitcode(status) if pid else None
        return self.status is not None

    # It must end with this status, and leave the terminal as it was.
    def check_end(self, status=0):
        self.wait(self.has_ended, "its end")
        if self.status != status:
            self.stop(f"ended with {self.status}, not {status}")
        if self.modes() != self.before:
            self.stop("the terminal is not as it was")

    # The test has failed: say why, and leave nothing behind.
    def stop(self, why):
        if not self.has_ended():
            os.kill(self.pid, signal.SIGKILL)
        sys.exit(f"{why}; the screen:\n{self.text()}")
