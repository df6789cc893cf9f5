/* SPDX-License-Identifier: MIT
 *
 * A job's history, judged.
 */
#include "job_history.h"

#include <string.h>

/* Where a job may be before and after each line of its history. */
enum { PENDING = 1, RUNNING = 2, FAILED = 4, COMPLETE = 8, BETWEEN = 16 };
static const struct rule {
    const char *what;
    int from, to;
} rules[] = {
    {"put", PENDING | RUNNING | FAILED | BETWEEN, PENDING}, /* also while it ran, or had failed */
    {"moved", PENDING | RUNNING | FAILED, PENDING},
    {"ready", PENDING, PENDING},
    {"scheduled", PENDING, PENDING},
    {"taken", PENDING, RUNNING},
    {"given-back", RUNNING, PENDING},
    {"crashed", RUNNING, RUNNING}, /* then it is given back, or resumed */
    {"retried", RUNNING, PENDING},
    {"exhausted", RUNNING, RUNNING}, /* then it fails */
    {"advanced", RUNNING, BETWEEN},
    {"completed", RUNNING, COMPLETE},
    {"failed", RUNNING | PENDING, FAILED},
    {"replayed", FAILED, PENDING},
};

static const struct rule *rule_of(const char *what)
{
    for (size_t i = 0; i < N_OF(rules); i++)
        if (!strcmp(rules[i].what, what))
            return &rules[i];
    fail_msg("'%s' in a history", what);
    return NULL;
}

static void add_up(struct job_sums *sums, const struct muster_job_event_line *line)
{
    const char *what = line->what;
    sums->put += (!strcmp(what, "put") && strcmp(line->text, "in place") != 0) || !strcmp(what, "moved");
    sums->taken += !strcmp(what, "taken");
    sums->completed += !strcmp(what, "completed") || !strcmp(what, "advanced");
    sums->failed += !strcmp(what, "failed");
    sums->retried += !strcmp(what, "retried");
    sums->crashed += !strcmp(what, "crashed") || (!strcmp(what, "failed") && !strcmp(line->text, "crashed"));
}

static int final_place(enum muster_job_state state)
{
    return state == MUSTER_JOB_COMPLETE ? COMPLETE : state == MUSTER_JOB_FAILED ? FAILED : PENDING;
}

void job_history_fail(const struct muster_job *job, const char *wrong)
{
    for (size_t i = 0; i < job->n_history; i++)
        print_error("%lld %s %s\n", (long long)job->history[i].at_ms, job->history[i].what, job->history[i].text);
    fail_msg("%s is %s %s: %s", job->id, muster_job_state_name(job->state), job->group, wrong);
}

void job_history_judge(const struct muster_job *job, struct job_sums *sums)
{
    int place = BETWEEN;
    for (size_t i = 0; i < job->n_history; i++) {
        const struct rule *rule = rule_of(job->history[i].what);
        if (!(place & rule->from))
            job_history_fail(job, "its history is out of order");
        place = rule->to;
        add_up(sums, &job->history[i]);
    }
    if (place != final_place(job->state))
        job_history_fail(job, "its history ends in another state");
}

static int64_t add_day(struct scene *s, const char *queue, int64_t day, struct job_sums *sums)
{
    struct muster_stats stats = {.size = sizeof stats};
    assert_ok(muster_stats_get(s->client, queue, day, &stats));
    sums->put += stats.put;
    sums->taken += stats.taken;
    sums->completed += stats.completed;
    sums->failed += stats.failed;
    sums->retried += stats.retried;
    sums->crashed += stats.crashed;
    return stats.day;
}

struct job_sums job_history_statistics(struct scene *s, const char *const *queues, size_t n)
{
    struct job_sums sums = {0};
    for (size_t i = 0; i < n; i++) {
        int64_t today = add_day(s, queues[i], -1, &sums);
        add_day(s, queues[i], today - 1, &sums);
    }
    return sums;
}

void job_history_assert_same(const struct job_sums *a, const struct job_sums *b)
{
    assert_int_equal(a->put, b->put);
    assert_int_equal(a->taken, b->taken);
    assert_int_equal(a->completed, b->completed);
    assert_int_equal(a->failed, b->failed);
    assert_int_equal(a->retried, b->retried);
    assert_int_equal(a->crashed, b->crashed);
}
