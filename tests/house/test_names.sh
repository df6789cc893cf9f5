#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The names of src/lib's functions. Proves:
#  1. a function that other files call is named <file>_<verb>, or muster_... if it is public. The file `keys.c` may say
#     `key_`, too; `check_keys.c` beside `check.c` is a part of that one, and may say `check_`
#  2. a function that no other file calls is static
#  3. names and callers that break this are refused: shown on a made-up tree
set -euo pipefail
# shellcheck source=tests/house/lib.sh
. "$(dirname "$0")/lib.sh"

shared() { awk -f "$src/tests/house/functions.awk" "$1"/*/*.c | awk '$4 == "shared" { print $1, $2, $5 }'; }

# Files that hold a second thing, which the law would have to part from the first.
exceptions() {
    case $1 in
    */base/log.c) echo trace ;; # a trace is a line of the log that a switch lets through
    esac
}

# beginnings FILE: what the names of a file's functions may begin with
beginnings() {
    local room=${1%/*} part=${1##*/}
    part=${part%.c}
    echo "$part" "${part%s}"
    exceptions "$1"
    while [[ $part == *_* ]]; do
        part=${part%_*}
        if [[ -e $room/$part.c || -e $room/$part.h ]]; then
            echo "$part" "${part%s}"
        fi
    done
}

# wrong_names LIB
wrong_names() {
    local file line name begin ok last='' bad=0
    while read -r file line name; do
        if [[ $file != "$last" ]]; then
            mapfile -t begins < <(beginnings "$file" | tr ' ' '\n')
            last=$file
        fi
        ok=0
        for begin in muster "${begins[@]}"; do
            if [[ $name == "${begin}_"* ]]; then
                ok=1
            fi
        done
        if ((!ok)); then
            echo "${file#"$src/"}:$line: $name() is not named after its file"
            bad=1
        fi
    done < <(shared "$1")
    return "$bad"
}

# lonely LIB: who is called by no other file. The public ones are the users'.
lonely() {
    awk -v src="$src/" '
        what == "words" { split($0, at, ":"); in_files[at[2]]++; next } # its own file is one of them
        $3 !~ /^muster_/ && in_files[$3] < 2 {
            sub("^" src, "", $1)
            print $1 ":" $2 ": " $3 "() is called by no other file, and not static"
            bad = 1
        }
        END { exit bad }' what=words <(grep -oE '\b[a-z][a-z0-9_]*\b' "$1"/*/*.c | sort -u) what=shared <(shared "$1")
}

# ---- 1 and 2
passes 'names: not after the file' wrong_names "$src/src/lib"
passes 'names: not static' lonely "$src/src/lib"

# ---- 3
mkdir -p "$dir/lib/room"
define() { printf 'int %s(void)\n{\n    return 0;\n}\n' "$1"; }
for name in keys_make key_make muster_key; do
    define "$name"
done >"$dir/lib/room/keys.c"
for name in keys_more_make keys_make_more key_other; do
    define "$name"
done >"$dir/lib/room/keys_more.c"
for name in keys_make key_make keys_more_make keys_make_more key_other; do
    echo "$name();"
done >"$dir/lib/room/calls.c"
passes 'names: good ones are refused' wrong_names "$dir/lib"
passes 'names: a function that is called is refused' lonely "$dir/lib"
define make_key >>"$dir/lib/room/keys.c"
finds 'names: a wrong one' 'keys.c:13: make_key() is not named after its file' wrong_names "$dir/lib"
finds 'names: without a caller' 'keys.c:13: make_key() is called by no other file' lonely "$dir/lib"
