#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# run.sh [--long] [NAME] [CTEST OPTION...]: install what is missing, build with ASan and UBSan, run all tests, or one test or case
# by its name, and say how many passed.
#
# The numbers are ctest's own; a single case is run by its program. The tests get a directory for their temporary files.
# That nothing is left in it and that none of their processes lives on is checked here, since no single test can see it.
# Runs at the same time take turns at one build directory; a run with a MUSTER_BUILD_DIR of its own waits for nobody.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${MUSTER_BUILD_DIR:-$root/build/dev}
jobs=${MUSTER_TEST_JOBS:-3}
case_cpu_seconds=400

if [[ ${1:-} == --help ]]; then
    cat <<'TEXT'
Usage: tests/run.sh [--long] [NAME] [CTEST OPTION...]

Installs what is missing (Debian; root or sudo), builds the preset `dev` (ASan, UBSan) and runs the tests.
NAME is one test, or one case of a C test; it may hold * and ?:
    tests/run.sh live/test_wake       one test; `test_wake` or its file, tests/live/test_wake.c, will do
    tests/run.sh limits_are_the_same  one case, by its function's name
    tests/run.sh --list               all tests, each with its cases
Options go to ctest, for example
    tests/run.sh -R unit              only those whose name matches
    tests/run.sh -L cli -V            only the command's, with all they print
    tests/run.sh -N                   list them
With --long also those with the label `long`, and the command that the shell tests start has sanitizers everywhere.
MUSTER_BUILD_DIR is where it builds, by default build/dev; MUSTER_TEST_JOBS how many tests run at once, by default 3.
The last line says `N passed, N failed`. Exit status 0: all passed, and nothing was left behind.
TEXT
    exit 0
fi

wanted='' lists='' default=(-LE '^long$')
if [[ ${1:-} == --long ]]; then
    default=()
    export MUSTER_TEST_CHECKED=yes
    shift
fi
if [[ ${1:-} == --list ]]; then
    lists=yes
    shift
elif [[ -n ${1:-} && $1 != -* ]]; then
    wanted=$1
    shift
fi

"$root/scripts/packages.sh" build run test

mkdir -p "$build"
exec {lock}>"$build/run.lock"
if ! flock -n "$lock"; then
    echo "run.sh: another run is using $build: waiting for its end" >&2
    flock "$lock"
fi

temp=$(mktemp -d /tmp/muster-run.XXXXXX)
trap 'rm -rf "$temp"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
mkdir "$temp/tests"

# in_tests COMMAND...: with the tests' directory, and without the lock: only commands that start no tests may hold it,
# because a server that survives its test must not keep the next run waiting.
in_tests() { TMPDIR=$temp/tests MUSTER_TEST_RUN=$temp "$@" {lock}>&-; }

build() {
    (cd "$root" && cmake --preset dev -B "$build" && cmake --build "$build" -j "$(nproc)") {lock}>&-
}
echo "run.sh: building in $build" >&2
if ! build >"$temp/build.log" 2>&1; then
    cat "$temp/build.log" >&2
    echo "run.sh: the build failed: see above; nothing was tested" >&2
    exit 1
fi

# ---- which tests, which cases

# all_tests: their names, as live/test_wake
all_tests() { in_tests ctest --test-dir "$build" -N | sed -nE 's/^ *Test +#[0-9]+: //p'; }

