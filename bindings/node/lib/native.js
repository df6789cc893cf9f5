// SPDX-License-Identifier: MIT
//
// The library's calls. It is found by the environment variable MUSTER_LIBRARY, a path, or as the system finds it.
//
// Handles and pointers are numbers here ('uintptr_t'): cheaper than koffi's own pointers, which are BigInts. A Buffer
// is given for 'void *'.
'use strict';

const koffi = requireKoffi();

const SONAME = 'libmuster.so.0';

function requireKoffi() {
  try {
    return require('koffi');
  } catch (error) {
    throw new Error(`muster: cannot load koffi (${error.message}); install this package by npm install --install-links`);
  }
}

function load() {
  const path = process.env.MUSTER_LIBRARY || SONAME;
  try {
    return koffi.load(path);
  } catch (error) {
    throw new Error(`muster: cannot load ${path} (${error.message}); install libmuster, or name it in MUSTER_LIBRARY`);
  }
}

const library = load();

const P = 'uintptr_t'; // a handle, an address
const AT = 'void *'; // a Buffer
const row = koffi.pointer(koffi.proto('int muster_row(uintptr_t row, uintptr_t arg)'));

// name: [result, arguments]
const CALLS = {
  muster_version: ['str', []],
  muster_err_name: ['str', ['int']],
  muster_err_text: ['str', ['int']],

  muster_client_new: ['int', [AT, AT]],
  muster_client_options_check: ['str', [AT]],
  muster_client_free: ['void', [P]],
  muster_client_error: ['str', [P]],
  muster_client_interrupt: ['int', [P]],
  muster_client_sweep: ['int', [P, AT]],
  muster_client_time: ['int', [P, AT]],
  muster_task_enqueue_many: ['int', [P, 'str', AT, 'size_t', AT, AT]],
  muster_task_enqueue_unique: ['int', [P, 'str', AT, 'size_t', AT]],
  muster_task_peek: ['int', [P, 'str', 'uint64_t', 'uint64_t', row, P]],
  muster_task_cancel: ['int', [P, 'str', AT, 'size_t', AT, AT]],
  muster_queue_list: ['int', [P, row, P]],
  muster_queue_get: ['int', [P, 'str', AT]],
  muster_queue_pause: ['int', [P, 'str']],
  muster_queue_resume: ['int', [P, 'str']],
  muster_queue_delete: ['int', [P, 'str', AT, AT]],
  muster_worker_list: ['int', [P, row, P]],
  muster_worker_fail: ['int', [P, 'str', AT]],
  muster_process_list: ['int', [P, AT, row, P]],
  muster_process_cancel: ['int', [P, 'str']],
  muster_job_cancel: ['int', [P, P, 'size_t', 'int', AT, AT]],
  muster_job_put: ['int', [P, 'str', AT, AT]],
  muster_job_get: ['int', [P, P, 'size_t', row, P]],
  muster_job_peek: ['int', [P, P, 'size_t', row, P]],
  muster_job_wait: ['int', [P, P, 'size_t', 'int64_t', row, P]],
  muster_job_list: ['int', [P, AT, row, P]],
  muster_lease_take_as: ['int', [P, 'str', AT, row, P]],
  muster_lease_end_many: ['int', [P, AT, 'size_t', AT]],
  muster_lease_extend_many: ['int', [P, P, 'size_t', AT, AT]],
  muster_failed_list: ['int', [P, AT, row, P]],
  muster_failed_replay: ['int', [P, AT, AT]],
  muster_failed_drop: ['int', [P, AT, AT]],
  muster_config_get: ['int', [P, 'str', 'str', row, P]],
  muster_config_set: ['int', [P, 'str', 'str', AT]],

  muster_async_new: ['int', [AT, AT]],
  muster_async_options_check: ['str', [AT]],
  muster_async_free: ['void', [P]],
  muster_async_error: ['str', [P]],
  muster_async_fd: ['int', [P]],
  muster_async_next: ['size_t', [P, AT, 'size_t']],
  muster_async_enqueue: ['int', [P, 'str', AT, 'size_t', P, P]],
  muster_async_put: ['int', [P, 'str', AT, P, P]],
  muster_async_take: ['int', [P, 'str', 'uint64_t', 'int64_t', 'int64_t', P, P]],
  muster_async_finish: ['int', [P, 'str', AT, P, P]],
  muster_async_give_back: ['int', [P, 'str', P, P]],
  muster_async_retry_as: ['int', [P, 'str', 'int64_t', 'str', 'str', P, P]],
  muster_async_fail: ['int', [P, 'str', 'str', 'str', P, P]],
  muster_async_extend: ['int', [P, 'str', AT, P, P]],
  muster_async_job: ['int', [P, 'str', P, P]],
  muster_async_length: ['int', [P, 'str', P, P]],

  muster_listener_new: ['int', [AT, AT]],
  muster_listener_options_check: ['str', [AT]],
  muster_listener_free: ['void', [P]],
  muster_listener_error: ['str', [P]],
  muster_listener_fd: ['int', [P]],
  muster_listener_next: ['size_t', [P, AT, 'size_t']],
  muster_listener_add: ['int', [P, 'str', 'int']],
  muster_listener_remove: ['int', [P, 'str']],

  muster_worker_new: ['int', [AT, AT]],
  muster_worker_options_check: ['str', [AT]],
  muster_worker_free: ['void', [P]],
  muster_worker_start: ['int', [P]],
  muster_worker_serve: ['int', [P, 'str', 'int', P, P]],
  muster_worker_leave: ['int', [P, 'str']],
  muster_worker_stop: ['int', [P, 'int']],
  muster_worker_id: ['str', [P]],
  muster_worker_error: ['str', [P]],
  muster_worker_fd: ['int', [P]],
  muster_worker_next: ['size_t', [P, AT, 'size_t']],
  muster_worker_enqueue: ['int', [P, 'str', AT, 'size_t', P, P]],
  muster_worker_put: ['int', [P, 'str', AT, P, P]],

  muster_process_end_many: ['int', [AT, 'size_t', 'int']],
  muster_process_job: [P, [P]],
  muster_process_stop_reason: ['int', [P]],
  muster_process_move_ms: ['int64_t', [P]],
  muster_process_stay: ['int', [P, 'int64_t']],
  muster_process_set_retry: ['int', [P, 'int64_t']],
  muster_process_set_failure: ['int', [P, 'str', 'str']],
  muster_process_set_result: ['int', [P, AT, 'size_t']],
  muster_process_set_next: ['int', [P, 'str', 'int64_t', AT, 'size_t']],
  muster_process_set_data: ['int', [P, AT, 'size_t']],
  muster_process_progress: ['int', [P, 'str']],
  muster_process_extend: ['int', [P, 'int64_t']],

  muster_job_state_name: ['str', ['int']],
  muster_overlap_name: ['str', ['int']],
};

