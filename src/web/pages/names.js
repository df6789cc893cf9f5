/* SPDX-License-Identifier: MIT
 *
 * Names of queues, jobs, tags and groups are bytes. Between the pages they go percent-encoded ("enc"), which is exact
 * for all bytes and is also their form in paths. In JSON, a name that is not UTF-8 stands as KEY_base64.
 */
const PLAIN = /[A-Za-z0-9._~-]/;

export function bytesOfBase64(base64) {
    const raw = atob(base64);
    return Uint8Array.from(raw, (c) => c.charCodeAt(0));
}

function encodeBytes(bytes) {
    let out = '';
    for (const byte of bytes) {
        const c = String.fromCharCode(byte);
        out += PLAIN.test(c) ? c : '%' + byte.toString(16).toUpperCase().padStart(2, '0');
    }
    return out;
}

export const encode = (text) => encodeBytes(new TextEncoder().encode(text));

/* A name of a row, percent-encoded; null if the row has none. */
export function encOf(row, key) {
    if (typeof row[key] === 'string')
        return encode(row[key]);
    if (typeof row[key + '_base64'] === 'string')
        return encodeBytes(bytesOfBase64(row[key + '_base64']));
    return null;
}

/* A list of names of a row, percent-encoded. */
export function encsOf(row, key) {
    if (Array.isArray(row[key]))
        return row[key].map(encode);
    return (row[key + '_base64'] || []).map((one) => encodeBytes(bytesOfBase64(one)));
}

export function bytesOf(enc) {
    const bytes = [];
    for (let i = 0; i < enc.length; i++)
        if (enc[i] === '%') {
            bytes.push(parseInt(enc.slice(i + 1, i + 3), 16));
            i += 2;
        } else {
            bytes.push(...new TextEncoder().encode(enc[i]));
        }
    return Uint8Array.from(bytes);
}

/* What people read: control characters, and those that turn the direction of text, are shown as what they are. */
export function visible(text) {
    return text.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
        (c) => `\\u{${c.charCodeAt(0).toString(16)}}`);
}

function decode(bytes) {
    try {
        return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch (e) {
        return null;
    }
}

export function shown(enc) {
    const bytes = bytesOf(enc);
    const text = decode(bytes);
    if (text !== null)
        return visible(text);
    return Array.from(bytes, (b) => (b >= 32 && b < 127 ? String.fromCharCode(b)
        : '\\x' + b.toString(16).padStart(2, '0'))).join('');
}

/* The name as a member of a JSON body: {queue: "mail"}, or {queue_base64: "..."}. */
export function asMember(key, enc) {
    const bytes = bytesOf(enc);
    const text = decode(bytes);
    if (text !== null)
        return { [key]: text };
    return { [key + '_base64']: btoa(String.fromCharCode(...bytes)) };
}

export const href = (...parts) => '#/' + parts.join('/');
export const queueHref = (enc, tab) => href('queues', enc, ...(tab ? [tab] : []));
export const jobHref = (enc) => href('jobs', enc);
export const batchHref = (enc) => href('batches', enc);
export const withQuery = (path, query) => {
    const parts = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== '');
    return path + (parts.length ? '?' + parts.map(([key, value]) => `${key}=${value}`).join('&') : '');
};

export const nameOrder = (a, b) => String(encOf(a, 'queue')).localeCompare(String(encOf(b, 'queue')), 'en',
    { numeric: true });

/* Rows with those of an event in their place. */
export function changed(rows, change, key) {
    const fresh = new Map((Array.isArray(change) ? change : change.items || []).map((row) => [encOf(row, key), row]));
    const gone = new Set((change.gone || []).map(encode));
    const kept = rows.filter((row) => !gone.has(encOf(row, key))).map((row) => {
        const enc = encOf(row, key), one = fresh.get(enc);
        fresh.delete(enc);
        return one || row;
    });
    return [...kept, ...fresh.values()];
}
