#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# muster put --lines and --json-lines. Proves:
#  1. each line is a job, in their order; the ids are printed so; options are for all of them
#  2. a line of JSON says what options say; data may be any JSON, and keeps its bytes; blank lines are none; a line may wait
#     for an earlier one
#  3. the first line that is refused ends it: its number, the reason and how many were put are told, and those before it
#     are there; the same for what Redis refuses
#  4. more lines than one script takes
#  5. under a request id the same lines add nothing, and what is missing is added
#  6. wrong options: status 2, and nothing is sent
#  7. a line that is too large for Redis is told by its number, also under a request id, where a larger one comes behind it;
#     lines that are too large only together are put
#  8. who writes the next line only when he has the id of the one before gets it, also from a file or pipe
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC2154 # tmp is lib.sh's
cd "$tmp"
start_redis

ok() { check_exit 0 "$MUSTER" "$@"; }
has() {
    local pattern
    ok job "$1" --json
    for pattern in "${@:2}"; do
        grep -qE -- "$pattern" out || fail "$1 lacks $pattern: $(cat out)"
    done
}
# waiting QUEUE N
waiting() {
    "$MUSTER" jobs --queue "$1" --state waiting --json >rows
    [[ $(wc -l <rows) == "$2" ]] || fail "$1: $(wc -l <rows) jobs wait, not $2"
}
# told TEXT: standard error says so
told() { grep -qF -- "$1" err || fail "not told '$1': $(cat err)"; }

