/* SPDX-License-Identifier: MIT
 *
 * Two ways through one script, which must do the same: its text as it is, and a text that is changed so that it never
 * goes the straight way. Both are called in the same random states, with the clock stopped.
 */
#ifndef SCRIPT_WAYS_H
#define SCRIPT_WAYS_H

#include "protocol/lua_scripts.h"
#include "script_call.h"

/* The text with `from`, which must occur, replaced everywhere. Frees `text`; to be freed. */
char *ways_replaced(char *text, const char *from, const char *to);
/* The script's text with the clock stopped; to be freed. */
char *ways_clock_stopped(enum script_id id);

/*
 *   state   a script that makes the state; it gets the namespace's root as KEYS[1], and the seed
 *   argv    what follows the root in the call; `argc` of them
 *   is_full Redis is full during the call
 */
struct ways_call {
    const char *state;
    uint64_t seed;
    const char *argv[24];
    int argc;
    bool is_full;
};

/* All that the call shows: its answer, the messages, the keys. To be freed. */
char *ways_outcome(struct scene *s, struct acting_worker *ear, const char *script, const struct ways_call *call);
/* The ear hears what w1 and w2 are told, and who listens to the queue q. To be closed by redisFree(). */
void ways_open_ear(struct acting_worker *ear, struct scene *s);
/* Both outcomes are equal. Fails the test, with the seed, if they are not. */
void ways_compare(struct scene *s, struct acting_worker *ear, char *const ways[2], const struct ways_call *call);

#endif
