/* SPDX-License-Identifier: MIT
 *
 * Ten years of schedules, in zones of every kind, are those that somebody else's programs tell: Debian's croniter and
 * Python's zoneinfo (cron_years.py). Then years for which zone data have a rule in place of a list.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/civil.h"
#include "base/cron.h"
#include "testing.h"

#define DAY 86400

struct reading {
    struct cron cron;
    struct zone zone;
    char name[200];
    int64_t at, end;
    size_t n_schedules, n_times;
};

static void expect(struct reading *r, bool is_there, int64_t expected)
{
    int64_t at;
    if (!cron_next(&r->cron, &r->zone, r->at, &at) || (is_there ? at != expected : at < r->end))
        fail_msg("%s: after %lld comes %lld, not %lld", r->name, (long long)r->at, (long long)at, (long long)expected);
    r->at = at;
}

/* What lies beyond the last day of the years is not told for every zone: so the last two days are not compared. */
static void end(struct reading *r)
{
    if (r->n_schedules > 0)
        expect(r, false, r->end);
    zone_clear(&r->zone);
}

static void begin(struct reading *r, const char *line, int first)
{
    char zone[ZONE_NAME_MAX + 1];
    end(r);
    snprintf(r->name, sizeof r->name, "%s", line);
    const char *bar = strchr(line, '|');
    assert_non_null(bar);
    snprintf(zone, sizeof zone, "%.*s", (int)(bar - line), line);
    assert_null(cron_read(&r->cron, bar + 1));
    assert_null(zone_load(&r->zone, zone));
    r->at = (civil_days(first, 1, 1) + 2) * DAY;
    r->n_schedules++;
}

static void compare(int first, int last)
{
    struct reading r = {.end = (civil_days(last, 1, 1) - 2) * DAY};
    char command[400], line[200];
    snprintf(command, sizeof command, "/usr/bin/python3 '%s' %d %d", MUSTER_CRON_YEARS, first, last);
    FILE *told = popen(command, "r");
    assert_non_null(told);
    while (fgets(line, sizeof line, told)) {
        line[strcspn(line, "\n")] = '\0';
        int64_t at = strtoll(line, NULL, 10);
        if (strncmp(line, "= ", 2) == 0) {
            begin(&r, line + 2, first);
        } else if (at > r.at && at < r.end) {
            expect(&r, true, at);
            r.n_times++;
        }
    }
    end(&r);
    assert_int_equal(pclose(told), 0);
    assert_true(r.n_schedules == 26 * 12 && r.n_times > 100000);
}

static void ten_years_are_those_of_another_program(void **state)
{
    (void)state;
    compare(2020, 2030);
}

static void so_are_years_that_only_a_rule_tells(void **state)
{
    (void)state;
    compare(2050, 2052);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_years_are_those_of_another_program),
        cmocka_unit_test(so_are_years_that_only_a_rule_tells),
    };
    return testing_run(tests, NULL, NULL, argc, argv);
}
