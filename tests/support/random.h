/* SPDX-License-Identifier: MIT
 *
 * Random numbers that a seed decides: the same seed gives the same numbers on every machine, in every process.
 */
#ifndef RANDOM_H
#define RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct random {
    uint64_t state;
};

struct random random_from(uint64_t seed);
uint64_t random_next(struct random *r);

/* From 0 up to, but without, n. */
size_t random_below(struct random *r, size_t n);
bool random_chance(struct random *r, unsigned percent);

/* MUSTER_TEST_SEED, or what is given. */
uint64_t random_seed(uint64_t otherwise);

#endif
