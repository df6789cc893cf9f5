// SPDX-License-Identifier: MIT
//
// The listener: queues and jobs, as events and one after the other; what may have been missed is told.
'use strict';

const test = require('node:test');
const assert = require('node:assert');
const { Listener } = require('..');
const { eachOnEmptyRedis, until, heard } = require('./support');

let redis, client;
eachOnEmptyRedis({ begin: (...made) => { [redis, client] = made; } });

async function finishOne(queue, task, result) {
  await client.enqueue(queue, task);
  const [process] = await client.take(queue);
  await client.finish(process.id, result);
  return process.id;
}

test('events of several queues, of the kinds that were asked for', async () => {
  const listener = new Listener({ url: redis.url });
  const events = [];
  for (const type of ['done', 'cancelled', 'deleted', 'job']) listener.on(type, (event) => events.push(event));
  let ready = 0;
  listener.on('ready', () => ready++);
  listener.add('a').add('b', ['deleted']);
  await until(() => ready === 2);
  const id = await finishOne('a', 'x', 'result');
  await finishOne('b', 'not heard');
  await client.cancel('a', 'y');
  await client.put('a', 'data', { id: 'j' });
  await client.deleteQueue('b');
  await until(() => events.some(({ type }) => type === 'deleted'));
  await until(() => events.some(({ type }) => type === 'job'));
  const of = (type) => events.filter((event) => event.type === type);
  assert.deepStrictEqual(of('done').map((it) => [it.queue, it.process, `${it.task}`, `${it.result}`]), [['a', id, 'x', 'result']]);
  assert.deepStrictEqual(of('cancelled').map((it) => [it.queue, `${it.task}`]), [['a', 'y']]);
  assert.deepStrictEqual(of('deleted').map((it) => it.queue), ['b']);
  assert.deepStrictEqual([of('job')[0].job.what, of('job')[0].job.id], ['put', 'j']);
  listener.close();
});

test('for await gives one after the other, until it is closed', async () => {
  const listener = new Listener({ url: redis.url }).add('q', ['done']);
  const tasks = [];
  for await (const event of listener) {
    if (event.type === 'ready') for (const task of ['a', 'b', 'c']) await finishOne('q', task);
    if (event.type === 'done') tasks.push(`${event.task}`);
    if (tasks.length === 3) listener.close();
  }
  assert.deepStrictEqual(tasks, ['a', 'b', 'c']);
});

test('an iteration that is left goes on as events', async () => {
  const listener = new Listener({ url: redis.url }).add('q', ['done']);
  for await (const event of listener) if (event.type === 'ready') break;
  const done = heard(listener, 'done');
  await finishOne('q', 'x');
  assert.strictEqual(`${(await done).task}`, 'x');
  listener.close();
});

test('a broken connection is told as a gap, and then it listens again', async () => {
  const listener = new Listener({ url: redis.url });
  const first = heard(listener, 'ready');
  listener.add('q');
  await first;
  const [gap, again] = [heard(listener, 'gap'), heard(listener, 'ready')];
  await redis.kill();
  assert.strictEqual((await gap).error.code, 'E_CONN');
  await redis.start();
  await again;
  const done = heard(listener, 'done');
  await finishOne('q', 'x');
  await done;
  listener.close();
});

test('what is wrong is refused', () => {
  const listener = new Listener({ url: redis.url });
  assert.throws(() => listener.add('q', ['everything']), /no kind 'everything'/);
  assert.throws(() => listener.add(''), { code: 'E_INVALID' });
  assert.throws(() => listener.add(null, ['done']), { code: 'E_INVALID' });
  listener.remove('never');
  listener.close();
  listener.close();
});
