/* SPDX-License-Identifier: MIT
 *
 * Dialogs and messages. A <dialog> that is shown as modal keeps the focus, ends at Escape, and gives the focus back.
 */
import { h, put, freshId } from './dom.js';
import { icon } from './icons.js';
import { button, errorNote, iconButton } from './parts.js';

/* Shows a dialog; `build(close)` gives its content. Resolves with what close() was given, or null. */
export function dialog(title, build, { kind = '' } = {}) {
    return new Promise((resolve) => {
        let result = null;
        const id = freshId('dialog');
        const node = h('dialog', { class: `dialog ${kind}`, 'aria-labelledby': id });
        const close = (value = null) => {
            result = value;
            node.close();
        };
        put(node, h('div', { class: 'dialog-head' }, h('h2', { id }, title),
            iconButton('close', 'Close', () => close())), build(close));
        node.addEventListener('close', () => {
            node.remove();
            resolve(result);
        });
        node.addEventListener('click', (event) => event.target === node && close());
        document.body.append(node);
        node.showModal();
        node.querySelector('[data-focus]')?.focus();
    });
}

/*
 * Asks, then does: `run()` is called at the press of the button, and its failure is said in the dialog, so that
 * nothing is lost of what was written there. `word`: it must be typed first. Resolves with true when it was done.
 */
export function confirm({ title, body, action, danger, word, run, ready }) {
    return dialog(title, (close) => {
        const go = h('button', { type: 'submit', class: `button ${danger ? 'danger' : 'primary'}` }, action);
        const where = h('div', {});
        const typed = word && h('input', { type: 'text', id: freshId('word'), autocomplete: 'off', spellcheck: 'false',
            data: { focus: 1 } });
        const check = () => {
            go.disabled = Boolean(word) && typed.value !== word;
        };
        typed?.addEventListener('input', check);
        check();
        const cancel = button('Cancel', { onClick: () => close() });
        if (!word && danger)
            cancel.dataset.focus = 1;
        const form = h('form', { class: 'dialog-body', on: { async submit(event) {
            event.preventDefault();
            if (go.disabled)
                return;
            go.disabled = true;
            form.setAttribute('aria-busy', 'true');
            where.replaceChildren();
            try {
                const done = await run(form);
                close(done === undefined ? true : done);
            } catch (error) {
                where.replaceChildren(errorNote(error));
                check();
            }
            form.removeAttribute('aria-busy');
        } } }, body, word && h('div', { class: 'field' },
            h('label', { for: typed.id }, 'Type ', h('strong', {}, word), ' to go on'), typed),
        where, h('div', { class: 'dialog-foot' }, cancel, go));
        ready?.(form);
        return form;
    });
}

/* Says what was done, for some seconds; a screen reader reads it. */
export function toast(text, kind = 'good') {
    const host = document.getElementById('toasts');
    const node = h('div', { class: `toast ${kind}` }, icon(kind === 'bad' ? 'failures' : 'check', 17),
        h('span', {}, text), iconButton('close', 'Dismiss', () => node.remove()));
    host.append(node);
    setTimeout(() => node.remove(), kind === 'bad' ? 12000 : 6000);
}
