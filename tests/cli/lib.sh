# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2120
#
# What the tests of the command share: a directory of their own in $tmp, removed at the end; a private Redis on a Unix
# socket in it; processes in the background, which never outlive the test; checks that print what they got; waiting for
# a condition, which is a command that succeeds.
#
# Most of the time of these tests is that of starting processes. So what is done often here starts none: `$(<FILE)` and
# not cat, `[[ ]]` and not grep.
#
# Sourced. Needs MUSTER, the path of the command. MUSTER_CHECKED is the same one with sanitizers, which takes long to start:
# what runs in the background is that one, and with MUSTER_TEST_CHECKED everything.
: "${MUSTER:?is to be the path of the command}"
checked=${MUSTER_CHECKED:-$MUSTER}
if [[ -n ${MUSTER_TEST_CHECKED:-} ]]; then
    MUSTER=$checked
fi

export LC_ALL=C
unset POSIXLY_CORRECT
for variable in "${!MUSTER_@}"; do
    [[ $variable =~ ^MUSTER_(SOURCE|BUILD|EXAMPLES)$ ]] || unset "$variable"
done
export MUSTER_TIMEOUT=5m # a Redis that has not answered after the usual five seconds may only be short of CPU

# The first in the path may be a script that looks for the right one at each start.
if [[ -x /usr/bin/python3 ]]; then
    python3() { /usr/bin/python3 "$@"; }
fi

tmp=$(mktemp -d "${TMPDIR:-/tmp}/muster-cli.XXXXXX")
socket=$tmp/redis.sock
deadline_s=60
exec {messages}>&2 {never}<> <(:) # nothing is ever read from it
declare -A pids=()

clean_up() {
    local status=$? pid
    trap '' INT TERM HUP
    for pid in "${pids[@]}"; do
        kill -KILL "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
    rm -rf "$tmp"
    exit "$status"
}
trap clean_up EXIT
trap 'exit 1' INT TERM HUP

# ---- processes

# start NAME COMMAND...: runs it in the background, with its output in $tmp/NAME.out and NAME.err. Dies with the test.
start() {
    local name=$1
    shift
    if [[ $1 == "$MUSTER" ]]; then
        set -- "$checked" "${@:2}"
    fi
    [[ ! -e $tmp/$name.out ]] || rm "$tmp/$name.out" "$tmp/$name.err" # the output of an earlier one must not be taken for its own
    setpriv --pdeathsig KILL "$@" >"$tmp/$name.out" 2>"$tmp/$name.err" </dev/null {messages}>&- {never}<&- &
    pids[$name]=$!
}

runs() { kill -0 "${pids[$1]}" 2>/dev/null; }
has_ended() { ! runs "$1"; }

# catches NAME NUMBER: has it a handler for this signal?
catches() {
    local mask
    mask=$(sed -n 's/^SigCgt:[[:blank:]]*//p' "/proc/${pids[$1]}/status")
    ((0x$mask & 1 << $2 - 1))
}
catches_no_more() { ! catches "$@"; }

# check_end NAME CODE: it must end by itself, with this exit status
check_end() {
    local name=$1 code=0
    wait_for has_ended "$name"
    wait "${pids[$name]}" || code=$?
    unset "pids[$name]"
    ((code == $2)) || fail "$name ended with status $code, not $2; standard error: $(cat "$tmp/$name.err")"
} 2>/dev/null # the shell would print there how a job ended

# end NAME SIGNAL CODE: sends the signal; it must end with this exit status
end() {
    kill "-$2" "${pids[$1]}" || fail "$1 has ended by itself; standard error: $(cat "$tmp/$1.err")"
    check_end "$1" "$3"
} 2>/dev/null

# ---- Redis

# start_redis [ARGUMENT...]: starts the Redis that MUSTER_URL and redis() use
start_redis() {
    start redis redis-server --port 0 --unixsocket "$socket" --dir "$tmp" --save '' --appendonly no "$@"
    wait_for redis_answers
    export MUSTER_URL=unix://$socket
}

redis() { redis-cli -s "$socket" "$@"; }
redis_answers() { [[ $(redis PING 2>&1) == *@(PONG|NOAUTH)* ]]; }

