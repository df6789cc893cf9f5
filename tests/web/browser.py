# SPDX-License-Identifier: MIT
"""A browser for the tests of the pages: Chromium without a window, driven through Selenium.

Nothing here waits for a time: wait() asks again until a condition is true, and fails after a deadline with what it saw.
"""
import json
import os
import re
import signal
import sys
import time

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException, WebDriverException
from selenium.webdriver import ActionChains
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.keys import Keys

DEADLINE_S = 120  # reached by nothing but what fails
SIZES = {'phone': (390, 844), 'desktop': (1440, 900)}
ARGUMENTS = ('--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run',
             '--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-pings',
             '--hide-scrollbars', '--window-size=1440,900')


class Failed(Exception):
    pass


def check(truth, *words):
    if not truth:
        raise Failed(' '.join(str(word) for word in words))


class Browser:
    def __init__(self, url):
        self.url = url
        options = Options()
        options.binary_location = '/usr/bin/chromium'
        for argument in ARGUMENTS:
            options.add_argument(argument)
        options.add_experimental_option('perfLoggingPrefs', {'enableNetwork': True, 'enablePage': False})
        options.set_capability('goog:loggingPrefs', {'browser': 'ALL', 'performance': 'ALL'})
        self.driver = webdriver.Chrome(service=Service('/usr/bin/chromedriver'), options=options)
        self.look('desktop', 'light')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.driver.quit()

    # ---- how it looks at the page

    def look(self, size, theme, motion='no-preference'):
        width, height = SIZES[size]
        self.size, self.theme = size, theme
        self.cdp('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1,
                 mobile=size == 'phone')
        self.cdp('Emulation.setEmulatedMedia', features=[{'name': 'prefers-color-scheme', 'value': theme},
                                                         {'name': 'prefers-reduced-motion', 'value': motion}])

    def cdp(self, command, **arguments):
        return self.driver.execute_cdp_cmd(command, arguments)

    def js(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def open(self, path):
        """Loads the page anew at this place, and waits until it has what it shows."""
        self.driver.get('about:blank')
        self.driver.get(self.url + path)
        self.settle()

    def go(self, path):
        """Follows the address within the page."""
        self.js('location.hash = arguments[0]', path.lstrip('/'))
        self.settle()

    def settle(self):
        self.wait(lambda: self.js('''
            const main = document.querySelector('main');
            return document.readyState === 'complete' && main && main.querySelector('h1')
                && !main.querySelector('.loading') && document.title !== 'muster';'''), 'the page to show its content')

    def wait(self, condition, what):
        end = time.monotonic() + DEADLINE_S
        while True:
            try:
                value = condition()
            except (StaleElementReferenceException, WebDriverException):
                value = None  # the page has changed while it was asked
            if value:
                return value
            check(time.monotonic() < end, f'waited too long for {what} at {self.where()}:\n{self.text()[:1500]}')
            time.sleep(0.05)

    def where(self):
        return f'{self.driver.current_url} ({self.size}, {self.theme})'

    def text(self, selector='body'):
        return self.js('return document.querySelector(arguments[0])?.innerText ?? ""', selector)

    def wait_text(self, text, selector='body'):
        self.wait(lambda: text in self.text(selector), f'the text {text!r} in {selector}')

    def wait_no_text(self, text, selector='main'):
        self.wait(lambda: text not in self.text(selector), f'{text!r} to go from {selector}')

    # ---- what it does: controls are found by the name that a screen reader says

    def find(self, role, name, within='body'):
        """The control that is seen, by its tag or role and its name; None if there is none."""
        return self.js('''
            const [role, name, within] = arguments;
            const tags = { button: 'button', link: 'a[href]', box: 'input, textarea, select' };
            const said = (node) => (node.getAttribute('aria-label') || (node.labels && node.labels.length
                ? [...node.labels].map((one) => one.innerText).join(' ') : node.innerText) || '').trim();
            const host = document.querySelector('dialog[open]:last-of-type') || document.querySelector(within);
            return [...host.querySelectorAll(tags[role])].find((node) => said(node) === name
                && node.getClientRects().length) || null;''', role, name, within)

    def get(self, role, name, within='body'):
        return self.wait(lambda: self.find(role, name, within), f'the {role} {name!r}')

    def press(self, name, within='body'):
        """Presses a button by its name."""
        def pressed():
            node = self.find('button', name, within)
            if not node:
                return False
            self.js('arguments[0].scrollIntoView({block: "center"})', node)
            node.click()
            return True
        self.wait(pressed, f'the button {name!r}')

    def type(self, name, text, clear=True):
        node = self.get('box', name)
        if clear:
            node.send_keys(Keys.CONTROL, 'a')
            node.send_keys(Keys.DELETE)
        node.send_keys(text)
        return node

    def keys(self, *keys):
        ActionChains(self.driver).send_keys(*keys).perform()  # a row may be made anew meanwhile

    def focused(self):
        return self.js('''const node = document.activeElement;
            return node === document.body ? '' : (node.getAttribute('aria-label') || node.innerText || node.id).trim()''')

    def dialog(self):
        return self.wait(lambda: self.text('dialog[open]'), 'a dialog')

    def wait_no_dialog(self):
        self.wait(lambda: not self.js('return document.querySelector("dialog[open]")'), 'the dialog to close')

    # ---- what it must never have seen

    def complaints(self):
        """Errors of the console since the last time; the browser's own note of a job that is not there is none."""
        return [entry['message'] for entry in self.driver.get_log('browser') if entry['level'] == 'SEVERE'
                and not (re.search('/api/(jobs|batches)/', entry['message']) and 'status of 404' in entry['message'])]

    def foreign(self):
        """Requests that left for another place than the server, since the last time."""
        found = []
        for entry in self.driver.get_log('performance'):
            message = json.loads(entry['message'])['message']
            if message['method'] == 'Network.requestWillBeSent':
                asked = message['params']['request']['url']
                if not asked.startswith((self.url + '/', 'data:', 'about:', 'chrome:', 'chrome-extension:')):
                    found.append(asked)
        return found

    def check_quiet(self):
        complaints, foreign = self.complaints(), self.foreign()
        check(not complaints, 'the console says:', complaints, 'at', self.where())
        check(not foreign, 'requests left the host:', foreign, 'at', self.where())

    def picture(self, name):
        """Kept only where somebody asked for it: PAGES_PICTURES names a folder."""
        folder = os.environ.get('PAGES_PICTURES')
        if folder:
            self.driver.save_screenshot(f'{folder}/{name}-{self.size}-{self.theme}.png')


def run(test):
    """Runs test(browser, arguments...); the first failure is said, and is the exit status. No browser stays."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit('it took too long'))
    with Browser(sys.argv[1]) as browser:
        try:
            test(browser, *sys.argv[2:])
        except Failed as failed:
            print(f'{os.path.basename(sys.argv[0])}: {failed}', file=sys.stderr)
            return 1
    return 0
