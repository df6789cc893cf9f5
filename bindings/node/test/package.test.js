// SPDX-License-Identifier: MIT
//
// The package as a program meets it: by require and by import, its types, and the programs of its README.
'use strict';

const test = require('node:test');
const assert = require('node:assert');
const { execFileSync, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const muster = require('..');
const { Process } = require('../lib/process');
const { Redis, until, start } = require('./support');

const here = path.join(__dirname, '..');
const installed = process.env.NODE_PATH || path.join(here, 'node_modules');
const readme = fs.readFileSync(path.join(here, 'README.md'), 'utf8');
const types = fs.readFileSync(path.join(here, 'index.d.ts'), 'utf8');

// A folder with the package in it, as npm would have put it there.
let dir;
test.before(() => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'muster-package.'));
  fs.mkdirSync(path.join(dir, 'node_modules'));
  fs.symlinkSync(here, path.join(dir, 'node_modules/muster'));
  for (const name of ['koffi', '@types', 'undici-types', 'typescript']) {
    fs.symlinkSync(path.join(installed, name), path.join(dir, 'node_modules', name));
  }
});
test.after(() => fs.rmSync(dir, { recursive: true }));

const put = (name, text) => {
  fs.writeFileSync(path.join(dir, name), text);
  return path.join(dir, name);
};
const blocks = [...readme.matchAll(/^```js\n(.*?)^```$/gms)].map(([, text]) => text);

test('it is there by require and by import', () => {
  const file = put('both.mjs', `import muster, { Client } from 'muster';
    import { createRequire } from 'node:module';
    console.log(Client === muster.Client && createRequire(import.meta.url)('muster').Client === Client, muster.version());`);
  assert.strictEqual(execFileSync(process.execPath, [file], { encoding: 'utf8' }), `true ${muster.version()}\n`);
});

test('a library that is not there is told with what to do', () => {
  const env = { ...process.env, MUSTER_LIBRARY: '/nowhere/libmuster.so' };
  const { status, stderr } = spawnSync(process.execPath, ['-e', `require(${JSON.stringify(here)})`], { env, encoding: 'utf8' });
  assert.strictEqual(status, 1);
  assert.match(stderr, /muster: cannot load \/nowhere\/libmuster\.so .*; install libmuster, or name it in MUSTER_LIBRARY/);
});

test('it has the version of the library', () => {
  const { version } = require('../package.json');
  assert.strictEqual(version, muster.version());
});

test('the types are those of what is there, no more and no less', () => {
  assert.deepStrictEqual([...types.matchAll(/^export (?:class|function) (\w+)/gm)].map(([, name]) => name).sort(),
    [...Object.keys(muster), 'Process'].sort());
  for (const [name, made] of Object.entries({ ...muster, Process }).filter(([key]) => /^[A-Z]/.test(key))) {
    const body = types.match(new RegExp(`^export class ${name} .*?^}`, 'ms'))[0];
    const declared = [...body.matchAll(/^ {2}(\w+)(?:\(|<)/gm)].map(([, key]) => key);
    const own = Object.getOwnPropertyNames(made.prototype).filter((key) => typeof
      Object.getOwnPropertyDescriptor(made.prototype, key).value === 'function');
    const inside = name === 'Process' ? /^(hear|stop$|failBy|takePointer)/ : name === 'Worker' ? /^endLater$/ : /^$/;
    assert.deepStrictEqual([...new Set(declared)].filter((key) => key !== 'on' && key !== 'constructor').sort(),
      own.filter((key) => key !== 'constructor' && !inside.test(key)).sort(), name);
  }
});

test('a program in TypeScript is compiled with them', () => {
  const file = put('use.ts', fs.readFileSync(path.join(__dirname, 'use.ts')));
  const argv = ['--noEmit', '--strict', '--target', 'es2022', '--module', 'nodenext', '--preserveSymlinks', file];
  const { status, stdout } = spawnSync(process.execPath, [path.join(dir, 'node_modules/typescript/bin/tsc'), ...argv],
    { cwd: dir, encoding: 'utf8' });
  assert.strictEqual(stdout, '');
  assert.strictEqual(status, 0);
});

test("the README's two programs run, byte for byte", async () => {
  const [producer, worker] = blocks.filter((text) => /^const \{ (Client|Worker) \} = require/.test(text));
  const redis = await Redis.start();
  const env = { ...process.env, MUSTER_URL: redis.url };
  const works = start([process.execPath, put('worker.cjs', worker)], { env });
  const produces = start([process.execPath, put('producer.cjs', producer)], { env });
  assert.deepStrictEqual(await produces.ended, { code: 0, signal: null });
  await until(() => works.said.includes('mail to ann\n'), 'the worker has it');
  works.kill('SIGTERM');
  assert.deepStrictEqual(await works.ended, { code: 0, signal: null });
  assert.match(produces.said, /^[01] wait\n$/);
  await redis.end();
});

test("all code of the README is code", () => {
  assert.ok(blocks.length >= 7, `${blocks.length}`);
  blocks.forEach((text, i) => {
    const file = put(`block${i}.mjs`, text.replace(/^const (\{.*\}) = require\('muster'\);$/m, "import $1 from 'muster';"));
    const { status, stderr } = spawnSync(process.execPath, ['--check', file], { encoding: 'utf8' });
    assert.strictEqual(status, 0, stderr);
  });
});
