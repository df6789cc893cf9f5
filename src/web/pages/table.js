/* SPDX-License-Identifier: MIT
 *
 * A table that keeps up with live rows: cells change in place, and only those whose content has changed, so that
 * focus, selection and a screen reader stay where they are. On a phone each row becomes a card (parts.css); the roles
 * are set in so many words, because a browser takes them away together with the display of a table.
 *
 * A column: {key, label, get(row): what is compared and sorted by, render(row): content (default: get), sig(row): what
 * else the content depends on, num: a figure, sort: false, phone: 'title' | 'wide' | 'hide' | 'action'}.
 */
import { h, put, replace, freshId } from './dom.js';
import { num, plural } from './format.js';
import { button } from './parts.js';

/* What a cell does keeps its row: so that stays the same object, and has what was seen last. */
function refill(row, fresh) {
    for (const key of Object.keys(row))
        if (!(key in fresh))
            delete row[key];
    return Object.assign(row, fresh);
}

const PAGE = 100;
const SETTLE_MS = 4000;

export class Table {
    constructor(options) {
        this.options = options;
        this.rows = [];
        this.lines = new Map(); // key of a row -> {node, cells, sigs, row}
        this.limit = PAGE;
        this.sort = this.savedSort() || options.sort || null;
        this.picked = new Set();
        this.filter = () => true;
        this.ordered_at = 0;
        this.build();
    }

    build() {
        const { caption, columns } = this.options;
        this.body = h('tbody', { role: 'rowgroup' });
        this.table = h('table', { class: `table ${this.options.className || ''}`, role: 'table' },
            h('caption', { class: 'away' }, caption),
            h('thead', { role: 'rowgroup' }, h('tr', { role: 'row' },
                this.options.pick && this.pickHead(),
                columns.map((column) => this.headCell(column)))),
            this.body);
        this.more = h('div', { class: 'more', hidden: true });
        this.none = h('div', { hidden: true });
        this.status = h('p', { class: 'away', role: 'status', 'aria-live': 'polite' });
        this.node = h('div', { class: 'table-box' }, this.sortSelect(), this.table, this.none, this.more, this.status);
        this.showSort();
    }

    /* ---- head and order ---- */

    headCell(column) {
        const sortable = column.sort !== false && column.get && !this.options.fixed;
        return h('th', { scope: 'col', role: 'columnheader', class: column.num ? 'num' : '',
            data: { key: column.key } },
            sortable ? h('button', { type: 'button', class: 'sort', on: { click: () => this.sortBy(column) } },
                column.label, h('span', { class: 'arrow', 'aria-hidden': 'true' }))
                : column.label || h('span', { class: 'away' }, column.hidden || 'Actions'));
    }

    /* For the phone, where there is no head to press. */
    sortSelect() {
        if (this.options.fixed || this.options.many)
            return null;
        const id = freshId('sort');
        this.select = h('select', { id, on: { change: () => {
            const [key, down] = this.select.value.split(' ');
            this.setSort({ key, down: down === 'down' });
        } } }, this.options.columns.filter((c) => c.get && c.sort !== false).flatMap((c) => [
            h('option', { value: `${c.key} down` }, `${c.label}, ${c.num ? 'most' : 'last'} first`),
            h('option', { value: `${c.key} up` }, `${c.label}, ${c.num ? 'least' : 'first'} first`)]));
        return h('div', { class: 'phone-sort' }, h('label', { for: id }, 'Order'), this.select);
    }

    savedSort() {
        try {
            return JSON.parse(localStorage.getItem('muster.sort.' + this.options.id));
        } catch (e) {
            return null;
        }
    }

    sortBy(column) {
        const same = this.sort?.key === column.key;
        this.setSort({ key: column.key, down: same ? !this.sort.down : Boolean(column.num) });
    }

