/* SPDX-License-Identifier: MIT
 *
 * The connection, what is to be sent over it, and what becomes of it. The library's thread alone.
 */
#ifndef ASYNC_LINE_H
#define ASYNC_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "async/async_call.h"
#include "redis/confirm.h"
#include "redis/link.h"

struct event;
struct redisReply;
struct client_options;

/* Has the namespace a format, so that something may be written? On each connection it is found out anew. Put off: it was
 * refused for a reason that passes. */
enum async_claim { ASYNC_UNCLAIMED, ASYNC_CLAIMING, ASYNC_PUT_OFF, ASYNC_CLAIMED };

struct async_line {
    struct link *link;
    struct async_list waiting;  /* to be sent, in their order */
    struct async_list again;    /* were refused for a reason that passes; nothing else is sent before them */
    struct async_list later;    /* the client's own that were refused: sent in a while, or over another connection */
    struct async_list broken;   /* were sent, and have no answer; what went wrong is told as soon as it is known */
    struct async_list added;    /* were answered, and are to be confirmed */
    struct async_list answered; /* in this turn of the loop */
    size_t n_answered;
    size_t n_sent, sent_bytes; /* under way: scripts and commands, and their tasks' bytes */
    bool is_alone;             /* what is under way goes alone */
    size_t n_own;              /* calls of the client's own, without an answer */
    size_t n_unasked;          /* additions for whose confirmation nobody has asked */
    bool is_asking;            /* such a question is under way */
    enum async_claim claim;
    struct confirm confirm;
    int64_t down_since_ms;       /* since when nothing was executed, because of the connection; 0: something was */
    bool was_up;                 /* since it was down last */
    int64_t refused_since_ms[2]; /* since when all that reads, and all that writes, is refused; 0: it is not */
    int64_t role_due_ms;         /* when it is asked again whether it is a master */
    bool is_looking;             /* it is being asked; nothing is sent meanwhile */
    bool is_closing;             /* nothing but the client's own calls is sent */
    struct event *turn_end;      /* sends, and hands over the answers */
    struct event *pauser;        /* before what was refused is sent again */
    struct event *returner;      /* before those of `later` are sent */
    struct event *expirer;       /* calls that wait for a connection */
    struct event *closer;        /* it is closed now, whatever is still to be said */
};

/* ---- async_line.c ---- */

int async_line_init(struct muster_async *a, const struct client_options *o);
/* All calls that it has are freed. */
void async_line_clear(struct muster_async *a);

/* More calls are to be sent. */
void async_line_add(struct muster_async *a, struct async_list *calls);
/* This one goes before all others. Of what is closing, none but its own goes: it is freed. */
void async_line_add_first(struct muster_async *a, struct async_call *call);
/* The same for one of the client's own, in a while: until then others are sent. */
void async_line_add_later(struct muster_async *a, struct async_call *call);
/* Ends the loop, as soon as the client's own calls are answered. For them it makes a connection that breaks once more; but
 * it does not wait for one that cannot be made. */
void async_line_close(struct muster_async *a);
void async_line_close_if_done(struct muster_async *a);

/* At the end of this turn of the loop: go on sending, and hand over what is answered. */
void async_line_go_on(struct muster_async *a);

/* ---- async_format.c ---- */
/* Before the first call that writes; such calls wait until it is answered. */
void async_format_claim(struct muster_async *a);

/* ---- async_role.c ---- */
/* Ask whether the server is a master still; nothing is sent until it has answered. */
void async_role_look(struct muster_async *a);

/* ---- async_hear.c ---- */

/* Its connection ended; it comes again, before all that waits now. */
void async_hear_unsent(struct async_call *call);

/* It is sent, with so many bytes. */
void async_hear_sent(struct async_call *call, size_t bytes);

/* Its connection ended, and it has had its last try: its answer is an error. */
void async_hear_given_up(struct async_call *call, int err, const char *words);

/* Call this first with each reply; `call` is the first of its run. False: it has no answer yet, and is taken care of: it
 * is sent again, or is told when it is known why the connection broke. */
bool async_hear_reply(struct async_call *call, size_t bytes, const struct redisReply *reply);

/* What it needs was refused like this: for a reason that passes, and does it still have time? Then it waits for a pause. */
bool async_hear_is_put_off(const struct async_call *call, const struct redisReply *reply);
void async_hear_pause(struct muster_async *a);

/* Its answer is as it stands in the call: it goes to the program or, if it was added and must be confirmed, when it
 * is. */
void async_hear_done(struct async_call *call);
/* Its answer is an error. NULL: its own words. */
void async_hear_failed(struct async_call *call, int err, const char *words);
/* The same for an error that Redis or a script has answered. */
void async_hear_refused(struct async_call *call, int err, const struct redisReply *reply);

/* The end of a call of the client's own. */
void async_hear_own_done(struct async_call *call);

/* All of the list. */
void async_hear_fail_all(struct async_list *calls, int err, const char *words);

/* Ask for the confirmation of what was sent. */
void async_hear_ask(struct muster_async *a);

/* The connection broke. */
void async_hear_down(struct muster_async *a, int err, const char *words);

#endif
