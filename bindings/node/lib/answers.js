// SPDX-License-Identifier: MIT
//
// Calls that wait for their answers. Each has a number, which goes with the call as its `arg`, and comes back with the
// answer. While a call waits, the program runs on; without one, it may end.
'use strict';

const { MusterError, OK } = require('./native');
const { getNumber } = require('./layout');
const { memory } = require('./memory');
const { Pump } = require('./pump');

class Answers {
  #layout;
  #max;
  #next;
  #pump;
  #buffer;
  #view;
  #calls = new Map();
  #n = 0;
  #whenSettled = [];

  // `next` fills a buffer with up to `max` answers of this layout.
  constructor(fd, layout, max, next) {
    this.#layout = layout;
    this.#max = max;
    this.#next = next;
    this.#buffer = Buffer.from(new ArrayBuffer(max * layout.sizeof));
    this.#view = new DataView(this.#buffer.buffer);
    this.#pump = new Pump(fd, () => this.#take());
    this.#pump.unref();
  }

  // The number of the call that is made next; expect() follows when it was made.
  nextNumber() { return this.#n + 1; }

  expect(resolve, reject, read) {
    if (this.#calls.size === 0) this.#pump.ref();
    this.#calls.set(++this.#n, { resolve, reject, read });
  }

  #forget(number) {
    const it = this.#calls.get(number);
    this.#calls.delete(number);
    if (this.#calls.size === 0) this.#rest();
    return it;
  }

  // When nothing is waited for.
  settled() {
    if (this.#calls.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#whenSettled.push(resolve));
  }

  close() { this.#pump.close(); }

  #rest() {
    this.#pump.unref();
    this.#whenSettled.splice(0).forEach((resolve) => resolve());
  }

  #take() {
    const { sizeof, byName } = this.#layout;
    const [argAt, errAt, textAt] = ['arg', 'err', 'text'].map((name) => byName.get(name).at);
    this.#view.setUint32(0, sizeof, true); // `size` of the first one
    this.#view.setUint32(4, 0, true);
    const n = this.#next(this.#buffer, this.#max);
    for (let i = 0; i < n; i++) {
      const at = i * sizeof;
      const { resolve, reject, read } = this.#forget(getNumber(this.#view, at + argAt));
      const err = this.#view.getInt32(at + errAt, true);
      if (err === OK) resolve(read(this.#view, at));
      else reject(new MusterError(err, memory.text(getNumber(this.#view, at + textAt))));
    }
  }
}

module.exports = { Answers };