    setSort(sort) {
        this.sort = sort;
        try {
            localStorage.setItem('muster.sort.' + this.options.id, JSON.stringify(sort));
        } catch (e) { /* then only for this visit */ }
        this.showSort();
        this.order();
        const column = this.options.columns.find((c) => c.key === sort.key);
        this.status.textContent = `Ordered by ${column?.label}, ${sort.down ? 'descending' : 'ascending'}`;
    }

    showSort() {
        for (const th of this.table.querySelectorAll('th[data-key]')) {
            const mine = this.sort?.key === th.dataset.key;
            if (mine)
                th.setAttribute('aria-sort', this.sort.down ? 'descending' : 'ascending');
            else
                th.removeAttribute('aria-sort');
        }
        if (this.select && this.sort)
            this.select.value = `${this.sort.key} ${this.sort.down ? 'down' : 'up'}`;
    }

    compare(a, b) {
        const column = this.options.columns.find((c) => c.key === this.sort?.key);
        if (!column)
            return 0;
        const x = column.get(a), y = column.get(b);
        const none = (v) => v === null || v === undefined;
        if (none(x) || none(y))
            return none(x) - none(y);
        const order = typeof x === 'number' && typeof y === 'number' ? x - y
            : String(x).localeCompare(String(y), 'en', { numeric: true });
        return this.sort.down ? -order : order;
    }

    /* ---- rows ---- */

    setRows(rows) {
        this.rows = rows;
        const keys = new Set(rows.map((row) => this.options.rowKey(row)));
        let areOthers = [...keys].some((key) => !this.lines.has(key));
        for (const row of rows)
            this.line(row);
        for (const [key, line] of this.lines)
            if (!keys.has(key)) {
                line.node.remove();
                this.lines.delete(key);
                this.picked.delete(key);
                areOthers = true;
            }
        // Rows do not run away from a hand or from the keyboard: then they keep their places for a while.
        const isBusy = this.body.matches(':hover') || this.body.contains(document.activeElement);
        const stay = isBusy || Date.now() - this.ordered_at <= SETTLE_MS;
        if (areOthers || !stay)
            this.order(stay);
        this.onPick();
    }

    setFilter(filter) {
        this.filter = filter;
        this.limit = PAGE;
        this.order();
    }

    /* `stay`: what is shown keeps its place, and what is new comes behind it. */
    order(stay) {
        if (!stay)
            this.ordered_at = Date.now();
        const rows = this.rows.filter(this.filter), nodeOf = (row) => this.lines.get(this.options.rowKey(row)).node;
        if (this.sort && !this.options.fixed)
            rows.sort((a, b) => this.compare(a, b));
        const places = new Map(stay ? [...this.body.children].map((node, i) => [node, i]) : []);
        const place = (row) => places.get(nodeOf(row)) ?? places.size;
        const nodes = rows.sort((a, b) => place(a) - place(b)).slice(0, this.limit).map(nodeOf);
        const now = this.body.children;
        if (nodes.length !== now.length || nodes.some((node, i) => node !== now[i])) {
            const focused = document.activeElement;
            this.body.replaceChildren(...nodes);
            if (focused && this.body.contains(focused))
                focused.focus({ preventScroll: true });
        }
        this.showRest(rows.length);
    }

    showRest(n) {
        const rest = n - this.limit;
        this.more.hidden = rest <= 0 && !this.options.onMore;
        if (rest > 0)
            replace(this.more, button(`Show ${num(Math.min(rest, PAGE))} more of ${num(rest)}`, { onClick: () => {
                this.limit += PAGE;
                this.order();
            } }));
        else if (this.options.onMore)
            replace(this.more, this.options.onMore());
        this.table.hidden = n === 0;
        this.none.hidden = n > 0;
        if (n === 0)
            replace(this.none, this.rows.length ? this.options.noMatch?.() : this.options.empty?.());
        if (this.said !== n && this.said !== undefined && this.options.announce)
            this.status.textContent = plural(n, this.options.announce);
        this.said = n;
    }

