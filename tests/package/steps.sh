#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# steps.sh before|after: what try.sh does in the empty Debian, before its systemd is started and after. Proves:
# before:
#  1. muster_*.deb alone installs with what Debian has, and the command runs
#  2. each manual page is found and read, and bash completes verbs
#  3. programs are built with libmuster-dev: by pkg-config, shared and static, and in C++, and by find_package; they run
# after, with the steps of doc/operations.md:
#  4. nothing is started that nobody asked for; muster-work@NAME is active as soon as it is registered and runs tasks as a
#     user of its own; without Redis it is activating
#  5. a password from LoadCredential; a loop that stands still is killed and started anew; stop lets the command end
#  6. muster-web answers
#  7. an upgrade leaves running workers and settings as they are; the restart brings the new version and loses no task
#  8. a removal stops what runs, and keeps the settings
#  9. what the page tells of taking it off leaves nothing
# The files of this Debian may be changed in every way: it is thrown away.
set -euo pipefail
read -r version next SECONDS </try/versions

step() { printf '[%4d s] %s\n' "$SECONDS" "$*"; }
fail() {
    journalctl --no-pager -n 40 >&2 2>/dev/null || true
    printf 'FAILED: %s\n' "$*" >&2
    exit 1
}
quietly() {
    if ! "$@" >/tmp/log 2>&1; then
        tail -n 60 /tmp/log >&2
        fail "$*"
    fi
}
# wait_for COMMAND...: at most a minute
wait_for() {
    local end=$((SECONDS + 60))
    until "$@"; do
        if ((SECONDS > end)); then
            fail "not in a minute: $*"
        fi
        sleep 0.1
    done
}
apt() { quietly apt-get -y -q --no-install-recommends "$@"; }
installed() { dpkg-query -W -f '${Version}' "$1"; }

# ---- before

try_command() {
    step "the package alone is installed: muster $version"
    apt update
    apt install /try/now/muster.deb
    [[ $(muster --version) == *"${version%-*}"* ]] || fail "muster --version: $(muster --version)"
    ! dpkg-query -W libmuster0 >/tmp/log 2>&1 || fail 'it has brought libmuster0, which it does not need'
    quietly muster help work
    quietly apt-get check
}

try_pages() {
    step 'manual pages and the completion of bash'
    apt install man-db bash-completion
    local page n=0
    while read -r page; do
        man -w "$page" >/tmp/log 2>&1 || fail "man does not find $page"
        n=$((n + 1))
    done < <(dpkg -L muster | sed -nE 's,.*/man/man[0-9]/(.*)\.[0-9]\.gz$,\1,p')
    ((n > 30)) || fail "only $n manual pages"
    man muster-work 2>/tmp/log | grep -qF -- --drain || fail 'muster-work(1) does not tell of --drain'
    [[ ! -s /tmp/log ]] || fail "man says: $(cat /tmp/log)"
    bash -c '. /usr/share/bash-completion/bash_completion; _completion_loader muster
        COMP_WORDS=(muster enq) COMP_CWORD=1 COMP_LINE="muster enq" COMP_POINT=10
        "$(complete -p muster | sed -E "s/.* -F ([^ ]+) .*/\1/")" muster enq muster; [[ ${COMPREPLY[*]} == enqueue* ]]' ||
        fail 'bash does not complete muster enq'
}

try_development() {
    step 'programs are built with libmuster-dev'
    apt install /try/now/libmuster0.deb /try/now/libmuster-dev.deb gcc g++ libc6-dev make cmake pkg-config
    mkdir /tmp/program
    cd /tmp/program
    cat >main.c <<'PROGRAM'
#include <muster/muster.h>
#include <stdio.h>
int main(void)
{
    return puts(muster_version()) < 0 || muster_queue_check("mail") != NULL;
}
PROGRAM
    local flags libraries
    read -ra flags < <(pkg-config --cflags --libs muster)
    read -ra libraries < <(pkg-config --static --libs muster | sed 's/-lmuster /-l:libmuster.a /')
    quietly gcc main.c "${flags[@]}" -o shared
    [[ $(ldd shared) == *libmuster.so.0* ]] || fail "it does not use the shared library: $(ldd shared)"
    quietly gcc main.c "${libraries[@]}" -o static
    [[ $(ldd static) != *libmuster* ]] || fail 'the static library is not used'
    cat >main.cpp <<'PROGRAM'
#include <iostream>
#include <muster/muster.hpp>
int main()
{
    const muster::client client;
    std::cout << muster_version() << std::endl;
    return client.stats().commands == 0 ? 0 : 1;
}
PROGRAM
    quietly g++ -std=c++17 main.cpp "${flags[@]}" -o in-cpp
    cat >CMakeLists.txt <<'LISTS'
cmake_minimum_required(VERSION 3.25)
project(program C)
find_package(muster 0.1 REQUIRED)
add_executable(found main.c)
target_link_libraries(found PRIVATE muster::muster)
LISTS
    quietly cmake -B built .
    quietly cmake --build built
    local program
    for program in ./shared ./static ./in-cpp built/found; do
        [[ $($program) == "${version%-*}" ]] || fail "$program does not say its version"
    done
    man -w muster_task_enqueue >/tmp/log || fail 'man does not find muster_task_enqueue'
    cd /
    rm -r /tmp/program
}