// What C would cut off or take for another number without a word is refused here. Addresses and Buffers are ours.
const isWhole = [Number.isSafeInteger, 'a whole number'];
const CHECKS = {
  str: [(value) => value === null || (typeof value === 'string' && !value.includes('\0')), 'text without a NUL'],
  int: isWhole,
  int64_t: isWhole,
  uint64_t: isWhole,
};

function checked(native, name, args) {
  const checks = args.map((type, i) => CHECKS[type] && [i, ...CHECKS[type]]).filter(Boolean);
  if (checks.length === 0) return native;
  return (...values) => {
    for (const [i, holds, what] of checks) {
      if (!holds(values[i])) throw new TypeError(`${name}(): an argument must be ${what}, not ${String(values[i])}`);
    }
    return native(...values);
  };
}

// A library that lacks a call is told by name when the call is made, not when the module is loaded.
const call = {};
for (const [name, [result, args]] of Object.entries(CALLS)) {
  try {
    call[name.slice('muster_'.length)] = checked(library.func(name, result, args), name, args);
  } catch {
    const missing = () => { throw new Error(`muster: this library has no ${name}(): it is older than this package`); };
    call[name.slice('muster_'.length)] = missing;
  }
}

// Below 1.0 another minor version may be another interface, whose structs would be read wrongly without a word.
const minor = (version) => version.split('.').slice(0, 2).join('.');
const { version } = require('../package.json');
if (minor(call.version()) !== minor(version)) {
  throw new Error(`muster: the library is version ${call.version()}, this package ${version}: install one that fits`);
}

// The words of an error; also those of a library that is older than a number.
class MusterError extends Error {
  constructor(err, words) {
    super(words || call.err_text(err));
    this.name = 'MusterError';
    this.code = call.err_name(err);
    this.errno = err;
  }
}

const OK = 0;
const errors = {
  E_INVALID: -2,
  E_CONN: -4,
  E_BUSY: -7,
  E_NOT_FOUND: -11,
  E_EXISTS: -12,
  E_STATE: -13,
  E_LOST: -14,
  E_INTERRUPTED: -20,
};

module.exports = { call, MusterError, OK, errors, version: () => call.version() };
