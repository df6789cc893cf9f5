/* SPDX-License-Identifier: MIT
 *
 * Draws what a job waits for, and what waits for it: columns from left to right, a job a box, lines between them. The
 * same is there as text, in the title of the drawing, and each box is a link.
 */
import { get } from './api.js';
import { h, s } from './dom.js';
import { encsOf, jobHref, shown } from './names.js';

const DEPTH = 2, JOBS_MOST = 24, WIDTH = 176, HEIGHT = 48, GAP_X = 64, GAP_Y = 14, PAD = 6, CHARS = 21;

/* What a job waits for, in any way. */
const waitsFor = (job) => ['after', 'after_end', 'after_failure'].flatMap((key) => encsOf(job, key));
const neighboursOf = (job, key) => (key === 'after' ? waitsFor(job) : encsOf(job, key));

/* The jobs around this one: Map enc -> {enc, job or null, column}. */
async function collect(enc, job, signal) {
    const found = new Map([[enc, { enc, job, column: 0 }]]);
    let hidden = 0;
    async function walk(from, key, step) {
        let edge = [found.get(from)];
        for (let column = step; Math.abs(column) <= DEPTH && edge.length; column += step) {
            const next = [];
            for (const one of edge)
                for (const other of one.job ? neighboursOf(one.job, key) : [])
                    if (found.size >= JOBS_MOST)
                        hidden += found.has(other) ? 0 : 1;
                    else if (!found.has(other)) {
                        const node = { enc: other, job: null, column };
                        found.set(other, node);
                        next.push(node);
                    }
            await Promise.all(next.map(async (node) => {
                node.job = await get(`jobs/${node.enc}?head=true`, signal).catch(() => null);
            }));
            edge = next;
        }
    }
    await walk(enc, 'after', -1);
    await walk(enc, 'before', 1);
    hidden += Math.max(0, (job.before_count || 0) - encsOf(job, 'before').length);
    return { found, hidden };
}

/* A job stands right of all that it waits for, as far as these are shown. */
function place(found) {
    const columns = new Map();
    for (const node of found.values()) {
        const column = columns.get(node.column) || [];
        column.push(node);
        columns.set(node.column, column);
    }
    const keys = [...columns.keys()].sort((a, b) => a - b);
    const most = Math.max(...[...columns.values()].map((column) => column.length));
    const height = most * (HEIGHT + GAP_Y) - GAP_Y;
    keys.forEach((key, i) => {
        const column = columns.get(key), own = column.length * (HEIGHT + GAP_Y) - GAP_Y;
        column.forEach((node, j) => Object.assign(node, { x: PAD + i * (WIDTH + GAP_X),
            y: PAD + (height - own) / 2 + j * (HEIGHT + GAP_Y) }));
    });
    return { width: 2 * PAD + keys.length * (WIDTH + GAP_X) - GAP_X, height: height + 2 * PAD };
}

function edges(found) {
    const lines = [];
    for (const node of found.values())
        for (const enc of node.job ? waitsFor(node.job) : []) {
            const from = found.get(enc);
            if (from)
                lines.push([from, node]);
        }
    for (const node of found.values())
        for (const enc of node.job ? encsOf(node.job, 'before') : []) {
            const to = found.get(enc);
            if (to && !lines.some(([a, b]) => a === node && b === to))
                lines.push([node, to]);
        }
    return lines;
}

function curve([from, to]) {
    const x1 = from.x + WIDTH, y1 = from.y + HEIGHT / 2, x2 = to.x, y2 = to.y + HEIGHT / 2;
    const bend = Math.max(24, (x2 - x1) / 2);
    return s('path', { class: 'graph-line', 'marker-end': 'url(#graph-arrow)',
        d: `M${x1},${y1}C${x1 + bend},${y1} ${x2 - bend - 6},${y2} ${x2 - 6},${y2}` });
}

const cut = (text) => (text.length > CHARS ? text.slice(0, CHARS - 1) + '…' : text);

function box(node, own) {
    const state = node.job ? node.job.state : 'gone', name = shown(node.enc);
    return s('a', { href: jobHref(node.enc), class: `graph-job ${state} ${own ? 'own' : ''}`,
        'aria-label': `${name}, ${state}`, transform: `translate(${node.x},${node.y})` },
    s('title', {}, `${name}: ${state}`),
    s('rect', { width: WIDTH, height: HEIGHT, rx: 9 }),
    s('circle', { cx: 16, cy: 17.5, r: 4, class: 'graph-dot' }),
    s('text', { x: 28, y: 21.5, class: 'graph-name' }, cut(name)),
    s('text', { x: 28, y: 37.5, class: 'graph-state' }, state));
}

export async function dependencyGraph(enc, job, signal) {
    const { found, hidden } = await collect(enc, job, signal);
    const { width, height } = place(found);
    const svg = s('svg', { viewBox: `0 0 ${width} ${height}`, width, height, class: 'graph', role: 'group',
        'aria-label': `Dependencies: waits for ${waitsFor(job).map(shown).join(', ') || 'nothing'}; before ` +
        `${encsOf(job, 'before').map(shown).join(', ') || 'nothing'}` },
    s('defs', {}, s('marker', { id: 'graph-arrow', viewBox: '0 0 8 8', refX: 2, refY: 4, markerWidth: 7,
        markerHeight: 7, orient: 'auto' }, s('path', { d: 'M0,0.500L7,4L0,7.500Z', class: 'graph-head' }))),
    edges(found).map(curve), [...found.values()].map((node) => box(node, node.enc === enc)));
    return h('div', { class: 'graph-box', tabindex: 0, role: 'region', 'aria-label': 'Drawing of the dependencies' },
        svg, hidden > 0 && h('p', { class: 'muted' }, `${hidden} more are not drawn: press a job to go on from it.`));
}

export const hasNeighbours = (job) => waitsFor(job).length > 0 ||
    ['parents', 'before'].some((key) => encsOf(job, key).length > 0);
