/* SPDX-License-Identifier: MIT
 *
 * Random numbers that a seed decides: a counter that is scrambled.
 */
#include <stdlib.h>

#include "random.h"

struct random random_from(uint64_t seed)
{
    return (struct random){seed * 0x9e3779b97f4a7c15u + 1};
}

uint64_t random_next(struct random *r)
{
    uint64_t x = r->state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

size_t random_below(struct random *r, size_t n)
{
    return (size_t)(random_next(r) % n);
}

bool random_chance(struct random *r, unsigned percent)
{
    return random_below(r, 100) < percent;
}

uint64_t random_seed(uint64_t otherwise)
{
    const char *text = getenv("MUSTER_TEST_SEED");
    return text ? strtoull(text, NULL, 10) : otherwise;
}
