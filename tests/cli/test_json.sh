#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The shapes of --json. Proves:
#  1. each row has the keys that doc/json.md lists for its command: no other, and none is missing but those with a `?`;
#     the page has a row for each command that prints rows, and for no other
#  2. a refusal is an object on standard error with `error` and `message`, also one of wrong usage, and standard output
#     has none of it; a note has no `error`, and what the library warns of is one
#  3. of a long task, or data, lists have the beginning and how many bytes there are; the help of each of them says so
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
start_redis
page=$MUSTER_SOURCE/doc/json.md
shapes=$tmp/shapes
mkdir "$shapes"

# see LABEL ARGUMENT...: runs the verb with --json; its rows belong to the page's row with this label
see() {
    check_exit 0 "$MUSTER" "${@:2}" --json
    [[ -s $tmp/out ]] || fail "$*: no row"
    cat "$tmp/out" >>"$shapes/$1"
}
take() { "$MUSTER" take "$1" --lease 1h "${@:2}" | cut -f 1; }

# ---- 1
see enqueue enqueue q a b c d e f g h
see 'enqueue --unique' enqueue q --unique u
see put put kept data --id j1 --tag t
"$MUSTER" put q data --id j2 --after j1 --delay 1h >"$tmp/said"
"$MUSTER" put q data --id j3 --every 1h --offset 1h >"$tmp/said"
see peek peek q
see queues queues
start w "$MUSTER" work other --id w --print
wait_for says w 'takes tasks'
see workers workers
see take take q --lease 1h
see ps ps
see finish finish "$(take q)" --result x
see give-back give-back "$(take q)"
see retry retry "$(take q)" --delay 1h
"$MUSTER" enqueue slow x >"$tmp/said"
"$MUSTER" retry "$(take slow)" --delay 1h >"$tmp/said"
"$MUSTER" put waited data --id w1 --retries 0 >"$tmp/said"
"$MUSTER" put waited data --id w2 >"$tmp/said"
"$MUSTER" fail "$(take waited)" --group g --message m >"$tmp/said"
"$MUSTER" finish "$(take waited)" --result r >"$tmp/said"
check_exit 3 "$MUSTER" wait w1 w2 never --json
cat "$tmp/out" >"$shapes/wait"
start sized "$MUSTER" work sized --id sized --result stdout -- sh
see 'put --wait' put sized 'echo x' --wait
check_exit 1 "$MUSTER" put sized 'exit 1' --wait --json --retries 0
cat "$tmp/out" >>"$shapes/put --wait"
see 'enqueue --wait' enqueue sized 'echo x' --wait
check_exit 1 "$MUSTER" enqueue sized 'exit 1' --wait --json
cat "$tmp/out" >>"$shapes/enqueue --wait"
end sized TERM 0
see 'peek --delayed' peek slow --delayed
see extend extend "$(take q)" --lease 1h --progress half
for _ in 1 2 3; do see fail fail "$(take q)" --group g --message m; done
see failed failed
see 'failed QUEUE' failed q
see replay replay q -n 1
see drop drop q -n 1
see 'cancel QUEUE' cancel q h
see 'cancel --process' cancel --process "$(take q)"
see 'batch open' batch open outer --on-end q --on-complete q --on-failure q
"$MUSTER" batch open inner --batch outer --ttl 1h >"$tmp/said"
"$MUSTER" put batched data --id m1 --batch inner >"$tmp/said"
see batch batch inner
see batches batches
see 'batch close' batch close inner
see 'batch cancel' batch cancel outer
see batch batch outer
"$MUSTER" put batched --lines --json <<<'data' >"$shapes/put --lines"
see jobs jobs
see 'jobs --state' jobs --queue q --state recurring
see 'jobs --tags' jobs --tags
see job job j1 j2 j3
"$MUSTER" put waited data --id w3 --after-failure w1 --after w2 --after never --may-be-missing >"$tmp/said"
see 'job --parents' job w3 --parents
see change change j1 --track
see 'cancel --job' cancel --job j1 j2
see pause pause q
see resume resume q
see stats stats --queue q
see config config
see 'config NAME=VALUE' config keep_jobs=9
see sweep sweep
see upgrade upgrade
check_exit 1 "$MUSTER" doctor --json
cat "$tmp/out" >"$shapes/doctor"
redis HSET muster:config max_crashes bad >"$tmp/said"
check_exit 1 "$MUSTER" check --json
cat "$tmp/out" >>"$shapes/check"
redis DEL muster:config >"$tmp/said"
"$MUSTER" enqueue printed x >"$tmp/said"
see 'work --print' work printed --print --burst
see fail-worker fail-worker w
see delete delete q --yes
start events "$MUSTER" events
wait_for says events listens
"$MUSTER" put q data --id tracked --track >"$tmp/said"
wait_for test -s "$tmp/events.out"
cat "$tmp/events.out" >>"$shapes/events"
start listen "$MUSTER" listen other --json
wait_for says listen listens
"$MUSTER" enqueue other x >"$tmp/said"
wait_for test -s "$tmp/listen.out"
cat "$tmp/listen.out" >>"$shapes/listen"
start serve "$MUSTER" serve --temporary --socket "$tmp/other.sock" --json
wait_for test -s "$tmp/serve.out"
cat "$tmp/serve.out" >>"$shapes/serve"
end serve TERM 0
python3 - "$page" "$shapes" <<'PYTHON' >"$tmp/differences" || fail "doc/json.md and the command differ: $(cat "$tmp/differences")"
import json, os, re, sys
page = {}
for line in open(sys.argv[1]):
    row = re.fullmatch(r"\| `muster ([^`]*)` \| ((?:`\w+`\??,? ?)+)\|.*\n", line)
    if row:
        page[row[1]] = dict((key, mark) for key, mark in re.findall(r"`(\w+)`(\??)", row[2]))
