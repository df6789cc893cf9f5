#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# run.sh [SECONDS [NAME...]]: build the fuzzers with clang, ASan and UBSan, and run each, or those named, for so long (a
# minute). They begin with the seeds in corpus/NAME; what they find beyond these stays in build/fuzz/corpus/NAME. A
# failure leaves its input in build/fuzz, and the fuzzer repeats it: build/fuzz/tests/fuzz/fuzz_NAME FILE.
#
# FUZZ_RUNS=N in the environment: so many executions, instead of so many seconds.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

seconds=${1:-60}
if (($# > 0)); then
    shift
fi
names=("$@")
if ((${#names[@]} == 0)); then
    for source in tests/fuzz/fuzz_*.c; do
        name=$(basename "$source" .c)
        names+=("${name#fuzz_}")
    done
fi

out=build/fuzz
CC=clang cmake -S . -B "$out" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DMUSTER_FUZZ=ON -DMUSTER_TESTS=OFF \
    -DMUSTER_SANITIZE=address,undefined >/dev/null
for name in "${names[@]}"; do
    cmake --build "$out" -j "$(nproc)" --target "fuzz_$name" >/dev/null
    mkdir -p "$out/corpus/$name"
    limit=(-max_total_time="$seconds")
    if [[ -n ${FUZZ_RUNS:-} ]]; then
        limit=(-runs="$FUZZ_RUNS")
    fi
    echo "fuzz_$name: begins"
    "$out/tests/fuzz/fuzz_$name" "${limit[@]}" -timeout=10 -rss_limit_mb=2048 -artifact_prefix="$out/" \
        -print_final_stats=1 -verbosity=0 "$out/corpus/$name" "tests/fuzz/corpus/$name" 2>"$out/$name.log" || {
        tail -50 "$out/$name.log" >&2
        exit 1
    }
    grep -E 'number_of_executed_units|average_exec_per_sec' "$out/$name.log"
done
