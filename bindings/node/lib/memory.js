// SPDX-License-Identifier: MIT
//
// Memory of the library's, read by its address. An address is a number: user space of Linux fits in 47 bits. Everything
// is copied: what the library lends is gone with the next call.
'use strict';

const koffi = require('koffi');

// Of all that runs, libc is there already; its memcpy with plain addresses is the cheapest copy.
const copy = koffi.load(null).func('memcpy', 'void', ['uintptr_t', 'uintptr_t', 'size_t']);

// The address of a Buffer's bytes, which do not move as long as it lives.
const addressOf = (buffer) => Number(koffi.address(buffer));

const EMPTY = Buffer.alloc(0);

function bytes(address, len) {
  if (len === 0) return EMPTY;
  const out = Buffer.from(new ArrayBuffer(len));
  copy(addressOf(out), address, len);
  return out;
}

const memory = {
  bytes,
  bytesOrNull: (address, len) => (address === 0 ? null : bytes(address, len)),
  text: (address) => (address === 0 ? null : koffi.decode.string(address)),
  view(address, len) {
    const out = bytes(address, len);
    return new DataView(out.buffer, out.byteOffset, out.byteLength);
  },
};

module.exports = { memory, addressOf, copy };
