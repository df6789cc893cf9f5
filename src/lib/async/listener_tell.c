/* SPDX-License-Identifier: MIT
 *
 * The scripts are told again and again that somebody listens: they forget it after ten seconds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "async/listener.h"
#include "base/clock.h"
#include "protocol/script_queue.h"

/* At most so many scripts are under way. */
#define UNDER_WAY_MAX 32

/* A script under way. The ear may be gone, or another one, when it is answered. */
struct telling {
    struct muster_listener *listener;
    int64_t sent_ms;
    char queue[MUSTER_QUEUE_MAX + 1]; /* "": of jobs */
};

static struct listener_told *told_of(struct telling *t)
{
    struct muster_listener *l = t->listener;
    struct listener_ear *ear = *t->queue ? listener_ear_find(l, t->queue, strlen(t->queue)) : NULL;
    return !*t->queue ? &l->ears.jobs : ear ? &ear->told : NULL;
}

/* Those that are told of by this, one after the other; begin at 0. NULL: no more. */
static struct listener_ear *next_about(const struct telling *t, size_t *at)
{
    struct muster_listener *l = t->listener;
    while (!*t->queue && *at < l->ears.n) {
        struct listener_ear *ear = l->ears.all[(*at)++];
        if (listener_ear_is_of_jobs(ear))
            return ear;
    }
    struct listener_ear *ear = *t->queue && (*at)++ == 0 ? listener_ear_find(l, t->queue, strlen(t->queue)) : NULL;
    return ear && listener_ear_is_of_queue(ear) ? ear : NULL;
}

static void refused(struct telling *t, int err, const struct redisReply *reply)
{
    struct muster_listener *l = t->listener;
    char why[512];
    snprintf(why, sizeof why, "%s", muster_err_text(err));
    if (reply_kind(reply) == REPLY_ERROR)
        reply_refusal_words(why, sizeof why, reply_text(reply));
    struct listener_ear *ear;
    for (size_t at = 0; (ear = next_about(t, &at)) != NULL;)
        if (!ear->is_ready)
            listener_ear_miss(l, ear, err, why);
}

/* Of whom nobody listens to any more the scripts are not told again: what they were told then says nothing later. */
static bool is_wanted(const struct telling *t)
{
    size_t at = 0;
    return next_about(t, &at) != NULL;
}

void listener_tell_forget(struct listener_told *told)
{
    told->at_ms = told->try_ms = 0;
}

static void on_told(const struct redisReply *reply, void *arg)
{
    struct telling *t = arg;
    struct muster_listener *l = t->listener;
    struct listener_told *told = told_of(t);
    const int err = reply ? reply_status(reply) : MUSTER_E_CONN;
    l->n_telling--;
    if (told)
        told->is_under_way = false;
    if (told && !is_wanted(t)) {
        listener_tell_forget(told);
    } else if (told && err == MUSTER_OK) {
        told->at_ms = t->sent_ms;
        struct listener_ear *ear;
        for (size_t at = 0; (ear = next_about(t, &at)) != NULL;)
            listener_ear_settle(l, ear);
    } else if (told && reply) {
        refused(t, err, reply);
    } else if (told) {
        told->try_ms = 0;
    }
    free(t);
    listener_links_tell_soon(l);
}

static int tell(struct muster_listener *l, struct listener_told *told, const char *queue)
{
    struct telling *t = malloc(sizeof *t);
    struct command c = COMMAND_EMPTY;
    if (!t)
        return MUSTER_E_NOMEM;
    *t = (struct telling){.listener = l, .sent_ms = clock_ms()};
    snprintf(t->queue, sizeof t->queue, "%s", queue);
    script_queue_call(&c, SCRIPT_LISTEN, &l->root, queue);
    int err = link_script(l->telling, &c, on_told, t);
    command_clear(&c);
    if (err != MUSTER_OK) {
        free(t);
        return err;
    }
    told->is_under_way = true;
    told->try_ms = t->sent_ms + LISTEN_RENEW_MS;
    l->n_telling++;
    return MUSTER_OK;
}

static bool is_due(const struct muster_listener *l, const struct listener_told *told)
{
    return !told->is_under_way && clock_ms() >= told->try_ms && l->n_telling < UNDER_WAY_MAX;
}

/* The queues take turns: where there are more than can be told of in time, none of them waits for ever. */
void listener_tell_due(struct muster_listener *l)
{
    struct listener_ears *ears = &l->ears;
    int err = link_is_up(l->telling) && l->is_claimed ? MUSTER_OK : MUSTER_E_CONN;
    if (err == MUSTER_OK && ears->n_jobs > 0 && is_due(l, &ears->jobs))
        err = tell(l, &ears->jobs, "");
    const size_t from = ears->next_told < ears->n ? ears->next_told : 0;
    for (size_t i = 0; i < ears->n && err == MUSTER_OK && l->n_telling < UNDER_WAY_MAX; i++) {
        const size_t at = (from + i) % ears->n;
        struct listener_ear *ear = ears->all[at];
        if (!listener_ear_is_of_queue(ear) || !is_due(l, &ear->told))
            continue;
        err = tell(l, &ear->told, ear->queue);
        ears->next_told = at + 1;
    }
}

/* ---- what was told too long ago ---- */

static bool has_gone_stale(struct listener_told *told)
{
    bool is_stale = told->at_ms > 0 && clock_ms() - told->at_ms > LISTEN_FRESH_MS;
    if (is_stale)
        told->at_ms = 0;
    return is_stale;
}

void listener_tell_stale(struct muster_listener *l)
{
    struct listener_ears *ears = &l->ears;
    const struct cause *cause = link_cause(l->telling);
    const int err = cause->err != MUSTER_OK ? cause->err : MUSTER_E_TIMEOUT;
    const char *why = *cause->text ? cause->text : "the scripts could not be told in time that somebody listens";
    bool are_jobs_stale = ears->n_jobs > 0 && has_gone_stale(&ears->jobs);
    for (size_t i = 0; i < ears->n; i++) {
        struct listener_ear *ear = ears->all[i];
        bool is_stale = listener_ear_is_of_queue(ear) && has_gone_stale(&ear->told);
        if (is_stale || (are_jobs_stale && listener_ear_is_of_jobs(ear)))
            listener_ear_miss(l, ear, err, why);
    }
}
