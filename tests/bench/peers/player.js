// SPDX-License-Identifier: MIT
//
// What players in JavaScript share: orders, answers, the clock, and what a task is. player.h says what they are.
//
// A system is a function that takes the server's address and returns a function for each role:
//   produce  resolves to {fill(tasks), send(task)}
//   drain    takes handle() and resolves to drain(n, startClock)
//   listen   takes handle(), resolves when it listens
// handle(task) returns how many tasks have been handled in this drain.
'use strict';

const readline = require('node:readline');

const TASK_LEN = 100;
const DIGITS = 20;
const now = () => process.hrtime.bigint();
const makeTask = (number) => String(number).padStart(DIGITS, '0').padEnd(TASK_LEN, 'm');
const say = (...words) => process.stdout.write(words.join(' ') + '\n');

let count, sum, started;

function handle(task) {
  if (task.length !== TASK_LEN) throw new Error(`a task of ${task.length} bytes came out, of ${TASK_LEN} went in`);
  sum += Number(task.slice(0, DIGITS));
  return ++count;
}

function hear(task) {
  const at = now();
  say('got', at - BigInt(task.slice(0, DIGITS)));
}

const startClock = () => { started = now(); };

const roles = {
  async produce({ produce }) {
    const { fill, send } = await produce();
    return {
      async fill(n) {
        const tasks = Array.from({ length: n }, (_, i) => makeTask(i + 1));
        startClock();
        await fill(tasks);
        say('done', now() - started);
      },
      async send() {
        await send(makeTask(now()));
        say('sent');
      },
    };
  },
  async drain({ drain }) {
    const run = await drain(handle);
    return {
      async drain(n) {
        count = sum = 0;
        await run(n, startClock);
        say('done', now() - started, count, sum);
      },
    };
  },
  async listen({ listen }) {
    await listen(hear);
    say('ready');
    return {};
  },
};

exports.play = async (system) => {
  process.on('unhandledRejection', (error) => { throw error; });
  const [role, address] = process.argv.slice(2);
  const obey = await roles[role](system(address));
  for await (const order of readline.createInterface({ input: process.stdin })) {
    const [verb, n] = order.split(' ');
    await obey[verb](Number(n));
  }
  process.exit();
};
