// SPDX-License-Identifier: MIT
//
// The worker. Its loop runs on a thread of the library, so heartbeats go out however busy this program is. What it has
// for the program - processes, events, answers - is fetched in batches when its descriptor is readable, and ends go back
// in batches, too: all that a turn of Node's loop has ended.
'use strict';

const { EventEmitter } = require('node:events');
const { call, MusterError, OK, errors } = require('./native');
const { STRUCTS, toBytes, getNumber } = require('./layout');
const { memory, addressOf, copy } = require('./memory');
const { Process, OUTCOMES } = require('./process');
const { Pump } = require('./pump');
const { refuseUnknown } = require('./unknown');
const { emitSafely } = require('./emit');

const ITEMS = 1024;
const BATCH_MAX = 1000;
const PROCESS = 1; // enum muster_item_type
const EVENT = 2;
const ANSWER = 3;
const REMIND_MS = 10000;

// enum muster_event_type, and which of them are warnings that must not pass unheard.
const EVENTS = ['started', 'doubt', 'lost', 'down', 'up', 'stop', 'uncounted', 'swept', 'cancel', 'deleted', 'nearLimit',
  'left', 'refused', 'alone', 'notResumed', 'stopped', 'dropped', 'risk', 'cut', 'ended', 'leftOut'];
const WARNINGS = new Set(['doubt', 'lost', 'down', 'uncounted', 'refused', 'alone', 'notResumed', 'dropped', 'risk',
  'leftOut']);

const item = STRUCTS.muster_item;
const AT = Object.fromEntries(item.fields.map((field) => [field.name, field.at]));

class Worker extends EventEmitter {
  #handle;
  #pump;
  #items = Buffer.from(new ArrayBuffer(ITEMS * item.sizeof));
  #view = new DataView(this.#items.buffer);
  #queues = new Map(); // name: how it is served
  #processes = new Map(); // token: the process, until its end has counted or not
  #answers = new Map();
  #n = 0;
  #ends = Object.values(OUTCOMES).map(() => []); // pointers, by outcome, until the turn is over
  #isEnding = false;
  #isStarted = false;
  #hasStopped = null; // its event
  #starting = null;
  #stopping = null;
  #leaving = new Map();
  #warned = new Map();

  constructor(options = {}) {
    super();
    const keep = [];
    const given = STRUCTS.muster_worker_options.write({ ...options, ownThread: true, tellEnded: true }, keep);
    const out = Buffer.alloc(8);
    const err = call.worker_new(out, given);
    if (err !== OK) throw new MusterError(err, call.worker_options_check(given));
    this.#handle = Number(out.readBigUInt64LE());
    this.id = call.worker_id(this.#handle);
    this.#pump = new Pump(call.worker_fd(this.#handle), () => this.#take());
    this.#pump.unref(); // until it is started
  }

  // ---- its life

  // Resolves when it is registered; until there is a Redis, that may take. Rejected if it cannot be.
  start() {
    if (!this.#starting) {
      this.#starting = deferred();
      this.#begin();
    }
    return this.#starting.promise;
  }

  #begin() {
    this.#refuseStopped();
    if (this.#isStarted) return;
    this.#check(call.worker_start(this.#handle));
    this.#isStarted = true;
    this.#pump.ref();
  }

  // The handler is called for each task; what it returns, or the promise of it, ends the process. Starts the worker.
  serve(queue, handler, { hands = 0, ...unknown } = {}) {
    refuseUnknown(unknown);
    this.#serve(queue, hands, { handler, run: (processes) => processes.forEach((p) => this.#runOne(handler, p)) });
  }

  // The handler is called with up to `max` processes at once. What it has not ended itself is finished when it returns.
  serveBatch(queue, handler, { hands = 0, max = BATCH_MAX, ...unknown } = {}) {
    refuseUnknown(unknown);
    const run = (processes) => {
      for (let i = 0; i < processes.length; i += max) this.#runBatch(handler, processes.slice(i, i + max));
    };
    this.#serve(queue, hands, { handler, run });
  }

  #serve(queue, hands, how) {
    if (typeof how.handler !== 'function') throw new TypeError('a handler must be a function');
    this.#begin();
    this.#check(call.worker_serve(this.#handle, queue, hands, 0, 0));
    this.#queues.set(queue, how);
  }

