// SPDX-License-Identifier: MIT
//
// Redis is killed and comes back, loses its data, or stands still: each promise is settled, and nothing is lost or done
// twice without a word. A worker is killed by a task: no other task is blamed for it.
'use strict';

const test = require('node:test');
const assert = require('node:assert');
const path = require('node:path');
const { Client, Worker } = require('..');
const { DEADLINE_MS, Redis, until, heard, start, slowMs } = require('./support');

let redis;
test.beforeEach(async () => { redis = await Redis.start(); });
test.afterEach(() => redis.end());

test('each task whose enqueue was answered is handled, and no handler is forgotten, over kills of Redis', async () => {
  await redis.run('CONFIG', 'SET', 'appendfsync', 'always');
  const client = new Client({ url: redis.url, timeoutMs: 10000 });
  const worker = new Worker({ url: redis.url, id: 'w', hands: 50, ttlMs: 10000 });
  worker.on('down', () => {}).on('refused', () => {}).on('uncounted', () => {});
  const done = new Map();
  const settled = { ended: 0, open: 0 };
  worker.serve('q', (process) => {
    const task = `${process.task}`;
    done.set(task, (done.get(task) ?? 0) + 1);
    settled.open++;
    process.finish().catch(() => {}).finally(() => { settled.open--; settled.ended++; });
  });
  const kept = [];
  let unknown = 0;
  for (let round = 0; round < 3; round++) {
    const asked = Array.from({ length: 500 }, (_, i) => `${round}-${i}`);
    const answers = asked.map((task) => client.enqueue('q', task).then(() => kept.push(task), () => { unknown++; }));
    await Promise.race(answers);
    await redis.kill();
    await redis.start();
    await redis.run('CONFIG', 'SET', 'appendfsync', 'always');
    await Promise.all(answers);
  }
  assert.strictEqual(kept.length + unknown, 1500);
  assert.ok(kept.length > 0);
  await until(() => kept.every((task) => done.has(task)), 'each is handled');
  await until(() => settled.open === 0, 'each end is settled');
  await worker.stop();
  assert.strictEqual(await client.length('q'), 0);
  assert.deepStrictEqual(await client.processes({ queue: 'q' }), []);
  await client.close();
});

// A worker of two queues that is started again whenever it dies: in the first one poison lies among others, in the
// second one are innocent suspects. Each death counts against the poison alone. Resolves to what has run to its end.
async function poisoned(client, hands, prefetch) {
  const queues = [`${hands}-${prefetch}`, `${hands}-${prefetch}-suspects`];
  const isEmpty = async () => (await Promise.all(queues.map((queue) => client.length(queue)))).every((n) => n === 0);
  await client.enqueueMany(queues[1], ['s1', 's2', 's3']);
  await client.take(queues[1], { n: 3, leaseMs: 20 });
  await until(async () => (await client.length(queues[1])) === 3, 'suspects');
  await client.enqueueMany(queues[0], ['a', 'poison', 'b']);
  let said = '';
  for (let life = 1; ; life++) {
    const id = `${queues[0]}-${life}`;
    const child = start([process.execPath, path.join(__dirname, 'worker_program.js'), 'poison', redis.url, id, hands,
      prefetch, ...queues]);
    let hasDied = false;
    child.ended.then(() => { hasDied = true; });
    await until(async () => hasDied || (life === 5 && await isEmpty()), 'a death, or the end of all tasks');
    if (!hasDied) {
      await until(async () => (await client.processes()).length === 0, 'all ends count');
      child.kill('SIGTERM');
    }
    await child.ended;
    said += child.said;
    if (life === 5) return new Set(said.trim().split('\n'));
    await redis.run('DEL', `muster:alive:${id}`);
    await redis.run('ZADD', 'muster:registry', '1', id);
    await until(async () => await redis.run('EXISTS', `muster:worker:${id}`) === '0', 'its sweep');
    const counts = await Promise.all(queues.map((queue) => redis.run('HVALS', `muster:suspects:${queue}`)));
    const counted = counts.join('\n').split('\n').filter((n) => n !== '' && n !== '0');
    assert.deepStrictEqual(counted, life > 1 && life < 4 ? [`${life - 1}`] : []);
  }
}

test('a task that kills its worker fails after four deaths, and no other does', async () => {
  const client = new Client({ url: redis.url });
  const watch = new Worker({ url: redis.url, id: 'watch', ttlMs: slowMs(1000) });
  watch.serve('other', () => {});
  await watch.start();
  const ways = [[1, 0], [1, 300], [8, 0], [8, 300]];
  const done = await Promise.all(ways.map(([hands, prefetch]) => poisoned(client, `${hands}`, `${prefetch}`)));
  for (const tasks of done) assert.deepStrictEqual(tasks, new Set(['a', 'b', 's1', 's2', 's3']));
  for (const [hands, prefetch] of ways) {
    assert.strictEqual(await redis.run('ZCARD', `muster:failed:${hands}-${prefetch}`), '1');
    assert.strictEqual(await redis.run('ZCARD', `muster:failed:${hands}-${prefetch}-suspects`), '0');
  }
  await watch.stop();
  await client.close();
});