# ---- after

is_active() { [[ $(systemctl is-active "$1") == "${2:-active}" ]]; }
main_pid() { systemctl show -P MainPID "$1"; }
other_pid() { local now; now=$(main_pid "$1") && [[ $now != 0 && $now != "$2" ]]; }
exists() { [[ -e $1 ]]; }
has_lines() { [[ -e $2 ]] && (($(wc -l <"$2") == $1)); }
counts() { [[ $(redis-cli --raw HGET muster:queue:mail running 2>/tmp/log) == "$1" ]]; }

try_worker() {
    step 'nothing runs that nobody asked for'
    [[ -z $(systemctl list-units --no-legend --plain 'muster*') ]] || fail "$(systemctl list-units 'muster*')"
    ! systemctl is-enabled muster-web >/tmp/log 2>&1 || fail 'muster-web is enabled'

    step 'muster-work@mail: activating without Redis, active with it; it runs tasks as a user of its own'
    cat >/usr/local/bin/send-mail <<'COMMAND'
#!/bin/sh
read -r task
echo "sends $task"
case $task in
slow*) sleep 4 ;;
esac
echo "$task $(id -u)" >>sent
COMMAND
    chmod 755 /usr/local/bin/send-mail
    cat >/etc/muster/mail.env <<'SETTINGS'
MUSTER_URL=redis://127.0.0.1
MUSTER_WORK="mail -c 4 --drain 30s -- /usr/local/bin/send-mail"
SETTINGS
    chmod 600 /etc/muster/mail.env
    systemctl stop redis-server
    quietly systemctl enable --now --no-block muster-work@mail
    wait_for is_active muster-work@mail activating
    systemctl start redis-server
    wait_for is_active muster-work@mail
    sent=/var/lib/muster/mail/sent
    quietly muster enqueue mail one two three
    wait_for has_lines 3 "$sent"
    # The users that systemd makes up are those of these numbers.
    awk '$2 < 61184 || $2 > 65519 { bad = 1 } END { exit bad }' "$sent" || fail "it does not run as a user of its own: $(cat "$sent")"
    journalctl --no-pager -u muster-work@mail >/tmp/journal
    grep -q 'sends one' /tmp/journal || fail "the journal does not have what the command says: $(cat /tmp/journal)"
}

try_password() {
    step 'a password from a file that systemd hands over'
    redis-cli CONFIG SET requirepass secret >/tmp/log
    REDISCLI_AUTH=secret redis-cli CONFIG REWRITE >/tmp/log || true
    install -m 600 /dev/null /etc/muster/mail.password
    echo secret >/etc/muster/mail.password
    mkdir -p /etc/systemd/system/muster-work@mail.service.d
    printf '[Service]\nLoadCredential=password:/etc/muster/mail.password\nEnvironment=MUSTER_PASSWORD_FILE=%%d/password\n' \
        >/etc/systemd/system/muster-work@mail.service.d/override.conf
    systemctl daemon-reload
    quietly systemctl restart muster-work@mail
    export MUSTER_PASSWORD_FILE=/etc/muster/mail.password
    quietly muster enqueue mail four
    wait_for has_lines 4 "$sent"
    unset MUSTER_PASSWORD_FILE
    REDISCLI_AUTH=secret redis-cli CONFIG SET requirepass '' >/tmp/log
    rm -r /etc/muster/mail.password /etc/systemd/system/muster-work@mail.service.d
    systemctl daemon-reload
    quietly systemctl restart muster-work@mail
}

try_watchdog() {
    step 'a worker whose loop stands still is killed, and another one is started'
    mkdir -p /run/systemd/system/muster-work@mail.service.d
    printf '[Service]\nWatchdogSec=3\n' >/run/systemd/system/muster-work@mail.service.d/watchdog.conf
    systemctl daemon-reload
    quietly systemctl restart muster-work@mail
    local pid
    pid=$(main_pid muster-work@mail)
    kill -STOP "$pid"
    wait_for other_pid muster-work@mail "$pid"
    wait_for is_active muster-work@mail
    rm -r /run/systemd/system/muster-work@mail.service.d
    systemctl daemon-reload
    quietly systemctl restart muster-work@mail
    quietly muster enqueue mail five
    wait_for has_lines 5 "$sent"

    step 'stop lets the running command end, and the task is done'
    quietly muster enqueue mail slow-one
    wait_for counts 1
    quietly systemctl stop muster-work@mail
    has_lines 6 "$sent" || fail "it did not end: $(cat "$sent")"
    counts 0 || counts '' || fail "mail still has running tasks"
    [[ $(systemctl show -P Result muster-work@mail) == success ]] || fail "$(systemctl status muster-work@mail)"
    quietly systemctl start muster-work@mail
}

