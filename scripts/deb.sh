#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# deb.sh [DIR]: build the Debian packages of this checkout in DIR, by default build/deb, and let lintian look at them, if
# it is installed. The checkout itself stays as it is: a copy is built.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=${1:-$root/build/deb}
mkdir -p "$out"
out=$(cd "$out" && pwd)
copy=$(mktemp -d "${TMPDIR:-/tmp}/muster-deb.XXXXXX")
trap 'rm -rf "$copy"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

mkdir "$copy/muster"
tar -C "$root" --exclude=./build --exclude=./.git -cf - . | tar -C "$copy/muster" -xf -
(cd "$copy/muster" && DEB_BUILD_OPTIONS="${DEB_BUILD_OPTIONS:-parallel=$(nproc)}" dpkg-buildpackage -us -uc -b)
mv "$copy"/*.deb "$copy"/*.changes "$copy"/*.buildinfo "$out"
if command -v lintian >/dev/null; then
    lintian --fail-on error,warning "$out"/*.changes
fi
ls "$out"/*.deb
