#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# A signal to a verb that waits. Proves:
#  1. take --wait ends at once by SIGINT, SIGTERM and SIGHUP, dies of that signal, and says in a line that nothing is taken
#  2. a hundred times, with tasks that arrive at that moment: what is leased was printed, and what was not printed is back
#     in its queue
#  3. a Redis that does not answer holds up nobody
#  4. wait, put --wait and enqueue --wait end in the same way, also by a signal that came in the step before they wait;
#     what was put is named
#  5. put ends so while it waits for a password that comes by a pipe
#  6. a shell's script ends with the verb that it has called
#  7. all that goes on until a signal ends it, or a time limit, ends also where whoever started it has left signals blocked
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC2154 # tmp is lib.sh's
cd "$tmp"
start_redis

# asks NAME: is a connection of it there, which has sent something?
asks() { [[ $(grep -c "socket:" <(ls -l "/proc/${pids[$1]}/fd" 2>/dev/null)) == 1 ]] && grep -q '^State:.S' "/proc/${pids[$1]}/status"; }
# Does somebody listen to what happens to jobs?
hears() { redis_is "$(printf 'muster:events\n%s' "${1:-1}")" PUBSUB NUMSUB muster:events; }

# What a shell starts in the background ignores SIGINT, and hands that on.
begin() {
    redis DEL muster:takers:q >said # Redis remembers callers that are gone for a while
    wait_for hears 0
    wait_for listen 0 q
    start "$1" env --default-signal=INT "$MUSTER" "${@:2}"
}
# listen N QUEUE: do so many listen there?
listen() { redis_is "$(printf 'muster_%s_work\n%s' "$2" "$1")" PUBSUB NUMSUB "muster_$2_work"; }
# A request of one that was interrupted may come late, and count as a caller; but it does not listen any more.
waits_for() { listen 1 "$1" && redis_is 1 ZCARD "muster:takers:$1"; }
# waits NAME QUEUE: it has asked, and has a handler for signals.
waits() {
    wait_for waits_for "$2"
    wait_for catches "$1" 1 # HUP, the last of the three
}
check_held() { check_redis "$2" HLEN "muster:processing:.lease:$1"; }
# check_said NAME TEXT: nothing else is on standard error, and nothing on standard output
check_said() {
    [[ $(cat "$1.err") == "$2" && ! -s $1.out ]] || fail "$1 said: $(cat "$1.err" "$1.out")"
}

# ---- 1
for signal in INT:130 TERM:143 HUP:129; do
    begin waiter take q --wait 1h
    waits waiter q
    end waiter "${signal%:*}" "${signal#*:}"
    check_said waiter 'muster take: interrupted; nothing is left taken'
done
begin waiter take q --wait 1h --json
waits waiter q
end waiter INT 130
check_said waiter '{"error":"E_INTERRUPTED","message":"interrupted; nothing is left taken"}'

# ---- 2
# The task comes by a foreign program, which leaves a moment until it is taken, or by muster.
arrive() {
    if (($1 % 2)); then
        printf 'LPUSH muster:queues:q task\nPUBLISH muster_q_work 1\n' | redis >said
    else
        start producer "$MUSTER" enqueue q task
    fi
}
printed=0 interrupted=0
for ((i = 0; i < 100; i++)); do
    begin waiter take q --wait 1h
    waits waiter q
    arrive "$i"
    # Somewhere around the moment in which the task comes: each time somewhat later.
    sleep "0.$(printf %05d $((i * (i % 2 ? 25 : 90))))"
    kill -INT "${pids[waiter]}" 2>kill.err || true # it may have ended before
    wait_for has_ended waiter
    status=0
    wait "${pids[waiter]}" 2>/dev/null || status=$?
    unset 'pids[waiter]'
    ((i % 2)) || check_end producer 0
    case $status in
    0)
        printed=$((printed + 1))
        [[ $(cut -f 2- waiter.out) == task ]] || fail "not printed: $(cat waiter.out)"
        check_held q 1
        check_exit 0 "$MUSTER" finish "$(cut -f 1 waiter.out)"
        ;;
    130)
        interrupted=$((interrupted + 1))
        check_said waiter 'muster take: interrupted; nothing is left taken'
        check_held q 0
        check_exit 0 "$MUSTER" take q
        check_exit 0 "$MUSTER" finish "$(cut -f 1 out)"
        ;;
    *) fail "status $status: $(cat waiter.err)" ;;
    esac
