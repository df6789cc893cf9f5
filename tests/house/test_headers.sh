#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The public headers, and what was built from them. Proves:
#  1. libmuster.so exports what the public headers declare, each with the version of the interface, and nothing else;
#     each prototype there is marked MUSTER_API
#  2. each public header compiles alone, as C11 and as C++
#  3. each public function has a comment above it, or above the group that it stands in
set -euo pipefail
# shellcheck source=tests/house/lib.sh
. "$(dirname "$0")/lib.sh"
headers=("$src"/include/muster/*.h)

# ---- 1
for header in "${headers[@]}"; do
    without_comments "$header" | tr '\n' ' ' | grep -oE 'MUSTER_API [^;]*;' | grep -oE 'muster_[a-z_]+ ?\(' | tr -d ' (' || true
done | sort >"$dir/declared"
nm -D --defined-only "$MUSTER_BUILD/libmuster.so" | awk '$2 != "A" { sub(/@@MUSTER_[0-9]+$/, "", $3); print $3 }' | sort >"$dir/exported"
[[ -s $dir/declared ]] || fail "exports: no MUSTER_API function found in the headers"
diff -u "$dir/declared" "$dir/exported" || fail "exports: declared (-) and exported (+) differ"

unmarked() { grep -nE '^[a-z].*\bmuster_[a-z_]+\(.*[,;(]$' "$@" | grep -vE ':(typedef|static) ' && return 1 || return 0; }
passes 'exports: a prototype without MUSTER_API' unmarked "${headers[@]}"
printf '%s\n' 'int muster_unmarked(void);' >"$dir/unmarked.h"
finds 'exports: a prototype without MUSTER_API' 'muster_unmarked' unmarked "$dir/unmarked.h"

# ---- 2
for header in "${headers[@]}"; do
    include="#include <muster/$(basename "$header")>"
    unit="$include"$'\nextern int declares_something;' # ISO C wants that of each unit, and export.h has only macros
    flags=(-Wall -Wextra -Wpedantic -Werror -fsyntax-only -I "$src/include")
    echo "$unit" | "${CC:-cc}" -std=c11 "${flags[@]}" -x c - || fail "headers: as C11: $include"
    if command -v g++ >/dev/null; then
        echo "$unit" | g++ -std=c++11 "${flags[@]}" -x c++ - || fail "headers: as C++11: $include"
    fi
done

# ---- 3: above a prototype ends a comment, or another prototype that has one
uncommented() {
    awk '
        FNR == 1 { ok = inside = 0 }
        /^MUSTER_API/ && !ok { print FILENAME ":" FNR ": no comment above: " $0; bad = 1 }
        /^MUSTER_API/ { inside = 1 }
        inside { if (/;/) { inside = 0; ok = 1 } next }
        { ok = /\*\/$/ }
        END { exit bad }' "$@"
}
passes 'comments: a public function has none' uncommented "${headers[@]}"
printf '%s\n' '/* A comment. */' 'MUSTER_API int one(void);' 'MUSTER_API int two(int a,' '                   int b);' >"$dir/a.h"
passes 'comments: a group that has one is refused' uncommented "$dir/a.h"
printf '%s\n' '' 'MUSTER_API int three(void);' >>"$dir/a.h"
finds 'comments: a function without one' 'a.h:6: no comment above' uncommented "$dir/a.h"
