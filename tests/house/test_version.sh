#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The version. Proves:
#  1. include/muster/version.h is the only file that states it, but for the change logs, whose newest entries have it
#  2. what is built has it: the command, the library's file, muster.pc
#  3. a build of another version.h has that one everywhere
set -euo pipefail
# shellcheck source=tests/house/lib.sh
. "$(dirname "$0")/lib.sh"
stated() { sed -nE 's/^#define MUSTER_VERSION "(.*)"$/\1/p' "$1/include/muster/version.h"; }
version=$(stated "$src")
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "version: include/muster/version.h has '$version'"

# ---- 1
where=("$src"/{CMakeLists.txt,CMakePresets.json,README.md,cmake,doc,examples,include,lua,scripts,src} "$src"/*.md)
if grep -rnF -- "$version" "${where[@]}" | grep -vE '/(CHANGELOG\.md|include/muster/version\.h):'; then
    fail 'version: stated a second time'
fi
grep -qF -- "$version" "$src/include/muster/version.h" || fail 'version: the search does not find it where it is'
newest=$(sed -nE 's/^## ([^ ]+).*/\1/p' "$src/CHANGELOG.md" | head -n 1)
[[ $newest == "$version" ]] || fail "version: the newest heading of CHANGELOG.md is $newest, not $version"

newest=$(sed -nE '1s/^muster \((.*)-[0-9]+\) .*/\1/p' "$src/debian/changelog")
[[ $newest == "$version" ]] || fail "version: the newest entry of debian/changelog is $newest, not $version"

# ---- 2
said=$("$MUSTER" --version)
[[ $said == "muster $version" ]] || fail "version: muster --version says $said"
[[ -e $MUSTER_BUILD/libmuster.so.$version ]] || fail "version: there is no libmuster.so.$version"
grep -qxF "Version: $version" "$MUSTER_BUILD/muster.pc" || fail "version: $(grep Version: "$MUSTER_BUILD/muster.pc")"

# ---- 3
mkdir -p "$dir/tree/tests/bench"
cp -r "$src"/{CMakeLists.txt,cmake,examples,include,lua,src} "$dir/tree"
cp "$src"/tests/bench/*.[ch] "$dir/tree/tests/bench"
sed -i 's/^#define MUSTER_VERSION .*/#define MUSTER_VERSION "7.8.9"/' "$dir/tree/include/muster/version.h"
passes 'version: another one cannot be built' cmake -S "$dir/tree" -B "$dir/build" -DMUSTER_TESTS=OFF
grep -qxF 'Version: 7.8.9' "$dir/build/muster.pc" || fail "version: muster.pc does not follow version.h"
