/* SPDX-License-Identifier: MIT
 *
 * The names of takes, "<caller>:<number>", by which what a take took can be given back if its answer was not heard. Of a
 * caller only the last take can: so each take that is under way at the same time has a caller of its own.
 */
#ifndef TAKE_NAME_H
#define TAKE_NAME_H

#include <stdint.h>

#define TAKE_CALLER_LEN 16
/* With its NUL. */
#define TAKE_NAME_MAX (TAKE_CALLER_LEN + 1 + 20 + 1)

/* Names the caller's next take. `*n` counts its takes; from 0 on the caller is made, too. */
void take_name_next(char name[TAKE_NAME_MAX], uint64_t *n);

#endif
