/* SPDX-License-Identifier: MIT
 *
 * Numbers, spans and times as people read them. The clock is that of the server: the browser's may be wrong.
 */
import { h } from './dom.js';

const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR;

export const num = (n) => (n === null || n === undefined ? '–' : whole.format(n));

/* At most about four figures, for tiles and axes. */
export function short(n) {
    if (n === null || n === undefined)
        return '–';
    for (const [unit, name] of [[1e12, ' T'], [1e9, ' G'], [1e6, ' M'], [1e4, ' k']])
        if (n >= unit) {
            const size = name === ' k' ? 1e3 : unit;
            const value = n / size;
            return (value >= 100 ? Math.round(value) : Math.round(value * 10) / 10) + name;
        }
    return n !== Math.round(n) && n < 10 ? n.toFixed(1) : whole.format(n);
}

export function rate(n) {
    if (n === null || n === undefined)
        return '–';
    if (n > 0 && n < 0.05)
        return '<0.1';
    return n > 0 && n < 9.95 ? n.toFixed(1) : short(Math.round(n));
}

export const perSecond = (n) => (n === null || n === undefined ? '–' : `${rate(n)}/s`);

export const plural = (n, one, many) => `${num(n)} ${n === 1 ? one : many || one + 's'}`;

export function bytes(n) {
    if (n === null || n === undefined)
        return '–';
    let unit = 0;
    const names = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
    while (n >= 1024 && unit < names.length - 1) {
        n /= 1024;
        unit++;
    }
    return `${unit && n < 100 ? n.toFixed(1) : Math.round(n)} ${names[unit]}`;
}

/* 350 ms, 4.2 s, 3 min 12 s, 2 h 5 min, 3 d 4 h */
export function span(ms) {
    if (ms === null || ms === undefined || ms < 0)
        return '–';
    if (ms < SECOND)
        return `${Math.round(ms)} ms`;
    if (ms < 10 * SECOND)
        return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
    if (ms < MINUTE)
        return `${Math.floor(ms / SECOND)} s`;
    const pair = (big, bigName, small, smallName) => {
        const rest = Math.floor((ms % big) / small);
        return `${Math.floor(ms / big)} ${bigName}` + (rest ? ` ${rest} ${smallName}` : '');
    };
    if (ms < HOUR)
        return pair(MINUTE, 'min', SECOND, 's');
    if (ms < DAY)
        return pair(HOUR, 'h', MINUTE, 'min');
    return pair(DAY, 'd', HOUR, 'h');
}

/* The largest unit alone: 14 min */
export function roughly(ms) {
    if (ms === null || ms === undefined)
        return '–';
    for (const [size, name] of [[DAY, 'd'], [HOUR, 'h'], [MINUTE, 'min']])
        if (ms >= size)
            return `${Math.floor(ms / size)} ${name}`;
    return ms < SECOND ? `${Math.round(ms)} ms` : `${Math.floor(ms / SECOND)} s`;
}

export function ago(ms) {
    const past = now() - ms;
    if (Math.abs(past) < 1500)
        return 'just now';
    return past > 0 ? `${roughly(past)} ago` : `in ${roughly(-past)}`;
}

/* ---- the server's clock ---- */

let ahead = 0;
export const now = () => Date.now() + ahead;
export function setNow(ms) {
    if (Number.isFinite(ms))
        ahead = ms - Date.now();
}

/* ---- elements that keep up with the clock ---- */

const iso = (ms) => (ms > -8.64e15 && ms < 8.64e15 ? new Date(ms).toISOString() : '');
export const isoTitle = (ms) => iso(ms).replace('T', ' ').replace('Z', ' UTC');

const pad = (n, len = 2) => String(n).padStart(len, '0');
export function clock(ms, withMs) {
    const d = new Date(ms);
    return `${pad(d.getHours())}:${pad(d.getMinutes())}:${pad(d.getSeconds())}` +
        (withMs ? `.${pad(d.getMilliseconds(), 3)}` : '');
}
export function day(ms) {
    const d = new Date(ms);
    return `${d.getFullYear()}-${pad(d.getMonth() + 1)}-${pad(d.getDate())}`;
}

const kinds = { ago, since: (ms) => span(Math.max(0, now() - ms)) };

function timeElement(kind, ms) {
    if (ms === null || ms === undefined)
        return h('span', { class: 'none' }, '–');
    return h('time', { datetime: iso(ms), title: isoTitle(ms), data: { kind, ms } }, kinds[kind](ms));
}
export const agoElement = (ms) => timeElement('ago', ms);
export const sinceElement = (ms) => timeElement('since', ms);

setInterval(() => {
    for (const node of document.querySelectorAll('time[data-kind]')) {
        const text = kinds[node.dataset.kind](Number(node.dataset.ms));
        if (node.textContent !== text)
            node.firstChild.data = text;
    }
}, 1000);
