// SPDX-License-Identifier: MIT
//
// examples/worqr.js: each call of the table in doc/from-worqr.md, and each point of what is different there, for a
// program that has worqr's class.
'use strict';

const test = require('node:test');
const assert = require('node:assert');
const { Worqr } = require('../examples/worqr');
const { eachOnEmptyRedis, until, heard } = require('./support');

let redis, made, client;
eachOnEmptyRedis({
  prefix: 'worqr',
  begin: (...begun) => { [redis, client] = begun; made = []; },
  end: () => Promise.all(made.map((worqr) => worqr.close())),
});

function make(options = {}) {
  const worqr = new Worqr({ url: redis.url }, options);
  made.push(worqr);
  return worqr;
}

// A worker on a queue: what it is told, and its processes.
async function serve(queue, options = {}) {
  const worqr = make(options);
  const told = [];
  worqr.on(queue, (type, message) => told.push([type, message]));
  await worqr.startWorker();
  await worqr.startWork(queue);
  const dequeue = () => until(() => worqr.dequeue(queue), 'a process');
  return { worqr, told, dequeue };
}

const types = (told) => told.map(([type]) => type);

// ---- calls

test('enqueue takes one or many, answers how many wait, and none is no error', async () => {
  const worqr = make();
  assert.strictEqual(await worqr.enqueue('q', 'a'), 1);
  assert.strictEqual(await worqr.enqueue('q', ['b', 'c']), 3);
  assert.strictEqual(await worqr.enqueue('q', []), 3);
  assert.strictEqual(await worqr.countQueue('q'), 3);
  assert.strictEqual(await worqr.peekQueue('q'), 'a');
  assert.deepStrictEqual(await worqr.getTasks('q'), ['a', 'b', 'c']);
  assert.deepStrictEqual(await worqr.getQueues(), ['q']);
  assert.strictEqual(await worqr.peekQueue('none'), null);
});

test("waiting tasks lie where worqr's lie, and a bare LPUSH is one", async () => {
  const worqr = make();
  await worqr.enqueue('q', 'a');
  assert.strictEqual(await redis.run('LRANGE', 'worqr:queues:q', '0', '-1'), 'a');
  await redis.run('LPUSH', 'worqr:queues:q', 'b');
  assert.deepStrictEqual(await worqr.getTasks('q'), ['a', 'b']);
  const { dequeue } = await serve('q');
  assert.strictEqual((await dequeue()).task, 'a');
});

test('a prefix of its own, and a worker id', async () => {
  const worqr = make({ redisKeyPrefix: 'mine', workerId: 'w1' });
  await worqr.enqueue('q', 'a');
  assert.strictEqual(await redis.run('EXISTS', 'mine:queues:q'), '1');
  assert.strictEqual(await worqr.startWorker(), 'w1');
  assert.deepStrictEqual(await worqr.getWorkers(), ['w1']);
  assert.deepStrictEqual(await worqr.getWorkingQueues(), []);
  await worqr.startWork('q');
  await until(async () => (await worqr.getWorkingQueues()).includes('q'));
  assert.deepStrictEqual(await worqr.getWorkingQueues('w1'), ['q']);
  await assert.rejects(make({ redisKeyPrefix: 'mine', workerId: 'w1' }).startWorker(), { code: 'E_EXISTS' });
});

test("worqr's loop: work is told with a count, dequeued, finished, until there is none", async () => {
  const producer = make();
  const { worqr, told } = await serve('q', { hands: 3 });
  const done = [];
  const work = async () => {
    for (let process; (process = await worqr.dequeue('q'));) {
      await worqr.finishProcess(process.id);
      done.push(process.task);
    }
  };
  worqr.on('q', (type) => { if (type === 'work') work(); });
  await producer.enqueue('q', Array.from({ length: 20 }, (_, i) => `${i}`));
  await until(() => done.length === 20);
  assert.deepStrictEqual(done, Array.from({ length: 20 }, (_, i) => `${i}`));
  const counted = told.filter(([type]) => type === 'work').map(([, message]) => Number(message));
  assert.ok(counted.length > 0 && counted.every((n) => n >= 1 && n <= 3), `${counted}`);
  assert.strictEqual(await worqr.dequeue('q'), null);
});

