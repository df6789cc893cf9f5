/* SPDX-License-Identifier: MIT
 *
 * Icons as lines in a box of 24, drawn for these pages. They are never alone: a text or a label says the same.
 */
import { s } from './dom.js';

const PATHS = {
    overview: ['M4 19V11', 'M10 19V5', 'M16 19v-9', 'M21 19H3'],
    queues: ['M4 6h16', 'M4 12h16', 'M4 18h10'],
    running: ['M8 5.5v13l10.5-6.5z'],
    jobs: ['M5 4.500h14v15H5z', 'M9 9h6', 'M9 13h6'],
    batches: ['M4 8.500h10.500v10.500H4z', 'M9.500 8.500V5h10.500v10.500h-5'],
    failures: ['M12 4 3 19.500h18z', 'M12 10v4', 'M12 16.800v.2'],
    workers: ['M4 5h16v6H4z', 'M4 14h16v5H4z', 'M7.5 8v.1', 'M7.5 16.500v.1'],
    events: ['M3 12h4l3-7 4 14 3-7h4'],
    search: ['M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13z', 'M15.5 15.5 20 20'],
    more: ['M5.5 12.7a.7.7 0 1 0 0-1.4.7.7 0 0 0 0 1.4z', 'M12 12.7a.7.7 0 1 0 0-1.4.7.7 0 0 0 0 1.4z',
        'M18.5 12.7a.7.7 0 1 0 0-1.4.7.7 0 0 0 0 1.4z'],
    sun: ['M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8z', 'M12 2.500v2', 'M12 19.500v2', 'M4.5 12h-2', 'M21.5 12h-2',
        'M5.3 5.300l1.4 1.4', 'M17.3 17.300l1.4 1.4', 'M5.3 18.700l1.4-1.4', 'M17.3 6.700l1.4-1.4'],
    moon: ['M19.5 14.500A8 8 0 0 1 9.5 4.500a8 8 0 1 0 10 10z'],
    system: ['M4 5h16v11H4z', 'M9 20h6', 'M12 16v4'],
    density: ['M4 5h16', 'M4 9.700h16', 'M4 14.300h16', 'M4 19h16'],
    help: ['M9 9a3 3 0 1 1 4.5 2.600c-1 .6-1.5 1.1-1.5 2.4', 'M12 17.500v.1'],
    pause: ['M8.5 5.500v13', 'M15.5 5.500v13'],
    resume: ['M8 5.500v13l10.5-6.500z'],
    settings: ['M4 7h9', 'M19 7h1', 'M16 9.500a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5z', 'M4 17h1', 'M11 17h9',
        'M8 19.500a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5z'],
    trash: ['M4.5 7h15', 'M9 7V4.500h6V7', 'M6.5 7l1 12.500h9l1-12.5'],
    replay: ['M4.5 12a7.5 7.5 0 1 0 2.5-5.6', 'M4.5 4.500v4h4'],
    copy: ['M9 9h10.500v10.500H9z', 'M15 9V4.500H4.500V15H9'],
    close: ['M6 6l12 12', 'M18 6 6 18'],
    plus: ['M12 5v14', 'M5 12h14'],
    stop: ['M6.5 6.500h11v11h-11z'],
    check: ['M5 12.500l4.5 4.500L19 7.5'],
    left: ['M14.5 5.5 8 12l6.5 6.5'],
    right: ['M9.5 5.5 16 12l-6.5 6.5'],
    tag: ['M4.5 4.500h7l8 8-7 7-8-8z', 'M8.5 8.500v.1'],
    pin: ['M12 3.500l2.6 5.4 5.9.8-4.3 4.1 1.1 5.9-5.3-2.9-5.3 2.9 1.1-5.900L3.5 9.700l5.9-.8z'],
    signout: ['M14 4.500H5v15h9', 'M10 12h10', 'M16.5 8.5 20 12l-3.5 3.5'],
    edit: ['M5 19l1-4L16.5 4.500l3 3L9 18z'],
};

export function icon(name, size = 18) {
    return s('svg', { class: 'icon', viewBox: '0 0 24 24', width: size, height: size, 'aria-hidden': 'true',
        focusable: 'false' }, PATHS[name].map((d) => s('path', { d })));
}

export function logo(size = 28) {
    return s('svg', { viewBox: '0 0 32 32', width: size, height: size, 'aria-hidden': 'true', class: 'logo' },
        s('rect', { width: 32, height: 32, rx: 8, class: 'logo-ground' }),
        s('rect', { x: 6.5, y: 9, width: 4, height: 14, rx: 2 }),
        s('rect', { x: 14, y: 9, width: 4, height: 14, rx: 2, opacity: 0.85 }),
        s('rect', { x: 21.5, y: 9, width: 4, height: 8, rx: 2, opacity: 0.7 }),
        s('circle', { cx: 23.5, cy: 21, r: 2 }));
}
