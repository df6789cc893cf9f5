#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# doc/model/share.pml, the model of a queue that shares evenly, searched by Spin to the end. Proves:
#  1. from any start, and after any faults, all properties of doc/model/README.md hold
#  2. each rule of its table that is broken is found, as the property that stands there; the model has no other rule
# Without spin it is skipped.
set -euo pipefail
# shellcheck source=tests/house/lib.sh
. "$(dirname "$0")/lib.sh"
model=$src/doc/model

if ! spin -V 2>"$dir/out" | grep -q '^Spin Version'; then
    echo 'skipped: spin is missing (Debian package spin)'
    exit 77
fi
start=(-DTASKS=6) faults=(-DTASKS=3 -DFAULTS)

# search DIRECTORY -On OPTION...: goes through all states; what it found is in DIRECTORY/out
search() {
    local where=$dir/$1 optimize=$2
    shift 2
    mkdir "$where"
    cp "$model/share.pml" "$where"
    (cd "$where" && spin "$@" -a share.pml && gcc "$optimize" -w -DSAFETY -DNOREDUCE -DVECTORSZ=2048 -DCOLLAPSE -DMEMLIM=1500 \
        -o pan pan.c && ./pan -m1000000 -w22) >"$where/out" 2>&1 || echo "status $?" >>"$where/out"
}

# broken: the rules of the table, each with the property, as FLOOR needless_move
# shellcheck disable=SC2016 # these are the backquotes of Markdown
broken() { sed -nE 's/^\| `([A-Z]+)` \|.*\| `([a-z_]+)` \|$/\1 \2/p' "$model/README.md"; }

# A search of a broken rule: where there are faults, or from any start.
search_broken() {
    case $1 in
    BACK | ENTRY | LAPSE | LIFE | SWEEP) search "$1" -O0 "${faults[@]}" -DBREAK_"$1" ;;
    *) search "$1" -O0 "${start[@]}" -DBREAK_"$1" ;;
    esac
}

# ---- 1: beside the others, because it is the longest
search faults -O2 "${faults[@]}" &
longest=$!
search start -O2 "${start[@]}"

# ---- 2
broken | cut -d ' ' -f 1 | sort >"$dir/listed"
grep -oE 'BREAK_[A-Z]+' "$model/share.pml" | sed 's/BREAK_//' | sort -u >"$dir/rules"
diff "$dir/listed" "$dir/rules" >"$dir/diff" || fail "model: README.md (<) and share.pml (>): $(cat "$dir/diff")"
(($(wc -l <"$dir/rules") >= 3)) || fail 'model: fewer than three rules can be broken'
while read -r rule property; do
    search_broken "$rule"
    if ! grep -qF "assertion violated  !($property)" "$dir/$rule/out"; then
        cat "$dir/$rule/out"
        fail "model: without the rule $rule it is not found that something is $property"
    fi
done < <(broken)

wait "$longest"
for name in start faults; do
    if ! grep -q 'errors: 0$' "$dir/$name/out" || grep -qE 'Search not completed|max search depth too small' "$dir/$name/out"; then
        cat "$dir/$name/out"
        fail "model: $name: a rule is wrong, or the search has no end: doc/model/README.md says how to see why"
    fi
    sed -nE "s/^ *([0-9]+) states, stored.*/$name: \1 states/p" "$dir/$name/out"
done
