#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The master is cut off together with a producer, in network namespaces of the test's own; on the other side a replica
# is promoted. Proves:
#  1. what was acknowledged with replicas=1 is there when the cut is over, to the last task
#  2. what could not be confirmed says so, with an exit status of its own
# A second producer, without replicas, loses what it was told was enqueued: so the cut was one.
#
# Passed over, with words, where namespaces may not be made.
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
unset MUSTER_TIMEOUT # a Redis that does not answer is part of this
# shellcheck disable=SC2154 # tmp is lib.sh's
cd "$tmp"

name=muster$$
here=10.213.77.1
there=10.213.77.2
if ! command -v ip >/dev/null || ! ip netns add "${name}a" 2>/dev/null; then
    echo "passed over: network namespaces may not be made here"
    exit 0
fi
remove_namespaces() {
    ip netns del "${name}a" 2>/dev/null || true
    ip netns del "${name}b" 2>/dev/null || true
}
trap 'remove_namespaces; clean_up' EXIT
ip netns add "${name}b"
ip link add "va$$" netns "${name}a" type veth peer name "vb$$" netns "${name}b"
in_a() { ip netns exec "${name}a" "$@"; }
in_b() { ip netns exec "${name}b" "$@"; }
in_a ip addr add $here/24 dev "va$$"
in_b ip addr add $there/24 dev "vb$$"
for ns in a b; do
    ip netns exec "$name$ns" ip link set lo up
    ip netns exec "$name$ns" ip link set "v$ns$$" up
done

# start_in NS NAME PORT ARGUMENT...
start_in() {
    mkdir -p "$2"
    start "$2" ip netns exec "$name$1" redis-server ${conf:+"$conf"} --port "$3" --dir "$tmp/$2" --protected-mode no "${@:4}"
    wait_for at "$1" "$3" PING
}
at() { ip netns exec "$name$1" redis-cli -p "$2" "${@:3}" 2>/dev/null | grep -q .; }
start_sentinel() {
    printf 'sentinel %s\n' "monitor queue $here 6379 2" 'down-after-milliseconds queue 1000' \
        'failover-timeout queue 4000' >"$2.conf"
    conf=$tmp/$2.conf start_in "$1" "$2" "$3" --sentinel
}
knows_all() { [[ $(ip netns exec "$name$1" redis-cli -p "$2" SENTINEL MASTER queue |
    grep -A1 -E '^num-(slaves|other-sentinels)$' | grep -E '^[0-9]+$' | paste -sd ' ') == '1 2' ]]; }
conf='' start_in a master 6379 --save '' --repl-diskless-sync-delay 0
conf='' start_in b replica 6379 --save '' --replicaof $here 6379
start_sentinel a s0 26379
start_sentinel b s1 26379
start_sentinel b s2 26380
wait_for knows_all a 26379
wait_for knows_all b 26379
wait_for knows_all b 26380

url=redis+sentinel://$here:26379,$there:26379,$there:26380/queue
# producer NAME PARAMETERS: beside the master. Each task once; what it was told of each is in NAME.said
producer() {
    local i=0 code
    while [[ ! -e stop ]]; do
        i=$((i + 1))
        code=0
        in_a "$MUSTER" enqueue "$1" "t$i" --url "$url$2" --timeout 1s >/dev/null 2>>"$1.log" || code=$?
        echo "$code t$i" >>"$1.said"
    done
}
producer plain '' &
pids[plain]=$!
producer safe '?replicas=1,100' &
pids[safe]=$!
said() { [[ -e $1.said ]] && (($(grep -c "^$2 " "$1.said") >= $3)); }
wait_for said safe 0 10
wait_for said plain 0 10

in_a ip link set "va$$" down
promoted() { [[ $(in_b redis-cli ROLE | head -n 1) == master ]]; }
deadline_s=60
wait_for promoted
wait_for said safe 74 3
in_a ip link set "va$$" up
demoted() { [[ $(in_a redis-cli ROLE | head -n 1) == slave ]]; }
wait_for demoted
before=$(grep -c '^0 ' safe.said)
wait_for said safe 0 $((before + 5))
touch stop
wait "${pids[plain]}" "${pids[safe]}" || true
unset 'pids[plain]' 'pids[safe]'

# lost NAME: what was acknowledged, and is not there
lost() {
    sed -n 's/^0 //p' "$1.said" | sort >"$1.acknowledged"
    in_b redis-cli LRANGE "muster:queues:$1" 0 -1 | sort | comm -23 "$1.acknowledged" - | wc -l
}
echo "without replicas: $(grep -c '^0 ' plain.said) acknowledged, $(lost plain) lost;" \
    "with replicas=1: $(grep -c '^0 ' safe.said) acknowledged, $(lost safe) lost, $(grep -c '^74 ' safe.said) not confirmed"
[[ $(lost safe) == 0 ]] || fail "acknowledged and lost: $(comm -23 safe.acknowledged <(in_b redis-cli LRANGE muster:queues:safe 0 -1 | sort))"
(($(lost plain) > 0)) || fail 'nothing was lost without replicas: was the master cut off?'
