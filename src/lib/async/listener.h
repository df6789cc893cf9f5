/* SPDX-License-Identifier: MIT
 *
 * What the files of the listener share: its handle.
 *
 *   listener.c        making and freeing a listener, what is wished of it, its thread
 *   listener_links.c  its two connections: one hears, over the other the scripts are told that somebody listens:
 *   listener_tell.c   when, and what they know
 *   listener_hear.c   what a message says, and to whom
 *   listener_ear.c    what is listened to, and from when on nothing is missed
 *   listener_box.c    what was heard, on its way to the program
 */
#ifndef LISTENER_H
#define LISTENER_H

#include <muster/listen.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include "async/async_thread.h"
#include "async/listener_box.h"
#include "async/listener_ear.h"
#include "protocol/script.h"
#include "redis/lookout.h"
#include "redis/pair.h"

struct event;
struct event_base;

/* Something to be listened to from now on, or no more: kinds 0. */
struct listener_wish {
    struct listener_wish *next;
    int kinds;
    bool has_queue;
    char queue[];
};

struct muster_listener {
    /* Set once, and read by all threads. */
    uint64_t owner;
    char prefix[MUSTER_PREFIX_MAX + 1];
    struct script_root root;
    char root_key[KEY_MAX];
    int timeout_ms;
    pthread_t thread;
    bool has_thread;

    struct listener_box box;
    struct {
        pthread_mutex_t lock;
        struct listener_wish *first, **end;
        bool is_closing;
        int wake_fd;
        bool are_left; /* some for want of memory; the library's thread alone */
    } wishes;

    /* The library's thread alone. */
    struct event_base *base;
    struct event *waker, *ticker;
    struct link *hearing, *telling;
    struct pair pair;        /* both of them: are they at the same server? */
    struct lookout *lookout; /* NULL: no Sentinel names the master */
    int64_t pinged_ms;       /* when the hearing link was last asked for a sign of life */
    size_t n_telling;        /* scripts under way */
    bool is_claimed;         /* the namespace has its format, as the telling link has seen */
    struct listener_ears ears;
};

/* There is room again, or something is wished. Any thread. */
void listener_wake(struct muster_listener *l);

/* ---- listener_links.c ---- */

int listener_links_init(struct muster_listener *l, const struct url *url);
void listener_links_clear(struct muster_listener *l);

/* Subscribe, for this ear, to what it hears and did not hear before, and end what it hears no more. */
void listener_links_subscribe(struct muster_listener *l, struct listener_ear *ear, int kinds_before);
/* At the next chance: tell the scripts what they do not know. */
void listener_links_tell_soon(struct muster_listener *l);

/* ---- listener_tell.c ---- */

/* Tell the scripts what they do not know, or may forget soon. */
void listener_tell_due(struct muster_listener *l);
/* Who was told of too long ago to rely on it hears a gap. */
void listener_tell_stale(struct muster_listener *l);
/* Nobody is to be told of by this any more, or it counts no more: next time it begins anew. */
void listener_tell_forget(struct listener_told *told);

/* ---- listener_hear.c ---- */

void listener_hear(struct muster_listener *l, const char *channel, struct muster_bytes message);

#endif
