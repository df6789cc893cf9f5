# SPDX-License-Identifier: MIT
"""The pages by keyboard, their looks, and what changes with them: see test_keys.sh for what is proved."""
from selenium.webdriver.common.keys import Keys

from browser import check, run


def active(browser, selector):
    return browser.js('return document.activeElement.matches(arguments[0])', selector)


def walk(browser):
    """Tab reaches the skip link first, then everything, with a mark that is seen; nothing holds the focus."""
    browser.open('/#/queues')
    browser.keys(Keys.TAB)
    check(active(browser, '.skip'), 'the first stop is', browser.focused())
    browser.keys(Keys.ENTER)
    check(active(browser, 'main'), 'the skip link leads to', browser.focused())
    browser.open('/#/queues')
    stops = []
    for _ in range(60):
        browser.keys(Keys.TAB)
        if active(browser, 'body'):
            break
        outline = browser.js('''const style = getComputedStyle(document.activeElement);
            const box = document.activeElement.getBoundingClientRect();
            return [style.outlineStyle, style.outlineWidth, box.width > 0]''')
        check(outline[0] != 'none' and outline[1] != '0px' and outline[2], 'the focus is not seen at',
              browser.focused(), outline)
        stops.append(browser.focused())
    for name in ('Overview', 'Search queues, jobs, tags and workers', 'Filter queues by name', 'Pause mail'):
        check(any(stop.startswith(name) for stop in stops), name, 'is not reached:', stops)


def single_keys(browser):
    browser.open('/#/')
    browser.keys('/')
    check(active(browser, '#search'), '/ leads to', browser.focused())
    browser.keys('mail', Keys.ENTER)
    browser.wait_text('Search: mail', 'main h1')
    browser.js('document.activeElement.blur()')
    browser.keys('g', 'w')
    browser.wait_text('Workers', 'main h1')
    browser.wait(lambda: active(browser, 'h1'), 'the focus on the heading of the new page')
    browser.keys('g', 'q')
    browser.wait_text('mail', 'main table')
    browser.wait(lambda: active(browser, 'h1'), 'the focus on the heading of the queues')
    browser.keys('j')
    first = browser.focused()
    browser.keys('j')
    check(browser.focused() != first, 'j stays at', first)
    browser.keys('k')
    check(browser.focused() == first, 'k leads to', browser.focused())


def dialogs(browser):
    """A dialog takes the focus, keeps it, ends at Escape, and gives it back."""
    browser.open('/#/queues')
    browser.js('document.querySelector("main h1").focus()')
    browser.keys('?')
    check('Keys and help' in browser.dialog(), 'the help')
    browser.keys(Keys.ESCAPE)
    browser.wait_no_dialog()
    button = browser.get('button', 'Settings of mail')
    button.send_keys(Keys.ENTER)
    browser.wait_text('max_running', 'dialog[open]')
    for _ in range(30):
        browser.keys(Keys.TAB)
        check(browser.js('''return document.activeElement === document.body
            || document.querySelector("dialog[open]").contains(document.activeElement)'''), 'the focus left the dialog:',
              browser.focused())
    browser.js('document.querySelector("dialog[open] button").focus()')
    browser.keys(Keys.ESCAPE)
    browser.wait_no_dialog()
    check(browser.focused() == 'Settings of mail', 'the focus went to', browser.focused())


def order(browser):
    browser.open('/#/queues')
    head = 'th[data-key=queue]'
    browser.js(f'document.querySelector("{head} button").focus()')
    browser.keys(Keys.ENTER)
    check(browser.js(f'return document.querySelector("{head}").ariaSort') == 'ascending', 'aria-sort')
    names = browser.js('return [...document.querySelectorAll("main tbody th .name")].map((n) => n.innerText)')
    check(names == sorted(names, key=str.casefold) or names.index('mail') < names.index('print'), 'the order:', names)
    browser.keys(Keys.ENTER)
    check(browser.js(f'return document.querySelector("{head}").ariaSort') == 'descending', 'aria-sort')
    check('descending' in browser.text('.table-box [role=status]'), 'the order is said')
    browser.look('phone', 'light')
    browser.open('/#/queues')
    browser.js('''const select = document.querySelector(".phone-sort select");
        select.value = "waiting down"; select.dispatchEvent(new Event("change"))''')
    check('mail' == browser.js('return document.querySelector("main tbody th .name").innerText'), 'the order of a phone')
    browser.look('desktop', 'light')


def looks(browser):
    """Theme and density: by the system, by a choice that stays."""
    def ground():
        return browser.js('return getComputedStyle(document.body).backgroundColor')
    browser.look('desktop', 'light')
    browser.open('/#/queues')
    light = ground()
    browser.look('desktop', 'dark')
    browser.wait(lambda: ground() != light, 'the dark of the system')
    browser.press('Theme: as the system')
    check(ground() == light, 'light by choice')
    browser.open('/#/queues')
    check(ground() == light, 'the choice stays')
    browser.press('Theme: light')
    browser.press('Theme: dark')
    height = 'return document.querySelector("main tbody tr").getBoundingClientRect().height'
    high = browser.js(height)
    browser.press('Compact rows')
    check(browser.js(height) < high, 'compact rows are', browser.js(height), 'high, the others', high)
    browser.press('Compact rows')
    browser.look('desktop', 'light', 'reduce')
    browser.open('/#/')
    duration = 'return parseFloat(getComputedStyle(document.querySelector("dialog[open]")).animationDuration)'
    browser.keys('?')
    browser.dialog()
    check(browser.js(duration) < 0.01, 'movement in spite of the wish for less')
    browser.look('desktop', 'light')
    check(browser.js(duration) > 0.1, 'no movement at all')
    browser.keys(Keys.ESCAPE)
    browser.wait_no_dialog()


def phone(browser):
    """What the bar at the bottom has no room for is behind More."""
    browser.look('phone', 'light')
    browser.open('/#/')
    browser.press('More')
    browser.get('link', 'Workers').click()
    browser.wait_text('Workers', 'main h1')
    browser.wait_no_dialog()
    browser.press('More')
    browser.press('Compact rows')
    check(browser.js('return document.documentElement.dataset.density') == 'compact', 'density on a phone')
    browser.press('Compact rows')
    browser.look('desktop', 'light')


def test(browser):
    for part in (walk, single_keys, dialogs, order, looks, phone):
        part(browser)
    browser.check_quiet()


if __name__ == '__main__':
    raise SystemExit(run(test))
