/* SPDX-License-Identifier: MIT
 *
 * A call, from when it is made until its answer is handed out.
 */
#ifndef ASYNC_CALL_H
#define ASYNC_CALL_H

#include <muster/async.h>
#include <stdbool.h>

struct async_call;

/*
 * What a call does.
 *   writes  something, so the namespace must have a format first
 *   adds    something, which replicas or disks may have to confirm
 *   send    sends it, the first of those that wait, and takes it off their list (async_line.h); MUSTER_OK, or an error:
 *           then it is off the list, and nothing was sent
 *   is_own  it is the client's own: nobody is told, and it is sent until it is answered
 *   refused of such a one: Redis refuses it, or it cannot be sent, with words, and it is on no list; it goes later, or that
 *           was its end
 *   failed  its answer is an error, or nobody waits for it any more, on the library's thread; NULL: that means nothing
 *   tell    puts what the call has brought into its answer; NULL: nothing
 *   handed  its answer is handed out, on the thread that takes it; NULL: that means nothing
 *   clear   frees what it has of its own; NULL: nothing
 */
struct async_kind {
    bool writes, adds, is_own;
    int (*send)(struct async_call *call);
    void (*refused)(struct async_call *call, int err, const char *why);
    void (*failed)(struct async_call *call);
    void (*tell)(const struct async_call *call, struct muster_answer *answer);
    void (*handed)(struct async_call *call);
    void (*clear)(struct async_call *call);
};

/* What a kind needs more begins with a call, as struct async_call of an enqueue does with its bytes. */
struct async_call {
    struct async_call *next;
    const struct async_kind *kind;
    struct muster_async *async;
    muster_async_fn *fn;
    void *arg;
    int64_t made_ms;
    size_t weight; /* bytes, against max_bytes */
    size_t n_run;  /* of the first one of what was sent together: how many */
    bool is_alone; /* it may end its connection: nothing else is under way with it */

    /* The answer. */
    int err;
    uint64_t waiting;
    char *text; /* NULL: the error's own words */
};

/* A list of them, in their order. */
struct async_list {
    struct async_call *first, **end;
};
void async_list_init(struct async_list *list);
void async_list_add(struct async_list *list, struct async_call *call);
/* Moves all of `from` to the end, or to the front. */
void async_list_append(struct async_list *list, struct async_list *from);
void async_list_prepend(struct async_list *list, struct async_list *from);
/* Takes the first n off, into an empty list. */
void async_list_cut(struct async_list *list, size_t n, struct async_list *out);
/* NULL: it is empty. */
struct async_call *async_list_pop(struct async_list *list);

/* `size` is that of the kind's struct and what follows it. NULL: no memory. */
void *async_call_new(struct muster_async *a, const struct async_kind *kind, size_t size, muster_async_fn *fn,
                     void *arg);
void async_call_free(struct async_call *call);

/* The answer is an error, with words, if there is memory for them; NULL: its own. */
void async_call_fail(struct async_call *call, int err, const char *words);

/* Writes the answer, which borrows from the call. */
void async_call_tell(const struct async_call *call, struct muster_answer *out);

#endif
