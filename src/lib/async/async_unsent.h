/* SPDX-License-Identifier: MIT
 *
 * A process that Redis does not send for its size.
 */
#ifndef ASYNC_UNSENT_H
#define ASYNC_UNSENT_H

#include "protocol/script_task.h"

struct async_call;

/* It fails; then the take that met it is sent again. */
void async_unsent_fail(struct async_call *take, const char *queue, const struct script_leased_one *one);

#endif
