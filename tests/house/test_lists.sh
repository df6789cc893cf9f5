#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What is listed in more than one place is the same in all of them. Proves:
#  1. the keys of src/lib/protocol/keys.h are those of doc/keys.md, and those that a check knows the type of
#  2. the fields of a job's record that are sent, written by scripts, or read are those of doc/keys.md; and those that
#     doc/attributes.md says of what each call does to them
#  3. the events that scripts tell of are those of include/muster/job.h
#  4. the settings of include/muster/job.h are those of doc/keys.md, and a script reads each
#  5. each error of include/muster/error.h is explained there, and returned by the library or by a script
#  6. each verb of the command is in a test of what it does, not only of its errors
#  7. each public struct that begins with its size is in the list of src/lib/base/sized.h, and only sized.c reads one
#  8. doc/design.md, or the head of src/lib/worker/worker.h, names each source of src/lib, and each piece of the scripts
#  9. no rule names a state of a process: it asks what the list of states (src/lib/worker/process.h) answers
# 10. each call of a client, blocking or asynchronous, is in the list of tests/support/blocking_calls.c or tried in
#     tests/live/test_rights_async.c; and each that C++ makes, in tests/cpp/test_rights.cpp (Python's and Node's tests look themselves)
# 11. a source that drops the answer of a call on Redis is in doc/design.md ("Errors that are passed over")
# 12. no deadline is a sum with the clock that may overflow: clock_in_ms() makes them all
# 13. a source that sends a signal is in doc/design.md ("Signals that are sent")
# 14. no source of the library asks the locale that its program has set: src/lib/base/c_locale.h has what reads the same in all
# 15. a client that does not understand what a script answers says so: client_understand() hears each
# 16. lists that differ, and lists that are not found, are refused
# shellcheck disable=SC2016 # backquotes are Markdown's
set -euo pipefail
# shellcheck source=tests/house/lib.sh
. "$(dirname "$0")/lib.sh"
keys=$src/doc/keys.md

# same ONE OTHER: files of lines, neither of them empty
same() {
    [[ -s $1 && -s $2 ]] || { echo "one of ${1##*/} and ${2##*/} is empty: the list is not found any more" && return 1; }
    diff -u --label "${1##*/}" --label "${2##*/}" <(sort -u "$1") <(sort -u "$2")
}

# nothing COMMAND...: it finds nothing
nothing() { ! "$@"; }

# section HEADING, a file on standard input: what stands below the heading, up to the next one
section() { awk -v heading="$1" '/^#/ { inside = $0 == heading } inside'; }

# In the first column of a table: what stands in backquotes.
first_column() { sed -nE 's/^\| *([^|]*[^| ]) *\|.*/\1/p' | grep -oE '`[^`]+`' | tr -d '`'; }

# ---- 1: without the names that follow them
sed -nE 's/^ *X\(KEY_[A-Z]+, *"([a-z]+):?"\).*/\1/p' "$src/src/lib/protocol/keys.h" >"$dir/keys.h"
first_column <"$keys" | sed -nE 's/^P:([a-z]+).*/\1/p' >"$dir/keys.md"
passes 'lists: keys' same "$dir/keys.h" "$dir/keys.md"
sed -nE 's/^ *X\((KEY_[A-Z]+), .*/\1/p' "$src/src/lib/protocol/keys.h" >"$dir/keys.h"
grep -ohE '^ *\[KEY_[A-Z]+\] = \{' "$src/src/lib/client/check_keys.c" | grep -oE 'KEY_[A-Z]+' >"$dir/check_keys.c"
passes 'lists: keys, and their types in check_keys.c' same "$dir/keys.h" "$dir/check_keys.c"

# ---- 2: `delay` and `at` are no fields, but arguments of put
{
    grep -ohE "Jobs\.set\([a-z]+, '[a-z_]+'" -r "$src/lua" | sed -E "s/.*'(.*)'/\1/"
    grep -ohE 'add_(bytes|number|given)\(&?f(ields)?, "[a-z_]+"' "$src/src/lib/protocol/job_put.c" | sed -E 's/.*"(.*)"/\1/' |
        grep -vxE "delay|at"
    grep -ohE 'say(_given)?\(command, "[a-z_]+"' "$src"/src/lib/{client/job_cron,protocol/cron_spec}.c | sed -E 's/.*"(.*)"/\1/' |
        grep -vxE "at|was_.*"
    sed -nE 's/^ *\{"([a-z_]+)", FIELD_.*/\1/p' "$src/src/lib/protocol/job_record.c"
} >"$dir/fields"
section "### A job's record" <"$keys" | first_column >"$dir/keys.md"
passes 'lists: fields of a record' same "$dir/fields" "$dir/keys.md"
for heading in '## A job' '## A job with a schedule' '## A job at an interval'; do
    section "$heading" <"$src/doc/attributes.md" | first_column | grep -v '^('
