/* SPDX-License-Identifier: MIT
 *
 * Shows bytes: JSON in its usual form, other text as it is, anything else as hex. All of it is set as text. The
 * beginning comes first, the rest when it is asked for: a payload may have megabytes.
 */
import { h, put } from './dom.js';
import { bytes as size } from './format.js';
import { bytesOfBase64, visible } from './names.js';
import { button, copyButton, segments } from './parts.js';

const FIRST_CHARS = 20000, FIRST_BYTES = 4096, LINE = 16;

/* A field of a row that holds bytes: null, or {text} or {bytes}, how many are here, and its length, which is more if
 * they are only its beginning. */
export function payloadOf(row, key) {
    const whole = { message: null, result: row.result_len ?? null }[key];
    const has = (here, part) => ({ ...part, here, len: (whole === undefined ? row.len : whole) ?? here });
    if (typeof row[key] === 'string')
        return has(new TextEncoder().encode(row[key]).length, { text: row[key] });
    if (typeof row[key + '_base64'] === 'string') {
        const bytes = bytesOfBase64(row[key + '_base64']);
        return has(bytes.length, { bytes });
    }
    return null;
}

/* One line of it, for tables. */
export function excerpt(payload, chars = 160) {
    if (!payload)
        return '–';
    if (payload.bytes)
        return Array.from(payload.bytes.slice(0, 24), hex2).join(' ') + (payload.bytes.length > 24 ? ' …' : '');
    const text = payload.text.length > chars ? payload.text.slice(0, chars) + '…' : payload.text;
    return text === '' ? '(empty)' : visible(text.replace(/[\n\t]+/g, ' '));
}

const hex2 = (byte) => byte.toString(16).padStart(2, '0');

function hexLines(bytes) {
    const lines = [];
    for (let at = 0; at < bytes.length; at += LINE) {
        const part = Array.from(bytes.slice(at, at + LINE));
        const hex = part.map((b, i) => hex2(b) + (i === 7 ? ' ' : '')).join(' ').padEnd(LINE * 3 + 1);
        const text = part.map((b) => (b >= 32 && b < 127 ? String.fromCharCode(b) : '.')).join('');
        lines.push(`${at.toString(16).padStart(8, '0')}  ${hex} ${text}`);
    }
    return lines.join('\n');
}

/* Only blanks are put in: what JSON.parse() makes of it has other numbers, and of two equal keys one. In what it has
 * read each quote has its other one, so the pattern of a string looks no further. */
function pretty(text) {
    if (!/^\s*[[{]/.test(text))
        return null;
    try {
        JSON.parse(text);
    } catch (e) {
        return null;
    }
    let out = '', depth = 0, before = '';
    for (const [token] of text.matchAll(/"(?:[^"\\]+|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g)) {
        const opened = before === '{' || before === '[', closes = token === '}' || token === ']';
        depth -= closes;
        if (closes ? !opened : opened || before === ',')
            out += '\n' + '  '.repeat(depth);
        out += token + (token === ':' ? ' ' : '');
        depth += token === '{' || token === '[';
        before = token;
    }
    return out;
}

/* Newlines and tabs are kept; what else is invisible is shown. */
const readable = (text) => text.split('\n').map((line) => line.split('\t').map(visible).join('\t')).join('\n');

/* Keys, strings and numbers of JSON in colours. */
function coloured(text) {
    const out = [];
    const token = /("(?:[^"\\]|\\.)*")(\s*:)?|-?\d[\d.eE+-]*|\b(?:true|false|null)\b/g;
    let at = 0;
    for (let found = token.exec(text); found; found = token.exec(text)) {
        out.push(text.slice(at, found.index));
        const kind = found[1] ? (found[2] ? 'j-key' : 'j-string') : 'j-number';
        out.push(h('span', { class: kind }, found[1] || found[0]), found[2] || '');
        at = token.lastIndex;
    }
    return [...out, text.slice(at)];
}

export function payloadBlock(payload, title) {
    if (!payload)
        return null;
    const json = payload.text !== undefined ? pretty(payload.text) : null;
    const views = payload.bytes ? ['hex'] : json ? ['json', 'text', 'hex'] : ['text', 'hex'];
    const names = { json: 'JSON', text: 'Text', hex: 'Hex' };
    const pre = h('pre', { class: 'payload', tabindex: 0, role: 'region', 'aria-label': title });
    const rest = h('div', { class: 'more' });
    let view = views[0];
    function show(all) {
        const raw = view === 'hex' ? payload.bytes || new TextEncoder().encode(payload.text)
            : view === 'json' ? json : payload.text;
        const limit = view === 'hex' ? FIRST_BYTES : FIRST_CHARS;
        const part = all ? raw : raw.slice(0, limit);
        pre.replaceChildren();
        put(pre, view === 'hex' ? hexLines(part) : view === 'json' ? coloured(readable(part)) : readable(part));
        if (raw.length === 0)
            put(pre, h('span', { class: 'muted' }, '(empty)'));
        rest.replaceChildren();
        if (part.length < raw.length)
            put(rest, button(`Show all ${size(payload.here)}`, { small: true, onClick: () => show(true) }));
        const words = `These are the first ${size(payload.here)} of ${size(payload.len)}.`;
        if (payload.here < payload.len)
            put(rest, h('span', { class: 'muted' }, words));
    }
    show(false);
    return h('div', { class: 'payload-box' },
        h('div', { class: 'payload-head' }, h('span', { class: 'payload-title' }, title),
            h('span', { class: 'muted' }, size(payload.len)),
            views.length > 1 && segments(`${title}: show as`, views.map((key) => ({ key, text: names[key] })), view,
                (key) => {
                    view = key;
                    show(false);
                }),
            copyButton(() => payload.text ?? Array.from(payload.bytes, hex2).join(''), `Copy: ${title}`)),
        pre, rest);
}
