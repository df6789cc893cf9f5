// SPDX-License-Identifier: MIT
//
// worqr's class on muster, for programs that move: the same methods, and what is behind them as doc/from-worqr.md tells.
// Copy it, and replace it call by call.
//
//     const worqr = new Worqr({ url: 'redis://127.0.0.1' }, { hands: 4 });
//     worqr.on('mail', (type, message) => { if (type === 'work') work(); });
//     await worqr.startWorker();
//     await worqr.startWork('mail');
//     async function work() {
//       for (let process; (process = await worqr.dequeue('mail'));) { ...; await worqr.finishProcess(process.id); }
//     }
//
// What to know:
//   - A worker has hands (option `hands`, 1): so many tasks come to it without being asked for, and `dequeue` gives them
//     out. For tasks that never end it needs as many hands as it is to hold.
//   - A process belongs to its owner: an end that does not count is rejected, `E_LOST`.
//   - `cancel` is told to the owner of a process, and cannot be missed; `done` to everybody who listens.
//   - The prefix is worqr's, so that what waits there is found.
'use strict';

const { EventEmitter } = require('node:events');
const { Client, Worker, Listener } = require('..');

const text = (bytes) => bytes.toString();

class Worqr extends EventEmitter {
  #connection;
  #options;
  #client;
  #worker = null;
  #listener = null;
  #ready = new Map(); // queue: processes that nobody has dequeued yet
  #held = new Map(); // id: {process, release, told}, until it has ended
  #newly = new Map(); // queue: how many came since the last `work`

  // `redis` is what muster's Client takes to find Redis, or worqr's {host, port, password}.
  constructor({ host, port = 6379, ...redis } = {}, { redisKeyPrefix = 'worqr', workerTimeout = 3, workerId, hands = 1,
    instanceName = workerId } = {}) {
    super();
    const url = host === undefined ? redis.url : `redis://${host}:${port}`;
    this.#connection = { ...redis, url, prefix: redisKeyPrefix };
    this.#options = { id: instanceName, hands, ...lifeOf(workerTimeout) };
    this.#client = new Client(this.#connection);
  }

  // ---- tasks

