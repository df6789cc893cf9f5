/* SPDX-License-Identifier: MIT
 *
 * The shell: navigation, search, state of the connection, keys; and the router, which shows the view that the part of
 * the address after # names. A view is a function (view) that fills view.node and may use view.signal, which aborts
 * when the view ends.
 */
import { get, loadSession, session, signOut } from './api.js';
import { dialog } from './dialog.js';
import { h, isTyping, replace, setText } from './dom.js';
import { num, short } from './format.js';
import { icon, logo } from './icons.js';
import * as live from './live.js';
import { encode } from './names.js';
import { button, errorNote, iconButton } from './parts.js';
import batches, { batch } from './view_batches.js';
import events from './view_events.js';
import failures from './view_failures.js';
import job from './view_job.js';
import jobs from './view_jobs.js';
import overview from './view_overview.js';
import queue from './view_queue.js';
import queues from './view_queues.js';
import running from './view_running.js';
import search from './view_search.js';
import workers from './view_workers.js';

const byId = (id) => document.getElementById(id);

/* {key, text, icon, key to press after g, what is counted} */
const PAGES = [
    { key: 'overview', text: 'Overview', press: 'o', href: '#/' },
    { key: 'queues', text: 'Queues', press: 'q', count: (o) => o.queues },
    { key: 'running', text: 'Running', press: 'r', count: (o) => o.running },
    { key: 'jobs', text: 'Jobs', press: 'j' },
    { key: 'batches', text: 'Batches', press: 'b' },
    { key: 'failures', text: 'Failures', press: 'f', count: (o) => o.failed, bad: true },
    { key: 'workers', text: 'Workers', press: 'w', count: (o) => o.workers },
    { key: 'events', text: 'Events', press: 'e' },
];
for (const page of PAGES)
    page.href = page.href || `#/${page.key}`;
const SHORT_TABS = ['overview', 'queues', 'jobs', 'failures'];

/* ---- navigation ---- */

const counts = {};

function navLink(page, countClass) {
    const count = h('span', { class: `nav-count ${countClass}`, hidden: true });
    if (page.count)
        (counts[page.key] = counts[page.key] || []).push(count);
    return h('a', { class: 'nav-link', href: page.href, data: { page: page.key } }, icon(page.key),
        h('span', { class: 'nav-text' }, page.text), count);
}

function showCounts(o) {
    for (const page of PAGES)
        for (const node of counts[page.key] || []) {
            const n = page.count(o);
            node.hidden = !(n > 0);
            node.classList.toggle('bad', Boolean(page.bad));
            setText(node, short(n));
            node.title = num(n);
        }
}

function showCurrent(key) {
    for (const link of document.querySelectorAll('a[data-page]'))
        if (link.dataset.page === key)
            link.setAttribute('aria-current', 'page');
        else
            link.removeAttribute('aria-current');
    byId('tabs').querySelector('button').classList.toggle('current', !SHORT_TABS.includes(key));
}

function buildSide() {
    replace(byId('side'),
        h('a', { class: 'brand', href: '#/', 'aria-label': 'muster, overview' }, logo(), h('span', {}, 'muster')),
        h('nav', { class: 'nav', 'aria-label': 'Main' }, h('ul', {}, PAGES.map((page) => h('li', {}, navLink(page,
            ''))))),
        h('div', { class: 'side-foot', id: 'about' }));
    replace(byId('tabs'), SHORT_TABS.map((key) => navLink(PAGES.find((page) => page.key === key), 'mini')),
        h('button', { type: 'button', class: 'nav-link', 'aria-haspopup': 'dialog', on: { click: showMore } },
            icon('more'), h('span', { class: 'nav-text' }, 'More')));
}

function showMore() {
    dialog('More', (close) => h('div', { class: 'sheet' },
        h('nav', { 'aria-label': 'More pages' }, h('ul', {}, PAGES.filter((page) => !SHORT_TABS.includes(page.key))
            .map((page) => h('li', {}, h('a', { class: 'nav-link', href: page.href, on: { click: () => close() } },
                icon(page.key), h('span', { class: 'nav-text' }, page.text)))))),
        lookChoices(), aboutLines()), { kind: 'bottom' });
}

function aboutLines() {
    return h('dl', { class: 'about' }, [['Redis', session.server], ['Engine', session.engine],
        ['Prefix', session.prefix], ['muster', session.version]].filter(([, value]) => value).map(([name, value]) =>
        h('div', {}, h('dt', {}, name), h('dd', { title: value }, value))));
}

