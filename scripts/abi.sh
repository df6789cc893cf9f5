#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# abi.sh [LIBRARY]: write the interface of the shared library to abi/libmuster.abi, the baseline of house/test_abi. By
# default that of build/dev. To be run when an interface has changed on purpose, together with SOVERSION if a release
# had the former one; and after a release, so that what it brought is promised, too.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
library=${1:-$root/build/dev/libmuster.so}
abidw --exported-interfaces-only --headers-dir "$root/include/muster" --drop-private-types --no-corpus-path \
    --no-comp-dir-path --no-show-locs --no-elf-needed --no-parameter-names --out-file "$root/abi/libmuster.abi" "$library"
# Where it was built says nothing of it.
sed -i "s|path='$root/|path='|" "$root/abi/libmuster.abi"
