/* SPDX-License-Identifier: MIT
 *
 * What a listener hears, as lines: "ready q", "gap q E_CONN", "done q .lease task = result", "cancelled q task",
 * "deleted q", "job q put id". A queue NULL is "*"; bytes that do not print are shown as \xx.
 */
#ifndef HEARING_H
#define HEARING_H

#include <muster/listen.h>

#include "scene.h"

struct hearing {
    struct muster_listener *listener;
    char *lines; /* all so far, each ended by a line feed */
    size_t len, cap;
    size_t n;
    char last_text[256]; /* of the last GAP */
};

/* `url` NULL: the scene's server. `o` NULL: all defaults but the place. hearing_close() frees it. */
void hearing_open(struct hearing *h, struct scene *s, const char *url, int timeout_ms,
                  const struct muster_listener_options *o);
void hearing_close(struct hearing *h);

void hearing_add(struct hearing *h, const char *queue, int kinds);

/* Take what there is. Returns how much. */
size_t hearing_take(struct hearing *h);

/* Wait until this has been heard, so many times in all; the test fails if it is not, in this time. */
void hearing_await(struct hearing *h, const char *line, size_t times);
void hearing_await_within(struct hearing *h, const char *line, size_t times, int ms);
size_t hearing_count(const struct hearing *h, const char *line);

/* Exactly these lines have been heard since the last call, and nothing else. */
void hearing_assert(struct hearing *h, const char *lines);
/* Forget what was heard so far. */
void hearing_forget(struct hearing *h);

#endif
