// SPDX-License-Identifier: MIT
//
// The comparison: in each round each system in turn fills its queue, drains it, and hands single tasks to an idle
// worker; every other round in the opposite order. Figures are medians of the rounds. Each block checks that what went
// in came out, by number and by a sum.
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { Server, Player, endAll, sleep } = require('./child');
const { systems, versions } = require('./systems');

const SAMPLES = 200; // of latency, in a block
const REST_MS = 3; // between them, so that the worker is idle
const GOAL = 5; // times as fast
const AHEAD = 'Gearman'; // its worker asks for 500 jobs ahead
const AHEAD_GOAL = 2;
const QUICKER = 'beanstalkd'; // may have less latency than muster
// Jobs have what these have, too: a state, retries, priorities.
const JOB_QUEUES = ['BullMQ', 'Bee-Queue', 'Sidekiq'];
const JOBS_DRAIN_GOAL = 1.5;
const JOBS_PUT_GOAL = 3; // of BullMQ's addBulk

const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
};

async function open(system, dir) {
  const home = path.join(dir, system.name.replace(/\W/g, ''));
  fs.mkdirSync(home);
  const server = await Server.start(system.server, home);
  const play = (role) => new Player(system, role, server.address);
  const entrant = { ...system, server, producer: play('produce'), drainer: play('drain'), listener: play('listen') };
  await entrant.listener.hear('ready');
  return { ...entrant, rounds: [] };
}

// ---- one block

async function timeLatencies({ producer, listener }) {
  const samples = [];
  for (let i = 0; i <= SAMPLES; i++) {
    await sleep(REST_MS);
    const [[latency]] = await Promise.all([listener.hear('got'), producer.ask('send', 'sent')]);
    if (i > 0) samples.push(latency / 1e3); // the first one shows that it listens
  }
  samples.sort((a, b) => a - b);
  return { p50: samples[SAMPLES / 2], p99: samples[SAMPLES - 1 - SAMPLES / 100] };
}

async function play(entrant) {
  const { tasks: n, name, server, producer, drainer } = entrant;
  const before = server.cpu();
  const [fillNs] = await producer.ask(`fill ${n}`, 'done');
  const [drainNs, count, sum] = await drainer.ask(`drain ${n}`, 'done');
  const cpu = (server.cpu() - before) / 1e3 / n;
  if (count !== n || sum !== (n * (n + 1)) / 2) throw new Error(`${name}: not what went in came out: ${count} of ${n}`);
  entrant.rounds.push({ enqueue: n / fillNs * 1e9, drain: n / drainNs * 1e9, cpu, ...await timeLatencies(entrant) });
}

// ---- figures

function summarise(entrant, muster, version) {
  const of = (measure) => median(entrant.rounds.map((round) => round[measure]));
  return {
    name: entrant.name,
    version,
    tasks: entrant.tasks,
    enqueue: of('enqueue'),
    drain: of('drain'),
    p50_us: of('p50'),
    p99_us: of('p99'),
    server_cpu_us: of('cpu'),
    enqueue_ratio: median(entrant.rounds.map((round, i) => muster.rounds[i].enqueue / round.enqueue)),
    drain_ratio: median(entrant.rounds.map((round, i) => muster.rounds[i].drain / round.drain)),
    p50_ratio: median(entrant.rounds.map((round, i) => round.p50 / muster.rounds[i].p50)),
    p99_ratio: median(entrant.rounds.map((round, i) => round.p99 / muster.rounds[i].p99)),
  };
}

const thousands = (value) => String(Number(value.toPrecision(3))).replace(/\B(?=(\d{3})+$)/g, ' ');
const short = (value) => (value >= 100 ? thousands(value) : String(Number(value.toPrecision(2))));

// `other`'s rounds beside those of muster's jobs.
const jobsRatio = (jobs, other, measure) => median(jobs.rounds.map((round, i) => round[measure] / other.rounds[i][measure]));

function printJobs(entrants) {
  const jobs = entrants.find((e) => e.name === 'muster jobs');
  const say = (what, other, measure, goal) => {
    const ratio = jobsRatio(jobs, other, measure);
    const verdict = ratio < goal ? ': missed' : '';
    console.log(`${what} ${short(ratio)} times as fast as ${other.name}; the goal is >= ${goal}${verdict}`);
  };
  const peers = entrants.filter((e) => JOB_QUEUES.includes(e.name));
  const [fastest] = peers.sort((a, b) => jobsRatio(jobs, a, 'drain') - jobsRatio(jobs, b, 'drain'));
  const bull = peers.find((e) => e.name === 'BullMQ');
  if (fastest) say('muster drains jobs', fastest, 'drain', JOBS_DRAIN_GOAL);
  if (bull) say('muster puts jobs', bull, 'enqueue', JOBS_PUT_GOAL);
}

