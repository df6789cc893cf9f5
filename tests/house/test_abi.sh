#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The interface of the shared library, compared with abi/libmuster.abi. Proves:
#  1. no public call is gone, and no call or public struct has changed so that a program that was built against the
#     baseline breaks. What is new passes: the baseline is a promise, not a picture
#  2. the comparison finds a call that is gone, and a public struct with another field
# The private structs are not compared: programs know them by pointers alone.
# If a change is meant: `scripts/abi.sh` writes the baseline anew.
set -euo pipefail
# shellcheck source=tests/house/lib.sh
. "$(dirname "$0")/lib.sh"

if ! command -v abidiff >/dev/null; then
    echo 'skipped: abidiff is missing (Debian package abigail-tools)'
    exit 77
fi
version=$(sed -nE 's/^#define MUSTER_VERSION "(.*)"$/\1/p' "$src/include/muster/version.h")
library=$MUSTER_BUILD/libmuster.so.$version
if ! readelf -S "$library" | grep -q '\.debug_info'; then
    echo 'skipped: this build has no debugging information, which tells the types'
    exit 77
fi
base=$src/abi/libmuster.abi
# 4: a change; 8: one that breaks programs
breaks() { # BASELINE: prints what does
    local code=0
    abidiff --suppressions "$src/abi/private.supp" --no-added-syms --no-show-locs "$1" "$library" >"$dir/report" 2>&1 || code=$?
    ((code == 0)) && return 1
    grep -vE '^$' "$dir/report"
}

# ---- 1
if breaks "$base"; then
    fail 'abi: a program that is built already would break. If that is meant: scripts/abi.sh'
fi

# ---- 2
sed "s/name='muster_task_enqueue'/name='muster_task_was_there'/; s/mangled-name='muster_task_enqueue'/mangled-name='muster_task_was_there'/
    s/elf-symbol-id='muster_task_enqueue@/elf-symbol-id='muster_task_was_there@/" "$base" >"$dir/gone.abi"
breaks "$dir/gone.abi" | grep -q muster_task_was_there || fail 'abi: a call that is gone is not found'
awk '/<class-decl name=.muster_advice. / { sub(/size-in-bits=.256./, "size-in-bits=\x27320\x27"); n++ } { print } END { exit n != 1 }' \
    "$base" >"$dir/struct.abi" || fail 'abi: the struct of the trial is not found'
breaks "$dir/struct.abi" | grep -q muster_advice || fail 'abi: another public struct is not found'
