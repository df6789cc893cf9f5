/* SPDX-License-Identifier: MIT
 *
 * What a user can do: each action asks where it cannot be undone, says how many it concerns, and tells what was done.
 */
import { get, post, session } from './api.js';
import { confirm, dialog, toast } from './dialog.js';
import { h, put, replace } from './dom.js';
import { num, plural, span } from './format.js';
import { asMember, shown } from './names.js';
import { button, errorNote, field, loading, nameElement } from './parts.js';

/* What the server has done, in words: how many, and what was left. `keys`: those stand so in its rows; without
 * them a row is one. */
function tell(verb, answer, noun, ...keys) {
    const done = keys.length ? sum(answer.items.flatMap((row) => keys.map((key) => row[key]))) : answer.done;
    const notes = answer.notes || [];
    toast(`${[`${verb} ${plural(done, noun)}`, ...notes].join('; ')}.`, notes.length || done === 0 ? 'warn' : 'good');
}

const sum = (numbers) => numbers.reduce((all, n) => all + (n || 0), 0);

/* Actions that need no question. Resolves with whether it was done. */
async function simply(path, body, said) {
    try {
        await post(path, body);
        toast(said);
        return true;
    } catch (error) {
        toast(`${error.code ? error.code + ': ' : ''}${error.message}`, 'bad');
        return false;
    }
}

export const may = () => !session.read_only;

/* ---- queues ---- */

export const pauseQueue = (enc, paused) => simply(`queues/${enc}/${paused ? 'pause' : 'resume'}`, {},
    paused ? `${shown(enc)} is paused: what runs goes on, nothing new is taken.` : `${shown(enc)} goes on.`);

/* The figures of the list may be old: the question asks with those of this moment. */
export async function deleteQueue(enc, old) {
    const row = await get(`queues/${enc}`).catch(() => old);
    return confirm({
        title: 'Delete this queue?', danger: true, action: 'Delete the queue', word: shown(enc),
        body: h('p', {}, 'All of ', nameElement(enc), ' goes for good: ', h('strong', {},
            `${num(row.waiting)} waiting, ` +
            `${num(row.delayed)} delayed, ${num(row.failed)} failed`), ', its settings and its jobs.',
                row.running > 0 &&
            ` What runs, ${plural(row.running, 'task')}, may still finish; after any other end it is dropped.`,
        ' This cannot be undone.'),
        run: async () => tell(`${shown(enc)} is deleted. Gone that were still to run:`,
            await post(`queues/${enc}/delete`), 'task', 'removed'),
    });
}

export const enqueue = (enc) => confirm({
    title: `Enqueue to ${shown(enc)}`, action: 'Enqueue',
    body: h('div', { class: 'stack' },
        h('div', { class: 'field' }, h('label', { for: 'enqueue-text' }, 'Task'),
            h('textarea', { id: 'enqueue-text', rows: 7, spellcheck: 'false', class: 'mono', data: { focus: 1 } })),
        h('label', { class: 'check' }, h('input', { type: 'checkbox', id: 'enqueue-lines' }), 'A task per line')),
    run: async (form) => {
        const text = form.querySelector('textarea').value;
        const lines = form.querySelector('#enqueue-lines').checked;
        const tasks = lines ? text.split('\n').filter((line) => line !== '') : [text];
        if (tasks.length === 0)
            throw new Error('There is no line to enqueue.');
        tell('Enqueued', await post(`queues/${enc}/enqueue`, { tasks }), 'task');
    },
});

/* An empty field of a number would be 0, which often means all or nothing: the browser sends no form that has one. */
const isTime = (name) => name.endsWith('_ms');

function settingRow(setting) {
    const input = h('input', { type: 'number', value: setting.value, min: setting.least, max: setting.most, step: 1,
        required: true, inputmode: 'numeric', name: setting.name, data: { was: setting.value, from: setting.from } });
    const from = { default: 'default', namespace: 'set for all queues', queue: 'set for this queue' }[setting.from] ||
        setting.from;
    const note = h('span', { class: 'badge plain' }, from);
    const node = h('div', { class: 'setting' }, field(setting.name, input, { id: `set-${setting.name}`,
        hint: setting.what + (isTime(setting.name) && setting.value ? ` (now ${span(setting.value)})` : '') }), note);
    if (setting.from === 'queue') {
        const clear = h('input', { type: 'checkbox', name: `clear-${setting.name}`, on: { change() {
            input.disabled = clear.checked;
        } } });
        put(node, h('label', { class: 'check' }, clear, 'take back'));
    }
    return node;
}

