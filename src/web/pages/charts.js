/* SPDX-License-Identifier: MIT
 *
 * Charts: lines over time and bars by Chart.js, sparklines as SVG. Each chart has a legend in text with the newest
 * figures, and says its content in words to a screen reader. Colours come from the style sheet, so that they follow
 * the theme.
 */
import { h, s, put, setText } from './dom.js';
import { clock, now, rate, short, span } from './format.js';
import { segments } from './parts.js';

const GAP_STEPS = 3, POINTS = 180, BARS = 60;

const isKnown = (value) => value !== null && value !== undefined;

export const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const withAlpha = (colour, alpha) => `${colour}${Math.round(alpha * 255).toString(16).padStart(2, '0')}`;

/* A line down from the pointer, so that the figures of one moment can be compared. */
const crosshair = {
    id: 'crosshair',
    afterDatasetsDraw(chart) {
        const active = chart.tooltip?.getActiveElements?.() || [];
        if (!active.length)
            return;
        const { ctx, chartArea } = chart, x = active[0].element.x;
        ctx.save();
        ctx.strokeStyle = css('--line-strong');
        ctx.setLineDash([3, 3]);
        ctx.beginPath();
        ctx.moveTo(x, chartArea.top);
        ctx.lineTo(x, chartArea.bottom);
        ctx.stroke();
        ctx.restore();
    },
};

function fontOf() {
    return { family: getComputedStyle(document.body).fontFamily, size: 11 };
}

function tooltipOptions(format, title) {
    return {
        backgroundColor: css('--tip'), titleColor: css('--tip-text'), bodyColor: css('--tip-text'),
        padding: 9, cornerRadius: 7, boxWidth: 8, boxHeight: 8, boxPadding: 4, usePointStyle: true, caretSize: 0,
        titleFont: { ...fontOf(), weight: '600' }, bodyFont: fontOf(),
        callbacks: { title, label: (item) => ` ${item.dataset.label}: ${format(item.parsed.y)}` },
    };
}

function axis(format) {
    return {
        beginAtZero: true, border: { display: false },
        grid: { color: css('--grid'), drawTicks: false, drawBorder: false },
        ticks: { color: css('--text-3'), font: fontOf(), maxTicksLimit: 4, padding: 8, callback: (v) => format(v),
            precision: format === short ? 0 : undefined },
    };
}

/*
 * A chart over time. `lines`: [{key, label, colour (a CSS variable), fill}]. update({at: [ms], KEY: [numbers]}).
 */
export class TimeChart {
    constructor({ title, lines, format = short, unit = '', signal }) {
        Object.assign(this, { title, lines, format, unit });
        this.canvas = h('canvas', { role: 'img', 'aria-label': `${title}: no figures yet` });
        this.values = lines.map(() => h('span', { class: 'legend-value' }, '–'));
        this.wait = h('p', { class: 'chart-wait' }, 'Collecting figures…');
        this.node = h('div', { class: 'chart' },
            h('div', { class: 'chart-head' }, h('h3', {}, title),
                h('ul', { class: 'legend' }, lines.map((line, i) => h('li', {},
                    h('span', { class: `swatch ${line.colour}` }), line.label, ' ', this.values[i])))),
            h('div', { class: 'chart-box' }, this.canvas, this.wait));
        document.documentElement.addEventListener('look', () => this.restyle(), { signal });
        signal?.addEventListener('abort', () => this.chart?.destroy(), { once: true });
    }

    options() {
        const time = axis((ms) => clock(ms).slice(0, 5));
        return {
            animation: false, responsive: true, maintainAspectRatio: false, normalized: true, parsing: false,
            interaction: { mode: 'index', intersect: false },
            elements: { point: { radius: 0, hoverRadius: 3.5, hitRadius: 8 }, line: { borderWidth: 1.75, tension: 0 } },
            plugins: { legend: { display: false },
                tooltip: tooltipOptions((v) => this.format(v) + this.unit, (items) => clock(items[0].parsed.x)) },
            scales: {
                x: { ...time, type: 'linear', beginAtZero: false, offset: false,
                    grid: { display: false, drawBorder: false, offset: false },
                    ticks: { ...time.ticks, maxTicksLimit: 5, maxRotation: 0, align: 'inner', stepSize: undefined,
                        padding: 6 } },
                y: { ...axis(this.format), suggestedMax: this.format === span ? 10 : this.format === rate ? 1 : 4 },
            },
        };
    }

    datasets() {
        return this.lines.map((line) => {
            const colour = css(`--${line.colour}`);
            return line.sum ? { type: 'bar', label: line.label, data: [], backgroundColor: colour, borderRadius: 2,
                barPercentage: 1, categoryPercentage: 0.8, maxBarThickness: 12 }
                : { label: line.label, borderColor: colour, pointBackgroundColor: colour, data: [],
                    backgroundColor: withAlpha(colour, 0.1), fill: line.fill ? 'origin' : false, spanGaps: false };
        });
    }

