/* SPDX-License-Identifier: MIT
 *
 * What the search box finds: a job by its id, jobs by a tag, queues and workers by a part of their names.
 */
import { get, list } from './api.js';
import { h, replace } from './dom.js';
import { plural } from './format.js';
import { encOf, jobHref, queueHref, shown, withQuery } from './names.js';
import { card, empty, heading, loading, nameLink, stateBadge } from './parts.js';

const MOST = 20;

const found = (title, rows, id) => rows.length > 0 && card(title, h('ul', { class: 'found' }, rows.slice(0, MOST)
    .map((row) => h('li', {}, row))), { sub: rows.length > MOST ? `${plural(rows.length, 'match', 'matches')}, the ` +
    `first ${MOST}` : null, id });

export default async function search(view) {
    const enc = view.query.q || '', text = shown(enc), low = text.toLowerCase();
    view.title = `Search: ${text}`;
    const body = h('div', { class: 'stack', 'aria-live': 'polite' }, loading());
    replace(view.node, heading(['Search: ', h('bdi', {}, text)]), body);
    const tried = (promise, other) => promise.catch((error) => {
        if (error.status !== 404 && error.status !== 400)
            throw error; // no answer is not the same as nothing found
        return other;
    });
    const [job, tagged, queues, workers] = await Promise.all([tried(get(`jobs/${enc}?head=true`, view.signal), null),
        tried(list(`jobs?tag=${enc}&count=${MOST}`, view.signal), { items: [] }), list('queues', view.signal),
        list('workers', view.signal)]);
    const fits = (name) => name.toLowerCase().includes(low);
    const parts = [
        found('Job', job ? [[nameLink(enc, jobHref(enc)), stateBadge(job.state)]] : [], 'found-job'),
        found('Queues', queues.items.filter((row) => fits(shown(encOf(row, 'queue')))).map((row) =>
            nameLink(encOf(row, 'queue'), queueHref(encOf(row, 'queue')))), 'found-queues'),
        found('Jobs with this tag', tagged.items.map((row) => [nameLink(encOf(row, 'id'), jobHref(encOf(row, 'id'))),
            stateBadge(row.state)]), 'found-tagged'),
        found('Workers', workers.items.filter((row) => fits(row.worker)).map((row) => h('a', { href: withQuery(
            '#/running', { worker: encodeURIComponent(row.worker) }) }, row.worker)), 'found-workers'),
    ].filter(Boolean);
    replace(body, parts.length ? parts : h('div', { class: 'card' }, empty('Nothing is named so', 'A job is found by ' +
        'its whole id, jobs by a whole tag, queues and workers by a part of their names.',
    'muster jobs --tags')));
}