/* The first look may not be there yet when the page is, and a failover may bring another version. */
function showEngine(o) {
    if (!o.redis?.engine || o.redis.engine === session.engine)
        return;
    session.engine = o.redis.engine;
    replace(byId('about'), aboutLines());
}

/* ---- the bar on top ---- */

const THEMES = { system: ['system', 'Theme: as the system'], light: ['sun', 'Theme: light'], dark: ['moon',
    'Theme: dark'] };

function themeButton() {
    const node = iconButton('system', '', nextTheme);
    const show = () => {
        const [name, label] = THEMES[window.musterLook.get('theme')];
        replace(node, icon(name));
        node.title = label;
        node.setAttribute('aria-label', label);
    };
    document.documentElement.addEventListener('look', show);
    show();
    return node;
}

function nextTheme() {
    const names = Object.keys(THEMES);
    window.musterLook.set('theme', names[(names.indexOf(window.musterLook.get('theme')) + 1) % names.length]);
}

function densityButton() {
    const node = iconButton('density', 'Compact rows', toggleDensity);
    const show = () => node.setAttribute('aria-pressed', String(window.musterLook.get('density') === 'compact'));
    document.documentElement.addEventListener('look', show);
    show();
    return node;
}

const toggleDensity = () => window.musterLook.set('density',
    window.musterLook.get('density') === 'compact' ? 'comfortable' : 'compact');

const lookChoices = () => h('div', { class: 'look' }, themeButton(), densityButton(),
    iconButton('help', 'Keys and help', showHelp), session.auth && iconButton('signout', 'Sign out', signOut));

function searchBox() {
    const input = h('input', { type: 'search', id: 'search', placeholder: 'Queue, job, tag or worker',
        autocomplete: 'off', spellcheck: 'false', 'aria-label': 'Search queues, jobs, tags and workers',
        'aria-keyshortcuts': '/' });
    return h('form', { class: 'search', role: 'search', on: { submit(event) {
        event.preventDefault();
        if (input.value.trim())
            location.hash = `#/search?q=${encode(input.value.trim())}`;
    } } }, icon('search', 17), input, h('kbd', { 'aria-hidden': 'true' }, '/'));
}

function buildTop() {
    replace(byId('top'),
        h('a', { class: 'brand brand-small', href: '#/', 'aria-label': 'muster, overview' }, logo(26)),
        searchBox(),
        h('div', { class: 'top-end' },
            session.read_only && h('span', { class: 'badge plain', title: 'muster web --read-only' }, 'Read-only'),
            h('span', { class: 'connection', id: 'connection', role: 'status' }),
            h('div', { class: 'top-look' }, lookChoices())));
    replace(byId('about'), aboutLines());
}

const STATES = { connecting: ['Connecting', 'wait'], live: ['Live', 'good'], lost: ['Not connected', 'bad'],
    trouble: ['No Redis', 'bad'] };

function showConnection(state) {
    const [text, kind] = STATES[state];
    replace(byId('connection'), h('span', { class: `dot ${kind}` }), h('span', {}, text));
    byId('connection').className = `connection ${kind}`;
    if (state === 'lost')
        replace(byId('notice'), h('div', { class: 'banner' }, icon('failures', 17),
            h('span', {}, 'The connection to muster web is lost: the figures stand still. It is tried again.'),
            button('Try now', { small: true, onClick: live.connect })));
    else if (state === 'trouble')
        replace(byId('notice'), h('div', { class: 'banner' }, icon('failures', 17), h('span', {},
            `${live.last.trouble.error}: ${live.last.trouble.message}. The figures stand still. It is tried again.`)));
    else
        byId('notice').replaceChildren();
}

/* ---- keys ---- */

const KEYS = [['/', 'Search'], ['?', 'This help'], ['j  k', 'Next, former row'], ['t', 'Theme'], ['c', 'Compact rows'],
    ...PAGES.map((page) => [`g ${page.press}`, page.text])];

const keysAreOn = () => localStorage.getItem('muster.keys') !== 'off';

function showHelp() {
    if (document.querySelector('dialog[open]'))
        return;
    dialog('Keys and help', () => h('div', { class: 'dialog-body' },
        h('dl', { class: 'keys' }, KEYS.map(([keys, text]) => h('div', {},
            h('dt', {}, keys.split(' ').filter(Boolean).map((key) => h('kbd', {}, key))), h('dd', {}, text)))),
        h('label', { class: 'check' }, h('input', { type: 'checkbox', checked: keysAreOn(), on: { change(event) {
            localStorage.setItem('muster.keys', event.target.checked ? 'on' : 'off');
        } } }), 'These keys are on'),
        h('p', { class: 'muted' }, 'Everything here is also in the command: ', h('code', {}, 'muster --help'), '.')));
}