test('requestWork tells of work that is there, and a process that is not dequeued stays', async () => {
  const { worqr, told } = await serve('q');
  worqr.requestWork('q');
  await make().enqueue('q', 'a');
  await until(() => told.length === 1);
  worqr.requestWork('q');
  assert.deepStrictEqual(told, [['work', '1'], ['work', '1']]);
  assert.strictEqual((await worqr.dequeue('q')).task, 'a');
  worqr.requestWork('q');
  assert.strictEqual(told.length, 2);
});

test('a result is for those who listen, also no bytes and 0', async () => {
  const listener = make();
  const told = [];
  listener.on('q', (type, message) => told.push([type, message]));
  const { worqr, dequeue } = await serve('q', { workerId: 'w' });
  await until(async () => Number((await redis.run('PUBSUB', 'NUMSUB', 'worqr_q_done')).split('\n')[1]) >= 2, 'both listen');
  const ids = [];
  for (const result of ['fine', '', '0', undefined]) {
    await worqr.enqueue('q', 'a');
    const { id } = await dequeue();
    await worqr.finishProcess(id, result);
    ids.push(id);
  }
  await until(() => told.filter(([type]) => type === 'done').length === 4);
  assert.deepStrictEqual(told.map(([, message]) => JSON.parse(message)),
    ['fine', '', '0', null].map((result, i) => ({ id: ids[i], task: 'a', result })));
});

test('a process that is stopped goes back to the front, and out again at once', async () => {
  const { worqr, dequeue } = await serve('q');
  await worqr.enqueue('q', ['a', 'b']);
  const first = await dequeue();
  await worqr.stopProcess(first.id);
  const again = await dequeue();
  assert.strictEqual(again.task, 'a');
  assert.notStrictEqual(again.id, first.id);
});

test('getMatchingProcesses finds who runs a task, over all workers', async () => {
  const [one, two] = [await serve('q'), await serve('q')];
  await one.worqr.enqueue('q', ['same', 'same']);
  const ids = [(await one.dequeue()).id, (await two.dequeue()).id];
  assert.deepStrictEqual((await make().getMatchingProcesses('same')).sort(), ids.sort());
  assert.deepStrictEqual(await make().getMatchingProcesses('other'), []);
});

test('anybody may end a process by its id; an end counts once, and of none it is E_LOST', async () => {
  const { worqr, dequeue } = await serve('q');
  await worqr.enqueue('q', 'a');
  const { id } = await dequeue();
  await make().finishProcess(id);
  await assert.rejects(worqr.finishProcess(id), { code: 'E_LOST' });
  await assert.rejects(make().finishProcess('w:1j0sfv40rim:q'), { code: 'E_LOST' });
  await assert.rejects(make().stopProcess(id), { code: 'E_LOST' });
});

test('stopWork gives back what this worker holds of the queue, and nothing of others', async () => {
  const [one, two] = [await serve('q'), await serve('q')];
  await one.worqr.enqueue('q', ['a', 'b']);
  await one.dequeue();
  const kept = await two.dequeue();
  await one.worqr.stopWork('q');
  assert.strictEqual(await one.worqr.countQueue('q'), 1);
  assert.strictEqual(await one.worqr.dequeue('q'), null);
  await two.worqr.finishProcess(kept.id);
});

