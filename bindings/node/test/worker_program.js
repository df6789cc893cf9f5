// SPDX-License-Identifier: MIT
//
// A program that tests start: `worker_program.js HOW URL [ID [MORE...]]`. It says on a line what it does.
'use strict';

const { Client, Worker } = require('..');
const { slowMs } = require('./support');

const [how, url, id, ...more] = process.argv.slice(2);
const say = (line) => process.stdout.write(`${line}\n`);

const programs = {
  // Takes a task, and never ends it.
  hold() {
    const worker = new Worker({ url, id, ttlMs: slowMs(500) });
    worker.serve('q', ({ task }) => { say(`took ${task}`); return new Promise(() => {}); });
  },
  // Is killed by a task. Serves queues of these names.
  poison() {
    const [hands, prefetch, ...queues] = more;
    const worker = new Worker({ url, id, ttlMs: 60000, hands: Number(hands), prefetch: Number(prefetch) });
    const run = async ({ task }) => {
      await new Promise((resolve) => setTimeout(resolve, 10));
      if (`${task}` === 'poison') process.kill(process.pid, 'SIGKILL');
      say(task);
    };
    for (const queue of queues) worker.serve(queue, run);
    process.on('SIGTERM', () => worker.stop());
  },
  // Ends the program within a handler, while the worker holds a task.
  exit() {
    const worker = new Worker({ url, id, ttlMs: slowMs(500), hands: 10 });
    worker.serve('q', ({ task }) => { say(`took ${task}`); process.exit(3); });
  },
  // Ends it while calls are in flight on a server that does not answer.
  async exitWhileAsking() {
    const client = new Client({ url, timeoutMs: 60000 });
    client.queues().catch(() => {});
    client.enqueue('q', 'x').catch(() => {});
    client.take('r', { waitMs: 60000 }).catch(() => {});
    setTimeout(() => process.exit(4), Number(more[0]));
  },
  // Falls off its end: nothing of the client keeps it running.
  async fall() {
    const client = new Client({ url });
    await client.enqueue('q', 'x');
    await client.queues();
    say('asked');
  },
  // An idle worker keeps it running, until it is stopped.
  async idle() {
    const worker = new Worker({ url, id });
    await worker.start();
    worker.serve('q', () => {});
    say('idle');
    process.on('SIGTERM', async () => {
      await worker.stop();
      say('stopped');
    });
  },
  async unref() {
    const worker = new Worker({ url, id });
    await worker.start();
    worker.unref();
    say('left alone');
  },
  // A task arrives while it ends.
  async unrefAndTakes() {
    process.on('exit', () => { for (const end = Date.now() + 300; Date.now() < end;); });
    const worker = new Worker({ url, id, ttlMs: slowMs(500) });
    await worker.start();
    worker.serve('q', () => {});
    worker.unref();
  },
  // A listener that throws, each time, in a program that goes on all the same.
  async throwing() {
    let [caught, seen] = [0, 0];
    process.on('uncaughtException', ({ message }) => { if (message === 'from a listener') caught++; });
    const worker = new Worker({ url, id, hands: 50 });
    worker.on('ended', () => { throw new Error('from a listener'); });
    process.on('exit', () => say(`${seen} seen, ${caught} caught`));
    worker.serve('q', () => { if (++seen === 500) setImmediate(() => worker.stop()); });
  },
  // A handler that keeps Node's loop busy for longer than the ttl.
  busy() {
    const worker = new Worker({ url, id, ttlMs: slowMs(500) });
    for (const name of ['doubt', 'lost']) worker.on(name, () => say(name));
    worker.serve('q', async (it) => {
      say('took');
      for (const end = Date.now() + 2000; Date.now() < end;);
      await it.finish();
      say('counted');
    });
  },
};

programs[how]();
