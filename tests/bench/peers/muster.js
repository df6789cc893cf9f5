// SPDX-License-Identifier: MIT
//
// The player of muster's binding for Node: enqueueMany(), and a worker that runs as many handlers at once as BullMQ's and
// Bee-Queue's. With the argument `batch` the handler takes many tasks at once.
'use strict';

const { Client, Worker } = require('../../../bindings/node');
const { play } = require('./player');

const CONCURRENCY = 100;
const [HANDS, PREFETCH] = [1000, 4000];

play((path) => {
  const url = `unix://${path}`;
  const batch = process.argv[4] === 'batch';
  return {
    async produce() {
      const client = new Client({ url });
      return {
        fill: (tasks) => client.enqueueMany('fill', tasks),
        send: (task) => client.enqueue('send', task),
      };
    },

    // 'ended' comes when Redis has confirmed it.
    async drain(handle) {
      return async (n, startClock) => {
        const worker = new Worker({ url, hands: batch ? HANDS : CONCURRENCY, prefetch: batch ? PREFETCH : CONCURRENCY });
        await worker.start();
        let left = n;
        const done = new Promise((resolve) => worker.on('ended', () => --left === 0 && resolve()));
        startClock();
        if (batch) worker.serveBatch('fill', (all) => { for (const { task } of all) handle(`${task}`); });
        else worker.serve('fill', async ({ task }) => { handle(`${task}`); });
        await done;
        setImmediate(() => worker.stop());
      };
    },

    async listen(handle) {
      const worker = new Worker({ url });
      await worker.start();
      worker.serve('send', ({ task }) => { handle(`${task}`); });
    },
  };
});
