#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The Lua scripts. Proves:
#  1. each script is sent by a C function, which tests/unit/test_scripts.c compares with the script's contract, and has
#     its row in the table of scripts in doc/design.md; each row there has its script; each include is included
#  2. the build refuses a script that breaks its contract, and says why: one broken contract at a time
# shellcheck disable=SC2016 # backquotes are Markdown's
set -euo pipefail
# shellcheck source=tests/house/lib.sh
. "$(dirname "$0")/lib.sh"

scripts() { find "$src/lua" -name '*.lua' -not -path "$src/lua/include/*" -not -path "$src/lua/inline/*"; }
includes() { find "$src/lua/include" -name '*.lua'; }

# ---- 1: callers
# unsent NAME...: those whose number no function of the library gives to a command
unsent() {
    local name bad=0
    for name in "$@"; do
        if ! grep -qrw --include='*.c' "SCRIPT_${name^^}" "$src/src/lib"; then
            echo "lua: $name.lua is sent by no function: write script_$name() in src/lib/protocol"
            bad=1
        elif ! grep -qw "SCRIPT_${name^^}" "$src/tests/unit/test_scripts.c"; then
            echo "lua: $name.lua is not in tests/unit/test_scripts.c: compare its arguments with its contract"
            bad=1
        fi
    done
    return "$bad"
}
mapfile -t names < <(scripts | xargs basename -as .lua | sort)
passes 'scripts: without a caller' unsent "${names[@]}"
finds 'scripts: one without a caller' 'made_up.lua is sent by no function' unsent "${names[0]}" made_up

# ---- 1: rows. A row's name may end in *, for all that begin so.
# rows FILE: the names in the first column of the table of scripts
rows() {
    awk '/^\| script \|/ { inside = 1 } !/^\|/ { inside = 0 } inside' "$1" | sed -nE 's/^\| *([^|]*[^| ]) *\|.*/\1/p' |
        grep -oE '`[^`]+`' | tr -d '`'
}
# unlisted DOC NAME...
unlisted() {
    local doc=$1 name row ok bad=0
    local -A used=()
    shift
    mapfile -t listed < <(rows "$doc")
    for name in "$@"; do
        ok=0
        for row in "${listed[@]}"; do
            # shellcheck disable=SC2053 # the row is a pattern
            if [[ $name == $row ]]; then
                ok=1
                used[$row]=1
            fi
        done
        if ((!ok)); then
            echo "lua: $name.lua has no row in the table of scripts of $(basename "$doc")"
            bad=1
        fi
    done
    for row in "${listed[@]}"; do
        if [[ -z ${used[$row]:-} ]]; then
            echo "$(basename "$doc"): the table of scripts lists $row, and there is no such script"
            bad=1
        fi
    done
    return "$bad"
}
passes 'scripts: not listed' unlisted "$src/doc/design.md" "${names[@]}"
printf '%s\n' '| script | what it does |' '|---|---|' '| `a`, `b` | |' '| `c_*` | |' '' '| `d` | |' >"$dir/doc.md"
passes 'scripts: listed ones are refused' unlisted "$dir/doc.md" a b c_1 c_2
finds 'scripts: one without a row' 'd.lua has no row' unlisted "$dir/doc.md" a b c_1 d
finds 'scripts: a row without one' 'lists b, and there is no such script' unlisted "$dir/doc.md" a c_1

# ---- 1: includes
# unused NAME...: those that nothing includes
unused() {
    local name bad=0
    for name in "$@"; do
        if ! grep -qrE -- "^--- @include \"([a-z_]+/)*$name\"" "$src/lua"; then
            echo "lua: nothing includes include/$name.lua"
            bad=1
        fi
    done
    return "$bad"
}
mapfile -t pieces < <(includes | xargs basename -as .lua | sort)
passes 'scripts: an include that nothing includes' unused "${pieces[@]}"
finds 'scripts: such an include' 'nothing includes include/made_up.lua' unused "${pieces[0]}" made_up

