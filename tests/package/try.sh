#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# try.sh [DIR]: do with the Debian packages what doc/operations.md tells, on an empty Debian 12 of its own with a real
# systemd, and say what came of it. DIR has the packages of scripts/deb.sh; without it they are built.
#
# The Debian is a directory for temporary files, made by debootstrap; its systemd is the first process of namespaces of
# its own and sees neither the network nor the devices nor the services of this host. What is done there is in steps.sh.
# All of it is taken away at the end, however it ends. It needs root, and the network for Debian's mirror, so it is no
# test of tests/run.sh. MUSTER_TRY_BASE=FILE.tar keeps the empty Debian there for the next time; MUSTER_TRY_MIRROR is
# another mirror.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mirror=${MUSTER_TRY_MIRROR:-http://deb.debian.org/debian}

if [[ ${1:-} == --help ]]; then
    sed -nE '4,${/^#/!q; s/^# ?//p}' "$0"
    exit 0
fi
((EUID == 0)) || { echo 'try.sh: it needs root: it makes namespaces and another Debian' >&2; exit 1; }
for program in debootstrap unshare nsenter pivot_root dpkg-deb; do
    command -v "$program" >/dev/null ||
        { echo "try.sh: $program is missing: scripts/packages.sh package" >&2; exit 1; }
