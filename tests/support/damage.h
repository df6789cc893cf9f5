/* SPDX-License-Identifier: MIT
 *
 * Damage that is planted for a check to find: a case for each, and one for each key of a wrong type.
 */
#ifndef DAMAGE_H
#define DAMAGE_H

#include "scene.h"

/* What is planted, and at which keys that is found, in this order. */
struct damage {
    const char *plant, *keys;
};

/*
 * In which namespace damage is planted.
 *
 *   furnish    makes it
 *   inventory  what must not get lost, a line for each; to be freed
 *   may_go     a line of it that a repair may remove all the same, with its newline; NULL: none
 *   must_go    a line of it that a repair must remove if it is there; NULL: none
 *   also       NULL, or what else must hold afterwards
 */
struct damage_house {
    void (*furnish)(struct scene *s);
    char *(*inventory)(struct scene *s);
    const char *may_go;
    const char *must_go;
    void (*also)(struct scene *s);
};

/* A Lua script with P, the root; `call`; and member(id), how a job stands in the indexes. */
void damage_plant(struct scene *s, const char *lua);

/* The inventory is what it was. Frees both. */
void damage_assert_same(const struct damage_house *house, char *before, char *after);

/* `fn` is called while each key in turn, but the format's, has a wrong type; `restored` once it is back. */
void damage_each_key(struct scene *s, void (*fn)(struct scene *s, const char *key), void (*restored)(struct scene *s));

/*
 * Runs the cases, and one for each damage: it is found at its keys and at no other, looking changes nothing, a repair
 * puts it right and loses nothing, and afterwards nothing is amiss. Each has a name with its first key.
 */
int damage_run(const struct damage_house *house, const struct damage *damages, size_t n_damages,
               const struct CMUnitTest *cases, size_t n_cases, CMFixtureFunction tear_down, int argc, char **argv);

#endif
