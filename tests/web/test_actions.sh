#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The actions of the pages in a browser; what each has done is looked up by the command. Proves:
#  1. queues: pause, resume, settings set and taken back, enqueue, delete after its name is typed
#  2. a process is cancelled, a worker is failed; a job is tracked, changed, replayed, cancelled with all that wait
#  3. failures: replay or drop one, those selected, a group, all; nothing before it is confirmed
#  4. each question says how many it concerns, and each answer how many it was; of what was done in part that and why
#     an emptied field sets nothing; tags that the form cannot show stay; all is what the filter shows
#     a question goes with its page; settings that were saved are shown
#  5. events and changes that others make are seen without a reload, in however many tabs
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=tests/web/lib.sh
. "$(dirname "$0")/lib.sh"
start_redis
fill_world
start_web
browse actions.py "$url"
