#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# muster serve --cluster. Proves:
#  1. it prints the URL of three nodes and a line for a shell, once they take writes in all slots; as JSON, too
#  2. they are set for a queue, listen on loopback only, and are a cluster without gaps
#  3. SIGTERM ends all of them; with --dir the data, and slots that were moved, are there at the next start; other ports
#     are refused then, and so are a second one in the same directory, and a list of nodes that is missing
#  4. --temporary leaves nothing behind, however it ends: by a signal, by the death of a node, or by its own
#  5. options that have no effect are refused; a port that is in use is named, also one of those between the nodes, or of
#     one that begins at the same moment, and no directory is left for it
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
unset MUSTER_TIMEOUT # a Redis that does not answer is part of this
# shellcheck disable=SC2154 # tmp is lib.sh's
cd "$tmp"
mkdir temporary
export TMPDIR=$tmp/temporary

# serve ARGUMENT...: runs it in the background, and sets $ports and $nodes, the pids, when it is ready
serve() {
    start serve "$MUSTER" serve --cluster "$@"
    wait_for eval 'says serve "A cluster runs" || has_ended serve'
    runs serve || return 1
    mapfile -t ports < <(grep -m 1 -o '127.0.0.1:[0-9]*' serve.out | sort -u | cut -d : -f 2)
    mapfile -t nodes < <(pgrep -P "${pids[serve]}")
}
node() { redis-cli -p "${ports[$1]}" "${@:2}"; }
all_gone() {
    local pid
    for pid in "${nodes[@]}"; do
        [[ ! -e /proc/$pid ]] || return
    done
}
check_nothing_left() {
    all_gone || fail "a node runs still: ${nodes[*]}"
    [[ -z $(ls temporary) ]] || fail "left behind: $(find temporary)"
}

# ---- 1 and 2
serve --temporary
first=${ports[0]}
url=redis+cluster://127.0.0.1:$first,127.0.0.1:$((first + 1)),127.0.0.1:$((first + 2))
[[ $(cat serve.out) == "$url
export MUSTER_URL=$url MUSTER_PREFIX='{muster}'" ]] || fail "it printed: $(cat serve.out)"
((${#nodes[@]} == 3)) || fail "it runs ${#nodes[@]} nodes"
for i in 0 1 2; do
    node $i CLUSTER INFO >info
    grep -q 'cluster_state:ok' info
    grep -q 'cluster_slots_ok:16384' info
    grep -q 'cluster_known_nodes:3' info
    for key in a b c d e f g h; do # in slots of all nodes; the word is for those of others
        said=$(node $i SET $key x)
        [[ $said == OK || $said == MOVED* ]] || fail "node $i says $said"
    done
    for wanted in 'maxmemory-policy noeviction' 'protected-mode yes' 'bind 127.0.0.1' 'save ' 'appendonly no'; do
        [[ $(node $i CONFIG GET "${wanted%% *}" | tail -n +2) == "${wanted#* }" ]] || fail "node $i: not $wanted"
    done
done

# ---- 5
check_exit 1 "$MUSTER" serve --cluster --port "$first" --dir other
check_err "port $first is in use"
check_exit 1 "$MUSTER" serve --cluster --port $((first - 2)) --dir another
check_err "port $first is in use"
[[ ! -e other && ! -e another ]] || fail "left behind: $(find other another)"
for wrong in '--socket s' '--port 0' '--port 60000' '--temporary --dir d'; do
    # shellcheck disable=SC2086
    check_usage serve --cluster $wrong
done

# ---- 4
end serve TERM 0
check_nothing_left
serve --temporary
kill -KILL "${nodes[1]}"
check_end serve 1
says serve 'Redis was ended by signal 9' || fail "no reason: $(cat serve.err)"
check_nothing_left
serve --temporary
end serve KILL 137
wait_for all_gone
rm -r temporary/*
fake() {
    mkdir -p fake
    printf '#!/bin/sh\n%s\n' "$1" >fake/redis-server
    chmod +x fake/redis-server
}
fake 'echo its reason; exec sleep 1000'
check_exit 124 env PATH="$tmp/fake:$PATH" "$MUSTER" serve --cluster --temporary --timeout 3s
check_err 'its last message: its reason; give it more time with --timeout'
[[ -z $(ls temporary) ]] || fail "left behind: $(find temporary)"
# Of two that begin at once, one runs: the nodes of the other one would answer for it.
begin_slowly() {
    first=$((RANDOM % 10000 + 12000))
    start slow env PATH="$tmp/fake:$PATH" "$MUSTER" serve --cluster --dir slowly --port "$first"
    wait_for eval "((\$(pgrep -c -P ${pids[slow]} -x sleep) == 3)) || has_ended slow"
    runs slow
}
wait_for begin_slowly
start quick "$MUSTER" serve --cluster --dir quickly --port $((first - 2))
wait_for eval "says quick 'A cluster runs' || has_ended quick"
check_end quick 1
says quick "port $first is in use" || fail "it said: $(cat quick.err)"
[[ ! -e quickly ]] || fail "left behind: $(find quickly)"
end slow TERM 0

# ---- 3, and 1 as JSON
any_ports() { serve --port $((RANDOM % 10000 + 12000)) --dir data --json; }
wait_for any_ports
first=${ports[0]}
url=redis+cluster://127.0.0.1:$first,127.0.0.1:$((first + 1)),127.0.0.1:$((first + 2))
[[ $(cat serve.out) == "{\"url\":\"$url\",\"prefix\":\"{muster}\",\"dir\":\"$tmp/data\"}" ]] ||
    fail "it printed: $(cat serve.out)"
slot=$(node 0 CLUSTER KEYSLOT '{x}')
for i in 0 1 2; do
    node $i SET '{x}' kept >said
    ! grep -q OK said || owner=$i
done
to=$(((owner + 1) % 3))
node $to CLUSTER SETSLOT "$slot" IMPORTING "$(node "$owner" CLUSTER MYID)" >said
node "$owner" CLUSTER SETSLOT "$slot" MIGRATING "$(node $to CLUSTER MYID)" >said
node "$owner" MIGRATE 127.0.0.1 "${ports[$to]}" '{x}' 0 5000 >said
for i in $to "$owner"; do
    node "$i" CLUSTER SETSLOT "$slot" NODE "$(node $to CLUSTER MYID)" >said
done
check_exit 1 "$MUSTER" serve --cluster --port 7000 --dir data
check_err "'$tmp/data/node1' is in use by another"
end serve TERM 0
all_gone || fail "a node runs still"
check_exit 1 "$MUSTER" serve --cluster --port $((first + 3)) --dir data
check_err "has the ports $first to $((first + 2)): use --port $first"
mv data/node2/nodes.conf saved
cp data/node1/nodes.conf before
check_exit 1 "$MUSTER" serve --cluster --port "$first" --dir data
check_err "'$tmp/data/node2/nodes.conf', the list of the cluster's nodes, is missing"
check_exit 1 "$MUSTER" serve --cluster --port "$first" --dir data --json
check_err '{"error":"E_SYSTEM","message":'
cmp data/node1/nodes.conf before
mv saved data/node2/nodes.conf
serve --port "$first" --dir data
[[ $(node $to GET '{x}') == kept ]] || fail "not kept: $(node $to GET '{x}')"
end serve TERM 0
