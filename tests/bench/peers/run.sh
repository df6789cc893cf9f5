#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# run.sh [--json] [--rounds N] [SYSTEM...]: muster beside what one would pick instead, in one run.
#
# Installs all of it into the folder `installed` beside this file, which git ignores, and nothing into the system but
# node and npm if they are missing: Debian's packages are unpacked there, so no service of theirs ever starts. What
# cannot be had is left out, and the table says so. compare.js does the rest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

root=$(cd ../../.. && pwd)
installed=$PWD/installed
debian=$installed/debian
debian_packages=(beanstalkd gearman-job-server librabbitmq-dev python3-celery python3-redis python3-rq rabbitmq-server
    ruby-sidekiq)
json=()
rounds=5
systems=()

usage() {
    cat <<'TEXT'
Usage: tests/bench/peers/run.sh [--json] [--rounds N] [SYSTEM...]

Measures muster beside other queues: how fast one producer enqueues tasks of 100 bytes, how fast one worker process with
a handler that does nothing works them off, how long a single task takes to the handler of an idle worker, and what of
the server's CPU a task costs. Every server is started for the run and has no disk to write to.
SYSTEM is beanstalkd, gearman, rabbitmq, bullmq, bee-queue, sidekiq, celery or rq; by default all.
Exit status 0: measured; 1: something went wrong, or what came out is not what went in; 2: wrong use.
TEXT
}

parse() {
    while (($# > 0)); do
        case $1 in
        --help) usage && exit 0 ;;
        --json) json=(--json) ;;
        --rounds)
            rounds=${2:-}
            shift
            ;;
        beanstalkd | gearman | rabbitmq | bullmq | bee-queue | sidekiq | celery | rq) systems+=("$1") ;;
        *) rounds= ;;
        esac
        shift || true
    done
    if ! [[ $rounds =~ ^[1-9][0-9]?$ ]]; then
        usage >&2
        exit 2
    fi
}

say() { echo "run.sh: $*" >&2; }

# What a command prints is of interest if it fails.
quietly() { "$@" >"$tmp/log" 2>&1 || { cat "$tmp/log" >&2 && return 1; }; }

install_node() {
    if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
        say "installing nodejs and npm with apt-get"
        quietly apt-get -y -q --no-install-recommends install nodejs npm ||
            { say "needs node and npm: as root, apt-get install nodejs npm" && exit 1; }
    fi
}

# The packages and all that they need and this system lacks.
unpack_debian() {
    local packages package
    packages=$(apt-get -s -q --no-install-recommends install "$@" | awk '$1 == "Inst" { print $2 }') || return
    mkdir "$tmp/debs"
    # shellcheck disable=SC2086 # names have no spaces
    [[ -z $packages ]] || (cd "$tmp/debs" && apt-get download $packages) || return
    find "$tmp/debs" -name '*.deb' -print0 | xargs -0 -r -I DEB dpkg -x DEB "$debian" || return
    for package in "$@"; do
        echo "$package $(apt-cache show --no-all-versions "$package" | sed -n 's/^Version: \([0-9.]*\).*/\1/p')"
    done >"$debian/versions"
}

install_debian() {
    if [[ $(cut -d' ' -f1 "$debian/versions" 2>/dev/null) != "$(printf '%s\n' "${debian_packages[@]}")" ]]; then
        say "unpacking Debian's packages into $debian"
        rm -rf "$debian" && mkdir "$debian"
        quietly unpack_debian "${debian_packages[@]}" ||
            say "goes on without ${debian_packages[*]}: see above; apt-get update may help"
    fi
}

npm_versions() {
    node -p 'Object.entries(require("./package.json").dependencies).map((d) => d.join(" ")).join("\n")'
}

install_npm() {
    if ! cmp -s package-lock.json "$installed/package-lock.json"; then
        say "installing npm's packages into $installed"
        cp package.json "$installed"
        cp package-lock.json "$tmp"
        cp package-lock.json "$installed"
        if (cd "$installed" && quietly npm install --ignore-scripts --legacy-peer-deps --no-audit --no-fund); then
            npm_versions >"$installed/npm-versions"
            cp "$tmp/package-lock.json" "$installed"
        else
            rm -f "$installed/package-lock.json" "$installed/npm-versions"
            say "goes on without BullMQ, Bee-Queue and muster for Node: see above"
        fi
    fi
}

build() {
    cmake -S . -B "$installed/build" -DCMAKE_BUILD_TYPE=RelWithDebInfo && cmake --build "$installed/build" -j "$(nproc)"
}

# Runs at the same time install one after the other.
install_all() {
    local lock
    mkdir -p "$installed"
    exec {lock}>"$installed/lock"
    flock "$lock"
    "$root/scripts/packages.sh" build run
    install_node
    install_debian
    install_npm
    quietly build || { say "the build failed: see above" && exit 1; }
    cat "$debian/versions" "$installed/npm-versions" >"$installed/versions" 2>/dev/null || true
    exec {lock}>&-
}

# Unpacked programs find what belongs to them.
set_paths() {
    local lib=$debian/usr/lib libs gems
    libs=$lib/$(gcc -print-multiarch)
    gems=$(printf '%s:' "$debian"/usr/share/rubygems-integration/all/gems/*/lib)
    export PEERS_INSTALLED=$installed
    export PATH=$debian/usr/bin:$debian/usr/sbin:/usr/bin:/usr/sbin:$PATH
    export LD_LIBRARY_PATH=$libs
    export PYTHONPATH=$root/bindings/python:$lib/python3/dist-packages PYTHONDONTWRITEBYTECODE=1
    export MUSTER_LIBRARY=$installed/build/muster/libmuster.so
    export RUBYLIB=$gems$lib/ruby/vendor_ruby:$lib/ruby/3.1.0:$libs/ruby/3.1.0
    export NODE_PATH=$installed/node_modules
}

# In the background, so that a signal reaches this shell at once; compare.js ends its servers before itself.
compare=
clean_up() {
    if [[ -n $compare ]]; then
        kill "$compare" 2>/dev/null || true
        wait "$compare" || true
    fi
    rm -rf "$tmp"
}

parse "$@"
tmp=$(mktemp -d "${TMPDIR:-/tmp}/muster-peers.XXXXXX")
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

install_all
set_paths
mkdir "$tmp/servers"
setpriv --pdeathsig TERM node compare.js --dir "$tmp/servers" --rounds "$rounds" "${json[@]}" "${systems[@]}" &
compare=$!
wait "$compare"
