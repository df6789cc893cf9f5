/* SPDX-License-Identifier: MIT
 *
 * Schedules of recurring jobs, of the time that Redis tells. A change tells for which schedule its ticks were computed,
 * because another one may come between.
 */
#include "client/job_cron.h"

#include <string.h>

#include "protocol/cron_spec.h"
#include "protocol/keys.h"
#include "protocol/script_job.h"

/* ---- ticks ---- */

int job_cron_ticks(struct muster_client *c, const struct muster_job_spec *s, struct cron_ticks *out, const char **why)
{
    int64_t now_ms;
    *why = NULL;
    out->n = 0;
    int err = s->cron ? muster_client_time(c, &now_ms) : MUSTER_OK;
    if (err != MUSTER_OK || !s->cron)
        return err;
    return cron_spec_ticks(out, s, now_ms, why);
}

static void say(struct command *command, const char *what, const char *text)
{
    script_put_said(command, what, (struct muster_bytes){text, strlen(text)});
}

/* ---- change ---- */

int job_cron_change(struct muster_client *c, const char *id, const struct muster_job_change *change,
                    struct job_cron_changed *out)
{
    char key[KEY_MAX];
    *out = (struct job_cron_changed){.cron = NULL};
    if (!change->cron && !change->zone)
        return MUSTER_OK;
    key_of(key, c->prefix, KEY_JOB, id);
    int err = client_ask(c, &out->record,
                         (const char *const[]){"HMGET", key, "cron", "zone", "from", "until", "state", NULL});
    if (err != MUSTER_OK)
        return err;
    out->cron = reply_text(reply_at(out->record, 0));
    out->zone = reply_text(reply_at(out->record, 1));
    if (!out->cron || !out->zone)
        return reply_text(reply_at(out->record, 4)) ? MUSTER_E_STATE : MUSTER_E_NOT_FOUND;
    struct cron_wanted wanted = {.cron = change->cron ? change->cron : out->cron,
                                 .zone = change->zone ? change->zone : out->zone,
                                 .until_ms = reply_number(reply_at(out->record, 3), 0)};
    int64_t now_ms;
    const char *why = NULL;
    err = muster_client_time(c, &now_ms);
    if (err != MUSTER_OK)
        return err;
    err = cron_spec_first(&out->ticks, &wanted, reply_number(reply_at(out->record, 2), 0), now_ms, &why);
    return client_answer(c, err, &why);
}

void job_cron_add_change(struct command *command, const struct muster_job_change *change,
                         const struct job_cron_changed *changed)
{
    if (change->overlap != MUSTER_OVERLAP_NONE)
        say(command, "overlap", muster_overlap_name(change->overlap));
    if (!change->cron && !change->zone)
        return;
    say(command, "was_cron", changed->cron);
    say(command, "was_zone", changed->zone);
    if (change->cron)
        say(command, "cron", change->cron);
    if (change->zone)
        say(command, "zone", change->zone);
    say(command, "ticks", changed->ticks.text);
    script_put_number(command, "last", changed->ticks.last_ms);
    say(command, "final", changed->ticks.is_final ? "1" : "");
}
