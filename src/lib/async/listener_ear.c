/* SPDX-License-Identifier: MIT
 *
 * Ears. An ear is ready when Redis has confirmed its subscription, counts it where the scripts are called, and the scripts
 * have been told, not too long ago, that somebody listens. Then nothing is missed, until one of these is no more.
 */
#include "async/listener_ear.h"

#include <stdlib.h>
#include <string.h>

#include "async/listener.h"
#include "base/clock.h"
#include "base/sorted.h"

/* ---- the list ---- */

static int compare(const struct listener_ear *ear, const char *queue, size_t len)
{
    if (!ear->queue || !queue)
        return (ear->queue != NULL) - (queue != NULL);
    int order = strncmp(ear->queue, queue, len);
    return order != 0 ? order : ear->queue[len] != '\0';
}

static int compare_at(const void *list, size_t at, const void *wanted)
{
    struct listener_ear *const *all = list;
    const struct muster_bytes *queue = wanted;
    return compare(all[at], queue->data, queue->len);
}

/* Where it is, or would be. */
static size_t place_of(const struct listener_ears *ears, const char *queue, size_t len)
{
    return sorted_place(ears->all, ears->n, compare_at, &(const struct muster_bytes){queue, len});
}

struct listener_ear *listener_ear_find(struct muster_listener *l, const char *queue, size_t len)
{
    size_t at = place_of(&l->ears, queue, len);
    return at < l->ears.n && compare(l->ears.all[at], queue, len) == 0 ? l->ears.all[at] : NULL;
}

static void free_ear(struct listener_ear *ear)
{
    if (ear)
        free(ear->queue);
    free(ear);
}

static struct listener_ear *add(struct muster_listener *l, const char *queue)
{
    struct listener_ears *ears = &l->ears;
    struct listener_ear *ear = calloc(1, sizeof *ear);
    if (ears->n == ears->cap) {
        size_t cap = ears->cap ? 2 * ears->cap : 16;
        struct listener_ear **all = realloc(ears->all, cap * sizeof(struct listener_ear *));
        ears->all = all ? all : ears->all;
        ears->cap = all ? cap : ears->cap;
    }
    if (ear && queue)
        ear->queue = strdup(queue);
    if (!ear || (queue && !ear->queue) || ears->n == ears->cap) {
        free_ear(ear);
        return NULL;
    }
    size_t at = place_of(ears, queue, queue ? strlen(queue) : 0);
    memmove(ears->all + at + 1, ears->all + at, (ears->n - at) * sizeof *ears->all);
    ears->all[at] = ear;
    ears->n++;
    return ear;
}

static void drop(struct muster_listener *l, struct listener_ear *ear)
{
    struct listener_ears *ears = &l->ears;
    size_t at = place_of(ears, ear->queue, ear->queue ? strlen(ear->queue) : 0);
    memmove(ears->all + at, ears->all + at + 1, (ears->n - at - 1) * sizeof *ears->all);
    ears->n--;
    free_ear(ear);
}

int listener_ear_wish(struct muster_listener *l, const char *queue, int kinds)
{
    struct listener_ear *ear = listener_ear_find(l, queue, queue ? strlen(queue) : 0);
    if (!ear && kinds != 0 && !(ear = add(l, queue)))
        return MUSTER_E_NOMEM;
    if (!ear)
        return MUSTER_OK;
    const int before = ear->kinds;
    ear->kinds = kinds;
    ear->is_ready = ear->is_gap = false;
    l->ears.n_jobs += listener_ear_is_of_jobs(ear);
    l->ears.n_jobs -= (before & MUSTER_LISTEN_JOBS) != 0;
    listener_links_subscribe(l, ear, before);
    if (!listener_ear_is_of_queue(ear))
        listener_tell_forget(&ear->told);
    if (kinds == 0)
        drop(l, ear);
    else
        listener_ear_settle(l, ear);
    listener_links_tell_soon(l);
    return MUSTER_OK;
}

