#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What shells complete. Proves:
#  1. every verb and every option of each verb that help tells is a candidate where it can stand, and nothing else is
#  2. names of queues, workers, tags, processes, groups of failures, batches, and jobs that run or are tracked, are those
#     of Redis at that moment, by the --url and --prefix of the line; a beginning, an argument after `=`, a sign before a
#     tag and a place after `--` are understood
#  3. without Redis, with one that does not answer, and without rights there are no names, no message and status 0, and
#     that takes less than a second
#  4. bash, zsh and fish complete a verb, an option, a queue with a space and a colon in it, and files, as far as these
#     shells are installed
#  5. wrong usage
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
unset MUSTER_TIMEOUT # a Redis that does not answer is part of this

candidates() { "$MUSTER" completion --candidates -- "$@" 2>"$tmp/err" | cut -f 1; }
are_shown() {
    candidates "${@:2}" | sort >"$tmp/got"
    diff <(printf '%s' "${1:+$1$'\n'}" | sort) "$tmp/got" >"$tmp/diff"
}
# check_candidates WANTED WORD...: lines, in any order
check_candidates() {
    local want=$1
    shift
    # It gives Redis a part of a second, and shows nothing if that is too short on a starved machine: then again.
    for _ in {1..10}; do ! are_shown "$want" "$@" || break; done
    [[ ! -s $tmp/diff ]] ||
        fail "for '$*' (< wanted): $(cat "$tmp/diff")"
    [[ ! -s $tmp/err ]] || fail "standard error: $(cat "$tmp/err")"
}

# ---- 1
mapfile -t verbs < <(list_verbs)
check_candidates "$(printf '%s\n' "${verbs[@]}")" ''
check_candidates "$(printf '%s\n' "${verbs[@]}")" help ''
check_candidates 'pause' pau
check_candidates '' frobnicate ''
for verb in "${verbs[@]}"; do
    "$MUSTER" "$verb" --help | sed -nE '/^(Options|Common options|[A-Z].*):$/,$ {
        s/^      (--[a-z-]+).*/\1/p; s/^  -[a-zA-Z0-9], (--[a-z-]+).*/\1/p; s/^  (-[a-zA-Z0-9]) .*/\1/p }' | sort -u >"$tmp/told"
    candidates "$verb" - | sort >"$tmp/got"
    diff "$tmp/told" "$tmp/got" >"$tmp/diff" || fail "the options of $verb in help (<) and candidates: $(cat "$tmp/diff")"
    while read -r option; do # its argument, or what comes after it
        check_exit 0 "$MUSTER" completion --candidates -- "$verb" "$option" ''
        check_exit 0 "$MUSTER" completion --candidates -- "$option" ''
    done <"$tmp/told"
done
# A word of help that has a meaning in one place has none in others.
for name in --prefix --tls-server-name; do
    check_candidates '' "$name" ''
    check_candidates '' config "$name" ''
done
check_candidates $'bash\nfish\nzsh' completion ''

# ---- 2
start_redis
"$MUSTER" enqueue mail hello-task >"$tmp/out"
"$MUSTER" enqueue 'odd queue:1' hello-odd >"$tmp/out"
"$MUSTER" enqueue other hello-other --prefix elsewhere >"$tmp/out"
"$MUSTER" put mail --id j --tag urgent data >"$tmp/out"
process=$("$MUSTER" take --lease 1h 'odd queue:1' | cut -f 1)
"$MUSTER" enqueue 'odd queue:1' hello-odd >"$tmp/out"
start worker "$MUSTER" work idle --id w1 --print
wait_for says worker 'takes tasks'
check_candidates $'mail\nodd queue:1\nidle' peek ''
check_candidates 'mail' peek m
check_candidates '' peek mail ''
check_candidates $'mail\nodd queue:1\nidle' work mail ''
check_candidates 'other' peek --prefix elsewhere ''
check_candidates 'other' --prefix=elsewhere peek ''
check_candidates '' peek --url "unix://$tmp/nobody" ''
check_candidates 'mail' peek -- m
check_candidates 'w1' fail-worker ''
check_candidates 'w1' ps --worker ''
check_candidates '--worker=w1' ps --worker=
check_candidates '--queue=mail' ps --queue=ma
check_candidates 'mail' ps --queue ma
check_candidates 'urgent' jobs --tag ''
check_candidates $'complete\ndepends\nfailed\nheld\nrecurring\nrunning\nscheduled\nwaiting' jobs --state ''
check_candidates '--state=running' jobs --state=ru
"$MUSTER" put jobs-run --id runs data >"$tmp/out"
runs=$("$MUSTER" take --lease 1h jobs-run | cut -f 1)
"$MUSTER" put jobs-run --id tracked-one --track data >"$tmp/out"
check_candidates $'runs\ntracked-one' job ''
check_candidates $'runs\ntracked-one' job j ''
check_candidates 'tracked-one' put mail --after tr
check_candidates '+runs' change tracked-one --after +r
check_candidates 'tracked-one' put mail --after-failure tr
"$MUSTER" batch open night-1 >"$tmp/out"
"$MUSTER" batch open week >"$tmp/out"
check_candidates $'open\nclose\ncancel\nnight-1\nweek' batch ''
check_candidates 'night-1' batch ni
check_candidates $'night-1\nweek' batch close ''
check_candidates 'week' batch cancel w
check_candidates '' batch open ''
check_candidates '' batch night-1 ''
check_candidates '' batch close week ''
check_candidates 'night-1' put mail --batch ni
check_candidates '--batch=week' batch open inner --batch=w
check_candidates '' put mail --id ''
check_candidates '' enqueue mail --request ''
"$MUSTER" fail "$runs" --group broken >"$tmp/out"
check_candidates 'broken' replay jobs-run --group ''
check_candidates $'+urgent' change j --tag +
check_candidates "$process" finish .
check_candidates "$process" cancel --process .
check_candidates 'tracked-one' cancel --job tr
check_candidates 'mail' cancel m
check_candidates 'mail' work --print m
check_candidates "$(sed -nE 's/^ *X\((keep_[a-z_]+), .*/\1/p' "$MUSTER_SOURCE/include/muster/job.h")" config keep_
about() { "$MUSTER" completion --candidates -- "$@"; }
[[ $(about work mail -- '') == $'\tcommand' ]] || fail 'a command is not completed'
[[ $(about work mail -- ls '') == $'\tfile' ]] || fail 'a file is not completed'
[[ $(about queues --tls-ca '') == $'\tfile' ]] || fail 'a file of an option is not completed'
[[ $(about peek m) == $'mail\tqueue, 2 waiting' ]] || fail "what it is: $(about peek m)"

