/* SPDX-License-Identifier: MIT
 *
 * One queue: its figures, its last hour, and in tabs what waits, runs, is delayed, has failed, its statistics, its
 * settings.
 */
import { deleteQueue, enqueue, may, pauseQueue, settingsDialog } from './actions.js';
import { get, list } from './api.js';
import { BarChart, History, chartGrid, fittingRange, mainCharts } from './charts.js';
import { h, renew, replace, setText } from './dom.js';
import { agoElement, bytes, now, num, perSecond, short, span } from './format.js';
import { changed, encOf, jobHref, queueHref, shown } from './names.js';
import { badge, button, empty, facts, field, heading, loading, showError, tabLinks } from './parts.js';
import { excerpt, payloadBlock, payloadOf } from './payload.js';
import { dialog } from './dialog.js';
import { Table, cursorPager } from './table.js';
import { failureList } from './view_failures.js';
import { jobColumns } from './view_jobs.js';
import { runningList } from './view_running.js';

const HISTORY_MS = 5000, COUNT = 50;

/* ---- waiting ---- */

function showTask(row, title) {
    const job = encOf(row, 'job');
    dialog(title || `Task at position ${num(row.position + 1)}`, () => h('div', { class: 'dialog-body stack' },
        job && h('p', {}, 'Job ', h('a', { href: jobHref(job) }, h('bdi', {}, shown(job)))),
        payloadBlock(payloadOf(row, 'task'), 'Task')), { kind: 'wide' });
}

const taskColumns = [
    { key: 'position', label: '#', num: true, get: (row) => row.position + 1 },
    { key: 'task', label: 'Task', phone: 'title', get: (row) => excerpt(payloadOf(row, 'task')),
        sig: (row) => encOf(row, 'job'),
        render: (row) => [h('button', { type: 'button', class: 'link mono clip', on: { click: () => showTask(row) } },
            excerpt(payloadOf(row, 'task'))), encOf(row, 'job') && h('a', { class: 'badge violet',
            href: jobHref(encOf(row, 'job')) }, 'job ', h('bdi', {}, shown(encOf(row, 'job'))))] },
    { key: 'size', label: 'Size', num: true, get: (row) => payloadOf(row, 'task')?.len,
        render: (row) => bytes(payloadOf(row, 'task')?.len) },
];

function waitingTab(view, enc) {
    const pages = [null];
    const where = h('div', {}), foot = h('div', {});
    const node = h('div', {}, where, loading());
    const table = new Table({ id: 'waiting', caption: 'What waits, the next one first', columns: taskColumns,
        fixed: true, rowKey: (row) => String(row.position), empty: () => empty('Nothing waits',
            'What is enqueued stands here in the order in which it is taken.',
                `muster enqueue ${shown(enc)} "a task"`) });
    async function load() {
        const cursor = pages[pages.length - 1];
        let answer;
        try {
            answer = await list(`queues/${enc}/tasks?cursor=${cursor ?? 0}&count=${COUNT}`, view.signal);
        } catch (error) {
            showError(view, where, error, load);
            return;
        }
        if (cursor !== pages[pages.length - 1])
            return; // another page is wanted by now
        if (answer.items.length === 0 && pages.length > 1) {
            pages.pop();
            load();
            return;
        }
        where.replaceChildren();
        if (!table.node.isConnected)
            replace(node, where, table.node, foot);
        table.setRows(answer.items);
        table.order();
        renew(foot, cursorPager({ pages, answer, load }));
    }
    view.every(HISTORY_MS, load);
    load();
    return node;
}

/* ---- delayed: jobs, and plain tasks that wait out the delay of a retry ---- */

const delayedColumns = [
    { key: 'due', label: 'Due', get: (row) => row.due_at_ms, render: (row) => agoElement(row.due_at_ms) },
    { key: 'task', label: 'Task', phone: 'title', get: (row) => excerpt(payloadOf(row, 'task')),
        render: (row) => h('button', { type: 'button', class: 'link mono clip',
            on: { click: () => showTask(row, 'Delayed task') } }, excerpt(payloadOf(row, 'task'))) },
    { key: 'size', label: 'Size', num: true, get: (row) => payloadOf(row, 'task')?.len,
        render: (row) => bytes(payloadOf(row, 'task')?.len) },
];

