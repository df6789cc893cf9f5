// SPDX-License-Identifier: MIT
//
// Bee-Queue's player: saveAll, many jobs at once, and of its settings those that make it do the least.
'use strict';

const Queue = require('bee-queue');
const { play } = require('./player');

const BULK = 1000;
const CONCURRENCY = 100;

play((path) => {
  const lean = { redis: { path }, getEvents: false, sendEvents: false, storeJobs: false, removeOnSuccess: true };
  const open = (name, isWorker) => new Queue(name, { ...lean, isWorker }).ready();
  return {
    async produce() {
      const [many, single] = [await open('fill', false), await open('send', false)];
      return {
        async fill(tasks) {
          const jobs = tasks.map((task) => many.createJob(task));
          for (let i = 0; i < jobs.length; i += BULK) {
            const failed = await many.saveAll(jobs.slice(i, i + BULK));
            if (failed.size > 0) throw failed.values().next().value;
          }
        },
        send: (task) => single.createJob(task).save(),
      };
    },

    // 'succeeded' comes when Redis has confirmed it.
    async drain(handle) {
      return async (n, startClock) => {
        const queue = await open('fill', true);
        let left = n;
        const done = new Promise((resolve) => queue.on('succeeded', () => --left === 0 && resolve()));
        startClock();
        queue.process(CONCURRENCY, async (job) => { handle(job.data); });
        await done;
        setImmediate(() => queue.close());
      };
    },

    async listen(handle) {
      (await open('send', true)).process(async (job) => { handle(job.data); });
    },
  };
});
