/* SPDX-License-Identifier: MIT
 *
 * Talks to the server: JSON both ways, each call with a deadline, every failure an ApiError in words.
 */
import { setNow } from './format.js';

const DEADLINE_MS = 20000;

export class ApiError extends Error {
    constructor(status, name, message) {
        super(message);
        this.status = status;
        this.code = name;
    }
}

export const session = { csrf: '', read_only: true, version: '', prefix: '', server: '', engine: '' };

export function toLogin() {
    try {
        sessionStorage.setItem('muster.from', location.hash);
    } catch (e) { /* then the overview it is */ }
    location.assign('/login');
}

async function read(response) {
    let body = null;
    try {
        body = await response.json();
    } catch (e) {
        if (response.ok)
            throw new ApiError(response.status, 'E_BROKEN', 'The answer of the server is not JSON.');
    }
    if (response.ok && body?.error && body.done !== undefined) // of a change that was done in part
        throw new ApiError(response.status, body.error, `${body.message} (done: ${body.done})`);
    if (response.ok)
        return body;
    if (response.status === 401)
        toLogin();
    throw new ApiError(response.status, body?.error || '', body?.message || `The server answered ${response.status}.`);
}

async function call(path, options, signal) {
    const deadline = AbortSignal.timeout(DEADLINE_MS);
    const stop = signal ? anyOf(signal, deadline) : deadline;
    let response;
    try {
        response = await fetch(path, { ...options, signal: stop, credentials: 'same-origin', cache: 'no-store' });
        return await read(response);
    } catch (e) {
        if (e instanceof ApiError || signal?.aborted)
            throw e;
        if (deadline.aborted)
            throw new ApiError(0, 'E_TIMEOUT', `The server did not answer within ${DEADLINE_MS / 1000} seconds.`);
        throw new ApiError(0, 'E_LOST', 'The server cannot be reached. Does muster web still run?');
    }
}

function anyOf(...signals) {
    const both = new AbortController();
    for (const one of signals) {
        if (one.aborted)
            both.abort();
        one.addEventListener('abort', () => both.abort(), { once: true });
    }
    return both.signal;
}

export const get = (path, signal) => call('/api/' + path, { headers: { Accept: 'application/json' } }, signal);

/* A list: {items, next, total}. */
export async function list(path, signal) {
    const answer = await get(path, signal);
    return Array.isArray(answer) ? { items: answer, next: null, total: null } : answer;
}

async function send(path, body) {
    return call('/api/' + path, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'X-Muster-CSRF': session.csrf },
        body: JSON.stringify(body || {}),
    });
}

/* The server may have been restarted since this page was loaded; its secret is then another one. */
export async function post(path, body) {
    try {
        return await send(path, body);
    } catch (e) {
        const before = session.csrf;
        if (e.status !== 403)
            throw e;
        await loadSession();
        if (session.csrf === before)
            throw e;
        return send(path, body);
    }
}

export async function signOut() {
    await call('/logout', { method: 'POST', headers: { 'X-Muster-CSRF': session.csrf } }).catch(() => null);
    location.assign('/login');
}

export async function loadSession() {
    Object.assign(session, await get('session'));
    if (session.now)
        setNow(session.now);
    return session;
}