let went = 0; // when g was pressed

function rowStep(by) {
    const links = [...document.querySelectorAll('main tbody tr')].map((tr) => tr.querySelector('a, button, summary'))
        .filter(Boolean);
    const at = links.findIndex((link) => link.closest('tr').contains(document.activeElement));
    const link = links[Math.max(0, Math.min(links.length - 1, at + by))];
    link?.focus();
    link?.scrollIntoView({ block: 'nearest' });
}

const SINGLE = { '/': () => byId('search').focus(), '?': showHelp, t: nextTheme, c: toggleDensity,
    j: () => rowStep(1), k: () => rowStep(-1) };

function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !keysAreOn())
        return;
    if (isTyping(event.target) || document.querySelector('dialog[open]'))
        return;
    const second = Date.now() - went < 1500;
    went = 0;
    const page = second && PAGES.find((one) => one.press === event.key);
    if (page)
        location.hash = page.href;
    else if (event.key === 'g')
        went = Date.now();
    else if (SINGLE[event.key]) {
        SINGLE[event.key]();
        event.preventDefault();
    }
}

/* ---- router ---- */

const VIEWS = { queues: (parts) => (parts.length > 1 ? queue : queues), running: () => running,
    failures: () => failures,
    jobs: (parts) => (parts.length > 1 ? job : jobs), batches: (parts) => (parts.length > 1 ? batch : batches),
    workers: () => workers, events: () => events,
    search: () => search, '': () => overview };

let current = null, shownPath = null;

function parse() {
    const [path, query = ''] = location.hash.replace(/^#\/?/, '').split('?');
    const values = {};
    for (const part of query.split('&').filter(Boolean)) {
        const [key, value = ''] = part.split('=');
        values[key] = value; // stays percent-encoded: names are bytes
    }
    return { parts: path.split('/').filter((part, i) => part || i === 0), query: values };
}

function notFound(view) {
    view.title = 'No such page';
    replace(view.node, h('h1', { tabindex: -1 }, 'No such page'),
        h('p', {}, 'This address names none. ', h('a', { href: '#/' }, 'Go to the overview'), '.'));
}

async function route() {
    current?.abort.abort();
    for (const one of document.querySelectorAll('dialog[open]'))
        one.close(); // it is about what was shown
    const abort = new AbortController(), { parts, query } = parse();
    const node = h('div', { class: `view view-${parts[0] || 'overview'}` });
    const view = { node, abort, signal: abort.signal, parts, query, title: '',
        on: (kind, fn) => live.on(kind, fn, abort.signal), every: (ms, fn) => every(ms, fn, abort.signal) };
    const isSame = shownPath === parts.slice(0, 2).join('/');
    shownPath = parts.slice(0, 2).join('/');
    current = view;
    showCurrent(parts[0] || 'overview');
    replace(byId('main'), node);
    try {
        await (VIEWS[parts[0]]?.(parts) || notFound)(view);
    } catch (error) {
        if (!abort.signal.aborted)
            replace(node, h('h1', { tabindex: -1 }, 'Something went wrong'), errorNote(error, route));
        console.warn(error.message);
    }
    if (abort.signal.aborted)
        return;
    document.title = `${view.title || 'Overview'} · muster`;
    if (!isSame) {
        scrollTo(0, 0);
        if (routed)
            node.querySelector('h1')?.focus({ preventScroll: true });
    }
    routed = true;
}
let routed = false;

/* Again and again while the view is there and the page can be seen, and when it is seen again. */
function every(ms, fn, signal) {
    const tried = () => document.hidden || fn(), timer = setInterval(tried, ms);
    document.addEventListener('visibilitychange', tried, { signal });
    signal.addEventListener('abort', () => clearInterval(timer), { once: true });
}

/* ---- start ---- */

function restorePlace() {
    const from = sessionStorage.getItem('muster.from');
    sessionStorage.removeItem('muster.from');
    if (from && !location.hash)
        history.replaceState(null, '', from);
}

async function start() {
    restorePlace();
    try {
        await loadSession();
    } catch (error) {
        replace(byId('main'), h('h1', {}, 'muster'), errorNote(error, () => location.reload()));
        return;
    }
    buildSide();
    buildTop();
    byId('skip').addEventListener('click', (event) => {
        event.preventDefault();
        byId('main').focus();
    });
    showConnection('connecting');
    live.on('state', showConnection);
    live.on('overview', showCounts);
    live.on('overview', showEngine);
    live.connect();
    get('overview').then(showCounts).catch(() => null);
    addEventListener('hashchange', route);
    addEventListener('keydown', onKey);
    route();
}

start();
