#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The rooms of src/lib, and who goes in and out. Proves:
#  1. scripts/rooms.sh, which holds the law of the includes, finds nothing against it, and draws all six rooms
#  2. it refuses each way of breaking the law, by file and line: shown on a made-up tree
#  3. hiredis' functions are called in src/lib/redis, and nowhere else
#  4. nothing sends the command KEYS; an option of MIGRATE has that name, too
set -euo pipefail
# shellcheck source=tests/house/lib.sh
. "$(dirname "$0")/lib.sh"
rooms=$src/scripts/rooms.sh

# ---- 1
passes 'rooms: an include breaks the law' "$rooms"
cp "$dir/found" "$dir/drawn"
for room in client worker async protocol redis base; do
    grep -qE "^$room +[1-9][0-9]* files +-> " "$dir/drawn" || fail "rooms: $room is not drawn: $(cat "$dir/drawn")"
done
for arrow in 'client .*protocol [1-9]' 'worker .*protocol [1-9]' 'async .*protocol [1-9]' 'protocol .*redis [1-9]' 'redis .*base [1-9]' \
    'base .*nobody$'; do
    grep -qE "^$arrow" "$dir/drawn" || fail "rooms: no arrow is drawn for '$arrow': $(cat "$dir/drawn")"
done
"$rooms" --files >"$dir/drawn"
grep -qxF 'client/client.c -> client/client.h' "$dir/drawn" || fail "rooms: --files lacks a file's own header"

# ---- 2
# put FILE LINE...
put() {
    local file=$dir/tree/$1
    shift
    [[ -d ${file%/*} ]] || mkdir -p "${file%/*}"
    printf '%s\n' "$@" >"$file"
}
sound_tree() {
    local room
    rm -rf "$dir/tree"
    put include/muster/client.h ''
    for room in client worker async protocol redis base; do
        put "src/lib/$room/$room.h" ''
        put "src/lib/$room/$room.c" "#include \"$room/$room.h\"" '#include <muster/client.h>' '#include <string.h>'
    done
    put src/lib/client/two.c '#include "base/base.h"' '#include "protocol/protocol.h"' '#include "redis/redis.h"'
    put src/lib/worker/two.c '#include "base/base.h"' '#include "protocol/protocol.h"' '#include "redis/redis.h"'
    put src/lib/protocol/two.c '#include "protocol/lua_scripts.h"' '#include "redis/redis.h"' '#include "base/base.h"'
    put src/lib/redis/two.c '#include <hiredis/hiredis.h>' '#include "base/base.h"'
    put src/cli/main.h ''
    put src/cli/main.c '#include <muster/client.h>' '#include <stdio.h>' '#include "main.h"'
}
# refuses FILE INCLUDE WHY: one more file with this include
refuses() {
    put "$1" '' "#include $2"
    finds "rooms: $1 with #include $2" "$1:2: $3" "$rooms" "$dir/tree"
    rm "$dir/tree/$1"
}
sound_tree
passes 'rooms: a sound tree is refused' "$rooms" "$dir/tree"
for wrong in client:worker worker:client async:client async:worker client:async worker:async protocol:async \
    protocol:client protocol:worker redis:client redis:worker redis:protocol \
    base:client base:worker base:protocol base:redis; do
    from=${wrong%:*} to=${wrong#*:}
    refuses "src/lib/$from/bad.c" "\"$to/$to.h\"" "$from must not include $to"
    refuses "src/lib/$from/bad.h" "\"$to/$to.h\"" "$from must not include $to"
done
refuses src/lib/worker/bad.c '"worker.h"' '"worker.h" names no room'
refuses src/lib/worker/bad.c '"../client/client.h"' '"../client/client.h" names no room'
refuses src/lib/worker/bad.c '"base/../client/client.h"' '"base/../client/client.h" names no room'
refuses src/lib/worker/bad.c '"muster/client.h"' '"muster/client.h" names no room'
refuses src/lib/worker/bad.c '<client/client.h>' 'worker must not include client'
refuses src/lib/worker/bad.c '<base/base.h>' 'an include of a room stands in quotes'
refuses src/lib/worker/bad.c '"base/nothing.h"' 'there is no "base/nothing.h"'
refuses src/lib/worker/bad.c '<muster/nothing.h>' 'there is no public header <muster/nothing.h>'
refuses src/lib/worker/bad.c HEADER 'an include that a macro names'
for room in client worker async protocol base; do
    refuses "src/lib/$room/bad.c" '<hiredis/hiredis.h>' 'only src/lib/redis includes <hiredis/hiredis.h>'
done
for file in src/lib/client/bad.c src/lib/redis/bad.c src/lib/redis/url.c src/cli/bad.c src/cli/tls.c; do
    refuses "$file" '<openssl/ssl.h>' 'only src/lib/redis/tls*.c includes <openssl/ssl.h>'
done
refuses src/cli/bad.c '<hiredis/async.h>' 'only src/lib/redis includes <hiredis/async.h>'
refuses src/cli/bad.c '<event2/event.h>' 'src/cli goes round the library'
refuses src/cli/bad.c '"client/client.h"' 'src/cli includes "client/client.h", which is not its own'
refuses src/cli/bad.c '"../lib/base/base.h"' 'src/cli includes "../lib/base/base.h", which is not its own'
for file in src/lib/bad.c src/lib/attic/bad.c src/lib/base/deep/bad.c; do
    put "$file" '#include <string.h>'
    finds "rooms: $file" "$file:1: this file lies in no room" "$rooms" "$dir/tree"
    rm "$dir/tree/$file"
done

# ---- 3
calls_hiredis() { without_comments "$1" | grep -E '\b(redis[A-Z][A-Za-z]*|freeReplyObject) ?\('; }
while read -r file; do
    if [[ $file != "$src"/src/lib/redis/* ]] && calls_hiredis "$file"; then
        fail "hiredis: called in ${file#"$src/"}: only src/lib/redis calls it"
    fi
done < <(grep -lrE 'redis[A-Z]|freeReplyObject' "$src/src")
calls_hiredis "$src/src/lib/redis/redis.c" >"$dir/found" || fail 'hiredis: the search does not find it where it is called'

# ---- 4: as a quoted word of a script or program, or as a word after redis-cli
keys_command() {
    grep -rniE "[\"']keys[\"' ]|redis-cli.* keys( |$)" "$@" --include='*.[ch]' --include='*.lua' --include='*.sh' \
        --exclude="$(basename "$0")" | grep -v MIGRATE
}
! keys_command "$src"/{src,lua,examples,scripts,tests} || fail "KEYS stops Redis for everybody: page with SCAN"
put lua/bad.lua "return redis.call('KEYS', '*')"
# shellcheck disable=SC2016 # the made-up script's words
put tests/bad.sh 'redis-cli -s "$socket" keys "*"'
(($(keys_command "$dir/tree" | wc -l) == 2)) || fail "KEYS: the search does not find it"
