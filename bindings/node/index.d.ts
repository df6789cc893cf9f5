// SPDX-License-Identifier: MIT
//
// The binding of libmuster for Node. The headers of the library say what each call does to the last detail; here is what
// is particular to Node. Times are in milliseconds, points of time Unix times by Redis' clock. A promise is rejected
// with a MusterError if the library refuses, and with a TypeError if an argument cannot be what it should.
/// <reference types="node" />

import { EventEmitter } from 'node:events';

/** What can be a task, data or a result: a string counts as its UTF-8 bytes. */
export type Bytes = string | NodeJS.ArrayBufferView;

/** What the library refuses: its words, its name ('E_LOST') and its number (-14). error.h explains each. */
export class MusterError extends Error {
  readonly code: string;
  readonly errno: number;
}

/** The version of the library that was loaded. */
export function version(): string;

/** Where Redis is, and who asks: struct muster_client_options. */
export interface ConnectionOptions {
  /** redis://, rediss://, unix://, redis+cluster://, redis+sentinel://; by default MUSTER_URL, else 127.0.0.1:6379. */
  url?: string;
  /** By default MUSTER_PREFIX, else 'muster'. */
  prefix?: string;
  user?: string;
  password?: string;
  tlsCa?: string;
  tlsCert?: string;
  tlsKey?: string;
  tlsServerName?: string;
  tlsInsecure?: boolean;
  sentinelUser?: string;
  sentinelPassword?: string;
  replicas?: number;
  replicasMs?: number;
  fsync?: boolean;
}

export interface ClientOptions extends ConnectionOptions {
  timeoutMs?: number;
  maxTaskLen?: number;
  /** How many calls of the asynchronous client may be in flight (100 000); more are refused, E_BUSY. */
  maxInFlight?: number;
  /** And how many bytes of theirs (256 MiB). */
  maxBytes?: number;
}

export interface Backoff {
  delayMs?: number;
  maxMs?: number;
  exponential?: boolean;
  jitterPercent?: number;
}

/** struct muster_job_spec. What is left out has its default, or with `replace` stays as it is; 0 is 0. */
export interface JobOptions {
  id?: string;
  priority?: number;
  retries?: number;
  track?: boolean;
  replace?: boolean;
  backlog?: number;
  delayMs?: number;
  limitMs?: number;
  everyMs?: number;
  offsetMs?: number;
  tags?: string[];
  after?: string[];
  backoff?: Backoff;
  batch?: string;
  atMs?: number;
  cron?: string;
  zone?: string;
  fromMs?: number;
  untilMs?: number;
  count?: number;
  overlap?: Overlap;
  mayBeMissing?: boolean;
  key?: string;
  afterEnd?: string[];
  afterFailure?: string[];
}

export type JobState = 'scheduled' | 'depends' | 'waiting' | 'running' | 'failed' | 'complete' | 'recurring' | 'held';
export type Overlap = 'allow' | 'skip' | 'queue';

/** A job's record, struct muster_job. A text that there is not is ''. */
export interface Job {
  id: string;
  queue: string;
  state: JobState;
  data: Buffer;
  priority: number;
  retries: number;
  retried: number;
  crashes: number;
  tracked: boolean;
  cancelled: boolean;
  backlog: number;
  putAtMs: number;
  sinceMs: number;
  dueAtMs: number;
  limitMs: number;
  everyMs: number;
  backoff: Required<Backoff>;
  made: number;
  worker: string;
  process: string;
  group: string;
  message: Buffer | null;
  result: Buffer | null;
  tags: string[];
  after: string[];
  before: string[];
  history: { atMs: number; what: string; text: string }[];
  unique: boolean;
  batch: string;
  cron: string;
  zone: string;
  ticks: number[];
  fromMs: number;
  untilMs: number;
  count: number;
  overlap: Overlap | '';
  queued: boolean;
  madeBy: string;
  key: string;
  afterEnd: string[];
  afterFailure: string[];
  parents: string[];
  blockedBy: string[];
  /** Running: the name under which its lease was taken. */
  holder: string;
  /** How many bytes `data` and `result` have; a list has at most 64 KiB of each. */
  wholeLen: number;
  wholeResultLen: number;
  /** How many jobs wait for it; `before` has at most 300 of them. */
  wholeBefore: number;
}

/** A process in a list, or one that was taken under a lease. */
export interface ProcessInfo {
  id: string;
  worker: string;
  queue: string;
  job: string | null;
  /** What was taken under a lease: the job's record. */
  record: Job | null;
  token: number;
  startedAtMs: number;
  endsAtMs: number;
  cancelled: boolean;
  progress: string;
  /** processes() gives at most 64 KiB of it. */
  task: Buffer;
  /** The name under which its lease was taken; null: none, or it is a worker's. */
  holder: string | null;
  /** How many bytes the task has. */
  wholeLen: number;
}

