/* SPDX-License-Identifier: MIT
 *
 * Failures: the groups of all queues, the entries of a queue or of a group; replayed or dropped one by one, those that
 * are picked, a group, a queue, or all.
 */
import { endFailures, failedBody, may, replayDrop } from './actions.js';
import { list, session } from './api.js';
import { dialog } from './dialog.js';
import { h, renew, replace } from './dom.js';
import { agoElement, isoTitle, num, plural } from './format.js';
import { asMember, encOf, jobHref, queueHref, shown, visible, withQuery } from './names.js';
import { badge, empty, facts, heading, loading, nameElement, nameLink, showError } from './parts.js';
import { excerpt, payloadBlock, payloadOf } from './payload.js';
import { Table, cursorPager } from './table.js';

const COUNT = 50, LOOK_MS = 5000;

const groupHref = (queue, group) => withQuery('#/failures', { queue, group });
const noFailures = () => empty('Nothing has failed', 'What fails is kept here with its time, process, group and ' +
    'message, until it is replayed or dropped.', 'muster failed');

/* ---- groups ---- */

function groupColumns(reload) {
    const act = (row) => replayDrop((verb) => endFailures(verb, {
        count: () => countOf(encOf(row, 'queue'), encOf(row, 'group'), row.failed),
        bodies: [failedBody(encOf(row, 'queue'), asMember('group', encOf(row, 'group')))],
        of: ['group ', nameElement(encOf(row, 'group')), ' of ', nameElement(encOf(row, 'queue'))] })
        .then((done) => done && reload()),
            { of: `group ${shown(encOf(row, 'group'))} of ${shown(encOf(row, 'queue'))}` });
    return [
        { key: 'group', label: 'Group', phone: 'title', get: (row) => shown(encOf(row, 'group')), render: (row) =>
            nameLink(encOf(row, 'group'), groupHref(encOf(row, 'queue'), encOf(row, 'group'))) },
        { key: 'queue', label: 'Queue', get: (row) => shown(encOf(row, 'queue')), render: (row) =>
            nameLink(encOf(row, 'queue'), queueHref(encOf(row, 'queue'), 'failed')) },
        { key: 'failed', label: 'Failures', num: true, get: (row) => row.failed, render: (row) => h('span', {
            class: 'bad-text strong' }, num(row.failed)) },
        may() && { key: 'act', label: '', phone: 'action', className: 'act', sig: (row) => row.failed, render: act },
    ].filter(Boolean);
}

const totalOf = (rows) => rows.reduce((all, row) => all + row.failed, 0);
const queuesOf = (rows) => [...new Set(rows.map((row) => encOf(row, 'queue')))];

async function showGroups(view) {
    let rows = [];
    const actions = h('div', { class: 'actions' }), sub = h('span', {}), where = h('div', {});
    const body = h('div', { class: 'card' }, loading());
    const table = new Table({ id: 'groups', caption: 'Groups of failures', columns: groupColumns(() => load()),
        sort: { key: 'failed', down: true }, rowKey: (row) => `${encOf(row, 'queue')}/${encOf(row, 'group')}`,
        empty: noFailures, noMatch: () => empty('No group matches') });
    const filter = h('input', { type: 'search', class: 'filter', placeholder: 'Filter by group or queue',
        'aria-label': 'Filter by group or queue', on: { input: () => table.setFilter((row) =>
            `${shown(encOf(row, 'group'))} ${shown(encOf(row, 'queue'))}`.toLowerCase().includes(
                filter.value.toLowerCase())) } });
    replace(view.node, heading('Failures', { sub, actions: [filter, actions] }), where, body);
    async function endAll(verb) {
        await load(); // all is what there is when the question is asked, and what the filter lets through
        const seen = rows.filter(table.filter), queues = queuesOf(seen), isAll = seen.length === rows.length;
        const done = await endFailures(verb, { count: async () => totalOf(seen),
            of: isAll ? plural(queues.length, 'queue') : plural(seen.length, 'group'),
            bodies: isAll ? queues.map((queue) => failedBody(queue, { all: true })) : seen.map((row) =>
                failedBody(encOf(row, 'queue'), asMember('group', encOf(row, 'group')))) });
        if (done)
            load();
    }
    const all = replayDrop(endAll, { text: ' all' });
    async function load() {
        try {
            rows = (await list('failed', view.signal)).items;
        } catch (error) {
            showError(view, where, error, load);
            return;
        }
        where.replaceChildren();
        sub.textContent = rows.length ? `${plural(totalOf(rows), 'failure')} in ${plural(rows.length, 'group')} of ` +
            plural(queuesOf(rows).length, 'queue') : 'None';
        renew(actions, rows.length > 0 && all);
        if (!table.node.isConnected)
            replace(body, table.node);
        table.setRows(rows);
    }
    view.every(LOOK_MS, load);
    await load();
}

/* ---- entries ---- */

function showEntry(row, queue, again) {
    dialog('Failure', (close) => h('div', { class: 'dialog-body stack' },
        facts([['Failed', isoTitle(row.failed_at_ms)], ['Queue', nameLink(queue, queueHref(queue, 'failed'))],
            ['Group', nameElement(encOf(row, 'group') || '')], ['Worker', row.worker && visible(row.worker)],
            ['Process', row.process && h('code', {}, shown(encOf(row, 'process')))],
            ['Entry', h('code', {}, visible(String(row.entry)))],
            encOf(row, 'job') && ['Job', h('a', { href: jobHref(encOf(row, 'job')), on: { click: () => close() } },
                h('bdi', {}, shown(encOf(row, 'job'))))]]),
        payloadBlock(payloadOf(row, 'message'), 'Message'), payloadBlock(payloadOf(row, 'task'), 'Task'),
        h('div', { class: 'dialog-foot' }, replayDrop((verb) => {
            close();
            again(verb);
        }))), { kind: 'wide' });
}

