#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The alerts of examples/prometheus. Proves:
#  1. each metric that a rule names is one that muster web or a worker has, and the test has a series of it
#  2. doc/operations.md tells what to do about each alert
#  3. promtool finds nothing wrong in the rules; each fires for what it is meant for, and none while all is well
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
rules=$MUSTER_SOURCE/examples/prometheus/muster-alerts.yml

# ---- 1
grep -hE '^ *X\(' "$MUSTER_SOURCE"/src/web/metrics*.c | grep -oE '\bmuster_[a-z_]+' | sort -u >"${tmp:?}/metrics"
(($(wc -l <"$tmp/metrics") > 10)) || fail "the metrics are not found: $(cat "$tmp/metrics")"
grep -oE 'muster_[a-z_]+' "$rules" | sed -E 's/_(sum|count)$//' | sort -u >"$tmp/named"
strange=$(comm -23 "$tmp/named" "$tmp/metrics")
[[ ! $strange ]] || fail "there are no such metrics: $strange"
tested=$(grep -oE 'muster_[a-z_]+' "${rules%.yml}-test.yml" | sed -E 's/_(sum|count)$//' | sort -u | comm -13 - "$tmp/named")
[[ ! $tested ]] || fail "no series of the test: $tested"

# ---- 2
sed -n 's/^ *- alert: //p' "$rules" | sort >"$tmp/alerts"
(($(wc -l <"$tmp/alerts") > 5)) || fail "the alerts are not found: $(cat "$tmp/alerts")"
while read -r alert; do
    grep -qF "\`$alert\`" "$MUSTER_SOURCE/doc/operations.md" || fail "doc/operations.md does not tell what to do: $alert"
    grep -qF "alertname=\"$alert\"" "${rules%.yml}-test.yml" || fail "no test lets it fire: $alert"
done <"$tmp/alerts"

# ---- 3
if ! command -v promtool >/dev/null; then
    echo 'skipped: promtool is missing (Debian package prometheus)'
    exit 77
fi
check_exit 0 promtool check rules "$rules"
check_exit 0 promtool test rules "${rules%.yml}-test.yml"
