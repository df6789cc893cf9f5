// SPDX-License-Identifier: MIT
//
// A process: a task or job in the hands of a Worker, until it is ended. What it was given is copied, so it can be read
// afterwards, too; what asks the library is refused then.
'use strict';

const { call, MusterError, OK, errors } = require('./native');
const { STRUCTS, toBytes, keepTexts } = require('./layout');
const { refuseUnknown } = require('./unknown');

const OUTCOMES = { finish: 0, giveBack: 1, retry: 2, fail: 3 };
const REASONS = [null, 'cancelled', 'lost', 'limit', 'drain', 'move'];
const GROUP_MAX = 200;
const MESSAGE_MAX = 64 * 1024;

const nobody = () => {};

class Process {
  #worker;
  #pointer;
  #bytes; // those of a whole batch
  #at;
  #len;
  #task = null;
  #controller = null;
  #counted = null;

  constructor(worker, pointer, id, queue, token, job, bytes, at, len) {
    this.#worker = worker;
    this.#pointer = pointer;
    this.id = id;
    this.queue = queue;
    this.token = token;
    this.job = job; // the job's id; null: a task
    this.stopReason = null;
    this.#bytes = bytes;
    this.#at = at;
    this.#len = len;
  }

  // The task's bytes, or the job's data.
  get task() { return (this.#task ??= Buffer.from(this.#bytes, this.#at, this.#len)); }

  get ended() { return this.#pointer === 0; }

  // Aborted when the handler is to stop; `reason` is an error whose code is the stop reason. Not by `move`.
  get signal() {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.stopReason && this.stopReason !== 'move') this.#abort();
    }
    return this.#controller.signal;
  }

  // The job's record as it was when it was taken; null for a task.
  record() {
    const job = call.process_job(this.#alive());
    return job === 0 ? null : STRUCTS.muster_job.read(job);
  }

  progress(note) { this.#check(call.process_progress(this.#alive(), note)); }
  extend(limitMs) { this.#check(call.process_extend(this.#alive(), limitMs)); }
  stay(forMs = 0) { this.#check(call.process_stay(this.#alive(), forMs)); }
  get moveMs() { return Number(call.process_move_ms(this.#alive())); }

  setData(data) {
    const bytes = toBytes(data, 'data');
    this.#check(call.process_set_data(this.#alive(), bytes, bytes.byteLength));
  }

  // ---- its ends: each gives a promise of its being counted, which nobody has to wait for

  finish(result, { next, delayMs = 0, after = [], ...unknown } = {}) {
    refuseUnknown(unknown);
    const p = this.#alive();
    if (result !== undefined && result !== null) {
      const bytes = toBytes(result, 'a result');
      this.#check(call.process_set_result(p, bytes, bytes.byteLength));
    }
    if (next !== undefined) {
      const keep = [];
      this.#check(call.process_set_next(p, next, delayMs, keepTexts(after, keep, 'after'), after.length));
    } else if (delayMs !== 0 || after.length > 0) {
      throw new TypeError("'delayMs' and 'after' are for a 'next' queue");
    }
    return this.#end(OUTCOMES.finish);
  }

  giveBack() {
    this.#alive();
    return this.#end(OUTCOMES.giveBack);
  }

  retry(delayMs, why = {}) {
    const p = this.#alive();
    if (delayMs !== undefined) this.#check(call.process_set_retry(p, delayMs));
    this.#setFailure(p, why);
    return this.#end(OUTCOMES.retry);
  }

  fail(why = {}) {
    this.#setFailure(this.#alive(), why);
    return this.#end(OUTCOMES.fail);
  }

  // A handler has thrown: a job goes by its retries, a task fails.
  failBy(error) {
    const why = { group: groupOf(error), message: messageOf(error) };
    return this.job === null ? this.fail(why) : this.retry(undefined, why);
  }

  #setFailure(p, { group = null, message = null, ...unknown }) {
    refuseUnknown(unknown);
    if (group !== null || message !== null) this.#check(call.process_set_failure(p, group ?? 'failed', message));
  }

  #end(outcome) {
    const p = this.#pointer;
    this.#pointer = 0;
    let settle;
    const counted = new Promise((resolve, reject) => { settle = { resolve, reject }; });
    counted.catch(nobody); // whoever waits hears of it; for all others there is the event
    this.#counted = settle;
    this.#worker.endLater(p, outcome);
    return counted;
  }

  // For the worker, which ends many of a batch without a promise for each.
  takePointer() {
    const p = this.#pointer;
    this.#pointer = 0;
    return p;
  }

  #alive() {
    if (this.#pointer === 0) throw new MusterError(errors.E_STATE, `process ${this.id} has ended`);
    return this.#pointer;
  }

  #check(err) { if (err !== OK) throw new MusterError(err); }

  // ---- what the worker hears

  hearStop() {
    if (this.#pointer === 0) return;
    this.stop(REASONS[call.process_stop_reason(this.#pointer)] ?? 'unknown');
  }

  stop(reason) {
    this.stopReason = reason;
    if (this.#controller && reason !== null && reason !== 'move') this.#abort();
  }

  #abort() { this.#controller.abort(Object.assign(new Error(`muster: stop (${this.stopReason})`), { code: this.stopReason })); }

  hearCounted() { this.#counted?.resolve(); }
  hearUncounted(error) { this.#counted?.reject(error); }

  // The worker is gone, and the process with it.
  hearGone() {
    this.#pointer = 0;
    if (this.stopReason === null) this.stop('drain');
    this.#counted?.reject(new MusterError(errors.E_LOST, `the worker has stopped; nobody counts the end of ${this.id}`));
  }
}

// Both are C strings with limits: cut rather than refused, because the failure itself must be kept.
function groupOf(error) {
  const name = error instanceof Error ? String(error.name) : '';
  return cut(name.replace(/[\x00-\x1f\x7f]/g, ' '), GROUP_MAX) || 'failed';
}

function messageOf(error) {
  const text = error instanceof Error ? error.message : String(error);
  return cut(String(text).replace(/\0/g, ' '), MESSAGE_MAX);
}

function cut(text, max) {
  const bytes = Buffer.from(text);
  if (bytes.byteLength <= max) return text;
  let end = max;
  while ((bytes[end] & 0xc0) === 0x80) end--; // not inside a character
  return bytes.toString('utf8', 0, end);
}

module.exports = { Process, OUTCOMES };
