/* SPDX-License-Identifier: MIT
 *
 * Bounds of the ages of tasks, from points that others have noted and from those that the client remembers.
 */
#include "client/ages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of more queues nothing is remembered. */
#define QUEUES_MAX 20000

/* ---- what the client remembers ---- */

static struct ages_queue **place_of(struct ages *a, const char *name)
{
    uint32_t hash = 2166136261u;
    for (const char *c = name; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 16777619u;
    struct ages_queue **at = &a->buckets[hash % AGES_BUCKETS];
    while (*at && strcmp((*at)->name, name) != 0)
        at = &(*at)->next;
    return at;
}

/* NULL: there is no room for it. */
static struct ages_queue *find_or_add(struct ages *a, const char *name)
{
    struct ages_queue **at = place_of(a, name), *q = *at;
    if (q || a->n == QUEUES_MAX)
        return q;
    q = calloc(1, sizeof *q + strlen(name) + 1);
    if (!q)
        return NULL;
    strcpy(q->name, name);
    *at = q;
    a->n++;
    return q;
}

static void forget(struct ages *a, bool is_all)
{
    for (size_t i = 0; i < AGES_BUCKETS; i++)
        for (struct ages_queue **at = &a->buckets[i]; *at;) {
            struct ages_queue *q = *at;
            if (q->is_seen && !is_all) {
                at = &q->next;
                continue;
            }
            *at = q->next;
            free(q);
            a->n--;
        }
}

void ages_clear(struct ages *a)
{
    forget(a, true);
}

void ages_begin_listing(struct ages *a)
{
    for (size_t i = 0; i < AGES_BUCKETS; i++)
        for (struct ages_queue *q = a->buckets[i]; q; q = q->next)
            q->is_seen = false;
}

void ages_end_listing(struct ages *a)
{
    forget(a, false);
}

/* ---- points ---- */

static void remove_point(struct ages_queue *q, size_t i)
{
    memmove(&q->points[i], &q->points[i + 1], (--q->n_points - i) * sizeof *q->points);
}

/* Of the points by which all have left, only the last one says something. */
static void drop_passed(struct ages_queue *q, int64_t in_turn)
{
    while (q->n_points > 1 && q->points[1].n <= in_turn)
        remove_point(q, 0);
}

/* The point that tells least: its neighbours are nearest to each other, by how long ago that is. */
static void thin_out(struct ages_queue *q, int64_t now_ms)
{
    size_t which = 1;
    double least = 0;
    for (size_t i = 1; i + 1 < q->n_points; i++) {
        double span = (double)(q->points[i + 1].at_ms - q->points[i - 1].at_ms);
        double gap = span / (double)(now_ms - q->points[i + 1].at_ms + 1);
        if (i == 1 || gap < least) {
            least = gap;
            which = i;
        }
    }
    remove_point(q, which);
}

static void add_point(struct ages_queue *q, const struct ages_look *look)
{
    int64_t came = look->out + look->waiting;
    struct ages_point *newest = q->n_points > 0 ? &q->points[q->n_points - 1] : NULL;
    if (newest && newest->n == came) {
        newest->upto_ms = look->began_ms;
        return;
    }
    if (q->n_points == AGES_POINTS)
        thin_out(q, look->ended_ms);
    q->points[q->n_points++] = (struct ages_point){look->ended_ms, look->began_ms, came};
}

/* Tasks that left uncounted, or another life of the queue: what was remembered is not about these tasks. */
static bool is_another(const struct ages_queue *q, int64_t born, const struct ages_look *look)
{
    return q->born != born || look->out < q->out ||
           (q->n_points > 0 && q->points[q->n_points - 1].n > look->out + look->waiting);
}

static void remember(struct ages_queue *q, int64_t born, const struct ages_look *look)
{
    if (is_another(q, born, look)) {
        q->n_points = 0;
        q->row.asked_at_ms = 0;
    }
    q->born = born;
    q->out = look->out;
    q->is_seen = true;
    drop_passed(q, look->in_turn);
    add_point(q, look);
    drop_passed(q, look->in_turn);
}

/* ---- bounds ---- */

/* As long as fewer have left than had come by a point, one of those is still there. When so many have left in their
 * turn, all of those are gone. */
static void apply_point(struct ages_bounds *b, const struct ages_point *p, const struct ages_look *look)
{
    if (p->n > look->out && (b->latest_ms == 0 || p->at_ms < b->latest_ms))
        b->latest_ms = p->at_ms;
    if (p->n <= look->in_turn && p->upto_ms > b->earliest_ms)
        b->earliest_ms = p->upto_ms;
}

static void apply_noted(struct ages_bounds *b, const struct ages_look *look)
{
    const char *noted = look->noted;
    long long at_ms, n;
    int len;
    while (noted && sscanf(noted, " %lld:%lld%n", &at_ms, &n, &len) == 2 && at_ms > 0 && n >= 0) {
        apply_point(b, &(struct ages_point){at_ms, at_ms, n}, look);
        noted += len;
    }
}

struct ages_bounds ages_see(struct ages *a, const char *queue, int64_t born, const struct ages_look *look)
{
    struct ages_bounds b = {0, 0};
    struct ages_queue *q = born > 0 ? find_or_add(a, queue) : NULL;
    apply_noted(&b, look);
    if (q)
        remember(q, born, look);
    for (size_t i = 0; q && i < q->n_points; i++)
        apply_point(&b, &q->points[i], look);
    return b;
}

struct ages_row *ages_row(struct ages *a, const char *queue, int64_t born)
{
    struct ages_queue *q = born > 0 ? *place_of(a, queue) : NULL;
    return q && q->born == born ? &q->row : NULL;
}