function changesOf(form) {
    const set = {}, clear = [];
    for (const input of form.querySelectorAll('input[type=number]')) {
        const back = form.querySelector(`input[name="clear-${input.name}"]`);
        if (back?.checked)
            clear.push(input.name);
        else if (input.value !== input.dataset.was)
            set[input.name] = Number(input.value);
    }
    return { set, clear };
}

/* The settings of a queue: what counts, where it comes from, and changing it. */
export function settingsDialog(enc) {
    const body = h('div', {}, loading());
    const load = async () => {
        try {
            const queue = await get(`queues/${enc}`);
            replace(body, (queue.settings || []).map(settingRow));
        } catch (error) {
            replace(body, errorNote(error, load));
        }
    };
    load();
    if (!may())
        return dialog(`Settings of ${shown(enc)}`, () => h('div', { class: 'dialog-body' }, body));
    return confirm({ title: `Settings of ${shown(enc)}`, action: 'Save', body, run: async (form) => {
        const change = changesOf(form);
        const n = Object.keys(change.set).length + change.clear.length;
        if (n > 0)
            await post(`queues/${enc}/config`, change);
        toast(n > 0 ? `${plural(n, 'setting')} of ${shown(enc)} changed.` : 'Nothing was changed.');
    } });
}

/* ---- workers and processes ---- */

export const failWorker = (worker) => confirm({
    title: 'Declare this worker dead?', danger: true, action: 'Fail the worker',
    body: h('p', {}, h('strong', {}, worker.worker), ' loses what it holds: ',
        h('strong', {}, plural(worker.held, 'task')), worker.held === 1 ? ' goes' : ' go',
        ' back to the front of the queue. If the worker is alive after all, it registers again; ' +
        'until then its tasks may run twice.'),
    run: async () => tell(`${worker.worker} is failed. Given back:`, await post(
        `workers/${encodeURIComponent(worker.worker)}/fail`), 'task', 'given_back'),
});

export const cancelProcess = (process, queue) => confirm({
    title: 'Cancel this task?', danger: true, action: 'Cancel 1 task',
    body: h('p', {}, 'One running task of ', nameElement(queue), ' is to stop. Its worker is told at once; if it ' +
        'finishes before it obeys, it counts as done. Otherwise the task is gone. A job is gone in any case.'),
    run: async () => tell('Told to stop:', await post('processes/cancel', process), 'task'),
});

/* ---- jobs ---- */

export const cancelJob = (enc, job) => confirm({
    title: 'Cancel this job?', danger: true, action: 'Cancel the job',
    body: h('div', {}, h('p', {}, 'The job ', nameElement(enc), job.state === 'running'
        ? ' runs. It is gone at once, and its id is free. Its worker is told to stop; no end of it counts any more.'
        : ` is ${job.state}. It ends, and its record goes.`),
        h('label', { class: 'check' }, h('input', { type: 'checkbox', id: 'cancel-all' }),
            'Cancel all that wait for it, too')),
    run: async (form) => tell('Cancelled', await post(`jobs/${enc}/cancel`,
        form.querySelector('#cancel-all').checked ? { all: true } : {}), 'job', 'removed', 'running'),
});

export const closeBatch = (enc) => simply(`batches/${enc}/close`, {},
    `${shown(enc)} is closed: when all of its members have ended, so has it.`);

export const cancelBatch = (enc, batch) => confirm({
    title: 'Cancel this batch?', danger: true, action: 'Cancel the batch',
    body: h('p', {}, 'All members of ', nameElement(enc), ' that have not ended are cancelled, ',
        h('strong', {}, plural(batch.left, 'member')), '. Of what follows it, only the job of its end is put.'),
    run: async () => tell('Cancelled', await post(`batches/${enc}/cancel`), 'job', 'removed', 'running'),
});

export const trackJob = (enc, tracked) => simply(`jobs/${enc}/track`, { tracked },
    tracked ? `${shown(enc)} is tracked: its events are marked.` : `${shown(enc)} is no longer tracked.`);

const words = (text) => text.split(',').map((word) => word.trim()).filter(Boolean);

