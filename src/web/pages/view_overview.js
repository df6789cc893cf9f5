/* SPDX-License-Identifier: MIT
 *
 * The overview: the figures of this second, the last hour as charts, and what needs somebody.
 */
import { get, list } from './api.js';
import { History, TimeChart, chartGrid, fittingRange, mainCharts, rangeChoice, sparkline, thinned } from './charts.js';
import { h, replace, setText } from './dom.js';
import { bytes, num, perSecond, plural, rate, roughly, short, span } from './format.js';
import { icon } from './icons.js';
import { changed, encOf, encsOf, nameOrder, queueHref } from './names.js';
import { card, commandLine, heading, nameElement, showError } from './parts.js';
import { Table } from './table.js';
import { queueColumns } from './view_queues.js';

const HISTORY_MS = 5000, LOOK_MS = 15000, SPARK_POINTS = 60, TOP = 8;

const TILES = [
    { key: 'waiting', text: 'Waiting', href: '#/queues', spark: 'waiting' },
    { key: 'running', text: 'Running', href: '#/running', spark: 'running', kind: 'good' },
    { key: 'in_per_s', text: 'In per second', show: rate, spark: 'in' },
    { key: 'out_per_s', text: 'Out per second', show: rate, spark: 'out', kind: 'good' },
    { key: 'oldest_ms', text: 'Oldest waits', show: roughly, spark: 'latency_ms', kind: 'warn' },
    { key: 'delayed', text: 'Delayed', href: '#/jobs?state=scheduled' },
    { key: 'failed', text: 'Failed', href: '#/failures', spark: 'failed', kind: 'bad' },
    { key: 'workers', text: 'Workers', href: '#/workers' },
];

function tile(one) {
    const value = h('span', { class: 'tile-value' }, '–'), spark = one.spark && sparkline(one.kind);
    const inner = [h('span', { class: 'tile-text' }, one.text), value, spark];
    return { one, value, spark, node: one.href ? h('a', { class: `tile ${one.kind || ''}`, href: one.href }, inner)
        : h('div', { class: `tile ${one.kind || ''}` }, inner) };
}

function showTiles(tiles, o) {
    for (const { one, value, node } of tiles) {
        const n = o[one.key];
        setText(value, (one.show || short)(n));
        value.title = typeof n !== 'number' ? '' : one.show === roughly ? span(n) : num(n);
        node.classList.toggle('zero', !n);
    }
}

/* ---- what needs somebody ---- */

const waits = (n) => `${num(n)} ${n === 1 ? 'waits' : 'wait'}`;

function problems(queues, workers) {
    const found = [];
    const add = (kind, text, href) => found.push({ kind, text, href });
    const served = new Set(workers.filter((w) => w.alive).flatMap((w) => encsOf(w, 'queues')));
    for (const worker of workers.filter((w) => !w.alive))
        add('bad', [h('strong', {}, worker.worker), ` is not heard since ${span(worker.heard_ms)}` +
            (worker.held ? ` and holds ${plural(worker.held, 'task')}` : '')], '#/workers');
    for (const row of queues) {
        const enc = encOf(row, 'queue'), name = () => nameElement(enc); // an element for each place
        if (row.paused && row.waiting > 0)
            add('warn', [name(), ` is paused, and ${waits(row.waiting)}`], queueHref(enc));
        else if (row.waiting > 0 && !served.has(enc) && !row.running)
            add('warn', [name(), `: ${waits(row.waiting)}, and no worker serves it`], queueHref(enc));
        if (row.failed > 0)
            add('bad', [name(), `: ${num(row.failed)} failed`], `#/failures?queue=${enc}`);
    }
    return found.sort((a, b) => a.kind.localeCompare(b.kind));
}

function showProblems(node, found) {
    const most = 6, sig = found.map((one) => replace(h('p'), one.text).textContent).join('\n');
    if (node.dataset.sig === sig)
        return node; // nothing new: the focus stays
    node.dataset.sig = sig;
    if (found.length === 0)
        return replace(node, h('p', { class: 'all-well' }, icon('check'), 'All is well: nothing failed, no queue is ' +
            'left alone, every worker is heard.'));
    return replace(node, h('ul', { class: 'problems' }, found.slice(0, most).map((one) => h('li', { class: one.kind },
        h('a', { href: one.href }, icon(one.kind === 'bad' ? 'failures' : 'pause', 16), h('span', {}, one.text))))),
    found.length > most && h('p', { class: 'muted problems-more' },
        `and ${plural(found.length - most, 'more thing')} ` +
        'to look at: see the queues and workers'));
}

const isNumber = (n) => typeof n === 'number';

