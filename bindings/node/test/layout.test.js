// SPDX-License-Identifier: MIT
//
// What this package knows of the library is what the headers say: the layout of each struct, by a C program that prints
// it; errors, events, states by their numbers; each call is there.
'use strict';

const test = require('node:test');
const assert = require('node:assert');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { STRUCTS, NAMES } = require('../lib/layout');
const { call, errors } = require('../lib/native');
const { EVENTS } = require('../lib/worker');
const { KINDS } = require('../lib/listener');

const include = process.env.MUSTER_INCLUDE || path.join(__dirname, '../../../include');
const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

// compiled BODY: what a C program prints whose main() this is
function compiled(body) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'muster-layout.'));
  try {
    const program = path.join(dir, 'program');
    const headers = fs.readdirSync(path.join(include, 'muster')).filter((name) => name.endsWith('.h'));
    const source = [...headers.map((name) => `#include <muster/${name}>`), '#include <stdio.h>', '#include <stddef.h>',
      'int main(void) {', ...body, '}'].join('\n');
    fs.writeFileSync(`${program}.c`, source);
    execFileSync(process.env.CC || 'cc', ['-std=c11', '-I', include, '-o', program, `${program}.c`]);
    return execFileSync(program, { encoding: 'utf8' }).trim().split('\n');
  } finally {
    fs.rmSync(dir, { recursive: true });
  }
}

const secondName = ({ kind, count }) => (kind === 'blob' || kind === 'strs' || kind === 'i64s' || count) && count;

test('each struct is as the compiler lays it out, to its last field', () => {
  const wanted = [];
  const body = [];
  for (const [name, layout] of Object.entries(STRUCTS)) {
    body.push(`printf("${name} %zu\\n", sizeof(struct ${name}));`);
    wanted.push(`${name} ${layout.sizeof}`);
    for (const field of layout.fields) {
      for (const [member, at] of [[field.member, field.at], [secondName(field), field.at + 8]]) {
        if (!member) continue;
        body.push(`printf("${name}.${member} %zu\\n", offsetof(struct ${name}, ${member}));`);
        wanted.push(`${name}.${member} ${at}`);
      }
    }
  }
  assert.deepStrictEqual(compiled(body), wanted);
});

test('a field has the size that its kind says', () => {
  const sizes = { int: 4, flag: 4, name: 4, i64: 8, u64: 8, str: 8, size: 8, ptr: 8 };
  const fields = Object.entries(STRUCTS).flatMap(([name, { fields: all }]) => all.filter(({ kind }) => kind in sizes)
    .map((field) => [name, field]));
  const printed = compiled(fields.map(([name, { member }]) =>
    `printf("${name}.${member} %zu\\n", sizeof(((struct ${name} *)0)->${member}));`));
  assert.deepStrictEqual(printed, fields.map(([name, { member, kind }]) => `${name}.${member} ${sizes[kind]}`));
});

test('errors, events, kinds and names are the numbers of the headers', () => {
  const wanted = [];
  const body = [];
  const check = (macro, number) => {
    body.push(`printf("${macro} %d\\n", (int)${macro});`);
    wanted.push(`${macro} ${number}`);
  };
  Object.entries(errors).forEach(([name, number]) => check(`MUSTER_${name}`, number));
  EVENTS.forEach((name, i) => check(`MUSTER_EVENT_${snake(name).toUpperCase()}`, i));
  Object.entries(KINDS).forEach(([name, bit]) => check(`MUSTER_LISTEN_${name.toUpperCase()}`, bit));
  NAMES.state.forEach((name, i) => check(`MUSTER_JOB_${name.toUpperCase()}`, i));
  NAMES.overlap.forEach((name, i) => check(`MUSTER_OVERLAP_${name.toUpperCase() || 'NONE'}`, i));
  NAMES.how.forEach((name, i) => check(`MUSTER_JOB_END_${name.toUpperCase()}`, i));
  NAMES.outcome.forEach((name, i) => check(`MUSTER_${snake(name).toUpperCase()}`, i));
  NAMES.onDoubt.forEach((name, i) => check(`MUSTER_DOUBT_${name.toUpperCase()}`, i));
  ['GO_ON', 'STOP_CANCELLED', 'STOP_LOST', 'STOP_LIMIT', 'STOP_DRAIN', 'STOP_MOVE'].forEach((name, i) =>
    check(`MUSTER_${name}`, i));
  ['PROCESS', 'EVENT', 'ANSWER'].forEach((name, i) => check(`MUSTER_ITEM_${name}`, i + 1));
  ['READY', 'GAP', 'DONE', 'CANCELLED', 'DELETED', 'JOB'].forEach((name, i) => check(`MUSTER_HEARD_${name}`, i + 1));
  check('MUSTER_ZERO', -1000000007);
  assert.deepStrictEqual(compiled(body), wanted);
});

test('no event of the library is unknown here', () => {
  const header = fs.readFileSync(path.join(include, 'muster/worker.h'), 'utf8');
  const list = header.match(/enum muster_event_type \{(.*?)\n\};/s)[1];
  assert.strictEqual(list.match(/^ {4}MUSTER_EVENT_/gm).length, EVENTS.length);
});

test('names are those that the library gives', () => {
  NAMES.state.forEach((name, i) => assert.strictEqual(call.job_state_name(i), name));
  NAMES.overlap.slice(1).forEach((name, i) => assert.strictEqual(call.overlap_name(i + 1), name));
});

test('the library has each call that this package makes', () => {
  assert.deepStrictEqual(Object.keys(call).filter((name) => call[name].name === 'missing'), []);
});

test('a struct is written as it is read', () => {
  const { addressOf } = require('../lib/memory');
  const spec = STRUCTS.muster_job_spec;
  const keep = [];
  const given = { id: 'a', data: Buffer.from([0, 1, 255]), priority: -3, retries: 0, delayMs: 2 ** 40, tags: ['x', 'ü'],
    overlap: 'skip', track: true };
  const read = spec.read(addressOf(spec.write(given, keep, { zeros: true })));
  assert.deepStrictEqual(Object.fromEntries(Object.keys(given).map((name) => [name, read[name]])),
    { ...given, retries: -1000000007 });
  assert.strictEqual(read.key, null);
});

test('an option that there is not, or of another type, is refused by name', () => {
  const write = (values) => () => STRUCTS.muster_job_spec.write(values, []);
  assert.throws(write({ retrys: 1 }), /no option 'retrys'/);
  assert.throws(write({ size: 1 }), /no option 'size'/);
  assert.throws(write({ retries: '1' }), /'retries' must be a whole number/);
  assert.throws(write({ delayMs: 0.5 }), /'delayMs' must be a whole number/);
  assert.throws(write({ id: 'a\0b' }), /'id' must not hold a NUL/);
  assert.throws(write({ id: 7 }), /'id' must be a string/);
  assert.throws(write({ data: {} }), /'data' must be a string, a Buffer/);
  assert.throws(write({ overlap: 'both' }), /'overlap' is one of allow, skip, queue; not 'both'/);
});
