/* SPDX-License-Identifier: MIT
 *
 * One job: its record, its data and result, its history as a time line, its dependencies as a drawing.
 */
import { cancelJob, changeJob, dropJob, may, replayJob, trackJob } from './actions.js';
import { get } from './api.js';
import { h, replace } from './dom.js';
import { agoElement, isoTitle, num, sinceElement, span } from './format.js';
import { dependencyGraph, hasNeighbours } from './graph.js';
import { batchHref, encOf, encsOf, jobHref, queueHref, shown, visible, withQuery } from './names.js';
import { badge, button, card, empty, errorNote, facts, heading, nameLink, stateBadge } from './parts.js';
import { payloadBlock, payloadOf } from './payload.js';
import { tagChips } from './view_jobs.js';

const LOOK_MS = 4000;
const TICKS_SHOWN = 5;
const KINDS = { failed: 'bad', crashed: 'bad', complete: 'good', completed: 'good', finished: 'good', taken: 'accent',
    running: 'accent', retried: 'warn', cancelled: 'warn' };

/* When a recurring job makes its next jobs. */
function schedule(job) {
    const ticks = (job.ticks || []).slice(0, TICKS_SHOWN);
    return [
        job.cron && ['Schedule', h('code', {}, visible(job.cron))], job.cron && ['Zone', visible(job.zone || '')],
        job.from_ms && ['From', isoTitle(job.from_ms)], job.until_ms && ['Until', isoTitle(job.until_ms)],
        job.count > 0 && ['Count', num(job.count)], job.overlap && ['Overlap', visible(job.overlap)],
        job.queued && ['Queued', 'until the job that it made last has ended'],
        ticks.length > 0 && ['Next', h('ol', { class: 'plain' },
            ticks.map((tick) => h('li', {}, isoTitle(tick.at_ms))))],
    ];
}

function record(job) {
    const queue = encOf(job, 'queue'), group = encOf(job, 'group');
    return facts([
        ['State since', agoElement(job.since_ms)], ['Put', agoElement(job.put_at_ms)],
        job.due_at_ms && ['Due', agoElement(job.due_at_ms)],
        ['Queue', queue && nameLink(queue, queueHref(queue))], ['Priority', num(job.priority)],
        ['Retried', `${num(job.retried)} of ${num(job.retries)}`], job.crashes > 0 && ['Crashes', num(job.crashes)],
        ['Worker', job.worker && visible(job.worker)],
        job.process && ['Process', h('code', {}, visible(job.process))],
        job.state === 'running' && ['Runs for', sinceElement(job.since_ms)],
        job.limit_ms > 0 && ['Limit', span(job.limit_ms)], job.every_ms > 0 && ['Every', span(job.every_ms)],
        ...schedule(job),
        job.made !== null && job.made !== undefined && ['Made', num(job.made)],
        job.backlog !== null && job.backlog !== undefined && ['Backlog', num(job.backlog)],
        encOf(job, 'made_by') && ['Made by', nameLink(encOf(job, 'made_by'), jobHref(encOf(job, 'made_by')))],
        encOf(job, 'batch') && ['Batch', nameLink(encOf(job, 'batch'), batchHref(encOf(job, 'batch')))],
        ['Backoff', job.backoff], ['Unique', job.unique && 'yes'],
        group && ['Group', h('a', { href: withQuery('#/failures', { queue, group }) }, h('bdi', {}, shown(group)))],
        encsOf(job, 'tags').length > 0 && ['Tags', tagChips(job)],
    ]);
}

function timeLine(job) {
    const rows = [...(job.history || [])].reverse();
    if (!rows.length)
        return empty('No history is kept of it');
    return h('ol', { class: 'timeline' }, rows.map((row, i) => {
        const before = rows[i + 1], took = before && row.at_ms - before.at_ms;
        const text = payloadOf(row, 'text');
        return h('li', { class: KINDS[row.what] || '' },
            h('div', { class: 'timeline-head' }, h('strong', {}, visible(row.what || '')), agoElement(row.at_ms),
                took > 0 && h('span', { class: 'muted', title: 'since the line before' }, `+${span(took)}`)),
            text && (text.bytes || text.text !== '') && h('p', { class: 'timeline-text' },
                text.bytes ? payloadBlock(text, 'Line') : visible(text.text)),
            h('span', { class: 'muted small' }, isoTitle(row.at_ms)));
    }));
}

