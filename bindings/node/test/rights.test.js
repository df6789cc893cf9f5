// SPDX-License-Identifier: MIT
//
// Whatever a user of Redis may not do, and whatever a full Redis refuses: each call of the client, for each role of
// examples/users.acl, without some rights, and on a full Redis, resolves or rejects with an error of muster in words; and
// the client is sound after it. (Without each right: tests/live/test_rights.c and test_rights_async.c.)
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const test = require('node:test');
const assert = require('node:assert');
const { Client, Listener, MusterError } = require('..');
const { Redis, heard, start, until } = require('./support');

const USERS = fs.readFileSync(path.join(__dirname, '../../../examples/users.acl'), 'utf8').split('\n');
const ruleOf = (role) => USERS.find((line) => line.startsWith(`user ${role} on `)).split(' ').slice(3);

let leased; // a process under a lease

// Each call, and the roles that may do it, by their first letters. `waitMs` is long for who may not hear: so it is told
// before the time is over.
const CALLS = {
  enqueue: ['pw-o', (c) => c.enqueue('q', 'task')],
  length: ['pwvo', (c) => c.length('q')],
  take: ['pw-o', (c) => c.take('q', { holder: 'me' })],
  finish: ['pw-o', (c) => c.finish(leased, 'result')],
  giveBack: ['pw-o', (c) => c.giveBack(leased)],
  retry: ['pw-o', (c) => c.retry(leased, 0)],
  fail: ['pw-o', (c) => c.fail(leased, { group: 'g', message: 'm' })],
  extend: ['pw-o', (c) => c.extend(leased, { leaseMs: 1000 })],
  job: ['pwvo', (c) => c.job('waiting')],
  put: ['pw-o', (c) => c.put('q', 'data', { id: 'new' })],
  enqueueMany: ['pw-o', (c) => c.enqueueMany('q', ['a', 'b'])],
  endMany: ['pw-o', (c) => c.endMany([{ process: leased, outcome: 'finish' }])],
  extendMany: ['pw-o', (c) => c.extendMany([leased], { leaseMs: 1000 })],
  enqueueUnique: ['pw-o', (c) => c.enqueueUnique('q', 'alone')],
  peek: ['pwvo', (c) => c.peek('q')],
  queues: ['pwvo', (c) => c.queues()],
  pause: ['pw-o', (c) => c.pause('q')],
  resume: ['pw-o', (c) => c.resume('q')],
  deleteQueue: ['---o', (c) => c.deleteQueue('q')],
  workers: ['pwvo', (c) => c.workers()],
  failWorker: ['-w-o', (c) => c.failWorker('dead')],
  sweep: ['-w-o', (c) => c.sweep()],
  processes: ['pwvo', (c) => c.processes()],
  cancel: ['pw-o', (c) => c.cancel('q', 't1')],
  cancelProcess: ['pw-o', (c) => c.cancelProcess(leased)],
  cancelJobs: ['pw-o', (c) => c.cancelJobs(['waiting'], { dependents: true })],
  jobs: ['pwvo', (c) => c.jobs(['waiting'])],
  peekJobs: ['pwvo', (c) => c.peekJobs(['waiting'])],
  wait: ['-w-o', (c, timeoutMs) => c.wait(['scheduled'], { timeoutMs })],
  listJobs: ['pwvo', (c) => c.listJobs({ queue: 'q', state: 'waiting' })],
  failures: ['pwvo', (c) => c.failures({ queue: 'q' })],
  replay: ['pw-o', (c) => c.replay({ queue: 'q' })],
  drop: ['pw-o', (c) => c.drop({ queue: 'q' })],
  settings: ['pwvo', (c) => c.settings('q')],
  set: ['pw-o', (c) => c.set('q', 'max_running', 3)],
  time: ['pwvo', (c) => c.time()],
};
// Other ways of the same calls.
const MORE = {
  'take without a name': ['pw-o', (c) => c.take('q')],
  'take that waits': ['-w-o', (c, waitMs) => c.take('none', { waitMs })],
  'take that waits under a name': ['-w-o', (c, waitMs) => c.take('none', { waitMs, holder: 'me' })],
  'put of a schedule': ['pw-o', (c) => c.put('q', 'data', { id: 'cron', cron: '0 0 1 1 *' })],
};
const ALL = Object.entries({ ...CALLS, ...MORE });
const TAKEN_AWAY = ['~muster:*', '&muster:*', '+@hash', '+@sortedset', '+evalsha', '+subscribe', '+select', '+time'];
const SHORT_MS = 1;
const LONG_MS = 600000;

// In Lua: all keys of one database, and only they, to another one.
const COPY = `redis.call('SELECT', ARGV[2]) redis.call('FLUSHDB') redis.call('SELECT', ARGV[1])
  for _, key in ipairs(redis.call('KEYS', '*')) do redis.call('COPY', key, key, 'DB', ARGV[2]) end`;

let redis, owner;

const give = (user, rights) => redis.run('ACL', 'SETUSER', user, 'reset', 'on', '>pw', ...rights);
const clientOf = (user) => new Client({ url: redis.url.replace('unix://', `unix://${user}:pw@`) });
const restore = () => redis.run('EVAL', COPY, '0', '1', '0');