  // Resolves when its tasks are back in the queue.
  leave(queue) {
    this.#refuseStopped();
    let leaving = this.#leaving.get(queue);
    if (!leaving) {
      leaving = deferred();
      this.#check(call.worker_leave(this.#handle, queue));
      this.#leaving.set(queue, leaving);
    }
    return leaving.promise;
  }

  // Lets what runs end for up to `drainMs`, gives back the rest, and leaves. Resolves when it has left.
  stop({ drainMs = -1, ...unknown } = {}) {
    refuseUnknown(unknown);
    this.#stopping ??= deferred();
    if (this.#hasStopped) return this.#stopping.promise;
    if (this.#isStarted) this.#check(call.worker_stop(this.#handle, drainMs));
    else this.#free(null);
    return this.#stopping.promise;
  }

  // Whether it keeps the program running while it waits. It does, unless told otherwise.
  ref() { if (this.#isStarted) this.#pump.ref(); return this; }
  unref() { this.#pump.unref(); return this; }

  // Enqueues over the worker's own connection, in order with its ends. Resolves to how many wait.
  enqueue(queue, task) {
    const bytes = toBytes(task, 'a task');
    return this.#ask((a) => call.worker_enqueue(this.#handle, queue, bytes, bytes.byteLength, 0, a),
      (at) => getNumber(this.#view, at + AT.waiting));
  }

  // Puts a job the same way. Resolves to its id.
  put(queue, data, options = {}) {
    const keep = [];
    const spec = STRUCTS.muster_job_spec.write({ ...options, data }, keep, { zeros: true });
    return this.#ask((a) => call.worker_put(this.#handle, queue, spec, 0, a), (at) => this.#text(at + AT.job), keep);
  }

  #ask(make, read, keep = null) {
    return new Promise((resolve, reject) => {
      this.#refuseStopped();
      const number = ++this.#n;
      const err = make(number);
      if (keep) keep.length = 0; // until here it was alive
      this.#check(err);
      this.#answers.set(number, { resolve, reject, read });
    });
  }

  #check(err) { if (err !== OK) throw new MusterError(err, call.worker_error(this.#handle)); }
  #refuseStopped() { if (this.#hasStopped) throw new MusterError(errors.E_STATE, `worker ${this.id} has stopped`); }

  // ---- what it has for the program

  #take() {
    this.#view.setUint32(0, item.sizeof, true); // `size` of the first one
    this.#view.setUint32(4, 0, true);
    const n = call.worker_next(this.#handle, this.#items, ITEMS);
    let i = 0;
    for (; i < n && this.#typeOf(i) !== PROCESS; i++) this.#tell(i * item.sizeof);
    if (i < n) this.#hand(i, n); // processes come last
    if (this.#hasStopped) this.#free(this.#hasStopped);
  }

  #typeOf(i) { return this.#view.getInt32(i * item.sizeof + AT.type, true); }
  #number(at) { return getNumber(this.#view, at); }
  #text(at) { return memory.text(this.#number(at)); }

  // Neighbours of one queue go to its handler together.
  #hand(from, to) {
    const bytes = this.#copyTasks(from, to);
    let run = [];
    let queue = null;
    let at = 0;
    for (let i = from; i < to; i++) {
      const process = this.#processAt(i * item.sizeof, bytes, at);
      at += this.#number(i * item.sizeof + AT.task + 8);
      if (process.queue !== queue && run.length > 0) this.#runAll(queue, run.splice(0));
      queue = process.queue;
      run.push(process);
    }
    this.#runAll(queue, run);
  }

  // Of a queue that it has left meanwhile: back.
  #runAll(queue, run) {
    const how = this.#queues.get(queue);
    if (how) how.run(run);
    else run.forEach((process) => process.giveBack());
  }

  // One piece of memory for the tasks of a batch: a Buffer for each of them would cost more than all the rest.
  #copyTasks(from, to) {
    let total = 0;
    for (let i = from; i < to; i++) total += this.#number(i * item.sizeof + AT.task + 8);
    const bytes = new ArrayBuffer(total);
    let at = total === 0 ? 0 : addressOf(bytes);
    for (let i = from; i < to; i++) {
      const task = i * item.sizeof + AT.task;
      const len = this.#number(task + 8);
      if (len > 0) copy(at, this.#number(task), len);
      at += len;
    }
    return bytes;
  }

  #processAt(at, bytes, taskAt) {
    const id = this.#text(at + AT.id); // <worker>:<token>:<queue>
    const queue = id.slice(id.indexOf(':', this.id.length + 1) + 1);
    const token = this.#number(at + AT.token);
    const process = new Process(this, this.#number(at + AT.process), id, queue, token, this.#text(at + AT.job), bytes,
      taskAt, this.#number(at + AT.task + 8));
    this.#processes.set(token, process);
    return process;
  }

  async #runOne(handler, process) {
    try {
      const result = await handler(process);
      if (!process.ended) process.finish(this.#resultOf(result, process));
    } catch (error) {
      this.#failed(error, [process]);
    }
  }

  async #runBatch(handler, processes) {
    try {
      await handler(processes);
      for (const process of processes) {
        if (!process.ended) this.#ends[OUTCOMES.finish].push(process.takePointer());
      }
      this.#endSoon();
    } catch (error) {
      this.#failed(error, processes);
    }
  }

  // Who has ended its process itself, and throws then, is told; nothing else would.
  #failed(error, processes) {
    const rest = processes.filter((process) => !process.ended);
    if (rest.length === 0 && !this.#hasStopped) {
      this.#warn('thrown', `a handler threw after the end of ${processes[0].id}: ${error?.message ?? error}`);
    }
    rest.forEach((process) => process.failBy(error));
    if (rest.length > 0) emitSafely(this, 'failed', rest, error);
  }

  #resultOf(result, process) {
    if (result === undefined || result === null || typeof result === 'string' || ArrayBuffer.isView(result)) return result;
    this.#warn('noResult', `what the handler of ${process.id} returned is neither text nor bytes: no result is kept`);
    return undefined;
  }

  // ---- ends

  endLater(pointer, outcome) {
    this.#ends[outcome].push(pointer);
    this.#endSoon();
  }

  // In a microtask behind those of the handlers that end with this one.
  #endSoon() {
    if (this.#isEnding) return;
    this.#isEnding = true;
    process.nextTick(() => this.#endAll());
  }

  #endAll() {
    this.#isEnding = false;
    this.#ends.forEach((pointers, outcome) => {
      if (pointers.length === 0) return;
      const ended = pointers.splice(0);
      if (!this.#handle) return; // with the worker they have ended, too
      const err = call.process_end_many(pointersOf(ended), ended.length, outcome);
      if (err !== OK) this.#warn('uncounted', `an end was refused: ${call.err_text(err)}`);
    });
  }

  // ---- events and answers

  #tell(at) {
    if (this.#typeAt(at) === ANSWER) {
      this.#hearAnswer(at);
      return;
    }
    const name = EVENTS[this.#view.getInt32(at + AT.event, true)] ?? 'unknown';
    const err = this.#view.getInt32(at + AT.err, true);
    const token = this.#number(at + AT.token);
    const process = this.#processes.get(token) ?? null;
    if (name === 'ended' && this.listenerCount('ended') === 0) {
      this.#hearEnd(name, token, process, null);
      return; // by far the most of all events
    }
    const text = this.#text(at + AT.text) ?? '';
    const error = err === OK ? null : new MusterError(err, text);
    if (name === 'ended' || name === 'uncounted') this.#hearEnd(name, token, process, error);
    if (name === 'stop') process?.hearStop();
    if (name === 'started') this.#starting?.resolve();
    if (name === 'left') this.#hearLeft(this.#text(at + AT.queue));
    if (name === 'stopped') this.#hasStopped = { error };
    else this.#emit(name, at, { process, error, text });
  }

  #typeAt(at) { return this.#view.getInt32(at + AT.type, true); }

  #emit(name, at, { process, error, text }) {
    const [task, len] = [this.#number(at + AT.task), this.#number(at + AT.task + 8)];
    const event = { type: name, text, error, process, id: this.#text(at + AT.id), queue: this.#text(at + AT.queue),
      task: memory.bytesOrNull(task, len) };
    const heard = emitSafely(this, name, event);
    if (!heard && WARNINGS.has(name)) this.#warn(name, [event.id, text || error?.message].filter(Boolean).join(': '));
  }

  #hearEnd(name, token, process, error) {
    this.#processes.delete(token);
    if (name === 'ended') process?.hearCounted();
    else process?.hearUncounted(error);
  }

