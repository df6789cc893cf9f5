/* SPDX-License-Identifier: MIT
 *
 * Takes whose answer Redis does not send for its size.
 */
#ifndef UNSENT_H
#define UNSENT_H

#include <stdbool.h>

#include "client/client.h"
#include "protocol/script_task.h"
#include "protocol/size_limit.h"

/* Of one call of the program. Begin with 0. */
struct unsent {
    int n_rounds;
    struct size_suspect suspect;
    bool has_failed; /* one was too large, and has failed */
};

/* What the next take asks for. */
void unsent_ask(const struct muster_client *c, const struct unsent *u, struct script_take_lease *what);
/* It has an answer. */
void unsent_heard(struct muster_client *c);

/* The process has so many bytes, and they do not come. It fails. */
int unsent_fail(struct muster_client *c, struct unsent *u, const char *process, enum size_limit_thing thing,
                uint64_t n_bytes);

/* Is it to be asked again, after a take that returned *err? If not, *err is what the call returns. */
bool unsent_asks_again(struct muster_client *c, struct unsent *u, int *err);

#endif