# ---- 1
printf 'one\n\ntwo and\tmore\nno newline' | ok put mail --lines --tag news --priority 3
mapfile -t ids <out
[[ ${#ids[@]} == 4 ]] || fail "$(cat out)"
has "${ids[0]}" '"data":"one"' '"tags":\["news"\]' '"priority":3'
has "${ids[1]}" '"data":""'
has "${ids[2]}" '"data":"two and\\tmore"'
has "${ids[3]}" '"data":"no newline"'
waiting mail 4
printf 'x\n' | ok put mail --lines --json
grep -qE '^\{"id":"[0-9a-f]{32}","queue":"mail"\}$' out || fail "$(cat out)"
ok put mail --lines </dev/null
[[ ! -s out ]] || fail "ids of nothing: $(cat out)"

# ---- 2
cat >specs <<'END'
{"id": "a", "data": "text ü", "priority": -2, "tag": ["red", "blue"], "retries": 0, "backoff": "1s..1m", "track": true}
{"id": "b", "data": {"to": ["x", 1]}, "after": "a", "limit": "30s", "track": false, "delay": null}

{"id": "c", "data": 17, "after": ["a", "b"], "delay": "1h"}
{"data": "its id is made"}
END
ok put json --json-lines <specs
[[ $(head -3 out | paste -sd' ') == "a b c" && $(wc -l <out) == 4 ]] || fail "$(cat out)"
has a '"data":"text ü"' '"priority":-2' '"tags":\["red","blue"\]' '"retries":0' '"tracked":true' '"backoff_ms":1000,"backoff_max_ms":60000,"backoff_exponential":true'
has b '"state":"depends"' '"after":\["a"\]' '"tracked":false'
ok job b --data
check_out '{"to": ["x", 1]}'
has c '"data":"17"' '"after":\["[ab]","[ab]"\]'
# raw JSON: the data arrives as it stands in the line
raw() {
    printf '{"tag": ["a,}"], "data" : %s , "priority": 3}\n' "$1" | ok put raw --json-lines
    ok job "$(cat out)" --data
    check_out "$1"
}
raw '{"user":9007199254740993}'
raw 1e400
raw '[ 1.10, {"a\"}":"]\\", "b": [] } ]'
raw null
raw true

# ---- 3
printf '{"id": "d"}\n{"id": "e"}\n{"id": "f", "colour": "red"}\n{"id": "g"}\n' >specs
check_exit 1 "$MUSTER" put more --json-lines <specs
check_out 'd
e'
told 'line 3: unknown option --colour'
told '2 jobs were put, of the lines before it'
waiting more 2
# refused LINE TEXT: a line of JSON, and why
refused() {
    printf '%s\n' "$1" >spec
    check_exit 2 "$MUSTER" put more --json-lines <spec
    told "line 1: $2"
    waiting more 2
}
refused 'nonsense' 'it is no object of JSON'
refused '["a"]' 'it is no object of JSON'
refused '{"id": "h"} more' 'it is no object of JSON'
refused '{"id": "h", "priority": true}' "'priority' must be a text or a number"
refused '{"id": "h", "tag": [["red"]]}' "'tag' must be a text, in quotes"
for member in id:text delay:'text or a number' cron:text; do
    refused "{\"data\": \"x\", \"${member%%:*}\": []}" "'${member%%:*}' must be a ${member#*:}"
    refused "{\"data\": \"x\", \"${member%%:*}\": [\"a\"]}" "'${member%%:*}' must be a ${member#*:}"
done
refused '{"id": "h", "priority": "x"}' "--priority: 'x' is not a number"
refused '{"id": "h", "track": "yes"}' "'track' must be true or false"
refused '{"id": "h", "lines": true}' "'lines' is an option of the call"
refused '{"id": "h", "offset": "3h"}' '--offset and --backlog are for a recurring job: --every is missing (for --backlog, or --cron)'
refused '{"id": "h", "replace": true, "id": "i"}' "'id' is there more than once"
refused '{"data": "a", "data": "b"}' "'data' is there more than once"
refused '{"id": "h", "retries": 9007199254740993}' "'retries' must be a text, in quotes, because the number is too large"
refused '{"id": 100000000000000000000}' "'id' must be a text, in quotes"
refused '{"tag": [9007199254740993]}' "'tag' must be a text, in quotes"
refused '{"id": "h", "data": "a\u0000b"}' 'it has a NUL'
printf '{"id": "h", "data": "a\\\\u0000b"}\n' | ok put more --json-lines
has h '"data":"a\\\\u0000b"'
printf '{"id": "i"}\n\n{"id": "d"}\n' >specs
check_exit 4 "$MUSTER" put more --json-lines <specs
told "line 3: job 2 of 2: the job 'd' is waiting"
told '0 jobs were put'
waiting more 3
printf '{"id": "two"}\n{"id": "j"}\n{"id": "two"}\n' >specs
for how in '' '--request two'; do
    # shellcheck disable=SC2086 # words
    check_exit 1 "$MUSTER" put twice --json-lines $how <specs # not 4: nothing of it is there
    told "line 3: job 3 of 3 ('two'): the id is another job's of this call"
    told '0 jobs were put'
done
check_exit 3 "$MUSTER" job two
printf '{"id": "i"}\nnonsense\n' >specs
check_exit 1 "$MUSTER" put more --json-lines --json <specs
check_out '{"id":"i","queue":"more"}'
grep -qE '^\{"error":"E_INVALID","message":"line 2: .*1 job was put' err || fail "$(cat err)"

# ---- 4: a line is refused in the third batch
seq 1 450 | sed 's/.*/{"id": "n&"}/; 420s/.*/{"id": "d"}/' >specs
check_exit 4 "$MUSTER" put long --json-lines <specs
told 'line 420: '
told '400 jobs were put'
[[ $(paste -sd' ' <out) == "$(seq -s' ' -f 'n%g' 1 400)" ]] || fail "$(paste -sd' ' <out)"
waiting long 400

# ---- 5
seq 1 450 >lines
ok put once --lines --request r <lines
[[ $(sed -n '1p;450p' out) == $'r:1\nr:450' ]] || fail "$(sed -n '1p;450p' out)"
ok put once --lines --request r <lines
[[ $(wc -l <out) == 450 ]] || fail "$(wc -l <out) ids"
waiting once 450
check_exit 1 "$MUSTER" put once --lines --request r < <(seq 1 449) # not 4: these are not there
told "the request 'r' had other content before"
! grep -q 'puts only what is missing' err || fail "it never does: $(cat err)"
check_exit 1 "$MUSTER" put once --request r other
told "the request 'r' had other content before"
waiting once 450
seq 1 450 | sed 's/.*/{"id": "o&"}/; 420s/.*/{"id": "d"}/' >specs
check_exit 4 "$MUSTER" put again --json-lines --request s <specs
told 'line 420: '
waiting again 400
ok cancel --job d
ok put again --json-lines --request s <specs
waiting again 450
printf '{"id": "p"}\nnonsense\n' >specs
check_exit 2 "$MUSTER" put again --json-lines --request t <specs
told '0 jobs were put'
waiting again 450
too_long() { head -c $((64 * 1024 * 1024 + 1)) /dev/zero | tr '\0' x; }
{ printf 'a\nb\n' && too_long; } >lines
check_exit 1 "$MUSTER" put long-lines --lines --request u <lines
told 'line 3: it is longer than 64 MiB; 0 jobs were put'
[[ ! -s out ]] || fail "$(cat out)"
printf 'a\nb\nc\n' | ok put long-lines --lines --request u
waiting long-lines 3
check_exit 1 "$MUSTER" put long-lines --lines <lines
told 'line 3: it is longer than 64 MiB; 2 jobs were put'
waiting long-lines 5
# A request is put whole, however many lines that is: each takes less than 2 KiB beside its data.
few() { (ulimit -v 500000 && exec "$@"); }
if [[ $MUSTER != "$checked" ]]; then # with sanitizers there is never so little
    seq 1 200000 | check_exit 3 few "$MUSTER" put many --lines --request v --after nobody
    told "there is no job 'nobody'"
    seq 1 200000 | sed 's/.*/{"data": "&", "after": "nobody"}/' >specs
    check_exit 3 few "$MUSTER" put many --json-lines --request w <specs
    told "there is no job 'nobody'"
fi

# ---- 6
# wrong TEXT ARGUMENT...
wrong() {
    check_exit 2 "$MUSTER" put wrong "${@:2}" </dev/null
    told "$1"
}
wrong 'exclude each other' --lines --json-lines
wrong 'there is DATA' --lines data
# Each option of a job, whatever the help lists; those of the whole call are told apart by name.
mapfile -t options < <("$MUSTER" put --help | sed -n '/^Options:/,/^Common options:/s/^ *--\([a-z-]*\).*/\1/p')
[[ " ${options[*]} " == *' id '*' after-failure '* ]] || fail "the help has no more than ${options[*]}"
for option in "${options[@]}"; do
    case $option in
    lines | json-lines | request | wait) continue ;;
    may-be-missing | track | replace) value=() ;;
    priority | retries | backlog | count) value=(1) ;;
    delay | limit | every | offset | backoff) value=(2s) ;;
    at | from | until) value=(2026-12-24T18:00Z) ;;
    cron) value=(@daily) ;;
    zone) value=(UTC) ;;
    overlap) value=(skip) ;;
    *) value=(x) ;;
    esac
    wrong "each line has its own '$option'" --json-lines "--$option" "${value[@]}"