test('failWorker of oneself gives all back in order; of another, its ends no longer count', async () => {
  const one = await serve('q', { hands: 2, workerId: 'one' });
  await one.worqr.enqueue('q', ['a', 'b', 'c']);
  const [a, b] = [await one.dequeue(), await one.dequeue()];
  assert.deepStrictEqual([a.task, b.task], ['a', 'b']);
  const errors = [];
  one.worqr.on('error', (error) => errors.push(error));
  assert.strictEqual(await make().failWorker('one'), 2);
  await assert.rejects(one.worqr.finishProcess(a.id), { code: 'E_LOST' });
  await until(() => errors.length > 0);
  await one.worqr.failWorker();
  assert.deepStrictEqual(await make().getTasks('q'), ['a', 'b', 'c']);
  assert.deepStrictEqual(await make().getWorkers(), []);
  await assert.rejects(one.worqr.dequeue('q'), /was not started/);
});

test('cleanupWorkers sweeps the dead; a permanent worker keeps what it held until it is failed', async () => {
  const dead = new (require('..').Worker)({ url: redis.url, prefix: 'worqr', id: 'perm', permanent: true });
  let process;
  dead.serve('q', (it) => { process = it; return new Promise(() => {}); });
  await make().enqueue('q', 'a');
  await until(() => process);
  const worqr = make();
  assert.strictEqual(await worqr.cleanupWorkers(), 0);
  assert.strictEqual((await worqr.getMatchingProcesses('a')).length, 1);
  assert.strictEqual(await worqr.failWorker('perm'), 1);
  await assert.rejects(dead.stop({ drainMs: 0 }), { code: 'E_GONE' }); // what it held is in other hands
  const permanent = make({ workerTimeout: -1, workerId: 'p' });
  await permanent.startWorker();
  assert.strictEqual((await client.workers())[0].permanent, true);
});

test('deleteQueue: waiting tasks go; a running one is told, may finish, and does not bring the queue back', async () => {
  const { worqr, told, dequeue } = await serve('q');
  await worqr.enqueue('q', ['a', 'b']);
  const { id } = await dequeue();
  assert.deepStrictEqual(await make().deleteQueue('q'), { removed: 1, running: 1 });
  await until(() => types(told).includes('delete'));
  await worqr.stopProcess(id);
  await until(async () => (await client.processes({})).length === 0);
  assert.strictEqual(await worqr.countQueue('q'), 0);
});

// ---- what is different

test('a task goes to one worker, not to all', async () => {
  const workers = await Promise.all([serve('q'), serve('q'), serve('q')]);
  await make().enqueue('q', 'a');
  await until(() => workers.some(({ told }) => told.length > 0));
  await until(async () => (await client.processes({ queue: 'q' })).length === 1);
  assert.strictEqual(workers.filter(({ told }) => types(told).includes('work')).length, 1);
});

test('a cancel is kept: waiting copies go, the owner of a running one is told, and after a stop it is gone', async () => {
  const [one, other] = [await serve('q'), await serve('q')];
  await one.worqr.enqueue('q', ['a', 'b']);
  const holds = [await one.dequeue(), await other.dequeue()];
  const [holder, free] = holds[0].task === 'a' ? [one, other] : [other, one];
  const { id } = holds.find(({ task }) => task === 'a');
  await one.worqr.enqueue('q', ['a', 'c', 'a']);
  assert.deepStrictEqual(await make().cancelTasks('q', 'a'), { removed: 2, running: 1 });
  await until(() => types(holder.told).includes('cancel'));
  assert.deepStrictEqual(holder.told.filter(([type]) => type === 'cancel'), [['cancel', 'a']]);
  await holder.worqr.stopProcess(id);
  await until(async () => (await make().getMatchingProcesses('a')).length === 0);
  assert.ok(!(await free.worqr.getTasks('q')).includes('a'));
});

test('a cancelled process may still finish', async () => {
  const { worqr, told, dequeue } = await serve('q');
  await worqr.enqueue('q', 'a');
  const { id } = await dequeue();
  await make().cancelTasks('q', 'a');
  await until(() => types(told).includes('cancel'));
  await worqr.finishProcess(id, 'done all the same');
});

test('a message of a foreign program on _cancel is a notice', async () => {
  const { worqr, told, dequeue } = await serve('q');
  await worqr.enqueue('q', 'a');
  const { id } = await dequeue();
  await redis.run('PUBLISH', 'worqr_q_cancel', 'a');
  await until(() => types(told).includes('cancel'));
  await worqr.stopProcess(id);
  assert.strictEqual((await dequeue()).task, 'a');
});