# answers PATH: the status line of muster web
answers() {
    local line
    exec {web}<>/dev/tcp/127.0.0.1/8379 || return 1
    printf 'GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' "$1" >&"$web"
    read -r line <&"$web"
    exec {web}>&-
    [[ $line == *' 200 '* ]]
} 2>/tmp/log

try_web() {
    step 'muster-web answers'
    echo MUSTER_URL=redis://127.0.0.1 >/etc/muster/web.env
    quietly systemctl enable --now muster-web
    local path
    for path in / /healthz /metrics /api/queues; do
        wait_for answers "$path"
    done
    is_active muster-web || fail 'muster-web is not active'
}

try_upgrade() {
    step "an upgrade to $next under a running worker and dashboard"
    local worker web
    worker=$(main_pid muster-work@mail) web=$(main_pid muster-web)
    quietly muster enqueue mail slow-two
    wait_for counts 1
    apt install /try/next/muster.deb /try/next/libmuster0.deb /try/next/libmuster-dev.deb
    [[ $(installed muster) == "$next" ]] || fail "the package is $(installed muster)"
    [[ $(main_pid muster-work@mail) == "$worker" ]] || fail 'it has restarted a worker'
    other_pid muster-web "$web" || fail 'it has not restarted the dashboard'
    [[ $(systemctl show -P NeedDaemonReload muster-work@mail) == no ]] || fail 'systemd was not told of the new units'
    [[ -s /etc/muster/mail.env ]] || fail 'the settings are gone'
    quietly systemctl restart 'muster-work@*'
    other_pid muster-work@mail "$worker" || fail 'the worker was not restarted'
    wait_for has_lines 7 "$sent"
    quietly muster enqueue mail six
    wait_for has_lines 8 "$sent"
    wait_for answers /healthz
    step "and back to $version"
    apt install --allow-downgrades /try/now/muster.deb /try/now/libmuster0.deb /try/now/libmuster-dev.deb
    quietly systemctl restart 'muster-work@*'
    quietly muster enqueue mail seven
    wait_for has_lines 9 "$sent"
    quietly muster check
}

try_removal() {
    step 'a removal stops what runs without its program, and keeps the settings'
    quietly muster enqueue mail slow-three
    wait_for counts 1
    apt remove muster
    ! pgrep -x muster >/tmp/log || fail 'a process is left'
    [[ $(tail -n 1 "$sent") == slow-three* ]] || fail "the running command was not let end: $(cat "$sent")"
    [[ -s /etc/muster/mail.env ]] || fail 'the settings are gone'
    apt install /try/now/muster.deb
    quietly systemctl start muster-work@mail muster-web
}

# The lines of the page, as they stand there
uninstall() { awk '/^```/ { inside = $0 == "```sh uninstall"; next } inside' /tmp/operations.md; }

try_uninstall() {
    step 'what doc/operations.md tells of taking it off leaves nothing'
    cp /usr/share/doc/muster/doc/operations.md /tmp/operations.md
    [[ -n $(uninstall) ]] || fail 'the page does not tell how to take it off'
    uninstall | sed 's/^apt-get purge/apt-get -y purge/' >/tmp/uninstall
    quietly bash -ex /tmp/uninstall
    apt purge libmuster0 libmuster-dev
    rm -r /tmp/operations.md
    systemctl daemon-reload
    local left
    left=$(find / -xdev \( -path /try -o -path /tmp -o -path /var/cache -o -path /var/log \) -prune -o -name '*muster*' -print)
    [[ -z $left ]] || fail "this is left: $left"
    left=$(systemctl list-units --all --no-legend --plain 'muster*')
    [[ -z $left ]] || fail "this is left: $left"
    ! pgrep -x muster || fail 'a process is left'
    quietly apt-get check
    [[ $(redis-cli EXISTS muster:format) == 1 ]] || fail 'the namespace in Redis is gone: the page says that it stays'
}

case ${1:-} in
before)
    try_command
    try_pages
    try_development
    step 'Redis is installed'
    apt install redis-server procps
    ;;
after)
    try_worker
    try_password
    try_watchdog
    try_web
    try_upgrade
    try_removal
    try_uninstall
    ;;
*) fail "steps.sh is for try.sh" ;;
esac
