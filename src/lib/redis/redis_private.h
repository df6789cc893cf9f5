/* SPDX-License-Identifier: MIT
 *
 * What the files of the blocking connection share: its state, and what one of them asks of another.
 *
 *   redis.c          commands and their answers, waiting, failures
 *   redis_asked.c    commands without an answer; sending again what was not executed
 *   redis_connect.c  greeting, from place to place
 *   redis_reach.c    connecting to one server; why that failed
 *   redis_script.c   scripts
 *   redis_confirm.c  do replicas or disks have what was changed?
 *   redis_listen.c   the listener
 *   redis_role.c     is it still at a master?
 *   redis_master.c   a listener asks the sentinels where the master is
 */
#ifndef REDIS_PRIVATE_H
#define REDIS_PRIVATE_H

#include <stdbool.h>
#include <sys/types.h>

#include "redis/byte_limits.h"
#include "redis/cause.h"
#include "redis/interrupt.h"
#include "redis/master.h"
#include "redis/pair.h"
#include "redis/place.h"
#include "redis/redis.h"
#include "redis/resolver.h"
#include "redis/secret.h"
#include "redis/tls.h"
#include "redis/wire.h"

/* A connection remembers so many scripts that it has sent with their body. */
#define REDIS_KNOWN_MAX 4

struct redis {
    struct wire *wire; /* NULL: not connected */
    uint64_t owner;    /* the process that has made it */
    struct interrupt own;
    struct interrupt *interrupt; /* its own, or that of the connection for which it listens */
    struct redisContext *borrowed;
    bool stays_at_sentinel;
    struct url url;
    struct tls_context *tls; /* of the last connection */
    char *prefix;
    char *format_key;
    enum redis_format format;
    void (*selected)(void *arg, int db);
    void *arg;
    int timeout_ms;
    int patience_ms;                  /* for one answer */
    struct place place;               /* where it is connected, or goes next */
    struct asked *asked, **asked_end; /* commands whose answers were not read yet, in their order */
    size_t asked_bytes;               /* of them all */
    size_t n_together;                /* so many were under way at once before the first was answered */
    size_t look_room;                 /* so many looks may be under way at once over this connection; 0: any number */
    struct byte_limits answer_limits; /* may be why the last call, a look, ended */
    bool is_read_from;                /* answers to commands that were sent together with these were read */
    int64_t until_ms;                 /* they are sent again until then, if they are not executed */
    unsigned n_moves;                 /* how often MOVED was followed since this time began */
    bool is_once;                     /* what was refused is not sent again at all */
    bool is_in_order;                 /* what was refused is not sent again behind what was executed */
    int64_t greeted_by_ms;            /* a connection that is being made must be there; 0: none is */
    int64_t host_by_ms;               /* the same of all addresses of a host together */
    char *root_key;
    int64_t role_due_ms; /* when it is asked again whether it is a master */
    unsigned n_left;     /* connections that were left */
    bool is_greeted;
    bool is_format_known;
    const struct lua_script *known[REDIS_KNOWN_MAX]; /* scripts that went with their body; NULL after the last one */
    struct confirm confirm;
    bool can_fsync; /* the server has said so */
    int n_replicas; /* of the server, if some must confirm; -1: it does not say */
    struct redis_figures figures;
    size_t sent_bytes, received_bytes; /* of this connection, those that were counted */
    struct cause cause;                /* why it could not connect, while it tries */
    struct resolver resolver;
    uint64_t tried_since;      /* what has failed since then, was tried in this round of a host's addresses */
    char address[ADDRESS_MAX]; /* of the host, where it is connected or tries to be; "": there is none */
    size_t n_addresses;        /* of the host that was looked up last, beside this one */
    size_t n_untried;          /* of these, for this connection */
    char error[768];
    char wrong_key[400]; /* the last answer: which key had a wrong type; "": none */

    /* A listener's: */
    struct redis *listens_for; /* the connection that it belongs to; NULL: this is no listener */
    int64_t sign_due_ms;       /* when it asks for a sign of life or, having asked, gives up */
    bool has_asked;
    int64_t master_due_ms;  /* when it asks a sentinel where the master is; 0: never */
    struct redis *sentinel; /* which it asks; NULL: it has asked none yet */
    struct master master;
    char ear[EAR_MAX];    /* a channel that nobody else hears: is it at the same server? */
    int64_t ear_due_ms;   /* when it is asked who hears it */
    bool ear_waits;       /* for what nobody has heard where it was published */
    unsigned ear_asked;   /* over which connection it was */
    unsigned n_elsewhere; /* of the connection for which others listen: in a row, that were not at the same server */
};