  #hearLeft(queue) {
    this.#queues.delete(queue);
    this.#leaving.get(queue)?.resolve();
    this.#leaving.delete(queue);
  }

  #hearAnswer(at) {
    const number = this.#number(at + AT.user);
    const { resolve, reject, read } = this.#answers.get(number);
    this.#answers.delete(number);
    const err = this.#view.getInt32(at + AT.err, true);
    if (err === OK) resolve(read(at));
    else reject(new MusterError(err, this.#text(at + AT.text)));
  }

  // Once in ten seconds for each kind; the next one says how many were left out.
  #warn(kind, text) {
    const now = Date.now();
    const last = this.#warned.get(kind) ?? { at: -Infinity, left: 0 };
    if (now - last.at < REMIND_MS) {
      last.left++;
      return;
    }
    const more = last.left > 0 ? ` (and ${last.left} more since the last one)` : '';
    this.#warned.set(kind, { at: now, left: 0 });
    process.emitWarning(`worker ${this.id}: ${text}${more}`, { type: 'MusterWarning', code: kind });
  }

  // ---- its end

  // After its last event: nothing of it may be touched any more, and all that waits for it is told.
  #free(stopped) {
    this.#hasStopped = stopped ?? { error: null };
    const { error } = this.#hasStopped;
    this.#pump.close();
    call.worker_free(this.#handle);
    this.#handle = 0;
    for (const process of this.#processes.values()) process.hearGone();
    this.#processes.clear();
    this.#ends.forEach((pointers) => pointers.splice(0));
    const gone = error ?? new MusterError(errors.E_CONN, `worker ${this.id} has stopped before the answer came`);
    for (const { reject } of this.#answers.values()) reject(gone);
    this.#answers.clear();
    for (const { resolve } of this.#leaving.values()) resolve();
    this.#leaving.clear();
    this.#finish(error);
  }

  #finish(error) {
    const isAwaited = (this.#starting && !this.#starting.isSettled) || this.#stopping;
    this.#stopping ??= deferred();
    if (error) {
      this.#starting?.reject(error);
      this.#stopping.reject(error);
    } else {
      this.#starting?.reject(new MusterError(errors.E_STATE, `worker ${this.id} was stopped before it was registered`));
      this.#stopping.resolve();
    }
    const heard = emitSafely(this, 'stopped', { type: 'stopped', error });
    if (error && !heard && !isAwaited) emitSafely(this, 'error', error);
  }
}

// An array of pointers for C. Halves are cheaper than BigInts.
function pointersOf(numbers) {
  const halves = new Uint32Array(2 * numbers.length);
  numbers.forEach((number, i) => {
    halves[2 * i] = number;
    halves[2 * i + 1] = number / 0x100000000;
  });
  return halves;
}

function deferred() {
  const it = { isSettled: false };
  it.promise = new Promise((resolve, reject) => {
    it.resolve = (value) => { it.isSettled = true; resolve(value); };
    it.reject = (error) => { it.isSettled = true; reject(error); };
  });
  it.promise.catch(() => {});
  return it;
}

module.exports = { Worker, EVENTS };
