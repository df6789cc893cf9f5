// SPDX-License-Identifier: MIT
//
// The worker: handlers and how they end, batches, events, stopping.
'use strict';

const test = require('node:test');
const assert = require('node:assert');
const { once } = require('node:events');
const { Worker, Listener } = require('..');
const { eachOnEmptyRedis, until, heard, slowMs } = require('./support');

let redis, client, workers;
eachOnEmptyRedis({
  begin: (...made) => { [redis, client] = made; workers = []; },
  end: () => Promise.all(workers.map((worker) => worker.stop({ drainMs: 0 }).catch(() => {}))),
});

function make(options = {}) {
  const worker = new Worker({ url: redis.url, ...options });
  workers.push(worker);
  return worker;
}

const empty = async (queue) => (await client.length(queue)) === 0 && (await client.processes({ queue })).length === 0;

test('a handler gets the task, its ids and its token; what it returns is the result', async () => {
  const listener = new Listener({ url: redis.url }).add('q', ['done']);
  await heard(listener, 'ready');
  const worker = make({ id: 'w', hands: 3 });
  const done = heard(listener, 'done');
  const seen = [];
  worker.serve('q', async (process) => {
    seen.push(process);
    return `did ${process.task}`;
  });
  await client.enqueue('q', 'ünï');
  assert.deepStrictEqual((({ process, worker: by, task, result }) => [process, by, `${task}`, `${result}`])(await done),
    [seen[0].id, 'w', 'ünï', 'did ünï']);
  assert.strictEqual(seen[0].queue, 'q');
  assert.match(seen[0].id, /^w:[0-9a-v]{11}:q$/);
  assert.strictEqual(parseInt(seen[0].id.split(':')[1], 32), seen[0].token);
  assert.strictEqual(seen[0].job, null);
  assert.ok(seen[0].ended);
  listener.close();
});

test('a queue may have colons, and a task may be empty, large, or any bytes', async () => {
  const worker = make({ hands: 10 });
  const got = [];
  worker.serve('a:b:c', (process) => { got.push([process.queue, Buffer.from(process.task)]); });
  const tasks = [Buffer.alloc(0), Buffer.from([0, 1, 255]), Buffer.alloc(300000, 'x')];
  await client.enqueueMany('a:b:c', tasks);
  await until(() => got.length === 3);
  assert.deepStrictEqual(got, tasks.map((task) => ['a:b:c', task]));
});

test('a throw fails a task with its message, and retries a job by its retries', async () => {
  const worker = make({ hands: 5 });
  let attempts = 0;
  worker.serve('q', (process) => {
    if (process.job) attempts++;
    throw new RangeError(`cannot do ${process.task}`);
  });
  await client.enqueue('q', 'task');
  await client.put('q', 'job', { id: 'j', retries: 2, backoff: { delayMs: 0 } });
  const failures = await until(async () => {
    const rows = await client.failures({ queue: 'q' });
    return rows.length === 2 && rows;
  });
  const of = (job) => failures.find((row) => row.job === job);
  assert.deepStrictEqual([of(null).group, `${of(null).message}`], ['RangeError', 'cannot do task']);
  assert.deepStrictEqual([of('j').group, attempts], ['RangeError', 3]);
});

test('a message is cut to what a failure can have, and has no NUL', async () => {
  const worker = make();
  worker.serve('q', () => { throw new Error(`\0${'ü'.repeat(100000)}`); });
  await client.enqueue('q', 'x');
  const [{ message }] = await until(async () => { const rows = await client.failures({ queue: 'q' }); return rows.length && rows; });
  assert.ok(message.length <= 65536 && message.length > 65000);
  assert.match(`${message}`, /^ ü+$/);
});

test('a process is ended by its handler in each way, and says when that has counted', async () => {
  const worker = make({ hands: 1 });
  const ways = [(p) => p.giveBack(), (p) => p.retry(0), (p) => p.finish('result'), (p) => p.fail({ group: 'g' })];
  const seen = [];
  worker.serve('q', async (process) => {
    seen.push(`${process.task}`);
    const way = ways.shift();
    await way(process);
    assert.throws(() => process.progress('late'), { code: 'E_STATE' });
    assert.throws(() => process.finish(), { code: 'E_STATE' });
  });
  await client.enqueueMany('q', ['a', 'b']);
  await until(() => ways.length === 0 && seen.length === 4);
  assert.deepStrictEqual(seen, ['a', 'a', 'b', 'a']); // given back to the front; then retried to the end
});