function printTable(rows, missing) {
  const line = (cells) => console.log(`| ${cells.join(' | ')} |`);
  line(['', 'enqueue, tasks/s', 'drain, tasks/s', 'muster drains', 'latency p50, µs', 'p99, µs', "of muster's", 'server CPU, µs/task']);
  line(['---', '---:', '---:', '---:', '---:', '---:', '---:', '---:']);
  for (const r of rows) {
    const isMuster = r.name === 'muster';
    line([r.name.replace(/,|$/, (rest) => ` ${r.version}${rest}`).trim(), thousands(r.enqueue), thousands(r.drain),
      isMuster ? '' : `${short(r.drain_ratio)}×`, thousands(r.p50_us), thousands(r.p99_us),
      isMuster ? '' : `${short(r.p50_ratio)}×, ${short(r.p99_ratio)}×`, short(r.server_cpu_us)]);
  }
  for (const system of missing) line([system.name, 'not installed', '', '', '', '', '', '']);
}

function printGoals(rows) {
  const peers = rows.filter((r) => !r.name.startsWith('muster'));
  if (peers.length === 0) return;
  const least = (list, measure) => list.reduce((a, b) => (b[measure] < a[measure] ? b : a));
  const say = (what, ratio, than, goal) => {
    console.log(`${what} ${short(ratio)} ${than}; the goal is >= ${goal}${ratio < goal ? ': missed' : ''}`);
  };
  const [ahead, others] = [peers.find((r) => r.name === AHEAD), peers.filter((r) => r.name !== AHEAD)];
  if (ahead) say('muster drains', ahead.drain_ratio, `times as fast as ${AHEAD}`, AHEAD_GOAL);
  if (others.length > 0) {
    const next = least(others, 'drain_ratio');
    say('muster drains', next.drain_ratio, `times as fast as ${next.name}`, GOAL);
  }
  const thrifty = least(peers, 'server_cpu_us');
  say('of the server\'s CPU,', thrifty.server_cpu_us / rows[0].server_cpu_us, `times as much goes into a task of ${thrifty.name}`, 1);
  const slower = peers.filter((r) => !r.name.startsWith(QUICKER));
  for (const [measure, words] of slower.length > 0 ? [['p50_ratio', 'median'], ['p99_ratio', '99th percentile']] : []) {
    const quickest = least(slower, measure);
    say(`a task's latency (${words}) is`, quickest[measure], `times muster's with ${quickest.name}`, 1);
  }
}

async function main() {
  const { values: { json, rounds, dir }, positionals } = parseArgs({
    allowPositionals: true,
    options: { json: { type: 'boolean' }, rounds: { type: 'string' }, dir: { type: 'string' } },
  });
  const known = versions();
  const isPicked = (s) => positionals.length === 0 || positionals.includes(s.name.toLowerCase().split(',')[0]);
  const picked = systems.filter((s) => !s.from || s.ours || isPicked(s));
  const isThere = (s) => !s.from || known.has(s.from);
  const entrants = [];
  for (const system of picked.filter(isThere)) entrants.push(await open(system, dir));
  for (let i = 0; i < Number(rounds); i++) {
    for (const entrant of i % 2 ? [...entrants].reverse() : entrants) await play(entrant);
  }
  const versionOf = ({ ours, from }) => (!ours && known.get(from)) || '';
  const rows = entrants.map((entrant) => summarise(entrant, entrants[0], versionOf(entrant)));
  if (json) rows.forEach((row) => console.log(JSON.stringify(row)));
  else {
    printTable(rows, picked.filter((s) => !isThere(s)));
    console.log();
    printGoals(rows);
    printJobs(entrants);
  }
}

let ending;
const end = (status) => { ending ??= endAll().then(() => process.exit(status)); };

process.once('SIGINT', () => end(130));
for (const signal of ['SIGTERM', 'SIGHUP']) process.once(signal, () => end(143));
main().then(() => end(0), (error) => {
  if (!ending) console.error(`compare: ${error.message}`);
  end(1);
});
