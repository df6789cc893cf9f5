# SPDX-License-Identifier: MIT
"""Every action, done in the pages and then looked for in Redis: see test_actions.sh for what is proved."""
import json
import os
import subprocess

from browser import check, run

MUSTER = os.environ['MUSTER']


def muster(*words):
    return subprocess.run([MUSTER, *words], capture_output=True, text=True, check=False, timeout=120).stdout


def rows(*words):
    return [json.loads(line) for line in muster(*words, '--json').splitlines()]


def queue(name):
    return next((row for row in rows('queues') if row.get('queue') == name), None)


def failed(name):
    return sum(row['failed'] for row in rows('failed') if row.get('queue') == name)


def queues(browser):
    browser.open('/#/queues')
    browser.press('Pause mail')
    browser.wait(lambda: queue('mail')['paused'], 'mail to be paused')
    browser.wait_text('mail is paused', '#toasts')
    browser.press('Resume mail')
    browser.wait(lambda: not queue('mail')['paused'], 'mail to go on')

    browser.press('Settings of mail')
    browser.type('max_running', '3')
    browser.press('Save')
    browser.wait_no_dialog()
    check(muster('config', '--queue', 'mail', 'max_running').strip() == '3', 'the setting')
    browser.open('/#/queues/mail/settings')
    browser.press('Change settings…')
    browser.type('max_running', '4')
    browser.press('Save')
    browser.wait_no_dialog()
    browser.wait_text('max_running\t4', 'main table')  # the list of them is that of now
    browser.press('Change settings…')
    browser.wait(lambda: browser.find('box', 'take back'), 'the way back to the default').click()
    browser.press('Save')
    browser.wait_no_dialog()
    check(muster('config', '--queue', 'mail', 'max_running').strip() == '0', 'the setting is taken back')
    browser.press('Change settings…')
    browser.type('keep_history', '1')  # the least is 2: the browser or the server refuses, nothing is set
    browser.press('Save')
    check(muster('config', '--queue', 'mail', 'keep_history').strip() == '100', 'a setting beyond its bounds')
    browser.press('Cancel')
    browser.wait_no_dialog()
    browser.press('Change settings…')
    browser.type('keep_jobs', '')  # an empty field is no 0, which would remove every complete job
    browser.press('Save')
    check('keep_jobs' in browser.dialog(), 'it is refused')
    check(muster('config', '--queue', 'mail', 'keep_jobs').strip() == '50000', 'an empty field has set something')
    browser.press('Cancel')
    browser.wait_no_dialog()

    browser.open('/#/queues/fresh')
    browser.open('/#/queues/reports')
    browser.press('Enqueue')
    browser.type('Task', 'june\nju"ly\n', clear=False)
    browser.wait(lambda: browser.find('box', 'A task per line'), 'the choice').click()
    browser.press('Enqueue')
    browser.wait_no_dialog()
    check([row['task'] for row in rows('peek', 'reports')][-2:] == ['june', 'ju"ly'], 'what was enqueued')
    browser.wait_text('Enqueued 2 tasks', '#toasts')
    browser.wait_text('4', '[data-tab=waiting]')
    browser.press('Delete')
    text = browser.dialog()
    check('4 waiting' in text, 'the question says how many:', text)
    check(browser.get('button', 'Delete the queue').get_property('disabled'), 'it wants the name first')
    browser.type('Type reports to go on', 'reports')
    browser.press('Delete the queue')
    browser.wait(lambda: queue('reports') is None, 'the queue to be gone')
    browser.wait_text('Gone that were still to run: 4 tasks', '#toasts')
    browser.wait_text('Queues', 'main h1')


def running(browser):
    browser.open('/#/running?queue=exports')
    browser.wait_text('export 2025', 'main')
    browser.js('document.querySelector("main td.act button").click()')
    check('Cancel 1 task' in browser.dialog(), 'the count is said')
    browser.press('Cancel 1 task')
    browser.wait_no_dialog()
    browser.wait(lambda: rows('ps', '--queue', 'exports')[0]['cancelled'], 'the process to be cancelled')

    held = rows('workers')[0]['held']
    check(held == 2, 'the worker holds', held)
    browser.open('/#/workers')
    browser.press('Fail worker worker-1')
    check('2 tasks go back to the front' in browser.dialog(), 'the question says how many:', browser.dialog())
    epoch = rows('workers')[0]['started_at_ms']
    browser.press('Fail the worker')
    browser.wait_no_dialog()
    browser.wait_text('Given back: 2 tasks', '#toasts')
    browser.wait(lambda: rows('workers') == [] or rows('workers')[0]['started_at_ms'] != epoch, 'the life to end')