test('at most once: the end is awaited before the work', async () => {
  const worker = make();
  const order = [];
  worker.serve('q', async (process) => {
    await process.finish();
    order.push((await client.processes({ queue: 'q' })).length);
  });
  await client.enqueue('q', 'x');
  await until(() => order.length === 1);
  assert.deepStrictEqual(order, [0]);
});

test('an end that does not count is rejected, and told', async () => {
  const worker = make();
  const uncounted = heard(worker, 'uncounted');
  let refused;
  worker.serve('q', async (process) => {
    const stopped = once(process.signal, 'abort'); // it may come before the answer
    await client.finish(process.id); // somebody else was faster
    await stopped;
    assert.strictEqual(process.stopReason, 'lost');
    refused = await process.finish().catch((error) => error);
  });
  await client.enqueue('q', 'x');
  assert.strictEqual((await uncounted).error.code, 'E_LOST');
  await until(() => refused);
  assert.strictEqual(refused.code, 'E_LOST');
});

test('a running handler hears by its signal that it was cancelled', async () => {
  const worker = make();
  let reason;
  worker.serve('q', async (process) => {
    await once(process.signal, 'abort');
    reason = process.signal.reason.code;
    process.giveBack();
  });
  await client.enqueue('q', 'x');
  await until(async () => (await client.processes({ queue: 'q' })).length === 1);
  assert.deepStrictEqual(await client.cancel('q', 'x'), { removed: 0, running: 1 });
  await until(() => empty('q'));
  assert.strictEqual(reason, 'cancelled');
});

test('a signal that is asked for late is aborted, too', async () => {
  const worker = make();
  let late;
  worker.serve('q', async (process) => {
    await heard(worker, 'stop', (event) => event.process === process);
    late = process.signal.aborted;
  });
  await client.enqueue('q', 'x');
  await until(async () => (await client.processes({ queue: 'q' })).length === 1);
  await client.cancel('q', 'x');
  await until(() => late !== undefined);
  assert.strictEqual(late, true);
});

test('a time limit stops a handler, and more of it can be asked for', async () => {
  const worker = make({ limitMs: slowMs(500) });
  worker.on('nearLimit', ({ process }) => { if (`${process.task}` === 'longer') process.extend(600000); });
  const reasons = new Map();
  worker.serve('q', async (process) => {
    const task = `${process.task}`;
    if (task === 'longer') await once(worker, 'nearLimit');
    else await once(process.signal, 'abort');
    reasons.set(task, process.stopReason);
  });
  await client.enqueueMany('q', ['x', 'longer']);
  await until(() => reasons.size === 2);
  assert.deepStrictEqual([...reasons], [['x', 'limit'], ['longer', null]]);
});

test('a job has its record, new data, progress, and a next queue', async () => {
  const worker = make();
  worker.serve('one', async (process) => {
    assert.deepStrictEqual([process.record().tags, process.record().retries], [['t'], 3]);
    process.progress('half');
    process.setData('more');
    await until(async () => (await client.processes({ queue: 'one' }))[0].progress === 'half');
    await process.finish('result', { next: 'two' });
  });
  await client.put('one', 'data', { id: 'j', tags: ['t'], retries: 3 });
  await until(async () => (await client.job('j')).queue === 'two');
  const [{ task }] = await client.take('two');
  assert.strictEqual(`${task}`, 'more');
});

test('batches: what is not ended is finished; a throw fails the rest', async () => {
  const worker = make({ hands: 100 });
  const sizes = [];
  const failed = heard(worker, 'failed');
  worker.serveBatch('q', async (processes) => {
    sizes.push(processes.length);
    for (const process of processes) if (`${process.task}` === 'back') process.fail({ group: 'mine' });
    if (processes.some((process) => `${process.task}` === 'bad')) throw new Error('whole batch');
  }, { max: 10 });
  await client.enqueueMany('q', Array.from({ length: 95 }, (_, i) => (i === 50 ? 'back' : `${i}`)));
  await until(() => empty('q'));
  assert.ok(Math.max(...sizes) <= 10 && sizes.reduce((a, b) => a + b) === 95, `${sizes}`);
  assert.deepStrictEqual((await client.failures({ queue: 'q' })).map(({ group }) => group), ['mine']);
  await client.enqueue('q', 'bad');
  const [processes, error] = await failed;
  assert.deepStrictEqual([processes.length, error.message], [1, 'whole batch']);
  await until(async () => (await client.failures({ queue: 'q' })).length === 2);
});

