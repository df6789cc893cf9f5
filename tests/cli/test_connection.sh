#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What the command says about its connection, beside the URL. Proves:
#  1. a password comes from the first line of the file that MUSTER_PASSWORD_FILE names, for a client and a worker, alone
#     or for the user in the URL; also from a pipe; and it is in no message, argument or environment
#  2. a file that cannot be used is refused before anything is connected to, in words that name it: it is not there, a
#     directory, empty, too long, with a NUL, or others can read it; so is a second password
#  3. an option that has no effect is refused, also by the verbs that do not connect; --replicas has a form
#  4. help shows all of it in a group of its own
#  5. each common option has a variable, but for --help and --version: it does what the option does, and the option wins;
#     a wrong one is refused by its name; verbs that do not connect do not look at those of a connection
#  6. doc/operations.md has all variables in one table
#  7. a Unix socket whose queue of connections is full is tried again until the time is over, and then told as what it is
#  8. a password that is changed, in Redis and in its file: a worker, a listener and a client that waits go on with it; one
#     that cannot be read meanwhile is told
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
unset MUSTER_TIMEOUT # a Redis that does not answer is part of this

secret='s3cret %@:/word'
start_redis --requirepass "$secret"
printf '%s\nnot this line\n' "$secret" >"$tmp/password"
chmod 600 "$tmp/password"

# ---- 1
check_exit 77 "$MUSTER" queues
export MUSTER_PASSWORD_FILE=$tmp/password
echo one | check_exit 0 "$MUSTER" enqueue mail
check_exit 0 "$MUSTER" work mail --print --burst
grep -qx one "$tmp/out" || fail "the worker took nothing: $(cat "$tmp/out")"
check_exit 0 "$MUSTER" queues --url "unix://default@$socket"
MUSTER_PASSWORD_FILE=<(echo "$secret") check_exit 0 "$MUSTER" queues
printf %s "$secret" >"$tmp/without-newline"
chmod 400 "$tmp/without-newline"
MUSTER_PASSWORD_FILE=$tmp/without-newline check_exit 0 "$MUSTER" queues
start worker "$MUSTER" work mail -- true
is_ready() { grep -q 'takes tasks' "$tmp/worker.err"; }
wait_for is_ready
tr '\0' '\n' <"/proc/${pids[worker]}/environ" >"$tmp/seen"
tr '\0' '\n' <"/proc/${pids[worker]}/cmdline" >>"$tmp/seen"
! grep -qF "$secret" "$tmp/seen" || fail 'the password can be seen from outside'
end worker TERM 0
! grep -qF s3cret "$tmp/worker.err" || fail 'the password is in a message'
# A pipe has it once, for all that the verb connects with.
start listener env MUSTER_PASSWORD_FILE=<(echo "$secret") "$checked" listen mail
wait_for eval 'says listener listens || has_ended listener'
end listener TERM 0
start web env MUSTER_PASSWORD_FILE=<(echo "$secret") "$checked" web --listen 127.0.0.1:0
wait_for eval 'says web "listens at" || has_ended web'
is_well() { "${web_ask[@]}" /healthz | grep -q '"state":"well"' && "${web_ask[@]}" /api/queues | grep -q '"mail"'; }
web_ask=(python3 "$(dirname "$0")/web_ask.py" "$(grep -oE '[0-9]+/$' "$tmp/web.err" | tr -d /)" GET)
wait_for is_well
end web TERM 0

# ---- 2
# refuses FILE WORDS
refuses() {
    MUSTER_PASSWORD_FILE=$1 check_usage queues
    check_err "MUSTER_PASSWORD_FILE: $1: $2"
    MUSTER_PASSWORD_FILE=$1 check_usage work mail --print
    MUSTER_PASSWORD_FILE='' MUSTER_SENTINEL_PASSWORD_FILE=$1 check_usage queues
    check_err "MUSTER_SENTINEL_PASSWORD_FILE: $1: $2"
}
refuses "$tmp/nothing" 'No such file or directory'
refuses "$tmp" 'Is a directory'
: >"$tmp/empty"
printf '\nsecond\n' >"$tmp/empty-line"
head -c 4097 /dev/zero | tr '\0' x >"$tmp/long"
printf 'a\0b\n' >"$tmp/nul"
chmod 600 "$tmp"/{empty,empty-line,long,nul}
refuses "$tmp/empty" 'its first line, the password, is empty'
refuses "$tmp/empty-line" 'its first line, the password, is empty'
refuses "$tmp/long" 'its first line is no password'
refuses "$tmp/nul" 'its first line is no password'
for mode in 640 604; do
    chmod "$mode" "$tmp/password"
    refuses "$tmp/password" 'others can read it: chmod 600 it first'
