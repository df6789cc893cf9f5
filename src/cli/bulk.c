/* SPDX-License-Identifier: MIT
 *
 * Choosing jobs by options, and telling how many of them were done.
 */
#include "bulk.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "client.h"
#include "complain.h"
#include "known.h"
#include "need.h"
#include "out.h"
#include "progress.h"
#include "text.h"

/* Refusals that are told one by one. */
#define TOLD_MAX 20

#define STATE_WORD(state, name) " " name

const char *bulk_check_state(const char *name)
{
    return muster_job_state_of(name) < 0 ? "it must be one of" MUSTER_JOB_STATES(STATE_WORD) : NULL;
}

static bool is_set(const struct opt_value *value)
{
    return value && value->set;
}

static const char *text_of(const struct opt_value *value)
{
    return is_set(value) ? value->text : NULL;
}

bool bulk_is_chosen(const struct bulk_choice *choice)
{
    return is_set(choice->queue) || is_set(choice->state) || is_set(choice->group) || choice->n_tags > 0;
}

static int check_choice(const struct call *call, const struct bulk_choice *choice)
{
    if (call->n_operands > 0)
        return complain_usage(call, "operands and options that choose jobs exclude each other");
    if (is_set(choice->any) && choice->n_tags < 2)
        return complain_usage(call, "--any is for two or more --tag");
    if (is_set(choice->group) && is_set(choice->state) && muster_job_state_of(choice->state->text) != MUSTER_JOB_FAILED)
        return complain_usage(call, "--group chooses failed jobs, and excludes every other --state");
    return EXIT_DONE;
}

static struct muster_job_filter filter_of(const struct bulk_choice *choice)
{
    const char *state = text_of(choice->state);
    return (struct muster_job_filter){
        .size = sizeof(struct muster_job_filter),
        .queue = text_of(choice->queue),
        .tag = choice->n_tags > 0 ? choice->tags[0] : NULL,
        .tags = choice->n_tags > 0 ? choice->tags + 1 : NULL,
        .n_tags = choice->n_tags > 0 ? choice->n_tags - 1 : 0,
        .any_tag = is_set(choice->any),
        .group = text_of(choice->group),
        .state = state ? (enum muster_job_state)muster_job_state_of(state) : MUSTER_JOB_SCHEDULED,
        .by_state = state != NULL,
    };
}

/* ---- telling ---- */

struct telling {
    const struct call *call;
    uint64_t n_refused;
};

static int tell_refused(const char *id, int err, const char *why, void *arg)
{
    struct telling *t = arg;
    if (t->n_refused++ < TOLD_MAX)
        complain_refusal(t->call, muster_err_name(err), "%s: %s", id, why);
    else if (t->n_refused == TOLD_MAX + 1)
        complain(t->call, "more jobs refuse; they are only counted");
    return progress_is_stopped();
}

static void print_json(const struct muster_job_bulk_counts *n, bool is_dry)
{
    static const struct out_column columns[] = {{NULL, "chosen", OUT_COUNT},  {NULL, "done", OUT_COUNT},
                                                {NULL, "running", OUT_COUNT}, {NULL, "passed", OUT_COUNT},
                                                {NULL, "refused", OUT_COUNT}, {NULL, "dry_run", OUT_YES},
                                                {NULL, NULL, OUT_TEXT}};
    const struct out_cell cells[] = {{.number = (int64_t)n->chosen},  {.number = (int64_t)n->done},
                                     {.number = (int64_t)n->running}, {.number = (int64_t)n->passed},
                                     {.number = (int64_t)n->refused}, {.number = is_dry}};
    out_json(columns, cells);
}

static char *told_of(const struct muster_job_bulk_counts *n, const char *word)
{
    char *text = NULL, jobs[TEXT_NUMBER_SIZE], passed[TEXT_NUMBER_SIZE], running[80] = "", left[120] = "",
         refused[60] = "";
    text_number_of(jobs, n->chosen, "job", "jobs");
    if (n->running > 0)
        snprintf(running, sizeof running, ", %" PRIu64 " of them running and told to stop", n->running);
    if (n->passed > 0)
        snprintf(left, sizeof left, "; %s moved on meanwhile, left alone",
                 text_number_of(passed, n->passed, "has", "have"));
    if (n->refused > 0)
        snprintf(refused, sizeof refused, "; %" PRIu64 " refused", n->refused);
    if (asprintf(&text, "%s chosen; %" PRIu64 " %s%s%s%s", jobs, n->done, word, running, left, refused) < 0)
        need(NULL);
    return text;
}

