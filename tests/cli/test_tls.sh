#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The command over TLS, with a redis-server that speaks it. Proves:
#  1. every verb that asks Redis does its work over rediss://, and a worker gets tasks from start to stop
#  2. a wrong name, a certificate whose time is over, one signed by itself or by a stranger, a server that asks for a
#     certificate, one that does not know ours, a port without TLS: each is one clear line with status 69, also of a
#     worker; nothing is said to such a server; a file that cannot be used is named
#  3. whoever gave the right option gets through: tls_ca as a file, by a parameter and by a flag, tls_server_name,
#     tls_cert and tls_key, tls_insecure with a warning
#  4. a server that stands still is noticed by a worker as without TLS, and it goes on when that server does
#  5. no message, nor MUSTER_TRACE, shows a password
#  6. a build without TLS says so, and how to get it
#  7. CA, certificate and key are renewed in their files: a worker, a listener, and a client that waits go on with them
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
unset MUSTER_TIMEOUT # a Redis that does not answer is part of this
secret=hidden-word

# ---- 6
check_exit 2 "$MUSTER" queues --url "rediss://:$secret@127.0.0.1:1?nothing=1"
if "$MUSTER" queues --url rediss://127.0.0.1:1 2>&1 | grep -q 'this build of muster does not have'; then
    check_usage queues --url "rediss://:$secret@127.0.0.1:1"
    check_err 'build it with libssl-dev, or use a TLS tunnel and redis://'
    exit 0
fi

