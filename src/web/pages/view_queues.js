/* SPDX-License-Identifier: MIT
 *
 * All queues: ordered, filtered, paused and resumed, with the way to each one's settings.
 */
import { list } from './api.js';
import { deleteQueue, enqueue, may, pauseQueue, settingsDialog } from './actions.js';
import { dialog } from './dialog.js';
import { h, replace } from './dom.js';
import { num, rate, span } from './format.js';
import { changed, encOf, queueHref, shown } from './names.js';
import { badge, button, empty, heading, iconButton, loading, nameLink, showError } from './parts.js';
import { Table } from './table.js';

const LOOK_MS = 30000;

const figure = (n, kind = '') => h('span', { class: n > 0 ? kind : 'none' }, num(n));

/* A count that leads to what is counted. */
const countLink = (row, key, tab, kind = '') => (row[key] > 0 ? h('a', { class: `count-link ${kind}`,
    href: queueHref(encOf(row, 'queue'), tab) }, num(row[key])) : figure(row[key]));

function queueName(row) {
    return [nameLink(encOf(row, 'queue'), queueHref(encOf(row, 'queue'))), row.paused && badge('paused', 'warn')];
}

/* `brief`: those of the overview. */
export function queueColumns({ brief, actions } = {}) {
    return [
        { key: 'queue', label: 'Queue', phone: 'title', get: (row) => shown(encOf(row, 'queue')),
            sig: (row) => row.paused, render: queueName },
        { key: 'waiting', label: 'Waiting', num: true, get: (row) => row.waiting,
            render: (row) => countLink(row, 'waiting', 'waiting', 'strong') },
        { key: 'running', label: 'Running', num: true, get: (row) => row.running,
            render: (row) => countLink(row, 'running', 'running') },
        !brief && { key: 'delayed', label: 'Delayed', num: true, get: (row) => row.delayed,
            render: (row) => countLink(row, 'delayed', 'delayed') },
        { key: 'failed', label: 'Failed', num: true, get: (row) => row.failed,
            render: (row) => countLink(row, 'failed', 'failed', 'bad-text') },
        !brief && { key: 'idle', label: 'Idle', num: true, get: (row) => row.idle, render: (row) => figure(row.idle) },
        { key: 'in', label: 'In/s', num: true, get: (row) => row.in_per_s, render: (row) => rate(row.in_per_s) },
        { key: 'out', label: 'Out/s', num: true, get: (row) => row.out_per_s, render: (row) => rate(row.out_per_s) },
        { key: 'oldest', label: 'Oldest', num: true, get: (row) => row.oldest_ms,
            render: (row) => span(row.oldest_ms) },
        actions && { key: 'act', label: '', hidden: 'Actions', phone: 'action', className: 'act',
            sig: (row) => [row.paused, row.failed > 0], render: actions },
    ].filter(Boolean);
}

async function showMenu(enc, row, done) {
    const choose = await dialog(shown(enc), (close) => h('div', { class: 'menu' },
        button('Enqueue a task…', { icon: 'plus', onClick: () => close(enqueue) }),
        button('Settings…', { icon: 'settings', onClick: () => close(settingsDialog) }),
        button('Delete the queue…', { icon: 'trash', kind: 'quiet-danger', onClick: () => close(deleteQueue) })),
    { kind: 'small' });
    if (choose && await choose(enc, row))
        done();
}

function rowActions(row, reload) {
    const enc = encOf(row, 'queue'), name = shown(enc);
    const paused = Boolean(row.paused);
    return [
        iconButton(paused ? 'resume' : 'pause', `${paused ? 'Resume' : 'Pause'} ${name}`, async () => {
            if (await pauseQueue(enc, !paused))
                reload();
        }, paused ? 'warn' : ''),
        iconButton('settings', `Settings of ${name}`, () => settingsDialog(enc)),
        iconButton('more', `More for ${name}`, () => showMenu(enc, row, reload)),
    ];
}

const noQueues = () => empty('No queue yet', 'A queue is there as soon as something is in it.',
    'muster enqueue mail "to ann" "to bob"');

export default async function queues(view) {
    view.title = 'Queues';
    let rows = [], text = '', only = 'all';
    const where = h('div', {}), box = h('div', { class: 'card' }, loading());
    const table = new Table({ id: 'queues', caption: 'Queues', announce: 'queue', sort: { key: 'waiting', down: true },
        columns: queueColumns({ actions: may() ? (row) => rowActions(row, reload) : null }),
        rowKey: (row) => encOf(row, 'queue'), rowClass: (row) => (row.paused ? 'is-paused' : ''), empty: noQueues,
        noMatch: () => empty('No queue matches', 'Try fewer letters, or all queues.') });
    const filter = h('input', { type: 'search', class: 'filter', placeholder: 'Filter by name', 'aria-label':
        'Filter queues by name', on: { input() {
        text = filter.value.toLowerCase();
        apply();
    } } });
    const choice = h('select', { 'aria-label': 'Which queues', on: { change() {
        only = choice.value;
        apply();
    } } }, [['all', 'All queues'], ['busy', 'With work'], ['failed', 'With failures'], ['paused', 'Paused']]
        .map(([value, name]) => h('option', { value }, name)));
    const sub = h('span', {});
    replace(view.node, heading('Queues', { sub, actions: [filter, choice] }), where, box);

    const CHOICES = { all: () => true, busy: (row) => row.waiting + row.running + row.delayed > 0,
        failed: (row) => row.failed > 0, paused: (row) => row.paused };
    function apply() {
        table.setFilter((row) => CHOICES[only](row) && shown(encOf(row, 'queue')).toLowerCase().includes(text));
    }
    function show() {
        const paused = rows.filter((row) => row.paused).length;
        sub.textContent = `${num(rows.length)} in all` + (paused ? `, ${num(paused)} paused` : '');
        table.setRows(rows);
    }
    async function reload() {
        try {
            rows = (await list('queues', view.signal)).items;
            where.replaceChildren();
            show();
        } catch (error) {
            showError(view, where, error, reload);
        }
    }
    view.on('queues', (change) => {
        rows = changed(rows, change, 'queue');
        show();
    });
    view.every(LOOK_MS, reload);
    await reload();
    replace(box, table.node);
    table.order();
}
