#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""web.py [OPTION...] MUSTER: what `muster web` costs beside a large namespace.

Makes a namespace in a Redis of its own, and prints how much of a core `muster web` and Redis take with 0, 1 and 10
viewers, how many commands a look sends, and how long each call of the API and each page takes. A page is the calls that
it makes at first, one after the other; how long a browser draws is not in it. It takes two minutes. The figures are for
people: nothing fails because of them.

Queues and tasks are made by `muster enqueue`. Jobs are copies of one that `muster put` has made, which `muster check
--repair` completes. Workers are records without a program, so that the figures are those of the dashboard alone.
"""
import argparse
import http.client
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

FEW_FAILURES, FEW_LEASES = 60, 40
JOBS = """
    local record = redis.call('HGETALL', 'muster:job:first')
    local first = redis.call('ZRANGE', 'muster:waiting:q0', 0, 0, 'WITHSCORES')
    for q = tonumber(ARGV[1]), tonumber(ARGV[2]) do
        local members = {}
        for i = 1, tonumber(ARGV[3]) do
            local id = 'job-' .. q .. '-' .. i
            redis.call('HSET', 'muster:job:' .. id, unpack(record))
            redis.call('HSET', 'muster:job:' .. id, 'queue', 'q' .. q)
            members[#members + 1] = first[2]
            members[#members + 1] = (string.gsub(first[1], 'first', id))
        end
        redis.call('ZADD', 'muster:waiting:q' .. q, unpack(members))
    end"""
WORKERS = """
    local now = redis.call('TIME')[1] * 1000
    for w = 1, tonumber(ARGV[1]) do
        local id = 'host-' .. w .. '-' .. 1000 + w
        redis.call('ZADD', 'muster:registry', now + 3600000, id)
        redis.call('HSET', 'muster:worker:' .. id, 'epoch', '00000000001', 'host', 'host-' .. w, 'version', '0.1.0',
            'pid', 1000 + w, 'ttl', 3600000, 'started', now, 'hands', 8, 'held', 0)
        redis.call('SET', 'muster:alive:' .. id, '00000000001', 'PX', 3600000)
    end"""
CALLS = ('overview', 'history', 'queues', 'queues/q1', 'queues/q1/tasks?count=50', 'stats?queue=q1', 'stats',
         'jobs', 'jobs?queue=q1&state=waiting&count=50', 'jobs?queue=q1&state=scheduled&count=50',
         'jobs?tags=1&count=30', 'jobs/job-1-1', 'processes?count=50', 'processes?queue=q1&count=50', 'workers', 'failed',
         'failed?queue=q1&count=50')
PAGES = {
    'overview': ('overview', 'history', 'queues', 'workers', 'failed'),
    'queues': ('queues',),
    'a queue': ('queues/q1', 'queues/q1/tasks?count=50', 'processes?queue=q1&count=50',
                'jobs?queue=q1&state=scheduled&count=50', 'stats?queue=q1'),
    'running': ('processes?count=50',),
    'jobs': ('jobs', 'jobs?tags=1&count=30'),
    'jobs of a state': ('jobs?queue=q1&state=waiting&count=50',),
    'a job': ('jobs/job-1-1',),
    'failures': ('failed',),
    'failures of a queue': ('failed?queue=q1&count=50',),
    'workers': ('workers',),
}


class Scene:
    def __init__(self, options):
        self.o = options
        self.dir = tempfile.mkdtemp(prefix='muster-web-bench.')
        self.socket = os.path.join(self.dir, 'redis.sock')
        self.env = {**{k: v for k, v in os.environ.items() if not k.startswith('MUSTER_')},
                    'MUSTER_URL': 'unix://' + self.socket}
        self.started = []

    def start(self, *words):
        one = subprocess.Popen(words, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
        self.started.append(one)
        return one

    def end(self):
        for one in reversed(self.started):
            one.send_signal(signal.SIGTERM)
            one.wait(20)
        shutil.rmtree(self.dir)

    def muster(self, *words, text=None):
        return subprocess.run([self.o.muster, *words], env=self.env, input=text, capture_output=True, text=True,
                              timeout=300, check=True).stdout

    def redis(self, *words):
        return subprocess.run(['redis-cli', '-s', self.socket, *words], capture_output=True, text=True, timeout=300,
                              check=True).stdout

    def info(self, key):
        return float(dict(line.split(':', 1) for line in self.redis('INFO', 'all').splitlines() if ':' in line)[key])

    def script(self, text, *words):
        answer = self.redis('EVAL', text, '0', *(str(word) for word in words))
        if answer.strip():
            sys.exit(f'the namespace cannot be made: {answer}')

    def make(self):
        o = self.o
        self.server = self.start('redis-server', '--port', '0', '--unixsocket', self.socket, '--dir', self.dir,
                                 '--save', '', '--appendonly', 'no')
        end = time.monotonic() + 20
        while not os.path.exists(self.socket):
            if time.monotonic() > end:
                sys.exit('redis-server does not start')
            time.sleep(0.05)
        tasks = '\n'.join(f'task {i} of a queue, of about fifty bytes in all' for i in range(o.tasks // o.queues))
        for q in range(o.queues):
            self.muster('enqueue', f'q{q}', text=tasks)
        self.muster('put', 'q0', 'data of a job', '--id', 'first', '--tag', 'order')
        for q in range(0, o.queues, 10):
            self.script(JOBS, q, min(q + 10, o.queues) - 1, min(o.jobs // o.queues, 3000))
        subprocess.run([o.muster, 'check', '--repair'], env=self.env, stdout=subprocess.DEVNULL, timeout=300,
                       stderr=subprocess.DEVNULL, check=False)
        self.muster('check')
        for i in range(FEW_FAILURES):
            self.muster('fail', self.muster('take', 'q1').split('\t')[0], '--group', f'group-{i % 3}')
        for i in range(FEW_LEASES):
            self.muster('take', 'q1', '--lease', '1h')
        self.script(WORKERS, o.workers)

    def serve(self):
        self.web = self.start(self.o.muster, 'web', '--listen', '127.0.0.1:0')
        line = self.web.stderr.readline()
        self.port = int(line.rsplit(':', 1)[1].strip(' /\n'))


class Viewer(threading.Thread):
    """One who reads the stream of live events, and counts the looks."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.looks, self.bytes = 0, 0
        self.connection = http.client.HTTPConnection('127.0.0.1', port, timeout=60)
        self.connection.request('GET', '/api/live')
        self.answer = self.connection.getresponse()
        self.start()

    def run(self):
        try:
            while line := self.answer.readline():
                self.bytes += len(line)
                self.looks += line == b'event: overview\n'
        except (OSError, ValueError, AttributeError):
            pass  # it was closed


def cpu_s(pid):
    with open(f'/proc/{pid}/stat', encoding='ascii') as file:
        fields = file.read().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def change(scene, stop):
    """One task more in 100 queues, each second."""
    pushes = ''.join(f'LPUSH muster:queues:q{q} more\n' for q in range(100, 200))
    while not stop.wait(1):
        subprocess.run(['redis-cli', '-s', scene.socket], input=pushes, capture_output=True, text=True, check=True,
                       timeout=20)


def measure(scene, n_viewers, changes):
    viewers = [Viewer(scene.port) for _ in range(n_viewers)]
    stop, changer = threading.Event(), None
    if changes:
        changer = threading.Thread(target=change, args=(scene, stop))
        changer.start()
    time.sleep(7)  # the first rows are sent, and what the look before has left is gone
    pids = [scene.web.pid, scene.server.pid]
    begun, commands, looks = time.monotonic(), scene.info('total_commands_processed'), sum(v.looks for v in viewers)
    before, sent = [cpu_s(pid) for pid in pids], sum(v.bytes for v in viewers)
    time.sleep(scene.o.seconds)
    seconds = time.monotonic() - begun
    web, redis = [(cpu_s(pid) - was) / seconds * 100 for pid, was in zip(pids, before)]
    commands = scene.info('total_commands_processed') - commands - (changes and 100 * seconds)
    looks = (sum(v.looks for v in viewers) - looks) / n_viewers if viewers else seconds / 5
    sent = (sum(v.bytes for v in viewers) - sent) / n_viewers / seconds / 1024 if viewers else 0
    print(f'| {n_viewers}{", 100 queues change each second" if changes else ""} | {web:.1f} | {redis:.1f} | '
          f'{looks / seconds:.1f} | {commands / max(looks, 1):.0f} | {sent:.0f} |', flush=True)
    stop.set()
    if changer:
        changer.join()
    for viewer in viewers:
        viewer.answer.close()
        viewer.connection.close()


def time_calls(scene):
    """Each call so often; the connection is kept, as browsers do."""
    times = {}
    connection = http.client.HTTPConnection('127.0.0.1', scene.port, timeout=60)
    for path in ('/', '/metrics', *(f'/api/{call}' for call in CALLS)):
        times[path] = []
        for _ in range(scene.o.rounds):
            begun = time.monotonic()
            connection.request('GET', path)
            answer = connection.getresponse()
            answer.read()
            times[path].append((time.monotonic() - begun) * 1000)
            if answer.status != 200:
                sys.exit(f'{path} is answered by {answer.status}')
    connection.close()
    return times


def print_times(times):
    for title, rows in (('call', times), ('page', {page: [sum(call) for call in zip(*(
            times[f'/api/{call}'] for call in calls))] for page, calls in PAGES.items()})):
        print(f'\n| {title} | p50, ms | max, ms |\n|---|---:|---:|')
        for name, each in rows.items():
            print(f'| {name} | {statistics.median(each):.1f} | {max(each):.1f} |')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('muster', metavar='MUSTER', type=os.path.abspath)
    for name, most in (('queues', 1000), ('workers', 1000), ('jobs', 100000), ('tasks', 1000000)):
        parser.add_argument(f'--{name}', type=int, default=most, metavar='N', help=f'default {most}')
    parser.add_argument('--seconds', type=int, default=15, metavar='N', help='how long each cost is measured')
    parser.add_argument('--rounds', type=int, default=20, metavar='N', help='how often each call is made')
    options = parser.parse_args()
    if options.queues < 200:
        parser.error('--queues is 200 at least')
    scene = Scene(options)
    try:
        scene.make()
        scene.serve()
        print(f'{options.queues} queues, {options.workers} workers, {options.jobs} jobs, {options.tasks} tasks; '
              f'Redis uses {scene.info("used_memory") / 1048576:.0f} MiB\n')
        print('| viewers | muster web, % of a core | Redis, % of a core | looks/s | commands a look | KiB/s for each |\n'
              '|---|---:|---:|---:|---:|---:|')
        for n, changes in ((0, False), (1, False), (10, False), (1, True)):
            measure(scene, n, changes)
        print_times(time_calls(scene))
    finally:
        scene.end()


if __name__ == '__main__':
    main()
