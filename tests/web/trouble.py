# SPDX-License-Identifier: MIT
"""The pages when something is amiss: see test_trouble.sh for what is proved. The first argument but one says what."""
import os

from browser import check, run

EMPTY = [('/#/', 'muster enqueue mail'), ('/#/queues', 'muster enqueue mail'), ('/#/running', 'muster work QUEUE'),
         ('/#/jobs', 'muster put print'), ('/#/batches', 'muster batch open'), ('/#/failures', 'muster failed'), ('/#/workers', 'muster work mail'),
         ('/#/events', 'muster put mail'), ('/#/search?q=nothing', 'muster jobs --tags')]


def empty(browser):
    for size in ('phone', 'desktop'):
        browser.look(size, 'light')
        for path, command in EMPTY:
            browser.open(path)
            browser.wait_text(command, 'main')
        browser.check_quiet()


def read_only(browser):
    browser.open('/#/')
    browser.wait_text('Read-only', '#top')
    for path, there, buttons in [('/#/queues', 'mail', 'Pause mail'), ('/#/queues/mail', 'user9@', 'Pause'),
                                 ('/#/queues/mail/settings', 'keep_jobs', 'Change settings…'),
                                 ('/#/failures', 'group-1', 'Drop all'), ('/#/jobs/pack', 'Dependencies', 'Cancel'),
                                 ('/#/batches/night', 'alarm', 'Cancel'),
                                 ('/#/workers', 'worker-1', 'Fail worker worker-1'),
                                 ('/#/failures?queue=bounce', 'to 1', 'Replay to 1')]:
        browser.go(path)
        browser.wait_text(there, 'main')
        check(not browser.find('button', buttons, 'main'), path, 'offers', buttons)
    refused = browser.driver.execute_async_script('''const done = arguments[0];
        fetch('/api/queues/mail/pause', { method: 'POST', body: '{}' }).then((r) => done(r.status))''')
    check(refused == 403, 'the server answered', refused)


def viewer(browser):
    """A user of Redis who may only read."""
    for size in ('phone', 'desktop'):
        browser.look(size, 'dark')
        browser.open('/#/')
        browser.wait_text('Not allowed to read', 'main')
        browser.go('/#/events')
        browser.wait_text('a listener must write that it listens', 'main [role=alert]')
        check('Nothing has happened' not in browser.text('main'), 'the page waits for events that cannot come')
        browser.picture('viewer')
        browser.check_quiet()
    for path, there in [('/#/queues', 'mail'), ('/#/queues/mail', 'user9@'), ('/#/queues/mail/settings', 'keep_jobs'),
                        ('/#/queues/ledger/statistics', 'How long'), ('/#/running', 'worker-1'), ('/#/jobs', 'ledger'),
                        ('/#/jobs/pack', 'Dependencies'), ('/#/failures', 'unbalanced'), ('/#/workers', 'worker-1'),
                        ('/#/search?q=scan', 'scan')]:
        browser.go(path)
        browser.wait_text(there, 'main')


def token(browser, word):
    browser.driver.get(browser.url + '/#/queues')
    browser.wait_text('Sign in')
    browser.picture('login')
    browser.type('Token', 'wrong').submit()
    browser.wait_text('not the right one')
    browser.type('Token', word).submit()
    browser.wait_text('Queues', 'main h1')  # where the way led before
    browser.wait_text('mail', 'main table')
    cookie = browser.driver.get_cookies()[0]
    check(cookie['httpOnly'] and cookie['sameSite'] == 'Strict', 'the cookie is', cookie)
    browser.press('Sign out')
    browser.wait_text('Sign in')
    browser.driver.get(browser.url + '/#/')
    browser.wait_text('Token')


def lost(browser, folder):
    done = os.path.join(folder, 'done')

    def wish(what, wishes):
        if os.path.exists(done):
            os.remove(done)
        print(what, file=wishes, flush=True)
        browser.wait(lambda: os.path.exists(done), what)

    with open(os.path.join(folder, 'wishes'), 'w', encoding='utf-8') as wishes:
        browser.open('/#/queues')
        browser.wait_text('Live', '#connection')
        wish('stop-web', wishes)
        browser.wait_text('The connection to muster web is lost', '#notice')
        browser.picture('lost')
        browser.press('Pause mail')
        browser.wait_text('cannot be reached', '#toasts')
        wish('start-web', wishes)
        browser.js('document.querySelector("#notice button")?.click()')  # unless it has tried by itself meanwhile
        browser.wait_text('Live', '#connection')
        check(not browser.text('#notice').strip(), 'the notice stays')
        browser.press('Pause mail')  # with the secret of the new server
        browser.wait_text('mail is paused', '#toasts')

        wish('stop-web', wishes)
        browser.wait_text('Not connected', '#connection')
        wish('start-web', wishes)
        browser.wait_text('Live', '#connection')  # by itself

        browser.open('/#/failures')
        browser.wait_text('unbalanced', 'main')
        wish('stop-redis', wishes)
        browser.press('Drop group unbalanced of ledger')
        browser.press('Drop 1')
        browser.wait_text('E_', 'dialog[open] .note')
        browser.wait_text('The figures stand still', '#notice')
        check('Live' not in browser.text('#connection'), 'it says', browser.text('#connection'))
        browser.press('Cancel')
        browser.driver.refresh()
        browser.wait_text('The figures stand still', '#notice')  # who comes now is told so, too
        wish('go-on-redis', wishes)
        browser.wait_text('Live', '#connection')
        check(not browser.text('#notice').strip(), 'the notice stays')


def test(browser, *words):
    parts = {'empty': empty, 'read-only': read_only, 'viewer': viewer, 'token': token, 'lost': lost}
    parts[words[0]](browser, *words[1:])


if __name__ == '__main__':
    raise SystemExit(run(test))