/** One end of endMany(): struct muster_lease_end. */
export type LeaseEnd = { process: string } & (
  | { outcome: 'finish'; result?: Bytes | null; next?: string; delayMs?: number; after?: string[] }
  | { outcome: 'giveBack' }
  | { outcome: 'retry'; delayMs?: number; group?: string | null; message?: string | null }
  | { outcome: 'fail'; group?: string | null; message?: string | null }
);

export interface QueueInfo {
  name: string;
  waiting: number;
  running: number;
  delayed: number;
  depends: number;
  recurring: number;
  complete: number;
  failed: number;
  cancelled: number;
  idle: number;
  paused: boolean;
  failedBytes: number;
  failedDropped: number;
  in: number;
  out: number;
  oldestMs: number;
  oldestErrorMs: number;
  shareEven: boolean;
  hands: number;
  moved: number;
  held: number;
  /** Tasks and jobs whose lease lapsed. */
  stalled: number;
  /** Tasks and jobs that a worker held when it died. */
  died: number;
}

export interface WorkerInfo {
  id: string;
  epoch: number;
  host: string;
  version: string;
  pid: number;
  alive: boolean;
  permanent: boolean;
  heardMs: number;
  ttlMs: number;
  startedAtMs: number;
  hands: number;
  held: number;
  queues: string[];
  shares: { queue: string; hands: number; holds: number; least: number; most: number }[];
}

export interface Failure {
  entry: string;
  queue: string;
  process: string;
  worker: string;
  group: string;
  message: Buffer | null;
  failedAtMs: number;
  job: string | null;
  /** At most 64 KiB of it. */
  task: Buffer;
  /** How many bytes the task has. */
  wholeLen: number;
  /** The name under which the lease of that process was taken; null: none, or it was a worker's. */
  holder: string | null;
}

export interface FailedFilter {
  queue: string;
  group?: string;
  entries?: string[];
  offset?: number;
  n?: number;
}

export interface JobEnded {
  id: string;
  how: 'complete' | 'failed' | 'cancelled' | 'gone';
  /** Its record, with its result or why it failed. */
  job: Job | null;
}

export interface JobFilter {
  queue?: string;
  tag?: string;
  tags?: string[];
  anyTag?: boolean;
  group?: string;
  state?: JobState;
  tracked?: boolean;
  offset?: number;
  n?: number;
}

export interface Setting {
  name: string;
  what: string;
  from: 'default' | 'namespace' | 'queue';
  value: number;
  fallback: number;
  least: number;
  most: number;
}

/**
 * A client. Calls of the first group go over one connection, any number at once: thousands may be in flight. All others
 * go through a blocking client on a thread of its own, one after the other. Connections are made when they are needed.
 * A client keeps the program running only while a call waits for its answer.
 */
export class Client {
  constructor(options?: ClientOptions);

  // ---- any number at once

  /** Resolves to how many tasks and jobs then wait in the queue; 0 if a worker got it. */
  enqueue(queue: string, task: Bytes): Promise<number>;
  length(queue: string): Promise<number>;
  /**
   * Takes up to `n` (1) under a lease of `leaseMs` (30 000), of many small tasks 256 at once: there may be more. Resolves
   * to [] if there is nothing. With `waitMs` it waits for the first one; any number of takes may wait. With `holder` the leases have that name, which failWorker() ends;
   * each such call has a thread and a connection while it lasts.
   */
  take(queue: string, options?: { n?: number; leaseMs?: number; waitMs?: number; holder?: string }):
    Promise<ProcessInfo[]>;
  finish(process: string, result?: Bytes | null,
    options?: { next?: string; delayMs?: number; after?: string[] }): Promise<void>;
  giveBack(process: string): Promise<void>;
  /** Without a delay a task is retried at once, a job after its own backoff. Only a job's record keeps why. */
  retry(process: string, delayMs?: number, why?: { group?: string | null; message?: string | null }): Promise<void>;
  fail(process: string, why?: { group?: string | null; message?: string | null }): Promise<void>;
  extend(process: string, options: { leaseMs?: number; progress?: string; data?: Bytes }): Promise<void>;
  /** Resolves to the job's id. One with a schedule (`cron`) goes the way of the calls below. */
  put(queue: string, data: Bytes, options?: JobOptions): Promise<string>;
  /**
   * The job's record, without history, what it waits for, what waits for it, `blockedBy`, `holder` and `cancelled`: these
   * are empty, whatever there is; jobs() has them. Null if there is no such job.
   */
  job(id: string): Promise<Job | null>;

  // ---- one after the other

