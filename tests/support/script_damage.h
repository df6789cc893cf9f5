/* SPDX-License-Identifier: MIT
 *
 * Calls of scripts in a namespace in which one key is damaged: which damages there are for a call, and what became of
 * it. A call is tried with those keys alone that it touches, and with those fields; MONITOR tells them.
 */
#ifndef SCRIPT_DAMAGE_H
#define SCRIPT_DAMAGE_H

#include "script_rows.h"

#define SCRIPT_DAMAGES 12000

/*
 * One damage. `key` is without the prefix.
 *
 *   field  of this hash; "" for the value of a string; NULL: the key gets a wrong type
 *   value  a type, or nonsense; NULL: the field is missing
 */
struct script_damage {
    const char *key, *field, *value;
};

struct script_damages {
    struct script_damage at[SCRIPT_DAMAGES];
    size_t n, n_names;
    char *names[SCRIPT_DAMAGES];
};

/* All damages for a call in a world that is kept. `every`: each type of each key, each nonsense in each field;
 * otherwise one type of each key, and one nonsense in a part of the fields, others in each `turn`. */
void script_damages_find(struct script_damages *d, const struct script_row *row, struct script_world *world, bool every,
                         size_t turn);
void script_damages_clear(struct script_damages *d);

/*
 * What a call in a damaged world did.
 *
 *   refusal      the error that it raised, or the key that it names; "" if it went on
 *   is_raised    it is an error
 *   has_changed  anything at all
 *   lost         so many tasks and jobs fewer
 *   is_over      the damaged key is gone, or has another type by now
 */
struct script_outcome {
    char refusal[160];
    bool is_raised, has_changed, is_over;
    int lost;
};

typedef void script_outcome_fn(const struct script_damage *damage, const struct script_row *row,
                               const struct script_outcome *out, void *arg);

/* Tries the call with each of them, and tells what became of it. Many are sent at once. */
void script_damages_try(const struct script_damages *d, const struct script_row *row, struct script_world *world,
                        script_outcome_fn *fn, void *arg);

#endif
