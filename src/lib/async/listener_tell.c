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

/* The scripts are told so often; and they cannot be relied on to remember for longer than FRESH_MS. */
#define TELL_MS 3000
#define FRESH_MS 9000
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

/* Those that are told of by this. */
static bool is_about(const struct telling *t, const struct listener_ear *ear)
{
    if (!*t->queue)
        return listener_ear_is_of_jobs(ear);
    return ear->queue && listener_ear_is_of_queue(ear) && strcmp(ear->queue, t->queue) == 0;
}

static void refused(struct telling *t, int err, const struct redisReply *reply)
{
    struct muster_listener *l = t->listener;
    char why[512];
    snprintf(why, sizeof why, "%s", muster_err_text(err));
    if (reply_kind(reply) == REPLY_ERROR)
        reply_refusal_words(why, sizeof why, reply_text(reply));
    for (size_t i = 0; i < l->ears.n; i++)
        if (is_about(t, l->ears.all[i]) && !l->ears.all[i]->is_ready)
            listener_ear_miss(l, l->ears.all[i], err, why);
}

/* Of whom nobody listens to any more the scripts are not told again: what they were told then says nothing later. */
static bool is_wanted(const struct telling *t)
{
    const struct listener_ears *ears = &t->listener->ears;
    bool is = false;
    for (size_t i = 0; i < ears->n; i++)
        is |= is_about(t, ears->all[i]);
    return is;
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
        for (size_t i = 0; i < l->ears.n; i++)
            if (is_about(t, l->ears.all[i]))
                listener_ear_settle(l, l->ears.all[i]);
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
    told->try_ms = t->sent_ms + TELL_MS;
    l->n_telling++;
    return MUSTER_OK;
}

static bool is_due(const struct muster_listener *l, const struct listener_told *told)
{
    return !told->is_under_way && clock_ms() >= told->try_ms && l->n_telling < UNDER_WAY_MAX;
}

void listener_tell_due(struct muster_listener *l)
{
    struct listener_ears *ears = &l->ears;
    int err = link_is_up(l->telling) && l->is_claimed ? MUSTER_OK : MUSTER_E_CONN;
    if (err == MUSTER_OK && ears->n_jobs > 0 && is_due(l, &ears->jobs))
        err = tell(l, &ears->jobs, "");
    for (size_t i = 0; i < ears->n && err == MUSTER_OK; i++)
        if (listener_ear_is_of_queue(ears->all[i]) && is_due(l, &ears->all[i]->told))
            err = tell(l, &ears->all[i]->told, ears->all[i]->queue);
}

/* ---- what was told too long ago ---- */

static bool has_gone_stale(struct listener_told *told)
{
    bool is_stale = told->at_ms > 0 && clock_ms() - told->at_ms > FRESH_MS;
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