  /** All in their order, in one call; under a `requestId` it may be repeated, and adds nothing twice. */
  enqueueMany(queue: string, tasks: Bytes[], options?: { atFront?: boolean; requestId?: string }): Promise<number>;
  /** `added` is false if an equal one is alive, whose id it is. */
  enqueueUnique(queue: string, task: Bytes): Promise<{ id: string; added: boolean }>;
  /**
   * Ends many processes, of any queues, each in its own way: 200 go in one call of Redis. Resolves to null for each that
   * has ended so, and to the error of each that has not, in the place of its end. None depends on another. After E_CONN,
   * E_TIMEOUT and E_INTERRUPTED this one may or may not have ended, and so may all behind it, which have the same error.
   */
  endMany(ends: LeaseEnd[]): Promise<(MusterError | null)[]>;
  /** Extends many, with the same options for each. Resolves as endMany(). An option that is not allowed is the error of all. */
  extendMany(processes: string[], options: { leaseMs?: number; progress?: string; data?: Bytes }):
    Promise<(MusterError | null)[]>;
  /** The next out is the first. `data` has at most 64 KiB; `wholeLen` says how many bytes there are. */
  peek(queue: string, options?: { from?: number; n?: number }):
    Promise<{ position: number; data: Buffer; job: string | null; wholeLen: number }[]>;
  queues(): Promise<QueueInfo[]>;
  pause(queue: string): Promise<void>;
  resume(queue: string): Promise<void>;
  deleteQueue(queue: string): Promise<{ removed: number; running: number }>;
  workers(): Promise<WorkerInfo[]>;
  /** A worker's id, or the name of a holder of leases. Resolves to how many tasks went back. */
  failWorker(id: string): Promise<number>;
  /** Resolves to how many dead workers were swept. */
  sweep(): Promise<number>;
  processes(filter?: { queue?: string; worker?: string; task?: Bytes; holder?: string }): Promise<ProcessInfo[]>;
  cancel(queue: string, task: Bytes): Promise<{ removed: number; running: number }>;
  cancelProcess(process: string): Promise<void>;
  cancelJobs(ids: string[], options?: { dependents?: boolean }): Promise<{ removed: number; running: number }>;
  /** Whole records, of those that exist. */
  jobs(ids: string[]): Promise<Job[]>;
  /** The same for jobs that may be large: at most 64 KiB of `data` and `result`; `wholeLen` and `wholeResultLen` say how
   * many bytes there are. */
  peekJobs(ids: string[]): Promise<Job[]>;
  /**
   * Waits until each of these jobs has ended, on a thread and with a connection of its own; without `timeoutMs` for ever.
   * When the time is over it is rejected with E_TIMEOUT, whose `ended` has those that have ended.
   */
  wait(ids: string[], options?: { timeoutMs?: number }): Promise<JobEnded[]>;
  listJobs(filter: JobFilter): Promise<Job[]>;
  failures(filter: FailedFilter): Promise<Failure[]>;
  replay(filter: FailedFilter): Promise<number>;
  drop(filter: FailedFilter): Promise<number>;
  /** Those of a queue, or with null of the namespace. */
  settings(queue?: string | null): Promise<Setting[]>;
  /** null as the value: unset it. */
  set(queue: string | null, name: string, value: number | null): Promise<void>;
  /** What time it is by Redis' clock. */
  time(): Promise<number>;

  /** Waits for what was asked for, and closes the connections. Takes that wait are ended at once, E_INTERRUPTED. */
  close(): Promise<void>;
}

export type StopReason = 'cancelled' | 'lost' | 'limit' | 'drain' | 'move';

/** A task or job in this worker's hands, until it is ended; an end after that throws E_STATE. */
export class Process {
  private constructor();
  /** `<worker>:<token>:<queue>` */
  readonly id: string;
  readonly queue: string;
  /** Rises with every take: show it to whatever the handler writes to. */
  readonly token: number;
  /** The job's id; null: a task. */
  readonly job: string | null;
  /** The task's bytes, or the job's data. */
  readonly task: Buffer;
  readonly ended: boolean;
  /** Aborted when the handler is to stop: `reason.code` is the stop reason. Not for 'move'. */
  readonly signal: AbortSignal;
  readonly stopReason: StopReason | null;
  /** After a stop by 'move': how long it has to give back; -1: it was not asked to. */
  readonly moveMs: number;

  /** The job's record as it was taken; null for a task. */
  record(): Job | null;
  /** A note for the list of processes. */
  progress(note: string): void;
  /** The time limit ends so long from now; 0: it has none any more. */
  extend(limitMs: number): void;
  /** It is not asked to move for so long; 0: for the default time. */
  stay(forMs?: number): void;
  /** New data of a job, for its next taker. */
  setData(data: Bytes): void;

  // Ends. Each promise resolves when Redis has counted the end, and is rejected if it does not count (E_LOST). Nobody has
  // to wait for it.
  finish(result?: Bytes | null, options?: { next?: string; delayMs?: number; after?: string[] }): Promise<void>;
  giveBack(): Promise<void>;
  retry(delayMs?: number, why?: { group?: string | null; message?: string | null }): Promise<void>;
  fail(why?: { group?: string | null; message?: string | null }): Promise<void>;
}

