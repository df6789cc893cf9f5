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
    struct async_taker *taker;           /* under whose name it goes; NULL: what that holds is being given back */
    int (*send)(struct async_unsent *u); /* what goes next in its place, as a kind's (async_call.h); NULL: the take */
    bool is_for_one;                     /* what came together was too much */
    bool lacks_memory;                   /* what goes back was too much for the memory */
    int n_rounds;                        /* so often it was */
    int n_calls;                         /* by which it goes back */
    struct size_suspect suspect;
    struct script_untaken back;
    char token[TOKEN_LEN + 1], words[SIZE_LIMIT_WORDS]; /* of what fails */
    uint64_t too_much;                                  /* for one of so many bytes there was no memory; 0: there was */
    struct async_taker *aside;                          /* hold what there was no memory for, one each; by next_aside */
    unsigned n_aside;
    char *said; /* of the first of these; NULL: there is none, or no memory for its words */
};

/* Its connection ended. True: it is asked again, or has its answer. */
bool async_unsent_is_taken_care_of(struct async_unsent *u);
/* It was answered, with so many, of which this is the first, and there is no memory for that. The same is done. */
void async_unsent_lacks_memory(struct async_unsent *u, size_t n, const struct script_leased_one *one);
/* What the next take asks for. */
void async_unsent_ask(const struct async_unsent *u, struct script_take_lease *what);
/* It was answered: whatever ended connections is out of the way. */
void async_unsent_heard(struct async_unsent *u);
/* This one came as its length alone. It fails, or is set aside; then the take is sent again. */
void async_unsent_pass_over(struct async_unsent *u, const struct script_leased_one *one);

/* Nothing was there. True: but for what there is no memory for, and the take has that for its answer. */
bool async_unsent_has_failed(struct async_unsent *u);
/* The take has its answer: what was set aside goes back. `is_told`: that says so; otherwise the log does. */
void async_unsent_give_aside_back(struct async_unsent *u, bool is_told);
void async_unsent_clear(struct async_unsent *u);

#endif
