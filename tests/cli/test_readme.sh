#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What README.md shows is true. Proves:
#  1. each of its blocks of commands is run here, or begins with ```sh and a word for what it is instead: build, install
#     or test
#  2. the tour runs from its first command to its last, in one shell, as it stands there; the command that is refused
#     there is the only one that fails; it leaves nothing behind
#  3. the worker with the id attic starts as it stands there, and works
#  4. the two programs, compiled as they stand there: the producer enqueues; what the worker has finished is written
#     even if it is killed then; both find Redis by MUSTER_URL, and say so if there is none or the URL is wrong
#  5. its programs in C++, Python and Node stand so in their manuals, whose tests run them
set -eu
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC2154 # tmp is lib.sh's
cd "$tmp"
readme=$MUSTER_SOURCE/README.md
cp "$MUSTER_SOURCE"/*.md .
PATH=$(dirname "$MUSTER"):$PATH

# ---- 1
# blocks IN_TOUR: the commands of all blocks to run that are, or are not, in the section of the tour
blocks() {
    awk -v wanted="$1" '
        /^## / { in_tour = $0 == "## Two minutes with the command" }
        /^```/ { inside = $0 == "```sh" && in_tour == wanted; next }
        inside' "$readme"
}
kinds=$(sed -n 's/^```sh *//p' "$readme" | sort -u | paste -sd' ')
[[ $kinds == ' build install test' ]] || fail "other kinds of blocks than build, install, test and those to run: $kinds"
blocks 1 >tour
blocks 0 >others
(($(wc -l <tour) > 40)) || fail "the tour is not found any more: $(cat tour)"
[[ $(cat others) == 'muster work files --id attic '* && $(wc -l <others) == 1 ]] ||
    fail "a block outside the tour that this test does not run: $(cat others)"

# ---- 2: a shell with job control, as at a terminal; each command that fails leaves a line
cat >shell <<'END'
set -m
trap 'echo "$BASH_COMMAND" >>failed' ERR
. ./tour
wait
END
: >failed
start tour bash ./shell
check_end tour 0
[[ $(cat failed) == 'muster put print --id pack-17 "parcel 17"' ]] || fail "these failed: $(cat failed tour.err)"
grep -q "muster put: the job 'pack-17' is waiting" tour.err || fail "not refused in words: $(cat tour.err)"
for said in '2 enqueued, 2 waiting' 'mail to ann, by ' 'mail to bob, by ' 'mail to cid, by ' ' README.md' 'no-data' \
    '12 kg' 'ship-17: changed'; do
    grep -qF -- "$said" tour.out || fail "the tour did not print '$said': $(cat tour.out)"
done
[[ ! -e tour.sock ]] || fail 'its Redis is there still'

# ---- 3
start_redis
check_exit 0 muster enqueue files README.md
start attic bash -c "$(sed 's/^muster/exec muster/' others)"
wait_for grep -q ' README.md$' attic.out
check_exit 0 muster workers --json
grep -q '"worker":"attic".*"permanent":true' out || fail "no such worker: $(cat out)"
end attic TERM 0

# ---- 4
producer=$MUSTER_EXAMPLES/readme_producer worker=$MUSTER_EXAMPLES/readme_worker
check_exit 0 "$producer"
check_redis 'to ann' LRANGE muster:queues:mail 0 -1
start worker "$worker"
wait_for redis_is 0 EXISTS muster:queues:mail
wait_for redis_is 0 HGET muster:queue:mail running
end worker KILL 137
[[ $(cat worker.out) == 'to ann' ]] || fail "finished, and not written: '$(cat worker.out)'"
check_exit 1 env MUSTER_URL=redis://h:0 "$producer"
check_err 'MUSTER_URL: '
check_exit 1 env MUSTER_URL=redis://h:0 "$worker"
check_err 'MUSTER_URL: '
export MUSTER_URL=unix://$tmp/nobody
check_exit 1 "$producer"
check_err "E_CONN: "
start worker "$worker"
wait_for says worker 'no connection to Redis'
end worker TERM 143
(($(wc -l <worker.err) == 1)) || fail "more than a line: $(cat worker.err)"

# ---- 5
# programs FILE LANGUAGE: its blocks in this language, one behind the other
programs() { sed -n "/^\`\`\`$2\$/,/^\`\`\`\$/p" "$1"; }
for manual in cpp:doc/cpp.md python:bindings/python/README.md js:bindings/node/README.md; do
    programs "$readme" "${manual%%:*}" >shown
    programs "$MUSTER_SOURCE/${manual#*:}" "${manual%%:*}" >told
    (($(grep -c '^```$' shown) == 2)) || fail "not two programs in ${manual%%:*}: $(cat shown)"
    # What the manual has that the README has not is left out; a line that is only in the README is one too many.
    ! diff told shown | grep '^>' >extra || fail "${manual#*:} does not have these lines of README.md: $(cat extra)"
done