done
# Its mounts are nobody else's, and go with it.
if [[ -z ${MUSTER_TRY_ALONE:-} ]]; then
    MUSTER_TRY_ALONE=yes exec unshare --mount --propagation private -- "$BASH" "$here/try.sh" "$@"
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/muster-try.XXXXXX")
root=$work/root
launcher='' group=''
clean_up() {
    local status=$?
    trap - EXIT
    trap '' INT TERM HUP # a second signal must not leave half of it
    if [[ -n $launcher ]]; then
        kill -KILL "$launcher" 2>/dev/null || true # its child, the first process there, goes with it, and all the others
        wait "$launcher" 2>/dev/null || true
    fi
    if [[ -n $group ]]; then
        local end=$((SECONDS + 10))
        until find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || ((SECONDS > end)); do
            sleep 0.1
        done
    fi
    umount -R "$root" 2>/dev/null || true
    rm -rf --one-file-system "$work"
    if ((status == 0)); then
        echo "try.sh: all is well: every step was done on a Debian of its own ($SECONDS s)"
    else
        echo "try.sh: FAILED: see above" >&2
    fi
    exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
step() { printf '[%4d s] %s\n' "$SECONDS" "$*"; }
# quietly COMMAND...: what it says is read only if it fails
quietly() {
    if ! "$@" >"$work/log" 2>&1 </dev/null; then
        tail -n 60 "$work/log" >&2
        echo "try.sh: this failed: $*" >&2
        return 1
    fi
}

# ---- the packages, and those of the next version

packages=${1:-}
if [[ -z $packages ]]; then
    step 'the packages are built, and lintian finds nothing'
    packages=$work/built
    quietly "$here/../../scripts/deb.sh" "$packages"
fi
mkdir "$work/now" "$work/next"
for package in muster libmuster0 libmuster-dev; do
    files=("$packages/${package}_"*.deb)
    [[ -e ${files[0]} && ${#files[@]} == 1 ]] ||
        { echo "try.sh: $packages has not one package $package, but: ${files[*]}" >&2; exit 1; }
    cp "${files[0]}" "$work/now/$package.deb"
done
# The next version is the same under another number: what is tried is that it takes the place of the one before.
version=$(dpkg-deb -f "$work/now/muster.deb" Version)
next=${version%-*}-$((${version##*-} + 1))
for package in muster libmuster0 libmuster-dev; do
    dpkg-deb -R "$work/now/$package.deb" "$work/unpacked"
    sed -i -E "s/^Version: .*/Version: $next/; s/\(= ${version//./\\.}\)/(= $next)/" "$work/unpacked/DEBIAN/control"
    quietly dpkg-deb --root-owner-group -b "$work/unpacked" "$work/next/$package.deb"
    rm -r "$work/unpacked"
done

# ---- an empty Debian

mkdir "$root"
mount --bind "$root" "$root"
if [[ -n ${MUSTER_TRY_BASE:-} && -s $MUSTER_TRY_BASE ]]; then
    step "an empty Debian 12, from $MUSTER_TRY_BASE"
    tar -C "$root" -xpf "$MUSTER_TRY_BASE"
else
    step "an empty Debian 12, from $mirror"
    quietly debootstrap --variant=minbase --include=systemd,systemd-sysv bookworm "$root" "$mirror"
    if [[ -n ${MUSTER_TRY_BASE:-} ]]; then
        tar -C "$root" -cpf "$MUSTER_TRY_BASE.part" . && mv "$MUSTER_TRY_BASE.part" "$MUSTER_TRY_BASE"
    fi
fi
mkdir "$root/try"
cp -r "$here/steps.sh" "$work/now" "$work/next" "$root/try/"
tell_steps() { echo "$version $next $SECONDS" >"$root/try/versions"; }
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
# In its own namespace of processes: what a package starts ends with it.
changed() { unshare --pid --fork --kill-child --mount --mount-proc="$root/proc" -- \
    chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root DEBIAN_FRONTEND=noninteractive "$@"; }
tell_steps
changed bash /try/steps.sh before

# ---- its systemd

step 'systemd is started there'
unified=$(sed -nE 's/^([^ ]+ ){4}([^ ]+) .* - cgroup2 .*/\2/p' /proc/self/mountinfo | head -n 1)
[[ -n $unified ]] || { echo 'try.sh: this host has no cgroup2, which systemd needs' >&2; exit 1; }
group=$unified/muster-try.$$
mkdir "$group"
cat >"$work/boot" <<'BOOT'
#!/bin/sh
# boot ROOT: inside of its namespaces. As in every container, it may not set up the kernel.
set -e
root=$1
mount -t proc -o nosuid,nodev,noexec proc "$root/proc"
mount --bind "$root/proc/sys" "$root/proc/sys"
mount -o remount,bind,ro "$root/proc/sys"
mount -t sysfs -o nosuid,nodev,noexec,ro sysfs "$root/sys"
mount -t cgroup2 -o nosuid,nodev,noexec cgroup2 "$root/sys/fs/cgroup"
mount -t tmpfs -o nosuid,mode=755 tmpfs "$root/dev"
for device in null:1:3 zero:1:5 full:1:7 random:1:8 urandom:1:9 tty:5:0; do
    name=${device%%:*} numbers=${device#*:}
    mknod -m 666 "$root/dev/$name" c "${numbers%:*}" "${numbers#*:}"
done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
mount -t tmpfs -o nosuid,nodev tmpfs "$root/dev/shm"
mount -t tmpfs -o nosuid,nodev,mode=755 tmpfs "$root/run"
hostname muster-try
cd "$root"
pivot_root . mnt
umount -l /mnt
mount --make-rshared /
exec env -i container=muster-try PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --log-target=journal
BOOT
# shellcheck disable=SC2016 # it is the inner shell that knows its number
sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' sh "$group" \
    unshare --pid --fork --kill-child --mount --uts --ipc --net --cgroup -- sh "$work/boot" "$root" \
    >"$work/console" 2>&1 </dev/null &
launcher=$!
first() { cat "/proc/$launcher/task/$launcher/children" 2>/dev/null; }
# there COMMAND...: in that Debian, while its systemd runs
there() {
    local pid
    pid=$(first)
    nsenter -t "${pid% }" -m -u -i -n -p -C -- env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root \
        DEBIAN_FRONTEND=noninteractive "$@" </dev/null
}
end=$((SECONDS + 60))
until there systemctl is-system-running >"$work/state" 2>&1 || grep -qx degraded "$work/state"; do
    if ((SECONDS > end)) || ! kill -0 "$launcher" 2>/dev/null; then
        cat "$work/console" "$work/state" >&2
        echo 'try.sh: systemd does not start there' >&2
        exit 1
    fi
    sleep 0.2
done
tell_steps
there bash /try/steps.sh after