  // Resolves to how many tasks wait then; of unique tasks, to how many were added.
  async enqueue(queue, task, unique = false) {
    const tasks = Array.isArray(task) ? task : [task];
    if (!unique) return this.#client.enqueueMany(queue, tasks);
    let added = 0;
    for (const it of tasks) added += (await this.#client.enqueueUnique(queue, it)).added ? 1 : 0;
    return added;
  }

  countQueue(queue) { return this.#client.length(queue); }

  async peekQueue(queue) {
    const [next] = await this.#client.peek(queue, { n: 1 });
    return next ? text(next.data) : null;
  }

  async getTasks(queue) {
    const n = await this.countQueue(queue);
    return (await this.#client.peek(queue, { n })).map(({ data }) => text(data));
  }

  async getQueues() { return (await this.#client.queues()).map(({ name }) => name); }
  cancelTasks(queue, task) { return this.#client.cancel(queue, task); }
  deleteQueue(queue) { return this.#client.deleteQueue(queue); }

  // ---- events of a queue: (type, message)

  on(name, listener) {
    super.on(name, listener);
    if (name !== 'error') this.#listen(name);
    return this;
  }

  addListener(name, listener) { return this.on(name, listener); }

  #listen(queue) {
    if (!this.#listener) {
      this.#listener = new Listener(this.#connection);
      this.#listener.on('done', ({ queue: of, process: id, task, result }) => {
        this.emit(of, 'done', JSON.stringify({ id, task: text(task), result: result && text(result) }));
      });
      this.#listener.on('gap', ({ error }) => this.#complain(error));
    }
    this.#listener.add(queue, ['done']);
  }

  // With nobody who hears it, it is as if it had not been said: the connection comes back by itself.
  #complain(error) { if (error && this.listenerCount('error') > 0) this.emit('error', error); }

  // ---- the worker

  async startWorker() {
    if (this.#worker) throw new Error('the worker was started before');
    const worker = new Worker({ ...this.#connection, ...this.#options });
    this.#worker = worker;
    worker.on('down', ({ error }) => this.#complain(error));
    worker.on('refused', ({ error }) => this.#complain(error));
    worker.on('lost', ({ text: why }) => this.#complain(new Error(`the worker was failed by its peers ${why}`.trim())));
    worker.on('doubt', ({ text: why }) => this.#complain(new Error(`no heartbeat was confirmed in time ${why}`.trim())));
    worker.on('uncounted', ({ error }) => this.#complain(error));
    worker.on('stop', ({ process }) => this.#hearStop(process));
    worker.on('cancel', ({ queue, task }) => this.#tellCancel(queue, text(task), this.#holding(queue, text(task))));
    worker.on('deleted', ({ queue, process }) => this.emit(queue ?? process.queue, 'delete', ''));
    try {
      await worker.start();
    } catch (error) {
      this.#worker = null;
      throw error;
    }
    return worker.id;
  }

  get workerId() { return this.#worker?.id ?? null; }

  async startWork(queue) {
    this.#started().serve(queue, (process) => new Promise((release) => this.#take(process, release)));
  }

  #started() {
    if (!this.#worker) throw new Error('the worker was not started');
    return this.#worker;
  }

  #take(process, release) {
    const { queue } = process;
    this.#held.set(process.id, { process, release, told: false });
    this.#readyOf(queue).push(process);
    if (!this.#newly.has(queue)) setImmediate(() => this.#tellWork(queue));
    this.#newly.set(queue, (this.#newly.get(queue) ?? 0) + 1);
  }

  #readyOf(queue) {
    if (!this.#ready.has(queue)) this.#ready.set(queue, []);
    return this.#ready.get(queue);
  }

  #tellWork(queue) {
    const n = this.#newly.get(queue);
    this.#newly.delete(queue);
    if (this.#readyOf(queue).length > 0) this.emit(queue, 'work', String(n));
  }

  // Tells again how much is there to be dequeued, if there is something.
  requestWork(queue) {
    const n = this.#readyOf(queue).length;
    if (n > 0) this.emit(queue, 'work', String(n));
  }

  async dequeue(queue) {
    this.#started();
    const process = this.#readyOf(queue).shift();
    return process ? { id: process.id, task: text(process.task) } : null;
  }

  // By its id anybody can end a process; the owner does it over its own connection.
  finishProcess(id, result) {
    const held = this.#release(id);
    return held ? held.finish(result) : this.#client.finish(id, result);
  }

  // One that was cancelled is dropped instead, which is what its program wanted.
  async stopProcess(id) {
    const held = this.#release(id);
    await (held ? held.giveBack() : this.#client.giveBack(id)).catch((error) => {
      if (error.code !== 'E_CANCELLED') throw error;
    });
  }

  async getMatchingProcesses(task) { return (await this.#client.processes({ task })).map(({ id }) => id); }

  #release(id) {
    const held = this.#held.get(id);
    if (!held || held.process.ended) return null;
    this.#forget(held.process);
    return held.process;
  }

  #forget(process) {
    const held = this.#held.get(process.id);
    this.#held.delete(process.id);
    const ready = this.#readyOf(process.queue);
    if (ready.includes(process)) ready.splice(ready.indexOf(process), 1);
    setImmediate(held.release); // behind the end, so that the handler does not end it, too
  }

  #holding(queue, task) {
    return [...this.#held.values()].filter(({ process }) => process.queue === queue && text(process.task) === task);
  }

  // What nobody has dequeued is given up at once; the program is told of the rest.
  #hearStop(process) {
    const held = this.#held.get(process.id);
    if (!held) return;
    const isReady = this.#readyOf(process.queue).includes(process);
    if (process.stopReason === 'cancelled' && !isReady) this.#tellCancel(process.queue, text(process.task), [held]);
    if (isReady) {
      this.#forget(process);
      process.giveBack();
    }
  }

  // The owner hears of a cancel by a mark, and by a message if one is sent: it is told once.
  #tellCancel(queue, task, holders) {
    if (holders.length > 0 && holders.every(({ told }) => told)) return;
    holders.forEach((held) => { held.told = true; });
    this.emit(queue, 'cancel', task);
  }

  async stopWork(queue) {
    await this.#started().leave(queue);
    for (const { process } of [...this.#held.values()]) if (process.queue === queue) this.#forget(process);
  }

  // Without an id: oneself, politely. With an id: another worker, dead or not.
  async failWorker(id) {
    if (id !== undefined && id !== this.workerId) return this.#client.failWorker(id);
    const worker = this.#started();
    this.#worker = null;
    await worker.stop({ drainMs: 0 });
    for (const { process } of [...this.#held.values()]) this.#forget(process);
    return undefined;
  }

  cleanupWorkers() { return this.#client.sweep(); }
  async getWorkers() { return (await this.#client.workers()).map(({ id }) => id); }

  async getWorkingQueues(id = this.workerId) {
    return (await this.#client.workers()).find((worker) => worker.id === id)?.queues ?? [];
  }

  // Its connections, too: a program that has nothing else to do ends then.
  async close() {
    if (this.#worker) await this.failWorker();
    this.#listener?.close();
    await this.#client.close();
  }
}

// In seconds; below 0 a worker is permanent, which needs an id.
function lifeOf(seconds) {
  return seconds < 0 ? { permanent: true } : { ttlMs: Math.round(seconds * 1000) };
}

module.exports = { Worqr };
