#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# expand_lua.sh LUA-DIRECTORY OUT-DIRECTORY: write the scripts of a directory as the build embeds them: includes expanded,
# names of errors and settings replaced, contracts checked.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
exec cmake -DLUA_DIR="$(realpath "$1")" -DOUT_DIR="$(realpath -m "$2")" -DERRORS="$root/include/muster/error.h" \
    -DKEYS="$root/src/lib/protocol/keys.h" -DSETTINGS="$root/include/muster/job.h" -P "$root/cmake/lua.cmake"
