// SPDX-License-Identifier: MIT
//
// The structs of the library, field by field, as the headers have them: how they are written for it, and how they are
// read. test/layout.test.js compares them with what the C compiler makes of the headers.
//
// A field is `kind name`. Some kinds are two members that stand beside each other, a pointer and how many: they have two
// names. A name in C is the name in JavaScript with `_` in place of capitals: timeout_ms is timeoutMs.
'use strict';

const { memory, addressOf } = require('./memory');

const WORD = 8;

// [size, alignment, names]
const KINDS = {
  size: [8, 8, 1], // what `size_t size` must be: sizeof the struct
  int: [4, 4, 1],
  flag: [4, 4, 1], // an int that is a truth
  name: [4, 4, 1], // an int of one of NAMES, by the field's name
  i64: [8, 8, 1],
  u64: [8, 8, 1],
  ptr: [8, 8, 1], // an address, as a number
  str: [8, 8, 1], // const char *
  bytes: [16, 8, 1], // struct muster_bytes
  bytes_at: [8, 8, 1], // const struct muster_bytes *
  blob: [16, 8, 2], // const void *, size_t
  strs: [16, 8, 2], // const char *const *, size_t
  i64s: [16, 8, 2], // const int64_t *, size_t
};

// The names of what the library counts; test/layout.test.js compares them with its own.
const NAMES = {
  state: ['scheduled', 'depends', 'waiting', 'running', 'failed', 'complete', 'recurring', 'held'],
  overlap: ['', 'allow', 'skip', 'queue'],
  how: ['complete', 'failed', 'cancelled', 'gone'],
  outcome: ['finish', 'giveBack', 'retry', 'fail'],
  onLimit: ['', 'giveBack', 'retry', 'fail'],
  onDoubt: ['stop', 'run'],
};

// Means the number 0 where a plain 0 means the default (job.h).
const ZERO = -1000000007;
const HAVE_ZERO = new Set(['priority', 'retries', 'delayMs', 'limitMs']);

const camel = (name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());

class Layout {
  constructor(name, text) {
    this.name = name;
    this.fields = [];
    let at = 0;
    let widest = 1;
    for (const line of text.split('\n').filter((it) => it.trim())) {
      const [kind, member, count] = line.trim().split(/ +/);
      const inner = kind.startsWith('@') ? null : STRUCTS[kind];
      const [size, alignment] = inner ? [inner.sizeof, inner.alignment] : KINDS[kind.startsWith('@') ? 'ptr' : kind];
      const wide = kind.startsWith('@') && count ? 2 * WORD : size;
      at = Math.ceil(at / alignment) * alignment;
      this.fields.push({ kind, member, count, at, name: camel(member), inner });
      at += wide;
      widest = Math.max(widest, alignment);
    }
    this.alignment = widest;
    this.sizeof = Math.ceil(at / widest) * widest;
    this.byName = new Map(this.fields.map((field) => [field.name, field]));
  }

  offset(member) { return this.fields.find((field) => field.member === member).at; }

  // The struct as bytes. `keep` receives what it points to, which must live as long as it is used.
  write(values, keep, { zeros = false } = {}) {
    const out = Buffer.alloc(this.sizeof);
    this.#writeAt(out, 0, values, keep, zeros);
    keep.push(out);
    return out;
  }

  // An array of them.
  writeAll(list, keep) {
    const out = Buffer.alloc(list.length * this.sizeof);
    list.forEach((values, i) => this.#writeAt(out, i * this.sizeof, values, keep, false));
    keep.push(out);
    return out;
  }

  #writeAt(out, base, values, keep, zeros) {
    for (const field of this.fields) {
      if (field.kind === 'size') out.writeBigUInt64LE(BigInt(this.sizeof), base + field.at);
    }
    for (const [name, value] of Object.entries(values ?? {})) {
      const field = this.byName.get(name);
      if (!field || field.kind === 'size') throw new TypeError(`there is no option '${name}' (struct ${this.name})`);
      if (value !== undefined && value !== null) {
        this.#put(out, base + field.at, field, value, keep, zeros);
      }
    }
  }

