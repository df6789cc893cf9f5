#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The rules of examples/users.acl, one for each role. Proves:
#  1. each is enough for all that its role does: Redis denies nothing, and each call ends as it should
#  2. each right in it is needed: without it Redis denies something that the role does
#  3. no role does another's work: a viewer changes nothing, a producer and a viewer are not woken
#  4. doctor finds a role well by its rule, and names each command of it that is taken away
#  5. the user for everything has the rights of the others together
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
start_redis
secret=a-long-password
users=$MUSTER_SOURCE/examples/users.acl

# ---- what a step is made of
# admin VERB...: with all rights; prepares
admin() { "$MUSTER" "$@" >"${tmp:?}/admin" 2>"$tmp/admin.err" </dev/null || true; }
process_of() { admin take "$@" && cut -f 1 "$tmp/admin"; }
# The dashboard asks the server what it is, and says it if a viewer may not; lists ask a script to cut long tasks, and
# read them whole if a viewer may run none: these are no rights that he misses.
is_denied() {
    [[ -n $(redis ACL LOG 1) ]] || return 1
    [[ $url != unix://viewer:* ]] || log | sed -E 's/command (info|evalsha)//g' | grep -q '[a-z]'
}
# try STATUS VERB...: as the role. What went wrong is remembered; a denial ends the step.
try() {
    local want=$1 code=0
    shift
    MUSTER_URL=$url "$MUSTER" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null || code=$?
    ((code == want)) || echo "muster $* ended with $code: $(cat "$tmp/err")" >>"$tmp/wrong"
    ! is_denied
}
# background NAME VERB...: as the role
background() { start "$1" env MUSTER_URL="$url" "$MUSTER" "${@:2}"; }
or_denied() { is_denied || "$@"; }
# leave NAME: it ends by SIGTERM; one that was denied something may go on trying, and is killed.
leave() {
    local signal=TERM
    ! is_denied || signal=KILL
    kill "-$signal" "${pids[$1]}" || true
    wait "${pids[$1]}" || true
    unset "pids[$1]"
} 2>/dev/null
is_gone() { redis_is 0 EXISTS "$@"; }
listens_to() { [[ $(redis PUBSUB "$1" "$2") == *1 ]]; }

# ---- what the roles do. A step is a function ROLE_NAME; each begins on an empty Redis.
producer_tasks() {
    try 0 enqueue mail one && try 0 enqueue mail two three --request r1 && try 0 enqueue mail four --unique
}
producer_jobs() {
    try 0 put mail --id a data --tag t --track && try 0 put mail --id b data --after a &&
        try 0 put mail --id c data --delay 1h && try 0 put mail --id d data --every 1h &&
        try 0 put mail --id a more --replace && try 0 put mail --id b more --replace
}
producer_confirmed() {
    try 74 put mail --id a data --replicas 1 --timeout 2s && try 74 put mail --id a data --replicas 1 --timeout 2s
}
producer_tells_all() { tells_all enqueue mail one; }
producer_wakes() {
    start worker env MUSTER_URL="unix://$socket" "$MUSTER" work mail --id w --ttl 1h -- true
    wait_for redis_is 1 ZCARD muster:idle:mail
    try 0 enqueue mail one || true
    leave worker
}

elsewhere() { # in another database the channels tell the database
    url+='?db=3'
    try 0 put mail --id a data && try 0 "$@"
}
# tells_all VERB...: all that wait for a task of this queue are told of it
tells_all() {
    start waiter env MUSTER_URL="unix://$socket" "$MUSTER" take mail --wait 1h
    wait_for listens_to NUMSUB muster_mail_work
    admin config --queue mail broadcast=1
    [[ $1 == enqueue ]] || { admin pause mail && admin enqueue mail one; }
    try 0 "$@" || true
    leave waiter
}
producer_elsewhere() {
    start waiter env MUSTER_URL="unix://$socket?db=3" "$MUSTER" take mail --wait 1h
    wait_for listens_to NUMSUB muster@3_mail_work
    admin config --queue mail broadcast=1 --url "unix://$socket?db=3"
    elsewhere enqueue mail one || true
    leave waiter
}

look() {
    admin put mail --id a data --tag t --track
    admin put mail --id b data --after a
    admin enqueue mail one two
    admin fail "$(process_of mail)" --group g
    admin take mail --lease 1h
    redis RPUSH muster:queues:foreign x >"$tmp/said"
    redis ZADD muster:registry 1 w >"$tmp/said"
    redis HSET muster:worker:w epoch 1 queues mail >"$tmp/said"
    try 0 queues && try 0 workers && try 0 ps && try 0 peek mail && try 0 failed && try 0 failed mail &&
        try 0 job a b && try 0 jobs && try 0 jobs --queue mail --state depends && try 0 jobs --tag t &&
        try 0 jobs --tags && try 0 stats && try 0 stats --queue mail && try 0 config && try 0 config --queue mail
}
events() {
    background events events --timeout 1h
    wait_for or_denied listens_to NUMSUB muster:events
    leave events
}
listens() { says web 'listens at'; }
web() { # OPTION...
    local port
    admin enqueue mail one
    background web web --listen 127.0.0.1:0 "$@"
    wait_for listens
    port=$(grep -oE '[0-9]+/$' "$tmp/web.err" | tr -d /)
    wait_for or_denied answers "$port" muster_queue_tasks
    for path in /healthz /api/queues /api/workers /api/jobs; do
        is_denied || python3 "$(dirname "$0")/web_ask.py" "$port" GET "$path" >"$tmp/out" </dev/null
        is_denied || grep -q 200 "$tmp/out" || echo "GET $path: $(cat "$tmp/out")" >>"$tmp/wrong"
    done
    leave web
}
answers() { python3 "$(dirname "$0")/web_ask.py" "$1" GET /metrics </dev/null | grep "^$2" >"$tmp/said"; }
# silent VERB...: it hears nothing, and asks whether Redis is there
silent() {
    background silent "$@"
    wait_for or_denied has_asked
    leave silent
}
has_asked() { redis INFO commandstats | grep -q '^cmdstat_ping:'; }
viewer_looks() { look; }
viewer_web() { web --read-only; }
viewer_elsewhere() {
    url+='?db=3'
    try 0 queues
}

worker_leases() {
    admin enqueue q 1 2 3 4
    admin put q --id k data --backoff 0s
    try 0 take q --lease 1m && try 0 extend "$(cut -f 1 "$tmp/out")" --lease 10m --progress half &&
        try 0 finish "$(process_of q)" && try 0 retry "$(process_of q)" && try 0 fail "$(process_of q)" --group g &&
        try 0 give-back "$(process_of q)" && try 0 cancel q 4 && try 0 change k --priority 3 --log said &&
        try 0 finish "$(process_of q)" --result x
}
worker_sweeps() {
    redis ZADD muster:registry 1 dead >"$tmp/said"
    redis ZADD muster:ttls 100 dead >"$tmp/said"
    redis HSET muster:worker:dead epoch 1 queues slow >"$tmp/said"
    background worker work slow --id w --ttl 200ms -- sleep 9
    wait_for or_denied is_gone muster:worker:dead
    leave worker
}
worker_cancel() {
    admin enqueue slow a b
    background worker work slow --id w --ttl 300ms --drain 0s -- sleep 9
    wait_for or_denied redis_is 1 LLEN muster:queues:slow
    admin cancel slow a
    wait_for or_denied is_gone muster:queues:slow
    leave worker
}
worker_waits() {
    background waiter take other --wait 1h
    wait_for or_denied listens_to NUMSUB muster_other_work
    admin enqueue other one
    wait_for or_denied has_ended waiter
    leave waiter
}
worker_hears() {
    background worker work mail --id w --ttl 1h --print
    wait_for or_denied redis_is 1 ZCARD muster:idle:mail
    admin enqueue mail one
    wait_for or_denied is_gone muster:queues:mail
    leave worker
}
worker_burst() {
    admin put mail --id j1 0
    admin put mail --id j2 0 --after j1
    admin put mail --id j3 1 --retries 1 --backoff 10ms
    admin put mail --id r 0 --every 1h
    admin put mail --id late 0 --delay 50ms
    admin enqueue mail 0 1 75
    # shellcheck disable=SC2016
    background worker work mail --burst --ttl 300ms -c 2 --prefetch 1 --retry-delay 10ms -- sh -c 'exit $(cat)'
    wait_for or_denied has_ended worker
    leave worker
}
worker_silent() { silent take other --wait 1h; }
worker_elsewhere() {
    url+='?db=3'
    background waiter take other --wait 1h
    wait_for or_denied listens_to NUMSUB muster@3_other_work
    leave waiter
}

operator_tells_all() { tells_all resume mail; }
operator_acts() {
    admin enqueue q 1 2 3 4 5 6
    admin put r --id k data
    admin put r --id l data --after k
    admin fail "$(process_of q)" --group g
    admin fail "$(process_of q)" --group g
    try 0 pause q && try 0 resume q && try 0 config --queue q keep_jobs=9 &&
        try 0 config --queue q --unset keep_jobs && try 0 replay q --group g && admin fail "$(process_of q)" --group g &&
        try 0 drop q --all && try 0 cancel q 4 && try 0 change k --priority 3 --tag +x --log said &&
        try 0 cancel --job l && try 0 cancel --job k && try 3 fail-worker nobody && try 0 sweep &&
        try 0 delete q --yes
}
operator_checks() {
    admin enqueue q x
    redis HSET muster:processing:nobody:q 00000000001 lost >"$tmp/said"
    admin put q --id k data
    try 1 check && try 0 check --repair && try 0 upgrade
}
operator_wakes() {
    start worker env MUSTER_URL="unix://$socket" "$MUSTER" work mail --id w --ttl 1h --print
    wait_for redis_is 1 ZCARD muster:idle:mail
    admin pause mail
    admin enqueue mail one
    try 0 resume mail || true
    leave worker
}
operator_looks() { look; }
operator_events() { events; }
operator_listens() {
    background listen listen mail --timeout 1h
    wait_for or_denied listens_to NUMSUB muster_mail_done
    leave listen
}
operator_silent() { silent events --timeout 1h; }
operator_web() { web; }
operator_elsewhere() {
    url+='?db=3'
    admin enqueue mail one
    start waiter env MUSTER_URL="unix://$socket?db=3" "$MUSTER" take mail --wait 1h
    wait_for listens_to NUMSUB muster@3_mail_work
    admin config --queue mail broadcast=1 --url "unix://$socket?db=3"
    admin pause mail --url "unix://$socket?db=3"
    admin enqueue mail one --url "unix://$socket?db=3"
    try 0 resume mail || true
    leave waiter
}
operator_doctor() {
    redis CONFIG SET appendonly yes >"$tmp/said"
    wait_for is_written
    try 0 doctor --role operator
}
is_written() { redis INFO persistence | grep -q 'aof_rewrite_in_progress:0'; }

# ---- rules
rule_of() { sed -n "s/^user $1 on //p" "$users"; }
steps_of() { sed -n "s/^\($1_[a-z_]*\)() {.*/\1/p" "$0"; } # in the order of this file: quick ones first
# give ROLE RIGHT...: these rights alone
give() {
    redis ACL SETUSER "$1" reset on ">$secret" "${@:2}" >"$tmp/said"
    [[ $(cat "$tmp/said") == OK ]] || fail "Redis refuses the rule of $1: $(cat "$tmp/said")"
}
# run STEP: as the role in its name
run() {
    url=unix://${1%%_*}:$secret@$socket
    redis FLUSHALL >"$tmp/said"
    redis SCRIPT FLUSH >"$tmp/said"
    redis CONFIG RESETSTAT >"$tmp/said"
    redis ACL LOG RESET >"$tmp/said"
    : >"$tmp/wrong"
    "$1" || true
}
log() { redis ACL LOG | grep -A 1 -E '^(object|reason)$' | grep -vE '^(--|object|reason)$' | paste -sd ' '; }
# Scripts of the role that take a way which no step leads them.
scripts_of() {
    case $1 in
    producer) echo "$MUSTER_BUILD"/lua/{enqueue,put}.lua ;;
    viewer) ;;
    worker) find "$MUSTER_BUILD/lua" -name '*.lua' | grep -vE '/(check_|upgrade_|delete|config|pause|replay|drop)' ;;
    operator) find "$MUSTER_BUILD/lua" -name '*.lua' ;;
    esac
}
granted_to() { # ROLE: each command, by a right of its own or by one of a group
    local right
    for right in $(rule_of "$1"); do
        case $right in
        +@*) redis ACL CAT "${right#+@}" ;;
        +*) echo "${right#+}" ;;
        esac
    done | sort -u
}
called_by() {
    scripts_of "$1" | tr ' ' '\n' | xargs -r grep -ohE "(call|try)\('[A-Z]+'" | grep -oE '[A-Z]{2,}' | sort -u
}
# Was this command called when all was allowed? What is no single command may be used by each step.
uses() { [[ $2 != +[a-z]* ]] || grep -qxF -- "${2#+}" "$tmp/used.$1"; }
is_needed() { # ROLE RIGHT STEP...
    local step
    for step in "${@:3}"; do
        uses "$step" "$2" || continue
        run "$step"
        ! is_denied || return 0
    done
    called_by "$1" | grep -qxiF -- "${2#+}"
}

