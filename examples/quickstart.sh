#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# quickstart.sh: muster works on this machine's own files, a worker is killed in the middle, and the result proves
# that nothing was lost.
#
# Builds muster, starts a Redis of its own (Unix socket, thrown away at the end), enqueues some thousands of file names
# as tasks, and lets four workers run sha256sum on them. Kills one worker with kill -9 while it holds tasks, and
# compares the result with plain `xargs sha256sum`. Each run of a task leaves a record in two files, `begun` and `done`;
# all figures come from these files, not from muster's own counters. Leaves no process and no temporary file behind.
set -euo pipefail
export LC_ALL=C

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
files=${QUICKSTART_FILES:-3000}
workers=(ann bob cid dot)
victim=bob
hands=2

usage() {
    cat <<'TEXT'
Usage: examples/quickstart.sh [--files N]

Installs what is missing (Debian; root or sudo), builds into build/release, and runs N files (default 3000, or
QUICKSTART_FILES) through four workers, one of which is killed. The last line is the result:
files=N done=N lost=0 rerun=K rate=R/s. Exit status 0: nothing was lost and every checksum is right.
TEXT
}

say() { printf '\n== %s\n' "$*"; }
die() {
    printf 'quickstart: %s\n' "$*" >&2
    exit 1
}

while (($# > 0)); do
    case $1 in
    --help | -h)
        usage
        exit 0
        ;;
    --files)
        files=${2:-}
        shift $(($# > 1 ? 2 : 1))
        ;;
    *)
        usage >&2
        exit 2
        ;;
    esac
done
if [[ ! $files =~ ^[1-9][0-9]{2,6}$ ]]; then
    echo "quickstart: --files wants a number from 100 to 9999999" >&2
    exit 2
fi

deadline_s=$((60 + files / 20))

# ---- processes: started apart from the terminal, so that Ctrl-C reaches only this script, which ends them in order

declare -A pids=()
dir=

start() { # NAME COMMAND...: its output goes to $dir/NAME.out and .err
    local name=$1
    shift
    setsid setpriv --pdeathsig TERM "$@" >"$dir/$name.out" 2>"$dir/$name.err" &
    pids[$name]=$!
    disown # without this, bash prints a message about a kill
}

runs() { kill -0 "${pids[$1]}" 2>/dev/null; }
is_gone() { ! runs "$1"; }

wait_until() { # SECONDS WHAT CONDITION...
    local end=$((SECONDS + $1)) what=$2
    shift 2
    until "$@"; do
        ((SECONDS < end)) || die "waited too long for $what; its messages: $(tail -qn 3 "$dir"/*.err)"
        sleep 0.05
    done
}

stop() { # NAME: by SIGTERM, and after ten seconds by SIGKILL
    local end=$((SECONDS + 10))
    kill -TERM "${pids[$1]}" 2>/dev/null || true
    kill -CONT "${pids[$1]}" 2>/dev/null || true # the victim may be stopped, and would not get the SIGTERM
    while runs "$1"; do
        ((SECONDS < end)) || kill -KILL "${pids[$1]}" 2>/dev/null || true
        sleep 0.05
    done
    unset "pids[$1]"
}

clean_up() {
    local status=$? name
    trap '' INT TERM HUP
    for name in "${workers[@]}" redis; do # workers first: they deregister at Redis
        [[ -z ${pids[$name]:-} ]] || stop "$name"
    done
    [[ -z $dir ]] || rm -rf "$dir"
    exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# ---- conditions

redis_answers() {
    runs redis || die "$(cat "$dir/redis.err")"
    grep -q ^export "$dir/redis.out"
}
all_registered() { (($(muster workers --json | wc -l) == ${#workers[@]})); }
third_is_done() { (($(wc -l <"$dir/done") * 3 >= files)); }
all_ended() {
    local queues
    queues=$(muster queues --json) && ! grep -qE '"(waiting|running)": *[1-9]' <<<"$queues"
}

# A task lasts some milliseconds, so a worker that is seen with tasks has often ended them before a signal reaches it.
# So it is stopped first: then it keeps the tasks.
caught_with_tasks() {
    kill -STOP "${pids[$victim]}"
    if [[ -n $(muster ps --worker "$victim" --json) ]]; then
        return 0
    fi
    kill -CONT "${pids[$victim]}"
    return 1
}

# ---- 1. build

say "build muster (a minute or less; before that, install what is missing)"
"$root/scripts/packages.sh" build run
# The tests are built only if their library is installed; the quick start works without it, too.
tests=OFF
! pkg-config --exists cmocka || tests=ON
dir=$(mktemp -d "${TMPDIR:-/tmp}/quickstart.XXXXXX")
build() { # one at a time: two quick starts may share this checkout
    flock 9
    cd "$root"
    cmake --preset release -DMUSTER_TESTS=$tests && cmake --build --preset release --target muster
}
mkdir -p "$root/build"
(build) 9>"$root/build/release.lock" >"$dir/build" 2>&1 || { cat "$dir/build" >&2 && die "the build failed: see above"; }
PATH=$root/build/release:$PATH
muster --version

# ---- 2. a Redis of our own

say "muster serve --temporary"
TMPDIR=$dir start redis muster serve --temporary
wait_until 20 "Redis" redis_answers
MUSTER_URL=$(sed -n 's/^export MUSTER_URL=//p' "$dir/redis.out")
export MUSTER_URL
echo "$MUSTER_URL"

# ---- 3. the tasks: file names, with a NUL after each, because a name may hold any other byte

mkdir "$dir/odd names"
printf 'one\n' >"$dir/odd names/with  two spaces"
printf 'two\n' >"$dir/odd names/with a
new line"
printf 'three\n' >"$dir/odd names/\"quoted\" {} \$HOME *"
: >"$dir/odd names/-empty"
find "$dir/odd names" -type f -print0 >"$dir/all"
find /usr/share /usr/lib /usr/bin /etc -xdev -type f -readable -size -1024k -print0 2>/dev/null >>"$dir/all" || true
head -zn "$files" "$dir/all" >"$dir/names"
found=$(tr -dc '\0' <"$dir/names" | wc -c)
((found == files)) || die "there are only $found files to read here: try --files $found"

say "muster enqueue -0 files"
muster enqueue -0 files <"$dir/names"

# ---- 4. four workers; each task is one run of this script, with the file's name in place of {}

cat >"$dir/task" <<'TASK'
printf '%s\0' "$1" >>"$2/begun"
sum=$(sha256sum -- "$1") && printf '%s %s\n' "$MUSTER_WORKER" "$sum" >>"$2/done"
TASK
touch "$dir/begun" "$dir/done"

say "muster work files -c $hands -I {} -- sh ... {}      (workers ${workers[*]})"
began_ms=$(date +%s%3N)
for name in "${workers[@]}"; do
    start "$name" muster work files --id "$name" -c "$hands" -I '{}' -- sh "$dir/task" '{}' "$dir"
done
wait_until 20 "the workers to register" all_registered
wait_until "$deadline_s" "a third of the files" third_is_done
wait_until 20 "$victim to hold a task" caught_with_tasks
kill -KILL "${pids[$victim]}"
wait_until 20 "$victim to be gone" is_gone "$victim"
unset "pids[$victim]"
held=$(muster ps --worker "$victim" --json | wc -l)
say "kill -9 $victim: $(wc -l <"$dir/done") of $files done, $held in its hands"
muster ps --worker "$victim"

wait_until "$deadline_s" "the queue to be empty" all_ended
seconds=$(awk -v ms=$(($(date +%s%3N) - began_ms)) 'BEGIN { printf "%.1f", ms / 1000 }')
for name in "${workers[@]}"; do
    [[ -z ${pids[$name]:-} ]] || stop "$name"
done
stop redis

# ---- 5. their result, compared with the files

xargs -0 sha256sum -- <"$dir/names" | sort >"$dir/expected"
cut -d' ' -f2- "$dir/done" | sort -u >"$dir/found"
lost=$(comm -13 "$dir/found" "$dir/expected" | wc -l)
wrong=$(comm -23 "$dir/found" "$dir/expected" | wc -l)
finished=$((files - lost))
begun=$(tr -dc '\0' <"$dir/begun" | wc -c)
rerun=$((begun - $(sort -zu "$dir/begun" | tr -dc '\0' | wc -c)))
rate=$(awk -v n="$finished" -v s="$seconds" 'BEGIN { printf "%.0f", n / s }')

say "result"
printf '%-8s %6s\n' worker runs
for name in "${workers[@]}"; do
    printf '%-8s %6d%s\n' "$name" "$(awk -v w="$name" '$1 == w' "$dir/done" | wc -l)" \
        "$([[ $name != "$victim" ]] || echo "   killed with $held in its hands; they went back to the front")"
done
printf '\n%s of %s files done, %s lost, %s run again, in %s seconds; ' "$finished" "$files" "$lost" "$rerun" "$seconds"
if ((wrong > 0)); then
    echo "$wrong checksums differ from sha256sum's:"
    comm -23 "$dir/found" "$dir/expected"
else
    echo "every checksum is sha256sum's."
fi
echo "files=$files done=$finished lost=$lost rerun=$rerun rate=$rate/s"
((lost == 0 && wrong == 0))
