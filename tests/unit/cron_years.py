# SPDX-License-Identifier: MIT
#
# cron_years.py FIRST LAST: the times of schedules from the year FIRST up to LAST, by Debian's croniter, which says which
# local minutes fit, and Python's zoneinfo, which says when these are. Prints for each schedule and zone a line
# "= ZONE|SCHEDULE", then the times as seconds since 1970, one a line. No schedule here has a step from "*" in its days:
# of these this croniter forgets the first of March.
import datetime
import sys
import zoneinfo

import croniter

UTC = datetime.timezone.utc
ZONES = ['UTC', 'Europe/Berlin', 'Europe/Dublin', 'America/New_York', 'America/Sao_Paulo', 'America/Havana',
         'Australia/Lord_Howe', 'Africa/Casablanca', 'Asia/Kathmandu', 'Asia/Gaza', 'Antarctica/Troll', 'Pacific/Apia']
# By the clock on the wall; and by the time that passes, because the minute or the hour begins with "*".
BY_THE_WALL = ['30 2 * * *', '0 0 * * *', '15,59 1-3 * * *', '0 3 * * mon-fri', '10 1 13 * fri', '0 2 1,15 * *',
               '45 23 28-31 10,3 *', '20 2 29 2 *', '5 2-23/7 3-28/5 * *', '30 1 * * sat-sun']
BY_TIME = ['0 */3 * * *', '*/30 1-2 * * *', '15 */2 * * 7']


def fitting(schedule, first, last):
    start = datetime.datetime(first, 1, 1)
    for at in croniter.croniter(schedule, start, ret_type=datetime.datetime):
        if at.year >= last:
            return
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
