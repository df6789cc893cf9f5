// SPDX-License-Identifier: MIT
//
// The client: each of its calls does what it says on a Redis of its own, many at once, and refusals say why.
'use strict';

const test = require('node:test');
const assert = require('node:assert');
const { Client, MusterError } = require('..');
const { Redis, until } = require('./support');

let redis, client;
test.before(async () => { redis = await Redis.start(); });
test.after(() => redis.end());
test.beforeEach(async () => {
  await redis.run('FLUSHALL');
  client = new Client({ url: redis.url });
});
test.afterEach(() => client.close());

const refused = (code, words) => (error) => {
  assert.ok(error instanceof MusterError, `${error}`);
  assert.strictEqual(error.code, code);
  assert.match(error.message, words);
  return true;
};

test('bytes of any kind come out as they went in', async () => {
  const tasks = ['text', 'ünï', '', Buffer.from([0, 255, 10]), new Uint8Array([1, 2, 3]).subarray(1), Buffer.alloc(100000, 7),
    new DataView(new ArrayBuffer(4), 1, 2), new Uint16Array([258])];
  const bytesOf = (task) => (typeof task === 'string' ? Buffer.from(task) : Buffer.from(task.buffer, task.byteOffset, task.byteLength));
  for (const task of tasks) await client.enqueue('q', task);
  assert.strictEqual(await client.length('q'), tasks.length);
  const taken = await client.take('q', { n: 10, leaseMs: 60000 });
  assert.deepStrictEqual(taken.map(({ task }) => task), tasks.map(bytesOf));
  await client.enqueueMany('r', tasks);
  assert.deepStrictEqual((await client.peek('r')).map(({ data }) => data), tasks.map(bytesOf));
});

test('thousands are in flight, and each has its own answer, in order', async () => {
  const waiting = await Promise.all(Array.from({ length: 5000 }, (_, i) => client.enqueue('q', `${i}`)));
  assert.deepStrictEqual(waiting, Array.from({ length: 5000 }, (_, i) => i + 1));
});

test('many go in one call, once under a request id', async () => {
  const tasks = Array.from({ length: 2500 }, (_, i) => (i % 2 ? `${i}` : Buffer.from(`${i}`)));
  assert.strictEqual(await client.enqueueMany('q', tasks, { requestId: 'r' }), 2500);
  assert.strictEqual(await client.enqueueMany('q', tasks, { requestId: 'r' }), 2500);
  assert.strictEqual(await client.length('q'), 2500);
  await client.enqueueMany('q', ['front'], { atFront: true });
  const [first, second] = await client.peek('q', { n: 2 });
  assert.deepStrictEqual([`${first.data}`, `${second.data}`, second.position], ['front', '0', 1]);
  assert.strictEqual(await client.enqueueMany('q', []), 2501);
});

test('a unique task is added once, until it has ended', async () => {
  const { id, added } = await client.enqueueUnique('q', 'one');
  assert.ok(added);
  assert.deepStrictEqual(await client.enqueueUnique('q', 'one'), { id, added: false });
  const [process] = await client.take('q');
  await client.finish(process.id);
  assert.ok((await client.enqueueUnique('q', 'one')).added);
});

test('leases: finish, give back, retry, fail, extend; each end counts once', async () => {
  await client.enqueueMany('q', ['a', 'b', 'c', 'd']);
  const [a, b, c, d] = await client.take('q', { n: 4, leaseMs: 60000 });
  await client.finish(a.id, 'done');
  await assert.rejects(client.finish(a.id), refused('E_LOST', /has ended/));
  await client.giveBack(b.id);
  await client.retry(c.id, 0);
  await client.fail(d.id, { group: 'g', message: 'why' });
  const [failure] = await client.failures({ queue: 'q' });
  assert.deepStrictEqual([failure.group, `${failure.message}`, `${failure.task}`], ['g', 'why', 'd']);
  const back = await client.take('q', { n: 4, leaseMs: 1000 });
  assert.deepStrictEqual(back.map(({ task }) => `${task}`), ['b', 'c']);
  await client.extend(back[0].id, { leaseMs: 100000, progress: 'half' });
  const [row] = (await client.processes({ queue: 'q', task: 'b' }));
  assert.strictEqual(row.progress, 'half');
  assert.ok(row.endsAtMs - row.startedAtMs > 50000);
  assert.strictEqual(await client.replay({ queue: 'q' }), 1);
  assert.deepStrictEqual((await client.take('q')).map(({ task }) => `${task}`), ['d']);
});

test('a take waits for a task, and is told that there is none', async () => {
  assert.deepStrictEqual(await client.take('q'), []);
  assert.deepStrictEqual(await client.take('q', { waitMs: 1 }), []);
  const [one, two] = [client.take('q', { waitMs: 20000 }), client.take('q', { waitMs: 20000 })];
  await client.enqueueMany('q', ['a', 'b']);
  const taken = [...await one, ...await two].map(({ task }) => `${task}`);
  assert.deepStrictEqual(taken.sort(), ['a', 'b']);
});

test('leases of a holder have its name, and end with it', async () => {
  await client.enqueueMany('q', ['a', 'b']);
  const [a] = await client.take('q', { holder: 'me' });
  await client.take('q');
  assert.strictEqual(a.holder, 'me');
  assert.deepStrictEqual((await client.processes({ holder: 'me' })).map(({ id }) => id), [a.id]);
  assert.strictEqual(await client.failWorker('me'), 1);
  await assert.rejects(client.finish(a.id), refused('E_LOST', /./));
  assert.strictEqual(await client.length('q'), 1);
});