const LONG = { leaseMs: 600000, waitMs: 600000 };
// Until no take of this client has a request under way, which a cut would end.
const waits = async (client) => {
  await until(async () => (await redis.run('PUBSUB', 'CHANNELS')).includes('_q_'), 'takes wait');
  // when the first answer is there the looks after it have been sent, and the second is behind them
  for (let i = 0; i < 2; i++) await client.length('q');
};

const faults = {
  'a kill of Redis': async () => { await redis.kill(); await redis.start(); },
  'a cut of all connections': async () => {
    for (const type of ['normal', 'pubsub']) await redis.run('CLIENT', 'KILL', 'TYPE', type);
  },
};
for (const [name, fault] of Object.entries(faults)) {
  test(`takes that wait go on after ${name}`, async () => {
    const client = new Client({ url: redis.url, timeoutMs: slowMs(20000) });
    const taking = Array.from({ length: 30 }, () => client.take('q', LONG));
    await waits(client);
    await fault();
    const other = new Client({ url: redis.url });
    await other.enqueueMany('q', taking.map((_, i) => `${i}`));
    const taken = (await Promise.all(taking)).flat();
    assert.deepStrictEqual(new Set(taken.map(({ task }) => `${task}`)), new Set(taking.map((_, i) => `${i}`)));
    await client.endMany(taken.map(({ id }) => ({ process: id, outcome: 'finish' })));
    assert.deepStrictEqual(await other.processes(), []);
    await Promise.all([client.close(), other.close()]);
  });
}

test('takes that wait are told that Redis is away; close does not wait for it', async () => {
  const [client, other] = [new Client({ url: redis.url, timeoutMs: slowMs(500) }), new Client({ url: redis.url, timeoutMs: slowMs(500) })];
  const taking = [client.take('q', LONG), client.take('q', LONG)];
  const ended = taking.map((it) => assert.rejects(it, { code: 'E_CONN' }));
  const left = assert.rejects(other.take('q', LONG), { code: 'E_INTERRUPTED' });
  await waits(client);
  await waits(other);
  await redis.kill();
  const began = Date.now();
  await other.close();
  await Promise.all([...ended, left]);
  await client.close();
  assert.ok(Date.now() - began < DEADLINE_MS, `${Date.now() - began} ms`);
});

test('many ends without an answer are each told', async () => {
  const client = new Client({ url: redis.url, timeoutMs: 1000 });
  await client.enqueueMany('q', ['a', 'b']);
  const ids = (await client.take('q', { n: 2, ...LONG })).map(({ id }) => id);
  await redis.kill();
  const told = await client.endMany([...ids, 'x'].map((process) => ({ process, outcome: 'finish' })));
  assert.deepStrictEqual(told.map(({ code }) => code), ['E_CONN', 'E_CONN', 'E_INVALID']);
  assert.deepStrictEqual((await client.extendMany(ids, { leaseMs: 1000 })).map(({ code }) => code), ['E_CONN', 'E_CONN']);
  await client.close();
});

test('a worker says that Redis is away, and goes on when it is back', async () => {
  const client = new Client({ url: redis.url });
  const worker = new Worker({ url: redis.url, ttlMs: 60000 });
  await worker.start();
  const got = [];
  worker.serve('q', ({ task }) => { got.push(`${task}`); });
  const [down, up] = [heard(worker, 'down'), heard(worker, 'up')];
  await redis.kill();
  assert.strictEqual((await down).error.code, 'E_CONN');
  await redis.start();
  await up;
  await client.enqueue('q', 'after');
  await until(() => got.includes('after'));
  await worker.stop();
  await client.close();
});

test('a worker whose registration is gone says so, and its end does not count', async () => {
  const client = new Client({ url: redis.url });
  const worker = new Worker({ url: redis.url, ttlMs: slowMs(300) });
  const [lost, uncounted] = [heard(worker, 'lost'), heard(worker, 'uncounted')];
  let release, end;
  worker.on('doubt', () => {});
  worker.serve('q', async (process) => {
    await new Promise((resolve) => { release = resolve; });
    end = await process.finish().then(() => 'counted', ({ code }) => code);
  });
  await client.enqueue('q', 'x');
  await until(() => release);
  await redis.run('FLUSHALL');
  await lost;
  release();
  assert.strictEqual((await uncounted).error.code, 'E_LOST');
  await until(() => end);
  assert.strictEqual(end, 'E_LOST');
  await worker.stop({ drainMs: 0 });
  await client.close();
});

test('stop ends without Redis, too', async () => {
  const worker = new Worker({ url: redis.url, ttlMs: slowMs(200), drainMs: 100 });
  await worker.start();
  const down = heard(worker, 'down');
  await redis.kill();
  await down;
  await assert.rejects(worker.stop({ drainMs: 100 }), { code: 'E_CONN' });
});