function delayedTab(view, enc) {
    const node = h('div', {}, loading());
    const table = new Table({ id: 'delayed', caption: 'Delayed jobs', columns: jobColumns({ queue: true }), fixed: true,
        rowKey: (row) => encOf(row, 'id'), empty: () => empty('No job is delayed',
            'Jobs that are scheduled, or wait for their next attempt, stand here.',
            `muster put ${shown(enc)} --delay 10m "a job"`) });
    const tasks = new Table({ id: 'delayed-tasks', caption: 'Delayed tasks, the one that is due first is the first',
        columns: delayedColumns, fixed: true, rowKey: (row) => String(row.position), empty: () => null });
    async function load() {
        try {
            const plain = await list(`queues/${enc}/delayed?count=${COUNT}`, view.signal);
            const answer = await list(`jobs?queue=${enc}&state=scheduled&count=${COUNT}`, view.signal);
            renew(node, plain.items.length > 0 && [h('h3', { class: 'pad' }, 'Tasks'), tasks.node],
                plain.next && h('p', { class: 'muted pad' }, `The first ${num(plain.items.length)} tasks`),
                (answer.items.length > 0 || plain.items.length === 0) && [
                    plain.items.length > 0 && h('h3', { class: 'pad' }, 'Jobs'), table.node],
                answer.next && h('p', { class: 'pad' }, h('a', {
                    href: `#/jobs?queue=${enc}&state=scheduled` }, 'All of them')));
            table.setRows(answer.items);
            table.order();
            tasks.setRows(plain.items);
            tasks.order();
        } catch (error) {
            showError(view, node, error, load);
        }
    }
    view.every(HISTORY_MS, load);
    load();
    return node;
}

/* ---- statistics ---- */

const OUTCOMES = [['put', 'Put', 'c1'], ['taken', 'Taken', 'c5'], ['completed', 'Completed', 'c2'],
    ['retried', 'Retried', 'c3'], ['failed', 'Failed', 'c4'], ['crashed', 'Crashed', 'c4'],
    ['cancelled', 'Cancelled', 'c6'], ['stalled', 'Stalled', 'c4'], ['died', 'Died', 'c4']];

/* The classes of two histograms, side by side: each doubles the one before. */
function classes(stats) {
    const ends = [...new Set([...(stats.wait_histogram || []), ...(stats.run_histogram || [])]
        .map((one) => one.below_ms))].sort((a, b) => a - b);
    if (!ends.length)
        return { labels: [], wait: [], run: [] };
    const all = [];
    for (let end = ends[0]; end <= ends[ends.length - 1]; end *= 2)
        all.push(end);
    const at = (rows) => all.map((end) => (rows || []).find((one) => one.below_ms === end)?.n || 0);
    return { labels: all.map((end) => `<${span(end)}`), wait: at(stats.wait_histogram), run: at(stats.run_histogram) };
}

function statsTab(view, enc) {
    const node = h('div', { class: 'stack pad' }), body = h('div', { class: 'stack' }, loading());
    const today = new Date(now()).toISOString().slice(0, 10);
    const input = h('input', { type: 'date', value: today, max: today, on: { change: () => load() } });
    const times = new BarChart({ title: 'How long jobs waited and ran', signal: view.signal,
        bars: [{ label: 'waited', colour: 'c1' }, { label: 'ran', colour: 'c2' }] });
    const ends = new BarChart({ title: 'What happened to jobs', bars: [{ label: 'jobs', colour: 'c1' }],
        signal: view.signal });
    async function load() {
        try {
            const answer = await get(`stats?queue=${enc}&day=${input.value || today}`, view.signal);
            const stats = answer.items ? answer.items[0] : answer;
            if (!stats || OUTCOMES.every(([key]) => !stats[key])) {
                replace(body, empty('No jobs on this day',
                    'Statistics count jobs by day, for 30 days; of plain tasks only ' +
                    'stalls and deaths.', `muster put ${shown(enc)} "a job"`));
                return;
            }
            replace(body, facts(OUTCOMES.map(([key, name]) => [name, num(stats[key])]).concat([
                ['Mean wait', stats.wait_n ? span(stats.wait_mean_ms) : null],
                ['Mean run', stats.run_n ? span(stats.run_mean_ms) : null]])),
            h('div', { class: 'charts inner' }, times.node, ends.node));
            const c = classes(stats);
            times.update(c.labels, [c.wait, c.run]);
            ends.update(OUTCOMES.map(([, name]) => name), [OUTCOMES.map(([key]) => stats[key] || 0)]);
        } catch (error) {
            showError(view, body, error, load);
        }
    }
    load();
    return replace(node, h('div', { class: 'row' }, field('Day (UTC)', input, { id: 'stats-day' })), body);
}

/* ---- settings ---- */

function settingsTab(view, enc, state) {
    const table = new Table({ id: 'settings', caption: 'Settings that count for this queue', fixed: true,
        rowKey: (row) => row.name, columns: [
            { key: 'name', label: 'Setting', phone: 'title', get: (row) => row.name,
                render: (row) => h('code', {}, row.name) },
            { key: 'value', label: 'Value', num: true, className: 'wrap', get: (row) => row.value,
                render: (row) => [num(row.value),
                row.name.endsWith('_ms') && row.value > 0 && h('span', { class: 'muted' }, ` (${span(row.value)})`)] },
            { key: 'from', label: 'From', get: (row) => row.from, render: (row) => badge(row.from,
                row.from === 'queue' ? 'accent' : 'plain') },
            { key: 'what', label: 'What it is', phone: 'wide', className: 'muted', get: (row) => row.what },
        ], empty: () => empty('The server tells no settings', null, `muster config --queue ${shown(enc)}`) });
    state.onReload = () => {
        table.setRows(state.row.settings || []);
        table.order();
    };
    state.onReload();
    return h('div', {}, table.node, may() && h('p', { class: 'pad' }, button('Change settings…', { icon: 'settings',
        onClick: async () => {
            if (await settingsDialog(enc))
                state.reload();
        } })));
}

