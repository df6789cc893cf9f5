#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# rabbitmq.sh DIR PORT EPMD_PORT DIST_PORT: RabbitMQ as it is unpacked in $PEERS_INSTALLED/debian, in this process, on
# loopback alone. Whatever it writes goes into DIR; messages that are not persistent stay in memory.
set -euo pipefail
dir=$1
debian=$PEERS_INSTALLED/debian
erlang=$debian/usr/lib/erlang
bin=$(echo "$erlang"/erts-*/bin)

# Debian's `erl` looks where its package is installed.
cat >"$dir/erl" <<TEXT
#!/bin/sh
export EMU=beam PROGNAME=erl ROOTDIR='$erlang' BINDIR='$bin'
exec "\$BINDIR/erlexec" "\$@"
TEXT
chmod +x "$dir/erl"
echo "listeners.tcp.local = 127.0.0.1:$2" >"$dir/rabbitmq.conf"
echo "disk_free_limit.absolute = 1MB" >>"$dir/rabbitmq.conf"
: >"$dir/none"

export PATH=$dir:$PATH HOME=$dir ERL_EPMD_PORT=$3 ERL_EPMD_ADDRESS=127.0.0.1
export RABBITMQ_NODENAME=peers@localhost RABBITMQ_DIST_PORT=$4 RABBITMQ_CONFIG_FILE=$dir/rabbitmq.conf
export RABBITMQ_CONF_ENV_FILE=$dir/none RABBITMQ_ENABLED_PLUGINS_FILE=$dir/plugins RABBITMQ_MNESIA_BASE=$dir/mnesia
export RABBITMQ_LOG_BASE=$dir RABBITMQ_PID_FILE=$dir/pid RABBITMQ_ALLOW_INPUT=1
export RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="-noinput -kernel inet_dist_use_interface {127,0,0,1}"

# The name server of Erlang's nodes would stay for ever if the node started it.
setpriv --pdeathsig KILL "$bin/epmd" &
exec sh "$(echo "$debian"/usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin/rabbitmq-server)"
