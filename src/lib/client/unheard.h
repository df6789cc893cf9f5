/* SPDX-License-Identifier: MIT
 *
 * What a client holds and its program has not got: takes whose answer was not heard, and what there is no memory for.
 */
#ifndef UNHEARD_H
#define UNHEARD_H

#include <muster/client.h>
#include <stdint.h>

#include "protocol/script_task.h"
#include "protocol/size_limit.h"
#include "protocol/take_name.h"

#define UNHEARD_CALLER_LEN TAKE_CALLER_LEN

struct unheard {
    char call[TAKE_NAME_MAX];         /* the last call's name; "": there was none */
    uint64_t n;                       /* calls so far */
    char queue[MUSTER_QUEUE_MAX + 1]; /* of the call whose answer was not heard; "": all were */
    struct {
        char queue[MUSTER_QUEUE_MAX + 1];
        size_t n;
        uint64_t
            tokens[SIZE_LIMIT_ASIDE_MAX + MUSTER_LEASE_TAKE_MAX]; /* the last answer may have brought so many more */
    } aside; /* processes for which there was no memory, of one take */
};

/* Names the next call. */
const char *unheard_name(struct muster_client *c);

/* UNHEARD_CALLER_LEN characters: who calls, once a call has been named. */
const char *unheard_caller(const struct muster_client *c);

/* What the call returned that has the last name. */
void unheard_note(struct muster_client *c, const char *queue, int err);

/* If the last call was not heard, give back what it took, or will take; `back` says how much that was. On an error that may
 * still be done later. */
int unheard_give_back_call(struct muster_client *c, struct script_untaken *back);

/* There is no memory for this process. It goes back when the take is over, which goes on behind it. */
void unheard_set_aside(struct muster_client *c, const char *queue, uint64_t token);
/* They go back now. On an error that may still be done later. */
int unheard_give_back_aside(struct muster_client *c);

/* Both. */
int unheard_give_back(struct muster_client *c);

/* The same before the client is freed: if it cannot be done, the log says so, and the lease's end does it. */
void unheard_end(struct muster_client *c);

/* The call's at once, if Redis is soon there, for what has as many bytes as a heavy call (link.h). `back`: what went; 0: it
 * was not that much. */
int unheard_give_back_large(struct muster_client *c, struct script_untaken *back);

/* Both after an interrupt: if Redis does not answer soon, it is left for later. The client's error says which; `n_given`:
 * so many had been handed out before. */
void unheard_give_back_soon(struct muster_client *c, size_t n_given);

#endif
