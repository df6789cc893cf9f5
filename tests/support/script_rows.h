/* SPDX-License-Identifier: MIT
 *
 * At least one call of every script in a script world (script_world.h), and what is promised of it. A script that is
 * missing here fails live/test_scripts_refuse.
 */
#ifndef SCRIPT_ROWS_H
#define SCRIPT_ROWS_H

#include "script_world.h"

#define SCRIPT_ROW_ARGS 24

/*
 *   args      as the script takes them, without those at the end that are not needed; those that begin with '@' stand
 *             for what the world knows. Of `turn` only its ends
 *   vanish    at most this many tasks may be gone after it
 *   adds      a full Redis refuses it
 *   is_bare   not tried with P:token and P:beat damaged: a namespace without them stands still, and these scripts find
 *             out too late to refuse whole
 *   prepare   what the world needs besides
 */
struct script_row {
    const char *name;
    enum script_id id;
    const char *args[SCRIPT_ROW_ARGS];
    int vanish;
    bool adds, is_bare;
    void (*prepare)(struct script_world *world);
};

extern const struct script_row script_rows[];
extern const size_t n_script_rows;

/* A world that is ready for this row, and kept. `is_fair`: its queue is. */
void script_row_set_up(const struct script_row *row, struct script_world *world, struct scene *s, bool is_fair);

/* The answer is to be freed. */
redisReply *script_row_call(const struct script_row *row, struct script_world *world);
/* As script_call_append(). */
void script_row_append(const struct script_row *row, struct script_world *world);

#endif