differences = []
for label in sorted(set(page) ^ set(os.listdir(sys.argv[2]))):
    differences.append(f"{label}: {'not run' if label in page else 'not on the page'}")
for label in os.listdir(sys.argv[2]):
    seen, keys = {}, page.get(label, {})
    rows = [json.loads(line) for line in open(os.path.join(sys.argv[2], label))]
    for row in rows:
        for key in row:
            seen[key] = seen.get(key, 0) + 1
    for key in seen:
        if re.sub("_base64$", "", key) not in keys:
            differences.append(f"{label}: the page lacks {key}; the row has: " +
                               ", ".join(f"`{k}`" for k in rows[0]))
    for key, mark in keys.items():
        if not mark and seen.get(key, 0) < len(rows):
            differences.append(f"{label}: {key} is missing")
print("\n".join(differences))
sys.exit(len(differences) > 0)
PYTHON

# ---- 2
# check_refusal CODE ERROR ARGUMENT...: one object with this error; nothing on standard output. By the variable, too.
check_refusal() {
    check_exit "$1" "$MUSTER" "${@:3}" --json
    is_refusal "$@"
    check_exit "$1" env MUSTER_JSON=1 "$MUSTER" "${@:3}"
    is_refusal "$@"
}
is_refusal() {
    check_out ''
    python3 -c 'import json, sys
line = json.loads(open(sys.argv[1]).read())
assert list(line) == ["error", "message"] and line["error"] == sys.argv[2] and line["message"], line' "$tmp/err" "$2" ||
        fail "'${*:3}': not $2: $(cat "$tmp/err")"
}
"$MUSTER" put r data --id alive >"$tmp/said"
check_refusal 4 E_EXISTS put r data --id alive
check_refusal 1 E_LOST finish .lease:00000000001:q
check_refusal 3 E_NOT_FOUND job nothing
check_refusal 3 E_NOT_FOUND take nothing
check_refusal 3 E_NOT_FOUND delete nothing --yes
check_refusal 2 E_INVALID queues --frobnicate
check_refusal 2 E_INVALID queues --timeout 5
check_refusal 2 E_INVALID put q --id a --id b
check_refusal 2 E_INVALID take q -n
check_refusal 2 E_INVALID take q -n 0
check_refusal 2 E_INVALID take q -x
check_refusal 2 E_INVALID take
check_refusal 2 E_INVALID queus
check_refusal 2 E_INVALID ''
check_refusal 69 E_CONN queues --url "unix://$tmp/nobody"
check_refusal 124 E_TIMEOUT work q --print --url "unix://$tmp/nobody" --timeout 50ms --log none
check_refusal 1 E_SYSTEM put q <&-
check_exit 2 "$MUSTER" --json
python3 -c 'import json, sys; assert json.loads(open(sys.argv[1]).read())["error"] == "E_INVALID"' "$tmp/err"
check_refusal 3 E_NOT_FOUND ps --queue unknown
check_exit 0 "$MUSTER" pause unknown --json
[[ $(cat "$tmp/err") == '{"message":"there is no queue '"'unknown'"' yet; it begins paused"}' ]] || fail "not a note: $(cat "$tmp/err")"
# A key of a wrong type is in the way of each list, or it is warned of, and the list goes on.
"$MUSTER" enqueue odd a b c --prefix odd >"$tmp/said"
"$MUSTER" put odd data --id j --tag t --prefix odd >"$tmp/said"
"$MUSTER" batch open b --prefix odd >"$tmp/said"
"$MUSTER" fail "$("$MUSTER" take odd --lease 1h --prefix odd | cut -f 1)" --prefix odd >"$tmp/said"
"$MUSTER" take odd --lease 1h --prefix odd >"$tmp/said"
redis --scan --pattern 'odd:*' >"$tmp/keys"
while read -r key; do
    redis RENAME "$key" aside >"$tmp/said"
    redis EVAL 'redis.call(unpack(ARGV))' 0 SADD "$key" x >"$tmp/said"
    for list in queues ps failed 'failed odd' jobs 'jobs --queue odd' 'jobs --tags' batches; do
        # shellcheck disable=SC2086 # words
        "$MUSTER" $list --prefix odd --json >"$tmp/out" 2>>"$tmp/warnings" || true
    done
    redis RENAME aside "$key" >"$tmp/said"
