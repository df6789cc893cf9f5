#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The manual pages that the build has made. Proves:
#  1. muster(1), a page for each verb with all its options, a page for each public function, libmuster(3), which names
#     them all, and muster-keys(7) with every key
#  2. each has a name, a synopsis if there is something to call, and its text: the comment of a call, the table's words
#  3. mandoc and man have nothing to say against any, as far as they are installed
#  4. none of it is kept in the repository
set -euo pipefail
# shellcheck source=tests/house/lib.sh
. "$(dirname "$0")/lib.sh"
man=$MUSTER_BUILD/man
# A page as plain words, without its roff.
words() { sed -E 's/\\f[A-Z]//g; s/\\-/-/g; s/\\\(aq/'"'"'/g; s/\\e/\\/g; s/\\&//g' "$1"; }

# ---- 1
"$MUSTER" help | sed -nE '/^Commands:$/,/^$/ s/^  ([a-z-]+) .*/muster-\1.1/p' | sort >"$dir/verbs"
find "$man/man1" -name 'muster-*.1' -printf '%f\n' | sort >"$dir/pages"
diff "$dir/verbs" "$dir/pages" >"$dir/diff" || fail "man: verbs (<) and pages (>): $(cat "$dir/diff")"
while read -r page; do
    verb=${page#muster-} verb=${verb%.1}
    words "$man/man1/$page" | sed -nE 's/^(-., )?(--[a-z-]+)( .*|$)/\2/p' | sort -u >"$dir/options"
    "$MUSTER" "$verb" --help | sed -nE '/^Options:/,/^Common options:/ s/^ .{0,5}(--[a-z-]+).*/\1/p' | sort -u |
        comm -23 - "$dir/options" | sed "s/^/$page lacks /"
done <"$dir/verbs" >"$dir/lacks"
[[ ! -s $dir/lacks ]] || fail "man: $(cat "$dir/lacks")"
grep -hoE '^MUSTER_API .*\(' "$src"/include/muster/*.h | grep -oE 'muster_[a-z_]+\($' | tr -d '(' | sort >"$dir/calls"
[[ -s $dir/calls ]] || fail 'man: no call is found in the headers'
# lacks PAGE FILE NAMES: the page does not have these, which the file has
lacks() { comm -13 <(sort -u "$2") <(sort -u "$3") | while read -r name; do fail "man: $1 lacks $name"; done; }
while read -r call; do
    [[ -s $man/man3/$call.3 ]] || fail "man: there is no $call(3)"
done <"$dir/calls"
sed -nE 's/^\.BR (muster_[a-z_]+) \(3\).*/\1/p' "$man/man3/libmuster.3" >"$dir/named"
lacks 'libmuster(3)' "$dir/named" "$dir/calls"
words "$man/man7/muster-keys.7" | sed -nE 's/^(P:[a-z]+)(:.*)?$/\1/p' >"$dir/named"
grep -oE '^\| `P:[a-z]+' "$src/doc/keys.md" | tr -d '|` ' >"$dir/keys"
[[ -s $dir/keys ]] || fail 'man: no key is found in doc/keys.md'
lacks 'muster-keys(7)' "$dir/named" "$dir/keys"

# ---- 2
has_all() { # PATTERN PAGE...: fails, and names the pages without a line of it
    local without
    without=$(grep -LE -- "$@" || true)
    [[ -z $without ]] || { echo "$without" && return 1; }
}
passes 'man: pages without a heading for their name' has_all '^\.SH NAME$' "$man"/man?/*.[137]
passes 'man: pages without a name' has_all '^.+ \\- .{3,}' "$man"/man?/*.[137]
passes 'man: pages without a synopsis' has_all '^\.SH SYNOPSIS$' "$man"/man3/*.3
passes 'man: pages without text' awk '
    FNR == 1 { is_text = 0 }
    /^\.SH/ { is_text = /^\.SH DESCRIPTION/ }
    is_text && !/^\./ { has_text[FILENAME] = 1 }
    END { for (i = 1; i < ARGC; i++) if (!has_text[ARGV[i]]) { print ARGV[i]; bad = 1 } exit bad }' "$man"/man3/*.3
words "$man/man3/muster_lease_take.3" | tr '\n' ' ' >"$dir/page"
for text in 'const char *queue' 'counted by Redis' 'MUSTER_E_NOT_FOUND there was no task' 'struct muster_process_info {'; do
    grep -qF -- "$text" "$dir/page" || fail "man: muster_lease_take(3) lacks: $text"
done
[[ $(readlink "$man/man3/muster_queue_resume.3") == muster_queue_pause.3 ]] || fail 'man: a second call is no link'

# ---- 3
missing=()
if command -v mandoc >"$dir/out"; then
    # A line of code may be longer than 80 bytes.
    mandoc -Tlint -W warning "$man"/man?/*.[137] >"$dir/lint" || true
    [[ ! -s $dir/lint ]] || fail "man: mandoc says: $(head "$dir/lint")"
    printf '.TH X 1\n.SH NAME\n.XX\n' >"$dir/wrong.1"
    mandoc -Tlint -W warning "$dir/wrong.1" >"$dir/lint" || true
    [[ -s $dir/lint ]] || fail 'man: mandoc finds nothing in a wrong page'
else
    missing+=(mandoc)
fi
if command -v man >"$dir/out" && command -v groff >"$dir/out"; then
    # One groff for all: man starts several programs a page, so it shows one of each kind.
    groff -mandoc -t -w mac -z -Tutf8 "$man"/man?/*.[137] >"$dir/warnings" 2>&1 || true
    for page in "$man"/man1/muster.1 "$man/man1/muster-work.1" "$man/man3/muster_lease_take.3" "$man/man7/muster-keys.7"; do
        LC_ALL=C.UTF-8 MANWIDTH=100 man --warnings -l "$page" 2>&1 >"$dir/shown" | sed "s,^,${page##*/}: ,"
    done >>"$dir/warnings"
    [[ ! -s $dir/warnings ]] || fail "man: man says: $(head "$dir/warnings")"
else
    missing+=('man and groff')
fi
if ((${#missing[@]})); then
    echo "not tried, because it is not installed: ${missing[*]}"
fi

# ---- 4
find "$src" \( -path "$src/build" -o -path "$src/tests/bench/peers/installed" \) -prune -o \( -name '*.1' -o -name '*.3' -o -name '*.7' \) -print | grep -v '/\.' >"$dir/kept" || true
[[ ! -s $dir/kept ]] || fail "man: kept in the repository: $(cat "$dir/kept")"
