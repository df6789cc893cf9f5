/* SPDX-License-Identifier: MIT
 *
 * Sets theme and density before the first paint, so that nothing flashes. app.js changes them by musterLook.set().
 * Without a choice of the user the system decides.
 */
'use strict';
(function () {
    const root = document.documentElement;
    const dark = matchMedia('(prefers-color-scheme: dark)');
    const choices = { theme: ['system', 'light', 'dark'], density: ['comfortable', 'compact'] };
    function get(name) {
        try {
            const value = localStorage.getItem('muster.' + name);
            return choices[name].includes(value) ? value : choices[name][0];
        } catch (e) {
            return choices[name][0]; // no storage in this browser: the choice lasts as long as the page
        }
    }
    function show(name, value) {
        if (name === 'theme')
            root.dataset.theme = value === 'system' ? (dark.matches ? 'dark' : 'light') : value;
        else
            root.dataset.density = value;
        root.dispatchEvent(new CustomEvent('look'));
    }
    window.musterLook = {
        get,
        set(name, value) {
            try {
                localStorage.setItem('muster.' + name, value);
            } catch (e) { /* as above */ }
            show(name, value);
        },
    };
    dark.addEventListener('change', () => show('theme', get('theme')));
    show('theme', get('theme'));
    show('density', get('density'));
})();
