/* SPDX-License-Identifier: MIT
 *
 * The names of takes, "<caller>:<number>", by which what a take took can be given back if its answer was not heard. Of a
 * caller only the last take can: so each take that is under way at the same time has a caller of its own.
 */
#ifndef TAKE_NAME_H
#define TAKE_NAME_H

#include <muster/client.h>
#include <stdbool.h>
#include <stdint.h>

#define TAKE_CALLER_LEN 16
/* With its NUL. */
#define TAKE_NAME_MAX (TAKE_CALLER_LEN + 1 + 20 + 1)

/* Whom does a message of the channel `_work` call? "muster", then a blank and the name of each caller whose turn it is; a
 * message without names, which may be anybody's, calls all. `caller` are TAKE_CALLER_LEN characters. */
enum take_called { TAKE_CALLS_OTHERS, TAKE_CALLS_ALL, TAKE_CALLS_THIS_ONE };
enum take_called take_name_called(struct muster_bytes message, const char *caller);

/* Names the caller's next take. `*n` counts its takes; from 0 on the caller is made, too. */
void take_name_next(char name[TAKE_NAME_MAX], uint64_t *n);

/* Tells the log that what a take took could not be given back, for now or for good. */
void take_name_say_left(const char *queue, bool is_tried_again, const char *why);

#endif
