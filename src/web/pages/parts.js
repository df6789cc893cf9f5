/* SPDX-License-Identifier: MIT
 *
 * Small parts that several pages share: headings, buttons, badges, empty states, errors in place, paging.
 */
import { h, put, replace } from './dom.js';
import { icon } from './icons.js';
import { shown } from './names.js';

export function heading(title, { sub, back, actions, badges } = {}) {
    return h('div', { class: 'heading' },
        h('div', { class: 'heading-text' },
            back && h('a', { class: 'back', href: back.href }, icon('left', 15), back.text),
            h('h1', { tabindex: -1 }, h('span', {}, title), badges),
            sub && h('p', { class: 'sub' }, sub)),
        actions && h('div', { class: 'actions' }, actions));
}

export function button(text, { icon: name, kind = '', title, onClick, label, small, expanded } = {}) {
    return h('button', { type: 'button', class: `button ${kind} ${small ? 'small' : ''}`, title, 'aria-label': label,
        'aria-expanded': expanded, on: onClick && { click: onClick } }, name && icon(name, small ? 16 : 17),
    text && h('span', {}, text));
}

export const iconButton = (name, label, onClick, kind = '') => h('button', { type: 'button',
    class: `icon-button ${kind}`, 'aria-label': label, title: label, on: { click: onClick } }, icon(name));

export const badge = (text, kind = '') => h('span', { class: `badge ${kind}` }, text);

const STATE_KINDS = { scheduled: 'info', depends: 'info', waiting: 'accent', held: 'info', running: 'good',
    failed: 'bad', complete: 'plain', recurring: 'violet', gone: 'plain', open: 'accent', closed: 'info' };
export const stateBadge = (state) => badge(state, `state ${STATE_KINDS[state] || 'plain'}`);

export const nameElement = (enc) => h('bdi', { class: 'name' }, shown(enc));
export const nameLink = (enc, href) => h('a', { class: 'name', href }, h('bdi', {}, shown(enc)));

/* What to do next, where there is nothing. */
export function empty(title, text, command) {
    return h('div', { class: 'empty' }, h('p', { class: 'empty-title' }, title), text && h('p', {}, text),
        command && commandLine(command));
}

export function commandLine(command) {
    return h('div', { class: 'command' }, h('code', {}, command), copyButton(() => command, 'Copy the command'));
}

export function copyButton(text, label) {
    const node = iconButton('copy', label, async () => {
        await copy(text());
        node.replaceChildren(icon('check'));
        node.classList.add('done');
        setTimeout(() => {
            node.replaceChildren(icon('copy'));
            node.classList.remove('done');
        }, 1500);
    });
    return node;
}

/* Without TLS and beyond loopback the browser gives no clipboard; the old way still works there. */
async function copy(text) {
    if (navigator.clipboard && isSecureContext)
        return navigator.clipboard.writeText(text).catch(() => copyBySelection(text));
    return copyBySelection(text);
}

function copyBySelection(text) {
    const area = put(h('textarea', { class: 'away', 'aria-hidden': 'true', readonly: true }), text);
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
}

export function errorNote(error, retry) {
    return h('div', { class: 'note bad', role: 'alert' },
        h('div', {}, h('strong', {}, error.code ? `${error.code}: ` : ''), error.message),
        retry && button('Try again', { small: true, icon: 'replay', onClick: retry }));
}

/* What failed, in this place; nothing if the page has been left meanwhile. */
export function showError(view, where, error, retry) {
    if (!view.signal.aborted)
        replace(where, errorNote(error, retry));
}

export const loading = () => h('div', { class: 'loading', role: 'status' }, h('span', { class: 'spinner' }),
    'Loading…');

export function card(title, body, { actions, id, sub, kind = '' } = {}) {
    const labelled = title && (id || `card-${title.toLowerCase().replace(/[^a-z]+/g, '-')}`);
    return h('section', { class: `card ${kind}`, 'aria-labelledby': labelled || null },
        title && h('div', { class: 'card-head' }, h('h2', { id: labelled }, title),
            sub && h('span', { class: 'muted' }, sub), actions && h('div', { class: 'actions' }, actions)),
        body);
}

/* One of several, as links: the page's address says which. */
export function tabLinks(label, tabs, current) {
    return h('nav', { class: 'subtabs', 'aria-label': label }, h('ul', {}, tabs.map((tab) => h('li', {},
        h('a', { href: tab.href, 'aria-current': tab.key === current ? 'page' : null }, tab.text,
            tab.count !== undefined && h('span', { class: 'count', data: { tab: tab.key } }, tab.count))))));
}

/* A choice of one among few, as buttons. */
export function segments(label, options, value, onChange) {
    const group = h('div', { class: 'segments', role: 'group', 'aria-label': label });
    const buttons = options.map((option) => h('button', { type: 'button', 'aria-pressed': String(option.key === value),
        on: { click() {
            for (const [i, one] of buttons.entries())
                one.setAttribute('aria-pressed', String(options[i].key === option.key));
            onChange(option.key);
        } } }, option.text));
    return put(group, buttons);
}

export function field(label, input, { hint, id } = {}) {
    input.id = input.id || id || `f-${label.toLowerCase().replace(/[^a-z]+/g, '-')}`;
    const note = hint && h('span', { class: 'hint', id: input.id + '-hint' }, hint);
    if (note)
        input.setAttribute('aria-describedby', note.id);
    return h('div', { class: 'field' }, h('label', { for: input.id }, label), input, note);
}

/* Label and value pairs; those without a value are left out. */
export const facts = (pairs) => h('dl', { class: 'facts' }, pairs.filter((pair) => pair && pair[1] !== null &&
    pair[1] !== undefined && pair[1] !== '' && pair[1] !== false)
    .map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value))));

/* A bar of how much of the whole is used. Without a known whole there is only the figure. */
export function meter(value, max, label) {
    const share = max > 0 ? Math.min(1, value / max) : 0;
    const kind = share >= 1 ? 'full' : share >= 0.8 ? 'high' : '';
    return h('div', { class: 'meter', role: 'img', 'aria-label': label },
        h('div', { class: `meter-bar ${kind}`, vars: { '--share': `${(share * 100).toFixed(1)}%` } }));
}