# ---- 3
began=$SECONDS # $MUSTER_TIMEOUT is far above what is allowed
MUSTER_URL=unix://$tmp/nobody check_candidates '' peek ''
kill -STOP "${pids[redis]}"
check_candidates '' peek ''
kill -CONT "${pids[redis]}"
wait_for redis_answers
MUSTER_URL=unix://nobody:wrong@$socket check_candidates '' peek ''
check_candidates '' peek --url 'no url' ''
((SECONDS - began < 100)) || fail "it waits as long as others: $((SECONDS - began)) s"

# ---- 4
mkdir "$tmp/bin" "$tmp/home" "$tmp/files"
ln -s "$MUSTER" "$tmp/bin/muster"
export PATH=$tmp/bin:$PATH HOME=$tmp/home TERM=dumb
cd "$tmp/files"
: >certificate.pem
missing=()
# type_into SHELL...: each completion ends in a command that shows what was completed
type_into() {
    python3 "$MUSTER_SOURCE/tests/cli/typing.py" 'ready>' 'muster pee\tmai\t\n' 'hello-task' "$@" 2>"$tmp/err" ||
        fail "$1: $(cat "$tmp/err")"
    python3 "$MUSTER_SOURCE/tests/cli/typing.py" 'ready>' 'muster peek od\t\n' 'hello-odd' "$@" 2>"$tmp/err" ||
        fail "$1: $(cat "$tmp/err")"
    python3 "$MUSTER_SOURCE/tests/cli/typing.py" 'ready>' 'muster ps --qu\tmai\t--tls-ca cert\t' 'certificate.pem' \
        "$@" 2>"$tmp/err" || fail "$1: $(cat "$tmp/err")"
}
if command -v python3 >"$tmp/out"; then
    # shellcheck disable=SC2016 # for the other shell
    echo "PS1='ready>'"$'\neval "$(muster completion bash)"' >"$tmp/bashrc"
    type_into bash --noprofile --rcfile "$tmp/bashrc" -i
    python3 "$MUSTER_SOURCE/tests/cli/typing.py" 'ready>' 'muster ps --queue=mai\t --js\t\n' 'ps --queue=mail  --json' \
        bash --noprofile --rcfile "$tmp/bashrc" -i 2>"$tmp/err" || fail "bash: $(cat "$tmp/err")"
    if command -v zsh >"$tmp/out"; then
        # shellcheck disable=SC2016 # for the other shell
        printf '%s\n' "PS1='ready>'" 'unsetopt prompt_sp zle_bracketed_paste 2>/dev/null' 'autoload -Uz compinit' \
            'compinit -u -D' 'eval "$(muster completion zsh)"' >"$HOME/.zshrc"
        type_into zsh -i
    else
        missing+=(zsh)
    fi
else
    missing+=('python3, for a terminal for bash and zsh')
fi
if command -v fish >"$tmp/out"; then
    # shellcheck disable=SC2016 # for the other shell
    check_exit 0 fish --no-config -c 'muster completion fish | source; complete -C "muster pee"; complete -C "muster peek od"
        complete -C "muster ps --queue=ma"; complete -C "muster ps --tls-ca cert"; complete -C "muster peek --offs"'
    for wanted in peek 'odd\ queue:1' '--queue=mail' certificate.pem --offset; do
        cut -f 1 "$tmp/out" | sed 's/\\//g' | grep -qxF -- "${wanted//\\/}" || fail "fish: no $wanted: $(cat "$tmp/out")"
    done
else
    missing+=(fish)
fi
end worker TERM 0

# ---- 5
check_usage completion
check_usage completion tcsh
check_err "there is no completion for 'tcsh'"
check_usage completion bash -- word
check_usage completion --candidates
if ((${#missing[@]})); then
    echo "not tried, because it is not installed: ${missing[*]}"
fi
