/* SPDX-License-Identifier: MIT
 *
 * The one stream of events from the server, shared by all views. The browser reconnects by itself after a cut, but
 * gives up after an answer that is no stream; then this asks again, less and less often. What it hears may be that
 * Redis gives no answer: that is so until the next overview.
 */
import { get } from './api.js';
import { setNow } from './format.js';

const KINDS = ['overview', 'queues', 'workers', 'job', 'hearing', 'trouble'];
const RETRY_FIRST_MS = 1000, RETRY_MOST_MS = 15000;
const SILENCE_MS = 12000;

/* A browser has some six connections to a host, over all of its tabs, and a stream takes one for as long as it is
 * open. So a page that nobody sees has none, unless it keeps what it hears. */
let keepers = 0;
const isWanted = () => !document.hidden || keepers > 0;

const target = new EventTarget();
let source = null, retry_ms = RETRY_FIRST_MS, timer = 0, heard = 0;
export let state = 'connecting';
export const last = {};

function setState(next) {
    if (state === next)
        return;
    state = next;
    target.dispatchEvent(new CustomEvent('state', { detail: next }));
}

function onData(kind, text) {
    let detail;
    try {
        detail = JSON.parse(text);
    } catch (e) {
        return; // half of an event, when the server was stopped
    }
    heard = Date.now();
    retry_ms = RETRY_FIRST_MS;
    last[kind] = detail;
    if (kind === 'overview')
        setNow(detail.now);
    setState(kind === 'trouble' || (state === 'trouble' && kind !== 'overview') ? 'trouble' : 'live');
    target.dispatchEvent(new CustomEvent(kind, { detail }));
}

function again() {
    source?.close();
    source = null;
    clearTimeout(timer);
    timer = setTimeout(connect, retry_ms);
    retry_ms = Math.min(retry_ms * 2, RETRY_MOST_MS);
}

async function onError() {
    setState('lost');
    if (source && source.readyState === EventSource.CONNECTING && retry_ms === RETRY_FIRST_MS) {
        retry_ms *= 2;
        return; // it tries by itself
    }
    again();
    try {
        await get('session'); // goes to the sign-in page when the token is asked for again
    } catch (e) { /* said by the state */ }
}

function disconnect() {
    clearTimeout(timer);
    source?.close();
    source = null;
}

export function connect() {
    disconnect();
    if (!isWanted())
        return;
    source = new EventSource('/api/live');
    heard = Date.now();
    for (const kind of KINDS)
        source.addEventListener(kind, (event) => onData(kind, event.data));
    source.onerror = onError;
}

/* A connection can die without a word, as after a laptop's sleep: an overview comes each second. */
setInterval(() => {
    if (source && (state === 'live' || state === 'trouble') && Date.now() - heard > SILENCE_MS) {
        setState('lost');
        again();
    }
}, 2000);
document.addEventListener('visibilitychange', () => {
    if (!isWanted())
        disconnect();
    else if (!source)
        connect();
});
addEventListener('online', () => state !== 'live' && connect());
addEventListener('pagehide', () => source?.close());
addEventListener('pageshow', (event) => event.persisted && connect());

/* Until the signal events are heard also while the page is not seen. */
export function keep(signal) {
    keepers++;
    signal.addEventListener('abort', () => keepers--, { once: true });
    if (!source)
        connect();
}

/* Calls fn(detail) at each event, until the signal. */
export function on(kind, fn, signal) {
    target.addEventListener(kind, (event) => fn(event.detail), { signal });
}
