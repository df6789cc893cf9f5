#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# run.sh [CTEST OPTION...]: install what is missing, build with ASan and UBSan, run all tests, say how many passed.
#
# The numbers are ctest's own. The tests get a directory for their temporary files; that nothing is left in it and that
# no process of theirs lives on is checked here, since no single test can see it. Runs at the same time take turns at
# one build directory; one with a MUSTER_BUILD_DIR of its own waits for nobody.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${MUSTER_BUILD_DIR:-$root/build/dev}

if [[ ${1:-} == --help ]]; then
    cat <<'TEXT'
Usage: tests/run.sh [CTEST OPTION...]

Installs what is missing (Debian; root or sudo), builds the preset `dev` (ASan, UBSan) and runs the tests, two at a
time. Options go to ctest, for example
    tests/run.sh -R unit            only those whose name matches
    tests/run.sh -L cli -V          only the command's, with all they print
    tests/run.sh -N                 list them
MUSTER_BUILD_DIR is where it builds, by default build/dev.
The last line says `N passed, N failed`. Exit status 0: all passed, and nothing was left behind.
TEXT
    exit 0
fi

"$root/scripts/packages.sh" build run test

mkdir -p "$build"
exec {lock}>"$build/run.lock"
if ! flock -n "$lock"; then
    echo "run.sh: another run is using $build: waiting for its end"
    flock "$lock"
fi

temp=$(mktemp -d /tmp/muster-run.XXXXXX)
trap 'rm -rf "$temp"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
mkdir "$temp/tests"

build() {
    # Only what starts no tests may hold the lock: a server that survives its test must not keep the next run waiting.
    (cd "$root" && cmake --preset dev -B "$build" && cmake --build "$build" -j "$(nproc)") {lock}>&-
}
if ! build >"$temp/build.log" 2>&1; then
    cat "$temp/build.log" >&2
    echo "run.sh: the build failed: see above; nothing was tested" >&2
    exit 1
fi

status=0
TMPDIR=$temp/tests MUSTER_TEST_RUN=$temp ctest --test-dir "$build" --parallel 2 --output-on-failure \
    --no-tests=error "$@" {lock}>&- | tee "$temp/ctest.log" || status=1

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
# What is told to end by its parent's death may need a moment for it.
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

if summary=$(grep -E 'tests passed, [0-9]+ tests? failed out of [0-9]+' "$temp/ctest.log"); then
    read -r failed total < <(sed -E 's/.*, ([0-9]+) tests? failed out of ([0-9]+).*/\1 \2/' <<<"$summary")
    echo
    echo "$((total - failed)) passed, $failed failed"
fi
exit "$status"
