/* SPDX-License-Identifier: MIT
 *
 * What runs at this moment: of one queue, of one worker, or all; with the time that it has taken so far.
 */
import { cancelProcess, may } from './actions.js';
import { list } from './api.js';
import { dialog } from './dialog.js';
import { h, renew, replace } from './dom.js';
import { agoElement, isoTitle, num, sinceElement } from './format.js';
import { asMember, encOf, jobHref, queueHref, shown, visible, withQuery } from './names.js';
import { badge, button, empty, facts, heading, loading, nameLink, showError } from './parts.js';
import { excerpt, payloadBlock, payloadOf } from './payload.js';
import { Table, cursorPager } from './table.js';

const LOOK_MS = 3000, COUNT = 50;
const LEASE = '.lease'; // in whose hands the tasks under leases are

function showProcess(row) {
    dialog('Running task', () => h('div', { class: 'dialog-body stack' },
        facts([['Process', h('code', {}, visible(row.process ?? ''))], ['Queue', shown(encOf(row, 'queue'))],
            ['Worker', row.worker], ['Token', row.token], ['Started', isoTitle(row.started_at_ms)],
            ['Lease ends', row.lease_ends_at_ms && isoTitle(row.lease_ends_at_ms)],
            ['Job', encOf(row, 'job') && nameLink(encOf(row, 'job'), jobHref(encOf(row, 'job')))],
            ['Progress', excerptOf(row, 'progress')]]),
        payloadBlock(payloadOf(row, 'task'), 'Task')), { kind: 'wide' });
}

const excerptOf = (row, key) => {
    const value = payloadOf(row, key);
    return value && (value.text !== '' || value.bytes) ? excerpt(value) : null;
};

/* "40%", "40 of 100" and the like also as a bar. */
function progress(row) {
    const text = excerptOf(row, 'progress');
    if (!text)
        return null;
    const percent = /(\d+(?:\.\d+)?) ?%/.exec(text), parts = /(\d+) (?:of|\/) ?(\d+)/.exec(text);
    const share = percent ? Number(percent[1]) / 100 : parts && Number(parts[2]) > 0
        ? Number(parts[1]) / Number(parts[2]) : null;
    return h('span', { class: 'progress' }, share !== null && h('span', { class: 'progress-bar', 'aria-hidden': 'true',
        vars: { '--share': `${Math.min(100, share * 100).toFixed(0)}%` } }), h('span', {}, text));
}

function columns({ queue, reload }) {
    return [
        { key: 'task', label: 'Task', phone: 'title', get: (row) => excerptOf(row, 'task') || '(empty)',
            sig: (row) => [encOf(row, 'job'), row.cancelled], render: (row) => [
                h('button', { type: 'button', class: 'link mono clip', on: { click: () => showProcess(row) } },
                    excerptOf(row, 'task') || '(empty)'),
                encOf(row, 'job') && h('a', { class: 'badge violet', href: jobHref(encOf(row, 'job')) }, 'job ',
                    h('bdi', {}, shown(encOf(row, 'job')))),
                row.cancelled && badge('cancelled', 'warn')] },
        !queue && { key: 'queue', label: 'Queue', get: (row) => shown(encOf(row, 'queue')),
            render: (row) => nameLink(encOf(row, 'queue'), queueHref(encOf(row, 'queue'))) },
        { key: 'worker', label: 'Worker', get: (row) => row.worker, className: 'clip', render: (row) =>
            (row.worker && row.worker !== LEASE ? h('a', { href: withQuery('#/running',
                { worker: encodeURIComponent(row.worker) }),
                class: 'quiet' }, row.worker) : badge('lease', 'info')) },
        { key: 'since', label: 'Runs for', num: true, get: (row) => (row.started_at_ms ? -row.started_at_ms : null),
            render: (row) => sinceElement(row.started_at_ms) },
        { key: 'ends', label: 'Lease', num: true, get: (row) => row.lease_ends_at_ms,
            render: (row) => (row.lease_ends_at_ms ? agoElement(row.lease_ends_at_ms)
                : h('span', { class: 'none' }, '–')) },
        { key: 'progress', label: 'Progress', sort: false, get: (row) => excerptOf(row, 'progress'), render: progress,
            phone: 'wide' },
        may() && { key: 'act', label: '', phone: 'action', className: 'act', sig: (row) => row.cancelled,
            render: (row) => !row.cancelled && button('Cancel', { small: true, icon: 'stop', label:
                `Cancel the task ${excerptOf(row, 'task') || ''}`, onClick: async () => {
                if (await cancelProcess(asMember('id', encOf(row, 'process')), encOf(row, 'queue')))
                    reload();
            } }) },
    ].filter(Boolean);
}

/* The list, for this page and for the page of a queue. */
export function runningList(view, filter) {
    const where = h('div', {}), pages = [null];
    const node = h('div', {}, where, loading());
    const table = new Table({ id: filter.queue ? 'queue-running' : 'running', caption: 'Running tasks',
        columns: columns({ queue: filter.queue, reload: () => load() }), sort: { key: 'since', down: true },
        rowKey: (row) => encOf(row, 'process'),
        rowClass: (row) => (row.cancelled ? 'is-cancelled' : ''), empty: () => empty('Nothing runs at this moment',
            'What a worker or a lease holds is shown here, with the time it has taken so far.',
            filter.queue ? `muster work ${shown(filter.queue)} -- COMMAND` : 'muster work QUEUE -- COMMAND') });
    const foot = h('div', {});
    async function load() {
        const cursor = pages[pages.length - 1];
        let answer;
        try {
            answer = await list(withQuery('processes', { ...filter, cursor: cursor && encodeURIComponent(cursor),
                count: COUNT }), view.signal);
        } catch (error) {
            showError(view, where, error, load);
            return;
        }
        if (cursor !== pages[pages.length - 1])
            return; // another page is wanted by now
        where.replaceChildren();
        if (!table.node.isConnected)
            replace(node, where, table.node, foot);
        table.setRows(answer.items);
        renew(foot, cursorPager({ pages, answer, load }));
    }
    view.every(LOOK_MS, load);
    load();
    return node;
}

export default async function running(view) {
    const { queue, worker } = view.query;
    view.title = 'Running';
    const of = queue ? ['of ', h('bdi', {}, shown(queue))] : worker ? ['by ', h('bdi', {}, shown(worker))] : null;
    const sub = h('span', {}, of || 'Tasks in the hands of workers and under leases');
    replace(view.node, heading('Running', { sub, actions: of && h('a', { class: 'button', href: '#/running' },
        'Show all') }), h('div', { class: 'card' }, runningList(view, { queue, worker })));
    if (!of)
        view.on('overview', (o) => {
            sub.textContent = `${num(o.running)} in the hands of workers and under leases`;
        });
}
