#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What the library promises of its shape, checked on the sources and on what was built:
#   exports     libmuster.so exports what the public headers declare, and nothing else
#   headers     each public header compiles alone, as C11 and as C++
#   comments    each public function has a comment above it, or above the group that it stands in
#   layers      hiredis is called in two files; the command includes nothing of the library but its public headers
#   keys        nothing sends the command KEYS
#   lua         the build refuses a script that breaks its contract, and says why
set -euo pipefail
export LC_ALL=C

src=$MUSTER_SOURCE
headers=("$src"/include/muster/*.h)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0

fail() {
    printf 'FAILED %s\n' "$*"
    failures=$((failures + 1))
}

# Program text without its comments; the preprocessor knows where they are, and includes nothing here.
without_comments() { "${CC:-cc}" -w -fpreprocessed -dD -E -P -x c "$1"; }

# ---- exports

for header in "${headers[@]}"; do
    without_comments "$header" | tr '\n' ' ' | grep -oE 'MUSTER_API [^;]*;' | grep -oE 'muster_[a-z_]+ ?\(' | tr -d ' (' || true
done | sort >"$dir/declared"
nm -D --defined-only "$MUSTER_BUILD/libmuster.so" | awk '{ print $3 }' | sort >"$dir/exported"
[[ -s $dir/declared ]] || fail "exports: no MUSTER_API function found in the headers"
diff -u "$dir/declared" "$dir/exported" || fail "exports: declared (-) and exported (+) differ"

# ---- headers

for header in "${headers[@]}"; do
    include="#include <muster/$(basename "$header")>"
    unit="$include"$'\nextern int declares_something;' # ISO C wants that of each unit, and export.h has only macros
    flags=(-Wall -Wextra -Wpedantic -Werror -fsyntax-only -I "$src/include")
    echo "$unit" | "${CC:-cc}" -std=c11 "${flags[@]}" -x c - || fail "headers: as C11: $include"
    if command -v g++ >/dev/null; then
        echo "$unit" | g++ -std=c++11 "${flags[@]}" -x c++ - || fail "headers: as C++11: $include"
    fi
done

# ---- comments: above a prototype ends a comment, or another prototype that has one

for header in "${headers[@]}"; do
    awk -v name="$(basename "$header")" '
        /^MUSTER_API/ && !ok { print name ":" FNR ": no comment above: " $0; bad = 1 }
        /^MUSTER_API/ { inside = 1 }
        inside { if (/;/) { inside = 0; ok = 1 } next }
        { ok = /\*\/$/ }
        END { exit bad }' "$header" || fail "comments: $header"
done

# ---- layers

for file in "$src"/src/*/*.[ch] "$src"/src/lib/*/*.[ch]; do
    if without_comments "$file" | grep -E '\bredis[A-Z][A-Za-z]* ?\(' >"$dir/hits"; then
        echo "${file#"$src/"}"
    fi
done >"$dir/callers"
printf 'src/lib/redis/%s\n' link_call.c link_connect.c link_io.c link_state.c redis.c redis_listen.c >"$dir/may_call"
diff -u "$dir/may_call" "$dir/callers" || fail "layers: hiredis is called elsewhere (+) than in its own files"

for file in "$src"/src/cli/*.[ch]; do
    while read -r include; do
        [[ $include != */* && -e $src/src/cli/$include ]] || fail "layers: ${file#"$src/"} includes $include"
    done < <(sed -nE 's/^ *# *include *"([^"]*)".*/\1/p' "$file")
    ! grep -nE '^ *# *include *<(hiredis|event)' "$file" || fail "layers: ${file#"$src/"} goes round the library"
done

# ---- keys: as a quoted word of a script or program, or as a word after redis-cli

where=("$src"/{src,lua,examples,scripts,tests})
! grep -rniE "[\"']keys[\"' ]|redis-cli.* keys( |$)" "${where[@]}" --include='*.[ch]' --include='*.lua' --include='*.sh' \
    --exclude="$(basename "${BASH_SOURCE[0]}")" || fail "keys: the command KEYS stops Redis for all; page with SCAN"

# ---- lua: one broken contract at a time

embed() {
    cmake -DLUA_DIR="$dir/lua" -DOUT_DIR="$dir/out" -DERRORS="$src/include/muster/error.h" \
        -DKEYS="$src/src/lib/protocol/keys.h" -DSETTINGS="$src/include/muster/job.h" \
        -P "$src/cmake/lua.cmake" >"$dir/message" 2>&1
}

refuses() { # WHAT THE-MESSAGE-HOLDS, a script body on standard input
    rm -rf "$dir/lua"
    cp -r "$src/lua" "$dir/lua"
    cat >"$dir/lua/broken.lua"
    if embed; then
        fail "lua: $1: embedded all the same"
    elif ! tr -s ' \n' ' ' <"$dir/message" | grep -F "$2" >"$dir/hits"; then # cmake wraps its messages
        cat "$dir/message"
        fail "lua: $1: not the message that was expected: $2"
    fi
}

header='--[[
  broken: for the test.
    KEYS[1] the root     ARGV[1] a queue
]]'

cp -r "$src/lua" "$dir/lua"
printf '%s\n' "$header" "return redis.call('LLEN', KEYS[1] .. 'queues:' .. ARGV[1])" >"$dir/lua/broken.lua"
embed || { cat "$dir/message" && fail "lua: a sound script is refused"; }
[[ -s $dir/out/protocol/lua_scripts.c ]] || fail "lua: nothing was embedded"

printf '%s\n' "$header" "return KEYS[1] .. ARGV[1] .. ARGV[2]" |
    refuses "an index that is not declared" "its header declares ARGV 1, its body uses 1;2"
printf '%s\n' "$header" "return KEYS[1]" |
    refuses "an index that is not used" "its header declares ARGV 1, its body uses"
printf '%s\n' "$header" "return KEYS[1] .. ARGV[1] .. #ARGV" "return unpack(ARGV)" |
    refuses "a rest that is not declared" "the rest of ARGV: declared NO, used YES"
printf '%s\n' "return 1" |
    refuses "no header" "begins with no contract block"
printf '%s\n' "$header" '--- @include "nowhere"' "return KEYS[1] .. ARGV[1]" |
    refuses "an include that is missing" "there is no include nowhere.lua"
printf '%s\n' "$header" "return try(KEYS[1], ARGV[1])" |
    refuses "an include that is needed" "uses try, and does not include try"
printf '%s\n' "$header" '--- @include "failed"' "return KEYS[1] .. ARGV[1]" |
    refuses "a piece of another include" "include jobs, not failed"
printf '%s\n' "$header" "local P = KEYS[1]" "return P .. 'nonsense:' .. ARGV[1]" |
    refuses "a key that is not in the list" "the key 'nonsense:' is not in the list of src/lib/protocol/keys.h"
printf '%s\n' "$header" "return {E_NONSENSE, KEYS[1], ARGV[1]}" |
    refuses "an error that is not in the list" "E_NONSENSE is not in the list of include/muster/error.h"

((failures == 0))
