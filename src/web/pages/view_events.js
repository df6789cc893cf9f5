/* SPDX-License-Identifier: MIT
 *
 * What happens to jobs, as it happens. It can be held, filtered and cleared; the newest line stands on top.
 */
import { h, put, replace, setText } from './dom.js';
import { clock, isoTitle, num } from './format.js';
import { keep, last } from './live.js';
import { encOf, jobHref, queueHref, shown, visible } from './names.js';
import { badge, button, empty, errorNote, heading, nameLink } from './parts.js';

const LINES_MOST = 500, HELD_MOST = 2000;
const KINDS = { failed: 'bad', crashed: 'bad', completed: 'good', complete: 'good', finished: 'good', retried: 'warn',
    cancelled: 'warn', taken: 'accent', put: 'info' };

/* What is kept beyond the view, so that a look at a job and back loses nothing. */
const kept = [];

function line(event) {
    const queue = encOf(event, 'queue'), id = encOf(event, 'id');
    return h('li', { class: 'event' },
        h('time', { datetime: new Date(event.at_ms).toISOString(), title: isoTitle(event.at_ms) },
            clock(event.at_ms, true)),
        badge(visible(event.what || ''), KINDS[event.what] || 'plain'),
        h('span', { class: 'event-main' }, id && nameLink(id, jobHref(id)), queue && [h('span', { class: 'muted' },
            ' in '), nameLink(queue, queueHref(queue))],
        event.worker && h('span', { class: 'muted' }, ` by ${visible(event.worker)}`),
        event.tracked && badge('tracked', 'violet'),
        typeof event.text === 'string' && event.text !== '' && h('span', { class: 'event-text' },
            visible(event.text))));
}

export default async function events(view) {
    view.title = 'Events';
    let isHeld = false, waiting = [];
    const deaf = h('div', {}), sub = h('span', {});
    const host = h('ol', { class: 'event-list', 'aria-label': 'Events, newest first' });
    const none = h('div', {}, empty('Nothing has happened since you look', 'Events of jobs appear here at once: put, ' +
        'taken, retried, failed, completed and more. Plain tasks have none.', 'muster put mail --tag test "a job"'));
    const card = h('div', { class: 'card' }, none, host);
    const filter = h('input', { type: 'search', class: 'filter', placeholder: 'Job, queue, tag or word',
        'aria-label': 'Filter events', on: { input: () => show() } });
    const tracked = h('input', { type: 'checkbox', on: { change: () => show() } });
    const hold = button('Hold', { icon: 'pause', onClick() {
        isHeld = !isHeld;
        hold.setAttribute('aria-pressed', String(isHeld));
        hold.querySelector('span').textContent = isHeld ? 'Go on' : 'Hold';
        if (!isHeld)
            take(waiting.splice(0));
        tell();
    } });
    hold.setAttribute('aria-pressed', 'false');
    replace(view.node, heading('Events', { sub, actions: [filter, h('label', { class: 'check' }, tracked,
        'Tracked only'),
        hold, button('Clear', { icon: 'trash', onClick() {
            kept.length = 0;
            show();
        } })] }), deaf, card);

    const fits = (event) => (!tracked.checked || event.tracked) &&
        [shown(encOf(event, 'id') || ''), shown(encOf(event, 'queue') || ''), event.what, event.worker, event.text]
            .join(' ').toLowerCase().includes(filter.value.toLowerCase());
    const isDeaf = () => last.hearing?.heard === false;
    function showHearing() {
        replace(deaf, isDeaf() && errorNote({ code: last.hearing.error, message: last.hearing.message }));
        tell();
    }
    function tell() {
        none.hidden = host.children.length > 0 || isDeaf();
        card.hidden = none.hidden && host.children.length === 0;
        setText(sub, isDeaf() ? 'Not heard' : isHeld ? `Held; ${num(waiting.length)} came since`
            : `${num(host.children.length)} shown, live`);
    }
    function show() {
        replace(host, kept.filter(fits).map(line));
        tell();
    }
    function take(list) {
        kept.unshift(...[...list].reverse());
        kept.length = Math.min(kept.length, LINES_MOST);
        const fresh = put(h('ol'), [...list].reverse().filter(fits).map(line));
        host.prepend(...fresh.children);
        while (host.children.length > LINES_MOST)
            host.lastElementChild.remove();
        tell();
    }
    // Many events in one frame become one change of the page.
    let soon = [];
    view.on('job', (event) => {
        if (isHeld) {
            waiting = [...waiting, event].slice(-HELD_MOST);
            tell();
            return;
        }
        if (soon.push(event) === 1)
            setTimeout(() => take(soon.splice(0)), 100);
    });
    view.on('hearing', showHearing);
    keep(view.signal);
    show();
    showHearing();
}