done
chmod 600 "$tmp/password"
check_exit 2 "$MUSTER" queues --url "unix://:other@$socket"
check_err 'there is a password in the URL already'
MUSTER_PASSWORD_FILE='' check_exit 2 "$MUSTER" queues --url "unix://default@$socket"
check_err 'there is a user but no password'
MUSTER_PASSWORD_FILE='' MUSTER_SENTINEL_PASSWORD_FILE=$tmp/password check_exit 2 "$MUSTER" queues
check_err 'MUSTER_SENTINEL_PASSWORD_FILE: sentinel_password is for Sentinel only'
printf '%s\r\n' "$secret" >"$tmp/crlf"
chmod 620 "$tmp/crlf"
MUSTER_PASSWORD_FILE=$tmp/crlf check_exit 0 "$MUSTER" queues
mkfifo "$tmp/fifo"
refuses "$tmp/fifo" 'its first line, the password, is empty'
refuses /dev/null 'it is neither a file nor a pipe'

# ---- 3
for option in --tls-ca=x --tls-cert=x --tls-key=x --tls-server-name=x --tls-insecure; do
    check_exit 2 "$MUSTER" queues "$option"
    check_err "${option%=x} needs TLS"
    check_exit 2 "$MUSTER" work mail --print "$option"
    check_err "${option%=x} needs TLS"
done
for option in --tls-ca=x --tls-insecure --replicas=1 --fsync; do
    check_usage serve --temporary "$option"
    check_err "${option%=*}: it has no effect"
    check_usage bench "$option"
    check_err "${option%=*}: the benchmark does not take it"
done
for wrong in '' 0 101 x 1x '1,' ,1 1,0 1,3600001 1,1,1 -1 ' 1'; do
    check_usage queues "--replicas=$wrong"
    check_err '--replicas: it must be N or N,MS'
done

check_exit 0 "$MUSTER" queues --url "unix://$socket?replicas=1%2C500"
check_exit 2 "$MUSTER" queues --url "unix://$socket?replicas=1%2C"
check_err 'replicas must be N or N,MS'

# ---- 4
for verb in bench serve; do
    check_exit 0 "$MUSTER" "$verb" --help
    ! grep -q -e --fsync -e --tls -e MUSTER_PASSWORD_FILE "$tmp/out" || fail "$verb's help tells what it refuses"
done
check_exit 0 "$MUSTER" queues --help
awk '/^Connection:/ { on = 1 } /^Examples:/ { on = 0 } on' "$tmp/out" >"$tmp/group"
for words in '--password-file FILE' '--sentinel-password-file FILE' '--tls-ca FILE' '--tls-cert FILE' '--tls-key FILE' '--tls-server-name NAME' '--tls-insecure' \
    '--replicas N\[,MS\]' '--fsync' MUSTER_PASSWORD_FILE MUSTER_SENTINEL_PASSWORD_FILE; do
    grep -q -- "$words" "$tmp/group" || fail "help does not tell $words under Connection"
done

# ---- 5
check_exit 0 "$MUSTER" help
awk '/^Common options:/ { on = 1 } /^Exit codes:/ { on = 0 } on' "$tmp/out" >"$tmp/common"
(($(grep -cE '^ .* --' "$tmp/common") == $(grep -oE '\[MUSTER_[A-Z_]+\]' "$tmp/common" | wc -l) + 2)) ||
    fail "an option has no variable: $(cat "$tmp/common")"
unset MUSTER_PASSWORD_FILE
check_exit 0 "$MUSTER" queues --password-file "$tmp/password"
printf 'wrong\n' >"$tmp/wrong"
chmod 600 "$tmp/wrong"
MUSTER_PASSWORD_FILE=$tmp/wrong check_exit 77 "$MUSTER" queues
MUSTER_PASSWORD_FILE=$tmp/wrong check_exit 0 "$MUSTER" queues --password-file "$tmp/password"
check_usage queues --password-file ''
check_err '--password-file: it names no file'
check_exit 2 "$MUSTER" queues --sentinel-password-file "$tmp/password"
check_err '--sentinel-password-file: sentinel_password is for Sentinel only'
export MUSTER_PASSWORD_FILE=$tmp/password
MUSTER_JSON=1 check_exit 0 "$MUSTER" queues
grep -q '^{"queue":' "$tmp/out" || fail "no JSON: $(cat "$tmp/out")"
for no in 0 ''; do
    MUSTER_JSON=$no check_exit 0 "$MUSTER" queues
    grep -q '^NAME' "$tmp/out" || fail "JSON with MUSTER_JSON=$no: $(cat "$tmp/out")"
done
for flag in JSON TLS_INSECURE FSYNC; do
    check_exit 2 env "MUSTER_$flag=yes" "$MUSTER" queues
    check_err "MUSTER_$flag: it must be 1 or 0"