test('a message of a foreign program on _work wakes a worker for its LPUSH', async () => {
  const { dequeue } = await serve('q');
  await redis.run('LPUSH', 'worqr:queues:q', 'foreign');
  await redis.run('PUBLISH', 'worqr_q_work', '1');
  assert.strictEqual((await dequeue()).task, 'foreign');
});

test('what is enqueued is dealt by how many hands are free', async () => {
  for (const hands of [8, 8, 16]) await serve('q', { hands });
  await until(async () => (await client.queues())[0]?.idle === 3, 'all are idle');
  await make().enqueue('q', Array(16).fill('x'));
  await until(async () => (await client.processes({ queue: 'q' })).length === 16);
  assert.deepStrictEqual((await client.workers()).map(({ held }) => held).sort((a, b) => a - b), [4, 4, 8]);
});

test('unique tasks: one of equals is alive; free again after a finish, and after a cancel', async () => {
  const { worqr, dequeue } = await serve('q');
  assert.strictEqual(await worqr.enqueue('q', 'u', true), 1);
  assert.strictEqual(await worqr.enqueue('q', ['u', 'v', 'v'], true), 1);
  assert.strictEqual(await worqr.enqueue('other', 'u', true), 1); // within one queue
  const { id, task } = await dequeue();
  assert.strictEqual(await worqr.enqueue('q', task, true), 0); // also while it runs
  await worqr.finishProcess(id);
  assert.strictEqual(await worqr.enqueue('q', task, true), 1);
  assert.ok((await worqr.getTasks('q')).includes(task));
  await worqr.cancelTasks('other', 'u');
  assert.strictEqual(await worqr.enqueue('other', 'u', true), 1);
  await worqr.enqueue('q', 'u'); // a plain one does not count
});

test('unique and plain tasks come out in turn; each kind in its order', async () => {
  const worqr = make();
  await worqr.enqueue('q', ['p1', 'p2']);
  await worqr.enqueue('q', ['u1', 'u2'], true);
  assert.strictEqual(await worqr.countQueue('q'), 4);
  const { dequeue, worqr: worker } = await serve('q', { hands: 4 });
  const order = [];
  for (let i = 0; i < 4; i++) {
    const { id, task } = await dequeue();
    order.push(task);
    await worker.finishProcess(id);
  }
  assert.deepStrictEqual(order.filter((task) => task[0] === 'p'), ['p1', 'p2']);
  assert.deepStrictEqual(order.filter((task) => task[0] === 'u'), ['u1', 'u2']);
});

test('a command that Redis refuses is an error, and nothing is changed', async () => {
  const worqr = make();
  await redis.run('SET', 'worqr:queues:q', 'no list');
  await assert.rejects(worqr.enqueue('q', 'a'), { code: 'E_REDIS' });
  assert.strictEqual(await redis.run('GET', 'worqr:queues:q'), 'no list');
});

test('names with colons and underscores do not confuse', async () => {
  const [one, two] = [await serve('a:b'), await serve('a_b')];
  await one.worqr.enqueue('a:b', 'one');
  await one.worqr.enqueue('a_b', 'two');
  assert.strictEqual((await one.dequeue()).task, 'one');
  assert.strictEqual((await two.dequeue()).task, 'two');
  assert.deepStrictEqual((await one.worqr.getQueues()).sort(), ['a:b', 'a_b']);
});

test('errors are told while Redis is away, and it goes on afterwards', async () => {
  const { worqr, dequeue } = await serve('q', { workerTimeout: 60 });
  const error = heard(worqr, 'error');
  await redis.kill();
  assert.strictEqual((await error).code, 'E_CONN');
  await redis.start();
  await until(() => worqr.enqueue('q', 'after').then(() => true, () => false));
  assert.strictEqual((await dequeue()).task, 'after');
});