    restyle() {
        if (!this.chart || !this.canvas.isConnected)
            return;
        this.chart.destroy();
        this.chart = null;
        this.draw();
    }

    update(series) {
        this.series = series;
        this.draw();
    }

    draw() {
        const { at, step_ms, range_ms } = this.series;
        if (!window.Chart || !this.canvas.isConnected)
            return;
        if (!this.chart)
            this.chart = new window.Chart(this.canvas, { type: 'line', data: { datasets: this.datasets() },
                options: this.options(), plugins: [crosshair] });
        const end = at.length ? at[at.length - 1] : now(), start = end - range_ms;
        const { x } = this.chart.options.scales;
        Object.assign(x, { min: start, max: end, afterBuildTicks: (scale) => {
            scale.ticks = ticksBetween(start, end, this.canvas.clientWidth < 420 ? 4 : 6);
        } });
        this.lines.forEach((line, i) => {
            const values = this.series[line.key] || [];
            const width_ms = Math.max(step_ms, range_ms / (line.sum ? BARS : POINTS));
            this.chart.data.datasets[i].data = gathered(at, values, start, width_ms, line.sum);
            this.say(line, i, values);
        });
        this.chart.update('none');
        this.wait.hidden = this.lines.some((line) => (this.series[line.key] || []).filter(isKnown).length > 1);
        this.canvas.setAttribute('aria-label', `${this.title}: ${this.words.join('; ')}`);
    }

    say(line, i, values) {
        const { at, range_ms } = this.series, first = at[at.length - 1] - range_ms;
        const known = values.filter((v, j) => isKnown(v) && at[j] >= first);
        const newest = known[known.length - 1];
        const all = known.reduce((a, b) => a + b, 0);
        setText(this.values[i], known.length ? this.format(line.sum ? all : newest) + this.unit : '–');
        this.words = i === 0 ? [] : this.words;
        if (line.sum)
            this.words.push(`${line.label}: ${this.format(all)}`);
        else
            this.words.push(known.length ? `${line.label} now ${this.format(newest)}${this.unit}, highest ` +
            `${this.format(Math.max(...known))}${this.unit}` : `${line.label}: none`);
    }
}

/*
 * The values from `start` on as points, one for each `width_ms`: their mean, or their sum. A bar ends where its time
 * ends; the bounds are full multiples, so that bars do not change while time goes on. Where nothing was measured there
 * is a gap.
 */
function gathered(at, values, start, width_ms, sum) {
    const points = [];
    let part = null;
    const close = () => part && points.push({ x: part.x, y: sum ? part.total : part.total / part.n });
    for (let i = 0; i < at.length; i++) {
        const value = values[i], slot = Math.floor(at[i] / width_ms);
        if (at[i] < start || !isKnown(value))
            continue;
        if (part?.slot !== slot) {
            close();
            if (!sum && part && slot - part.slot > GAP_STEPS)
                points.push({ x: part.x + width_ms, y: null });
            part = { slot, x: sum ? (slot + 0.5) * width_ms : at[i], total: 0, n: 0 };
        }
        part.total += value;
        part.n++;
    }
    close();
    return points;
}

/* Full minutes, as far apart as the room asks for. */
function ticksBetween(start, end, n) {
    const steps = [1, 2, 5, 10, 15, 30, 60].map((minutes) => minutes * 60000);
    const step = steps.find((one) => (end - start) / one <= n) || steps[steps.length - 1];
    const zone = new Date(start).getTimezoneOffset() * 60000;
    const ticks = [];
    for (let t = Math.ceil((start - zone) / step) * step + zone; t <= end; t += step)
        ticks.push({ value: t });
    return ticks;
}

/* Bars. `bars`: [{label, colour}] of datasets; update(labels, [[numbers] for each]). */
export class BarChart {
    constructor({ title, bars, format = short, stacked, signal, plain }) {
        Object.assign(this, { title, bars, format, stacked });
        this.canvas = h('canvas', { role: 'img', 'aria-label': `${title}: no figures yet` });
        this.node = h('div', { class: 'chart' },
            !plain && h('div', { class: 'chart-head' }, h('h3', {}, title),
                bars.length > 1 && h('ul', { class: 'legend' }, bars.map((bar) => h('li', {},
                    h('span', { class: `swatch ${bar.colour}` }), bar.label)))),
            h('div', { class: 'chart-box' }, this.canvas));
        document.documentElement.addEventListener('look', () => this.labels && this.canvas.isConnected && this.draw(),
            { signal });
        signal?.addEventListener('abort', () => this.chart?.destroy(), { once: true });
    }

    update(labels, values) {
        Object.assign(this, { labels, values });
        this.draw();
    }

