#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The tables of doc/keys.md can be read. Proves:
#  1. no cell is wider than 120 bytes: a longer explanation stands below its table
#  2. a wider cell is refused
set -euo pipefail
# shellcheck source=tests/house/lib.sh
. "$(dirname "$0")/lib.sh"

# narrow FILE: its cells are not too wide
narrow() {
    awk -F'|' '
        /^\|/ {
            for (i = 2; i < NF; i++) {
                gsub(/^ +| +$/, "", $i)
                if (length($i) > 120) {
                    printf "%s:%d: a cell of %d bytes: %.40s...\n", FILENAME, FNR, length($i), $i
                    bad = 1
                }
            }
        }
        END { exit bad }' "$1"
}

passes 'keys.md: a cell is too wide' narrow "$src/doc/keys.md"

{
    printf '| key | content |\n|---|---|\n'
    printf '| a | %0120d |\n' 1
} >"$dir/table.md"
passes 'keys.md: a cell of 120 bytes is refused' narrow "$dir/table.md"
printf '| b | %0121d |\n' 1 >>"$dir/table.md"
finds 'keys.md: a cell of 121 bytes' 'table.md:4: a cell of 121 bytes' narrow "$dir/table.md"
