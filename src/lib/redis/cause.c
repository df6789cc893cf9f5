/* SPDX-License-Identifier: MIT
 *
 * Which of several reasons is told.
 */
#include "redis/cause.h"

void cause_note(struct cause *most, const struct cause *now, size_t places)
{
    if (most->err != 0 && now->rank < most->rank && ++most->age < places)
        return;
    *most = *now;
    most->age = 0;
}
