/* SPDX-License-Identifier: MIT
 *
 * Jobs: how many there are in which state, and a list of those that a queue, state, tag or group of failures chooses.
 */
import { list } from './api.js';
import { h, renew, replace } from './dom.js';
import { agoElement, num } from './format.js';
import { encOf, encode, encsOf, jobHref, queueHref, shown, withQuery } from './names.js';
import { badge, button, card, empty, field, heading, loading, nameLink, showError, stateBadge } from './parts.js';
import { excerpt, payloadOf } from './payload.js';
import { Table, cursorPager } from './table.js';

export const STATES = ['scheduled', 'depends', 'waiting', 'held', 'running', 'failed', 'complete',
    'recurring'];
const COUNT = 50, LOOK_MS = 10000;

export const tagChips = (row) => h('span', { class: 'chips' }, encsOf(row, 'tags').map((enc) => h('a', {
    class: 'chip', href: withQuery('#/jobs', { tag: enc }) }, h('bdi', {}, shown(enc)))));

/* `queue`: all are of one queue, so the column is left out. */
export function jobColumns({ queue } = {}) {
    return [
        { key: 'id', label: 'Job', phone: 'title', get: (row) => shown(encOf(row, 'id')), sig: (row) => [row.tracked,
            row.cancelled],
            render: (row) => [nameLink(encOf(row, 'id'), jobHref(encOf(row, 'id'))), row.tracked &&
                badge('tracked', 'violet'), row.cancelled && badge('cancelled', 'warn')] },
        { key: 'state', label: 'State', get: (row) => row.state, sig: (row) => encsOf(row, 'blocked_by').join(' '),
            render: (row) => [stateBadge(row.state), encsOf(row, 'blocked_by').length > 0 && badge('blocked', 'bad')] },
        !queue && { key: 'queue', label: 'Queue', get: (row) => shown(encOf(row, 'queue') || ''), render: (row) =>
            nameLink(encOf(row, 'queue'), queueHref(encOf(row, 'queue'))) },
        { key: 'priority', label: 'Priority', num: true, get: (row) => row.priority },
        { key: 'retried', label: 'Retried', num: true, get: (row) => row.retried, sig: (row) => row.retries,
            render: (row) => [num(row.retried), h('span', { class: 'none' }, ` / ${num(row.retries)}`)] },
        { key: 'since', label: 'Since', num: true, get: (row) => row.since_ms, render: (row) =>
            agoElement(row.since_ms) },
        { key: 'due', label: 'Due', num: true, get: (row) => row.due_at_ms,
            render: (row) => agoElement(row.due_at_ms) },
        { key: 'tags', label: 'Tags', get: (row) => encsOf(row, 'tags').join(' '), render: tagChips, phone: 'wide' },
        { key: 'data', label: 'Data', className: 'clip mono muted', phone: 'wide', get: (row) =>
            excerpt(payloadOf(row, 'data'), 60) },
    ].filter(Boolean);
}

/* ---- how many ---- */

function countsTable(state) {
    const count = (key) => ({ key, label: key[0].toUpperCase() + key.slice(1), num: true, get: (row) => row[key] ?? 0,
        render: (row) => (row[key] > 0 ? h('a', { class: `count-link ${key === 'failed' ? 'bad-text' : ''}`,
            href: withQuery('#/jobs', { queue: encOf(row, 'queue'), state: key }) }, num(row[key]))
            : h('span', { class: 'none' }, '0')) });
    return new Table({ id: 'job-counts', caption: 'Jobs in each state', rowKey: (row) => encOf(row, 'queue'),
        sort: { key: 'queue', down: false }, columns: [
            { key: 'queue', label: 'Queue', phone: 'title', get: (row) => shown(encOf(row, 'queue')), render: (row) =>
                nameLink(encOf(row, 'queue'), queueHref(encOf(row, 'queue'))) },
            ...(state ? [state] : STATES).map(count)],
        empty: () => empty(state ? `No job is ${state}` : 'No jobs yet', 'A job is a task with an id and a record: ' +
            'priority, delay, retries, dependencies, a history, a result.',
        'muster put print --id pack-17 "parcel 17" --retries 3') });
}

