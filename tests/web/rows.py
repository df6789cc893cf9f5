# SPDX-License-Identifier: MIT
"""Rows of lists that change while somebody looks at them: see test_rows.sh for what is proved."""
import json
import os
import subprocess

from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By

from browser import check, run

MUSTER = os.environ['MUSTER']
HEAD = 'x' * 200  # more than a row shows


def muster(*words):
    return subprocess.run([MUSTER, *words], capture_output=True, text=True, check=True, timeout=120).stdout


def rows(*words):
    return [json.loads(line) for line in muster(*words, '--json').splitlines()]


def take(queue):
    return muster('take', queue, '--lease', '1h').split('\t')[0]


def shown(browser, within='main'):
    return browser.js('return document.querySelectorAll(arguments[0] + " tbody tr").length', within)


def rest_on_table(browser):
    """Under a hand rows keep their places."""
    ActionChains(browser.driver).move_to_element(browser.driver.find_element(By.CSS_SELECTOR, 'main tbody tr')).perform()
    browser.wait(lambda: browser.js('return document.querySelector("main tbody").matches(":hover")'), 'the mouse to rest there')


def overview(browser):
    """What needs somebody is named, and served is what a worker serves, whatever its name is."""
    muster('enqueue', 'both', 'waits', 'fails')
    muster('fail', muster('take', 'both', '--lease', '1h').split('\t')[0])
    muster('enqueue', 'busy', 'keeps the hand of its worker')
    browser.wait(lambda: any(row['running'] for row in rows('queues') if row.get('queue') == 'busy'), 'the hand to be busy')
    muster('enqueue', b'odd\xff', 'one', 'two')
    browser.open('/#/')
    browser.wait_text('both: 1 waits', 'main')
    check('both: 1 failed' in browser.text('main'), 'the queue is named twice:', browser.text('main .problems'))
    browser.wait_text('odd\\xff', 'main table')
    check('odd' not in browser.text('main .problems'), 'a worker serves it:', browser.text('main .problems'))
    muster('drop', 'both', '--all')


def pages(browser):
    """A full page after a full page is there as soon as it is told."""
    muster('enqueue', 'long', *(f'long {i:03}' for i in range(110)))
    muster('take', 'long', '-n', '110', '--lease', '1h')
    browser.open('/#/running?queue=long')
    browser.wait_text('1–50')
    browser.press('Next')
    browser.wait_text('51–100')
    check(shown(browser) == 50, 'rows of the second page:', shown(browser))
    rest_on_table(browser)
    browser.js('''[...document.querySelectorAll('.pager button')].find((one) => one.innerText.trim() === 'Next').click()''')
    browser.wait_text('101–110')
    check(shown(browser) == 10, 'rows of the third page, under the mouse:', shown(browser))


def one_for_another(browser):
    """What goes while as many come is replaced, whether a mouse rests there or not."""
    muster('enqueue', 'steady', 'stays', 'first', 'second', 'third', 'fourth')
    take('steady')
    processes = [take('steady'), take('steady')]
    browser.open('/#/running?queue=steady')
    browser.wait_text('second', 'main table')
    rest_on_table(browser)
    for process in processes:
        muster('finish', process)
        take('steady')
    browser.wait_text('third', 'main table')
    browser.wait_text('fourth', 'main table')
    check('first' not in browser.text('main table'), 'what has ended is gone')


def of_this_moment(browser):
    """What a row opens is what stands there now, and not what stood there first."""
    browser.open('/#/workers')
    browser.wait_text('holder', 'main')
    muster('enqueue', 'held', 'one', 'two')
    browser.wait_text('2 / 2', 'main table')
    browser.press('Fail worker holder')
    check('2 tasks go back' in browser.dialog(), browser.dialog())
    browser.press('Cancel')
    browser.wait_no_dialog()

    muster('enqueue', 'alike', HEAD + ' 1', HEAD + ' 2')
    browser.open('/#/queues/alike')
    browser.wait(lambda: shown(browser) == 2, 'two that look alike')
    process = take('alike')
    browser.wait(lambda: shown(browser) == 1, 'one to be taken')
    browser.js('document.querySelector("main tbody button").click()')
    check(browser.dialog().rstrip().endswith(' 2'), 'another task is shown:', browser.dialog()[-40:])
    browser.press('Close')
    browser.wait_no_dialog()
    muster('enqueue', 'alike', 'a new one')  # the focus is back on the row, and the list goes on all the same
    browser.wait_text('a new one', 'main table')

    browser.open('/#/running?queue=alike')
    browser.wait(lambda: shown(browser) == 1, 'what runs')
    muster('extend', process, '--lease', '1h', '--progress', '90%')
    browser.wait_text('90%', 'main table')
    browser.js('document.querySelector("main tbody button").click()')
    check('90%' in browser.dialog(), 'the progress is', browser.dialog()[:200])
    browser.press('Close')
    browser.wait_no_dialog()
    muster('cancel', '--process', process)
    browser.wait_text('cancelled', 'main table')


def as_it_is(browser):
    """JSON is laid out, and nothing else is done to it."""
    muster('enqueue', 'exact', '{"a": 1.10,"a":1e400, "10":-0,"2":[],"c":{"d":[{"e":"}\\", "}, "f"]}}')
    browser.open('/#/queues/exact')
    browser.js('document.querySelector("main tbody button").click()')
    browser.wait_text('''{
  "a": 1.10,
  "a": 1e400,
  "10": -0,
  "2": [],
  "c": {
    "d": [
      {
        "e": "}\\", "
      },
      "f"
    ]
  }
}''', 'dialog[open] pre')


def cut_pages(browser):
    """A page that ends early, because its tasks are long, is followed by what comes then."""
    tasks = b'\n'.join(bytes([255, 100 + i]) + b'x' * 70000 for i in range(60))
    subprocess.run([MUSTER, 'enqueue', 'wide'], input=tasks, check=True, capture_output=True, timeout=120)
    browser.open('/#/queues/wide')
    seen = set()
    while True:
        browser.wait(lambda: shown(browser) > 0, 'rows')
        texts = browser.js('return [...document.querySelectorAll("main tbody tr th")].map((one) => one.innerText)')
        seen.update(text.split()[1] for text in texts)
        if not browser.find('button', 'Next'):
            break
        first = texts[0]
        browser.press('Next')
        browser.wait(lambda: browser.text('main tbody tr th') not in ('', first), 'the next page')
    check(len(seen) == 60, 'tasks that are on a page:', len(seen))


def late_answers(browser):
    """An answer for another page than the one that is wanted by then is not shown."""
    browser.open('/#/running?queue=long')
    browser.wait_text('1–50')
    browser.js('''const real = window.fetch;
        window.held = [];
        window.fetch = (path, options) => (path.includes('processes') && !path.includes('cursor')
            ? new Promise((done) => window.held.push(async () => {
                const answer = await real(path, options), copy = answer.clone();
                done(answer);
                await copy.text();
                await new Promise(requestAnimationFrame);
            })) : real(path, options));''')
    browser.wait(lambda: browser.js('return window.held.length'), 'a look at the first page')
    browser.press('Next')
    browser.wait_text('51–100')
    first = browser.text('main tbody th')
    browser.driver.execute_async_script('Promise.all(window.held.map((go) => go())).then(arguments[0])')
    check('51–100' in browser.text() and browser.text('main tbody th') == first, 'rows of the first page:', browser.text('main tbody th'))


def test(browser):
    for part in (overview, pages, one_for_another, of_this_moment, as_it_is, cut_pages, late_answers):
        part(browser)
    browser.check_quiet()


if __name__ == '__main__':
    raise SystemExit(run(test))
