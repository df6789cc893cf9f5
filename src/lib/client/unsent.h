/* SPDX-License-Identifier: MIT
 *
 * A take whose answer does not come: Redis does not send it for its size, or there is no memory for it here.
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
    uint64_t too_much;           /* for one of so many bytes there was no memory; 0: there was */
    bool was_passed_over;        /* one was too large, and is out of the way */
    char words[SIZE_LIMIT_LINE]; /* of the first that was set aside */
};

/* What the next take asks for. */
void unsent_ask(const struct muster_client *c, const struct unsent *u, struct script_take_lease *what);
/* It has an answer. */
void unsent_heard(struct muster_client *c);

/* The process came as its length alone. It fails; or it is set aside, if there is no memory for it. */
int unsent_pass_over(struct muster_client *c, struct unsent *u, const char *queue, const struct script_leased_one *one);
/* It came, and there is no memory for it. */
void unsent_set_aside(struct muster_client *c, struct unsent *u, const char *queue,
                      const struct script_leased_one *one);

/* Is it to be asked again, after a take that returned *err? If not, *err is what the call returns. */
bool unsent_asks_again(struct muster_client *c, struct unsent *u, int *err);
/* So many were set aside that no more are asked for. */
bool unsent_is_over(const struct muster_client *c);

/* The take is over, with this error, and has handed out so many: what was set aside goes back. What the call returns. */
int unsent_end(struct muster_client *c, const struct unsent *u, size_t n_given, int err);

#endif