/** struct muster_worker_options. */
export interface WorkerOptions extends ConnectionOptions {
  id?: string;
  ttlMs?: number;
  hands?: number;
  prefetch?: number;
  permanent?: boolean;
  resume?: boolean;
  drainMs?: number;
  burst?: boolean;
  inTurn?: boolean;
  maxTasks?: number;
  limitMs?: number;
  onLimit?: 'giveBack' | 'retry' | 'fail';
  onDoubt?: 'stop' | 'run';
}

export interface WorkerEvent {
  type: string;
  text: string;
  error: MusterError | null;
  /** Of an event about a process. */
  process: Process | null;
  id: string | null;
  queue: string | null;
  task: Buffer | null;
}

/** Each is explained in worker.h: 'nearLimit' is MUSTER_EVENT_NEAR_LIMIT. */
export type WorkerEventName = 'started' | 'doubt' | 'lost' | 'down' | 'up' | 'stop' | 'uncounted' | 'swept' | 'cancel'
  | 'deleted' | 'nearLimit' | 'left' | 'refused' | 'alone' | 'notResumed' | 'dropped' | 'risk' | 'cut' | 'ended'
  | 'leftOut';

/**
 * A worker. Its loop runs on a thread of the library, so a busy program does not keep it from its heartbeat. It keeps
 * the program running from its start until it has stopped.
 *
 * A warning that nobody listens to (as 'down' or 'uncounted') becomes a warning of the program (MusterWarning).
 */
export class Worker extends EventEmitter {
  constructor(options?: WorkerOptions);
  readonly id: string;

  /** Resolves when it is registered; rejected if it cannot be. serve() starts it, too. */
  start(): Promise<void>;
  /**
   * Calls the handler for each task, for as many at once as there are hands. When it is done, the process is finished,
   * and what it returned, text or bytes, is the result; if it throws, a task fails with that message, and a job is
   * retried by its own retries. Or it ends the process itself.
   */
  serve(queue: string, handler: (process: Process) => unknown, options?: { hands?: number }): void;
  /** Calls it with up to `max` (1000) at once, for large numbers. What it has not ended is finished when it is done. */
  serveBatch(queue: string, handler: (processes: Process[]) => unknown,
    options?: { hands?: number; max?: number }): void;
  /** Resolves when its tasks are back in the queue. */
  leave(queue: string): Promise<void>;
  /** Lets what runs end for up to `drainMs`, and resolves when it has left; rejected with the error that ended it. */
  stop(options?: { drainMs?: number }): Promise<void>;
  /** Over the worker's own connection, before the end of a process that ends afterwards. */
  enqueue(queue: string, task: Bytes): Promise<number>;
  put(queue: string, data: Bytes, options?: JobOptions): Promise<string>;
  ref(): this;
  unref(): this;

  on(name: WorkerEventName, listener: (event: WorkerEvent) => void): this;
  /** Its last event. */
  on(name: 'stopped', listener: (event: { type: 'stopped'; error: MusterError | null }) => void): this;
  /** A handler has thrown: these have failed, or are retried. */
  on(name: 'failed', listener: (processes: Process[], error: unknown) => void): this;
  /** It has ended by an error, and nobody waits for start() or stop(). */
  on(name: 'error', listener: (error: MusterError) => void): this;
}

export type ListenKind = 'done' | 'cancelled' | 'deleted' | 'jobs';

/** struct muster_heard: what it does not have is null. */
export interface Heard {
  /** 'ready': from now on everything is heard. 'gap': until the next 'ready' something may have been missed. */
  type: 'ready' | 'gap' | 'done' | 'cancelled' | 'deleted' | 'job';
  queue: string | null;
  process: string | null;
  worker: string | null;
  task: Buffer | null;
  result: Buffer | null;
  job: { what: string; id: string; queue: string; worker: string; text: string; atMs: number; tracked: boolean } | null;
  /** 'done': the name under which its lease was taken; null: none. */
  holder: string | null;
  /** 'gap': why. */
  error?: MusterError;
}

/** What happens in queues and to jobs: as events of its types, or by `for await`. It keeps the program running. */
export class Listener extends EventEmitter implements AsyncIterable<Heard> {
  constructor(options?: ClientOptions & { maxHeard?: number; maxBytes?: number });
  /** `queue` null: the jobs of all queues. By default all kinds. */
  add(queue: string | null, kinds?: ListenKind[]): this;
  remove(queue: string | null): this;
  close(): void;
  ref(): this;
  unref(): this;
  on(name: Heard['type'], listener: (event: Heard) => void): this;
  [Symbol.asyncIterator](): AsyncIterator<Heard>;
}
