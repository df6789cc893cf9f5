/* SPDX-License-Identifier: MIT
 *
 * The heartbeat, the fence and the heartbeat's count: see heartbeat.c and fence.c.
 */
#ifndef HEARTBEAT_H
#define HEARTBEAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "worker/registration.h"

struct event;
struct muster_worker;
struct redisReply;

/* Both the answer to a heartbeat and its echo are needed for the count. */
struct echo_wait {
    bool waits;           /* for the echo of the last confirmed heartbeat */
    uint64_t token;       /* the last token, by the answer */
    uint64_t held;        /* how many processes Redis says the worker holds, by the answer */
    uint64_t ended_since; /* processes up to `token` whose end was confirmed after the answer */
    int64_t since_ms;     /* when that was answered, or an earlier one whose echo did not come either */
};

struct heartbeat {
    struct event *timer;   /* the next heartbeat, or the next attempt after a refusal */
    int64_t due_us;        /* when the timer should come */
    int64_t interval_ms;   /* heartbeat_set_interval() */
    int64_t sent_ms;       /* when the last one was sent, or the last registration: registration.c */
    bool in_flight;        /* a heartbeat of either kind */
    struct life life;      /* of that one, if it goes by script: it may be answered in another life */
    uint64_t count;        /* heartbeats so far */
    unsigned subscription; /* the pair's, when it was sent */
    bool must_ask_again;   /* at once: the subscription is another one by now */
    bool is_tenth;         /* the one in flight goes by script, and notes the queues' names */
    struct echo_wait echo;
    uint64_t echo_token; /* the highest token that an echo has named */
};

/* sweep.c */
struct sweeps {
    uint64_t from;   /* the place in the registry from which the next heartbeat looks for dead workers */
    uint64_t n_past; /* workers past their end in the whole registry, by the last heartbeat */
    size_t in_flight;
    size_t n_gone; /* dead workers of the last heartbeat's answer that are retired by now, by whomever */
};

/* tidy.c */
struct tidying {
    bool is_under_way; /* a round: not all names were looked at */
    uint64_t place;    /* among the queues' names: where the next call begins */
    bool in_flight;
};

/* ages.c */
struct ages {
    bool in_flight;
    uint64_t place;    /* among the queues' names: where the next call begins */
    int64_t began_ms;  /* when this walk began, by the server's clock */
    int64_t before_ms; /* when the last whole one began; 0: there was none */
};

/* fence.c */
struct fence {
    struct event *timer;
    _Atomic int64_t confirmed_at_ms; /* when the last confirmed heartbeat was sent */
    bool in_doubt; /* the worker cannot know whether its registration is still there: nothing starts */
};

/* ---- heartbeat.c ---- */
int heartbeat_new(struct muster_worker *w);
void heartbeat_free(struct muster_worker *w);
void heartbeat_now(struct muster_worker *w);
/* A third of the namespace's shortest ttl, as Redis says it; but never more than a third of the worker's own, whatever
 * became of P:ttls: its peers count that one. */
void heartbeat_set_interval(struct muster_worker *w, int64_t interval_ms);
/* Something was refused: try again soon. */
void heartbeat_retry(struct muster_worker *w);
/* No further heartbeat. */
void heartbeat_stop(struct muster_worker *w);
/* The registration is gone: its echoes count no more. */
void heartbeat_forget(struct muster_worker *w);
/* The echo of a heartbeat came over the subscription. */
void heartbeat_apply_echo(struct muster_worker *w, uint64_t token);
/* A read-back has answered this last token. No echo up to it is waited for any more. */
void heartbeat_settle_echo(struct muster_worker *w, uint64_t last_token);
/* The end of the process with this token was confirmed. */
void heartbeat_count_ended(struct muster_worker *w, uint64_t token);
/* How a probe ended: no script is needed, the script must follow, or the connection broke. */
enum probe_result { PROBE_ENOUGH, PROBE_NOT_ENOUGH, PROBE_CUT_OFF };
void heartbeat_apply_probe(struct muster_worker *w, enum probe_result result);

/* ---- fence.c ---- */
int fence_new(struct muster_worker *w);
void fence_free(struct muster_worker *w);
/* A heartbeat or a registration that was sent at this time is confirmed. */
void fence_confirm(struct muster_worker *w, int64_t sent_ms);
/* Is the worker in doubt? If its ttl has just run out, this call begins the doubt and tells the program. It is asked
 * before every start of a handler, not left to a timer. */
bool fence_is_closed(struct muster_worker *w, int64_t now_us);
/* Has its time passed? Any thread may ask. */
bool fence_has_passed(const struct muster_worker *w, int64_t now_us);
/* The worker is still registered: a read-back has proved it. */
void fence_open(struct muster_worker *w);
void fence_stop(struct muster_worker *w);
/* The registration is gone, and the doubt with it. */
void fence_forget(struct muster_worker *w);

/* ---- tidy.c ---- */
/* A heartbeat of the timer's keeper was answered: goes on tidying, or begins if `begins`. */
void tidy_after_heartbeat(struct muster_worker *w, bool begins);

/* ---- ages.c ---- */
/* A heartbeat of the timer's keeper was answered. */
void ages_after_heartbeat(struct muster_worker *w);

/* ---- sweep.c ---- */
struct script_heard;
/* Sweeps the dead workers that a heartbeat's answer names. */
void sweep_dead(struct muster_worker *w, const struct redisReply *reply, const struct script_heard *heard);

#endif
