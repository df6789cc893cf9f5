// SPDX-License-Identifier: MIT
//
// A program in TypeScript that uses every class; it is compiled, and never run.
import muster, { Client, Worker, Listener, MusterError, Process } from 'muster';
async function all(): Promise<void> {
  const client: Client = new muster.Client({ url: 'redis://h', timeoutMs: 1, maxInFlight: 2 });
  const waiting: number = await client.enqueue('q', new Uint8Array(3));
  const [first] = await client.take('q', { n: 2, leaseMs: 1, waitMs: 0 });
  await client.finish(first.id, Buffer.from('x'), { next: 'q', after: ['a'] });
  await client.retry(first.id, 5, { message: 'm' });
  const told: (MusterError | null)[] = await client.endMany([{ process: first.id, outcome: 'retry', group: 'g' },
    { process: first.id, outcome: 'finish', result: 'x' }]);
  await client.extendMany([first.id], { leaseMs: 5 });
  // @ts-expect-error: a process that is given back has no result
  await client.endMany([{ process: first.id, outcome: 'giveBack', result: told[0]?.code }]);
  const worker = new Worker({ hands: 3, onLimit: 'retry' });
  worker.on('down', ({ error }) => console.log(error?.code));
  worker.on('stopped', ({ error }) => console.log(error));
  worker.on('failed', (processes, error) => console.log(processes[0].id, error));
  worker.serve('q', async (process: Process) => { process.signal.addEventListener('abort', () => {}); return 'x'; });
  worker.serveBatch('q', async (processes) => { await processes[0].retry(5, { group: 'g' }); }, { max: 5 });
  for await (const event of new Listener().add(null, ['jobs'])) console.log(event.job?.what, waiting);
  // @ts-expect-error: no such option
  new Worker({ hand: 3 });
  // @ts-expect-error: no such event
  worker.on('downs', () => {});
  if (new Error() instanceof MusterError) await worker.stop({ drainMs: 5 });
}
void all;