done
check_exit 2 env MUSTER_TIMEOUT=5 "$MUSTER" queues
check_err "MUSTER_TIMEOUT: '5' is not a duration"
MUSTER_TIMEOUT=5 check_exit 0 "$MUSTER" queues --timeout 5s
check_exit 124 env MUSTER_URL="unix://$tmp/nobody" MUSTER_TIMEOUT=100ms "$MUSTER" work mail --print
check_exit 2 env MUSTER_REPLICAS=x "$MUSTER" queues
check_err 'MUSTER_REPLICAS: it must be N or N,MS'
for variable in MUSTER_TLS_CA=x MUSTER_TLS_CERT=x MUSTER_TLS_KEY=x MUSTER_TLS_SERVER_NAME=x MUSTER_TLS_INSECURE=1; do
    check_exit 2 env "$variable" "$MUSTER" queues
    check_err 'needs TLS'
done
for variable in MUSTER_TLS_CA=x MUSTER_REPLICAS=1 MUSTER_FSYNC=1; do
    check_exit 0 env "$variable" "$MUSTER" bench --help
    check_exit 2 env -u MUSTER_PASSWORD_FILE "$variable" "$MUSTER" bench --list
    check_err "${variable%=*}: the benchmark does not take it"
    check_exit 0 env -u MUSTER_URL -u MUSTER_PASSWORD_FILE "$variable" "$MUSTER" bench --list
done
MUSTER_REPLICAS=1 check_exit 74 "$MUSTER" enqueue mail two --timeout 400ms

# ---- 6: the common ones, and those of a verb
for verb in $(list_verbs); do "$MUSTER" "$verb" --help; done | grep -oE '\[MUSTER_[A-Z_]+\]' | tr -d '[]' | sort -u >"$tmp/help"
# shellcheck disable=SC2016 # backquotes are Markdown
sed -nE 's/^\| `(MUSTER_[A-Z_]+)` \|.*/\1/p' "$MUSTER_SOURCE/doc/operations.md" | sort >"$tmp/table"
comm -23 "$tmp/help" "$tmp/table" >"$tmp/missing"
[[ -s $tmp/help && ! -s $tmp/missing ]] || fail "the table of doc/operations.md lacks: $(cat "$tmp/missing")"

# ---- 7
if command -v python3 >"$tmp/out"; then
    start_full_socket "$tmp/full.sock"
    check_exit 75 env -u MUSTER_PASSWORD_FILE MUSTER_URL="unix://$tmp/full.sock" "$MUSTER" queues --timeout 300ms
    check_err 'too many wait for a connection'
    start waits env -u MUSTER_PASSWORD_FILE MUSTER_URL="unix://$tmp/full.sock" "$MUSTER" queues --timeout 5m
    ln -sf "$socket" "$tmp/full.link"
    mv -T "$tmp/full.link" "$tmp/full.sock" # at no moment is there no socket
    check_end waits 77 # that Redis wants a password
else
    echo 'passed over: a full socket, without python3'
fi

# ---- 8
start worker "$MUSTER" work changed --print
# shellcheck disable=SC2016 # $0 is for the inner shell
start hearer bash -c 'exec "$0" listen changed 2>&1' "$checked"
check_exit 0 "$MUSTER" put nobody data --id awaited
start waiter "$MUSTER" wait awaited --timeout 5m
as_before() { REDISCLI_AUTH=$secret redis "$@"; }
as_now() { REDISCLI_AUTH='another one' redis "$@"; }
listens() { (($(as_before CLIENT LIST TYPE pubsub | grep -c id=) == 3)); } # each of the three
wait_for says worker 'takes tasks'
wait_for grep -q listens "$tmp/hearer.out"
wait_for listens
rm "$tmp/password"
as_before CLIENT KILL TYPE normal SKIPME yes >"$tmp/out"
wait_for says worker "password_file: $tmp/password: No such file or directory; the password from before is used"
as_before CONFIG SET requirepass 'another one' >"$tmp/out"
echo 'another one' >"$tmp/password.new"
chmod 600 "$tmp/password.new"
mv "$tmp/password.new" "$tmp/password"
as_now CLIENT KILL TYPE normal SKIPME yes >"$tmp/out"
as_now CLIENT KILL TYPE pubsub >"$tmp/out"
check_exit 0 "$MUSTER" enqueue changed by-the-new-one
wait_for grep -qx by-the-new-one "$tmp/worker.out"
hears() { "$MUSTER" enqueue changed heard >"$tmp/out" && grep -q heard "$tmp/hearer.out"; } # it may have missed the first ones
wait_for hears
check_exit 0 "$MUSTER" take nobody
check_exit 0 "$MUSTER" finish "$(cut -f1 "$tmp/out")"
check_end waiter 0
end worker TERM 0
end hearer TERM 0
