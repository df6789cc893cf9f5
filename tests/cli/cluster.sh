# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# A private Redis Cluster for the tests of the command: nodes on loopback, numbered from 0, masters first. They die with
# the test, as all that lib.sh starts.
#
# Sourced, after lib.sh. The C tests have tests/support/redis_cluster.h.
declare -a ports=()

# node I COMMAND...: asks a node
node() { redis-cli -p "${ports[$1]}" "${@:2}"; }
node_answers() { [[ $(node "$1" PING 2>/dev/null) == PONG ]]; }
node_runs() { [[ ${pids[node$1]-} ]] && runs "node$1"; }
answers_or_ended() { node_answers "$1" || has_ended "node$1"; }

# A port below those that the kernel draws, so that it is still free when the node comes again.
start_node() {
    local i=$1 try
    for ((try = 0; try < 20; try++)); do
        ports[i]=$((RANDOM % 10000 + 12000))
        # shellcheck disable=SC2154 # tmp is lib.sh's
        mkdir -p "$tmp/node$i"
        restart_node "$i" && return
    done
    fail "no free ports for node $i: $(tail -n 3 "$tmp/node$i.out")"
}

# restart_node I: again on the same port, with what its folder has
restart_node() {
    start "node$1" redis-server --port "${ports[$1]}" --bind 127.0.0.1 --dir "$tmp/node$1" --save '' --appendonly no \
        --cluster-enabled yes --cluster-node-timeout 2000 --cluster-announce-ip 127.0.0.1 --repl-diskless-sync-delay 0
    wait_for answers_or_ended "$1"
    node_answers "$1"
}

# start_cluster MASTERS REPLICAS_EACH: returns when it is well; MUSTER_URL and MUSTER_PREFIX lead to it
start_cluster() {
    local masters=$1 n=$(($1 * (1 + $2))) i
    for ((i = 0; i < n; i++)); do
        start_node "$i"
        node "$i" CLUSTER SET-CONFIG-EPOCH $((i + 1)) >/dev/null
    done
    for ((i = 1; i < n; i++)); do
        node 0 CLUSTER MEET 127.0.0.1 "${ports[i]}" >/dev/null
    done
    wait_for all_know "$n"
    for ((i = 0; i < n; i++)); do
        if ((i < masters)); then
            node "$i" CLUSTER ADDSLOTSRANGE $((16384 * i / masters)) $((16384 * (i + 1) / masters - 1)) >/dev/null
        else
            node "$i" CLUSTER REPLICATE "$(node $((i % masters)) CLUSTER MYID)" >/dev/null
        fi
    done
    wait_for cluster_is_well
    MUSTER_URL=redis+cluster://$(printf ',127.0.0.1:%s' "${ports[@]}" | cut -c 2-)
    export MUSTER_URL MUSTER_PREFIX='{mail}'
}

# all_know N: does every node that runs know so many, and reach them?
all_know() {
    local i
    for i in "${!ports[@]}"; do
        if node_runs "$i"; then
            (($(node "$i" CLUSTER NODES | grep -v handshake | grep -c ' connected') == $1)) || return
        fi
    done
}

# Do the nodes that run say that all is well?
cluster_is_well() {
    local i
    for i in "${!ports[@]}"; do
        if node_runs "$i"; then
            node "$i" CLUSTER INFO | grep -q 'cluster_state:ok' || return
            node "$i" INFO replication | grep -qE 'role:master|master_link_status:up' || return
        fi
    done
}

# slot_of KEY; owner_of SLOT: prints the node that has it, as node 0 says
slot_of() { node 0 CLUSTER KEYSLOT "$1"; }
owner_of() {
    local port i
    port=$(node 0 CLUSTER NODES | awk -v slot="$1" '{
        for (i = 9; i <= NF; i++) {
            split($i, range, "-")
            if ($i !~ /^\[/ && slot + 0 >= range[1] + 0 && slot + 0 <= (range[2] == "" ? range[1] : range[2]) + 0) {
                split($2, address, /[:@]/)
                print address[2]
            }
        }
    }')
    for i in "${!ports[@]}"; do
        if ((ports[i] == port)); then
            echo "$i"
        fi
    done
}

# move_slot SLOT TO: with its keys, ten at a time
move_slot() {
    local from keys i
    from=$(owner_of "$1")
    node "$2" CLUSTER SETSLOT "$1" IMPORTING "$(node "$from" CLUSTER MYID)" >/dev/null
    node "$from" CLUSTER SETSLOT "$1" MIGRATING "$(node "$2" CLUSTER MYID)" >/dev/null
    while mapfile -t keys < <(node "$from" CLUSTER GETKEYSINSLOT "$1" 10) && [[ -n ${keys[0]-} ]]; do
        node "$from" MIGRATE 127.0.0.1 "${ports[$2]}" '' 0 60000 KEYS "${keys[@]}" >/dev/null
    done
    for i in "$2" "$from"; do
        node "$i" CLUSTER SETSLOT "$1" NODE "$(node "$2" CLUSTER MYID)" >/dev/null
    done
}
