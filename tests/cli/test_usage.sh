#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Wrong use, and help. Proves:
#  1. the overview lists every verb that a source file defines, and no other, and the exit codes; every verb has help
#     with usage and examples on standard output, by --help and by `muster help VERB`; --version prints the version
#  2. unknown verbs and options, missing and surplus operands, and wrong numbers, durations, URLs, names and prefixes
#     end with status 2 and one line that names the help, before anything is connected to
#  3. options may follow operands; after `--` every word is an operand; an option wins over its environment variable
#     Common options may also come before the verb. A misspelt verb or option is answered with the one that resembles it
#  4. a refused URL is not repeated, because it may hold a password
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
mapfile -t verbs < <(list_verbs)

# A connection to this place ends with status 69, not 2.
export MUSTER_URL=unix://$tmp/nobody

# ---- 1
check_exit 0 "$MUSTER" --help
cp "$tmp/out" "$tmp/overview"
check_exit 0 "$MUSTER" help
cmp "$tmp/out" "$tmp/overview"
sources=("$MUSTER_SOURCE"/src/cli/*.c)
sed -nE 's/^(static )?const struct command cmd_([a-z_]+) = .*/\2/p' "${sources[@]}" | tr _ - | sort >"$tmp/defined"
printf '%s\n' "${verbs[@]}" | sort >"$tmp/listed"
[[ -s $tmp/defined ]] || fail "no verb is found in the sources"
diff "$tmp/defined" "$tmp/listed" >"$tmp/diff" ||
    fail "the verbs that src/cli defines (<) are not those of VERBS in verbs.h (>): $(cat "$tmp/diff")"
for source in "$MUSTER_SOURCE"/src/cli/cmd_*.c; do
    grep -qE '^const struct command cmd_' "$source" || fail "$source defines no verb"
done
for verb in "${verbs[@]}"; do
    grep -qE "^  $verb  +[A-Z]" "$tmp/overview" || fail "the overview has no summary of $verb"
    check_exit 0 "$MUSTER" "$verb" --help
    head -n 1 "$tmp/out" | grep -q "^Usage: muster $verb " || fail "$verb: no usage"
    grep -qE "^  .*muster $verb" "$tmp/out" || fail "$verb: no example"
    grep -qE -- '--json +print JSON' "$tmp/out" || fail "$verb: no common options"
    awk -v verb="$verb" 'length > 120 { print verb ": too wide: " $0; bad = 1 } END { exit bad }' "$tmp/out"
    cp "$tmp/out" "$tmp/help"
    check_exit 0 "$MUSTER" help "$verb"
    cmp "$tmp/out" "$tmp/help"
    check_exit 0 "$MUSTER" "$verb" --version
    grep -qE '^muster [0-9]+\.[0-9]+\.[0-9]+$' "$tmp/out" || fail "$verb: no version"
done
for code in 0 1 2 3 69 75 77 124; do
    grep -qE "^  $code +" "$tmp/overview" || fail "the overview lacks exit code $code"
done
check_exit 0 "$MUSTER" --version
grep -qE '^muster [0-9]+\.[0-9]+\.[0-9]+$' "$tmp/out" || fail "no version"

# ---- 2: verbs
check_exit 2 "$MUSTER"
check_err 'a command is missing'
check_exit 2 "$MUSTER" frobnicate
check_err "no command 'frobnicate'"
check_exit 2 "$MUSTER" help frobnicate
check_err "no command 'frobnicate'"
! grep -q 'did you mean' "$tmp/err" || fail "what does not resemble anything was suggested: $(cat "$tmp/err")"
for word in quees queus qeues queuess; do
    check_exit 2 "$MUSTER" "$word"
    check_err "there is no command '$word'; did you mean 'queues'?; see"
done
check_exit 2 "$MUSTER" enqeue q task
check_err "did you mean 'enqueue'?"
check_exit 2 "$MUSTER" $'\e[31m'
check_err "there is no command '\\x1b[31m'"

# ---- 3: options before the verb
check_exit 69 "$MUSTER" --url "unix://$tmp/nobody" --json queues
check_exit 69 "$MUSTER" --url="unix://$tmp/nobody" --timeout 3s queues
check_exit 2 "$MUSTER" --url 'no url' queues
check_err '--url: '
check_exit 2 "$MUSTER" --frobnicate queues
check_err 'there is no option --frobnicate for all commands'
check_exit 2 "$MUSTER" --queue mail ps
check_err 'there is no option --queue for all commands'
check_exit 2 "$MUSTER" --json
check_err 'a command is missing'
check_exit 2 "$MUSTER" --pre x --frob queues
for words in -h '-h queues' '--url x -h'; do
    # shellcheck disable=SC2086
    check_exit 0 "$MUSTER" $words
    head -n 1 "$tmp/out" | grep -q '^Usage: muster COMMAND' || fail "no overview: $(head -n 1 "$tmp/out")"
done
check_exit 0 "$MUSTER" queues -h
head -n 1 "$tmp/out" | grep -q '^Usage: muster queues' || fail 'no help of the verb'
check_exit 0 "$MUSTER" --prefix x --version

# ---- 2: what was perhaps meant
check_usage ps --quue mail
check_err 'unknown option --quue, maybe --queue;'
check_usage work q --premanent
check_err 'unknown option --premanent, maybe --permanent;'
check_usage ps --x
check_err 'unknown option --x;'

# ---- 2: options
for verb in "${verbs[@]}"; do
    check_usage "$verb" --frobnicate
    check_err 'unknown option --frobnicate;'
    check_usage "$verb" -Z
    check_err 'unknown option -Z;'
    check_usage "$verb" --url
    check_err '--url needs URL'
    check_usage "$verb" --json=yes
    check_err '--json takes no value'
done
check_usage work q --pre 3
check_err 'ambiguous option --pre;'
check_usage peek q -n
check_err '-n needs N'

# ---- 2: operands
for verb in enqueue put work peek take cancel pause resume delete replay drop listen; do
    check_usage "$verb"
    check_err 'QUEUE is missing'
done
for verb in finish give-back retry fail extend; do
    check_usage "$verb"
    check_err 'PROCESS is missing'
done
check_usage cancel --process
check_err 'PROCESS is missing'
check_usage cancel --job
check_err 'ID is missing'
for verb in workers ps serve check jobs stats events; do
    check_usage "$verb" word
    check_err "'word' is one word too many"
done
for verb in peek take pause resume delete; do
    check_usage "$verb" q word
    check_err "'word' is one word too many"
done
for verb in job change; do
    check_usage "$verb"
    check_err 'ID is missing'
done
check_usage failed q g word
check_usage put q data word
check_usage help work word
check_usage work q
check_err "muster work q -- COMMAND"
check_usage work q ./send-mail
check_err "there is no COMMAND: put \`--\` before it"
check_usage work q --print -- true
check_err "--print is instead of a COMMAND"
check_usage work q --
check_err 'no command after --'
check_usage work one two one
check_err "the queue 'one' is given twice"
check_usage cancel --queue a --tag x --queue b
check_err '--queue is given more than once'

# ---- 2: numbers and durations
for number in '' x 1x x1 ' 1' +1 -1 0x10 1.5 99999999999999999999; do
    check_usage peek q -n "$number"
    check_err 'is not a number'
done
check_usage peek q -n 0
check_err '0 is not from 1 to'
check_usage work q -c 10001
check_err '10001 is not from 1 to 10000'
check_usage work q --print -c 65
check_err '-c: with --print at most 64'
check_usage work q -c 9000 --prefetch 1001
check_err 'together more than 10000'
check_usage take q -n 1001
check_err '1001 is not from 1 to 1000'
check_usage work q --max-tasks 0
check_usage failed q -n 0
check_usage serve --port 65536
check_err '65536 is not from 0 to 65535'
for duration in '' 5 s 5x '5 s' 1.5s -5s 5ss 99999999999999999999s 9223372036854775807d; do
    check_usage queues --timeout "$duration"
    check_err 'is not a duration'
done
check_usage work q --ttl 99ms
check_err '99ms is not from 100ms to 1d'
check_usage work q --ttl 25h
check_usage queues --timeout 0s
process=w:00000000001:q
check_usage take q --lease 0s
check_err '0s is not from 1ms to 30d'
check_usage take q --lease 31d
check_usage take q --wait 25h
check_usage extend $process --lease 0s
check_usage retry $process --delay 1
check_usage work q --limit 0s -- true

# ---- 2: names
long=$(printf 'q%.0s' {1..201})
for name in '' "$long" $'a\nb' $'a\x7fb'; do
    check_usage enqueue "$name" task
    check_err ": a queue's name"
    check_err "QUEUE '"
    check_usage work good "$name"
    for verb in peek take 'cancel --' pause resume 'delete --yes' failed 'replay --all' 'drop --all'; do
        # shellcheck disable=SC2086
        check_usage $verb "$name" ${verb/*--/task}
    done
    check_usage ps --queue "$name"
    check_err "--queue: a queue's name"
    check_usage failed q "$name"
    check_err "GROUP '"
    for verb in "fail $process" 'replay q' 'drop q'; do
        # shellcheck disable=SC2086
        check_usage $verb --group "$name"
        check_err '--group: a group'
    done
done
check_usage work "good"$'\n' # a wrong name is repeated on the same line
check_err "QUEUE 'good\\n': "
for id in '' .hidden 'a b' a:b "${long:0:65}"; do
    check_usage work q --id "$id"
    check_err "--id: a worker's id"
    check_usage ps --worker "$id"
done
for prefix in '' .hidden 'a b' a:b "${long:0:65}"; do
    check_usage queues --prefix "$prefix"
    check_err '--prefix: a prefix'
done
MUSTER_PREFIX='a b' check_usage queues
check_err 'MUSTER_PREFIX: a prefix'

# ---- 2: what options mean together
check_usage enqueue q -0 --whole
check_usage enqueue q -0 task
check_usage enqueue q task --whole
check_usage work q -I ''
check_usage work q -I '{}'
check_usage work q --retry-delay 1s
check_usage work q --retry-delay 0s -- true
check_usage work q --limit 1s
check_usage work q --on-limit fail
check_usage work q --limit 1s --on-limit finish -- true
check_err '--on-limit: it must be one of fail, retry and give-back'
check_usage work q --on-doubt go-on -- true
check_err '--on-doubt: it must be one of stop and run'
check_usage work q --on-doubt run
check_usage work q --id w --permanent --on-doubt run -- true
check_usage delete q
check_usage serve --port 0
check_usage serve --temporary --dir "$tmp"

# ---- 3: a refused name shows which word was used
long_ok=${long:0:200}
check_exit 69 "$MUSTER" peek "$long_ok" --json -n 5
check_exit 69 "$MUSTER" peek --json -n 5 -- --json
check_exit 124 "$MUSTER" work q --print --ttl 100ms --timeout 100ms --id --
grep -q 'muster work: --: not registered' "$tmp/err" || fail "an option's argument was taken for a separator"
POSIXLY_CORRECT=1 check_exit 69 "$MUSTER" peek q --offset 3
MUSTER_URL='no url' check_exit 69 "$MUSTER" queues --url "unix://$tmp/nobody"
MUSTER_URL='no url' check_exit 0 "$MUSTER" queues --help
MUSTER_URL='' check_exit 69 "$MUSTER" queues --url "unix://$tmp/nobody"

MUSTER_TRACE=state,srcipt check_usage queues
check_err "MUSTER_TRACE: there is no class 'srcipt'; the classes are state script wake"
MUSTER_TRACE=state,,wake check_exit 69 "$MUSTER" queues --url "unix://$tmp/nobody"

# ---- 2 and 4: URLs
for url in '' redis:/x http://hidden@h redis://u:hidden@h:0 redis://:hidden@h:99999 redis://:hid%zzden@h redis://:hidden@ \
    redis://:hidden@h/db unix://:hidden@relative rediss://:hidden@h?no=hidden; do
    check_usage queues --url "$url"
    check_err '--url: '
    ! grep -q hid "$tmp/err" || fail "the password of '$url' is in: $(cat "$tmp/err")"
done
MUSTER_URL=redis://u:hidden@h:0 check_usage queues
check_err 'MUSTER_URL: '
! grep -q hidden "$tmp/err" || fail "the password is in: $(cat "$tmp/err")"