# redis_is VALUE COMMAND...: does redis-cli print this?
redis_is() { [[ $(redis "${@:2}") == "$1" ]]; }
# is_quiet QUEUE: does nothing of it wait, and nothing run? In one look: between two a task goes from one place to another.
is_quiet() {
    redis_is $'0\n0\n0' EVAL "local q = ARGV[1]
        return {redis.call('HGET', 'muster:queue:' .. q, 'running'), redis.call('LLEN', 'muster:queues:' .. q),
            redis.call('ZCARD', 'muster:waiting:' .. q)}" 0 "$1"
}
check_redis() { redis_is "$@" || fail "redis ${*:2}: $(redis "${@:2}"), not $1"; }

# start_gate: $tmp/gate.sock leads to Redis. The first script is held until there is a file $tmp/go, and $tmp/held says that
# it is there: so a signal can come in the middle of a step, which is done whole. Needs python3.
start_gate() {
    start gate "$(command -v /usr/bin/python3 || command -v python3)" "$MUSTER_SOURCE/tests/cli/gate.py" "$tmp/gate.sock" "$socket" \
        "$tmp/held" "$tmp/go"
    wait_for test -S "$tmp/gate.sock"
}

# start_full_socket PATH: there is a Unix socket whose queue of connections is full; nobody accepts any. Needs python3.
start_full_socket() {
    start full "$(command -v /usr/bin/python3 || command -v python3)" -c '
import socket, sys, time
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
server.listen(0)
waiting = []
try:
    while True:
        waiting.append(socket.socket(socket.AF_UNIX))
        waiting[-1].setblocking(False)
        waiting[-1].connect(sys.argv[1])
except BlockingIOError:
    print("full", flush=True)
while True:
    time.sleep(1000)' "$1"
    wait_for grep -q full "$tmp/full.out"
}

# ---- checks

fail() {
    printf '%s:%s: %s\n' "${0##*/}" "$(caller_line)" "$*" >&"$messages"
    exit 1
}

# The line of the test that called, directly or not.
caller_line() {
    local i
    for ((i = 1; i < ${#BASH_SOURCE[@]}; i++)); do
        if [[ ${BASH_SOURCE[i]} == "$0" ]]; then
            echo "${BASH_LINENO[i - 1]}"
            return
        fi
    done
}

# wait_for CONDITION...: fails if it does not come true in time. Time is counted in turns: one takes longer where
# everything does, on a slow machine or beside much else.
wait_for() {
    local turns=$((deadline_s * 50))
    until "$@"; do
        ((turns-- > 0)) || fail "waited too long for: $*; standard errors: $(tail -n 5 "$tmp"/*.err)"
        pause
    done
}

# pause: a turn of waiting, 20 ms and more
pause() { read -rt 0.02 -u "$never" || true; }

# check_exit CODE PROGRAM...: runs it; afterwards its output is in $tmp/out and $tmp/err
check_exit() {
    local want=$1 code=0
    shift
    "$@" >"$tmp/out" 2>"$tmp/err" || code=$?
    ((code == want)) || fail "'$*' ended with status $code, not $want; standard error: $(cat "$tmp/err"); output: $(tail -n 20 "$tmp/out")"
}

# check_usage VERB...: it must be refused as wrong usage, in one line that names the verb's help
check_usage() {
    check_exit 2 "$MUSTER" "$@"
    check_out ''
    check_err "see \`muster $1 --help\`"
}

# check_out TEXT: standard output must be this, apart from the last newline
check_out() {
    [[ $(<"$tmp/out") == "$1" ]] || fail "standard output differs (- wanted, + got):
$(diff <(printf '%s\n' "$1") "$tmp/out" | tail -n +2)"
}

# check_err TEXT: standard error must be exactly one line, with this in it
check_err() {
    local text
    IFS= read -rd '' text <"$tmp/err" || true
    [[ $text == *$'\n' && ${text%$'\n'} != *$'\n'* ]] || fail "not one line on standard error: $text"
    [[ $text == *"$1"* ]] || fail "standard error lacks '$1': $text"
}

# `muster check` must find no damage.
check_clean() { check_exit 0 "$MUSTER" check; }

# says NAME TEXT: has this process printed it on standard error?
says() { [[ -e $tmp/$1.err && $(<"$tmp/$1.err") == *"$2"* ]]; }

# iso MS: a time as JSON has it in words
iso() { printf '%s.%03dZ' "$(TZ=UTC0 date -d "@$(($1 / 1000))" +%Y-%m-%dT%H:%M:%S)" $(($1 % 1000)); }

# ---- verbs

# list_verbs: prints the verbs of the overview, one per line
list_verbs() { "$MUSTER" help | sed -nE '/^Commands:$/,/^$/ s/^  ([a-z-]+) .*/\1/p'; }
