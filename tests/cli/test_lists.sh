#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What is listed in more than one place is the same in all of them:
#   keys      src/lib/protocol/keys.h has those of doc/keys.md
#   scripts   lua/ has those of the table in doc/design.md
#   fields    those of a job's record that are sent, written by scripts, or read are those of doc/keys.md
#   events    those that scripts tell of are those of include/muster/job.h
#   settings  each of include/muster/job.h stands in doc/keys.md
set -euo pipefail
export LC_ALL=C

src=$MUSTER_SOURCE
keys=$src/doc/keys.md
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0

same() { # WHAT ONE OTHER: files of lines, neither of them empty
    sort -u "$2" >"$dir/one"
    sort -u "$3" >"$dir/other"
    if [[ ! -s $dir/one ]] || ! diff -u --label "$2" --label "$3" "$dir/one" "$dir/other"; then
        echo "FAILED $1: the lists differ, or are not found any more"
        failures=$((failures + 1))
    fi
}

section() { # HEADING, a file on standard input: what stands below the heading, up to the next one
    awk -v heading="$1" '/^#/ { inside = $0 == heading } inside'
}

# In the first column of a table: what stands in backquotes.
first_column() { sed -nE 's/^\| *([^|]*[^| ]) *\|.*/\1/p' | grep -oE '`[^`]+`' | tr -d '`'; }

# ---- keys: without the names that follow them; wake: and events are channels

sed -nE 's/^ *X\(KEY_[A-Z]+, *"([a-z]+):?"\).*/\1/p' "$src/src/lib/protocol/keys.h" >"$dir/keys.h"
first_column <"$keys" | sed -nE 's/^P:([a-z]+).*/\1/p' >"$dir/keys.md"
same keys "$dir/keys.h" "$dir/keys.md"

# ---- scripts

find "$src/lua" -name '*.lua' -not -path '*/include/*' -exec basename -as .lua {} + | sed 's/^check_.*/check_*/' >"$dir/lua"
section '## Layers' <"$src/doc/design.md" | first_column >"$dir/design.md"
same scripts "$dir/lua" "$dir/design.md"

# ---- fields of a job's record; `delay` and `new_retries` are no fields, but arguments of put

{
    grep -ohE "Jobs\.set\([a-z]+, '[a-z_]+'" -r "$src/lua" | sed -E "s/.*'(.*)'/\1/"
    grep -ohE 'add_(bytes|number|given)\(&?f(ields)?, "[a-z_]+"' "$src/src/lib/client/job.c" | sed -E 's/.*"(.*)"/\1/' |
        grep -vxE 'delay|new_retries'
    sed -nE 's/^ *\{"([a-z_]+)", FIELD_.*/\1/p' "$src/src/lib/protocol/job_record.c"
} >"$dir/fields"
section "### A job's record" <"$keys" | first_column >"$dir/keys.md"
same fields "$dir/fields" "$dir/keys.md"

# ---- events: every word within a call that tells of one, but for texts and fields

grep -ohE "Jobs\.(log_event|publish_event|arrive|wait|give_back|schedule|ready|depend)\(.*" -r "$src/lua" |
    grep -oE "'[a-z-]+'" | tr -d "'" | grep -vxE 'data|due' >"$dir/lua"
sed -n '/^ \* Something happened to a job/,/^ \*   worker/p' "$src/include/muster/job.h" | grep -oE '"[a-z-]+"' |
    tr -d '"' >"$dir/job.h"
same events "$dir/lua" "$dir/job.h"

# ---- settings

sed -nE 's/^ *X\(([a-z_]+), [0-9]+, [0-9]+, [0-9]+, .*/\1/p' "$src/include/muster/job.h" >"$dir/job.h"
section "### A queue's settings and counters" <"$keys" | first_column | sed -n '/^broadcast$/,$p' >"$dir/keys.md"
same settings "$dir/job.h" "$dir/keys.md"

((failures == 0))