done >"$dir/attributes.md"
passes 'lists: fields of a record, and what calls do to them' same "$dir/attributes.md" "$dir/keys.md"

# ---- 3: every word within a call that tells of one, but for texts and fields
grep -ohE "(Jobs|[Bb]atches)\.(log_event|publish_event|arrive|wait|give_back|schedule|ready|depend)\(.*" -r "$src/lua" |
    grep -oE "'[a-z-]+'" | tr -d "'" | grep -vxE 'data|due' >"$dir/lua"
sed -n '/^ \* Something happened to a job/,/^ \*   worker/p' "$src/include/muster/job.h" | grep -oE '"[a-z-]+"' |
    tr -d '"' >"$dir/job.h"
passes 'lists: events' same "$dir/lua" "$dir/job.h"

# ---- 4
sed -nE 's/^ *X\(([a-z_]+), [0-9]+, [0-9]+, [0-9]+, .*/\1/p' "$src/include/muster/job.h" >"$dir/job.h"
section "### A queue's settings and counters" <"$keys" | first_column | sed -n '/^broadcast$/,$p' >"$dir/keys.md"
passes 'lists: settings' same "$dir/job.h" "$dir/keys.md"
while read -r setting; do
    if grep -qrE "SETTING_${setting^^}\b|'$setting'" "$src/lua"; then
        echo "$setting"
    fi
done <"$dir/job.h" >"$dir/read"
passes 'lists: settings, and those that a script reads' same "$dir/job.h" "$dir/read"

# ---- 5
sed -nE 's/^ *X\((E_[A-Z_]+), -[0-9]+,.*/\1/p' "$src/include/muster/error.h" >"$dir/error.h"
grep -ohrE '\b(MUSTER_)?E_[A-Z_]+\b' "$src/src/lib" "$src/lua" | sed 's/^MUSTER_//' | sort -u >"$dir/used"
sed -nE 's/^ \*   (E_[A-Z_]+) .*/\1/p' "$src/include/muster/error.h" >"$dir/explained"
passes 'lists: errors, and those that error.h explains' same "$dir/error.h" "$dir/explained"
comm -12 <(sort "$dir/error.h") "$dir/used" >"$dir/returned"
passes 'lists: errors, and those that something returns' same "$dir/error.h" "$dir/returned"

# ---- 6: as a word after "$MUSTER" in some test beside those that walk all verbs
"$MUSTER" help | sed -nE '/^Commands:$/,/^$/ s/^  ([a-z-]+) .*/\1/p' | grep -vx help >"$dir/verbs"
find "$src/tests/cli" -name 'test_*.sh' -not -name test_usage.sh -not -name test_errors.sh -exec sed 's/#.*//' {} + |
    grep -oE '(\$MUSTER"?|^ *ok) [^|]*' | grep -oE '[a-z-]+' | grep -xF -f "$dir/verbs" >"$dir/tested"
passes 'lists: verbs, and those that tests/cli tests' same "$dir/verbs" "$dir/tested"

# ---- 7
cat "$src"/include/muster/*.h | awk '/^struct [a-z_]+ \{$/ { name = $2 } /^    size_t size;/ { print name }' >"$dir/headers"
sed -nE 's/^ *X\(SIZED_[A-Z_]+, (muster_[a-z_]+), .*/\1/p' "$src/src/lib/base/sized.h" >"$dir/sized.h"
passes 'lists: structs that begin with their size' same "$dir/headers" "$dir/sized.h"
read_elsewhere() { ! grep -rnE 'memcpy\(.*(->|\.)size\b' "$1" --include='*.c'; }
passes 'lists: nothing reads the size of a struct but sized.c' read_elsewhere "$src/src/lib"
printf '%s\n' '    memcpy(&o, options, options->size < sizeof o ? options->size : sizeof o);' >"$dir/reads.c"
finds 'lists: a size that is read elsewhere' 'reads.c' read_elsewhere "$dir"

