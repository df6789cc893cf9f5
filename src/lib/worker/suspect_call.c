/* SPDX-License-Identifier: MIT
 *
 * What Redis is told of the first suspect: that it begins, alone; that it is acquitted; or that it has not begun after
 * all. When each is called for is in suspect.c.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "worker/worker.h"

struct asked {
    struct muster_worker *worker;
    struct life life;
    uint64_t token;
    size_t n_beside;
    enum script_alone what;
};

static void apply_begin(struct muster_process *p, const struct asked *a, int err, const struct redisReply *reply)
{
    struct muster_worker *w = p->worker;
    struct suspects *s = &w->suspects;
    if (err == MUSTER_OK) {
        s->stage = SUSPECT_MAY_RUN;
        s->allowed_ms = clock_ms();
    } else if (err == MUSTER_E_STATE && a->n_beside > 0) {
        s->beside_most = a->n_beside - 1;
    } else if (err == MUSTER_E_STATE) {
        connection_out_of_step(w);
    } else if (err == MUSTER_E_LOST) {
        process_free(p);
    } else if (err == MUSTER_E_REDIS && reply_kind(reply) == REPLY_LIST) {
        suspect_put_off(p);
        tell_damaged(w, reply_text(reply_at(reply, 1)));
    } else {
        s->is_refused = true;
        tell_refused(w, REQUEST_ALONE, err, reply_text(reply));
    }
}

static void apply_acquittal(struct muster_process *p, int err, const struct redisReply *reply)
{
    struct muster_worker *w = p->worker;
    if (err == MUSTER_OK) {
        trace_line(TRACE_STATE, "process %s of %s: is suspected no more", p->token_text, p->served->name);
        suspect_let_go(p);
    } else if (err == MUSTER_E_STATE) {
        connection_out_of_step(w);
    } else if (err == MUSTER_E_LOST) {
        readback_ask(w);
    } else if (err == MUSTER_E_REDIS && reply_kind(reply) == REPLY_LIST) {
        suspect_let_go(p); /* nothing else shall wait for that key */
        tell_damaged(w, reply_text(reply_at(reply, 1)));
    } else {
        tell_refused(w, REQUEST_ALONE, err, reply_text(reply));
    }
}

/* It may be the first one again. If a key is damaged, nothing else shall wait for that. */
static void apply_withdrawal(struct muster_worker *w, int err, const struct redisReply *reply)
{
    const char *damaged = err == MUSTER_E_REDIS ? reply_text(reply_at(reply, 1)) : NULL;
    if (err == MUSTER_E_STATE) {
        connection_out_of_step(w);
    } else if (err == MUSTER_OK || err == MUSTER_E_LOST || damaged) {
        suspect_unset_first(w);
        if (err == MUSTER_E_LOST)
            readback_ask(w);
        if (damaged)
            tell_damaged(w, damaged);
    } else {
        w->suspects.is_refused = true;
        tell_refused(w, REQUEST_ALONE, err, reply_text(reply));
    }
}

static void on_answer(const struct redisReply *reply, void *arg)
{
    struct asked a = *(struct asked *)arg;
    struct muster_worker *w = a.worker;
    struct muster_process *p = process_find(w, a.token);
    free(arg);
    w->suspects.in_flight = false;
    if (!registration_is_life(w, &a.life)) {
        round_due(w); /* of another life: now this one can ask */
        return;
    }
    if (!reply || !registration_is_there(w))
        return; /* asked again after the read-back of the next connection */
    int err = reply_status(reply);
    if (err == MUSTER_OK)
        tell_accepted(w, REQUEST_ALONE);
    if (err == MUSTER_E_GONE)
        registration_gone(w);
    else if (p && p == w->suspects.first && a.what == ALONE_ACQUIT)
        apply_acquittal(p, err, reply);
    else if (p && p == w->suspects.first && a.what == ALONE_WITHDRAW)
        apply_withdrawal(w, err, reply);
    else if (p && p == w->suspects.first && w->suspects.stage == SUSPECT_WAITS)
        apply_begin(p, &a, err, reply);
    round_due(w);
}

/* ---- the call ---- */

/* Names of the queues whose handlers run; the caller frees. NULL: out of memory. */
static const char **list_running(const struct muster_worker *w, size_t *n)
{
    const char **names = calloc(w->n_served + 1, sizeof *names);
    *n = 0;
    for (size_t i = 0; names && i < w->n_served; i++)
        if (w->served[i]->running > 0)
            names[(*n)++] = w->served[i]->name;
    return names;
}

void suspect_ask(struct muster_process *p, enum script_alone what)
{
    struct muster_worker *w = p->worker;
    struct asked *a = malloc(sizeof *a);
    struct command c = COMMAND_EMPTY;
    size_t n;
    const char **names = list_running(w, &n);
    w->suspects.is_refused = true;
    if (a && names) {
        *a = (struct asked){.worker = w, .token = p->token, .n_beside = process_count(w, IS_RUNNING), .what = what};
        a->life = registration_life(w);
        script_begin_alone(&c, &w->root, &w->caller,
                           &(struct script_begin_alone){.queue = p->served->name,
                                                        .token = p->token_text,
                                                        .what = what,
                                                        .running = names,
                                                        .n_running = what == ALONE_BEGIN ? n : 0});
        w->suspects.in_flight = link_script(w->connection.data, &c, on_answer, a) == MUSTER_OK;
        w->suspects.is_refused = !w->suspects.in_flight;
        w->suspects.is_noted |= w->suspects.in_flight;
    }
    if (!w->suspects.in_flight)
        free(a);
    free(names);
    command_clear(&c);
}
