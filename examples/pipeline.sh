#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# pipeline.sh: films go through a pipeline of jobs: each is fetched, then encoded twice; when all are encoded, they are
# published together. One of two workers is killed in the middle, and nothing is lost.
#
#   a batch     has all of it: a fetch puts two encodings into the batch of its own job; what follows is put once
#   a rate      no more than 20 fetches a second begin, over all workers
#   a schedule  next time it begins by itself, at three in the morning
#   results     what a step prints is its job's result; its last lines on standard error are the message of a failure
set -euo pipefail
shopt -s nullglob
here=$(readlink -f "${BASH_SOURCE[0]}")

usage() {
    cat <<'TEXT'
Usage: pipeline.sh DIR [N]

Puts N films (default 12) through the queues fetch, encode and publish of the namespace `pipeline`, with two workers of
its own; DIR gets the files. MUSTER_URL, if set, says where Redis is. It ends when the films are published.
TEXT
}

# ---- what the workers run: the task is on standard input; a job that runs again does the same again

# An encoding that was put already, because this fetch ran before, is refused (exit status 4): that is well.
fetch() {
    local film size
    film=$(cat)
    sleep 0.1
    echo "$film" >"$dir/$film.raw"
    for size in small large; do
        muster put encode "$film $size" --id "$film-$size" --batch "$MUSTER_BATCH" >&2 || (($? == 4))
    done
}

encode() {
    local film size
    read -r film size <<<"$(cat)"
    sleep 0.05
    tr '[:lower:]' '[:upper:]' <"$dir/$film.raw" >"$dir/.$film.$size"
    mv "$dir/.$film.$size" "$dir/$film.$size" # whole, or not at all
    echo "$film.$size"
}

publish() {
    local files=("$dir"/*.small "$dir"/*.large)
    echo "published ${#files[@]} files"
}

# ---- the pipeline

start_worker() {
    muster work fetch encode publish --id "$1" -c 3 --ttl 1s --result stdout --log none -- "$here" step "$dir" 2>>"$dir/log" &
    workers[$1]=$!
}

end_workers() {
    kill "${workers[@]}" 2>/dev/null || true
    wait 2>/dev/null
}

main() {
    declare -gA workers=()
    local batch film encoded fetches=("${films[@]/%/-fetch}") encodings=("${films[@]/%/-small}" "${films[@]/%/-large}")
    muster config --queue fetch rate=20/1s 2>/dev/null
    muster put fetch film-next --id nightly --cron '0 3 * * *' --zone Europe/Berlin --replace >/dev/null
    batch=$(muster batch open --on-complete publish --on-failure alarm)
    for film in "${films[@]}"; do
        echo "{\"id\": \"$film-fetch\", \"data\": \"$film\", \"batch\": \"$batch\"}"
    done | muster put fetch --json-lines >/dev/null
    trap end_workers EXIT
    start_worker ann
    start_worker bob
    until encoded=("$dir"/*.small) && ((${#encoded[@]} > 0)); do sleep 0.1; done
    kill -KILL "${workers[bob]}"
    start_worker cid
    muster wait "${fetches[@]}" >/dev/null # they put the encodings: before that nothing may be closed
    muster batch close "$batch" >/dev/null
    muster wait "${encodings[@]}" >/dev/null
    muster wait "$batch-complete"
}

if [[ ${1:-} == step ]]; then
    dir=$2
    "$MUSTER_QUEUE"
    exit
elif (($# < 1 || $# > 2)) || [[ $1 == --help ]]; then
    usage >&2
    exit 2
fi
dir=$(readlink -f "$1")
mapfile -t films < <(seq -f film-%g "${2:-12}")
export MUSTER_PREFIX=pipeline
mkdir -p "$dir"
main