# ---- 8: `job*.c` names all of these; a piece of another (--- @within), and the parts of `jobs` and `job_put`, need no name
grep -ohE '[a-z_]+\*?\.c\b' "$src/doc/design.md" "$src/src/lib/worker/worker.h" | sort -u | sed 's/\*/.*/; s/\.c$/\\.c/' >"$dir/named"
unnamed() { find "$1" -name '*.c' -printf '%f\n' | grep -vxf "$dir/named"; }
passes 'lists: sources that design.md does not name' nothing unnamed "$src/src/lib"
sed -n '/^Scripts share pieces/,/^$/p' "$src/doc/design.md" | grep -oE '`[a-z_]+`' | tr -d '`' >"$dir/named_pieces"
unnamed_pieces() {
    { grep -LE '^--- @within' -r "$1" --include='*.lua' || true; } | sed -E 's|.*/([a-z_]+)\.lua$|\1|' | grep -vE '^(job_.+|parents)$' |
        grep -vxFf "$dir/named_pieces"
}
passes 'lists: pieces of scripts that design.md does not name' nothing unnamed_pieces "$src/lua/include"
touch "$dir/nobody_knows.c" "$dir/nobody_knows.lua"
finds 'lists: a source that is not named' 'nobody_knows.c' nothing unnamed "$dir"
finds 'lists: a piece that is not named' 'nobody_knows' nothing unnamed_pieces "$dir"

# ---- 9: but where a process is moved into one, or made
names_states() {
    ! grep -nE "\b($states)\b|->state [<>=!]=? *PROCESS_|processes\.(list|count)\b" -r "$1" --include='*.[ch]' |
        grep -vE '/process\.[ch]:|process_move\([^;]*, PROCESS_[A-Z]+\);'
}
states=$(sed -nE 's/^ *X\((PROCESS_[A-Z]+), .*/\1/p' "$src/src/lib/worker/process.h" | paste -sd'|')
passes 'lists: rules that name a state of a process' names_states "$src/src/lib"
printf '%s\n' '    if (p->state == PROCESS_RUNNING)' '    process_move(p, PROCESS_ENDED);' >"$dir/names.c"
finds 'lists: a rule that names one' 'names.c:1' names_states "$dir"

# ---- 10: an interrupt comes from elsewhere
grep -ohE '^MUSTER_API int muster_[a-z_]+\(struct muster_client \*c\b' "$src"/include/muster/*.h | grep -oE 'muster_[a-z_]+\(' |
    tr -d '(' | grep -vE '_interrupt(_take_back)?$' >"$dir/headers"
sed -nE 's/^ *X\((muster_[a-z_]+), .*/\1/p' "$src/tests/support/blocking_calls.c" >"$dir/tried"
passes 'lists: calls that block, and those that are tried with each refusal' same "$dir/headers" "$dir/tried"
cp "$dir/headers" "$dir/calls"
grep -ohE '^MUSTER_API int muster_async_[a-z_]+\(struct muster_async \*a\b' "$src"/include/muster/async.h | grep -oE 'muster_[a-z_]+\(' |
    tr -d '(' | grep -vxE 'muster_async_(fd|wait)' >"$dir/headers"
sed -nE 's/^ *X\([a-z_]+, (muster_async_[a-z_]+), .*/\1/p' "$src/tests/live/test_rights_async.c" >"$dir/tried"
passes 'lists: asynchronous calls, and those that are tried without rights' same "$dir/headers" "$dir/tried"
cat "$dir/headers" >>"$dir/calls"
grep -ohE 'muster_[a-z_]+\([^)]' "$src"/include/muster/*.hpp | sed 's/(.*//' | grep -xFf "$dir/calls" >"$dir/hpp"
grep -oE '^ *(CALL|LATER)\("muster_[a-z_]+' "$src/tests/cpp/test_rights.cpp" | sed 's/.*"//' >"$dir/tried"
passes 'lists: calls that C++ makes, and those that are tried without rights' same "$dir/hpp" "$dir/tried"

