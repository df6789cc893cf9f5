# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# What the tests of the house share: the checkout in $src, a directory of their own in $dir, removed at the end, and
# fail(), which says what is wrong and lets the test go on, so that one run names everything. A test that looks for what
# must not be there also looks for it where it is, with finds(): a search that finds nothing proves nothing.
#
# Sourced. Needs MUSTER_SOURCE, the path of the checkout.
# shellcheck disable=SC2034 # for those that source this
src=${MUSTER_SOURCE:?must be the path of the checkout}
export LC_ALL=C

dir=$(mktemp -d "${TMPDIR:-/tmp}/muster-house.XXXXXX")
end_test() {
    local status=$?
    if [[ -e $dir/failed ]]; then
        status=1
    fi
    rm -rf "$dir"
    exit "$status"
}
trap end_test EXIT
trap 'exit 1' INT TERM HUP

# In a file, not a variable: a check at the end of a pipe runs in a shell of its own.
fail() {
    printf 'FAILED %s\n' "$*"
    : >"$dir/failed"
}

# finds WHAT TEXT COMMAND...: the command fails, and says this
finds() {
    local what=$1 text=$2
    shift 2
    if "$@" >"$dir/found" 2>&1; then
        fail "$what: not refused"
    elif ! tr -s ' \n' ' ' <"$dir/found" | grep -qF -- "$text"; then
        cat "$dir/found"
        fail "$what: refused, but not with: $text"
    fi
}

# passes WHAT COMMAND...: the command succeeds
passes() {
    local what=$1
    shift
    if ! "$@" >"$dir/found" 2>&1; then
        cat "$dir/found"
        fail "$what"
    fi
}

# Program text without its comments; the preprocessor knows where they are, and includes nothing here.
without_comments() { "${CC:-cc}" -w -fpreprocessed -dD -E -P -x c "$1"; }