test('no more run at once than it has hands, and a queue its own', async () => {
  const worker = make({ hands: 4 });
  const running = new Map([['a', 0], ['b', 0]]);
  const most = new Map(running);
  const handler = async ({ queue }) => {
    running.set(queue, running.get(queue) + 1);
    most.set(queue, Math.max(most.get(queue), running.get(queue)));
    await new Promise(setImmediate);
    running.set(queue, running.get(queue) - 1);
  };
  worker.serve('a', handler);
  worker.serve('b', handler, { hands: 2 });
  await client.enqueueMany('a', Array(50).fill('x'));
  await client.enqueueMany('b', Array(50).fill('x'));
  await until(async () => await empty('a') && await empty('b'));
  assert.ok(most.get('a') <= 4 && most.get('b') <= 2, `${[...most]}`);
});

test('it enqueues over its own connection, in order with its ends', async () => {
  const worker = make();
  worker.serve('q', async (process) => {
    assert.strictEqual(await worker.enqueue('next', process.task), 1);
    assert.strictEqual(await worker.put('jobs', 'data', { id: 'j', retries: 0 }), 'j');
    await assert.rejects(worker.put('jobs', 'data', { id: 'j' }), { code: 'E_EXISTS' });
    await assert.rejects(worker.enqueue('', 'x'), { code: 'E_INVALID' });
  });
  await client.enqueue('q', 'handed on');
  const [{ task }] = await client.take('next', { waitMs: 20000 });
  assert.strictEqual(`${task}`, 'handed on');
});

test('leave gives back what runs, and the queue may be served again', async () => {
  const worker = make({ hands: 2 });
  let reason;
  worker.serve('q', async (process) => {
    await once(process.signal, 'abort');
    reason = process.stopReason;
  });
  await client.enqueue('q', 'x');
  await until(async () => (await client.processes({ queue: 'q' })).length === 1);
  await worker.leave('q');
  assert.strictEqual(reason, 'drain');
  assert.strictEqual(await client.length('q'), 1);
  let again = 0;
  worker.serve('q', () => { again++; });
  await until(() => again === 1);
});

test('stop lets what runs end, gives back what has not begun, and resolves when it has left', async () => {
  const worker = make({ id: 'w' });
  let release;
  worker.serve('q', () => new Promise((resolve) => { release = resolve; }));
  await client.enqueueMany('q', ['a', 'b']);
  await until(() => release);
  const stopped = worker.stop();
  await until(async () => !(await client.workers())[0]?.alive || true);
  release('done');
  await stopped;
  assert.deepStrictEqual(await client.workers(), []);
  assert.deepStrictEqual((await client.peek('q')).map(({ data }) => `${data}`), ['b']);
  assert.throws(() => worker.serve('r', () => {}), { code: 'E_STATE' });
  await assert.rejects(worker.enqueue('q', 'x'), { code: 'E_STATE' });
  await worker.stop();
});

test('handlers that do not end are told at the end of the drain; their task is back, unless their end has counted', async () => {
  const worker = make();
  let end;
  worker.serve('q', async (process) => {
    await once(process.signal, 'abort');
    assert.strictEqual(process.stopReason, 'drain');
    end = process.ended ? 'gone' : await process.finish().then(() => 'counted', (error) => error.code);
  });
  await client.enqueue('q', 'x');
  await until(async () => (await client.processes({ queue: 'q' })).length === 1);
  await worker.stop({ drainMs: 0 });
  await until(() => end);
  assert.ok(['gone', 'E_LOST', 'counted'].includes(end), end);
  assert.strictEqual(await client.length('q'), end === 'counted' ? 0 : 1);
});

test('two of one id: the second is refused, by its start, by stop, or as an error event', async () => {
  await make({ id: 'w' }).start();
  await assert.rejects(make({ id: 'w' }).start(), { code: 'E_EXISTS' });
  const third = make({ id: 'w' });
  third.serve('q', () => {});
  const [error] = await once(third, 'error');
  assert.strictEqual(error.code, 'E_EXISTS');
  await assert.rejects(third.stop(), { code: 'E_EXISTS' });
});

test('warnings that nobody hears are warnings of the program', async () => {
  const worker = make({ url: `unix://${redis.dir}/nowhere` });
  const warned = new Promise((resolve) => process.once('warning', resolve));
  worker.serve('q', () => {});
  const warning = await warned;
  assert.strictEqual(warning.name, 'MusterWarning');
  assert.match(warning.message, /nowhere/);
});

test('options are those of the library, and no others', () => {
  assert.throws(() => make({ hand: 1 }), /no option 'hand'/);
  assert.throws(() => make({ ttlMs: 1 }), { code: 'E_INVALID' });
  assert.throws(() => make({ onLimit: 'explode' }), /'onLimit' is one of giveBack, retry, fail/);
  assert.throws(() => make({ ownThread: false, base: 1 }), /E_INVALID|own_thread|base/);
  assert.throws(() => make().serve('q', 'handler'), TypeError);
});
