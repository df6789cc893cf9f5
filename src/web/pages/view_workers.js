/* SPDX-License-Identifier: MIT
 *
 * The workers, by host: whether they are heard, how many of their hands are in use, what they serve.
 */
import { failWorker, may } from './actions.js';
import { list } from './api.js';
import { h, replace } from './dom.js';
import { agoElement, num, plural, span } from './format.js';
import { changed, encsOf, queueHref, shown, visible, withQuery } from './names.js';
import { badge, button, card, empty, heading, loading, meter, nameLink, showError } from './parts.js';
import { Table } from './table.js';

const LOOK_MS = 15000, QUEUES_SHOWN = 4;

function nameCell(row) {
    return [h('span', { class: `dot ${row.alive ? 'good' : 'bad'}`, 'aria-hidden': 'true' }),
        h('span', { class: 'name' }, visible(row.worker)), !row.alive && badge('not heard', 'bad'),
        row.permanent && badge('permanent', 'violet')];
}

function handsCell(row) {
    return h('div', { class: 'hands' }, meter(row.held, row.hands,
        `${num(row.held)} of ${num(row.hands)} hands in use`),
        h('a', { class: 'quiet', href: withQuery('#/running', { worker: encodeURIComponent(row.worker) }) },
            `${num(row.held)} / ${num(row.hands)}`));
}

function queuesCell(row) {
    const names = encsOf(row, 'queues');
    return h('span', { class: 'chips' }, names.slice(0, QUEUES_SHOWN).map((enc) => h('span', { class: 'chip' },
        nameLink(enc, queueHref(enc)))), names.length > QUEUES_SHOWN && h('span', { class: 'muted', title:
        names.map(shown).join(', ') }, `+${num(names.length - QUEUES_SHOWN)}`));
}

function heard(ms) {
    if (ms === null || ms === undefined || ms < 0)
        return null;
    return ms < 1000 ? 'just now' : `${span(ms)} ago`;
}

function columns(reload, row) {
    return [
        { key: 'worker', label: 'Worker', phone: 'title', get: (row) => row.worker, sig: (row) => [row.alive,
            row.permanent], render: nameCell },
        { key: 'hands', label: 'Hands in use', get: (row) => (row.hands ? row.held / row.hands : 0),
            sig: (row) => [row.held, row.hands], render: handsCell, phone: 'wide' },
        { key: 'heard', label: 'Heard', num: true, get: (row) => row.heard_ms, render: (row) => heard(row.heard_ms) },
        { key: 'ttl', label: 'TTL', num: true, get: (row) => row.ttl_ms, render: (row) => span(row.ttl_ms) },
        { key: 'pid', label: 'PID', num: true, get: (row) => row.pid, render: (row) => String(row.pid ?? '–') },
        row.epoch !== undefined && { key: 'epoch', label: 'Epoch', num: true, get: (row) => row.epoch ?? null },
        { key: 'started', label: 'Started', num: true, get: (row) => row.started_at_ms,
            render: (row) => agoElement(row.started_at_ms) },
        { key: 'version', label: 'Version', get: (row) => row.version },
        { key: 'queues', label: 'Queues', phone: 'wide', get: (row) => encsOf(row, 'queues').join(' '),
            render: queuesCell },
        may() && { key: 'act', label: '', phone: 'action', className: 'act', get: null,
            render: (row) => button('Fail', {
            small: true, icon: 'stop', kind: row.alive ? '' : 'quiet-danger', label: `Fail worker ${row.worker}`,
            title: 'Declare it dead: its tasks go back', onClick: async () => {
                if (await failWorker(row))
                    reload();
            } }) },
    ].filter(Boolean);
}

/* A card for each host, which stays while its workers come and go. */
class Hosts {
    constructor(reload) {
        this.reload = reload;
        this.node = h('div', { class: 'stack' });
        this.hosts = new Map();
    }

    show(rows) {
        const byHost = Map.groupBy ? Map.groupBy(rows, (row) => row.host || '') : groupBy(rows, (row) => row.host ||
            '');
        for (const [host, one] of this.hosts)
            if (!byHost.has(host)) {
                one.node.remove();
                this.hosts.delete(host);
            }
        for (const host of [...byHost.keys()].sort()) {
            const one = this.hosts.get(host) || this.add(host, byHost.get(host)[0]);
            const mine = byHost.get(host), held = sum(mine, 'held'), hands = sum(mine, 'hands');
            one.sub.textContent = `${plural(mine.length, 'worker')}, ${num(held)} of ${num(hands)} hands in use`;
            one.table.setRows(mine);
        }
    }

    add(host, row) {
        const table = new Table({ id: 'workers', caption: `Workers on ${host || 'an unknown host'}`, many: true,
            columns: columns(this.reload, row), sort: { key: 'worker', down: false }, rowKey: (row) => row.worker,
                className: 'workers',
            rowClass: (row) => (row.alive ? '' : 'is-dead'), noMatch: () => empty('None of them matches') });
        const sub = h('span', {});
        const node = card(visible(host) || 'Unknown host', table.node, { sub, id: `host-${this.hosts.size}` });
        this.hosts.set(host, { table, sub, node });
        this.node.append(node);
        return this.hosts.get(host);
    }

    filter(fn) {
        for (const { table } of this.hosts.values())
            table.setFilter(fn);
    }
}

const sum = (rows, key) => rows.reduce((all, row) => all + (row[key] || 0), 0);

function groupBy(rows, keyOf) {
    const groups = new Map();
    for (const row of rows)
        groups.set(keyOf(row), [...(groups.get(keyOf(row)) || []), row]);
    return groups;
}

export default async function workers(view) {
    view.title = 'Workers';
    let rows = [];
    const where = h('div', {}), body = h('div', {}, loading()), sub = h('span', {}), hosts = new Hosts(reload);
    const filter = h('input', { type: 'search', class: 'filter', placeholder: 'Filter by id or queue',
        'aria-label': 'Filter workers by id or queue', on: { input() {
            const text = filter.value.toLowerCase();
            hosts.filter((row) => row.worker.toLowerCase().includes(text) ||
                encsOf(row, 'queues').some((enc) => shown(enc).toLowerCase().includes(text)));
        } } });
    replace(view.node, heading('Workers', { sub, actions: filter }), where, body);

    function show() {
        const dead = rows.filter((row) => !row.alive).length;
        sub.textContent = `${plural(rows.length, 'worker')}` + (dead ? `, ${num(dead)} not heard` : '') +
            `, ${num(sum(rows, 'held'))} of ${num(sum(rows, 'hands'))} hands in use`;
        if (rows.length === 0)
            replace(body, h('div', { class: 'card' }, empty('No worker is registered',
                'A worker registers when it starts, and is listed here until it leaves or is swept.',
                'muster work mail -- cat')));
        else {
            if (!hosts.node.isConnected)
                replace(body, hosts.node);
            hosts.show(rows);
        }
    }
    async function reload() {
        try {
            rows = (await list('workers', view.signal)).items;
            where.replaceChildren();
            show();
        } catch (error) {
            showError(view, where, error, reload);
        }
    }
    view.on('workers', (change) => {
        rows = changed(rows, change, 'worker');
        show();
    });
    view.every(LOOK_MS, reload);
    await reload();
}
