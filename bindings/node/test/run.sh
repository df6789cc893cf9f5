#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# run.sh FOLDER FILE...: run tests of the Node binding. What they need from npm is installed into FOLDER, once for each
# package.json. Needs MUSTER_LIBRARY, the path of libmuster.so.
#
# Where node is missing or older than 20, or npm reaches no registry, the tests are skipped with words and status 77;
# with MUSTER_NODE=required that is a failure.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift

skip() {
    echo "skipped: $*"
    [[ ${MUSTER_NODE:-} != required ]] || exit 1
    exit 77
}

# Tests at the same time install one after the other.
install_packages() {
    local lock
    exec {lock}>"$folder/lock"
    flock "$lock"
    if ! cmp -s "$here/package.json" "$folder/installed.json"; then
        cp "$here/package.json" "$folder/package.json"
        (cd "$folder" && npm install --ignore-scripts --no-audit --no-fund --no-package-lock) >"$folder/log" 2>&1 ||
            skip "npm cannot install koffi: $(tail -n 3 "$folder/log")"
        cp "$here/package.json" "$folder/installed.json"
    fi
    exec {lock}>&-
}

for program in node npm; do
    command -v "$program" >/dev/null || skip "$program is missing (Debian packages nodejs and npm; node 20 or later)"
done
node -e 'process.exit(process.versions.node.split(".")[0] >= 20 ? 0 : 1)' || skip "node is older than 20: $(node --version)"
install_packages
# NODE_PATH: where require() looks beside the sources, which stay as they are.
NODE_PATH=$folder/node_modules exec node --test --test-reporter=spec "$@"
