/* SPDX-License-Identifier: MIT
 *
 * Looks whether a queue or worker is known.
 */
#include "known.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "complain.h"
#include "need.h"
#include "similar.h"

/* ---- a name that resembles another one ---- */

#define NAMES_MAX 1000 /* more cost Redis too much for a word of help */

struct names {
    const char **names;
    size_t n;
};

static int note_name(const struct muster_queue_info *queue, void *arg)
{
    struct names *found = arg;
    found->names[found->n++] = need(strdup(queue->name));
    return found->n == NAMES_MAX;
}

/* "; did you mean 'mail'?", or "". To be freed. */
static char *guess(struct muster_client *client, const char *queue)
{
    struct names found = {.names = need(calloc(NAMES_MAX, sizeof *found.names))};
    char *text = NULL;
    const char *meant =
        muster_queue_list(client, note_name, &found) == MUSTER_OK ? similar_find(queue, found.names, found.n) : NULL;
    if (asprintf(&text, "%s%s%s", meant ? "; did you mean '" : "", meant ? meant : "", meant ? "'?" : "") < 0)
        need(NULL);
    while (found.n > 0)
        free((void *)found.names[--found.n]);
    free(found.names);
    return text;
}

/* ---- queues and workers ---- */

static void refuse(const struct call *call, struct muster_client *client, const char *queue, const char *words,
                   const char *error)
{
    char *meant = guess(client, queue);
    complain_refusal(call, error, "there is no queue '%s'%s%s", queue, words, meant);
    free(meant);
}

static int look(const struct call *call, struct muster_client *client, const char *queue, const char *words,
                const char *error)
{
    struct muster_queue_info info;
    int err = muster_queue_get(client, queue, &info);
    if (err == MUSTER_E_NOT_FOUND && error)
        refuse(call, client, queue, words, error);
    else if (err == MUSTER_E_NOT_FOUND)
        complain(call, "there is no queue '%s'%s", queue, words);
    return err == MUSTER_E_REDIS ? MUSTER_OK : err;
}

int known_look(const struct call *call, struct muster_client *client, const char *queue, const char *words)
{
    return look(call, client, queue, words, NULL);
}

int known_need(const struct call *call, struct muster_client *client, const char *queue, const char *words)
{
    return look(call, client, queue, words, muster_err_name(MUSTER_E_NOT_FOUND));
}

bool known_is_missing(struct muster_client *client, const char *queue)
{
    struct muster_queue_info info;
    return muster_queue_get(client, queue, &info) == MUSTER_E_NOT_FOUND;
}

static int exit_of(const struct call *call, struct muster_client *client, int err)
{
    return err == MUSTER_E_NOT_FOUND ? EXIT_NOT_FOUND : complain_error(call, err, muster_client_error(client));
}

int known_exit(const struct call *call, struct muster_client *client, const char *queue)
{
    return exit_of(call, client, known_need(call, client, queue, ""));
}

struct search {
    const char *worker;
    bool is_there;
};

static int compare_worker(const struct muster_worker_info *info, void *arg)
{
    struct search *search = arg;
    search->is_there = strcmp(info->id, search->worker) == 0;
    return search->is_there;
}

int known_exit_worker(const struct call *call, struct muster_client *client, const char *worker)
{
    struct search search = {.worker = worker};
    int err = muster_worker_list(client, compare_worker, &search);
    if (err == MUSTER_OK && !search.is_there) {
        err = MUSTER_E_NOT_FOUND;
        complain_refusal(call, muster_err_name(err), "there is no worker '%s'", worker);
    }
    return exit_of(call, client, err);
}