  #put(out, at, field, value, keep, zeros) {
    const where = `option '${field.name}'`;
    switch (field.kind) {
    case 'int':
      out.writeInt32LE(zeros && value === 0 && HAVE_ZERO.has(field.name) ? ZERO : whole(value, where), at);
      break;
    case 'flag':
      out.writeInt32LE(value ? 1 : 0, at);
      break;
    case 'name':
      out.writeInt32LE(numberOf(field.name, value), at);
      break;
    case 'i64':
      out.writeBigInt64LE(BigInt(zeros && value === 0 && HAVE_ZERO.has(field.name) ? ZERO : whole(value, where)), at);
      break;
    case 'u64':
      out.writeBigUInt64LE(BigInt(whole(value, where)), at);
      break;
    case 'ptr':
      putAddress(out, at, value);
      break;
    case 'str':
      putAddress(out, at, keepText(value, keep, where));
      break;
    case 'bytes':
    case 'blob':
      putBytes(out, at, value, keep, where);
      break;
    case 'bytes_at': {
      const pair = Buffer.alloc(2 * WORD);
      putBytes(pair, 0, value, keep, where);
      keep.push(pair);
      putAddress(out, at, addressOf(pair));
      break;
    }
    case 'strs':
      putAddress(out, at, keepTexts(value, keep, where));
      out.writeBigUInt64LE(BigInt(value.length), at + WORD);
      break;
    default:
      if (field.inner) {
        field.inner.#writeAt(out, at, value, keep, false);
      } else if (field.kind.startsWith('@') && !field.count) {
        putAddress(out, at, addressOf(STRUCTS[field.kind.slice(1)].write(value, keep)));
      } else {
        throw new TypeError(`${where} is not for writing`);
      }
    }
  }

  // An object of what lies at an address, copied.
  read(address) { return this.readFrom(memory.view(address, this.sizeof)); }

  readFrom(view, base = 0) {
    const out = {};
    for (const field of this.fields) {
      if (field.kind !== 'size') out[field.name] = this.#get(view, base + field.at, field);
    }
    return out;
  }

  #get(view, at, field) {
    switch (field.kind) {
    case 'int': return view.getInt32(at, true);
    case 'flag': return view.getInt32(at, true) !== 0;
    case 'name': return NAMES[field.name][view.getInt32(at, true)] ?? 'unknown';
    case 'i64': return Number(view.getBigInt64(at, true));
    case 'u64':
    case 'ptr': return Number(view.getBigUint64(at, true));
    case 'str': return memory.text(getNumber(view, at));
    case 'bytes':
    case 'blob': return memory.bytesOrNull(getNumber(view, at), getNumber(view, at + WORD));
    case 'bytes_at': {
      const pair = getNumber(view, at);
      if (pair === 0) return null;
      const inner = memory.view(pair, 2 * WORD);
      return memory.bytes(getNumber(inner, 0), getNumber(inner, WORD));
    }
    case 'strs': {
      const [list, n] = [getNumber(view, at), getNumber(view, at + WORD)];
      if (n === 0) return [];
      const texts = memory.view(list, n * WORD);
      return Array.from({ length: n }, (_, i) => memory.text(getNumber(texts, i * WORD)));
    }
    case 'i64s': {
      const [list, n] = [getNumber(view, at), getNumber(view, at + WORD)];
      const numbers = memory.view(list, n * WORD);
      return Array.from({ length: n }, (_, i) => Number(numbers.getBigInt64(i * WORD, true)));
    }
    default: {
      if (field.inner) return field.inner.readFrom(view, at);
      const inner = STRUCTS[field.kind.slice(1)];
      const address = getNumber(view, at);
      if (!field.count) return address === 0 ? null : inner.read(address);
      const n = getNumber(view, at + WORD);
      return Array.from({ length: n }, (_, i) => inner.read(address + i * inner.sizeof));
    }
    }
  }
}

const getNumber = (view, at) => view.getUint32(at, true) + view.getUint32(at + 4, true) * 0x100000000;

function putAddress(out, at, address) { out.writeBigUInt64LE(BigInt(address), at); }

