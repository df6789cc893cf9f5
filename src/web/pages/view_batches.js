/* SPDX-License-Identifier: MIT
 *
 * Batches: all of them, those that have not ended first; and one, with its counts and what follows it.
 */
import { cancelBatch, closeBatch, may } from './actions.js';
import { get, list } from './api.js';
import { h, renew, replace } from './dom.js';
import { agoElement, num, span } from './format.js';
import { batchHref, encOf, jobHref, queueHref, shown, withQuery } from './names.js';
import { badge, button, card, empty, errorNote, facts, heading, loading, meter, nameLink, showError,
    stateBadge } from './parts.js';
import { Table, cursorPager } from './table.js';

const COUNT = 50, LOOK_MS = 5000;
const ENDS = [['complete', 'Complete'], ['failed', 'Failed'], ['cancelled', 'Cancelled'], ['gone', 'Gone']];

const stateBadges = (row) => [stateBadge(row.state), row.is_cancelled && badge('cancelled', 'warn'),
    row.first_failed !== null && row.first_failed !== undefined && badge('a failure', 'bad')];

function doneCell(row) {
    const done = row.members - row.left;
    return h('div', { class: 'hands' }, meter(done, row.members, `${num(done)} of ${num(row.members)} members ended`),
        h('span', { class: 'muted' }, `${num(done)} / ${num(row.members)}`));
}

const columns = [
    { key: 'id', label: 'Batch', phone: 'title', get: (row) => shown(encOf(row, 'id')), render: (row) =>
        nameLink(encOf(row, 'id'), batchHref(encOf(row, 'id'))) },
    { key: 'state', label: 'State', get: (row) => row.state, sig: (row) => [row.is_cancelled, row.first_failed],
        render: stateBadges },
    { key: 'done', label: 'Ended', get: (row) => (row.members ? (row.members - row.left) / row.members : 0),
        sig: (row) => [row.members, row.left], render: doneCell, phone: 'wide' },
    { key: 'failed', label: 'Failed', num: true, get: (row) => row.failed },
    { key: 'since', label: 'Since', num: true, get: (row) => row.since_ms, render: (row) => agoElement(row.since_ms) },
    { key: 'closes', label: 'Closes', num: true, get: (row) => row.due_at_ms,
        render: (row) => row.due_at_ms && agoElement(row.due_at_ms) },
];

export default async function batches(view) {
    view.title = 'Batches';
    const where = h('div', {}), foot = h('div', {}), pages = [null], body = h('div', { class: 'card' }, loading());
    const table = new Table({ id: 'batches', caption: 'Batches', columns, rowKey: (row) => encOf(row, 'id'),
        empty: () => empty('No batch is known', 'A batch is a number of jobs that belong together, with what follows ' +
            'when all have ended. Ended ones are kept as long as complete jobs.',
        'muster batch open night-17 --on-complete publish') });
    replace(view.node, heading('Batches', { sub: 'Those that have not ended come first' }), body);
    async function load() {
        const cursor = pages[pages.length - 1];
        let answer;
        try {
            answer = await list(withQuery('batches', { cursor: cursor && encodeURIComponent(cursor), count: COUNT }),
                view.signal);
        } catch (error) {
            showError(view, where, error, load);
            return;
        }
        if (cursor !== pages[pages.length - 1])
            return; // another page is wanted by now
        where.replaceChildren();
        if (!table.node.isConnected)
            replace(body, where, table.node, foot);
        table.setRows(answer.items);
        renew(foot, cursorPager({ pages, answer, load }));
    }
    view.every(LOOK_MS, load);
    await load();
}

/* ---- one ---- */

function follower(row, when, name) {
    const queue = encOf(row, when), job = encOf(row, name);
    return queue && [nameLink(queue, queueHref(queue)), ' ', job ? nameLink(job, jobHref(job)) : h('span',
        { class: 'muted' }, 'not put yet')];
}

function record(row) {
    const around = encOf(row, 'batch'), first = encOf(row, 'first_failed');
    return facts([
        ['State since', agoElement(row.since_ms)], ['Opened', agoElement(row.opened_at_ms)],
        row.closed_at_ms && ['Closed', agoElement(row.closed_at_ms)], ['Closed by', row.closed_by],
        row.due_at_ms && ['Closes', agoElement(row.due_at_ms)], ['TTL', span(row.ttl_ms)],
        around && ['Within', nameLink(around, batchHref(around))], ['Depth', num(row.depth)],
        first && ['First failed', nameLink(first, jobHref(first))],
        ['At the end', follower(row, 'on_end', 'end_job')],
        ['When all are complete', follower(row, 'on_complete', 'complete_job')],
        ['At the first failure', follower(row, 'on_failure', 'failure_job')],
    ]);
}

function members(row) {
    return h('div', { class: 'pad stack' }, doneCell(row), facts([['Members', num(row.members)],
        ['Not ended', num(row.left)], ...ENDS.map(([key, label]) => [label, num(row[key])])]));
}

function actionsOf(enc, row, reload) {
    const act = (fn) => () => fn(enc, row).then((done) => done && reload());
    return may() && row.state !== 'ended' && [
        row.state === 'open' && button('Close', { icon: 'check', onClick: act(closeBatch) }),
        !row.is_cancelled && button('Cancel', { icon: 'stop', kind: 'quiet-danger', onClick: act(cancelBatch) }),
    ];
}

export async function batch(view) {
    const enc = view.parts[1], back = { href: '#/batches', text: 'Batches' };
    const head = h('div', {}), where = h('div', {}), body = h('div', {});
    view.title = shown(enc);
    async function load() {
        let row;
        try {
            row = await get(`batches/${enc}`, view.signal);
        } catch (error) {
            if (!view.signal.aborted && error.status === 404)
                replace(view.node, heading(h('bdi', {}, shown(enc)), { back }), h('div', { class: 'card' },
                    empty('There is no such batch', error.message, 'muster batches')));
            else if (!view.signal.aborted)
                replace(where, errorNote(error, load));
            return;
        }
        where.replaceChildren();
        if (!head.isConnected)
            replace(view.node, head, where, body);
        renew(head, heading(h('bdi', {}, shown(enc)), { back, badges: stateBadges(row),
            actions: actionsOf(enc, row, load) }));
        replace(body, h('div', { class: 'columns job-columns' }, card('Members', members(row)),
            card('Record', record(row), { kind: 'aside' })));
    }
    view.every(LOOK_MS, load);
    await load();
}
