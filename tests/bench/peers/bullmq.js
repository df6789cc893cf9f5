// SPDX-License-Identifier: MIT
//
// BullMQ's player: addBulk, and a worker that runs many jobs at once, as its documentation advises for throughput. A
// finished job is removed, which costs less than keeping it.
'use strict';

const { Queue, Worker } = require('bullmq');
const { play } = require('./player');

const BULK = 1000;
const CONCURRENCY = 100;
const options = { removeOnComplete: true };

play((path) => {
  const connection = { path, maxRetriesPerRequest: null };
  return {
    async produce() {
      const [many, single] = [new Queue('fill', { connection }), new Queue('send', { connection })];
      await Promise.all([many.waitUntilReady(), single.waitUntilReady()]);
      return {
        async fill(tasks) {
          const jobs = tasks.map((data) => ({ name: 'task', data, opts: options }));
          for (let i = 0; i < jobs.length; i += BULK) await many.addBulk(jobs.slice(i, i + BULK));
        },
        send: (task) => single.add('task', task, options),
      };
    },

    // 'completed' comes when Redis has confirmed it.
    async drain(handle) {
      return async (n, startClock) => {
        const worker = new Worker('fill', async (job) => { handle(job.data); },
          { connection, concurrency: CONCURRENCY, autorun: false });
        await worker.waitUntilReady();
        let left = n;
        const done = new Promise((resolve) => worker.on('completed', () => --left === 0 && resolve()));
        startClock();
        worker.run();
        await done;
        setImmediate(() => worker.close());
      };
    },

    async listen(handle) {
      await new Worker('send', async (job) => { handle(job.data); }, { connection }).waitUntilReady();
    },
  };
});
