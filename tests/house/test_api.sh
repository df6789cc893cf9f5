#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# doc/api.md has the routes of the server. Proves:
#  1. each route of src/web/routes.c and of src/web/server.c is in the table, and no other
#  2. a route that is missing on either side is seen
set -euo pipefail
# shellcheck source=tests/house/lib.sh
. "$(dirname "$0")/lib.sh"

# of_code ROUTES SERVER
of_code() {
    sed -nE 's|^ *\{"(GET\|POST)", "([^"]+)",.*|\1 /api/\2|p' "$1"
    sed -n '/^static void serve_get(/,/^}/p' "$2" | grep -oE 'path, "[a-z]+"' | sed -E 's|path, "(.*)"|GET /api/\1|'
}
# shellcheck disable=SC2016 # backquotes are Markdown's
of_doc() { sed -nE 's/^\| `((GET|POST) [^`]+)`.*/\1/p' "$1" | sed -E 's/NAME|ID/*/'; }
# agree ROUTES SERVER DOC
agree() {
    of_code "$1" "$2" | sort >"$dir/code"
    of_doc "$3" | sort >"$dir/doc"
    [[ $(wc -l <"$dir/code") -gt 20 ]] || { echo 'the routes are not found any more' && return 1; }
    diff -u --label src/web --label doc/api.md "$dir/code" "$dir/doc"
}
routes=$src/src/web/routes.c server=$src/src/web/server.c doc=$src/doc/api.md

# ---- 1
passes 'the routes of doc/api.md' agree "$routes" "$server" "$doc"

# ---- 2
grep -v '"queues/\*/pause"' "$routes" >"$dir/routes.c"
finds 'a route that is gone' '+POST /api/queues/*/pause' agree "$dir/routes.c" "$server" "$doc"
grep -v 'GET /api/session' "$doc" >"$dir/api.md"
finds 'a route that is not told' '-GET /api/session' agree "$routes" "$server" "$dir/api.md"
