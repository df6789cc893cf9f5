// SPDX-License-Identifier: MIT
//
// The listener: what happens in queues and to jobs, as events of an EventEmitter, or one after the other by
// `for await`. Whoever iterates holds it up: what is not asked for stays with the library, which bounds it and tells a gap.
'use strict';

const { EventEmitter } = require('node:events');
const { call, MusterError, OK } = require('./native');
const { STRUCTS } = require('./layout');
const { Pump } = require('./pump');
const { emitSafely } = require('./emit');

const AT_ONCE = 256;
const KINDS = { done: 1, cancelled: 2, deleted: 4, jobs: 8 };
const TYPES = [null, 'ready', 'gap', 'done', 'cancelled', 'deleted', 'job'];
const heard = STRUCTS.muster_heard;

class Listener extends EventEmitter {
  #handle;
  #pump;
  #buffer = Buffer.from(new ArrayBuffer(AT_ONCE * heard.sizeof));
  #view = new DataView(this.#buffer.buffer);
  #wake = null; // of an iterator that waits
  #closed = false;

  constructor(options = {}) {
    super();
    const { maxHeard, maxBytes, ...client } = options;
    const given = STRUCTS.muster_listener_options.write({ client, maxHeard, maxBytes }, []);
    const out = Buffer.alloc(8);
    const err = call.listener_new(out, given);
    if (err !== OK) throw new MusterError(err, call.listener_options_check(given));
    this.#handle = Number(out.readBigUInt64LE());
    this.#begin();
  }

  #begin() {
    this.#pump = new Pump(call.listener_fd(this.#handle), () => this.#ready());
  }

  // `queue` null: the jobs of all queues. A `ready` follows: what happens after it is heard.
  add(queue, kinds = queue === null ? ['jobs'] : Object.keys(KINDS)) {
    this.#check(call.listener_add(this.#alive(), queue, bits(kinds)));
    return this;
  }

  remove(queue) {
    this.#check(call.listener_remove(this.#alive(), queue));
    return this;
  }

  ref() { this.#pump?.ref(); return this; }
  unref() { this.#pump?.unref(); return this; }

  // Ends iterations, too.
  close() {
    if (this.#closed) return;
    this.#closed = true;
    this.#pump?.close();
    call.listener_free(this.#handle);
    this.#handle = 0;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator]() {
    if (this.#wake) throw new Error('muster: one iteration of a listener at a time');
    // While it iterates nothing is emitted, and nothing is fetched that nobody asked for.
    this.#pump.close();
    try {
      while (!this.#closed) {
        await this.#readable();
        for (const event of this.#take()) yield event;
      }
    } finally {
      this.#wake = null;
      if (!this.#closed) this.#begin();
    }
  }

  #readable() {
    return new Promise((resolve) => {
      const pump = new Pump(call.listener_fd(this.#handle), () => this.#wake());
      this.#pump = pump;
      this.#wake = () => {
        pump.close();
        resolve();
      };
    });
  }

  #ready() { for (const event of this.#take()) emitSafely(this, event.type, event); }

  #take() {
    if (this.#closed) return [];
    this.#view.setUint32(0, heard.sizeof, true); // `size` of the first one
    this.#view.setUint32(4, 0, true);
    const n = call.listener_next(this.#handle, this.#buffer, AT_ONCE);
    return Array.from({ length: n }, (_, i) => eventOf(heard.readFrom(this.#view, i * heard.sizeof)));
  }

  #alive() {
    if (this.#closed) throw new Error('muster: the listener is closed');
    return this.#handle;
  }

  #check(err) { if (err !== OK) throw new MusterError(err, call.listener_error(this.#handle)); }
}

function bits(kinds) {
  return kinds.reduce((sum, kind) => {
    if (!(kind in KINDS)) throw new TypeError(`there is no kind '${kind}': ${Object.keys(KINDS).join(', ')}`);
    return sum | KINDS[kind];
  }, 0);
}

function eventOf({ type, err, text, ...fields }) {
  const event = { type: TYPES[type] ?? 'unknown', ...fields };
  if (err !== OK) event.error = new MusterError(err, text);
  return event;
}

module.exports = { Listener, KINDS };