/* One button each that fits the state. */
function actionsOf(enc, job, reload) {
    if (!may())
        return null;
    const act = (fn) => () => fn(enc, job).then((done) => done && reload());
    const ended = job.state === 'complete';
    return [
        job.state === 'failed' && button('Replay', { icon: 'replay', kind: 'primary', onClick: act(replayJob) }),
        job.state === 'failed' && button('Drop', { icon: 'trash', kind: 'quiet-danger', onClick: act(dropJob) }),
        button('Change', { icon: 'edit', onClick: act(changeJob) }),
        button(job.tracked ? 'Untrack' : 'Track', { icon: 'pin', onClick: () => trackJob(enc, !job.tracked)
            .then((done) => done && reload()) }),
        !ended && job.state !== 'failed' && button('Cancel', { icon: 'stop', kind: 'quiet-danger',
            onClick: act(cancelJob) }),
    ];
}

const neighbours = (title, encs) => encs.length > 0 && h('div', {}, h('h3', {}, title), h('p', { class: 'chips' },
    encs.map((enc) => h('a', { class: 'chip', href: jobHref(enc) }, h('bdi', {}, shown(enc))))));

function dependencies(view, enc, job) {
    const drawing = h('div', {});
    dependencyGraph(enc, job, view.signal).then((node) => drawing.append(node), () => null);
    return card('Dependencies', h('div', { class: 'pad stack' }, drawing, h('details', {}, h('summary', {},
        'As a list'),
        neighbours('Waits until it is complete', encsOf(job, 'after')),
        neighbours('Waits until it has ended', encsOf(job, 'after_end')),
        neighbours('Waits until it has failed', encsOf(job, 'after_failure')),
        neighbours('Waited for by', encsOf(job, 'before')),
        neighbours('Was put to wait for', encsOf(job, 'parents')))));
}

function missing(view, enc, error) {
    replace(view.node, heading(h('bdi', {}, shown(enc)), { back: { href: '#/jobs', text: 'Jobs' } }),
        h('div', { class: 'card' }, empty('There is no such job',
            `${error.message} A job's id is free again when its ` +
            'record is gone: complete jobs are kept for 7 days by default.', 'muster jobs')));
}

export default async function job(view) {
    const enc = view.parts[1];
    view.title = shown(enc);
    const head = h('div', {}), where = h('div', {}), body = h('div', {});
    let sig = '';
    async function load() {
        let row;
        try {
            row = await get(`jobs/${enc}?head=true`, view.signal);
        } catch (error) {
            if (view.signal.aborted)
                return;
            if (error.status === 404)
                missing(view, enc, error);
            else
                replace(where, errorNote(error, load));
            return;
        }
        where.replaceChildren();
        if (!head.isConnected)
            replace(view.node, head, where, body);
        if (JSON.stringify(row) === sig)
            return; // nothing new: a selection, an open part and the focus stay
        sig = JSON.stringify(row);
        replace(head, heading(h('bdi', {}, shown(enc)), { back: { href: '#/jobs', text: 'Jobs' },
            badges: [stateBadge(row.state), row.tracked && badge('tracked', 'violet'),
                row.cancelled && badge('cancelled', 'warn')], actions: actionsOf(enc, row, load) }));
        replace(body, h('div', { class: 'columns job-columns' },
            h('div', { class: 'stack' },
                payloadOf(row, 'message') && h('div', { class: 'note bad' }, h('div', {}, h('strong', {}, 'Failed: '),
                    payloadOf(row, 'message').bytes ? 'see the message below' : visible(row.message))),
                encsOf(row, 'blocked_by').length > 0 && h('div', { class: 'note bad' }, h('div', {},
                    h('strong', {}, 'Blocked: '), 'it waits for a job that has failed, until that is replayed. ',
                    encsOf(row, 'blocked_by').map((one) => nameLink(one, jobHref(one))))),
                hasNeighbours(row) && dependencies(view, enc, row),
                card('Content', h('div', { class: 'pad stack' }, payloadBlock(payloadOf(row, 'data'), 'Data'),
                    payloadBlock(payloadOf(row, 'result'), 'Result'),
                    payloadOf(row, 'message')?.bytes && payloadBlock(payloadOf(row, 'message'), 'Message'))),
                card('History', timeLine(row), { sub: 'newest first' })),
            card('Record', record(row), { kind: 'aside' })));
    }
    view.on('job', (event) => encOf(event, 'id') === enc && load());
    view.on('hearing', (state) => state.heard && load()); // what came before was perhaps missed
    view.every(LOOK_MS, load);
    await load();
}
