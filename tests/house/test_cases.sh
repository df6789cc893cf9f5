#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# One case can be run. Proves:
#  1. the main() of each C test gives its arguments on, which is what `tests/run.sh CASE` stands on
#  2. one that does not is refused
set -euo pipefail
# shellcheck source=tests/house/lib.sh
. "$(dirname "$0")/lib.sh"

# deaf FILE...: those whose main() keeps its arguments to itself
deaf() {
    local file bad=0
    for file in "$@"; do
        if ! grep -qE '^    return [a-z_]+\(.*argc, argv\);$' "$file"; then
            echo "${file#"$src/"}: main() must return testing_run() or scene_run(), with argc and argv"
            bad=1
        fi
    done
    return "$bad"
}

# ---- 1
passes 'cases: no case of it can be run' deaf "$src"/tests/{unit,live,fault}/test_*.c

# ---- 2
printf '%s\n' 'int main(int argc, char **argv)' '{' '    return testing_run(tests, NULL, NULL, argc, argv);' '}' >"$dir/good.c"
printf '%s\n' 'int main(void)' '{' '    return cmocka_run_group_tests(tests, NULL, NULL);' '}' >"$dir/deaf.c"
passes 'cases: a good one is refused' deaf "$dir/good.c"
finds 'cases: a deaf one' 'deaf.c: main() must return' deaf "$dir/good.c" "$dir/deaf.c"