void listener_ear_clear(struct muster_listener *l)
{
    for (size_t i = 0; i < l->ears.n; i++)
        free_ear(l->ears.all[i]);
    free(l->ears.all);
}

/* ---- ready, or not ---- */

bool listener_ear_is_of_queue(const struct listener_ear *ear)
{
    return (ear->kinds & ~MUSTER_LISTEN_JOBS) != 0;
}

bool listener_ear_is_of_jobs(const struct listener_ear *ear)
{
    return (ear->kinds & MUSTER_LISTEN_JOBS) != 0;
}

/* False: there is no memory for it. */
static bool say(struct muster_listener *l, const struct listener_ear *ear, int type, int err, const char *why)
{
    const struct muster_heard heard = {.type = type, .err = err, .queue = ear->queue, .text = why};
    return listener_box_put(&l->box, &heard, LISTENER_ALWAYS);
}

/* A GAP for which there was no memory comes before the next READY. */
static bool has_said_gap(struct muster_listener *l, struct listener_ear *ear)
{
    if (ear->owes_gap)
        ear->owes_gap = !say(l, ear, MUSTER_HEARD_GAP, MUSTER_E_NOMEM, "out of memory: events may have been dropped");
    return !ear->owes_gap;
}

void listener_ear_settle(struct muster_listener *l, struct listener_ear *ear)
{
    const struct listener_ears *ears = &l->ears;
    bool hears_queue = !listener_ear_is_of_queue(ear) || (ear->is_subscribed && ear->told.at_ms > 0);
    bool hears_jobs = !listener_ear_is_of_jobs(ear) || (ears->is_jobs_subscribed && ears->jobs.at_ms > 0);
    if (ear->is_ready || ear->is_dropping || !hears_queue || !hears_jobs || !link_is_up(l->hearing) || !l->pair.is_here)
        return;
    ear->is_ready = has_said_gap(l, ear) && say(l, ear, MUSTER_HEARD_READY, MUSTER_OK, NULL);
    ear->is_gap &= !ear->is_ready;
}

/* A connection that is refused was mostly closed before: the refusal alone says what to mend. */
static bool is_refusal(int err)
{
    return err == MUSTER_E_DENIED || err == MUSTER_E_INVALID || err == MUSTER_E_FORMAT;
}

void listener_ear_miss(struct muster_listener *l, struct listener_ear *ear, int err, const char *why)
{
    bool is_news = !ear->is_gap || (is_refusal(err) && !ear->is_refusal);
    ear->is_refusal = is_refusal(err) || (ear->is_gap && ear->is_refusal);
    ear->is_ready = false;
    ear->is_gap = true;
    if (is_news)
        ear->owes_gap = !say(l, ear, MUSTER_HEARD_GAP, err, why);
}

void listener_ear_settle_all(struct muster_listener *l)
{
    for (size_t i = 0; i < l->ears.n; i++)
        listener_ear_settle(l, l->ears.all[i]);
}

/* ---- hearing ---- */

void listener_ear_hears(struct muster_listener *l, struct listener_ear *ear, const struct muster_heard *heard)
{
    if (ear->is_dropping || !listener_box_put(&l->box, heard, LISTENER_IF_IT_FITS))
        listener_ear_drops(l, ear);
}

void listener_ear_drops(struct muster_listener *l, struct listener_ear *ear)
{
    ear->is_dropping = true;
    listener_ear_miss(l, ear, MUSTER_E_TOO_BIG,
                      "the program has not taken what was heard before, or there is no memory: events were dropped");
}

void listener_ear_go_on(struct muster_listener *l)
{
    if (!listener_box_has_room(&l->box))
        return;
    for (size_t i = 0; i < l->ears.n; i++) {
        struct listener_ear *ear = l->ears.all[i];
        if (!ear->is_dropping)
            continue;
        ear->is_dropping = false;
        listener_ear_settle(l, ear);
    }
}
