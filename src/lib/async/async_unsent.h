/* SPDX-License-Identifier: MIT
 *
 * A take whose answer Redis does not send for its size, or for which there is no memory.
 */
#ifndef ASYNC_UNSENT_H
#define ASYNC_UNSENT_H

#include "protocol/size_limit.h"
#include "protocol/token.h"

struct async_call;
struct async_taker;

/* Of a take. Begin with 0, the take, and its taker. */
struct async_unsent {
    struct async_call *take;
    struct async_taker *taker;
    int (*send)(struct async_unsent *u); /* what goes next in its place, as a kind's (async_call.h); NULL: the take */
    bool is_for_one;                     /* a connection ended while it alone was under way */
    int n_rounds;                        /* so many did */
    int n_calls;                         /* by which it goes back */
    struct size_suspect suspect;
    struct script_untaken back;
    char token[TOKEN_LEN + 1], words[SIZE_LIMIT_WORDS]; /* of what fails */
};

/* Its connection ended. True: it is asked again, or has its answer. */
bool async_unsent_is_taken_care_of(struct async_unsent *u);
/* It was answered, and there is no memory for that. The same is done. */
void async_unsent_lacks_memory(struct async_unsent *u);
/* What the next take asks for. */
void async_unsent_ask(const struct async_unsent *u, struct script_take_lease *what);
/* It was answered: whatever ended connections is out of the way. */
void async_unsent_heard(struct async_unsent *u);
/* This one came as its length alone. It fails; then the take is sent again. */
void async_unsent_fail(struct async_unsent *u, const struct script_leased_one *one);

#endif