# program_of TEST: the program of a C test; nothing for a script
program_of() {
    local program=$build/tests/${1/\//_}
    if [[ -x $program ]]; then
        echo "$program"
    fi
}

# cases_of TEST
cases_of() {
    local program
    program=$(program_of "$1")
    if [[ -n $program ]]; then
        in_tests "$program" --list
    fi
}

list_all() {
    local test
    while read -r test; do
        echo "$test"
        cases_of "$test" | sed 's/^/    /'
    done < <(all_tests)
}

# matching_tests NAME: tests of this name, with or without their group
matching_tests() {
    local test
    while read -r test; do
        # shellcheck disable=SC2053 # the name may be a pattern
        if [[ $test == $1 || ${test#*/} == $1 ]]; then
            echo "$test"
        fi
    done < <(all_tests)
}

# matching_cases NAME: cases of this name, each with its test: TEST CASE
matching_cases() {
    local test name
    while read -r test; do
        while read -r name; do
            # shellcheck disable=SC2053 # the name may be a pattern
            if [[ $name == $1 ]]; then
                echo "$test $name"
            fi
        done < <(cases_of "$test")
    done < <(all_tests)
}

if [[ -n $lists ]]; then
    list_all
    exit
fi

cases=()
if [[ -n $wanted ]]; then
    name=${wanted#tests/}
    name=${name%.[ch]}
    name=${name%.cpp}
    name=${name%.sh}
    mapfile -t tests < <(matching_tests "$name")
    if ((${#tests[@]} > 0)); then
        default=()
        set -- -R "^($(IFS='|' && echo "${tests[*]}"))\$" "$@"
    else
        mapfile -t cases < <(matching_cases "$wanted")
        if ((${#cases[@]} == 0)); then
            echo "run.sh: no test and no case is named $wanted; tests/run.sh --list names all of them" >&2
            list_all | tr -d ' ' | grep -F -- "$wanted" | sed '1i run.sh: these names contain it:' | head -n 11 >&2 || true
            exit 1
        fi
    fi
fi

# ---- the run

status=0 total=0 failed=0
run_tests() {
    in_tests ctest --test-dir "$build" --parallel "$jobs" --output-on-failure --no-tests=error "${default[@]}" "$@" |
        tee "$temp/ctest.log" || status=1
    local summary
    if summary=$(grep -E 'tests passed, [0-9]+ tests? failed out of [0-9]+' "$temp/ctest.log"); then
        read -r failed total < <(sed -E 's/.*, ([0-9]+) tests? failed out of ([0-9]+).*/\1 \2/' <<<"$summary")
    fi
}

# run_cases "TEST CASE"...
run_cases() {
    local one test name
    for one in "$@"; do
        read -r test name <<<"$one"
        echo "---- $test: $name"
        total=$((total + 1))
        if ! in_tests "$build/tests/watch" "$case_cpu_seconds" "$(program_of "$test")" "$name"; then
            failed=$((failed + 1))
            status=1
        fi
    done
}

if ((${#cases[@]} > 0)); then
    run_cases "${cases[@]}"
else
    run_tests "$@"
fi

# ---- what is left

# A process of this run has the run's directory in its environment, its arguments (redis-server, which overwrites its
# environment with its title, names its socket there) or as its working directory.
left_processes() {
    local proc
    for proc in /proc/[0-9]*; do
        if [[ ${proc#/proc/} != "$$" ]] && { grep -qsF "$temp/tests" "$proc/environ" "$proc/cmdline" ||
            [[ $(readlink "$proc/cwd") == "$temp/tests"* ]]; } 2>/dev/null; then
            printf '%s %s\n' "${proc#/proc/}" "$(tr '\0' ' ' <"$proc/cmdline")"
        fi
    done 2>/dev/null
}
# A process that the death of its parent ends may need a moment for that.
end=$((SECONDS + 10))
while left=$(left_processes) && [[ -n $left ]] && ((SECONDS < end)); do
    sleep 0.1
done
if [[ -n $left ]]; then
    printf 'run.sh: left running by the tests, ended now:\n%s\n' "$left"
    cut -d' ' -f1 <<<"$left" | xargs -r kill -KILL
    status=1
fi
if files=$(ls -A "$temp/tests") && [[ -n $files ]]; then
    printf 'run.sh: left behind by the tests in their directory for temporary files:\n%s\n' "$files"
    status=1
fi

# ---- what it came to

# The slowest tests, from ctest's lines such as "  7/134 Test  #12: live/test_wake ....   Passed    3.49 sec".
# Not with head: it ends before sort has written all, and then sort is killed.
slowest() {
    sed -nE 's,^ *[0-9]+/[0-9]+ Test +#[0-9]+: ([^ ]+) .* ([0-9.]+) sec.*,\2 \1,p' "$temp/ctest.log" | sort -rn | sed -n 1,5p
}
if ((total > 5)); then
    printf '\nThe slowest:\n'
    slowest | awk '{ printf "%8.1f s  %s\n", $1, $2 }'
fi
if ((total > 0)); then
    echo
    echo "$((total - failed)) passed, $failed failed"
fi
exit "$status"
