/* SPDX-License-Identifier: MIT
 *
 * Moving entries off the failed list: replay and drop.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/client.h"
#include "client/failed.h"
#include "protocol/script_task.h"

/* The most names in one call; the script says how many of them it has looked at. */
#define NAMES_MAX 500
/* So many calls in a row may let go some of those that wait for a failure, 400 each, and move nothing. */
#define HALTS_MAX 10000

struct moving {
    enum script_id script;
    const struct muster_failed_filter *filter;
    uint64_t moved;
    unsigned n_halts;
};

static int move_some(struct muster_client *c, struct moving *m, const struct script_failed *which,
                     struct script_failed_moved *moved)
{
    struct command command = COMMAND_EMPTY;
    struct redisReply *reply;
    *moved = (struct script_failed_moved){.n = 0};
    script_failed(&command, m->script, &c->root, which);
    int err = client_run(c, &command, &reply);
    if (err == MUSTER_OK)
        err = client_understand(c, script_failed_done(reply, moved));
    redis_reply_free(reply);
    m->n_halts = moved->is_halted && moved->n == 0 ? m->n_halts + 1 : 0;
    if (err == MUSTER_OK && m->n_halts > HALTS_MAX)
        err = client_understand(c, MUSTER_E_REDIS); /* it would be asked for ever */
    m->moved += moved->n;
    return err;
}

/* At most `most` of those that are meant, from the score moved->rest on, which moves on. */
static int move_from(struct muster_client *c, struct moving *m, uint64_t most, struct script_failed_moved *moved)
{
    const struct muster_failed_filter *f = m->filter;
    const int64_t from = moved->rest;
    int err = move_some(c, m,
                        &(struct script_failed){
                            .queue = f->queue, .group = f->group ? f->group : "", .n = most, .from = (uint64_t)from},
                        moved);
    if (err == MUSTER_OK && moved->n == 0 && moved->rest >= 0 && moved->rest <= from && !moved->is_halted)
        err = client_understand(c, MUSTER_E_REDIS); /* it would be asked for ever */
    return err;
}

static int count_failures(struct muster_client *c, const struct muster_failed_filter *f, uint64_t *n)
{
    char key[KEY_MAX], field[MUSTER_GROUP_MAX + 3];
    struct redisReply *reply;
    key_of(key, c->prefix, f->group ? KEY_FAILURES : KEY_FAILED, f->queue);
    snprintf(field, sizeof field, "g:%s", f->group ? f->group : "");
    const char *const in_group[] = {"HGET", key, field, NULL};
    const char *const all[] = {"ZCARD", key, NULL};
    int err = client_ask(c, &reply, f->group ? in_group : all);
    long long count = reply_number(reply, 0);
    *n = count > 0 ? (uint64_t)count : 0;
    redis_reply_free(reply);
    return err;
}

/* Move no more than were there at the beginning. A replayed entry may fail again at once and be back on the list:
 * otherwise this would never end. */
static int move_matching(struct muster_client *c, struct moving *m)
{
    const struct muster_failed_filter *f = m->filter;
    uint64_t n;
    struct script_failed_moved moved = {.rest = 0};
    int err = count_failures(c, f, &n);
    if (f->n > 0 && f->n < n)
        n = f->n;
    while (err == MUSTER_OK && m->moved < n && moved.rest >= 0) {
        err = move_from(c, m, n - m->moved, &moved);
        if (err == MUSTER_OK && m->moved < n && moved.rest >= 0)
            err = client_step(c, m->moved, n);
    }
    return err;
}

static int move_named(struct muster_client *c, struct moving *m)
{
    const struct muster_failed_filter *f = m->filter;
    const char **names;
    size_t n;
    int64_t missing = 0;
    struct script_failed_moved moved;
    int err = failed_sort_entries(c, f, &names, &n);
    if (f->n > 0 && f->n < n)
        n = (size_t)f->n;
    for (size_t at = 0; err == MUSTER_OK && at < n; at += moved.looked) {
        size_t asked = n - at < NAMES_MAX ? n - at : NAMES_MAX;
        err = move_some(
            c, m, &(struct script_failed){.queue = f->queue, .group = "", .entries = names + at, .n_entries = asked},
            &moved);
        missing += moved.rest;
        if (err == MUSTER_OK && ((moved.looked == 0 && !moved.is_halted) || moved.looked > asked))
            err = client_understand(c, MUSTER_E_REDIS); /* it would be asked for ever */
        if (err == MUSTER_OK && at + moved.looked < n)
            err = client_step(c, m->moved, n);
    }
    free(names);
    if (err != MUSTER_OK || missing == 0)
        return err;
    redis_error_set(c->redis,
                    "%lld of the entries are not, or no longer, on the failed list of the queue '%s', or stay there "
                    "because an equal unique task is alive",
                    (long long)missing, f->queue);
    return MUSTER_E_NOT_FOUND;
}

static int move_failures(struct muster_client *c, enum script_id script, const struct muster_failed_filter *f,
                         uint64_t *n)
{
    struct muster_failed_filter filter;
    struct moving m = {.script = script, .filter = &filter};
    int err = client_read(c, SIZED_FAILED_FILTER, &filter, f);
    if (err == MUSTER_OK)
        err = failed_check_filter(c, &filter);
    if (err == MUSTER_OK && filter.offset > 0)
        err = client_refuse(c, "an offset is only for listing failures");
    if (err == MUSTER_OK)
        err = filter.entries ? move_named(c, &m) : move_matching(c, &m);
    if (n)
        *n = m.moved;
    return err;
}

int muster_failed_replay(struct muster_client *c, const struct muster_failed_filter *f, uint64_t *n)
{
    return move_failures(c, SCRIPT_REPLAY, f, n);
}

int muster_failed_drop(struct muster_client *c, const struct muster_failed_filter *f, uint64_t *n)
{
    return move_failures(c, SCRIPT_DROP, f, n);
}