done <"$tmp/keys"
python3 - "$tmp/warnings" <<'PYTHON' || fail 'a line is no object, or there is no note'
import json, sys
assert sum("error" not in json.loads(line) for line in open(sys.argv[1])) > 0
PYTHON

# ---- 3
head -c 70000 /dev/zero | tr '\0' a >"$tmp/long"
for queue in waits returns held failed; do "$MUSTER" enqueue "$queue" --whole <"$tmp/long" >"$tmp/said"; done
"$MUSTER" retry "$(take returns)" --delay 1h >"$tmp/said"
take held >"$tmp/said"
"$MUSTER" fail "$(take failed)" --group g >"$tmp/said"
"$MUSTER" put jobs --id long <"$tmp/long" >"$tmp/said"
# check_beginning VERB ARGUMENT...
check_beginning() {
    local shown
    check_exit 0 "$MUSTER" "$@" --json
    shown=$(sed -nE 's/.*"len":70000,.*"(task|data)":"(a*)".*/\2/p' "$tmp/out")
    ((${#shown} == 65536)) || fail "$*: ${#shown} bytes: $(cut -c 1-400 "$tmp/out")"
    check_exit 0 "$MUSTER" "$1" --help
    grep -q '64 KiB' "$tmp/out" || fail "the help of $1 does not say that it shows the beginning"
}
check_beginning peek waits
check_beginning peek returns --delayed
check_beginning ps --queue held
check_beginning failed failed
check_beginning jobs --queue jobs --state waiting
check_beginning job long --head