# unmentioned NAME...: inline pieces that nothing mentions
unmentioned() {
    local name bad=0
    for name in "$@"; do
        if ! grep -qrE -- "^ +--- @inline \"$name\"" "$src/lua"; then
            echo "lua: nothing mentions inline/$name.lua"
            bad=1
        fi
    done
    return "$bad"
}
mapfile -t inline < <(find "$src/lua/inline" -name '*.lua' -print0 | xargs -0 basename -as .lua | sort)
passes 'scripts: an inline piece that nothing mentions' unmentioned "${inline[@]}"
finds 'scripts: such a piece' 'nothing mentions inline/made_up.lua' unmentioned "${inline[0]}" made_up

# ---- 2
embed() { "$src/scripts/expand_lua.sh" "$dir/lua" "$dir/out"; }
# with_script: all scripts, and broken.lua beside enqueue.lua, from standard input
with_script() {
    rm -rf "$dir/lua"
    cp -r "$src/lua" "$dir/lua"
    cat >"$(dirname "$(find "$dir/lua" -name enqueue.lua)")/broken.lua"
}
# refuses WHAT MESSAGE LINE...
refuses() {
    local what=$1 message=$2
    shift 2
    with_script < <(printf '%s\n' "$@")
    finds "build: $what" "$message" embed
}
header='--[[
  broken: for the test.
    KEYS[1] the root     ARGV[1] a queue
]]'
with_script < <(printf '%s\n' "$header" "return redis.call('LLEN', KEYS[1] .. 'queues:' .. ARGV[1])")
passes 'build: a sound script is refused' embed
grep -q SCRIPT_BROKEN "$dir/out/protocol/lua_scripts.h" || fail 'build: the script was not embedded'

refuses 'an index that is not declared' 'its header declares ARGV 1, its body uses 1;2' \
    "$header" 'return KEYS[1] .. ARGV[1] .. ARGV[2]'
refuses 'an index that is not used' 'its header declares ARGV 1, its body uses' \
    "$header" 'return KEYS[1]'
refuses 'a rest that is not declared' 'the rest of ARGV: declared NO, used YES' \
    "$header" 'return KEYS[1] .. ARGV[1] .. #ARGV' 'return unpack(ARGV)'
refuses 'no header' 'begins with no contract block' \
    'return 1'
refuses 'an include that is missing' 'there is no include nowhere.lua' \
    "$header" '--- @include "nowhere"' 'return KEYS[1] .. ARGV[1]'
refuses 'an inline piece that is missing' 'there is no inline piece nowhere.lua' \
    "$header" 'do' '  --- @inline "nowhere"' 'end' 'return KEYS[1] .. ARGV[1]'
refuses 'an inline piece at the margin' 'mention the inline piece token_digits within a block' \
    "$header" 'local number = 1' '--- @inline "token_digits"' 'return KEYS[1] .. ARGV[1] .. text'
refuses 'an include that is needed' 'uses try, and does not include try' \
    "$header" 'return try(KEYS[1], ARGV[1])'
refuses 'a piece of another include' 'include jobs, not failed' \
    "$header" '--- @include "failed"' 'return KEYS[1] .. ARGV[1]'
refuses 'a key that is not in the list' "the key 'nonsense:' is not in the list of src/lib/protocol/keys.h" \
    "$header" 'local P = KEYS[1]' "return P .. 'nonsense:' .. ARGV[1]"
refuses 'an error that is not in the list' 'E_NONSENSE is not in the list of include/muster/error.h' \
    "$header" 'return {E_NONSENSE, KEYS[1], ARGV[1]}'
refuses 'a setting that is not in the list' 'nonsense is not in the list of settings of include/muster/job.h' \
    "$header" 'return {SETTING_NONSENSE, KEYS[1], ARGV[1]}'
