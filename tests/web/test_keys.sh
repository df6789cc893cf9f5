#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The pages by keyboard, and their looks. Proves:
#  1. Tab reaches everything, first a link that skips the navigation, and the focus is always seen
#  2. / searches, g and a letter goes to a page, j and k go through rows
#  3. a dialog keeps the focus, ends at Escape, and gives the focus back
#  4. the order of a table is said by aria-sort, and can be chosen on a phone
#  5. light and dark follow the system or a choice that stays; compact rows; no movement for those who want none
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=tests/web/lib.sh
. "$(dirname "$0")/lib.sh"
start_redis
fill_world
start_web
browse keys.py "$url"
