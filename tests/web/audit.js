/* SPDX-License-Identifier: MIT
 *
 * Looks at a page as it stands, and returns what is wrong with it in words. Run by pages.py in the browser.
 */
const wrong = [];
const seen = (node) => node.getClientRects().length > 0 && getComputedStyle(node).visibility !== 'hidden'
    && !node.closest('.away, .skip');
const name = (node) => `<${node.tagName.toLowerCase()} class="${node.getAttribute('class') || ''}"> ` +
    `"${(node.textContent || '').trim().slice(0, 40)}"`;

/* ---- structure */

for (const role of ['main', 'nav', 'h1'])
    if (!document.querySelector(role))
        wrong.push(`there is no <${role}>`);
if (document.querySelectorAll('h1').length > 1)
    wrong.push('more than one <h1>');
for (const th of document.querySelectorAll('th'))
    if (!th.scope)
        wrong.push(`a table header without scope: ${name(th)}`);
for (const table of document.querySelectorAll('table'))
    if (!table.caption)
        wrong.push('a table without a caption');
const ids = [...document.querySelectorAll('[id]')].map((node) => node.id);
for (const id of new Set(ids))
    if (ids.filter((one) => one === id).length > 1)
        wrong.push(`the id ${id} is given more than once`);
for (const node of document.querySelectorAll('[aria-labelledby], [aria-describedby]'))
    for (const id of `${node.getAttribute('aria-labelledby') || ''} ${node.getAttribute('aria-describedby') || ''}`
        .split(' ').filter(Boolean))
        if (!document.getElementById(id))
            wrong.push(`${name(node)} refers to the id ${id}, which nothing has`);
const levels = [...document.querySelectorAll('h1, h2, h3, h4')].filter(seen).map((node) => Number(node.tagName[1]));
if (document.querySelectorAll('[style*=expression], script:not([src]), [onclick], [onerror]').length)
    wrong.push('inline script');
if (levels.length && levels[0] !== 1)
    wrong.push('the first heading is not the <h1>');

/* ---- names of controls and pictures */

for (const node of document.querySelectorAll('a[href], button, input, select, textarea, summary, canvas, [role=img]')) {
    const label = node.getAttribute('aria-label') || node.getAttribute('aria-labelledby') || node.textContent.trim()
        || [...(node.labels || [])].map((one) => one.textContent).join('').trim();
    if (seen(node) && !label)
        wrong.push(`without a name: ${name(node)}`);
}

/* ---- width */

if (document.documentElement.scrollWidth > innerWidth)
    wrong.push(`it scrolls sideways: ${document.documentElement.scrollWidth} of ${innerWidth} pixels; ` +
        [...document.querySelectorAll('main *')].filter((node) => node.getBoundingClientRect().right > innerWidth + 1)
            .slice(0, 3).map(name).join(', '));

/* A cell that is too narrow lets its text run into the next one. On a phone a row is a card, whose cells may wrap. */
for (const cell of document.querySelectorAll('main td, main th'))
    if (innerWidth >= 500 && seen(cell) && !cell.querySelector('.away') &&
        getComputedStyle(cell).overflowX === 'visible' && cell.scrollWidth > cell.clientWidth + 1)
        wrong.push(`wider than its cell: ${name(cell)}`);

/* ---- room for a finger */

if (innerWidth < 500)
    for (const node of document.querySelectorAll('button, .button, .tabs a')) {
        const box = node.getBoundingClientRect();
        if (seen(node) && !node.matches('.link') && (box.height < 24 || box.width < 24))
            wrong.push(`too small for a finger, ${Math.round(box.width)}x${Math.round(box.height)}: ${name(node)}`);
    }

/* ---- contrast: at least 4.5, for large text 3 */

const brush = Object.assign(document.createElement('canvas'), { width: 1, height: 1 })
    .getContext('2d', { willReadFrequently: true });
const known = new Map();
function rgba(colour) {
    if (!known.has(colour)) {
        brush.clearRect(0, 0, 1, 1);
        brush.fillStyle = colour;
        brush.fillRect(0, 0, 1, 1);
        const [r, g, b, a] = brush.getImageData(0, 0, 1, 1).data;
        known.set(colour, [r, g, b, a / 255]);
    }
    return known.get(colour);
}
const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
function ground(node) {
    const layers = [];
    for (let one = node; one; one = one.parentElement)
        layers.push(rgba(getComputedStyle(one).backgroundColor));
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 1]);
}
const light = (colour) => colour.slice(0, 3).map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92
    : ((c + 0.055) / 1.055) ** 2.4)).reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
function contrast(a, b) {
    const [x, y] = [light(a), light(b)].sort((m, n) => n - m);
    return (x + 0.05) / (y + 0.05);
}

let looked = 0;
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    const node = text.parentElement;
    if (!text.data.trim() || !seen(node) || node.closest('svg, option, :disabled, noscript'))
        continue;
    const style = getComputedStyle(node), size = parseFloat(style.fontSize);
    const least = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 600) ? 3 : 4.5;
    const below = ground(node), has = contrast(over(rgba(style.color), below), below);
    looked++;
    if (has < least)
        wrong.push(`contrast ${has.toFixed(2)} of ${name(node)}: ${style.color} on ${below.slice(0, 3).map(Math.round)}`);
}
for (const text of document.querySelectorAll('svg.graph text')) {
    const rect = text.parentElement.querySelector('rect');
    const below = rgba(getComputedStyle(rect).fill), has = contrast(rgba(getComputedStyle(text).fill), below);
    if (has < 4.5)
        wrong.push(`contrast ${has.toFixed(2)} in the drawing: ${text.textContent}`);
}
if (looked < 5)
    wrong.push(`only ${looked} texts are there`);
return [...new Set(wrong)];
