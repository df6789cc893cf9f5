#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# lint.sh [--fix]: check the form of all sources: C and C++ with clang-format 14, shell with shellcheck, Lua with luac and
# luacheck. Installs what is missing (Debian; root or sudo). --fix: format the C files first.
#
# The Lua scripts are checked as the build expands them: only there is a name that nothing defines an error. An include
# may bring along what one script does not use, so "unused" counts only if it is true of every script that has that line.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export LC_ALL=C.UTF-8

temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# sources PATTERN...: files of these names, without what was built or installed here
sources() {
    local pattern match=()
    for pattern in "$@"; do
        match+=(-o -name "$pattern")
    done
    find . \( -path ./build -o -path ./.git -o -path ./tests/bench/peers/installed \
        -o -path ./bindings/node/node_modules \) -prune -o \
        -type f \( "${match[@]:1}" \) -print | sort
}

check_c() {
    local files
    mapfile -t files < <(sources '*.[ch]' '*.[ch]pp')
    if ! clang-format --version | grep -q 'version 14\.'; then
        echo "lint.sh: clang-format must be version 14 (Debian 12): others format in another way" >&2
        return 1
    fi
    if [[ ${1:-} == --fix ]]; then
        clang-format -i "${files[@]}"
    fi
    clang-format --dry-run -Werror "${files[@]}" || {
        echo "lint.sh: scripts/lint.sh --fix formats these files" >&2
        return 1
    }
}

check_shell() {
    local files
    mapfile -t files < <(sources '*.sh')
    shellcheck -x "${files[@]}" .ci/run
}

# From luacheck's lines: those that count, each once. A place is its line with the lines around it.
true_finds() {
    awk -F: '
        function place(file, n) { return text[file, n - 1] "\n" text[file, n] "\n" text[file, n + 1] }
        FILENAME != "-" { text[FILENAME, FNR] = $0; last[FILENAME] = FNR; next }
        {
            if (!n_finds)
                for (file in last)
                    for (n = 1; n <= last[file]; n++)
                        n_places[place(file, n)]++
            here = place($1, $2)
            what = $0
            sub(/^[^(]*/, "", what)
            gsub(/on line [0-9]+/, "", what)
            finds[++n_finds] = $0
            key[n_finds] = here what
            where[n_finds] = here
            count[here what]++
        }
        END {
            for (i = 1; i <= n_finds; i++) {
                unused = finds[i] ~ /\(W2[0-9][0-9]\)/
                if (!said[key[i]]++ && (!unused || count[key[i]] == n_places[where[i]])) {
                    print finds[i]
                    bad = 1
                }
            }
            exit bad
        }' "$@" -
}

check_lua() {
    local scripts script
    scripts/expand_lua.sh "$PWD/lua" "$temp/lua"
    mapfile -t scripts < <(find "$temp/lua" -name '*.lua' -printf '%P\n' | sort)
    for script in "${scripts[@]}"; do
        luac5.1 -p "$temp/lua/$script"
    done
    # luacheck's own exit status says "there are warnings"; those that count are seen in its lines.
    (cd "$temp/lua" && { luacheck --config "$OLDPWD/.luacheckrc" --codes --formatter plain "${scripts[@]}" || true; } |
        true_finds "${scripts[@]}") || {
        echo "lint.sh: the places are those of the expanded scripts, as in build/dev/lua" >&2
        return 1
    }
}

case ${1:-} in
'' | --fix) ;;
*)
    echo 'Usage: scripts/lint.sh [--fix]' >&2
    exit 2
    ;;
esac
scripts/packages.sh build lint
status=0
check_c "$@" || status=1
check_shell || status=1
check_lua || status=1
if ((status == 0)); then
    echo "lint.sh: C, C++, shell and Lua are in good form"
fi
exit "$status"