async function makeWorld() {
  await owner.enqueue('q', 'died');
  const child = start(['node', path.join(__dirname, 'worker_program.js'), 'hold', redis.url, 'dead']);
  await until(() => child.said.includes('took died'));
  child.kill('SIGKILL');
  await child.ended;
  await redis.run('DEL', 'muster:alive:dead');
  await redis.run('ZADD', 'muster:registry', '1', 'dead'); // its life is over: a sweep has something to do
  await owner.enqueue('q', 'held');
  [{ id: leased }] = await owner.take('q', { leaseMs: LONG_MS });
  await owner.enqueue('q', 'broken');
  const [{ id }] = await owner.take('q', { leaseMs: LONG_MS });
  await owner.fail(id, { group: 'g', message: 'm' });
  await owner.enqueueMany('q', ['t1', 't2']);
  await owner.put('q', 'd', { id: 'waiting' });
  await owner.put('q', 'd', { id: 'scheduled', delayMs: LONG_MS });
  await redis.run('EVAL', COPY, '0', '0', '1');
}

test.before(async () => {
  redis = await Redis.start();
  owner = new Client({ url: redis.url });
  await makeWorld();
});
test.beforeEach(restore);
test.after(async () => {
  await owner.close();
  await redis.end();
});

// The error of a call, if it has one, of one end among many, too.
async function errorOf(name, how, made) {
  try {
    const answer = await made;
    return Array.isArray(answer) ? answer.find((one) => one instanceof MusterError) : undefined;
  } catch (error) {
    assert.ok(error instanceof MusterError, `${name}, ${how}: ${error}`);
    assert.match(error.code, /^E_/);
    assert.ok(error.message.length > 10, `${name}, ${how}: ${error}`);
    return error;
  }
}

async function callAll(client, how, { role, before = async () => {} } = {}) {
  for (const [name, [roles, make]] of ALL) {
    const isDenied = role !== undefined && !roles.includes(role);
    await before();
    const error = await errorOf(name, how, make(client, isDenied ? LONG_MS : SHORT_MS));
    if (role === undefined) continue;
    assert.strictEqual(error?.code === 'E_DENIED', isDenied, `${name}, ${how}: ${error}`);
    assert.strictEqual(await client.length('q'), await owner.length('q'), `after ${name}, ${how}`);
  }
}

test('no call is missing', () => {
  const made = Object.getOwnPropertyNames(Client.prototype).filter((name) => !['constructor', 'close'].includes(name));
  assert.deepStrictEqual(made.sort(), Object.keys(CALLS).sort());
});

for (const role of ['producer', 'worker', 'viewer', 'operator', 'muster']) {
  test(`each call answers the role ${role}`, async () => {
    await give(role, ruleOf(role));
    const client = clientOf(role);
    await callAll(client, role, { role: role === 'muster' ? 'o' : role[0] });
    await client.close();
  });
}

test('each call answers when a right is taken away', async () => {
  const rights = ruleOf('muster');
  await give('u', rights);
  const client = clientOf('u');
  await client.length('q'); // it is connected, and stays it
  for (const right of TAKEN_AWAY) {
    assert.ok(rights.includes(right), right);
    await give('u', rights.filter((one) => one !== right));
    await restore();
    await callAll(client, right);
    await give('u', rights);
    assert.strictEqual(await client.length('q'), await owner.length('q'), `after ${right}`);
  }
  await client.close();
});

test('each call answers on a full Redis', async () => {
  await give('u', ruleOf('muster'));
  const client = clientOf('u');
  await redis.run('CONFIG', 'SET', 'maxmemory', '1');
  await callAll(client, 'full');
  await assert.rejects(client.enqueue('q', 'x'), { code: 'E_FULL', message: /OOM/ });
  await redis.run('CONFIG', 'SET', 'maxmemory', '0');
  await client.close();
});

test('what waits is told when its rights go', async () => {
  const waits = {
    take: (c) => c.take('none', { waitMs: LONG_MS }),
    named: (c) => c.take('none', { waitMs: LONG_MS, holder: 'me' }),
    wait: (c) => c.wait(['scheduled']),
  };
  for (const [user, wait] of Object.entries(waits)) {
    await give(user, ruleOf('muster'));
    const client = clientOf(user);
    const told = errorOf(user, 'in flight', wait(client));
    await until(async () => (await redis.run('CLIENT', 'LIST', 'TYPE', 'pubsub')).includes(`user=${user} `));
    await redis.run('ACL', 'SETUSER', user, 'resetchannels', '-@all');
    assert.strictEqual((await told)?.code, 'E_DENIED', user);
    await client.close();
  }
});

test('a listener is told when its rights go', async () => {
  await give('ear', ruleOf('muster'));
  const listener = new Listener({ url: redis.url.replace('unix://', 'unix://ear:pw@') });
  const ready = heard(listener, 'ready');
  const denied = heard(listener, 'gap', ({ error }) => error?.code === 'E_DENIED');
  listener.add('q');
  await ready;
  await redis.run('ACL', 'SETUSER', 'ear', 'resetchannels');
  assert.match((await denied).error.message, /NOPERM/);
  listener.close();
});