def jobs(browser):
    browser.open('/#/jobs/later')
    browser.press('Track')
    browser.wait(lambda: rows('job', 'later')[0]['tracked'], 'the job to be tracked')
    browser.press('Change')
    browser.type('Priority', '-3')
    browser.type('Tags', 'urgent, <i>new</i>')
    browser.type('Line for its history', 'a customer called')
    browser.press('Change')
    browser.wait_no_dialog()
    job = rows('job', 'later')[0]
    check(job['priority'] == -3 and sorted(job['tags']) == ['<i>new</i>', 'urgent'], 'the job is now', job)
    check('a customer called' in json.dumps(job['history']), 'the line:', job['history'])
    browser.wait_text('a customer called', '.timeline')
    muster('change', 'later', '--tag', '+a,b')  # a tag that the list of tags cannot show
    browser.wait_text('a,b', 'main')
    browser.press('Change')
    browser.type('Priority', '')
    browser.press('Change')
    check('Priority' in browser.dialog() and rows('job', 'later')[0]['priority'] == -3, 'an empty field has set something')
    browser.type('Priority', '5')
    browser.type('Tags', 'urgent')
    browser.press('Change')
    browser.wait_no_dialog()
    job = rows('job', 'later')[0]
    check(job['priority'] == 5 and sorted(job['tags']) == ['a,b', 'urgent'], 'the job is now', job)
    browser.press('Cancel')
    browser.press('Cancel the job')
    browser.wait(lambda: rows('job', 'later') == [], 'the job to be gone')

    browser.open('/#/jobs/booking-1')
    browser.press('Replay')
    browser.press('Replay 1 job')
    browser.wait(lambda: rows('job', 'booking-1')[0]['state'] == 'waiting', 'the job to wait again')

    browser.open('/#/jobs')
    browser.type('Tag', 'order-17')
    browser.press('Search')
    browser.wait_text('pack', 'main table')
    browser.type('Id', 'pack')
    browser.press('Search')
    browser.wait_text('Dependencies', 'main')
    browser.press('Cancel')
    browser.wait(lambda: browser.find('box', 'Cancel all that wait for it, too'), 'the choice').click()
    browser.press('Cancel the job')
    browser.wait(lambda: rows('job', 'ship') == [], 'what waits for it to be gone')
    browser.wait_text('Cancelled 4 jobs', '#toasts')


def batches(browser):
    browser.open('/#/batches/night')
    browser.press('Close')
    browser.wait(lambda: rows('batch', 'night')[0]['state'] == 'closed', 'the batch to be closed')
    browser.press('Cancel')
    check('2 members' in browser.dialog(), 'the count is said:', browser.dialog())
    browser.press('Cancel the batch')
    browser.wait(lambda: rows('batch', 'night')[0]['state'] == 'ended', 'the batch to end')
    browser.wait_text('night-end', 'main')


