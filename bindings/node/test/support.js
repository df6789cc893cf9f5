// SPDX-License-Identifier: MIT
//
// What the tests share: a Redis of their own on a Unix socket, which can be killed and started again; programs that die
// with the test; waiting for a condition, never for a time.
'use strict';

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const test = require('node:test');
const { Client } = require('..');

const DEADLINE_MS = 300000; // only what hangs comes to it: a loaded machine needs minutes for what takes seconds
const LOOK_AGAIN_MS = 10;
// How many times as long as on a good machine a piece of work takes: a limit on the processor shows in no load.
function slownessOfWork() {
  const began = Date.now();
  for (let i = 0, x = 1; i < 10000000; i++) x = (Math.imul(x, 31) + i) | 0;
  return (Date.now() - began) / 70;
}
const SLOWNESS = Math.min(8, Math.max(1, os.loadavg()[0] / os.cpus().length, slownessOfWork()));
// So long a time here as `ms` on a machine that does nothing else: for a ttl or a limit that a busy machine must not miss.
const slowMs = (ms) => Math.round(ms * SLOWNESS);
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function until(condition, what = String(condition)) {
  const end = Date.now() + DEADLINE_MS;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > end) throw new Error(`waited too long for: ${what}`);
    await sleep(LOOK_AGAIN_MS);
  }
}

// The first event of this name for which it holds.
function heard(emitter, name, holds = () => true) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no event ${name}`)), DEADLINE_MS);
    emitter.on(name, function hear(...args) {
      if (!holds(...args)) return;
      clearTimeout(timer);
      emitter.removeListener(name, hear);
      resolve(args.length > 1 ? args : args[0]);
    });
  });
}

const start = (argv, options = {}) => {
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', ...argv], { stdio: ['ignore', 'pipe', 'inherit'], ...options });
  child.ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })));
  child.said = '';
  child.stdout?.on('data', (data) => { child.said += data; });
  return child;
};

class Redis {
  static async start() {
    const redis = new Redis();
    await redis.start();
    return redis;
  }

  constructor() {
    this.dir = fs.mkdtempSync(path.join(os.tmpdir(), 'muster-node.'));
    this.socket = path.join(this.dir, 's');
    this.url = `unix://${this.socket}`;
  }

  async start() {
    this.server = start(['redis-server', '--port', '0', '--unixsocket', this.socket, '--dir', this.dir, '--save', '',
      '--appendonly', 'yes', '--appendfsync', 'no', '--enable-debug-command', 'yes']);
    await until(() => this.#answers(), 'Redis answers');
  }

  #answers() {
    return new Promise((resolve) => {
      const socket = net.connect(this.socket);
      socket.once('error', () => resolve(false));
      socket.once('data', (data) => { socket.destroy(); resolve(data.toString().startsWith('+PONG')); });
      socket.write('PING\r\n');
    });
  }

  // One command, its answer as redis-cli prints it.
  async run(...argv) {
    const cli = start(['redis-cli', '-s', this.socket, ...argv]);
    await new Promise((resolve) => cli.once('close', resolve));
    return cli.said.trim();
  }

  async kill() {
    this.server.kill('SIGKILL');
    await this.server.ended;
  }

  async end() {
    await this.kill();
    fs.rmSync(this.dir, { recursive: true });
  }
}

// A Redis for all cases of a file, which is empty before each of them, and a client for each. `begin` gets both before a
// case, `end` is called after it, before the client is closed.
function eachOnEmptyRedis({ begin, end = async () => {}, ...options }) {
  let redis;
  let client;
  test.before(async () => { redis = await Redis.start(); });
  test.after(() => redis.end());
  test.beforeEach(async () => {
    await redis.run('FLUSHALL');
    client = new Client({ url: redis.url, ...options });
    begin(redis, client);
  });
  test.afterEach(async () => {
    await end();
    await client.close();
  });
}

module.exports = { DEADLINE_MS, Redis, eachOnEmptyRedis, until, heard, start, sleep, slowMs };
