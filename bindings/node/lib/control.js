// SPDX-License-Identifier: MIT
//
// A blocking client on a thread of Node's (worker_threads), one call at a time: the next one begins when the last has
// ended. The thread begins with the first call, and keeps no program running that has nothing else to do.
//
// koffi's own asynchronous calls will not do: process.exit() would wait for ever for one that tells rows just then. Nor
// can koffi bear that its thread is ended while it loads the library: then it aborts the program.
'use strict';

const path = require('node:path');
const { Worker } = require('node:worker_threads');
const { call, MusterError, OK } = require('./native');
const { Shared } = require('./shared');

const THREAD = path.join(__dirname, 'control_thread.js');

// A thread that has not loaded the library by then has hung.
const LOAD_MS = 60000;

const open = new Set();
// Node's end waits until the calls of its threads have returned: so they are asked to.
process.on('exit', () => { for (const control of open) control.end(); });

const ANY_ERROR = { includes: () => true }; // as `also`

class Control {
  #options;
  #thread = null;
  #shared = null; // with the thread
  #calls = new Map();
  #n = 0;
  #closed = false;

  constructor(options) { this.#options = options; }

  // Resolves to {err, rows, numbers, errs}. What the call refuses is thrown, but for the errors in `also`, and what
  // `errs` tells.
  run(name, args, { also = [], transfer = [], ...more } = {}) {
    if (this.#closed) return Promise.reject(new Error('muster: the client is closed'));
    this.#begin();
    return new Promise((resolve, reject) => {
      const id = ++this.#n;
      this.#thread.postMessage({ id, name, args, ...more }, transfer);
      this.#calls.set(id, { resolve, reject, also });
      this.#thread.ref();
    });
  }

  async rows(name, args, struct, more) {
    const { rows } = await this.run(name, args, { struct, ...more });
    return rows;
  }

  // Numbers that the call gives back through pointers, the last ones of its arguments.
  async numbers(name, args, n, more) {
    const { numbers } = await this.run(name, args, { numbers: n, ...more });
    return numbers;
  }

  // Of a call that tells of each of `n` things: null, or its error. The first one has the library's words.
  async each(name, args, n) {
    const { words, errs } = await this.run(name, [...args, { errs: n }]);
    const first = errs.findIndex((err) => err !== OK);
    return errs.map((err, i) => (err === OK ? null : new MusterError(err, i === first ? words : '')));
  }

  get idle() { return this.#calls.size === 0; }

  interrupt() {
    if (this.#calls.size > 0) this.#shared.interrupt(call.client_interrupt);
  }

  end() {
    this.#shared.awaitLoaded(LOAD_MS);
    this.interrupt();
  }

  #begin() {
    if (this.#thread) return;
    this.#shared = new Shared();
    this.#thread = new Worker(THREAD, { workerData: { options: this.#options, shared: this.#shared.memory } });
    this.#thread.on('message', (message) => this.#hear(message));
    this.#thread.on('error', (error) => this.#break(error));
    this.#thread.on('exit', () => this.#break(new Error('muster: the client is closed')));
    this.#thread.unref();
    open.add(this);
  }

  #hear({ id, error, err, words, rows, room, errs, numbers }) {
    const { resolve, reject, also } = this.#calls.get(id);
    this.#calls.delete(id);
    if (this.#calls.size === 0) this.#thread.unref();
    if (error) reject(error);
    else if (err !== OK && !errs && !also.includes(err)) reject(new MusterError(err, words));
    else resolve({ err, words, rows: rows?.map(revive), room, errs, numbers });
  }

  #break(error) {
    open.delete(this);
    for (const { reject } of this.#calls.values()) reject(error);
    this.#calls.clear();
  }

  // Ends when the calls that were made have ended.
  async close() {
    this.#closed = true;
    if (!this.#thread) return;
    this.#thread.ref();
    const ended = new Promise((resolve) => this.#thread.once('exit', resolve));
    this.#thread.postMessage({ close: true });
    await ended;
  }
}

// A Buffer arrives from a thread as a plain Uint8Array.
function revive(value) {
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  if (Array.isArray(value)) return value.map(revive);
  if (value === null || typeof value !== 'object') return value;
  for (const name of Object.keys(value)) value[name] = revive(value[name]);
  return value;
}

module.exports = { Control, ANY_ERROR };