test('jobs have ids, records and results', async () => {
  assert.strictEqual(await client.put('q', 'data', { id: 'j', retries: 0, tags: ['t'], priority: -1 }), 'j');
  await assert.rejects(client.put('q', 'data', { id: 'j' }), refused('E_EXISTS', /waiting|waits/));
  assert.match(await client.put('q', 'other', { after: ['j'] }), /^[0-9a-f]{32}$/);
  const [process] = await client.take('q');
  assert.deepStrictEqual([process.job, process.record.tags], ['j', ['t']]);
  await client.finish(process.id, Buffer.from('result'));
  const record = await client.job('j');
  assert.deepStrictEqual([record.state, `${record.result}`, record.retries], ['complete', 'result', 0]);
  const [whole] = await client.jobs(['j', 'none']);
  assert.deepStrictEqual(whole.history.map(({ what }) => what), ['put', 'taken', 'completed']);
  assert.strictEqual(await client.job('none'), null);
  assert.deepStrictEqual((await client.listJobs({ tag: 't' })).map(({ id }) => id), ['j']);
  const waiting = await client.listJobs({ queue: 'q', state: 'waiting' });
  assert.strictEqual(waiting.length, 1);
  assert.deepStrictEqual(await client.cancelJobs([waiting[0].id]), { removed: 1, running: 0 });
});

test('queues are looked at, paused, configured, deleted', async () => {
  await client.enqueueMany('q', ['a', 'b', 'a']);
  assert.deepStrictEqual(await client.cancel('q', 'a'), { removed: 2, running: 0 });
  await client.pause('q');
  assert.deepStrictEqual(await client.take('q'), []);
  const [row] = await client.queues();
  assert.deepStrictEqual([row.name, row.waiting, row.paused, row.cancelled], ['q', 1, true, 2]);
  await client.resume('q');
  await client.set('q', 'max_running', 7);
  assert.strictEqual((await client.settings('q')).find(({ name }) => name === 'max_running').value, 7);
  await client.set('q', 'max_running', null);
  assert.strictEqual((await client.settings('q')).find(({ name }) => name === 'max_running').from, 'default');
  assert.deepStrictEqual(await client.deleteQueue('q'), { removed: 1, running: 0 });
  assert.deepStrictEqual(await client.queues(), []);
  assert.strictEqual(await client.sweep(), 0);
  assert.ok(Math.abs(await client.time() - Date.now()) < 60000);
});

test('refusals have a code and say what is wrong', async () => {
  await assert.rejects(client.enqueue('', 'x'), refused('E_INVALID', /must not be empty/));
  await assert.rejects(client.enqueue('a\nb', 'x'), refused('E_INVALID', /control/));
  await assert.rejects(client.cancelProcess('w:1j0sfv40rim:q'), refused('E_LOST', /there is no process/));
  await assert.rejects(client.failWorker('nobody'), refused('E_NOT_FOUND', /nobody/));
  await assert.rejects(async () => client.enqueue('q', 7), TypeError);
  await assert.rejects(async () => client.enqueue('a\0b', 'x'), /text without a NUL/);
  await assert.rejects(async () => client.retry('w:1j0sfv40rim:q', 0.5), /whole number, not 0.5/);
  await assert.rejects(async () => client.peek('q', { n: -0.5 }), /whole number/);
  await assert.rejects(async () => client.put('q', 'x', { retrys: 1 }), /no option 'retrys'/);
  await assert.rejects(async () => client.take('q', { lease: 1 }), /no option 'lease'/);
  assert.throws(() => new Client({ url: 'http://x' }), refused('E_INVALID', /url|URL/));
  assert.throws(() => new Client({ urls: 'x' }), /no option 'urls'/);
  await redis.run('SET', 'muster:queues:wrong', 'x');
  await assert.rejects(client.enqueue('wrong', 'x'), refused('E_REDIS', /./));
});

test('what cannot be answered is refused in time', async () => {
  const alone = new Client({ url: 'unix:///nowhere/socket', timeoutMs: 100 });
  await assert.rejects(alone.enqueue('q', 'x'), refused('E_CONN', /nowhere/));
  await assert.rejects(alone.queues(), refused('E_CONN', /./));
  await alone.close();
  await assert.rejects(alone.enqueue('q', 'x'), /closed/);
  await assert.rejects(alone.queues(), /closed/);
});

test('more in flight than is allowed is refused, and the rest is not lost', async () => {
  const small = new Client({ url: redis.url, maxInFlight: 10 });
  const ends = await Promise.allSettled(Array.from({ length: 100 }, () => small.enqueue('q', 'x')));
  const busy = ends.filter(({ reason }) => reason?.code === 'E_BUSY').length;
  assert.ok(busy > 0 && busy <= 90, `${busy}`);
  assert.strictEqual(await small.length('q'), 100 - busy);
  await small.close();
});

test('close waits for what was asked for', async () => {
  const other = new Client({ url: redis.url });
  const asked = Array.from({ length: 100 }, () => other.enqueue('q', 'x'));
  const listed = other.queues();
  await other.close();
  await Promise.all(asked);
  await listed;
  await until(async () => await client.length('q') === 100);
});

test('close ends a take that waits', async () => {
  const other = new Client({ url: redis.url });
  const taking = other.take('q', { waitMs: 600000 });
  const ended = assert.rejects(taking, refused('E_INTERRUPTED', /./));
  await until(async () => (await redis.run('PUBSUB', 'CHANNELS')) !== '', 'it waits');
  await other.close();
  await ended;
});