/* ---- the view ---- */

const TABS = [
    { key: 'waiting', text: 'Waiting', make: waitingTab, count: 'waiting' },
    { key: 'running', text: 'Running', make: (view, enc) => runningList(view, { queue: enc }), count: 'running' },
    { key: 'delayed', text: 'Delayed', make: delayedTab, count: 'delayed' },
    { key: 'failed', text: 'Failed', make: (view, enc) => failureList(view, enc, view.query.group), count: 'failed' },
    { key: 'statistics', text: 'Statistics', make: statsTab },
    { key: 'settings', text: 'Settings', make: settingsTab },
];

function actionsOf(enc, state) {
    if (!may())
        return null;
    const paused = state.row.paused;
    const then = (promise) => promise.then((done) => done && state.reload());
    return [
        button(paused ? 'Resume' : 'Pause', { icon: paused ? 'resume' : 'pause', kind: paused ? 'primary' : '',
            onClick: () => then(pauseQueue(enc, !paused)) }),
        button('Enqueue', { icon: 'plus', onClick: () => then(enqueue(enc)) }),
        button('Delete', { icon: 'trash', kind: 'quiet-danger', onClick: () => deleteQueue(enc, state.row)
            .then((done) => done && location.assign('#/queues')) }),
    ];
}

const STRIP = [['In', (row) => perSecond(row.in_per_s)], ['Out', (row) => perSecond(row.out_per_s)],
    ['Oldest waits', (row) => span(row.oldest_ms)], ['Idle workers', (row) => num(row.idle)],
    ['Complete jobs', (row) => num(row.complete)], ['Depends', (row) => num(row.depends)],
    ['Held', (row) => num(row.held)], ['Recurring', (row) => num(row.recurring)],
    ['Failed list', (row) => bytes(row.failed_bytes)],
    ['Hands', (row) => `${num(row.hands)}, share ${row.share}, moved ${num(row.moved)}`]];

export default async function queue(view) {
    const enc = view.parts[1], tab = TABS.find((one) => one.key === view.parts[2]) || TABS[0];
    const state = { row: await get(`queues/${enc}`, view.signal), reload };
    view.title = shown(enc);
    const past = new History(), where = h('div', {}), head = h('div', {}), strip = h('dl', { class: 'strip card' });
    past.merge(state.row.history);
    const range_ms = fittingRange(past);
    const charts = mainCharts(view.signal);
    const tabs = tabLinks('Of this queue', TABS.map((one) => ({ ...one, href: queueHref(enc, one.key),
        count: one.count ? '' : undefined })), tab.key);
    const body = h('div', {});
    replace(view.node, head, where, strip, chartGrid(...charts), tabs, h('section', { class: 'card tab-body',
        'aria-label': tab.text }, body));

    function show() {
        const old = head.dataset.paused, paused = String(Boolean(state.row.paused));
        if (old !== paused) { // the buttons stay while nothing about them changes
            replace(head, heading(h('bdi', {}, shown(enc)), { back: { href: '#/queues', text: 'Queues' },
                badges: state.row.paused && badge('paused', 'warn'), actions: actionsOf(enc, state) }));
            head.dataset.paused = paused;
        }
        replace(strip, STRIP.map(([name, text]) => h('div', {}, h('dt', {}, name), h('dd', {}, text(state.row)))));
        for (const one of TABS.filter((t) => t.count)) {
            const node = tabs.querySelector(`[data-tab=${one.key}]`);
            setText(node, short(state.row[one.count]));
            node.classList.toggle('bad', one.key === 'failed' && state.row.failed > 0);
        }
        const series = past.for(range_ms);
        for (const one of charts)
            one.update(series);
    }
    async function reload() {
        try {
            Object.assign(state.row, await get(`queues/${enc}`, view.signal));
            past.merge(state.row.history);
            where.replaceChildren();
            show();
            state.onReload?.();
        } catch (error) {
            showError(view, where, error, reload);
        }
    }
    view.on('queues', (change) => {
        const [row] = changed([state.row], change, 'queue').filter((one) => encOf(one, 'queue') === enc);
        if (row && row !== state.row) {
            Object.assign(state.row, row);
            show();
        }
    });
    view.every(HISTORY_MS, reload);
    show();
    replace(body, tab.make(view, enc, state));
}
