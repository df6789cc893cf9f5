// SPDX-License-Identifier: MIT
//
// The client: each of its calls does what it says on a Redis of its own, many at once, and refusals say why.
'use strict';

const test = require('node:test');
const assert = require('node:assert');
const { Client, MusterError } = require('..');
const { eachOnEmptyRedis, until, sleep } = require('./support');

let redis, client;
eachOnEmptyRedis({ begin: (...made) => { [redis, client] = made; } });

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
  const seen = await client.peek('r'); // the beginning of a long one
  assert.deepStrictEqual(seen.map(({ data }) => data), tasks.map((task) => bytesOf(task).subarray(0, 65536)));
  assert.deepStrictEqual(seen.map(({ wholeLen }) => wholeLen), tasks.map((task) => bytesOf(task).length));
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

// A lease of a test lasts longer than the test: what is not given back is seen.
const LONG = { leaseMs: 600000, waitMs: 600000 };
const waits = (queue) => until(async () => (await redis.run('PUBSUB', 'CHANNELS')).includes(`_${queue}_`), 'it waits');

test('any number of takes wait, and need one connection more', async () => {
  const others = (await redis.run('CLIENT', 'LIST')).split('\n').length;
  const taking = Array.from({ length: 700 }, (_, i) => client.take(`q${i % 7}`, LONG));
  await waits('q6');
  assert.ok((await redis.run('CLIENT', 'LIST')).split('\n').length <= others + 2);
  await Promise.all(taking.map((_, i) => client.enqueue(`q${i % 7}`, `${i}`)));
  const taken = (await Promise.all(taking)).flat();
  assert.deepStrictEqual(new Set(taken.map(({ task }) => `${task}`)), new Set(taking.map((_, i) => `${i}`)));
  assert.deepStrictEqual(await client.endMany(taken.map(({ id }) => ({ process: id, outcome: 'finish' }))),
    taken.map(() => null));
  await assert.rejects(client.take('q', { waitMs: -1 }), refused('E_INVALID', /negative/));
});

test('many end in one call, each in its own way; what is the matter with one is told in its place', async () => {
  await client.enqueueMany('q', ['done', 'back', 'again', 'failed']);
  await client.put('j', 'x', { id: 'j', retries: 2 });
  const [done, back, again, failed] = await client.take('q', { n: 4, leaseMs: 60000 });
  const [job] = await client.take('j');
  const told = await client.endMany([
    { process: done.id, outcome: 'finish', result: Buffer.from('r') },
    { process: done.id, outcome: 'finish', result: '' },
    { process: back.id, outcome: 'giveBack' },
    { process: 'no process', outcome: 'fail' },
    { process: again.id, outcome: 'retry', delayMs: 1000000 },
    { process: failed.id, outcome: 'fail', group: 'g', message: 'm' },
    { process: job.id, outcome: 'giveBack', group: 'g' },
    { process: job.id, outcome: 'retry', group: 'h', message: 'why' },
    { outcome: 'finish' },
  ]);
  assert.deepStrictEqual(told.map((error) => error && error.code),
    [null, 'E_LOST', null, 'E_INVALID', null, null, 'E_INVALID', null, 'E_INVALID']);
  assert.ok(told[1] instanceof MusterError && told[1].message.includes(done.id), told[1].message);
  const row = (await client.queues()).find(({ name }) => name === 'q');
  assert.deepStrictEqual([row.waiting, row.delayed, row.failed, row.running], [1, 1, 1, 0]);
  const record = await client.job('j');
  assert.deepStrictEqual([record.state, record.group, `${record.message}`], ['scheduled', 'h', 'why']);
  assert.deepStrictEqual(await client.endMany([]), []);
  await assert.rejects(client.endMany([{ process: back.id }]), /'outcome' is one of finish, giveBack, retry, fail/);
  await assert.rejects(client.endMany([{ process: back.id, outcome: 'fail', why: 'x' }]), /no option 'why'/);
});

