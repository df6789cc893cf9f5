#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# muster top, on a terminal of its own, which top_type.py types into and looks at. Proves:
#  1. queues, workers and processes are shown with what is in them; Enter shows the processes of a queue
#  2. rows are sorted by each column, both ways; the bar stays on its row; a filter works as it is typed
#  3. p pauses and resumes, c cancels: after a question, with the effect in Redis, also if it is left at once; a refusal is
#     told; --read-only does none
#  4. a resized terminal is drawn anew, one of 20x5 and of 1x1 does no harm; columns are straight under wide characters
#  5. with a Redis that is stopped or gone keys are answered at once, old rows are marked, and it recovers
#  6. names and tasks do not steer the terminal
#  7. after q, Ctrl-C, SIGTERM, SIGHUP and a stop with Ctrl-Z the terminal is as it was; NO_COLOR is kept
#  8. a build without ncurses says so; a pipe, an unknown terminal and --json are refused in words
#  9. what the library warns of, as a key of a wrong type, is told on the screen, and moves nothing
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
unset MUSTER_TIMEOUT # a Redis that does not answer is part of this

# The first python3 that has pyte: the first in the path may be another one than Debian's.
python=''
for one in python3 /usr/bin/python3; do
    if [[ -z $python ]] && "$one" -c 'import pyte' 2>/dev/null; then
        python=$one
    fi
done
if [[ -z $python ]]; then
    echo 'skipped: it needs python3-pyte: scripts/packages.sh test' >&2
    exit 77
fi
here=$(dirname "$0")
# on_screen CASE [ARGUMENT...]: runs a case of top_type.py; what it says is what failed
on_screen() {
    MUSTER=$MUSTER PYTHONDONTWRITEBYTECODE=1 "$python" "$here/top_type.py" "$@" \
        >"$tmp/said" 2>&1 || fail "top_type.py $1 found something: $(cat "$tmp/said")"
}

# ---- 8
check_exit 1 "$MUSTER" top
check_err 'muster queues'
check_usage top --json
check_usage top --interval 0
start_redis
on_screen build
if grep -qx without "$tmp/said"; then
    exit 0
fi
on_screen unknown_terminal

# ---- 1, 2
"$MUSTER" enqueue alpha a1 a2 a3 >"$tmp/out"
"$MUSTER" enqueue beta b1 >"$tmp/out"
"$MUSTER" enqueue gamma c1 c2 >"$tmp/out"
"$MUSTER" take gamma --lease 1h >"$tmp/out"
start worker "$MUSTER" work beta --id counter -c 2 -- sleep 100
counter_runs() { "$MUSTER" ps --worker counter 2>/dev/null | grep -q '^counter:'; }
wait_for counter_runs
on_screen views
on_screen addresses
on_screen sorting

# ---- 3
on_screen pausing
on_screen leaving "${pids[redis]}"
on_screen cancelling
on_screen read_only

# ---- 9
"$MUSTER" enqueue damaged x >"$tmp/out"
redis SET muster:failed:damaged x >"$tmp/out"
on_screen damaged
redis DEL muster:failed:damaged >"$tmp/out"
"$MUSTER" delete damaged --yes >"$tmp/out"

# ---- 4, 6
wide=$(printf '日本語%.0s' {1..12})
"$MUSTER" enqueue "$wide" x >"$tmp/out"
"$MUSTER" enqueue $'evil\xc2\x9b31m\xe2\x80\xae' x >"$tmp/out"
"$MUSTER" enqueue evil-task $'\e]0;title\a\e[31mred\r\n' >"$tmp/out"
"$MUSTER" take evil-task --lease 1h >"$tmp/out"
on_screen sizes
on_screen hostile

# ---- 7
on_screen endings
on_screen no_color

# ---- 5
on_screen stopped "${pids[redis]}"
on_screen gone "${pids[redis]}" "$socket" "$tmp"
