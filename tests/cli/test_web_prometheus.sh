#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# muster web and Prometheus. Proves:
#  1. promtool finds nothing wrong in /metrics, also with names that hold quotes and other bytes
#  2. a real Prometheus scrapes it, and has the numbers of the queue
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

if ! command -v promtool prometheus >/dev/null; then
    echo 'skipped: promtool or prometheus is missing (Debian package prometheus)'
    exit 77
fi
ask() { python3 "$(dirname "$0")/web_ask.py" "$@" </dev/null | sed 1d; }
listens() { grep -q 'listens at' "$tmp/web.err"; }
start_redis
"$MUSTER" enqueue mail one two three >"$tmp/out"
"$MUSTER" enqueue 'a "quoted\" name' x >"$tmp/out"
"$MUSTER" enqueue $'byte\xff' x >"$tmp/out"
start worker "$MUSTER" work idle -- true
start web "$MUSTER" web --listen 127.0.0.1:0
wait_for listens
port=$(grep -oE '[0-9]+/$' "$tmp/web.err" | tr -d /)
has_metrics() { ask "$port" GET /metrics >"$tmp/metrics" && grep -qxF 'muster_queue_tasks{queue="mail",state="waiting"} 3' "$tmp/metrics"; }
wait_for has_metrics

# ---- 1
promtool check metrics <"$tmp/metrics" >"$tmp/out" 2>&1 || fail "promtool: $(cat "$tmp/out")"
[[ ! -s $tmp/out ]] || fail "promtool: $(cat "$tmp/out")"
grep -qF 'queue="a \"quoted\\\" name"' "$tmp/metrics" || fail "no quoted name in $(cat "$tmp/metrics")"

# ---- 2
cat >"$tmp/prometheus.yml" <<YML
global: {scrape_interval: 1s}
scrape_configs: [{job_name: muster, static_configs: [{targets: ['127.0.0.1:$port']}]}]
YML
# A port of its own choice is told in its log alone, so one is chosen here, and another one if it is taken.
begin_prometheus() {
    of_prometheus=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    start prometheus prometheus --config.file "$tmp/prometheus.yml" --storage.tsdb.path "$tmp/data" \
        --web.listen-address "127.0.0.1:$of_prometheus" --log.level warn
}
begin_prometheus
knows() {
    runs prometheus || begin_prometheus
    ask "$of_prometheus" GET "/api/v1/query?query=$1" 2>/dev/null | grep -qF -- "$2"
}
wait_for knows 'up' '"1"]'
wait_for knows 'muster_up' '"1"]'
wait_for knows 'muster_queue_tasks%7Bqueue=%22mail%22,state=%22waiting%22%7D' '"3"]'
"$MUSTER" enqueue mail four >"$tmp/out"
wait_for knows 'muster_queue_tasks%7Bqueue=%22mail%22,state=%22waiting%22%7D' '"4"]'
end prometheus TERM 0
end web TERM 0
end worker TERM 0
