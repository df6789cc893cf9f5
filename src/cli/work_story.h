/* SPDX-License-Identifier: MIT
 *
 * What `muster work` tells of the worker's events: in which words, at which level, and which of them are news.
 */
#ifndef CLI_WORK_STORY_H
#define CLI_WORK_STORY_H

#include "work_log.h"

struct status;

/* What was told already, of an outage above all: one message for each reason is enough. */
struct work_story {
    struct work_log log;
    struct status *status;    /* is told what keeps the worker from Redis; NULL: there is none */
    void (*on_started)(void); /* called when the worker has registered for the first time */
    bool was_started, is_down;
    int down_err;
    int64_t said_at_ms;
    char said[200];
};

/* Tell where the status is served. */
void work_story_status(struct work_story *s, struct muster_worker *w);

/* The callbacks of a worker whose `arg` is the story. */
void work_story_event(struct muster_worker *w, const struct muster_event *e, void *arg);
void work_story_end(struct muster_worker *w, const struct muster_end *end, void *arg);

#endif