async function showCounts(view, body) {
    const { state } = view.query, table = countsTable(STATES.includes(state) ? state : null);
    const tags = h('div', {});
    async function load() {
        const { items } = await list('jobs', view.signal);
        table.setRows(items.filter((row) => (state ? row[state] > 0 : STATES.some((key) => row[key] > 0))));
        table.order();
    }
    async function loadTags() {
        const { items } = await list('jobs?tags=1&count=30', view.signal);
        if (items.length && items[0].jobs !== undefined)
            replace(tags, card('Tags', h('p', { class: 'chips pad' }, items.map((row) => h('a', { class: 'chip',
                href: withQuery('#/jobs', { tag: encOf(row, 'tag') }) }, h('bdi', {}, shown(encOf(row, 'tag'))),
            h('span', { class: 'muted' }, ` ${num(row.jobs)}`)))), { sub: 'those of the most jobs' }));
    }
    await load();
    replace(body, h('div', { class: 'stack' }, card(state ? `Jobs that are ${state}, by queue` : 'By queue and state',
        table.node, { id: 'job-counts-title' }), tags));
    loadTags().catch(() => null); // the list of tags is an addition: without it nothing is missing above
    view.every(LOOK_MS, () => load().catch((error) => showError(view, body, error)));
}

/* ---- which ones ---- */

async function showList(view, body) {
    const { queue, state, tag, group, tracked } = view.query, pages = [null];
    const table = new Table({ id: 'jobs', caption: 'Jobs', columns: jobColumns({ queue }), fixed: true,
        rowKey: (row) => encOf(row, 'id'), announce: 'job',
        empty: () => empty('No job matches', 'A job is found by its queue and state, by a tag, or by a group of ' +
            'failures; complete jobs are kept for 7 days by default.') });
    const foot = h('div', {}), where = h('div', {});
    async function load() {
        const cursor = pages[pages.length - 1];
        let answer;
        try {
            answer = await list(withQuery('jobs', { queue, state: group ? null : state, tag, group, tracked,
                cursor: cursor && encodeURIComponent(cursor), count: COUNT }), view.signal);
        } catch (error) {
            showError(view, where, error, load);
            return;
        }
        if (cursor !== pages[pages.length - 1])
            return; // another page is wanted by now
        where.replaceChildren();
        table.setRows(answer.items);
        table.order();
        renew(foot, cursorPager({ pages, answer, load }));
    }
    await load();
    replace(body, h('div', { class: 'card' }, where, table.node, foot));
    view.every(LOOK_MS, load);
}

/* ---- the form ---- */

function searchForm(view) {
    const { query } = view;
    const text = (key, placeholder) => h('input', { type: 'text', name: key, value: query[key] ? shown(query[key]) : '',
        placeholder, autocomplete: 'off', spellcheck: 'false', list: key === 'queue' ? 'queue-names' : null });
    const id = text('id', 'exact'), queue = text('queue', 'any'), tag = text('tag', 'any'), group = text('group',
        'any');
    const state = h('select', { name: 'state' }, [['', 'any'], ...STATES.map((name) => [name, name])].map(([value,
        name]) => h('option', { value, selected: value === (query.state || '') }, name)));
    const names = h('datalist', { id: 'queue-names' });
    list('queues', view.signal).then(({ items }) => replace(names, items.slice(0, 500).filter((row) => row.queue)
        .map((row) => h('option', { value: row.queue })))).catch(() => null);
    const value = (input, key) => (query[key] && input.value === shown(query[key]) ? query[key]
        : encode(input.value.trim()));
    return h('form', { class: 'card filters', role: 'search', 'aria-label': 'Jobs', on: { submit(event) {
        event.preventDefault();
        location.hash = id.value.trim() ? jobHref(encode(id.value.trim())) : withQuery('#/jobs', {
            queue: value(queue, 'queue'), state: state.value, tag: value(tag, 'tag'), group: value(group, 'group') });
    } } }, field('Id', id, { id: 'job-id' }), field('Queue', queue, { id: 'job-queue' }),
    field('State', state, { id: 'job-state' }), field('Tag', tag, { id: 'job-tag' }),
    field('Group of failures', group, { id: 'job-group' }),
    h('div', { class: 'filters-end' }, h('button', { type: 'submit', class: 'button primary' }, 'Search'),
        button('Clear', { onClick: () => location.assign('#/jobs') })), names);
}

export default async function jobs(view) {
    const { queue, state, tag, group, tracked } = view.query;
    view.title = 'Jobs';
    const body = h('div', {}, loading());
    replace(view.node, heading('Jobs', { sub: 'Tasks with an id and a record' }), searchForm(view), body);
    if (group && !queue)
        replace(body, h('div', { class: 'note warn' }, 'A group of failures is one of a queue: name the queue, too.'));
    else if (tag || tracked || group || (queue && state))
        await showList(view, body);
    else if (queue)
        location.replace(withQuery('#/jobs', { queue, state: 'waiting' }));
    else
        await showCounts(view, body);
    if (state && !queue && !tag && !tracked)
        view.title = `Jobs: ${state}`;
}
