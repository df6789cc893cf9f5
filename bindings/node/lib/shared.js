// SPDX-License-Identifier: MIT
//
// What a Control and its thread both see, also while neither of them hears messages: whether the thread has loaded the
// library, whether its next call is to be interrupted, and its client. An interrupt may come before there is a client:
// then whoever sees both, does it. Who uses the client's address has taken it out meanwhile, so none is freed just then.
'use strict';

const LOADED = 0;
const DUE = 1;
const CLIENT = 2;

class Shared {
  #all;

  constructor(memory = new SharedArrayBuffer(3 * 8)) { this.#all = new BigInt64Array(memory); }

  get memory() { return this.#all.buffer; }

  setLoaded() {
    Atomics.store(this.#all, LOADED, 1n);
    Atomics.notify(this.#all, LOADED);
  }
  awaitLoaded(ms) { Atomics.wait(this.#all, LOADED, 0n, ms); }

  interrupt(carryOut) {
    Atomics.store(this.#all, DUE, 1n);
    const client = Atomics.exchange(this.#all, CLIENT, 0n);
    if (client === 0n) return;
    this.#interruptIfDue(client, carryOut);
    Atomics.store(this.#all, CLIENT, client);
    Atomics.notify(this.#all, CLIENT);
  }

  // By the thread. Before its first call.
  setClient(client, interrupt) {
    Atomics.store(this.#all, CLIENT, BigInt(client));
    this.#interruptIfDue(client, interrupt);
  }
  // There is none, and the call has failed.
  setNoClient() { Atomics.store(this.#all, DUE, 0n); }
  // It may be freed then.
  takeClient() {
    while (Atomics.exchange(this.#all, CLIENT, 0n) === 0n) Atomics.wait(this.#all, CLIENT, 0n);
  }

  #interruptIfDue(client, interrupt) {
    if (Atomics.exchange(this.#all, DUE, 0n)) interrupt(Number(client));
  }
}

module.exports = { Shared };
