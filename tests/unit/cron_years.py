# SPDX-License-Identifier: MIT
#
# cron_years.py FIRST LAST: the times of schedules from the year FIRST up to LAST, by Debian's croniter, which says which
# local minutes fit, and Python's zoneinfo, which says when these are. Prints for each schedule and zone a line
# "= ZONE|SCHEDULE", then the times as seconds since 1970, one a line. No schedule here has a step from "*" in its days:
# of these this croniter forgets the first of March. What it writes in another way, or does not know, is in OTHERWISE.
import calendar
import datetime
import sys
import zoneinfo

import croniter

UTC = datetime.timezone.utc
ZONES = ['UTC', 'Europe/Berlin', 'Europe/Dublin', 'America/New_York', 'America/Sao_Paulo', 'America/Havana',
         'Australia/Lord_Howe', 'Africa/Casablanca', 'Asia/Kathmandu', 'Asia/Gaza', 'Antarctica/Troll', 'Pacific/Apia']
# By the clock on the wall; and by the time that passes, because the minute or the hour begins with "*".
BY_THE_WALL = ['30 2 * * *', '0 0 * * *', '15,59 1-3 * * *', '0 3 * * mon-fri', '10 1 13 * fri', '0 2 1,15 * *',
               '45 23 28-31 10,3 *', '20 2 29 2 *', '5 2-23/7 3-28/5 * *', '30 1 * * sat-sun', '30 2 L * *',
               '0 3 1,L 2-4,10 *', '10 1 L * mon', '30 2 * * friL', '0 1 * * sunL,2L', '20 2 L 3,10 sunL',
               '15 2 L-3 * *', '59 1 L-30,l-1 * *', '30 2 * * fri-mon', '0 0 * * 6-2', '40 2 * nov-mar sat-sun']
BY_TIME = ['0 */3 * * *', '*/30 1-2 * * *', '15 */2 * * 7', '*/20 * L * *', '0 * * * 7L']


def days_left(at):
    return calendar.monthrange(at.year, at.month)[1] - at.day


# How croniter writes it, and which of its times count.
OTHERWISE = {
    '30 2 * * friL': ('30 2 * * L5', None),
    '0 1 * * sunL,2L': ('0 1 * * L0,L2', None),
    '20 2 L 3,10 sunL': ('20 2 * 3,10 *', lambda at: days_left(at) == 0 or (days_left(at) < 7 and at.weekday() == 6)),
    '0 * * * 7L': ('0 * * * L0', None),
    '15 2 L-3 * *': ('15 2 * * *', lambda at: days_left(at) == 3),
    '59 1 L-30,l-1 * *': ('59 1 * * *', lambda at: days_left(at) in (30, 1)),
    '30 2 * * fri-mon': ('30 2 * * 5,6,0,1', None),
    '0 0 * * 6-2': ('0 0 * * 6,0,1,2', None),
    '40 2 * nov-mar sat-sun': ('40 2 * 11,12,1,2,3 6,0', None),
}


def fitting(schedule, first, last):
    start = datetime.datetime(first, 1, 1)
    schedule, counts = OTHERWISE.get(schedule, (schedule, None))
    for at in croniter.croniter(schedule, start, ret_type=datetime.datetime):
        if at.year >= last:
            return
        if not counts or counts(at):
            yield at


def seconds(at):
    return int(at.timestamp())


def change_in(zone, before, after):
    """When the offset changes between two points in time, as seconds."""
    low, high = seconds(before), seconds(after)
    offset = before.astimezone(zone).utcoffset()
    while high - low > 1:
        middle = (low + high) // 2
        if datetime.datetime.fromtimestamp(middle, UTC).astimezone(zone).utcoffset() == offset:
            low = middle
        else:
            high = middle
    return high


def moments(zone, local):
    """The points in time at which the clock shows this."""
    found = []
    for fold in (0, 1):
        at = local.replace(tzinfo=zone, fold=fold).astimezone(UTC)
        if at.astimezone(zone).replace(tzinfo=None) == local and at not in found:
            found.append(at)
    return found


def by_the_wall(zone, local):
    found = moments(zone, local)
    if found:
        return [seconds(min(found))]
    skipped = [local.replace(tzinfo=zone, fold=fold).utcoffset() for fold in (0, 1)]
    late = local.replace(tzinfo=zone, fold=0).astimezone(UTC)
    return [change_in(zone, late - (skipped[1] - skipped[0]), late)]


def by_time(zone, local):
    return [seconds(at) for at in moments(zone, local)]


def main(first, last):
    for schedules, times in ((BY_THE_WALL, by_the_wall), (BY_TIME, by_time)):
        for schedule in schedules:
            locals_ = list(fitting(schedule, first, last))
            for name in ZONES:
                zone = zoneinfo.ZoneInfo(name)
                found = sorted({at for local in locals_ for at in times(zone, local)})
                print(f'= {name}|{schedule}')
                print('\n'.join(map(str, found)))


main(int(sys.argv[1]), int(sys.argv[2]))
