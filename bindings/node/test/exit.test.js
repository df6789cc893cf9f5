// SPDX-License-Identifier: MIT
//
// How programs end: process.exit() does not hang and gives no peer's tasks away, a client keeps no program running, a
// worker does until it is stopped; what a dead program held goes back.
'use strict';

const test = require('node:test');
const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const { Worker } = require('..');
const { DEADLINE_MS, eachOnEmptyRedis, until, start, slowMs } = require('./support');

let redis, client;
eachOnEmptyRedis({ begin: (...made) => { [redis, client] = made; } });

const program = (how, id = how, more = '', env = {}) =>
  start([process.execPath, path.join(__dirname, 'worker_program.js'), how, redis.url, id, more],
    { env: { ...process.env, ...env } });
const says = (child, text) => until(() => child.said.includes(text), `it says ${text}`);

test('process.exit() in a handler ends the program; its tasks go back, and a peer keeps its own', async () => {
  const peer = new Worker({ url: redis.url, id: 'peer', ttlMs: slowMs(500), hands: 1 });
  let release;
  peer.serve('p', () => new Promise((resolve) => { release = resolve; }));
  await client.enqueue('p', 'of the peer');
  await until(() => release);
  await client.enqueueMany('q', ['a', 'b']);
  const child = program('exit');
  assert.deepStrictEqual(await child.ended, { code: 3, signal: null });
  await until(async () => (await client.length('q')) === 2, 'the tasks are back');
  assert.deepStrictEqual((await client.peek('q')).map(({ data }) => `${data}`), ['a', 'b']);
  assert.strictEqual((await client.processes({ worker: 'peer' })).length, 1);
  release();
  await until(async () => (await client.processes({ worker: 'peer' })).length === 0);
  await peer.stop();
});

test('a killed program: its task goes back to the front when its ttl is over', async () => {
  const peer = new Worker({ url: redis.url, id: 'peer', ttlMs: slowMs(500) });
  await client.enqueueMany('q', ['a', 'b']);
  const child = program('hold');
  await says(child, 'took a');
  child.kill('SIGKILL');
  const got = [];
  peer.serve('q', ({ task }) => { got.push(`${task}`); });
  await until(() => got.length === 2);
  assert.deepStrictEqual(got.sort(), ['a', 'b']);
  await peer.stop();
});

// A preloaded file makes the thread of a client slow, and tells when it has loaded all.
const SLOW_THREAD = `
const { isMainThread, parentPort } = require('node:worker_threads');
if (!isMainThread) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
  const on = parentPort.on;
  parentPort.on = function tell(...args) { require('node:fs').writeSync(1, 'loaded\\n'); return on.apply(this, args); };
}`;

const restart = async () => { await redis.kill(); await redis.start(); };

test('process.exit() ends no thread that loads the library, which would abort the program', async (t) => {
  t.after(restart);
  const preloaded = path.join(redis.dir, 'slow_thread.js');
  fs.writeFileSync(preloaded, SLOW_THREAD);
  await redis.run('CLIENT', 'PAUSE', `${2 * DEADLINE_MS}`, 'ALL');
  const child = program('exitWhileAsking', 'x', '0', { NODE_OPTIONS: `--require ${preloaded}` });
  assert.deepStrictEqual(await child.ended, { code: 4, signal: null });
  assert.ok(child.said.includes('loaded'), child.said);
});

test('process.exit() does not wait for calls that have no answer', async (t) => {
  t.after(restart);
  await redis.run('CLIENT', 'PAUSE', `${2 * DEADLINE_MS}`, 'ALL');
  const began = Date.now();
  for (const ms of [0, 20, 40, 60, 80, 100, 120, 300]) {
    assert.deepStrictEqual(await program('exitWhileAsking', 'x', `${ms}`).ended, { code: 4, signal: null });
  }
  assert.ok(Date.now() - began < DEADLINE_MS, `${Date.now() - began} ms`);
});

test('a client keeps no program running', async () => {
  const child = program('fall');
  assert.deepStrictEqual(await child.ended, { code: 0, signal: null });
  assert.strictEqual(child.said, 'asked\n');
});

test('an idle worker does, until it is stopped', async () => {
  const child = program('idle');
  await says(child, 'idle');
  await until(async () => (await client.workers()).length === 1);
  child.kill('SIGTERM');
  assert.deepStrictEqual(await child.ended, { code: 0, signal: null });
  assert.strictEqual(child.said, 'idle\nstopped\n');
  assert.deepStrictEqual(await client.workers(), []);
});

test('unless it is told not to', async () => {
  assert.deepStrictEqual(await program('unref').ended, { code: 0, signal: null });
});

test('what arrives while the program ends does no harm, and its task goes back', async () => {
  await client.enqueue('q', 'x');
  assert.deepStrictEqual(await program('unrefAndTakes').ended, { code: 0, signal: null });
  await until(async () => (await client.sweep(), (await client.peek('q')).length === 1));
  await client.cancel('q', 'x');
});

test('a busy program loses nothing: heartbeats go out beside it', async () => {
  await client.enqueue('q', 'x');
  const child = program('busy');
  await says(child, 'counted');
  assert.strictEqual(child.said, 'took\ncounted\n');
  child.kill('SIGKILL');
  await child.ended;
});

test('a listener that throws is an uncaught exception, and loses nothing of what came with its event', async () => {
  await client.enqueueMany('q', Array(500).fill('x'));
  const child = program('throwing');
  assert.deepStrictEqual(await child.ended, { code: 0, signal: null });
  assert.strictEqual(child.said, '500 seen, 500 caught\n');
});
