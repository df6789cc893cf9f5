// SPDX-License-Identifier: MIT
//
// A descriptor of the library's in Node's event loop: libuv polls it, as it does with sockets, so nothing waits on a
// thread and nothing is asked again and again. It is readable as long as the library has something, and what is left
// over comes with the next turn: so other events of the program have their turn in between.
//
// koffi calls back from inside the poll, where an exception would be lost. So the work is done by setImmediate(), which
// comes next in the same turn.
'use strict';

const koffi = require('koffi');

const open = new Set(); // a handle that nobody holds would be closed by the garbage collector

// While Node ends, its loop turns once more, when nothing can be called any more: what were readable then would crash it.
process.on('exit', () => { for (const pump of open) pump.close(); });

class Pump {
  #handle;

  constructor(fd, onReadable) {
    const work = () => { if (this.#handle) onReadable(); };
    this.#handle = koffi.node.poll(fd, { readable: true }, () => setImmediate(work));
    open.add(this);
  }

  ref() { this.#handle?.ref(); }
  unref() { this.#handle?.unref(); }

  close() {
    this.#handle?.close();
    this.#handle = null;
    open.delete(this);
  }
}

module.exports = { Pump };
