#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# typing.py PROMPT TYPED WANTED SHELL...: runs the shell on a terminal of its own, types TYPED at its prompt, and ends
# well when the terminal has shown WANTED after that. Fails with what was shown, after two minutes.
import os
import pty
import select
import sys
import time

prompt, typed, wanted = (word.encode().decode("unicode_escape").encode() for word in sys.argv[1:4])
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[4], sys.argv[4:])
shown, end, is_typed = b"", time.monotonic() + 120, False
while time.monotonic() < end:
    if select.select([terminal], [], [], 0.1)[0]:
        try:
            shown += os.read(terminal, 65536)
        except OSError:
            break
    if not is_typed and prompt in shown:
        os.write(terminal, typed)
        shown, is_typed = b"", True
    elif is_typed and wanted in shown:
        os.kill(pid, 9)
        sys.exit(0)
os.kill(pid, 9)
sys.exit(f"typed {typed!r}, not shown: {wanted!r}; shown: {shown!r}")
