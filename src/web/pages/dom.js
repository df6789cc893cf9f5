/* SPDX-License-Identifier: MIT
 *
 * Makes elements. Text is only ever set as text, so nothing that a task, a name or a message holds can become markup.
 */
const SVG = 'http://www.w3.org/2000/svg';

function set(node, name, value) {
    if (value === null || value === undefined || value === false)
        return;
    if (name === 'on')
        for (const [type, fn] of Object.entries(value))
            node.addEventListener(type, fn);
    else if (name === 'data')
        Object.assign(node.dataset, value);
    else if (name === 'vars') // CSS variables: the policy of the server allows no style attribute
        for (const [key, text] of Object.entries(value))
            node.style.setProperty(key, text);
    else if (['value', 'checked', 'disabled', 'hidden', 'selected', 'open', 'indeterminate'].includes(name))
        node[name] = value;
    else
        node.setAttribute(name, value === true ? '' : value);
}

function fill(node, props, children) {
    for (const [name, value] of Object.entries(props || {}))
        set(node, name, value);
    put(node, children);
    return node;
}

/* Appends nodes and texts; lists are flattened, and what is null or false is left out. */
export function put(node, ...children) {
    for (const child of children.flat(9))
        if (child !== null && child !== undefined && child !== false)
            node.append(child instanceof Node ? child : String(child));
    return node;
}

export function replace(node, ...children) {
    node.replaceChildren();
    return put(node, children);
}

const said = (node) => node.getAttribute('aria-label') || node.textContent;

/* The same; but the focus stays on what says the same. */
export function renew(node, ...children) {
    const had = node.contains(document.activeElement) && said(document.activeElement);
    replace(node, children);
    if (had)
        [...node.querySelectorAll('a, button, input')].find((one) => said(one) === had)?.focus({ preventScroll: true });
    return node;
}

export const h = (tag, props, ...children) => fill(document.createElement(tag), props, children);
export const s = (tag, props, ...children) => fill(document.createElementNS(SVG, tag), props, children);

/* A text that changes only when it must: a screen reader and a selection are left alone. */
export function setText(node, text) {
    if (node.textContent !== text)
        node.textContent = text;
}

export const isTyping = (node) => node && (node.matches('input, textarea, select') || node.isContentEditable);

let next = 0;
export const freshId = (stem) => `${stem}-${++next}`;
