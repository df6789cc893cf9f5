/* SPDX-License-Identifier: MIT
 *
 * What `muster work` tells of the worker's events: in which words, at which level, and which of them are news.
 */
#ifndef CLI_WORK_STORY_H
#define CLI_WORK_STORY_H

#include "work_log.h"

/* What was told already, of an outage above all: one message for each reason is enough. */
struct work_story {
    struct work_log log;
    void (*on_started)(void); /* called when the worker has registered for the first time */
    bool was_started, is_down;
    int down_err;
    int64_t said_at_ms;
    char said[200];
};

/* The callbacks of a worker whose `arg` is the story. */
void work_story_event(struct muster_worker *w, const struct muster_event *e, void *arg);
void work_story_end(struct muster_worker *w, const struct muster_end *end, void *arg);

#endif
