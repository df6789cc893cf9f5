#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The pages of muster web in a browser, each on a phone (390 pixels) and a desktop (1440), light and dark. Proves:
#  1. every page shows what it is for, without a message in the console and without a request to another host
#  2. nothing scrolls sideways; each control has a name, each heading of a table a scope; contrast is 4.5 at least
#  3. markup in names, tasks, messages and tags stays text; what turns the direction of text is shown
#  4. payloads: JSON laid out, bytes in hex; dependencies are drawn as links; times have their exact form beside them
# PAGES_PICTURES=DIR keeps a picture of every page there.
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=tests/web/lib.sh
. "$(dirname "$0")/lib.sh"
start_redis
fill_world
start_web
browse pages.py "$url"