def failures(browser):
    browser.open('/#/failures?queue=bounce')
    browser.wait(lambda: browser.find('button', 'Replay to 6'), 'the newest')
    browser.press('Replay to 6')
    check('Replay 1 failure?' in browser.dialog(), 'the count is said:', browser.dialog())
    browser.press('Replay 1')
    browser.wait(lambda: failed('bounce') == 5, 'one to be replayed')
    check(queue('bounce')['waiting'] == 1, 'it waits again')

    browser.wait_no_dialog()
    browser.wait(lambda: not browser.find('button', 'Replay to 6'), 'its row to go')
    for text in ('to 5', 'to 4'):
        browser.get('box', f'Select {text}').click()
    browser.press('Drop 2')
    check('2 failures' in browser.dialog() and 'cannot be undone' in browser.dialog(), browser.dialog())
    browser.press('Cancel')
    check(failed('bounce') == 5, 'nothing before it is confirmed')
    browser.press('Drop 2')
    browser.dialog()
    muster('drop', 'bounce', next(row['entry'] for row in rows('failed', 'bounce') if row['task'] == 'to 5'))
    browser.press('Drop 2')
    browser.wait_text('done: 1', 'dialog[open] .note')  # in part, and why
    check(failed('bounce') == 3, 'the other one is dropped')
    browser.press('Cancel')
    browser.wait_no_dialog()

    browser.open('/#/failures')
    browser.press('Replay group group-1 of bounce')
    check('2 failures' in browser.dialog(), browser.dialog())
    browser.press('Replay 2')
    browser.wait(lambda: failed('bounce') == 1, 'the group to be replayed')
    browser.wait_no_dialog()
    for name in ('hidden', 'seen', 'seen'):
        muster('enqueue', 'sorted', name)
        muster('fail', muster('take', 'sorted', '--lease', '1h').split('\t')[0], '--group', name)
    browser.wait_text('hidden', 'main table')
    browser.type('Filter by group or queue', 'seen')
    browser.press('Drop all')  # of those that are seen
    check('2 failures' in browser.dialog() and '1 group' in browser.dialog(), browser.dialog())
    browser.press('Drop 2')
    browser.wait(lambda: [row['group'] for row in rows('failed') if row['queue'] == 'sorted'] == ['hidden'], 'two to be dropped')
    browser.wait_no_dialog()
    browser.type('Filter by group or queue', '')
    browser.wait_text('hidden', 'main table')
    browser.press('Drop all')
    check('2 failures' in browser.dialog(), browser.dialog())
    browser.press('Drop 2')
    browser.wait(lambda: rows('failed') == [], 'all to be dropped')
    browser.wait_text('Nothing has failed', 'main')


def under_a_dialog(browser):
    """A question goes with the page that it was asked on."""
    browser.open('/#/queues/mail')
    browser.go('/#/queues/slow')
    browser.press('Delete')
    check('slow' in browser.dialog(), browser.dialog())
    browser.driver.back()
    browser.wait_no_dialog()
    browser.wait_text('mail', 'main h1')
    check(queue('slow'), 'nothing was deleted')


def events(browser):
    browser.open('/#/events')
    browser.wait_text('Live', '#connection')
    muster('put', 'print', '--id', 'seen-1', 'one')
    browser.wait_text('seen-1', '.event-list')
    browser.press('Hold')
    muster('put', 'print', '--id', 'seen-2', 'two')
    browser.wait_text('1 came since', 'main')
    check('seen-2' not in browser.text('.event-list'), 'held, and it moves')
    browser.press('Go on')
    browser.wait_text('seen-2', '.event-list')
    browser.type('Filter events', 'seen-1')
    browser.wait(lambda: 'seen-2' not in browser.text('.event-list'), 'the filter')


def live(browser):
    """What others do is seen without a reload."""
    browser.open('/#/queues')
    browser.wait_text('Live', '#connection')
    muster('enqueue', 'by-another', 'a task')
    browser.wait_text('by-another', 'main')
    browser.type('Filter queues by name', 'by-an')
    browser.wait(lambda: browser.js('return document.querySelectorAll("main tbody tr").length') == 1, 'the filter')


def tabs(browser):
    """A browser has six connections to a host: a page that nobody sees takes none for good."""
    first = browser.driver.current_window_handle
    for _ in range(8):
        browser.driver.switch_to.new_window('tab')
        browser.open('/#/jobs/booking-2')
        browser.wait_text('Live', '#connection')
    for handle in browser.driver.window_handles:
        browser.driver.switch_to.window(handle)
        if handle != first:
            browser.driver.close()
    browser.driver.switch_to.window(first)
    muster('enqueue', 'by-another-since', 'a task')
    browser.wait_text('by-another-since', 'main')  # the one that is seen again goes on


def test(browser):
    for part in (queues, running, jobs, batches, failures, under_a_dialog, events, live, tabs):
        part(browser)
    foreign = browser.foreign()
    check(not foreign, 'requests left the host:', foreign)


if __name__ == '__main__':
    raise SystemExit(run(test))
