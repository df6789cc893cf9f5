#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# rooms.sh [--files] [ROOT]: print which rooms of src/lib include which, and how often; refuse an include that the law
# forbids, by file and line. ROOT is the checkout, by default this one.
#
# The law stands in may_include() below: a room includes itself, the rooms named there, and nothing above. Every include
# in quotes names its room. The public headers, <muster/...>, are everybody's. Only redis/ includes hiredis,
# only its tls*.c OpenSSL. The command in src/cli includes the public headers and its own, and of the dashboard in src/web
# web/web.h and web/status.h; the dashboard includes the command's headers, its own, and libevent's. Exit status 1: something
# breaks the law, and is on standard error.
set -euo pipefail
export LC_ALL=C

may_include() {
    cat <<'LAW'
client    protocol redis base
worker    protocol redis base
async     protocol redis base
protocol  redis base
redis     base
base
LAW
}

mode=rooms
case ${1:-} in
--files)
    mode=files
    shift
    ;;
-*)
    echo 'Usage: scripts/rooms.sh [--files] [ROOT]' >&2
    exit 2
    ;;
esac
root=${1:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)}
cd "$root"

# All of src/lib, whatever the file is called and wherever it lies: what stands outside of a room must be found, too.
folders=(src/lib src/cli)
if [[ -d src/web ]]; then
    folders+=(src/web)
fi
mapfile -t files < <(find "${folders[@]}" -type f \( -name '*.[ch]' -o -name '*.inc' \) | sort)

# The headers that can be included. The build makes protocol/lua_scripts.h.
there() {
    (cd src/lib && find . -type f -name '*.h' | sed 's,^\./,lib ,')
    (cd src/cli && find . -type f -name '*.h' | sed 's,^\./,cli ,')
    if [[ -d src/web ]]; then
        (cd src/web && find . -type f -name '*.h' | sed 's,^\./,web ,')
    fi
    (cd include && find muster -type f -name '*.h' | sed 's,^,public ,')
    echo 'lib protocol/lua_scripts.h'
    echo 'web web_pages.h'
}

awk -v mode="$mode" '
    function refuse(why) {
        print FILENAME ":" FNR ": " why > "/dev/stderr"
        refused = 1
    }

    # A line of the law: a room and those that it may include.
    what == "law" {
        rooms[++n_rooms] = $1
        may[$1, $1] = 1
        for (i = 2; i <= NF; i++)
            may[$1, $i] = 1
        known[$1] = 1
        next
    }
    what == "there" { is_there[$1, $2] = 1; next }

    FNR == 1 {
        split(FILENAME, path, "/")
        room = path[2] == "lib" ? path[3] : ""
        if (path[2] == "lib" && (!(room in known) || path[5] != "" || path[4] == ""))
            refuse("this file lies in no room")
        n_files[room]++
        short = FILENAME
        sub(/^src\/lib\//, "", short)
    }
    /^[ \t]*#[ \t]*include/ {
        name = $0
        sub(/^[ \t]*#[ \t]*include[ \t]*/, "", name)
        quote = substr(name, 1, 1)
        name = substr(name, 2)
        sub(/[">].*/, "", name)
        if (quote != "\"" && quote != "<")
            refuse("an include that a macro names")
        else if (path[2] == "cli")
            check_command()
        else if (path[2] == "web")
            check_dashboard()
        else
            check_room()
    }

    function check_command() {
        if (quote == "\"" && !(("cli", name) in is_there) && name != "web/web.h" && name != "web/status.h")
            refuse("src/cli includes \"" name "\", which is not its own")
        else if (quote == "<")
            check_outside(0)
    }
    function check_dashboard() {
        if (quote == "\"" && !(("cli", name) in is_there) && !(("web", name) in is_there))
            refuse("src/web includes \"" name "\", which is neither its own nor the command'"'"'s")
        else if (quote == "<")
            check_outside(0)
    }
    function check_room(  to) {
        to = name
        sub(/\/.*/, "", to)
        if (quote == "<" && !(to in known)) {
            check_outside(room == "redis")
        } else if (!(to in known) || name !~ /^[a-z_]+\/[a-z_0-9]+\.h$/) {
            refuse("\"" name "\" names no room")
        } else if (!(("lib", name) in is_there)) {
            refuse("there is no \"" name "\"")
        } else if (!((room, to) in may)) {
            refuse(room " must not include " to ": \"" name "\"")
        } else if (quote == "<") {
            refuse("an include of a room stands in quotes: \"" name "\"")
        } else {
            if (room != to)
                arrows[room, to]++
            if (mode == "files")
                print short " -> " name
        }
    }
    function check_outside(may_use_hiredis) {
        if (name ~ /^muster\// && !(("public", name) in is_there))
            refuse("there is no public header <" name ">")
        else if (name ~ /^hiredis/ && !may_use_hiredis)
            refuse("only src/lib/redis includes <" name ">")
        else if (name ~ /^openssl/ && short !~ /^redis\/tls[a-z_]*\.[ch]$/)
            refuse("only src/lib/redis/tls*.c includes <" name ">")
        else if (path[2] == "cli" && name ~ /^event/)
            refuse("src/cli goes round the library: <" name ">")
    }

    END {
        if (mode == "rooms") {
            for (i = 1; i <= n_rooms; i++) {
                line = ""
                for (j = 1; j <= n_rooms; j++)
                    if ((rooms[i], rooms[j]) in arrows)
                        line = line (line == "" ? "" : ", ") rooms[j] " " arrows[rooms[i], rooms[j]]
                printf "%-9s %2d files  -> %s\n", rooms[i], n_files[rooms[i]], line == "" ? "nobody" : line
            }
        }
        exit refused
    }' what=law <(may_include) what=there <(there) what=source "${files[@]}"
