// SPDX-License-Identifier: MIT
//
// Servers and players as processes: they end with this one, whatever ends it. A player is asked by a line and answers
// by a line; nothing is waited for without a deadline.
'use strict';

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const net = require('node:net');
const readline = require('node:readline');

const DEADLINE_MS = 60000;
const LOOK_AGAIN_MS = 10;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const children = new Set();

function start(argv, stdio) {
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', ...argv], { stdio, detached: true }); // out of reach of ^C
  children.add(child);
  child.ended = new Promise((resolve) => child.once('exit', resolve)).then(() => children.delete(child));
  return child;
}

// Players and servers keep nothing that would need a polite end.
function endAll() {
  const running = [...children].reverse(); // players before their servers: they would complain
  running.forEach((child) => child.kill('SIGKILL'));
  return Promise.all(running.map((child) => child.ended));
}

const answers = (address) => new Promise((resolve) => {
  const [host, port] = address.split(':');
  const socket = port ? net.connect(Number(port), host) : net.connect(address);
  socket.once('connect', () => { socket.destroy(); resolve(true); });
  socket.once('error', () => resolve(false));
});

class Server {
  // `plan` makes the address and the arguments; anew when the server ended, as when its port was taken meanwhile.
  static async start(plan, dir) {
    for (let tries = 3; ; tries--) {
      const planned = await plan(dir);
      const server = new Server(planned);
      if (await server.#comesUp()) return server;
      if (tries === 1) throw new Error(`a server does not come up; try it by hand: ${planned.argv.join(' ')}`);
    }
  }

  constructor({ address, argv }) {
    this.address = address;
    this.child = start(argv, 'ignore');
  }

  async #comesUp() {
    const end = Date.now() + DEADLINE_MS;
    while (Date.now() < end && this.child.exitCode === null) {
      if (await answers(this.address)) return true;
      await sleep(LOOK_AGAIN_MS);
    }
    return false;
  }

  // CPU that all its threads have had, in ns.
  cpu() {
    const tasks = `/proc/${this.child.pid}/task`;
    const ns = (thread) => Number(fs.readFileSync(`${tasks}/${thread}/schedstat`, 'utf8').split(' ')[0]);
    return fs.readdirSync(tasks).reduce((sum, thread) => sum + ns(thread), 0);
  }
}

class Player {
  #lines;

  constructor({ name, player, args = [] }, role, address) {
    this.name = `${name}, ${role}`;
    this.child = start([...player, role, address, ...args], ['pipe', 'pipe', 'inherit']);
    this.child.stdin.on('error', () => {}); // that it has ended is told by what it does not answer
    this.#lines = readline.createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
  }

  // Its next line, which has to begin with this word: the numbers that follow.
  async hear(word) {
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`${this.name}: no answer in ${DEADLINE_MS / 1000} s`)), DEADLINE_MS);
    });
    const { value, done } = await Promise.race([this.#lines.next(), late]);
    clearTimeout(timer);
    if (done) throw new Error(`${this.name}: it has ended; what it said is above`);
    const [first, ...rest] = value.split(' ');
    if (first !== word) throw new Error(`${this.name}: it said '${value}', not ${word}`);
    return rest.map(Number);
  }

  ask(order, word) {
    this.child.stdin.write(`${order}\n`);
    return this.hear(word);
  }
}

module.exports = { Server, Player, endAll, sleep };