const disk = (o) => (o.append_only === 1 ? 'append-only file' : o.unsaved === null ? '–'
    : `snapshots, ${plural(o.unsaved, 'change')} unsaved`);

const engineFacts = (o) => [['Memory', bytes(o.used_memory) + (o.maxmemory > 0 ? ` of ${bytes(o.maxmemory)}` : '')],
    ['When full', o.maxmemory_policy], ['Clients', num(o.clients)], ['Commands', perSecond(o.commands_per_s)],
    ['CPU', isNumber(o.cpu) ? `${(o.cpu * 100).toFixed(1)} %` : '–'], ['Replicas', num(o.replicas)], ['Disk', disk(o)],
    ['Runs for', isNumber(o.uptime_s) ? span(o.uptime_s * 1000) : '–']];

function firstSteps() {
    return h('div', { class: 'empty' }, h('p', { class: 'empty-title' }, 'No queue yet'),
        h('p', {}, 'A queue is there as soon as something is in it. Enqueue two tasks, and start a worker for them:'),
        commandLine('muster enqueue mail "to ann" "to bob"'), commandLine('muster work mail -- cat'));
}

/* ---- the view ---- */

export default async function overview(view) {
    view.title = 'Overview';
    const tiles = TILES.map(tile), past = new History(), state = { queues: [], workers: [] };
    let range_ms = 0;
    const chart = (options) => new TimeChart({ ...options, signal: view.signal });
    const charts = [
        ...mainCharts(view.signal),
        chart({ title: 'Latency', format: span, lines: [{ key: 'latency_ms', label: 'Oldest waits', colour: 'c3',
            fill: true }] }),
        chart({ title: 'Failures', lines: [{ key: 'failures', label: 'New failures', colour: 'c4', sum: true }] }),
    ];
    const engine = h('dl', { class: 'strip' }), engineCard = card('Redis', engine);
    const attention = h('div', {}), where = h('div', {});
    const table = new Table({ id: 'top', caption: 'The queues with the most waiting', fixed: true,
        columns: queueColumns({ brief: true }), rowKey: (row) => encOf(row, 'queue'), empty: firstSteps });
    past.merge(await get('history', view.signal));
    range_ms = fittingRange(past);
    replace(view.node, heading('Overview', { actions: rangeChoice(range_ms, (ms) => {
        range_ms = ms;
        draw();
    }) }), where,
    h('div', { class: 'tiles' }, tiles.map((one) => one.node)),
    h('section', { class: 'card', 'aria-label': 'Needs attention' }, attention), chartGrid(...charts),
    h('div', { class: 'columns' },
        card('Queues with the most waiting', table.node, { actions: h('a', { href: '#/queues' }, 'All queues') }),
        engineCard));

    function draw() {
        const series = past.for(range_ms);
        for (const one of charts)
            one.update(series);
        for (const { one, spark } of tiles)
            if (one.spark)
                spark.update(thinned((series[one.spark] || []).slice(-Math.ceil(range_ms / past.step_ms)),
                    SPARK_POINTS));
    }
    function showOverview(o) {
        showTiles(tiles, o);
        engineCard.hidden = !o.redis;
        if (o.redis?.error)
            replace(engine, h('div', {}, h('dt', {}, 'Not allowed to read'), h('dd', { class: 'muted' },
                o.redis.message)));
        else
            replace(engine, engineFacts(o.redis || {}).map(([name, value]) => h('div', {}, h('dt', {}, name),
                h('dd', {}, value))));
    }
    function showQueues() {
        const top = [...state.queues].sort((a, b) => b.waiting - a.waiting || b.running - a.running ||
            nameOrder(a, b)).slice(0, TOP);
        table.setRows(top);
        table.order();
        showProblems(attention, problems(state.queues, state.workers));
    }
    async function loadHistory() {
        past.merge(await get('history' + (past.since ? `?since=${past.since}` : ''), view.signal));
        draw();
    }
    async function loadLists() {
        const [queues, workers] = await Promise.all([list('queues', view.signal), list('workers', view.signal)]);
        Object.assign(state, { queues: queues.items, workers: workers.items });
        showQueues();
    }
    const tried = (fn) => fn().then(() => where.replaceChildren(), (error) => {
        showError(view, where, error);
    });
    view.on('overview', showOverview);
    view.on('queues', (change) => {
        state.queues = changed(state.queues, change, 'queue');
        showQueues();
    });
    view.on('workers', (change) => {
        state.workers = changed(state.workers, change, 'worker');
        showQueues();
    });
    view.every(HISTORY_MS, () => tried(loadHistory));
    view.every(LOOK_MS, () => tried(loadLists));
    draw();
    await Promise.all([get('overview', view.signal).then(showOverview), loadLists()]);
}
