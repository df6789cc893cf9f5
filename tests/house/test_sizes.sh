#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The sizes in src/lib. Proves:
#  1. no file has more than 400 lines, no function more than 40 from the line of its name to its last brace
#  2. every function is seen: those that the library was built from are all among them
#  3. a file or a function one line longer is refused: shown on a made-up tree
set -euo pipefail
# shellcheck source=tests/house/lib.sh
. "$(dirname "$0")/lib.sh"
file_max=400 function_max=40
functions() { awk -f "$src/tests/house/functions.awk" "$@"; }

# too_long FILE...: says each file and function above the limits
too_long() {
    local n=0 lines file
    for file in "$@"; do
        lines=$(wc -l <"$file")
        if ((lines > file_max)); then
            echo "${file#"$src/"}: $lines lines, at most $file_max"
            n=1
        fi
    done
    functions "$@" | awk -v max="$function_max" -v src="$src/" '
        $3 > max {
            sub("^" src, "", $1)
            print $1 ":" $2 ": " $5 "() has " $3 " lines, at most " max
            bad = 1
        }
        END { exit bad }' && ((n == 0))
}

# ---- 1
mapfile -t files < <(find "$src/src/lib" -type f -name '*.[ch]' | sort)
passes 'sizes: above the limit' too_long "${files[@]}"

# ---- 2
functions "${files[@]}" | awk '$4 == "shared" { print $5 }' | sort >"$dir/seen"
nm --defined-only "$MUSTER_BUILD/libmuster.a" | awk '$2 == "T" { print $3 }' | sort >"$dir/built"
[[ -s $dir/built ]] || fail "sizes: libmuster.a shows no function"
missed=$(comm -13 "$dir/seen" "$dir/built")
[[ -z $missed ]] || fail "sizes: functions.awk does not see $missed"

# ---- 3
# made LINES-OF-A-FUNCTION BLANK-LINES: a file of that function and as many empty lines
made() {
    printf 'static int f(int a,\n             int b)\n{\n'
    yes '    a = b;' | head -n "$(($1 - 4))" || true
    printf '}\n'
    yes '' | head -n "$2" || true
}
made 40 360 >"$dir/a.c"
passes 'sizes: 40 and 400 lines are refused' too_long "$dir/a.c"
made 41 0 >"$dir/a.c"
finds 'sizes: a function of 41 lines' 'a.c:1: f() has 41 lines' too_long "$dir/a.c"
made 40 361 >"$dir/a.c"
finds 'sizes: a file of 401 lines' 'a.c: 401 lines' too_long "$dir/a.c"
