// SPDX-License-Identifier: MIT
//
// The thread of a Control: the blocking client lives here. An argument that needs memory comes as what to make of it,
// because an address means nothing before the bytes are on this thread:
//   {struct, values}    a struct of the library's
//   {structs, list}     an array of structs; their number follows
//   {texts}             an array of strings; their number follows it
//   {bytes}             bytes; their number follows
//   {packed, lengths}   an array of struct muster_bytes, whose bytes lie one after the other; their number follows
//   {number}            an int64_t
//   {room}              so many bytes for a text that the call writes
//   {errs}              so many ints for errors that the call writes
'use strict';

const { parentPort, workerData } = require('node:worker_threads');
const { Shared } = require('./shared');

const shared = new Shared(workerData.shared);
process.once('exit', () => shared.setLoaded()); // or it has failed to

const { call, MusterError, OK } = require('./native');
const { STRUCTS, toBytes, keepTexts } = require('./layout');
const { addressOf } = require('./memory');

let client = 0;

function open() {
  const options = STRUCTS.muster_client_options.write(workerData.options, []);
  const out = Buffer.alloc(8);
  const err = call.client_new(out, options);
  if (err !== OK) {
    shared.setNoClient();
    throw new MusterError(err, call.client_options_check(options));
  }
  client = Number(out.readBigUInt64LE());
  shared.setClient(client, call.client_interrupt);
}

function pack({ packed, lengths }, keep) {
  const list = Buffer.alloc(Math.max(1, lengths.length) * 16);
  let at = addressOf(packed);
  lengths.forEach((len, i) => {
    list.writeBigUInt64LE(BigInt(at), i * 16);
    list.writeBigUInt64LE(BigInt(len), i * 16 + 8);
    at += len;
  });
  keep.push(packed);
  return [list, lengths.length];
}

function number(value) {
  const out = Buffer.alloc(8);
  out.writeBigInt64LE(BigInt(value));
  return out;
}

function make(arg, keep) {
  if (arg === null || typeof arg !== 'object') return [arg];
  if (arg.struct) return [STRUCTS[arg.struct].write(arg.values, keep, { zeros: arg.zeros })];
  if (arg.structs) return [STRUCTS[arg.structs].writeAll(arg.list, keep), arg.list.length];
  if (arg.packed) return pack(arg, keep);
  if (arg.number !== undefined) return [number(arg.number)];
  if (arg.room) return [keep.room = Buffer.alloc(arg.room)];
  if (arg.errs) return [keep.errs = Buffer.alloc(arg.errs * 4)];
  if (arg.bytes !== undefined) {
    const bytes = toBytes(arg.bytes, 'a task');
    return [bytes, bytes.byteLength];
  }
  return [keepTexts(arg.texts, keep, 'a list'), arg.texts.length];
}

function carryOut({ name, args, struct, numbers }) {
  const keep = [];
  const rows = [];
  const made = args.flatMap((arg) => make(arg, keep));
  const out = Array.from({ length: numbers ?? 0 }, () => Buffer.alloc(8));
  if (!client) open();
  if (struct) {
    made.push((address) => { rows.push(STRUCTS[struct].read(address)); return 0; }, 0);
  }
  const err = call[name](client, ...made, ...out);
  const words = err === OK ? '' : call.client_error(client);
  const room = keep.room?.toString('utf8', 0, keep.room.indexOf(0));
  const errs = keep.errs && Array.from({ length: keep.errs.length / 4 }, (_, i) => keep.errs.readInt32LE(i * 4));
  return { err, words, rows, room, errs, numbers: out.map((number) => Number(number.readBigInt64LE())) };
}

parentPort.on('message', (order) => {
  if (order.close) {
    if (client) {
      shared.takeClient();
      call.client_free(client);
    }
    parentPort.close();
    return;
  }
  try {
    parentPort.postMessage({ id: order.id, ...carryOut(order) });
  } catch (error) {
    // A class of ours does not survive the way between threads: the number does.
    parentPort.postMessage(error.errno === undefined ? { id: order.id, error }
      : { id: order.id, err: error.errno, words: error.message });
  }
});

shared.setLoaded();