export function changeJob(enc, job) {
    const had = job.tags || [], listed = had.filter((tag) => words(tag)[0] === tag); // the others stay as they are
    const priority = h('input', { type: 'number', step: 1, required: true, value: job.priority,
        data: { focus: 1 } });
    const queue = h('input', { type: 'text', value: job.queue ?? '', spellcheck: 'false' });
    const tags = h('input', { type: 'text', value: listed.join(', '), spellcheck: 'false' });
    const log = h('input', { type: 'text' });
    return confirm({
        title: `Change ${shown(enc)}`, action: 'Change',
        body: h('div', { class: 'stack' },
            field('Priority', priority, { hint: 'the lower comes first; tasks have 0' }), field('Queue', queue),
            field('Tags', tags, { hint: 'separated by commas' }),
            field('Line for its history', log, { hint: 'why you changed it, for instance' })),
        run: async () => {
            const body = {}, wanted = words(tags.value);
            if (Number(priority.value) !== job.priority)
                body.priority = Number(priority.value);
            if (queue.value !== job.queue && queue.value)
                body.queue = queue.value;
            const add = wanted.filter((tag) => !had.includes(tag)), remove = listed.filter((t) => !wanted.includes(t));
            if (add.length)
                body.tags_add = add;
            if (remove.length)
                body.tags_remove = remove;
            if (log.value)
                body.log = log.value;
            if (Object.keys(body).length === 0)
                throw new Error('Nothing is changed yet.');
            await post(`jobs/${enc}/change`, body);
            toast(`${shown(enc)} is changed.`);
        },
    });
}

const endOfFailed = (verb, enc) => confirm({
    title: verb === 'replay' ? 'Replay this failed job?' : 'Drop this failed job?', danger: verb === 'drop',
    action: verb === 'replay' ? 'Replay 1 job' : 'Drop 1 job',
    body: h('p', {}, nameElement(enc), verb === 'replay' ? ' goes back to the end of its queue.'
        : ' and its record go for good.'),
    run: async () => tell(verb === 'replay' ? 'Replayed' : 'Dropped', await post(`jobs/${enc}/${verb}`), 'job'),
});
export const replayJob = (enc) => endOfFailed('replay', enc);
export const dropJob = (enc) => endOfFailed('drop', enc);

/* ---- failures ---- */

/* Several calls one after the other: their sums. What fails ends it, and is said with what was done before. */
async function inTurn(path, bodies) {
    let done = 0;
    const notes = [];
    for (const body of bodies)
        try {
            const answer = await post(path, body);
            done += answer.done;
            notes.push(...answer.notes || []);
        } catch (error) {
            error.message += done > 0 ? ` (${num(done)} were done before that)` : '';
            throw error;
        }
    return { done, notes };
}

/*
 * Replays or drops failures. `bodies`: what is sent to the server, a body for each call; `count()`: how many they are
 * at this moment; `of`: where they lie, as content of the question.
 */
export async function endFailures(verb, { bodies, count, of }) {
    const n = await count(), word = verb === 'replay' ? 'Replay' : 'Drop';
    return confirm({
        title: `${word} ${plural(n, 'failure')}?`, danger: verb === 'drop', action: `${word} ${num(n)}`,
        body: h('p', {}, h('strong', {}, plural(n, 'failure')), ' of ', of, verb === 'replay'
            ? (n === 1 ? ' goes' : ' go') + ' back to the end of ' + (n === 1 ? 'its queue.' : 'their queues.')
            : (n === 1 ? ' is' : ' are') + ' removed for good. This cannot be undone.'),
        run: async () => tell(verb === 'replay' ? 'Replayed' : 'Dropped', await inTurn(`failed/${verb}`, bodies),
            'failure'),
    });
}

export const failedBody = (queue, what) => ({ ...asMember('queue', queue), ...what });

/* The two buttons; `make(verb)` asks and does. `of`: icons alone, with this in their labels. */
export const replayDrop = (make, { of, text = '' } = {}) => may() && [['replay', 'Replay', ''],
    ['drop', 'Drop', 'quiet-danger']].map(([verb, word, kind]) => button(of ? null : `${word}${text}`, { small: true,
    kind: of ? `${kind} bare` : kind, icon: verb === 'drop' ? 'trash' : 'replay', label: of && `${word} ${of}`,
    title: of && `${word} ${of}`, onClick: () => make(verb) }));