# ---- certificates
# quietly COMMAND...
quietly() { "$@" 2>"$tmp/openssl.err" || fail "$*: $(cat "$tmp/openssl.err")"; }
new_key() { quietly openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$tmp/$1.key"; }
# new_ca NAME
new_ca() {
    new_key "$1"
    quietly openssl req -x509 -new -key "$tmp/$1.key" -subj "/CN=$1" -days 2 -out "$tmp/$1.pem"
}
# new_cert NAME CA DAYS ALT_NAMES
new_cert() {
    new_key "$1"
    quietly openssl req -new -key "$tmp/$1.key" -subj "/CN=$1" -out "$tmp/$1.csr"
    quietly openssl x509 -req -in "$tmp/$1.csr" -CA "$tmp/$2.pem" -CAkey "$tmp/$2.key" -CAcreateserial -days "$3" \
        -extfile <(echo "subjectAltName=$4") -out "$tmp/$1.pem"
}
new_ca ours
new_ca stranger
new_cert server ours 2 DNS:localhost,IP:127.0.0.1
new_cert other ours 2 DNS:redis.example.org
new_cert old ours -1 DNS:localhost,IP:127.0.0.1
new_cert client ours 2 DNS:client
new_cert unknown stranger 2 DNS:unknown

# ---- Redis
port=$((RANDOM % 10000 + 12000))
plain=$((port + 10000))
start_redis --tls-port "$port" --port "$plain" --bind 127.0.0.1 127.0.0.2 --tls-cert-file "$tmp/server.pem" \
    --tls-key-file "$tmp/server.key" --tls-ca-cert-file "$tmp/ours.pem" --tls-auth-clients no --requirepass "$secret"
export REDISCLI_AUTH=$secret
place=rediss://:$secret@127.0.0.1:$port
good="$place?tls_ca=$tmp/ours.pem"
export MUSTER_URL=$good
# shows NAME: the server has this certificate from now on
shows() { check_redis OK CONFIG SET tls-cert-file "$tmp/$1.pem" tls-key-file "$tmp/$1.key"; }
said=$tmp/all-said
keep() { cat "$tmp/err" "$tmp/out" >>"$said"; }

# ---- 1
# does VERB [ARGUMENT...]
done=(serve web bench help completion) # those that do not ask the Redis of the URL, or only by the verbs below
does() {
    check_exit 0 "$MUSTER" "$@"
    keep
    done+=("$1")
}
does enqueue q one two three four five
does put q data --id job
does put q later --id late --delay 1h
does queues
does peek q
does pause q
does resume q
does config keep_jobs=9
does take q
process=$(cut -f1 "$tmp/out")
does ps
does extend "$process" --lease 1m
does finish "$process"
for verb in give-back retry fail; do
    does take q
    does "$verb" "$(cut -f1 "$tmp/out")"
done
does failed q
does replay q --all
does take q
does fail "$(cut -f1 "$tmp/out")"
does drop q --all
does job late
does jobs
does change late --priority 2
does cancel --job late
does stats
does batch open many
does batches
does put alone data --id awaited
does take alone
does finish "$(cut -f1 "$tmp/out")"
does wait awaited
does sweep
does upgrade
does check
start worker "$MUSTER" work served --print --id holder
wait_for says worker 'takes tasks'
does workers
start listener "$MUSTER" events
start hearer "$MUSTER" listen served
wait_for says hearer listens
for i in 1 2 3; do
    does enqueue served "task $i"
done
is_served() { grep -qx 'task 3' "$tmp/worker.out"; }
wait_for is_served
end listener TERM 0
wait_for grep -q 'task 3' "$tmp/hearer.out"
end hearer TERM 0
does fail-worker holder
is_back() { (($(grep -c 'takes tasks' "$tmp/worker.err") == 2)); }
wait_for is_back
end worker TERM 0
code=0 && "$MUSTER" doctor >"$tmp/out" 2>"$tmp/err" || code=$? # this server may lack what it wants mended
((code <= 1)) || fail "doctor ended with $code: $(cat "$tmp/err")"
grep -q '^good *messages' "$tmp/out" || fail "doctor heard no message: $(cat "$tmp/out")"
keep
python=python3
"$python" -c 'import pyte' 2>"$tmp/err" || python=/usr/bin/python3 # Debian's has it
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$(dirname "$0") "$python" - <<'PYTHON' || fail 'muster top over TLS'
import os
from screen import Screen
s = Screen([os.environ["MUSTER"], "top"])
s.wait("served")
s.type("q")
s.check_end()
PYTHON
done+=(work listen events doctor top)
does delete q --yes
list_verbs | sort >"$tmp/verbs"
printf '%s\n' "${done[@]}" | sort -u | diff "$tmp/verbs" - || fail 'these verbs are not tried over TLS'
seq 400000 | tr '\n' ' ' >"$tmp/big"
check_exit 0 "$MUSTER" enqueue big --whole <"$tmp/big"
check_exit 0 "$MUSTER" work big --print --burst
cmp <(cat "$tmp/big" && echo) "$tmp/out" || fail 'a large task came back as another'

# ---- 2
# refused WORDS URL: by a client and by a worker, which goes on trying
refused() {
    local words=$1 url=$2
    check_exit 69 "$MUSTER" queues --url "$url"
    check_err "$words"
    keep
    start refused "$MUSTER" work q --print --url "$url"
    wait_for says refused "$words"
    end refused TERM 0
    cat "$tmp/refused.err" >>"$said"
}
refused "signed by 'ours', which is not known here: give that CA by tls_ca" "$place"
refused "signed by 'ours', which is not in tls_ca" "$place?tls_ca=$tmp/stranger.pem"
refused "certificate is for localhost, 127.0.0.1, not for 127.0.0.2: connect by that name, or set tls_server_name" \
    "${good/127.0.0.1:/127.0.0.2:}&tls_server_name=127.0.0.2"
refused 'certificate is for localhost, 127.0.0.1, not for redis.example.org' "$good&tls_server_name=redis.example.org"
# A Redis without TLS waits for the rest of what it takes for a command, or refuses it.
check_plain() {
    local code=0
    "$MUSTER" queues --url "${good/:$port/:$plain}" --timeout 300ms 2>"$tmp/err" || code=$?
    [[ $code == 69 || $code == 124 ]] || fail "a port without TLS: status $code"
    grep -qE 'speaks? (no )?TLS on this port' "$tmp/err" || fail "a port without TLS: $(cat "$tmp/err")"
    keep
}
check_plain
shows old
refused "certificate (localhost, 127.0.0.1) has expired, on 20" "$good"
shows ours
refused "not for 127.0.0.1" "$good"
shows server
check_redis OK CONFIG SET tls-auth-clients yes
refused 'the server asks for a client certificate: give tls_cert and tls_key' "$good"
refused 'does not know the CA of the client certificate in tls_cert' \
    "$good&tls_cert=$tmp/unknown.pem&tls_key=$tmp/unknown.key"
refused "the server asks for a client certificate" "$good"

# ---- 3
check_exit 0 "$MUSTER" queues --url "$place" --tls-ca "$tmp/ours.pem" --tls-cert "$tmp/client.pem" --tls-key "$tmp/client.key"
check_exit 0 "$MUSTER" queues --url "$good&tls_cert=$tmp/client.pem&tls_key=$tmp/client.key"
echo of-a-client-with-a-certificate | check_exit 0 "$MUSTER" enqueue shown --tls-cert "$tmp/client.pem" --tls-key "$tmp/client.key"
check_exit 0 "$MUSTER" work shown --print --burst --tls-cert "$tmp/client.pem" --tls-key "$tmp/client.key"
grep -qx of-a-client-with-a-certificate "$tmp/out" || fail "a worker with a certificate took nothing: $(cat "$tmp/err")"
check_exit 2 "$MUSTER" queues --tls-cert "$tmp/client.pem" --tls-key "$tmp/server.key"
check_err "--tls-key: $tmp/server.key: it is not the key of the certificate $tmp/client.pem"
check_exit 2 "$MUSTER" work q --print --tls-ca "$tmp/nothing"
grep -q -- "--tls-ca: $tmp/nothing: No such file or directory" "$tmp/err" || fail "a worker says: $(cat "$tmp/err")"
check_exit 2 "$MUSTER" queues --tls-ca "$tmp/nothing"
check_err "--tls-ca: $tmp/nothing: No such file or directory"
MUSTER_TLS_CA=$tmp/nothing check_exit 2 "$MUSTER" queues
check_err "MUSTER_TLS_CA: $tmp/nothing: No such file or directory"
MUSTER_TLS_CA=$tmp/stranger.pem check_exit 69 "$MUSTER" queues --url "$place"
check_err "signed by 'ours', which is not in MUSTER_TLS_CA"
check_exit 2 "$MUSTER" queues --url "rediss://localhost?tls_ca=$tmp/nothing"
check_err "tls_ca: $tmp/nothing: No such file or directory"
check_redis OK CONFIG SET tls-auth-clients no
check_exit 0 "$MUSTER" queues --url "${good/127.0.0.1:/127.0.0.2:}" --tls-server-name localhost
mkdir "$tmp/cas"
cp "$tmp/ours.pem" "$tmp/cas/$(openssl x509 -in "$tmp/ours.pem" -noout -hash).0"
check_exit 0 "$MUSTER" queues --url "$place" --tls-ca "$tmp/cas"
shows other
check_exit 0 "$MUSTER" queues --tls-server-name redis.example.org
check_exit 0 "$MUSTER" queues --url "$place" --tls-insecure
check_err "tls_insecure: the server's certificate is not verified"
shows server

# ---- 4
start worker env MUSTER_TRACE=state,script,wake "$MUSTER" work frozen --print --ttl 600ms
wait_for says worker 'takes tasks'
kill -STOP "${pids[redis]}"
check_exit 124 "$MUSTER" queues --timeout 200ms
check_err 'no answer'
wait_for says worker 'no answer for'
kill -CONT "${pids[redis]}"
check_exit 0 "$MUSTER" enqueue frozen after-it
is_after_it() { grep -qx after-it "$tmp/worker.out"; }
wait_for is_after_it
end worker TERM 0
cat "$tmp/worker.err" >>"$said"

# ---- 7
# renew CA CERT: puts them into the files that everybody was told
renew() {
    cp "$tmp/$1.pem" "$tmp/trust.pem.new"
    cp "$tmp/$2.pem" "$tmp/mine.pem.new"
    cp "$tmp/$2.key" "$tmp/mine.key.new"
    for file in trust.pem mine.pem mine.key; do mv "$tmp/$file.new" "$tmp/$file"; done
}
renew ours client
check_redis OK CONFIG SET tls-auth-clients yes
MUSTER_URL="$place?tls_ca=$tmp/trust.pem&tls_cert=$tmp/mine.pem&tls_key=$tmp/mine.key"
does put nobody data --id kept
start worker "$MUSTER" work renewed --print
# shellcheck disable=SC2016 # $0 is for the inner shell
start hearer bash -c 'exec "$0" listen renewed 2>&1' "$checked"
start waiter "$MUSTER" wait kept --timeout 5m
wait_for says worker 'takes tasks'
wait_for grep -q listens "$tmp/hearer.out"
listens() { (($(redis CLIENT LIST TYPE pubsub | grep -c id=) == 3)); } # each of the three
wait_for listens
new_ca next
new_cert next-server next 2 DNS:localhost,IP:127.0.0.1
new_cert next-client next 2 DNS:client
renew next next-client
check_redis OK CONFIG SET tls-cert-file "$tmp/next-server.pem" tls-key-file "$tmp/next-server.key" tls-ca-cert-file "$tmp/next.pem"
redis CLIENT KILL TYPE normal SKIPME yes >"$tmp/out"
redis CLIENT KILL TYPE pubsub >"$tmp/out"
does enqueue renewed by-the-new-ones
wait_for grep -qx by-the-new-ones "$tmp/worker.out"
hears() { "$MUSTER" enqueue renewed heard >"$tmp/out" && grep -q heard "$tmp/hearer.out"; } # it may have missed the first ones
wait_for hears
does take nobody
does finish "$(cut -f1 "$tmp/out")"
check_end waiter 0
end worker TERM 0
end hearer TERM 0
cat "$tmp/worker.err" "$tmp/hearer.out" >>"$said"
check_redis OK CONFIG SET tls-auth-clients no
MUSTER_URL=$good
shows server

# ---- 5
for url in "$good" "$place" "rediss://:$secret-wrong@127.0.0.1:$port?tls_ca=$tmp/ours.pem"; do
    MUSTER_TRACE=state,script,wake "$MUSTER" enqueue q task --url "$url" >>"$said" 2>&1 || true
done
grep -q 'denied' "$said" || fail 'a wrong password was not tried'
! grep -q "$secret" "$said" || fail "a password was shown: $(grep "$secret" "$said")"