/* ---- redis.c ---- */

/* Where it is connected to, for people. */
void redis_describe(const struct redis *r, char *out, size_t size);

/* Counts an error of a command or a script, and returns it. */
int redis_count(struct redis *r, int err);

/* Close the connection, and keep what was asked. A borrowed one on which something is still to come is of no use any
 * more. */
void redis_leave(struct redis *r);
/* Forget what was asked, too. */
void redis_drop(struct redis *r);

/* The connection has failed, or has given no answer in time (`why` may be "" then): tell it, and close it. Returns
 * err. */
int redis_break(struct redis *r, int err, const char *why);

/* Wait until the wire can read or write, and let it; at most until clock_ms() is `until_ms`. An interrupt ends it, too.
 * False: nothing came. */
bool redis_wait(struct redis *r, int64_t until_ms);

/* Call this before each wait: after an interrupt nobody waits. MUSTER_OK, or E_INTERRUPTED in words; then the interrupt
 * has had its effect. */
int redis_check_interrupt(struct redis *r);

/* From now on there is the whole timeout again, and what ended before is forgotten. */
void redis_begin_time(struct redis *r);

/* Send on a sound connection, without waiting. */
int redis_send(struct redis *r, struct command *c);

/* The next answer, whatever it says; it is waited for. */
int redis_answer(struct redis *r, struct redisReply **reply);

/* ---- redis_asked.c ---- */

void redis_asked_init(struct redis *r);
void redis_asked_clear(struct redis *r);
/* Something was said that has one answer. */
int redis_asked_add(struct redis *r, bool is_look);
/* Has the next look to wait until others have their answers? Then it is said later. */
bool redis_asked_is_full(const struct redis *r);
/* What is said later is said now. MUSTER_OK, or that no answers came. */
int redis_asked_catch_up(struct redis *r);
/* What a call has left unread, because it ended early, is read and dropped: no other call may take it for its own.
 * MUSTER_OK, or E_INTERRUPTED. */
int redis_asked_finish(struct redis *r);
/* The answer to the first of them, which is forgotten. If Redis has not executed it, for a reason that passes, it is
 * sent again until the time is over. */
int redis_asked_read(struct redis *r, struct redisReply **reply);

/* ---- redis_master.c ---- */

/* Is the master still where a listener and its connection are? E_CONN: it is not, as a sentinel says; the listener is
 * broken, and its connection goes where the sentinel says. E_INTERRUPTED. */
int redis_look_for_master(struct redis *listener);
/* A listener has just connected: its connection goes where a sentinel has sent the listener. */
void redis_follow_listener(struct redis *listener);

/* ---- redis_reach.c ---- */

/* Connect to the place that is next, without a greeting, by `host_by_ms`. Of a host's addresses the next one that was not
 * tried yet for this connection, which has its share of that time, with its greeting. */
int redis_reach(struct redis *r);
/* One more attempt has failed, as the error says, at r->address if it is that of a name. */
void redis_note_cause(struct redis *r, int err, enum cause_rank rank);
/* How many places it knows: the URL's, those of the cluster, and the addresses of a host. */
size_t redis_n_places(const struct redis *r);

/* ---- redis_role.c ---- */

/* Before a call over a connection that there is, now and then: if the server is no master any more, or has closed the
 * connection, there is none afterwards. E_TIMEOUT, E_INTERRUPTED: nothing was sent. */
int redis_look_at_role(struct redis *r);

/* ---- redis_connect.c ---- */

/* Is there a connection? The owner of a borrowed one may have made a new one since. */
bool redis_is_connected(const struct redis *r);

/* MUSTER_OK; or E_STATE in words, in a child of fork(): what is unsent or unheard is the parent's. Call this before
 * anything is written or read. */
int redis_check_owner(struct redis *r);

/* Connect and greet, if it is not connected. Where there are several places, or the server refuses for a reason that
 * passes, it tries until `until_ms`. */
int redis_connect(struct redis *r);

/* A short time, before something is tried again; an interrupt ends it. False: there is none left. */
bool redis_pause(struct redis *r);

#endif
