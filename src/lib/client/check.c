/* SPDX-License-Identifier: MIT
 *
 * Looks through a namespace for damage. The keys tell what there is to look at (check_keys.c). The scripts decide what
 * is damage and repair it. There is one call for each set, worker and queue, and for each page of jobs, because only
 * one script sees a consistent state. So nothing here compares the answers of two calls, and a live system gives no
 * finds: every script leaves it without damage.
 *
 * One find may make others look wrong: a set that belongs to no worker is not counted by any. Without repair the
 * counters that such a find changes are left out ("doubtful"), and so is what waits in a queue that has jobs in the
 * wrong place. With repair the same script corrects them.
 */
#include "client/check.h"

#include "base/format.h"

#include <stdio.h>
#include <string.h>

/* ---- sets and workers ---- */

static void names_doubt(struct name_list *names, char *text)
{
    size_t i = name_list_find(names, text, strlen(text));
    if (i < names->n && strcmp(names->at[i].text, text) == 0)
        names->at[i].is_doubtful = true;
}

/* With repair the counters are corrected. Without it those of a doubtful name are left out. */
static enum script_counters counters_of(const struct check *k, const struct name *name)
{
    return k->repair == CHECK_AND_REPAIR || !name->is_doubtful ? CHECK_COUNTERS : SKIP_COUNTERS;
}

/* The queue of a set "<worker>:<queue>". */
static char *queue_of(const struct name *set)
{
    return set->text + strcspn(set->text, ":") + 1;
}

static int check_set(struct check *k, size_t at)
{
    struct command command = COMMAND_EMPTY;
    struct script_checked checked;
    char worker[MUSTER_WORKER_ID_MAX + 1], *queue = queue_of(&k->sets.at[at]);
    snprintf(worker, sizeof worker, "%.*s", (int)(queue - 1 - k->sets.at[at].text), k->sets.at[at].text);
    script_check_set(&command, &k->client->root, k->repair, worker, queue);
    int err = check_run(k, &command, &checked);
    if (err == MUSTER_OK && checked.n_finds > 0) {
        names_doubt(&k->workers, worker);
        names_doubt(&k->queues, queue);
    }
    return err;
}

static int check_sets(struct check *k)
{
    return check_each(k, &k->sets, 1, check_set);
}

/* The sets of one holder: from *from up to, but without, the result. */
static size_t sets_of(const struct check *k, const char *holder, size_t *from)
{
    char head[MUSTER_WORKER_ID_MAX + 2];
    int len = snprintf(head, sizeof head, "%s:", holder);
    size_t i = *from = len < (int)sizeof head ? name_list_find(&k->sets, head, (size_t)len) : k->sets.n;
    while (i < k->sets.n && strncmp(k->sets.at[i].text, head, (size_t)len) == 0)
        i++;
    return i;
}

static int check_worker(struct check *k, size_t at)
{
    const struct name *worker = &k->workers.at[at];
    struct command command = COMMAND_EMPTY;
    struct script_checked checked;
    size_t set;
    script_check_worker(&command, &k->client->root, k->repair, worker->text, counters_of(k, worker));
    int err = check_run(k, &command, &checked);
    k->are_records_doubtful |= err == MUSTER_OK && (checked.token == 0 || checked.n_finds > 0);
    if (err != MUSTER_OK || checked.token > 0)
        return err;
    /* A worker that is not registered is not counted. */
    for (size_t end = sets_of(k, worker->text, &set); set < end; set++)
        names_doubt(&k->queues, queue_of(&k->sets.at[set]));
    return err;
}

static int check_workers(struct check *k)
{
    return check_each(k, &k->workers, 1, check_worker);
}

/* ---- marks and notes ---- */

/* The script also needs to know where the holder may have processes. */
static void begin_marks(struct check *k, struct command *command, const char *holder)
{
    size_t set, end = sets_of(k, holder, &set);
    script_check_marks(command, &k->client->root, k->repair, holder, end - set);
    for (; set < end; set++)
        command_text(command, queue_of(&k->sets.at[set]));
}

static int check_marks_of(struct check *k, size_t at)
{
    int err = check_entries(k, KEY_MARKS, k->marked.at[at].text, begin_marks);
    return err == MUSTER_OK && !k->stop ? check_entries(k, KEY_NOTES, k->marked.at[at].text, begin_marks) : err;
}

static int check_marks(struct check *k)
{
    return check_each(k, &k->marked, 1, check_marks_of);
}