done
((printed > 0 && interrupted > 0)) || fail "$printed were printed, $interrupted were interrupted: never at that moment"
check_redis 0 HLEN muster:suspects:q

# ---- 3
kill -STOP "${pids[redis]}"
for verb in 'take q' 'take q --wait 1h' 'wait a' 'events' 'events --queue q'; do
    # shellcheck disable=SC2086
    start waiter env --default-signal=INT "$MUSTER" $verb --timeout 1h
    wait_for asks waiter
    if [[ $verb == events* ]]; then
        end waiter INT 0
        check_said waiter ''
    else
        end waiter INT 130
        grep -q "^muster ${verb%% *}: interrupted" waiter.err || fail "$verb said: $(cat waiter.err)"
    fi
done
kill -CONT "${pids[redis]}"

# ---- 4
"$MUSTER" put jobs data --id a >said
begin waiter wait a
wait_for hears
end waiter INT 130
check_said waiter 'muster wait: interrupted'
begin waiter put jobs data --id b --wait
wait_for hears
end waiter TERM 143
check_said waiter 'muster put: interrupted; what was added is there: muster wait b'
for verb in 'put jobs --id c' 'enqueue jobs d'; do
    kill -STOP "${pids[redis]}"
    # shellcheck disable=SC2086
    start waiter "$MUSTER" $verb --wait
    wait_for asks waiter
    kill -TERM "${pids[waiter]}"
    wait_for catches_no_more waiter 15 # its handler has run, and left the next one to the system
    kill -CONT "${pids[redis]}"
    check_end waiter 143
    [[ $(cat waiter.err) =~ ^"muster ${verb%% *}: interrupted; what was added is there: muster wait "[0-9a-z]+$ ]] ||
        fail "$verb said: $(cat waiter.err)"
    check_exit 0 "$MUSTER" job "$(sed 's/.* //' waiter.err)"
done

# ---- 5
mkfifo password
exec {writer}<>password
begin waiter put jobs --id never --password-file password {writer}>&-
has_opened() { [[ $(readlink "/proc/${pids[waiter]}/fd"/*) == *"$tmp/password"* ]]; }
wait_for has_opened
end waiter TERM 143
exec {writer}>&-
check_said waiter 'muster put: interrupted; nothing was tried'

# ---- 6
# shellcheck disable=SC2016 # it is the inner shell's
start script env --default-signal=INT setsid bash -c '"$0" take q --wait 1h; echo goes on' "$MUSTER"
wait_for waits_for q
kill -INT -- "-${pids[script]}"
check_end script 130
[[ ! -s script.out ]] || fail "the script goes on: $(cat script.out)"

# ---- 7
start_blocked() { start blocked env --block-signal=TERM,INT,HUP,ALRM,CHLD "$MUSTER" "$@"; }
# ends_so CODE WORDS VERB...: WORDS are said when it has begun
ends_so() {
    start_blocked "${@:3}"
    wait_for says blocked "$2"
    end blocked TERM "$1"
}
ends_so 0 listens listen q
ends_so 0 listens events
ends_so 0 'takes tasks' work q --print
ends_so 0 'listens at' web --listen 127.0.0.1:0
ends_so 0 'Redis runs' serve --temporary
wait_for hears 0
redis DEL muster:takers:q >said
start_blocked take q --wait 1h
waits blocked q
end blocked TERM 143
start_blocked work q --print --url "unix://$tmp/nobody" --timeout 100ms
check_end blocked 124
check_clean