# ---- 11: other calls of these names ask nothing of Redis
section '### Errors that are passed over' <"$src/doc/design.md" | grep '^|' | cut -d'|' -f2 | grep -oE '`[a-z_]+\.[a-z]+`' | tr -d '`' >"$dir/forgiving"
drops() { grep -rlE '(\(void\)|static_cast<void>\()!?((link|client|unheard|muster|known)_[a-z_]+|list|sendto)\(' "$1" --include='*.[ch]' --include='*.hpp'; }
asks_nothing='progress.c status.c'
unlisted() { drops "$1" | sed 's|.*/||' | grep -vxF -f "$dir/forgiving" -f <(tr ' ' '\n' <<<"$asks_nothing"); }
passes 'lists: sources that drop the answer of a call, and are not told of' nothing unlisted "$src/src/lib"
passes 'lists: sources of the command that do' nothing unlisted "$src/src/cli"
passes 'lists: headers that do' nothing unlisted "$src/include"
printf '%s\n' '    (void)!client_ask(c, &reply, words);' >"$dir/drops.c"
finds 'lists: one that is not told of' 'drops.c' nothing unlisted "$dir"
there() { while read -r name; do find "$src/src" "$src/include" "$src/bindings" -name "$name" | grep -q . || echo "$name"; done <"$dir/forgiving"; }
passes 'lists: sources that are told of are there' nothing grep . <(there)

# ---- 12
sums() { grep -rnE '\bclock_ms\(\) \+|\b(now|began|began_at|made|looked_at)_ms \+ [a-z(]|\bnow \+ [a-z(]' "$1" --include='*.c' | grep -vE '/base/(clock|cron|zone|civil)[a-z_]*\.c:'; }
passes 'lists: deadlines that are a sum with the clock' nothing sums "$src/src"
printf '%s\n' '    until_ms = clock_ms() + wait_ms;' '    until_ms = now_ms + PAUSE_MS;' '    until_ms = now_ms + wait_ms;' >"$dir/sums.c"
finds 'lists: one that is' 'sums.c:1' nothing sums "$dir"
finds 'lists: one with a time of before' 'sums.c:3' nothing sums "$dir"

# ---- 13
section '### Signals that are sent' <"$src/doc/design.md" | first_column >"$dir/told"
senders() { grep -rlE '\b(kill|killpg|raise|pthread_kill|tgkill|sigqueue|pidfd_send_signal)\(' "$@" --include='*.[ch]' --include='*.hpp' | sed 's|.*/||'; }
senders "$src/src" "$src/include" >"$dir/senders"
passes 'lists: sources that send a signal' same "$dir/told" "$dir/senders"
printf '%s\n' '    kill(pid, SIGKILL);' >"$dir/kills.c"
senders "$src/src" "$dir/kills.c" >"$dir/senders"
finds 'lists: one that is not told of' '+kills.c' same "$dir/told" "$dir/senders"

# ---- 14
asks_locale() { grep -rnE '\b(strto(d|f|ld)|atof|str(n?case(cmp|str)|coll|xfrm)|is(alnum|alpha|blank|digit|graph|lower|print|punct|space|upper)|to(lower|upper))\(|%[0-9]*l[efg]' "$1" --include='*.[ch]'; }
passes 'lists: sources that ask the locale' nothing asks_locale "$src/src/lib"
printf '%s\n' '    n = strtod(text, NULL);' '    return strncasecmp(a, b, n);' '    while (isspace(*at))' '    sscanf(at, "%lf", &n);' >"$dir/locale.c"
for line in 1 2 3 4; do
    finds 'lists: one that does' "locale.c:$line" nothing asks_locale "$dir"
done

# ---- 15
unsaid() { grep -rnE '\berr = (err == MUSTER_OK \? )?script_[a-z_]+\(' "$1" --include='*.c'; }
passes 'lists: answers of scripts that are not understood without a word' nothing unsaid "$src/src/lib/client"
printf '%s\n' '    err = client_understand(c, script_tidied(reply, tidied));' '    err = script_tidied(reply, tidied);' >"$dir/unsaid.c"
finds 'lists: one that is' 'unsaid.c:2' nothing unsaid "$dir"

# ---- 16
printf '%s\n' a b >"$dir/one"
printf '%s\n' b c >"$dir/other"
: >"$dir/nothing"
passes 'lists: the same list twice is refused' same "$dir/one" "$dir/one"
finds 'lists: other ones' '+c' same "$dir/one" "$dir/other"
finds 'lists: no list' 'is not found any more' same "$dir/one" "$dir/nothing"