    draw() {
        this.chart?.destroy();
        if (!window.Chart)
            return;
        const y = axis(short);
        this.chart = new window.Chart(this.canvas, {
            type: 'bar',
            data: { labels: this.labels, datasets: this.bars.map((bar, i) => ({ label: bar.label, data: this.values[i],
                backgroundColor: css(`--${bar.colour}`), borderRadius: 3, maxBarThickness: 34 })) },
            options: { animation: false, responsive: true, maintainAspectRatio: false,
                interaction: { mode: 'index', intersect: false },
                plugins: { legend: { display: false },
                    tooltip: tooltipOptions(this.format, (items) => items[0].label) },
                scales: { x: { stacked: this.stacked, grid: { display: false, drawBorder: false },
                    ticks: { color: css('--text-3'), font: fontOf(), maxRotation: 0, autoSkipPadding: 8 } },
                y: { ...y, stacked: this.stacked, suggestedMax: 4 } } },
        });
        this.canvas.setAttribute('aria-label', `${this.title}: ` + this.labels.map((label, i) =>
            `${label}: ${this.bars.map((bar, j) => `${this.format(this.values[j][i])} ${bar.label}`).join(', ')}`)
            .join('; '));
    }
}

/* ---- sparklines ---- */

export function sparkline(kind = '') {
    const area = s('path', { class: 'spark-area' }), line = s('path', { class: 'spark-line' });
    const node = s('svg', { class: `spark ${kind}`, viewBox: '0 0 100 28', preserveAspectRatio: 'none',
        'aria-hidden': 'true' }, area, line);
    node.update = (values) => {
        const known = values.map((v) => v ?? 0);
        if (known.length < 2)
            return;
        const top = Math.max(...known, 1), step = 100 / (known.length - 1);
        const points = known.map((v, i) => `${(i * step).toFixed(2)},${(26 - (v / top) * 23).toFixed(2)}`);
        line.setAttribute('d', `M${points.join('L')}`);
        area.setAttribute('d', `M0,28L${points.join('L')}L100,28Z`);
    };
    return node;
}

/* At most n values, each the mean of its part. */
export function thinned(values, n) {
    if (values.length <= n)
        return values;
    const out = [];
    for (let i = 0; i < n; i++) {
        const part = values.slice(Math.floor((i * values.length) / n), Math.floor(((i + 1) * values.length) / n));
        const known = part.filter(isKnown);
        out.push(known.length ? known.reduce((a, b) => a + b, 0) / known.length : null);
    }
    return out;
}

/* ---- the history of an hour ---- */

export const RANGES = [{ key: '300000', text: '5 min' }, { key: '900000', text: '15 min' },
    { key: '3600000', text: '1 h' }];

/* The shortest range that shows all that was measured: right after the start an hour would be empty. */
export function fittingRange(past) {
    const first = past.at.findIndex((_, i) => Object.values(past.series).some((values) => isKnown(values[i])));
    const known_ms = first < 0 ? 0 : past.at[past.at.length - 1] - past.at[first];
    return Number((RANGES.find((range) => Number(range.key) >= known_ms) || RANGES[RANGES.length - 1]).key);
}

export const rangeChoice = (value, onChange) => segments('Time shown', RANGES, String(value), (key) =>
    onChange(Number(key)));

const POINTS_MOST = 720;

/* Collects what /api/history answers: a whole hour, or only what is new since the last time. */
export class History {
    constructor() {
        this.at = [];
        this.series = {};
        this.step_ms = 5000;
    }

    merge(answer) {
        if (!answer?.series)
            return;
        this.step_ms = answer.step_ms;
        const keys = Object.keys(answer.series);
        const n = Math.max(0, ...keys.map((key) => answer.series[key].length));
        const keep = this.at.findIndex((ms) => ms >= answer.from);
        const kept = keep < 0 ? this.at.length : keep;
        const from = Math.max(0, kept + n - POINTS_MOST);
        this.at = [...this.at.slice(0, kept), ...Array.from({ length: n }, (_, i) => answer.from +
            i * answer.step_ms)].slice(from);
        for (const key of keys)
            this.series[key] = [...(this.series[key] || []).slice(0, kept), ...answer.series[key]].slice(from);
    }

    get since() {
        return this.at.length ? this.at[this.at.length - 1] + 1 : null;
    }

    for(range_ms) {
        return { at: this.at, step_ms: this.step_ms, range_ms, ...this.series };
    }
}

/* The two charts that each page of queues begins with. */
export const mainCharts = (signal) => [
    new TimeChart({ title: 'Throughput', unit: '/s', format: rate, signal, lines: [
        { key: 'in', label: 'In', colour: 'c1', fill: true }, { key: 'out', label: 'Out', colour: 'c2' }] }),
    new TimeChart({ title: 'Backlog', signal, lines: [{ key: 'waiting', label: 'Waiting', colour: 'c1', fill: true },
        { key: 'running', label: 'Running', colour: 'c2' }] }),
];

export const chartGrid = (...charts) => put(h('div', { class: 'charts' }), charts.map((chart) =>
    h('div', { class: 'card chart-card' }, chart.node)));
