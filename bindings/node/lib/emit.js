// SPDX-License-Identifier: MIT
'use strict';

// Emits while there is more to tell: what a listener throws is the program's uncaught exception, as always, but must not
// take with it what was fetched from the library in the same batch.
exports.emitSafely = (emitter, ...args) => {
  try {
    return emitter.emit(...args);
  } catch (error) {
    process.nextTick(() => { throw error; });
    return true;
  }
};
