// SPDX-License-Identifier: MIT
//
// The client: what producers and holders of leases do goes over muster's asynchronous client, any number of calls at
// once; what only the blocking client can goes through a Control.
'use strict';

const { call, MusterError, OK, errors } = require('./native');
const { STRUCTS, NAMES, toBytes, getNumber } = require('./layout');
const { memory } = require('./memory');
const { Answers } = require('./answers');
const { Control, ANY_ERROR } = require('./control');
const { refuseUnknown } = require('./unknown');

const ANSWERS_AT_ONCE = 1024;
const LEASE_MS = 30000; // MUSTER_LEASE_DEFAULT_MS
const answer = STRUCTS.muster_answer;
const DONE = () => undefined;

class Client {
  #handle;
  #answers;
  #closing = null;
  #options;
  #look = null; // the blocking client for looking and changing
  #many = null; // and the one for long enqueues, which must not hold up the other
  #holding = []; // those of takes under a name: one for each at the same time, used again

  constructor(options = {}) {
    const { maxInFlight, maxBytes, ...client } = options;
    this.#options = client;
    const keep = [];
    const given = STRUCTS.muster_async_options.write({ client, maxInFlight, maxBytes }, keep);
    const out = Buffer.alloc(8);
    const err = call.async_new(out, given);
    if (err !== OK) throw new MusterError(err, call.async_options_check(given));
    this.#handle = Number(out.readBigUInt64LE());
    this.#answers = new Answers(call.async_fd(this.#handle), answer, ANSWERS_AT_ONCE,
      (into, max) => call.async_next(this.#handle, into, max));
  }

  // ---- producers, and holders of leases

  enqueue(queue, task) {
    const bytes = toBytes(task, 'a task');
    return this.#ask((a) => call.async_enqueue(this.#handle, queue, bytes, bytes.byteLength, 0, a), readWaiting);
  }

  length(queue) { return this.#ask((a) => call.async_length(this.#handle, queue, 0, a), readWaiting); }

  // What is there; an empty array if there is nothing.
  take(queue, { n = 1, leaseMs = LEASE_MS, waitMs = 0, holder, ...unknown } = {}) {
    refuseUnknown(unknown);
    if (holder !== undefined) return this.#takeAs(queue, { n, leaseMs, waitMs, holder });
    return this.#ask((a) => call.async_take(this.#handle, queue, n, leaseMs, waitMs, 0, a), readProcesses,
      { waits: waitMs > 0 }).catch(noneIs([]));
  }

  finish(process, result, options = {}) {
    const keep = [];
    const o = STRUCTS.muster_finish_options.write({ ...options, result }, keep);
    return this.#ask((a) => call.async_finish(this.#handle, process, o, 0, a), DONE, { keep });
  }

  giveBack(process) { return this.#ask((a) => call.async_give_back(this.#handle, process, 0, a), DONE); }

  // Without a delay: a task at once, a job after its own backoff.
  retry(process, delayMs = -1, { group = null, message = null, ...unknown } = {}) {
    refuseUnknown(unknown);
    return this.#ask((a) => call.async_retry_as(this.#handle, process, delayMs, group, message, 0, a), DONE);
  }

  fail(process, { group = null, message = null, ...unknown } = {}) {
    refuseUnknown(unknown);
    return this.#ask((a) => call.async_fail(this.#handle, process, group, message, 0, a), DONE);
  }

  extend(process, options) {
    const keep = [];
    const o = STRUCTS.muster_extend_options.write(options, keep);
    return this.#ask((a) => call.async_extend(this.#handle, process, o, 0, a), DONE, { keep });
  }

  // The record, or null.
  job(id) { return this.#ask((a) => call.async_job(this.#handle, id, 0, a), readJob).catch(noneIs(null)); }

  // Resolves to the job's id. Only a schedule needs the blocking client.
  async put(queue, data, options = {}) {
    if (options.cron !== undefined && options.cron !== null) {
      const spec = { struct: 'muster_job_spec', values: { ...options, data: exact(data) }, zeros: true };
      const { room } = await this.#control.run('job_put', [queue, spec, { room: 201 }]);
      return room;
    }
    const keep = [];
    const spec = STRUCTS.muster_job_spec.write({ ...options, data: toBytes(data, 'data') }, keep, { zeros: true });
    return this.#ask((a) => call.async_put(this.#handle, queue, spec, 0, a), readId, { keep });
  }

  // ---- by the blocking client

  async enqueueMany(queue, tasks, options = {}) {
    const bytes = tasks.map((task) => toBytes(task, 'a task'));
    const lengths = bytes.map((it) => it.byteLength);
    const packed = packBytes(bytes, lengths);
    if (this.#closing) throw closed();
    this.#many ??= new Control(this.#options);
    const args = [queue, { packed, lengths }, { struct: 'muster_enqueue_options', values: options }];
    const [waiting] = await this.#many.numbers('task_enqueue_many', args, 1, { transfer: [packed.buffer] });
    return waiting;
  }

  // Of each end null, or the error that it alone would have.
  async endMany(ends) {
    const list = ends.map(endForMany);
    if (list.length === 0) return [];
    return this.#control.each('lease_end_many', [{ structs: 'muster_lease_end', list }], list.length);
  }

  async extendMany(processes, { data, ...options }) {
    const values = { ...options, data: data === undefined ? undefined : exact(data) };
    if (processes.length === 0) return [];
    return this.#control.each('lease_extend_many', [{ texts: processes }, { struct: 'muster_extend_options', values }],
      processes.length);
  }

  // {id, added}: false if an equal one is alive, whose id it is then.
  async enqueueUnique(queue, task) {
    const { err, room } = await this.#control.run('task_enqueue_unique', [queue, { bytes: exact(task) }, { room: 201 }],
      { also: [errors.E_EXISTS] });
    return { id: room, added: err === OK };
  }

  peek(queue, { from = 0, n = 100, ...unknown } = {}) {
    refuseUnknown(unknown);
    return this.#control.rows('task_peek', [queue, from, n], 'muster_task');
  }

  queues() { return this.#control.rows('queue_list', [], 'muster_queue_info'); }
  pause(queue) { return this.#do('queue_pause', [queue]); }
  resume(queue) { return this.#do('queue_resume', [queue]); }

  async deleteQueue(queue) {
    const [removed, running] = await this.#control.numbers('queue_delete', [queue], 2);
    return { removed, running };
  }

  workers() { return this.#control.rows('worker_list', [], 'muster_worker_info'); }

  async failWorker(id) {
    const [givenBack] = await this.#control.numbers('worker_fail', [id], 1);
    return givenBack;
  }

  async sweep() {
    const [workers] = await this.#control.numbers('client_sweep', [], 1);
    return workers;
  }

  processes({ task, ...filter } = {}) {
    const values = { ...filter, task: task === undefined ? undefined : exact(task) };
    return this.#control.rows('process_list', [{ struct: 'muster_process_filter', values }], 'muster_process_info');
  }

  async cancel(queue, task) {
    const [removed, running] = await this.#control.numbers('task_cancel', [queue, { bytes: exact(task) }], 2);
    return { removed, running };
  }

  cancelProcess(process) { return this.#do('process_cancel', [process]); }

  async cancelJobs(ids, { dependents = false, ...unknown } = {}) {
    refuseUnknown(unknown);
    const [removed, running] = await this.#control.numbers('job_cancel', [{ texts: ids }, dependents ? 1 : 0], 2);
    return { removed, running };
  }

  // Their whole records, with history and dependencies, of those that exist.
  jobs(ids) {
    return this.#control.rows('job_get', [{ texts: ids }], 'muster_job', { also: [errors.E_NOT_FOUND] });
  }

  // The same, with only the beginning of data and result.
  peekJobs(ids) {
    return this.#control.rows('job_peek', [{ texts: ids }], 'muster_job', { also: [errors.E_NOT_FOUND] });
  }

  // How each has ended. If the time is over before all have, the error has those that have in `ended`.
  async wait(ids, { timeoutMs = -1, ...unknown } = {}) {
    refuseUnknown(unknown);
    const { err, words, rows } = await this.#ofItsOwn().run('job_wait', [{ texts: ids }, timeoutMs],
      { struct: 'muster_job_ended', also: ANY_ERROR });
    if (err !== OK) throw Object.assign(new MusterError(err, words), { ended: rows });
    return rows;
  }

  listJobs(filter) {
    const values = { ...filter, byState: filter.state !== undefined };
    return this.#control.rows('job_list', [{ struct: 'muster_job_filter', values }], 'muster_job');
  }

  failures(filter) {
    return this.#control.rows('failed_list', [{ struct: 'muster_failed_filter', values: filter }], 'muster_failure');
  }

  replay(filter) { return this.#failed('failed_replay', filter); }
  drop(filter) { return this.#failed('failed_drop', filter); }

  async #failed(name, values) {
    const [n] = await this.#control.numbers(name, [{ struct: 'muster_failed_filter', values }], 1);
    return n;
  }

  // Of a queue, or with null of the namespace.
  settings(queue = null) { return this.#control.rows('config_get', [queue, null], 'muster_setting'); }

  set(queue, name, value) { return this.#do('config_set', [queue, name, value === null ? null : { number: value }]); }

  async time() {
    const [ms] = await this.#control.numbers('client_time', [], 1);
    return ms;
  }

  // ---- its end

  // Waits for what was asked for, ends takes that wait, and closes the connections.
  close() {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close() {
    const interrupted = new MusterError(errors.E_INTERRUPTED, 'the client was closed while the take waited');
    this.#answers.endWaits(interrupted, (processes) => processes.forEach(({ id }) => this.#giveBackUnasked(id)));
    this.#holding.forEach((control) => control.interrupt());
    const controls = [this.#look, this.#many, ...this.#holding].filter(Boolean);
    await Promise.all(controls.map((control) => control.close()));
    await this.#answers.settled(); // also what they have led to
    this.#answers.close();
    call.async_free(this.#handle);
    this.#handle = 0;
  }

  // ---- inside

  // One that is made after the end refuses its calls.
  get #control() {
    if (!this.#look) {
      this.#look = new Control(this.#options);
      if (this.#closing) this.#look.close();
    }
    return this.#look;
  }

  async #do(name, args) { await this.#control.run(name, args); }

  // What came for a take that close() has ended.
  #giveBackUnasked(id) {
    this.#send((a) => call.async_give_back(this.#handle, id, 0, a), DONE).catch(({ message, code }) =>
      process.emitWarning(`${id} was taken for nobody, and could not be given back: ${message}`,
        { type: 'MusterWarning', code }));
  }

  // A thread for a call that may wait for long.
  #ofItsOwn() {
    if (this.#closing) throw closed();
    let control = this.#holding.find((it) => it.idle);
    if (!control) this.#holding.push(control = new Control(this.#options));
    return control;
  }

  // What the asynchronous client cannot: take under a name.
  async #takeAs(queue, options) {
    const { err, words, rows = [] } = await this.#ofItsOwn().run('lease_take_as',
      [queue, { struct: 'muster_take_options', values: options }],
      { struct: 'muster_process_info', also: ANY_ERROR });
    if (err === OK || err === errors.E_NOT_FOUND) return rows;
    // It takes in steps, and what came before the error is leased.
    if (err !== errors.E_INTERRUPTED && rows.length > 0) {
      process.emitWarning(`fewer were taken from ${queue} than there may be: ${words}`, { type: 'MusterWarning' });
      return rows;
    }
    rows.forEach(({ id }) => this.#giveBackUnasked(id));
    throw new MusterError(err, words);
  }

  // `make` makes the call with the number that its answer will have. `keep` is what the call points to; `waits`: the
  // answer may come late.
  #ask(make, read, options) {
    return this.#closing ? Promise.reject(closed()) : this.#send(make, read, options);
  }

  #send(make, read, { keep = null, waits = false } = {}) {
    return new Promise((resolve, reject) => {
      const err = make(this.#answers.nextNumber());
      if (keep) keep.length = 0; // until here it was alive
      if (err !== OK) throw new MusterError(err, call.async_error(this.#handle));
      this.#answers.expect(resolve, reject, read, { waits });
    });
  }
}

const closed = () => new Error('muster: the client is closed');

const WAITING = answer.offset('waiting');
const readWaiting = (view, at) => Number(view.getBigUint64(at + WAITING, true));
const readProcesses = (view, at) => answer.readFrom(view, at).processes;
const ID = answer.offset('id');
const readId = (view, at) => memory.text(getNumber(view, at + ID));
const readJob = (view, at) => answer.readFrom(view, at).job;

const noneIs = (nothing) => (error) => {
  if (error.errno === errors.E_NOT_FOUND) return nothing;
  throw error;
};

// On its way to a thread a view would bring all the memory along that it looks into.
const exact = (value) => new Uint8Array(toBytes(value, 'a task'));

// For a thread. Without a delay a retry is that of the job's own backoff.
function endForMany(end) {
  if (!NAMES.outcome.includes(end.outcome)) {
    throw new TypeError(`option 'outcome' is one of ${NAMES.outcome.join(', ')}; not '${end.outcome}'`);
  }
  return {
    ...end,
    result: end.result === undefined || end.result === null ? undefined : exact(end.result),
    delayMs: end.delayMs ?? (end.outcome === 'retry' ? -1 : undefined),
  };
}

function packBytes(list, lengths) {
  const packed = Buffer.from(new ArrayBuffer(lengths.reduce((sum, len) => sum + len, 1)));
  let at = 0;
  for (const bytes of list) {
    packed.set(bytes, at);
    at += bytes.byteLength;
  }
  return packed;
}

module.exports = { Client };