static void print_counts(const struct call *call, const struct muster_job_bulk_counts *n, bool is_dry, const char *word)
{
    char *told = told_of(n, word), jobs[TEXT_NUMBER_SIZE];
    if (call->common[OPT_JSON].set)
        print_json(n, is_dry);
    else if (is_dry)
        out_text("%s chosen; none was %s, because this is a dry run\n", text_number_of(jobs, n->chosen, "job", "jobs"),
                 word);
    else
        out_text("%s\n", told);
    free(told);
}

/* What the same once more does to those that are done. */
static const char *say_again(const struct muster_job_bulk *what)
{
    return what->change && what->change->log ? "; those that are chosen again get the line of --log again" : "";
}

static int report(const struct call *call, struct muster_client *client, int err, const struct muster_job_bulk *what,
                  const char *word, const struct muster_job_bulk_counts *n)
{
    char *told = told_of(n, word);
    int code = EXIT_DONE;
    if (err == MUSTER_E_STOPPED)
        code = complain_stopped(call, "%s; run it again to do the rest%s", told, say_again(what));
    else if (err != MUSTER_OK && n->chosen > 0)
        code = (complain(call, "%s", told),
                complain_tried(n->done > 0, complain_error(call, err, muster_client_error(client))));
    else
        code = complain_error(call, err, muster_client_error(client));
    free(told);
    return code;
}

/* ---- nothing was chosen ---- */

static int note_one(const struct muster_job *job, void *arg)
{
    (void)job;
    *(bool *)arg = true;
    return 1;
}

/* Has any job this tag, or is it in this group, in any queue and state? */
static int look(struct muster_client *client, const char *tag, const char *group, bool *is_any)
{
    const struct muster_job_filter filter = {.size = sizeof filter, .tag = tag, .group = group, .n = 1};
    *is_any = false;
    return muster_job_list(client, &filter, note_one, is_any);
}

static int refuse_missing(const struct call *call, const char *what, const char *name)
{
    complain_refusal(call, muster_err_name(MUSTER_E_NOT_FOUND), "no job %s '%s'", what, name);
    return EXIT_NOT_FOUND;
}

/* With --any it is enough if one of the tags is there. */
static int check_tags(const struct call *call, struct muster_client *client, const struct bulk_choice *choice)
{
    const char *missing = NULL;
    int err = MUSTER_OK;
    for (size_t i = 0; i < choice->n_tags && err == MUSTER_OK; i++) {
        bool is_any;
        err = look(client, choice->tags[i], NULL, &is_any);
        if (err == MUSTER_OK && is_any && is_set(choice->any))
            return EXIT_DONE;
        if (err == MUSTER_OK && !is_any)
            missing = choice->tags[i];
    }
    if (err != MUSTER_OK)
        return complain_error(call, err, muster_client_error(client));
    return missing ? refuse_missing(call, "has the tag", missing) : EXIT_DONE;
}

/* Is it because there is no such queue, tag or group? A name that was misspelt chooses nothing. */
static int explain_none(const struct call *call, struct muster_client *client, const struct bulk_choice *choice)
{
    const char *queue = text_of(choice->queue), *group = text_of(choice->group);
    bool is_any = true;
    int code = queue ? known_exit(call, client, queue) : EXIT_DONE;
    if (!code)
        code = check_tags(call, client, choice);
    if (code || !group)
        return code;
    int err = look(client, NULL, group, &is_any);
    if (err != MUSTER_OK)
        return complain_error(call, err, muster_client_error(client));
    return is_any ? EXIT_DONE : refuse_missing(call, "has failed in the group", group);
}

static int run_chosen(const struct call *call, struct muster_client *client, const struct bulk_choice *choice,
                      const struct muster_job_bulk *what, const char *word)
{
    struct muster_job_bulk_counts n = {.size = sizeof n};
    const struct muster_job_filter filter = filter_of(choice);
    int code = report(call, client, muster_job_bulk(client, &filter, what, &n), what, word, &n);
    if (code)
        return code;
    if (n.chosen == 0 && (code = explain_none(call, client, choice)) != EXIT_DONE)
        return code;
    print_counts(call, &n, what->dry_run, word);
    return n.refused > 0 ? EXIT_FAILED : EXIT_DONE;
}

int bulk_run(const struct call *call, const struct bulk_choice *choice, const struct muster_job_bulk *what,
             const char *word)
{
    char doing[40];
    struct muster_client *client;
    struct telling telling = {call, 0};
    struct muster_job_bulk bulk = *what;
    int code = check_choice(call, choice);
    if (!code)
        code = client_open(call, &client);
    if (code)
        return code;
    bulk.dry_run = is_set(choice->dry_run);
    bulk.refused = tell_refused;
    bulk.arg = &telling;
    snprintf(doing, sizeof doing, "jobs %s", word);
    progress_begin(call);
    muster_client_set_progress(client, progress_on_step, doing);
    code = run_chosen(call, client, choice, &bulk, word);
    client_free(client);
    return code;
}
