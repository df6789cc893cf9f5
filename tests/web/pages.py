# SPDX-License-Identifier: MIT
"""Every page, on a phone and on a desktop, light and dark: see test_pages.sh for what is proved."""
import os

from browser import SIZES, check, run

# path, what must be read there
PAGES = [
    ('/#/', 'Queues with the most waiting'),
    ('/#/queues', 'mail'),
    ('/#/queues/mail', 'user'),
    ('/#/queues/hostile', '<script>document.title="owned"</script>'),
    ('/#/queues/binary', '00 01 ff 20'),
    ('/#/queues/exports/running', '3 of 7'),
    ('/#/queues/print/delayed', 'later'),
    ('/#/queues/slow/delayed', 'tortoise'),
    ('/#/queues/bounce/failed', 'group-1'),
    ('/#/queues/ledger/statistics', 'How long jobs waited and ran'),
    ('/#/queues/mail/settings', 'keep_failed'),
    ('/#/running', 'worker-1'),
    ('/#/jobs', 'ledger'),
    ('/#/jobs?queue=print&state=depends', 'pack'),
    ('/#/jobs?tag=order-17', '<s>job</s>'),
    ('/#/jobs/pack', 'Dependencies'),
    ('/#/jobs/booking-1', 'debit is not credit'),
    ('/#/jobs/clock', '-12-31 18:00:00.000 UTC'),
    ('/#/jobs/none', 'There is no such job'),
    ('/#/jobs/closing-1', 'it waits for a job that has failed'),
    ('/#/jobs?queue=ledger&state=depends', 'blocked'),
    ('/#/jobs/night-1', 'night'),
    ('/#/batches', '<u>inner</u>'),
    ('/#/batches/night', 'alarm'),
    ('/#/batches/none', 'There is no such batch'),
    ('/#/failures', 'unbalanced'),
    ('/#/failures?queue=bounce&group=group-1', "<script>document.title='"),
    ('/#/workers', 'worker-1'),
    ('/#/events', 'Nothing has happened'),
    ('/#/search?q=mail', 'Queues'),
    ('/#/search?q=%3Cu%3Etag%3C%2Fu%3E', 'scan'),
    ('/#/nowhere', 'No such page'),
]


def audit(browser, path):
    with open(os.path.join(os.path.dirname(__file__), 'audit.js'), encoding='utf-8') as file:
        wrong = browser.js(file.read())
    check(not wrong, f'{path} ({browser.size}, {browser.theme}):\n  ' + '\n  '.join(wrong[:12]))


def names(browser, path):
    """What the browser itself would tell a screen reader: every control has a name."""
    for node in browser.cdp('Accessibility.getFullAXTree')['nodes']:
        role = node.get('role', {}).get('value')
        if not node.get('ignored') and role in ('button', 'link', 'textbox', 'searchbox', 'checkbox', 'combobox',
                                                'spinbutton', 'dialog', 'table', 'image', 'columnheader'):
            check(node.get('name', {}).get('value', '').strip(), path, browser.size, 'a', role, 'without a name', node)


def hostile(browser, path):
    """Nothing that the world holds has become an element, or has run."""
    found = browser.js('''return [...document.querySelectorAll('main script, main img, main b, main u, main s, main i')]
        .map((node) => node.outerHTML)''')
    check(not found, path, 'markup came from a payload:', found)
    title = browser.js('return document.title')
    check(title.endswith('· muster'), path, 'the title is', title)


def every_page(browser):
    for size in SIZES:
        for theme in ('light', 'dark'):
            browser.look(size, theme)
            browser.open('/#/')
            for number, (path, text) in enumerate(PAGES):
                browser.go(path)
                browser.wait_text(text, 'main')
                audit(browser, path)
                hostile(browser, path)
                if theme == 'light':
                    names(browser, path)
                browser.picture(f'{number:02}')
            browser.check_quiet()


def payloads(browser):
    """JSON in its usual form, any text, and bytes in hex: as text."""
    browser.look('desktop', 'light')
    browser.open('/#/queues/mail')
    browser.js('document.querySelector("main tbody button").click()')
    check('"deep": true' in browser.dialog(), 'JSON is not laid out:', browser.dialog())
    browser.press('Hex')
    browser.wait_text('7b 22 74 6f', 'dialog[open] pre')
    browser.open('/#/queues/binary')
    browser.js('document.querySelector("main tbody button").click()')
    browser.wait_text('00000000  00 01 ff 20 62 69 6e 61  72 79 20 80 07', 'dialog[open] pre')
    browser.open('/#/queues/hostile')
    browser.js('document.querySelector("main tbody button").click()')
    browser.wait_text('<script>document.title="owned"</script>', 'dialog[open] pre')
    hostile(browser, 'a payload of markup')
    browser.open('/#/queues')
    browser.wait_text('turned\\u{202e}queue', 'main')  # what turns the direction of text is shown, and does nothing
    browser.check_quiet()


def drawing(browser):
    """The dependencies: a box for each job, lines between them, each box a link."""
    browser.open('/#/jobs/pack')
    browser.wait(lambda: browser.js('return document.querySelectorAll("svg.graph a").length') == 5, 'five jobs drawn')
    lines = browser.js('return document.querySelectorAll(".graph-line").length')
    check(lines == 5, 'lines in the drawing:', lines)
    browser.js('document.querySelector("svg.graph a[aria-label^=ship]").dispatchEvent(new MouseEvent("click", {bubbles: true}))')
    browser.wait_text('ship', 'main h1')
    browser.check_quiet()


def times(browser):
    """Times are read as people say them; the exact ones are in title and datetime."""
    browser.open('/#/failures?queue=bounce')
    found = browser.js('''const time = document.querySelector('main tbody time');
        return [time.textContent, time.title, time.dateTime]''')
    check(found[0].endswith('ago') or found[0] == 'just now', 'a time reads', found[0])
    check(found[1].endswith(' UTC') and found[2].endswith('Z'), 'exact times:', found)


def test(browser):
    every_page(browser)
    payloads(browser)
    drawing(browser)
    times(browser)


if __name__ == '__main__':
    raise SystemExit(run(test))