test('of a large job there is a look at its beginning', async () => {
  const large = Buffer.alloc(256 * 1024, 'abc'), head = 64 * 1024;
  await client.put('large', large, { id: 'large' });
  let [job] = await client.peekJobs(['large', 'none']);
  assert.deepStrictEqual([job.data.equals(large.subarray(0, head)), job.wholeLen], [true, large.length]);
  assert.deepStrictEqual(job.history.map(({ what }) => what), ['put']);
  const [process] = await client.take('large');
  await client.finish(process.id, large.subarray(1));
  [job] = await client.peekJobs(['large']);
  assert.deepStrictEqual([job.result.equals(large.subarray(1, head + 1)), job.wholeResultLen], [true, large.length - 1]);
  assert.deepStrictEqual([job.before, job.wholeBefore], [[], 0]);
  [job] = await client.jobs(['large']);
  assert.deepStrictEqual([job.data.equals(large), job.wholeLen], [true, large.length]);
  assert.deepStrictEqual(await client.peekJobs(['none']), []);
});

test('many are extended in one call', async () => {
  await client.enqueueMany('q', Array(250).fill('x'));
  const ids = (await client.take('q', { n: 250, leaseMs: 60000 })).map(({ id }) => id);
  await client.finish(ids[220]);
  const told = await client.extendMany(ids, { leaseMs: 5000000, progress: 'half' });
  assert.deepStrictEqual(told.map((error) => error && error.code), ids.map((_, i) => (i === 220 ? 'E_LOST' : null)));
  const rows = await client.processes({ queue: 'q' });
  assert.ok(rows.length === 249 && rows.every(({ progress, endsAtMs, startedAtMs }) => progress === 'half'
    && endsAtMs - startedAtMs > 4000000));
  const all = await client.extendMany(ids.slice(0, 2), { progress: 'x'.repeat(5000) });
  assert.deepStrictEqual(all.map(({ code }) => code), ['E_TOO_BIG', 'E_TOO_BIG']);
  assert.deepStrictEqual(await client.extendMany([], { leaseMs: 1 }), []);
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

test('who waits for jobs hears how each has ended', async () => {
  for (const id of ['a', 'b', 'c']) await client.put('q', id, { id, retries: 0 });
  await assert.rejects(client.wait(['a', 'none'], { timeoutMs: 0 }), (error) => {
    assert.deepStrictEqual([error.code, error.ended], ['E_TIMEOUT', [{ id: 'none', how: 'gone', job: null }]]);
    return true;
  });
  const waiting = client.wait(['a', 'b', 'c']);
  const held = await client.take('q', { n: 2 });
  await client.finish(held[0].id, 'done');
  await client.fail(held[1].id, { group: 'why' });
  await client.cancelJobs(['c']);
  const ended = (await waiting).sort((one, other) => (one.id < other.id ? -1 : 1));
  assert.deepStrictEqual(ended.map(({ id, how }) => [id, how]), [['a', 'complete'], ['b', 'failed'], ['c', 'cancelled']]);
  assert.deepStrictEqual([`${ended[0].job.result}`, ended[1].job.group], ['done', 'why']);
  await assert.rejects(client.wait(['']), refused('E_INVALID', /./));
});

test('a call that waits is ended by close(), also while its thread begins', async () => {
  await client.put('q', 'x', { id: 'j' });
  for (const pause of [0, 1, 20, 200]) {
    const other = new Client({ url: redis.url });
    const waiting = assert.rejects(other.wait(['j']), refused('E_INTERRUPTED', /./));
    const taking = assert.rejects(other.take('none', { waitMs: 60000, holder: 'me' }), refused('E_INTERRUPTED', /./));
    await new Promise((resolve) => setTimeout(resolve, pause));
    await other.close();
    await Promise.all([waiting, taking]);
  }
});

test('jobs are put without waiting for each other, and with a schedule', async () => {
  const ids = await Promise.all(Array.from({ length: 1000 }, (_, i) => client.put('q', `${i}`, { priority: 0, tags: ['t'] })));
  assert.strictEqual(new Set(ids).size, 1000);
  assert.strictEqual(await client.length('q'), 1000);
  assert.strictEqual(await client.put('q', 'x', { id: 'daily', cron: '0 3 * * *', zone: 'UTC' }), 'daily');
  const [daily] = await client.jobs(['daily']);
  assert.deepStrictEqual([daily.state, daily.cron], ['recurring', '0 3 * * *']);
  await assert.rejects(client.put('q', 'x', { after: ['none'] }), refused('E_NOT_FOUND', /no job 'none' .* put that one first/));
  await assert.rejects(client.put('q'), TypeError);
});

test('a retry of a job says why', async () => {
  await client.put('q', 'x', { id: 'j', retries: 1 });
  const [process] = await client.take('q');
  await client.retry(process.id, 1000000, { group: 'g', message: 'm' });
  const { state, group, message } = await client.job('j');
  assert.deepStrictEqual([state, group, `${message}`], ['scheduled', 'g', 'm']);
  await client.enqueue('r', 'x');
  const [task] = await client.take('r');
  await assert.rejects(client.retry(task.id, 0, { group: 'g' }), refused('E_STATE', /./));
  await assert.rejects(async () => client.retry(task.id, 0, { why: 'x' }), /no option 'why'/);
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

test('close ends takes that wait, and leaves nothing taken', async () => {
  const other = new Client({ url: redis.url });
  const taking = [other.take('q', LONG), other.take('r', { ...LONG, holder: 'me' }), other.take('q', LONG)];
  const ended = taking.map((it) => assert.rejects(it, refused('E_INTERRUPTED', /./)));
  await waits('q');
  await waits('r');
  const asked = Array.from({ length: 100 }, () => other.enqueue('s', 'x'));
  await other.close();
  await Promise.all([...ended, ...asked]);
  await client.enqueue('q', 'a');
  await client.enqueue('r', 'b');
  assert.deepStrictEqual([await client.length('q'), await client.length('r'), await client.processes()], [1, 1, []]);
});

test('close ends a take of many under a name on its way, and leaves nothing taken', async () => {
  await client.enqueueMany('q', Array(1000).fill('x'));
  for (let i = 0; i < 20; i++) {
    const other = new Client({ url: redis.url });
    await other.take('none', { holder: 'me' }); // its thread runs
    const taking = other.take('q', { ...LONG, n: 1000, holder: 'me' });
    const settled = Promise.allSettled([taking]);
    await sleep(i);
    await other.close();
    const [{ value, reason }] = await settled;
    if (value) await client.endMany(value.map(({ id }) => ({ process: id, outcome: 'giveBack' })));
    else assert.strictEqual(reason.code, 'E_INTERRUPTED');
    assert.strictEqual(await client.length('q'), 1000);
  }
});

test('close at any moment leaves nothing taken', async () => {
  for (let i = 0; i < 40; i++) {
    const other = new Client({ url: redis.url });
    const taking = Array.from({ length: 5 }, () => other.take('q', LONG));
    const settled = Promise.allSettled(taking);
    await other.length('q');
    const asked = [client.enqueue('q', 'a'), client.enqueue('q', 'b'), other.enqueue('q', 'c')];
    if (i % 4 > 0) await Promise.race(i % 4 > 1 ? asked : taking);
    await other.close();
    await Promise.all(asked);
    for (const { value, reason } of await settled) {
      if (value) await client.endMany(value.map(({ id }) => ({ process: id, outcome: 'finish' })));
      else assert.strictEqual(reason.code, 'E_INTERRUPTED');
    }
  }
  assert.deepStrictEqual(await client.processes(), []);
});
