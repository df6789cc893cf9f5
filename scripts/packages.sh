#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# packages.sh GROUP...: install those Debian packages of the named groups (build, run, test, browser, package, clang,
# lint) that are missing.
#
# Decides what muster needs and why; says nothing when all of it is there. The program or library counts, not the
# package: a cmake or a Redis of one's own is as good. Needs root or sudo only if something is missing. The services
# that come with the packages redis-server and prometheus are kept from starting now and at boot. An installed service
# stays as it is.
set -euo pipefail

# group, package, what shows that it is there (a program, a file, or a pkg-config name with .pc), what it is for
needed() {
    cat <<'LIST'
build  gcc             gcc                   compiles muster
build  libc6-dev       /usr/include/stdio.h  headers of the C library
build  cmake           cmake                 makes the build
build  make            make                  runs the build
build  pkg-config      pkg-config            finds the libraries
build  libhiredis-dev  hiredis.pc            talks to Redis
build  libevent-dev    libevent_core.pc      the loop that a worker lives on
build  libcjson-dev    libcjson.pc           writes the command's JSON
build  libssl-dev      openssl.pc            TLS
build  libncurses-dev  ncursesw.pc           muster top
build  libjs-chart.js  /usr/share/javascript/chart.js/chart.min.js  the charts of muster web
run    redis-server    redis-server          where queues live
run    redis-tools     redis-cli             shows what is in Redis
test   libcmocka-dev   cmocka.pc             runs the C tests
test   g++             g++                   compiles the tests and examples in C++
test   iproute2        ip                    cuts a network of a test's own
test   openssl         openssl               makes the certificates of tests
test   python3         python3               gives a shell a terminal to type into
test   python3-pip     /usr/lib/python3/dist-packages/pip  installs the Python package
test   python3-mypy    /usr/lib/python3/dist-packages/mypy  checks its types
test   python3-pyte    /usr/lib/python3/dist-packages/pyte  shows what a program draws on it
test   tzdata          /usr/share/zoneinfo/Europe/Berlin  the time zones of schedules
test   python3-croniter /usr/lib/python3/dist-packages/croniter  schedules, by somebody else's program
test   abigail-tools   abidiff               compares the library's interface with its baseline
test   prometheus      promtool              reads the metrics
test   zsh             zsh                   completes what is typed
test   fish            fish                  the same
test   mandoc          mandoc                finds what is wrong in a manual page
test   spin            spin                  goes through the states of the model in doc/model
browser chromium        chromium              shows the pages to their tests
browser chromium-driver chromedriver          drives it
browser python3-selenium /usr/lib/python3/dist-packages/selenium  what the tests drive it with
node   nodejs          node                  runs the tests of the Node binding
node   npm             npm                   brings what they need
package debhelper      dh                    builds the Debian packages
package dpkg-dev       dpkg-buildpackage     the same
package lintian        lintian               finds what is wrong in them
package debootstrap    debootstrap           makes an empty Debian to try them on
clang  clang           clang                 a second compiler's opinion
lint   clang-format    clang-format          the form of the C files
lint   shellcheck      shellcheck            checks the shell scripts
lint   lua-check       luacheck              checks the Lua scripts
lint   lua5.1          luac5.1               their syntax, as Redis reads it
LIST
}

is_there() {
    case $1 in
    /*) [[ -e $1 ]] ;;
    *.pc) pkg-config --exists "${1%.pc}" 2>/dev/null ;;
    *) command -v "$1" >/dev/null ;;
    esac
}

find_missing() {
    local group package sign why
    while read -r group package sign why; do
        if [[ " $* " == *" $group "* ]] && ! is_there "$sign"; then
            missing+=("$package")
            reasons+=("$(printf '  %-15s %s' "$package" "$why")")
        fi
    done < <(needed)
}

# A package may start its service only if policy-rc.d allows it. A file that is there is somebody's decision and stays.
# Our file names Redis alone: if a power cut leaves it there, it keeps nothing else from starting.
policy=/usr/sbin/policy-rc.d
install_quietly() {
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    if [[ " ${missing[*]} " =~ " "(redis-server|prometheus)" " && ! -e $policy ]]; then
        trap 'rm -f "$log" "$policy"' EXIT
        trap 'exit 130' INT
        trap 'exit 143' TERM HUP
        printf '#!/bin/sh\ncase "$*" in *redis-server*|*prometheus*) exit 101 ;; esac\nexit 0\n' >"$policy"
        chmod 755 "$policy"
        echo "The service of ${BASH_REMATCH[1]} is kept from starting: nobody asked for it."
    fi
    # Lists of packages that are empty or old show only when an install fails, so that is when they are fetched.
    if ! apt_get install "${missing[@]}" >"$log" 2>&1; then
        if ! { apt_get update && apt_get install "${missing[@]}"; } >"$log" 2>&1; then
            cat "$log" >&2
            echo "packages.sh: could not install ${missing[*]}: see apt-get's messages above" >&2
            return 1
        fi
    fi
    local service
    for service in redis-server prometheus; do
        if [[ " ${missing[*]} " == *" $service "* ]]; then
            update-rc.d "$service" disable >/dev/null 2>&1 || true
        fi
    done
}

apt_get() {
    DEBIAN_FRONTEND=noninteractive apt-get -y -q --no-install-recommends -o DPkg::Lock::Timeout=300 "$@"
}

main() {
    local missing=() reasons=()
    find_missing "$@"
    if ((${#missing[@]} == 0)); then
        return 0
    fi
    if ! command -v apt-get >/dev/null; then
        echo "packages.sh: missing what these Debian packages hold: ${missing[*]}; install it and try again" >&2
        return 1
    fi
    if ((EUID != 0)); then
        if ! command -v sudo >/dev/null; then
            echo "packages.sh: missing: ${missing[*]}; as root: apt-get install ${missing[*]}" >&2
            return 1
        fi
        exec sudo "$BASH" "${BASH_SOURCE[0]}" "$@"
    fi
    echo "Installing with apt-get:"
    printf '%s\n' "${reasons[@]}"
    install_quietly
}

main "$@"