/* `act(verb, rows)`: asks and does, for these entries. */
function entryColumns(queue, group, act) {
    const open = (row) => showEntry(row, queue, (verb) => act(verb, [row]));
    return [
        { key: 'task', label: 'Task', phone: 'title', get: (row) => excerpt(payloadOf(row, 'task')),
            sig: (row) => encOf(row, 'job'),
            render: (row) => [h('button', { type: 'button', class: 'link mono clip', on: { click: () => open(row) } },
                excerpt(payloadOf(row, 'task'))), encOf(row, 'job') && h('a', { class: 'badge violet',
                href: jobHref(encOf(row, 'job')) }, 'job ', h('bdi', {}, shown(encOf(row, 'job'))))] },
        { key: 'message', label: 'Message', phone: 'wide', className: 'clip', get: (row) =>
            excerpt(payloadOf(row, 'message')) },
        !group && { key: 'group', label: 'Group', get: (row) => encOf(row, 'group'), render: (row) => h('a', {
            href: groupHref(queue, encOf(row, 'group')) }, badge(h('bdi', {}, shown(encOf(row, 'group'))), 'bad')) },
        { key: 'at', label: 'Failed', num: true, get: (row) => row.failed_at_ms, render: (row) =>
            agoElement(row.failed_at_ms) },
        { key: 'worker', label: 'Worker', className: 'clip', get: (row) => row.worker },
        may() && { key: 'act', label: '', phone: 'action', className: 'act', render: (row) => replayDrop((verb) =>
            act(verb, [row]), { of: excerpt(payloadOf(row, 'task'), 30) }) },
    ].filter(Boolean);
}

/* The entries of a queue, or of one group of it; also for the page of a queue. */
export function failureList(view, queue, group) {
    const pages = [null], where = h('div', {}), foot = h('div', {}), bar = h('div', { class: 'pickbar' });
    const node = h('div', {}, where, loading());
    let answer = null;
    const asked = (promise) => promise.then((done) => {
        if (done) {
            table.clearPicks();
            load();
        }
    });
    const act = (verb, rows) => asked(endFailures(verb, { count: async () => rows.length, of: nameElement(queue),
        bodies: session.many && rows.length > 1 ? [failedBody(queue, { entries: rows.map((row) => row.entry) })]
            : rows.map((row) => failedBody(queue, { entry: row.entry })) }));
    const table = new Table({ id: 'failures', caption: 'Failures, newest first', fixed: true,
        columns: entryColumns(queue, group, act), rowKey: (row) => String(row.entry), empty: noFailures,
        pick: may() ? (row) => excerpt(payloadOf(row, 'task'), 30) : null, onPick: showBar });
    function showBar(keys) {
        const rows = (answer?.items || []).filter((row) => keys.includes(String(row.entry)));
        const total = answer?.total, of = [group && ['group ', nameElement(group), ' of '], nameElement(queue)];
        const whole = () => replayDrop((verb) => asked(endFailures(verb, { count: () => countOf(queue, group, total),
            of,
            bodies: [failedBody(queue, group ? asMember('group', group) : { all: true })] })), { text: ' all' });
        const sig = `${rows.length} ${total}`;
        if (bar.dataset.sig === sig)
            return;
        bar.dataset.sig = sig;
        if (rows.length)
            renew(bar, h('span', {}, `${num(rows.length)} selected`), replayDrop((verb) => act(verb, rows),
                { text: ` ${num(rows.length)}` }));
        else
            renew(bar, h('span', { class: 'muted' }, total === null || total === undefined ? 'Newest first'
                : plural(total, 'failure')), total > 0 && whole());
    }
    async function load() {
        const cursor = pages[pages.length - 1];
        let fresh;
        try {
            fresh = await list(withQuery('failed', { queue, group, count: COUNT, cursor: cursor &&
                encodeURIComponent(cursor) }), view.signal);
        } catch (error) {
            showError(view, where, error, load);
            return;
        }
        fresh.total ??= await countOf(queue, group, null);
        if (cursor !== pages[pages.length - 1])
            return; // another page is wanted by now
        answer = fresh;
        where.replaceChildren();
        if (!table.node.isConnected)
            replace(node, where, bar, table.node, foot);
        table.setRows(answer.items);
        if (table.picked.size === 0)
            table.order();
        renew(foot, cursorPager({ pages, answer, load: () => {
            table.clearPicks();
            load();
        } }));
    }
    view.every(LOOK_MS, () => table.picked.size > 0 || load());
    load();
    return node;
}

/* The server may not know how many entries there are in all; the groups do. */
async function countOf(queue, group, old) {
    const answer = await list('failed').catch(() => null);
    return answer === null ? old : totalOf(answer.items.filter((row) => encOf(row, 'queue') === queue && (!group ||
        encOf(row, 'group') === group)));
}

export default async function failures(view) {
    const { queue, group } = view.query;
    view.title = 'Failures';
    if (!queue) {
        await showGroups(view);
        return;
    }
    const title = group ? h('bdi', {}, shown(group)) : ['Failures of ', h('bdi', {}, shown(queue))];
    replace(view.node, heading(title, { back: { href: '#/failures', text: 'Failures' },
        sub: group && ['Group of failures of ', nameLink(queue, queueHref(queue, 'failed'))] }),
    h('div', { class: 'card' }, failureList(view, queue, group)));
}