    line(row) {
        const key = this.options.rowKey(row);
        let line = this.lines.get(key);
        if (!line) {
            line = { node: h('tr', { role: 'row' }), cells: [], sigs: [], row: {} };
            this.lines.set(key, line);
            if (this.options.pick)
                line.node.append(this.pickCell(key, row));
            for (const column of this.options.columns)
                line.node.append(this.cell(line, column));
        }
        refill(line.row, row);
        line.node.className = this.options.rowClass ? this.options.rowClass(row) : '';
        this.options.columns.forEach((column, i) => this.update(line, column, i));
        return line;
    }

    cell(line, column) {
        const head = column.phone === 'title';
        const node = h(head ? 'th' : 'td', { role: head ? 'rowheader' : 'cell', scope: head ? 'row' : null,
            class: `${column.num ? 'num' : ''} at-${column.phone || 'stat'} ${column.className || ''}`,
            data: { label: column.label || '', key: column.key } });
        line.cells.push(node);
        return node;
    }

    update(line, column, i) {
        const sig = JSON.stringify([column.get?.(line.row), column.sig?.(line.row)]);
        if (line.sigs[i] === sig)
            return;
        line.sigs[i] = sig;
        const cell = line.cells[i], had = cell.contains(document.activeElement);
        const content = column.render ? column.render(line.row) : column.get(line.row);
        replace(cell, content ?? h('span', { class: 'none' }, '–'));
        if (had)
            cell.querySelector('a, button, input')?.focus({ preventScroll: true });
    }

    /* ---- picking rows ---- */

    pickHead() {
        this.pickAll = h('input', { type: 'checkbox', 'aria-label': 'Select all rows shown', on: { change: () => {
            for (const tr of this.body.children)
                tr.querySelector('input[data-pick]').checked = this.pickAll.checked;
            this.readPicks();
        } } });
        return h('th', { scope: 'col', role: 'columnheader', class: 'pick' }, this.pickAll);
    }

    pickCell(key, row) {
        return h('td', { role: 'cell', class: 'pick' }, h('input', { type: 'checkbox', data: { pick: key },
            'aria-label': `Select ${this.options.pick(row)}`, on: { change: () => this.readPicks() } }));
    }

    readPicks() {
        this.picked = new Set([...this.body.querySelectorAll('input[data-pick]:checked')].map((i) => i.dataset.pick));
        this.onPick();
    }

    onPick() {
        if (!this.pickAll)
            return;
        const n = this.body.children.length;
        this.pickAll.checked = n > 0 && this.picked.size === n;
        this.pickAll.indeterminate = this.picked.size > 0 && this.picked.size < n;
        this.options.onPick?.([...this.picked]);
    }

    clearPicks() {
        for (const input of this.body.querySelectorAll('input[data-pick]'))
            input.checked = false;
        this.readPicks();
    }
}

/* "1-50 of 1,234", and the ways to the next and the former ones. */
export function pager({ from, n, total, next, onPrev, onNext }) {
    const what = n === 0 ? 'none' : `${num(from + 1)}–${num(from + n)}`;
    return put(h('div', { class: 'pager' }),
        h('span', { class: 'muted' }, total === null || total === undefined ? what : `${what} of ${num(total)}`),
        onPrev && button('Previous', { small: true, icon: 'left', onClick: onPrev }),
        next && button('Next', { small: true, icon: 'right', onClick: onNext }));
}

/* The same for a list that is read by cursors, each of which is how many rows come before it: a page may end early.
 * `pages` has those of the pages so far, null first; `load` reads the last page. */
export function cursorPager({ pages, answer, load }) {
    const step = (change) => () => {
        change();
        load();
    };
    return (answer.next || pages.length > 1) && pager({ from: Number(pages[pages.length - 1]), n: answer.items.length,
        total: answer.total, next: answer.next, onPrev: pages.length > 1 && step(() => pages.pop()),
        onNext: step(() => pages.push(answer.next)) });
}