function numberOf(kind, value) {
  const number = NAMES[kind].indexOf(value);
  if (number < 0) {
    throw new TypeError(`option '${kind}' is one of ${NAMES[kind].filter(Boolean).join(', ')}; not '${value}'`);
  }
  return number;
}

function whole(value, where) {
  if (!Number.isSafeInteger(value)) throw new TypeError(`${where} must be a whole number`);
  return value;
}

// Text for C ends at its first NUL: what stands behind one would be lost without a word.
function cText(value, where) {
  if (typeof value !== 'string') throw new TypeError(`${where} must be a string`);
  if (value.includes('\0')) throw new TypeError(`${where} must not hold a NUL`);
  return Buffer.from(value + '\0');
}

function keepText(value, keep, where) {
  const text = cText(value, where);
  keep.push(text);
  return addressOf(text);
}

// An array of strings for C: its address.
function keepTexts(list, keep, where) {
  if (!Array.isArray(list)) throw new TypeError(`${where} must be an array of strings`);
  const addresses = Buffer.alloc(Math.max(1, list.length) * WORD);
  list.forEach((text, i) => putAddress(addresses, i * WORD, keepText(text, keep, where)));
  keep.push(addresses);
  return addressOf(addresses);
}

// A task, a result: a string counts as its UTF-8 bytes.
function toBytes(value, where) {
  if (typeof value === 'string') return Buffer.from(value);
  if (value instanceof Uint8Array) return value;
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  throw new TypeError(`${where} must be a string, a Buffer or another view of bytes`);
}

// No bytes are bytes, too: their pointer must not be NULL.
const NOTHING = Buffer.alloc(1);
function putBytes(out, at, value, keep, where) {
  const bytes = toBytes(value, where);
  keep.push(bytes);
  putAddress(out, at, addressOf(bytes.byteLength > 0 ? bytes : NOTHING));
  out.writeBigUInt64LE(BigInt(bytes.byteLength), at + WORD);
}

const LOGIN = `
  str user
  str password
  str tls_ca
  str tls_cert
  str tls_key
  str tls_server_name
  str sentinel_user
  str sentinel_password
  flag tls_insecure
  int replicas
  int replicas_ms
  flag fsync`;

const STRUCTS = {};
const define = (name, text) => { STRUCTS[name] = new Layout(name, text); };

define('muster_bytes', 'blob data len');

define('muster_client_options', `
  size size
  str url
  str prefix
  int timeout_ms
  u64 max_task_len
  ptr redis
  ${LOGIN}`);

define('muster_async_options', `
  size size
  @muster_client_options client
  u64 max_in_flight
  u64 max_bytes`);

define('muster_answer', `
  size size
  ptr fn
  ptr arg
  int err
  int reserved
  str text
  u64 waiting
  @muster_process_info processes n
  @muster_job job
  str id`);

define('muster_listener_options', `
  size size
  @muster_client_options client
  u64 max_heard
  u64 max_bytes`);

define('muster_job_event', `
  str what
  str id
  str queue
  str worker
  str text
  i64 at_ms
  flag tracked`);

define('muster_heard', `
  size size
  int type
  int err
  str queue
  str text
  str process
  str worker
  blob task len
  bytes_at result
  @muster_job_event job
  str holder`);

define('muster_worker_options', `
  size size
  str url
  str prefix
  str id
  ptr base
  ptr data
  ptr subscription
  int ttl_ms
  int hands
  int threads
  int prefetch
  flag permanent
  flag resume
  int drain_ms
  flag burst
  flag in_turn
  u64 max_tasks
  i64 limit_ms
  name on_limit
  name on_doubt
  ptr on_event
  ptr on_end
  ptr arg
  ${LOGIN}
  flag own_thread
  flag tell_ended`);

define('muster_item', `
  size size
  int type
  int event
  int err
  int reserved
  ptr process
  ptr user
  str id
  str queue
  str job
  str text
  blob task len
  u64 token
  u64 waiting`);

define('muster_enqueue_options', `
  size size
  flag at_front
  str request_id`);

define('muster_backoff', `
  i64 delay_ms
  i64 max_ms
  flag exponential
  int jitter_percent`);