/* ---- holders of leases ---- */

static void begin_leased(struct check *k, struct command *command, const char *queue)
{
    script_check_holders(command, &k->client->root, k->repair, "holders", queue);
}

static void begin_holder(struct check *k, struct command *command, const char *holder)
{
    script_check_holders(command, &k->client->root, k->repair, "holds", holder);
}

static int check_leased(struct check *k, size_t at)
{
    return check_entries(k, KEY_HOLDERS, k->leased.at[at].text, begin_leased);
}

static int check_holder(struct check *k, size_t at)
{
    return check_entries(k, KEY_HOLDS, k->holders.at[at].text, begin_holder);
}

static int check_holders(struct check *k)
{
    int err = check_each(k, &k->leased, 1, check_leased);
    return err == MUSTER_OK ? check_each(k, &k->holders, 1, check_holder) : err;
}

/* ---- jobs ---- */

static int check_some_jobs(struct check *k, size_t at)
{
    struct command command = COMMAND_EMPTY;
    struct script_checked checked;
    script_check_job(&command, &k->client->root, k->repair);
    for (size_t end = at + CHECK_PAGE; at < k->jobs.n && at < end; at++)
        command_text(&command, k->jobs.at[at].text);
    int err = check_run(k, &command, &checked);
    k->are_batches_doubtful |= err == MUSTER_OK && checked.n_finds > 0;
    return err;
}

static int check_jobs(struct check *k)
{
    return check_each(k, &k->jobs, CHECK_PAGE, check_some_jobs);
}

static void begin_dependents(struct check *k, struct command *command, const char *id)
{
    script_check_dependents(command, &k->client->root, k->repair, id, "dependents");
}

static void begin_followers(struct check *k, struct command *command, const char *id)
{
    script_check_dependents(command, &k->client->root, k->repair, id, "followers");
}

static int check_dependents_of(struct check *k, size_t at)
{
    int err = check_entries(k, KEY_DEPENDENTS, k->awaited.at[at].text, begin_dependents);
    return err == MUSTER_OK && !k->stop ? check_entries(k, KEY_FOLLOWERS, k->awaited.at[at].text, begin_followers)
                                        : err;
}

static int check_dependents(struct check *k)
{
    return check_each(k, &k->awaited, 1, check_dependents_of);
}

/* If a list has stray jobs, the counters of its queue are doubtful. */
static int check_index(struct check *k, size_t at)
{
    char which[16], *key = k->indexes.at[at].text;
    char *name = key + strcspn(key, ":");
    struct script_checked checked = {.next = 0};
    int err = MUSTER_OK;
    snprintf(which, sizeof which, "%.*s", (int)(name - key), key);
    name += *name == ':';
    while (err == MUSTER_OK && checked.next >= 0 && !k->stop) {
        struct command command = COMMAND_EMPTY;
        script_check_index(&command, &k->client->root, k->repair, which, name, checked.next);
        err = check_run_page(k, &command, &checked);
        if (err == MUSTER_OK && checked.n_finds > 0 && strcmp(which, "tag") != 0)
            names_doubt(&k->queues, name);
    }
    return err;
}

static int check_indexes(struct check *k)
{
    return check_each(k, &k->indexes, 1, check_index);
}

/* One that the batch around it does not list makes the counts of that look wrong: so all are asked for this first. */
static int check_parent(struct check *k, size_t at)
{
    struct command command = COMMAND_EMPTY;
    struct script_checked checked;
    script_check_batch(&command, &k->client->root, k->repair, k->batches.at[at].text, -1, SKIP_COUNTERS);
    int err = check_run(k, &command, &checked);
    k->are_batches_doubtful |= err == MUSTER_OK && checked.n_finds > 0;
    return err;
}

static int check_batch(struct check *k, size_t at)
{
    struct script_checked checked = {.next = 0};
    bool are_sound = k->repair == CHECK_AND_REPAIR || !k->are_batches_doubtful;
    int err = MUSTER_OK;
    while (err == MUSTER_OK && checked.next >= 0 && !k->stop) {
        struct command command = COMMAND_EMPTY;
        script_check_batch(&command, &k->client->root, k->repair, k->batches.at[at].text, checked.next,
                           are_sound ? CHECK_COUNTERS : SKIP_COUNTERS);
        err = check_run_page(k, &command, &checked);
    }
    return err;
}

