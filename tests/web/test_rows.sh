#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Lists of the pages that change while somebody looks at them. Proves:
#  1. each page of a list has its rows as soon as it is told which they are, also under a mouse
#  2. a row that goes while another one comes is replaced by that, also under a mouse
#  3. what a row opens is what stands there at this moment; a list goes on after that
#     JSON is laid out, and keeps each of its numbers and keys
#  4. what comes behind a page that ended early is on the next one
#  5. an answer for another page than the one that is wanted by then is not shown
#  6. the overview names each queue that needs somebody in each line, and knows which are served, whatever their names are
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=tests/web/lib.sh
. "$(dirname "$0")/lib.sh"
start_redis
start worker "$MUSTER" work held --id holder -c 2 -- sleep 600
wait_for says worker 'takes tasks'
start odd "$MUSTER" work busy $'odd\xff' -- sleep 600
wait_for says odd 'takes tasks'
start_web
browse rows.py "$url"