# names ROLE RIGHT: does doctor name this right, which the role has not?
names() {
    MUSTER_URL=unix://$1:$secret@$socket "$MUSTER" doctor --role "$1" >"$tmp/out" 2>"$tmp/err" || true
    grep -F 'ACL SETUSER USER ' "$tmp/out" | grep -qF -- " $2"
}

for role in producer viewer worker operator; do
    read -ra rights < <(rule_of "$role")
    mapfile -t steps < <(steps_of "$role")
    give "$role" "${rights[@]}"
    # ---- 1
    for step in "${steps[@]}"; do
        run "$step"
        ! is_denied || fail "$step: denied: $(log)"
        [[ ! -s $tmp/wrong ]] || fail "$step: $(cat "$tmp/wrong")"
        redis INFO commandstats | sed -n 's/^cmdstat_\([a-z|]*\):.*/\1/p' >"$tmp/used.$step"
    done
    halves=$(comm -23 <(called_by "$role" | tr '[:upper:]' '[:lower:]') <(granted_to "$role"))
    [[ ! $halves ]] || fail "scripts that $role runs would stop in their middle: $halves"
    MUSTER_URL=unix://$role:$secret@$socket "$MUSTER" doctor --role "$role" >"$tmp/out" 2>"$tmp/err" || true
    grep -q '^good  *rights' "$tmp/out" || fail "doctor --role $role: $(cat "$tmp/out" "$tmp/err")"
    # ---- 2 and 4
    for right in "${rights[@]}"; do
        [[ $right != resetchannels && $right != -@all ]] || continue
        less=()
        for other in "${rights[@]}"; do [[ $other == "$right" ]] || less+=("$other"); done
        give "$role" "${less[@]}"
        is_needed "$role" "$right" "${steps[@]}" || fail "$role does not need $right"
        [[ $right == '&'* || $right =~ ^\+(select|wait|role|subscribe|ssubscribe)$ ]] || names "$role" "$right" ||
            fail "doctor --role $role does not name $right: $(cat "$tmp/out" "$tmp/err")"
    done
done

# ---- 3: what would be a write, with keys that it may read
read -ra rights < <(rule_of viewer)
give viewer "${rights[@]}"
url=unix://viewer:$secret@$socket
for call in 'enqueue mail x' 'put mail x' 'take mail' 'pause mail' 'config keep_jobs=1' 'delete mail --yes' 'events'; do
    redis ACL LOG RESET >"$tmp/said"
    # shellcheck disable=SC2086 # its words
    try 77 $call || true
    [[ -n $(redis ACL LOG 1) ]] || fail "a viewer may do $call"
done
[[ ! -s $tmp/wrong ]] || fail "$(cat "$tmp/wrong")"

# ---- 5
together=$({ rule_of producer && rule_of worker && rule_of operator; } | tr ' ' '\n' | sort -u)
[[ $(rule_of muster | tr ' ' '\n' | sort) == "$together" ]] || fail "muster has not the rights of the others: $together"
