#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The pages when something is amiss. Proves:
#  1. a server that is gone is said at once; when it is back, the page goes on by itself, also with its actions
#  2. a Redis that is gone is said in words in the page, and that the figures are old, as long as it is
#  3. --read-only: no page offers an action
#     a user of Redis who may only read sees each page; what he may not see is said in words
#  4. with a token: the sign-in page, a wrong token, the right one; then the page that was asked for
#  5. an empty Redis: every page says what to do next
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
unset MUSTER_TIMEOUT # a Redis that does not answer is part of this
# shellcheck source=tests/web/lib.sh
. "$(dirname "$0")/lib.sh"

# The browser's script asks for these by a line on its standard output, and waits until the answer is there.
serve_wishes() {
    local wish words
    while read -r wish words; do
        case $wish in
        stop-web) end web TERM 0 ;;
        start-web) start_web_again ;;
        stop-redis) kill -STOP "${pids[redis]}" ;;
        go-on-redis) kill -CONT "${pids[redis]}" ;;
        *) fail "the script said: $wish $words" ;;
        esac
        : >"$tmp/done"
    done
}

start_web_again() {
    start web "$MUSTER" web --listen "${url#http://}"
    wait_for says web "$url"
}

start_redis
start_web
browse trouble.py "$url" empty
end web TERM 0

fill_world
start_web --read-only
browse trouble.py "$url" read-only
end web TERM 0

rule=$(sed -n 's/^user viewer on //p' "$MUSTER_SOURCE/examples/users.acl")
# shellcheck disable=SC2086 # the rule is words
redis ACL SETUSER viewer on '>a-long-password' $rule >"$tmp/out"
start web env MUSTER_URL="unix://viewer:a-long-password@$socket" "$MUSTER" web --listen 127.0.0.1:0 --read-only
wait_for says web 'http://127.0.0.1:'
url=$(grep -oE 'http://127\.0\.0\.1:[0-9]+' "$tmp/web.err" | head -n 1)
browse trouble.py "$url" viewer
end web TERM 0

(umask 077 && echo 'open sesame' >"$tmp/token")
start_web --token-file "$tmp/token"
browse trouble.py "$url" token 'open sesame'
end web TERM 0

start_web
mkfifo "$tmp/wishes"
browse trouble.py "$url" lost "$tmp" &
browser=$!
serve_wishes <"$tmp/wishes"
wait "$browser" || fail "trouble.py found something: see above"
