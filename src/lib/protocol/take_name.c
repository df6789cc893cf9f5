/* SPDX-License-Identifier: MIT
 *
 * Makes the names of takes.
 */
#include "protocol/take_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

void take_name_next(char name[TAKE_NAME_MAX], uint64_t *n)
{
    if (*n == 0)
        snprintf(name, TAKE_NAME_MAX, "%08x%08x", arc4random(), arc4random());
    snprintf(name + TAKE_CALLER_LEN, TAKE_NAME_MAX - TAKE_CALLER_LEN, ":%" PRIu64, ++*n);
}
