/* SPDX-License-Identifier: MIT
 *
 * The looks of `muster top` at Redis, and its actions: by a thread of their own with a client of its own, one at a time,
 * so that no key waits for Redis.
 */
#ifndef CLI_TOP_LOOK_H
#define CLI_TOP_LOOK_H

#include "command.h"
#include "top_views.h"

struct top_look;

/* What one look has seen. Whoever takes it frees it. */
struct top_sight {
    enum top_view_id view;
    char *queue;           /* only processes of this one; NULL: all */
    struct top_list *list; /* NULL: the look failed */
    char *trouble;         /* why it failed, in the words of the command; NULL: it did not */
    char *note;            /* what the library has warned of since the last one that did not fail; NULL: nothing */
    int64_t took_ms, at_ms, note_at_ms;
};
void top_look_clear(struct top_sight *s);

/* What can be done to one thing. */
enum top_action { TOP_PAUSE, TOP_RESUME, TOP_CANCEL };

/* Start the thread. The client is its own from now on. A look begins `interval_ms` after the last one has ended. */
struct top_look *top_look_start(const struct call *call, struct muster_client *client, int64_t interval_ms);

/* Look at this from now on, and at once. */
void top_look_at(struct top_look *l, enum top_view_id view, const char *queue);

/* Do this as soon as the look under way has ended, then look. Returns false if another action is not done yet. */
bool top_look_act(struct top_look *l, enum top_action action, const char *name);

/* Becomes readable when there is something to take. */
int top_look_fd(const struct top_look *l);

/* The newest sight; false if there is none since the last call. */
bool top_look_take(struct top_look *l, struct top_sight *out);

/* What came of an action, in words, to be freed; NULL: none has ended. */
char *top_look_take_said(struct top_look *l);

/* Is an action not done yet? */
bool top_look_is_acting(struct top_look *l);

/* End the thread, and free all; an action that is not done yet is done first. `*said` is what top_look_take_said() would
 * return. Returns false if a look waits for Redis: then the thread goes on, and nothing was freed. */
bool top_look_end(struct top_look *l, char **said);

#endif