define('muster_job_spec', `
  size size
  str id
  bytes data
  int priority
  int retries
  flag track
  flag replace
  int backlog
  i64 delay_ms
  i64 limit_ms
  i64 every_ms
  i64 offset_ms
  strs tags n_tags
  strs after n_after
  @muster_backoff backoff
  str batch
  i64 at_ms
  str cron
  str zone
  i64 from_ms
  i64 until_ms
  i64 count
  name overlap
  flag may_be_missing
  str key
  strs after_end n_after_end
  strs after_failure n_after_failure`);

define('muster_job_event_line', `
  i64 at_ms
  str what
  str text`);

define('muster_job', `
  str id
  str queue
  name state
  bytes data
  int priority
  int retries
  int retried
  int crashes
  flag tracked
  flag cancelled
  int backlog
  i64 put_at_ms
  i64 since_ms
  i64 due_at_ms
  i64 limit_ms
  i64 every_ms
  muster_backoff backoff
  u64 made
  str worker
  str process
  str group
  bytes message
  bytes result
  strs tags n_tags
  strs after n_after
  strs before n_before
  @muster_job_event_line history n_history
  flag unique
  str batch
  str cron
  str zone
  i64s ticks n_ticks
  i64 from_ms
  i64 until_ms
  i64 count
  name overlap
  flag queued
  str made_by
  str key
  strs after_end n_after_end
  strs after_failure n_after_failure
  strs parents n_parents
  strs blocked_by n_blocked_by
  str holder
  u64 whole_len
  u64 whole_result_len
  u64 whole_before`);

define('muster_job_ended', `
  str id
  name how
  @muster_job job`);

define('muster_job_filter', `
  size size
  str queue
  str tag
  strs tags n_tags
  str group
  name state
  flag by_state
  flag tracked
  u64 offset
  u64 n
  flag any_tag
  int order
  str past_id
  i64 past_ms`);

define('muster_process_info', `
  str id
  str worker
  str queue
  str job
  @muster_job record
  u64 token
  i64 started_at_ms
  i64 ends_at_ms
  flag cancelled
  str progress
  blob task len
  str holder
  u64 whole_len`);

define('muster_process_filter', `
  size size
  str queue
  str worker
  bytes_at task
  str holder`);

define('muster_take_options', `
  size size
  u64 n
  i64 lease_ms
  i64 wait_ms
  str holder`);

define('muster_finish_options', `
  size size
  bytes_at result
  str next
  i64 delay_ms
  strs after n_after`);

define('muster_extend_options', `
  size size
  i64 lease_ms
  str progress
  bytes_at data`);

define('muster_lease_end', `
  size size
  str process
  name outcome
  bytes_at result
  str group
  str message
  i64 delay_ms
  str next
  strs after n_after`);

define('muster_task', `
  u64 position
  blob data len
  str job
  u64 whole_len`);

define('muster_queue_info', `
  str name
  u64 waiting
  u64 running
  u64 delayed
  u64 depends
  u64 recurring
  u64 complete
  u64 failed
  u64 cancelled
  u64 idle
  flag paused
  u64 failed_bytes
  u64 failed_dropped
  u64 in
  u64 out
  i64 oldest_ms
  i64 oldest_error_ms
  flag share_even
  u64 hands
  u64 moved
  u64 held
  u64 stalled
  u64 died`);

define('muster_worker_share', `
  str queue
  u64 hands
  u64 holds
  u64 least
  u64 most`);

define('muster_worker_info', `
  str id
  u64 epoch
  str host
  str version
  i64 pid
  flag alive
  flag permanent
  i64 heard_ms
  i64 ttl_ms
  i64 started_at_ms
  u64 hands
  u64 held
  strs queues n_queues
  @muster_worker_share shares n_shares`);

define('muster_failed_filter', `
  size size
  str queue
  str group
  strs entries n_entries
  u64 offset
  u64 n`);

define('muster_failure', `
  str entry
  str queue
  str process
  str worker
  str group
  bytes message
  i64 failed_at_ms
  str job
  blob task len
  u64 whole_len
  str holder`);

define('muster_setting', `
  str name
  str what
  str from
  i64 value
  i64 fallback
  i64 least
  i64 most`);

module.exports = { STRUCTS, NAMES, toBytes, keepTexts, getNumber };
