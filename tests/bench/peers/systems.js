// SPDX-License-Identifier: MIT
//
// What is compared: each system with its server, its players, and how many tasks a block of its has. Blocks take about as
// long: with as many tasks for all, the slow ones would take minutes or the fast ones nothing.
'use strict';

const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');

const INSTALLED = process.env.PEERS_INSTALLED;
const here = (file) => path.join(__dirname, file);

// ---- servers: a program on a socket in a directory of its own; nothing is written to disk by any of them

async function redis(dir) {
  const address = path.join(dir, 'socket');
  const argv = ['redis-server', '--port', '0', '--unixsocket', address, '--dir', dir, '--logfile', 'log',
    '--save', '', '--appendonly', 'no'];
  return { address, argv };
}

async function beanstalkd(dir) {
  const address = path.join(dir, 'socket');
  return { address, argv: ['beanstalkd', '-l', `unix:${address}`] };
}

// The kernel names a port that is free now.
async function freePort() {
  const probe = net.createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => probe.once('listening', resolve));
  const { port } = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

// These two cannot listen on a Unix socket.
async function gearmand(dir) {
  const port = await freePort();
  const argv = ['gearmand', '--listen', '127.0.0.1', '--port', String(port), '--log-file', path.join(dir, 'log')];
  return { address: `127.0.0.1:${port}`, argv };
}

async function rabbitmq(dir) {
  const [port, epmd, dist] = [await freePort(), await freePort(), await freePort()];
  return { address: `127.0.0.1:${port}`, argv: [here('rabbitmq.sh'), dir, String(port), String(epmd), String(dist)] };
}

// ---- players

const ONE = ['1'];
const c = (name) => [path.join(INSTALLED, 'build', `peer-${name}`)];
const js = (file) => ['node', here(file)];
const python = (file) => ['python3', here(file)];

// `from`: the package that the system comes in, of Debian's or of npm's; muster is built from here. `ours`: muster, too;
// the package is what its binding needs. Three servers have a row for a worker of our own, which asks for jobs ahead, and
// one for a worker that asks for the next job when it is done with the last one.
exports.systems = [
  { name: 'muster', tasks: 100000, server: redis, player: c('muster') },
  { name: 'muster jobs', tasks: 20000, server: redis, player: c('muster-jobs') },
  { name: 'muster from Python', tasks: 30000, server: redis, player: python('muster_player.py'), args: ['threads'] },
  { name: 'muster from asyncio', tasks: 20000, server: redis, player: python('muster_player.py'), args: ['asyncio'] },
  { name: 'muster from Node', from: 'koffi', ours: true, tasks: 20000, server: redis, player: js('muster.js') },
  { name: 'muster from Node in batches', from: 'koffi', ours: true, tasks: 50000, server: redis, player: js('muster.js'), args: ['batch'] },
  { name: 'beanstalkd', from: 'beanstalkd', tasks: 50000, server: beanstalkd, player: c('beanstalkd') },
  { name: 'Gearman', from: 'gearman-job-server', tasks: 50000, server: gearmand, player: c('gearman') },
  { name: 'beanstalkd, one at a time', from: 'beanstalkd', tasks: 20000, server: beanstalkd, player: c('beanstalkd'), args: ONE },
  { name: 'Gearman, one at a time', from: 'gearman-job-server', tasks: 20000, server: gearmand, player: c('gearman'), args: ONE },
  { name: 'RabbitMQ', from: 'rabbitmq-server', tasks: 20000, server: rabbitmq, player: c('rabbitmq') },
  { name: 'RabbitMQ, one at a time', from: 'rabbitmq-server', tasks: 5000, server: rabbitmq, player: c('rabbitmq'), args: ONE },
  { name: 'BullMQ', from: 'bullmq', tasks: 5000, server: redis, player: js('bullmq.js') },
  { name: 'Bee-Queue', from: 'bee-queue', tasks: 5000, server: redis, player: js('bee-queue.js') },
  { name: 'Sidekiq', from: 'ruby-sidekiq', tasks: 5000, server: redis, player: ['ruby', here('sidekiq.rb')] },
  { name: 'Celery', from: 'python3-celery', tasks: 1000, server: redis, player: python('celery_player.py') },
  { name: 'RQ', from: 'python3-rq', tasks: 300, server: redis, player: python('rq_player.py') },
];

// The versions that are installed, by package: lines of `name version`.
exports.versions = () => {
  const lines = fs.readFileSync(path.join(INSTALLED, 'versions'), 'utf8').trim().split('\n');
  return new Map(lines.map((line) => line.split(' ')));
};
