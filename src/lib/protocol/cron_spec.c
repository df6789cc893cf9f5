/* SPDX-License-Identifier: MIT
 *
 * The schedule in the spec of a recurring job: what is allowed, its first ticks, and how a put says it. Redis knows the
 * time, and this machine the zones: so the ticks are computed here, of a time that Redis has told.
 */
#include "protocol/cron_spec.h"

#include <muster/cron.h>
#include <string.h>

#include "protocol/job_valid.h"
#include "protocol/script_job.h"

/* Room for the number of the job that is made. */
#define RECURRING_ID_MAX (MUSTER_JOB_ID_MAX - 20)

static const char *zone_of(const char *zone)
{
    return zone ? zone : MUSTER_ZONE_DEFAULT;
}

/* ---- what is allowed ---- */

static int check_bounds(const struct muster_job_spec *s, const char **why)
{
    int err = job_valid_number("a recurring job's first time", s->from_ms, 0, JOB_AT_MAX_MS, why);
    if (err == MUSTER_OK)
        err = job_valid_number("a recurring job's last time", s->until_ms, 0, JOB_AT_MAX_MS, why);
    if (err == MUSTER_OK)
        err = job_valid_number("a recurring job's count", s->count, 0, INT32_MAX, why);
    if (err == MUSTER_OK && (s->overlap < MUSTER_OVERLAP_NONE || s->overlap >= MUSTER_OVERLAP_COUNT)) {
        *why = "a recurring job's overlap must be allow, skip or queue";
        err = MUSTER_E_INVALID;
    }
    return err;
}

static const char *against_schedule(const struct muster_job_spec *s)
{
    const char *why = muster_cron_check(s->cron);
    if (!why)
        why = muster_zone_check(zone_of(s->zone));
    if (!why && s->every_ms != 0)
        why = "a job recurs at an interval or by a schedule, not both";
    if (!why && s->offset_ms != 0)
        why = "a job that recurs by a schedule has no offset: its schedule says when";
    if (!why && s->backlog > MUSTER_CRON_BACKLOG_MAX)
        why = "a job that recurs by a schedule has a backlog of at most 10000";
    return why;
}

_Static_assert(MUSTER_CRON_BACKLOG_MAX == 10000, "the words tell it");

static const char *against_recurring(const struct muster_job_spec *s)
{
    if (s->delay_ms != 0 || s->at_ms != 0 || s->n_after + s->n_after_end + s->n_after_failure > 0)
        return "a recurring job has an offset or a first time instead of a delay or a time, and does not wait for "
               "other "
               "jobs";
    if (s->from_ms != 0 && s->offset_ms != 0)
        return "a recurring job has an offset or a first time, not both";
    if (s->from_ms > 0 && s->until_ms > 0 && s->until_ms < s->from_ms)
        return "a recurring job's last time must not lie before its first one";
    if (s->batch)
        return "a recurring job never ends, so it is no member of a batch";
    if (s->id && strlen(s->id) > RECURRING_ID_MAX)
        return "a recurring job's id has at most 180 bytes, because the jobs it makes add a number to it";
    return NULL;
}

int cron_spec_check(const struct muster_job_spec *s, const char **why)
{
    int err = check_bounds(s, why);
    if (err != MUSTER_OK)
        return err;
    *why = s->cron ? against_schedule(s) : NULL;
    if (!*why && s->zone && !s->cron)
        *why = "a time zone is for a schedule, which is missing";
    else if (!*why && (s->every_ms != 0 || s->cron))
        *why = against_recurring(s);
    else if (!*why && (s->from_ms != 0 || s->until_ms != 0 || s->count != 0 || s->overlap != MUSTER_OVERLAP_NONE))
        *why = "a first and a last time, a count and an overlap are for a recurring job, which needs an interval or a "
               "schedule too";
    else if (!*why && !s->replace && (s->offset_ms != 0 || s->backlog != 0))
        *why = "an offset and a backlog are for a recurring job, which needs an interval too";
    return *why ? MUSTER_E_INVALID : MUSTER_OK;
}

/* ---- ticks ---- */

int cron_spec_first(struct cron_ticks *out, struct cron_wanted *wanted, int64_t from_ms, int64_t now_ms,
                    const char **why)
{
    wanted->now_ms = now_ms;
    wanted->last_ms = from_ms > now_ms ? from_ms - 1 : now_ms;
    *why = cron_ticks(out, wanted);
    if (!*why && out->n == 0)
        *why = "the schedule has no time up to its last one";
    return *why ? MUSTER_E_INVALID : MUSTER_OK;
}

int cron_spec_ticks(struct cron_ticks *out, const struct muster_job_spec *s, int64_t now_ms, const char **why)
{
    struct cron_wanted wanted = {.cron = s->cron, .zone = zone_of(s->zone), .until_ms = s->until_ms};
    return cron_spec_first(out, &wanted, s->from_ms, now_ms, why);
}

/* ---- what a put says ---- */

static void say(struct command *command, const char *what, const char *text)
{
    script_put_said(command, what, (struct muster_bytes){text, strlen(text)});
}

static void say_given(struct command *command, const char *what, int64_t number)
{
    if (number != 0)
        script_put_number(command, what, number == MUSTER_ZERO ? 0 : number);
}

void cron_spec_add(struct command *command, const struct muster_job_spec *s, const struct cron_ticks *ticks)
{
    say_given(command, "from", s->from_ms);
    say_given(command, "until", s->until_ms);
    say_given(command, "count", s->count);
    if (s->overlap != MUSTER_OVERLAP_NONE)
        say(command, "overlap", muster_overlap_name(s->overlap));
    if (!s->cron) {
        say_given(command, "at", s->from_ms);
        return;
    }
    say(command, "cron", s->cron);
    say(command, "zone", zone_of(s->zone));
    say(command, "ticks", ticks->text);
    script_put_number(command, "last", ticks->last_ms);
    if (ticks->is_final)
        say(command, "final", "1");
}
