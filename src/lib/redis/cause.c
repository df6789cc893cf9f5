/* SPDX-License-Identifier: MIT
 *
 * Which of several reasons is told, and which is the last.
 */
#include "redis/cause.h"

#include <muster/error.h>

bool cause_is_of_one_place(int err)
{
    return err == MUSTER_E_CONN || err == MUSTER_E_TIMEOUT || err == MUSTER_E_BUSY || err == MUSTER_E_DENIED ||
           err == MUSTER_E_REDIS;
}

/* It is up, and somebody has to mend what it says. */
static bool is_refusal(int err)
{
    return err == MUSTER_E_DENIED || err == MUSTER_E_REDIS;
}

static size_t refusals_with(const struct cause *most, const struct cause *now, size_t places)
{
    const bool leads_there = is_refusal(most->err) && most->is_named && !now->is_named;
    const bool is_nobody =
        now->rank == CAUSE_NOBODY && (leads_there || (now->addresses > 0 && now->addresses == places));
    if (is_refusal(now->err) && now->is_reached)
        return places;
    return is_refusal(now->err) || is_nobody ? most->refusals + 1 : 0;
}

void cause_note(struct cause *most, const struct cause *now, size_t places)
{
    const size_t refusals = refusals_with(most, now, places);
    bool is_kept = most->err != 0 && now->rank < most->rank && ++most->age < places;
    if (!is_kept) {
        *most = *now;
        most->age = 0;
    }
    most->refusals = refusals;
}

bool cause_is_final(const struct cause *most, size_t places)
{
    if (is_refusal(most->err))
        return most->refusals >= places;
    return most->err != MUSTER_OK && most->err != MUSTER_E_NOMEM && !cause_is_of_one_place(most->err);
}