done
wrong '--id names one job' --lines --id x
wrong '1 to 200 bytes' --lines --request ''
check_exit 3 "$MUSTER" jobs --queue wrong --state waiting

# ---- 7
redis CONFIG SET proto-max-bulk-len 1mb >said
redis CONFIG SET client-query-buffer-limit 1mb >said
large() { head -c "$1" /dev/zero | tr '\0' x; }
{
    printf 'a\nb\n'
    large 1500000
    printf '\nc\n'
    large 1800000
    printf '\n'
} >lines
for how in '' '--request large'; do
    # shellcheck disable=SC2086 # words
    check_exit 1 "$MUSTER" put large --lines $how <lines
    told 'line 3: '
    told 'its data of 1500000 bytes: '
    told '2 jobs were put'
done
sed 's/.*/{"data": "&"}/' lines >specs
check_exit 1 "$MUSTER" put large --json-lines <specs
told 'line 3: '
waiting large 6
for n in {1..190}; do printf '%05510d\n' "$n"; done >lines
ok put many --lines <lines
waiting many 190
redis CONFIG SET proto-max-bulk-len 512mb >said
redis CONFIG SET client-query-buffer-limit 1gb >said

# ---- 8
mkfifo said-one
exec {to}<>said-one
setpriv --pdeathsig KILL "$MUSTER" put talk --lines <said-one >talk.out 2>talk.err {messages}>&- {never}<&- {to}<&- &
# shellcheck disable=SC2034 # lib.sh ends it
pids[talk]=$!
for n in 1 2 3; do
    echo "$n" >&"$to"
    has_ids() { [[ $(wc -l <talk.out) == "$n" ]]; }
    wait_for has_ids
done
exec {to}<&-
check_end talk 0
