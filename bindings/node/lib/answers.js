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
  #waiting = new Set(); // the numbers of those that may wait for long
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

  expect(resolve, reject, read, { waits = false } = {}) {
    if (this.#calls.size === 0) this.#pump.ref();
    this.#calls.set(++this.#n, { resolve, reject, read });
    if (waits) this.#waiting.add(this.#n);
  }

  // What waits for long is refused with `error`. What is answered to it all the same goes to `instead`.
  endWaits(error, instead) {
    for (const number of this.#waiting) {
      const { reject, read } = this.#calls.get(number);
      reject(error);
      this.#calls.set(number, { resolve: instead, reject: () => {}, read });
    }
  }

  #forget(number) {
    const it = this.#calls.get(number);
    this.#calls.delete(number);
    this.#waiting.delete(number);
    if (this.#calls.size === 0) this.#pump.unref();
    return it;
  }

  // When nothing is to come but what waits for long.
  settled() {
    if (this.#isSettled) return Promise.resolve();
    return new Promise((resolve) => this.#whenSettled.push(resolve));
  }

  get #isSettled() { return this.#calls.size === this.#waiting.size; }

  close() { this.#pump.close(); }

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
    if (this.#isSettled) this.#whenSettled.splice(0).forEach((resolve) => resolve());
  }
}

module.exports = { Answers };