static int check_batches(struct check *k)
{
    int err = check_each(k, &k->batches, 1, check_parent);
    return err == MUSTER_OK ? check_each(k, &k->batches, 1, check_batch) : err;
}

/* ---- tokens and queues ---- */

static int check_token(struct check *k)
{
    struct command command = COMMAND_EMPTY;
    struct script_checked checked;
    script_check_token(&command, &k->client->root, k->repair, k->highest_token);
    return check_run(k, &command, &checked);
}

static int check_leases(struct check *k, const char *queue)
{
    struct script_checked checked = {.next = 0};
    int err = MUSTER_OK;
    bool had_finds = false;
    while (err == MUSTER_OK && checked.next >= 0 && !k->stop) {
        struct command command = COMMAND_EMPTY;
        script_check_leases(&command, &k->client->root, k->repair, queue, checked.next, had_finds);
        err = check_run_page(k, &command, &checked);
        had_finds |= err == MUSTER_OK && checked.n_finds > 0;
    }
    return err;
}

static int check_idle(struct check *k, const char *queue)
{
    struct script_checked checked = {.next = 0};
    int err = MUSTER_OK;
    while (err == MUSTER_OK && checked.next >= 0 && !k->stop) {
        struct command command = COMMAND_EMPTY;
        script_check_idle(&command, &k->client->root, k->repair, queue, checked.next);
        err = check_run_page(k, &command, &checked);
    }
    return err;
}

static int check_queue(struct check *k, size_t at)
{
    const struct name *queue = &k->queues.at[at];
    struct command command = COMMAND_EMPTY;
    struct script_checked checked;
    int err = check_leases(k, queue->text);
    if (err == MUSTER_OK && !k->stop)
        err = check_idle(k, queue->text);
    if (err != MUSTER_OK || k->stop)
        return err;
    script_check_queue(&command, &k->client->root, k->repair, queue->text, counters_of(k, queue),
                       k->repair == CHECK_AND_REPAIR || !k->are_records_doubtful);
    return check_run(k, &command, &checked);
}

static int check_queues(struct check *k)
{
    return check_each(k, &k->queues, 1, check_queue);
}

/* ---- the layout ---- */

/* With a layout that nobody knows, all else would look like damage, or would be taken for sound. */
static int check_layout(struct check *k)
{
    char key[KEY_MAX], what[400];
    struct redisReply *reply;
    key_of(key, k->client->prefix, KEY_FORMAT, "");
    redis_expect_format(k->client->redis, REDIS_ANY_FORMAT);
    int err = client_ask(k->client, &reply, (const char *const[]){"TYPE", key, NULL});
    redis_expect_format(k->client->redis, REDIS_OWN_FORMAT);
    const char *type = reply_text(reply);
    if (err == MUSTER_OK && type && !reply_is(reply, "string") && !reply_is(reply, "none")) {
        snprintf(what, sizeof what,
                 "has the wrong type %.20s instead of string, so nothing else was looked at: " FORMAT_MENDING, type);
        k->fn(&(struct muster_damage){.key = key, .what = what}, k->arg);
        k->stop = true;
    }
    redis_reply_free(reply);
    return err;
}

/* The order matters. A layout that is not known ends the check. Jobs come before batches, whose counts they change, and before sets, which may hold what is left of a
 * job, and before marks, some of which go with a job. Sets come before holders, and before workers, whose counts they change. Workers and
 * lists of jobs come before queues. */
static int (*const steps[])(struct check *k) = {check_layout,  check_keys,       check_members, check_jobs,
                                                check_batches, check_dependents, check_sets,    check_marks,
                                                check_holders, check_workers,    check_back,    check_indexes,
                                                check_token,   check_settings,   check_queues};

int muster_client_check(struct muster_client *c, int repair, muster_damage_fn *fn, void *arg)
{
    struct check k = {.client = c, .repair = repair ? CHECK_AND_REPAIR : CHECK_ONLY, .fn = fn, .arg = arg};
    int err = MUSTER_OK;
    for (size_t i = 0; err == MUSTER_OK && i < sizeof steps / sizeof *steps && !k.stop; i++)
        err = steps[i](&k);
    struct name_list *const lists[] = {&k.keys,    &k.workers,  &k.queues, &k.sets, &k.homes,   &k.back,    &k.leased,
                                       &k.holders, &k.suspects, &k.marked, &k.jobs, &k.awaited, &k.indexes, &k.batches};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        name_list_clear(lists[i]);
    return err;
}
