/* SPDX-License-Identifier: MIT
 *
 * The way of a command over a link, and of its answer.
 *
 * While there is room for few heavy calls (link.h), those beyond it are held, and everything behind them, so that the
 * order stays. A heavy call for which there is room for one waits until nothing else is under way.
 *
 * So are calls while a subscription, or the end of one, is not confirmed. A refusal of it is an error like any other, and
 * would be taken for the answer to a call behind it.
 */
#include <muster/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "redis/link_private.h"

/* Does a script go as its digest, or with its whole text? */
enum script_form { BY_DIGEST, WITH_BODY };

/* With room for so many heavy calls there is room for any number, unless so many or more were too much together. */
#define ROOM_MAX 64
/* What was too much together may have been so for another reason: after so long twice as much is tried. */
#define ROOM_MOST_MS (10 * 60 * 1000)

/* A command on its way. */
struct call {
    struct call *next;
    link_reply_fn *fn;
    void *arg;
    const struct lua_script *script; /* NULL: not a script, or sent with its body */
    const char *name;                /* the script's; "" of another command */
    int64_t sent_us;                 /* 0: its answer is not traced */
    size_t weight;                   /* 0: it is not heavy */
    bool goes_alone;                 /* a heavy one, whatever room there is */
    size_t bytes;                    /* of its request */
    size_t len;
    char said[]; /* a script's bytes, in case Redis does not know it; or those of a call that is held */
};

/* ---- sending ---- */

static void put_last(struct link *l, struct call *call)
{
    call->next = NULL;
    *l->calls_end = call;
    l->calls_end = &call->next;
    l->is_alone = (call->goes_alone || (call->weight > 0 && l->room == 1)) && l->outstanding == 0;
    l->largest = l->outstanding > 0 && l->largest > call->bytes ? l->largest : call->bytes;
    l->outstanding++;
    l->outstanding_bytes += call->bytes;
    l->n_heavy += call->weight > 0;
    l->weight += call->weight;
}

/* May it go now? */
static bool is_room(const struct link *l, size_t weight, bool goes_alone)
{
    if (l->unconfirmed > 0 || l->ending > 0 || l->is_alone)
        return false;
    if (goes_alone)
        return l->outstanding == 0;
    if (l->room == 0 || weight == 0)
        return true;
    const bool fits = l->weight == 0 || l->weight + weight <= l->room;
    return fits && (l->room > 1 || l->outstanding == 0);
}

static void hold(struct link *l, struct call *call)
{
    call->next = NULL;
    *l->held_end = call;
    l->held_end = &call->next;
}

static struct call *take_held(struct link *l)
{
    struct call *call = l->held;
    l->held = call->next;
    if (!l->held)
        l->held_end = &l->held;
    return call;
}

/* The text of a script in place of its digest. */
static void put_body_in(struct command *c, const struct lua_script *script)
{
    c->argv[0] = "EVAL";
    c->lens[0] = strlen("EVAL");
    c->argv[1] = (const char *)script->body;
    c->lens[1] = script->len;
}

/* The call is made after it was said: only then are its bytes there to be kept. */
static struct call *new_call(struct link *l, const struct lua_script *script, size_t weight)
{
    struct muster_bytes said = wire_said(l->wire);
    const bool goes_alone = weight > 0 && l->is_next_alone;
    bool is_held = l->held || !is_room(l, weight, goes_alone);
    size_t kept = script || is_held ? said.len : 0;
    struct call *call = malloc(sizeof *call + kept);
    if (!call)
        return NULL;
    *call = (struct call){.script = script, .weight = weight, .goes_alone = goes_alone, .bytes = said.len, .len = kept};
    l->is_next_alone = false;
    if (kept > 0)
        memcpy(call->said, said.data, kept);
    if (is_held)
        wire_unsay(l->wire, 1);
    (is_held ? hold : put_last)(l, call);
    return call;
}

static int send_call(struct link *l, const struct lua_script *script, enum script_form form, struct command *c,
                     link_reply_fn *fn, void *arg)
{
    command_close(c);
    if (c->failed)
        return MUSTER_E_NOMEM;
    if (form == WITH_BODY)
        put_body_in(c, script);
    failpoint_pass(script ? script->name : "", "before_send");
    if (wire_say(l->wire, c, 1) != MUSTER_OK)
        return MUSTER_E_NOMEM;
    link_begin_waiting(l);
    size_t of_script = form == WITH_BODY ? script->len : 0; /* the text is not what a server refuses */
    bool is_heavy = c->is_heavy || wire_said(l->wire).len >= COMMAND_LARGE + of_script;
    const size_t weight = c->weight > 0 ? c->weight : 1;
    struct call *call = new_call(l, form == BY_DIGEST ? script : NULL, is_heavy ? weight : 0);
    if (!call) {
        wire_unsay(l->wire, 1);
        return MUSTER_E_NOMEM;
    }
    call->fn = fn;
    call->arg = arg;
    call->name = script ? script->name : "";
    call->sent_us = script && trace_is_on(TRACE_SCRIPT) ? clock_us() : 0;
    link_io_flush_later(l);
    if (failpoint_is_set(call->name, "after_send")) {
        link_io_flush(l);
        failpoint_pass(call->name, "after_send");
    }
    return MUSTER_OK;
}

int link_call(struct link *l, struct command *c, link_reply_fn *fn, void *arg)
{
    return link_is_up(l) ? send_call(l, NULL, BY_DIGEST, c, fn, arg) : MUSTER_E_CONN;
}

int link_script(struct link *l, struct command *c, link_reply_fn *fn, void *arg)
{
    return link_is_up(l) ? send_call(l, c->script, BY_DIGEST, c, fn, arg) : MUSTER_E_CONN;
}

int link_script_in_order(struct link *l, struct command *c, link_reply_fn *fn, void *arg)
{
    size_t n = 0;
    while (n < LINK_IN_ORDER_MAX && l->sent_with_body[n] && l->sent_with_body[n] != c->script)
        n++;
    bool is_known = n < LINK_IN_ORDER_MAX && l->sent_with_body[n];
    enum script_form form = is_known ? BY_DIGEST : WITH_BODY;
    int err = link_is_up(l) ? send_call(l, c->script, form, c, fn, arg) : MUSTER_E_CONN;
    if (err == MUSTER_OK && n < LINK_IN_ORDER_MAX)
        l->sent_with_body[n] = c->script;
    return err;
}

/* ---- answers ---- */

static struct call *take_first(struct link *l)
{
    struct call *call = l->calls;
    l->calls = call->next;
    if (!l->calls)
        l->calls_end = &l->calls;
    l->outstanding--;
    l->outstanding_bytes -= call->bytes;
    l->n_heavy -= call->weight > 0;
    l->weight -= call->weight;
    return call;
}

/* What was held goes, as far as there is room. */
void link_call_let_go(struct link *l)
{
    while (l->held && !l->is_break_due && is_room(l, l->held->weight, l->held->goes_alone)) {
        const struct muster_bytes said = {l->held->said, l->held->len};
        if (wire_say_bytes(l->wire, &said, 1, 1) != MUSTER_OK) {
            link_break(l, MUSTER_E_NOMEM, "out of memory");
            return;
        }
        link_begin_waiting(l);
        put_last(l, take_held(l));
        link_io_flush_later(l);
    }
}

/* A heavy answer has come through. */
static void make_room(struct link *l)
{
    l->has_answered_heavy = true;
    if (l->room_most > 0 && clock_ms() >= l->room_most_until_ms)
        link_set_room_most(l, l->room_most * 2 > ROOM_MAX ? 0 : l->room_most * 2);
    l->room *= 2;
    if (l->room_most > 0)
        l->room = l->room < l->room_most ? l->room : l->room_most;
    else if (l->room > ROOM_MAX)
        l->room = 0;
}

void link_set_room_most(struct link *l, size_t most)
{
    l->room_most = most;
    l->room_most_until_ms = clock_in_ms(ROOM_MOST_MS);
}

size_t link_room_most(const struct link *l)
{
    return l->room_most;
}

/* The same command with the script's text in place of its digest. */
static int send_with_body(struct link *l, struct call *call)
{
    static const char evalsha[] = "\r\n$7\r\nEVALSHA\r\n$40\r\n";
    const char *count_end = memmem(call->said, call->len, evalsha, sizeof evalsha - 1);
    size_t count_len = (size_t)(count_end - call->said);
    size_t head_len = count_len + sizeof evalsha - 1 + 40;
    char head[64];
    int n = snprintf(head, sizeof head, "\r\n$4\r\nEVAL\r\n$%zu\r\n", call->script->len);
    const struct muster_bytes parts[] = {{call->said, count_len},
                                         {head, (size_t)n},
                                         {call->script->body, call->script->len},
                                         {call->said + head_len, call->len - head_len}};
    call->script = NULL; /* once: a second NOSCRIPT is an error like any other */
    call->bytes += parts[2].len;
    int err = wire_say_bytes(l->wire, parts, sizeof parts / sizeof *parts, 1);
    if (err != MUSTER_OK)
        return err;
    put_last(l, call);
    link_io_flush_later(l);
    return MUSTER_OK;
}

static void answer(struct call *call, const struct redisReply *reply)
{
    if (call->sent_us)
        trace_line(TRACE_SCRIPT, "%s: %s, after %lld us", call->name, muster_err_text(reply_status(reply)),
                   (long long)(clock_us() - call->sent_us));
    failpoint_pass(call->name, "before_reply");
    call->fn(reply, call->arg);
    failpoint_pass(call->name, "after_reply");
    free(call);
}

/* The reason is noted where it is met first. */
void link_leave(struct link *l, const char *why)
{
    if (!link_is_up(l))
        return;
    if (!l->answers_first || l->outstanding == 0) {
        link_break(l, MUSTER_E_BUSY, why);
    } else {
        l->is_leaving = true;
        snprintf(l->why, sizeof l->why, "%s", why);
    }
}

/* What it was asked was not executed. Whoever asked tries again later; it may have to be elsewhere. */
static void leave_if_refused(struct link *l, const struct redisReply *reply)
{
    if (reply_is_by_replica(reply)) {
        link_leave(l, LINK_READONLY);
    } else if (reply_is_refusal(reply, "CLUSTERDOWN")) {
        link_leave(l, reply_text(reply));
    } else if (reply_is_refusal(reply, "MOVED") && !l->is_break_due) {
        l->is_sent_on = l->has_url && place_moved(&l->place, reply_text(reply));
        link_leave(l, reply_text(reply));
    }
}

/* All answers are there. */
static void leave_at_last(struct link *l)
{
    char why[CAUSE_WHY_MAX];
    memcpy(why, l->why, sizeof why);
    link_break(l, MUSTER_E_BUSY, why);
}

void link_call_hear(struct link *l, const struct redisReply *reply)
{
    struct call *call = take_first(l);
    if (call->script && reply_is_refusal(reply, "NOSCRIPT")) {
        trace_line(TRACE_SCRIPT, "%s: Redis does not know it yet, sent with its body", call->script->name);
        if (send_with_body(l, call) == MUSTER_OK)
            return;
        link_break(l, MUSTER_E_NOMEM, "out of memory"); /* who gets a NULL goes on with the next connection */
        reply = NULL;
    }
    l->is_alone = false;
    link_note_reply(l, call->bytes);
    if (call->weight > 0 && reply_err(reply) == MUSTER_OK)
        make_room(l);
    answer(call, reply);
    link_call_let_go(l);
    if (!l->is_leaving)
        leave_if_refused(l, reply);
    else if (l->outstanding == 0)
        leave_at_last(l);
}

void link_keep_reply(struct link *l)
{
    l->is_reply_kept = true;
}

bool link_was_alone(const struct link *l)
{
    return l->was_alone;
}

bool link_had_no_memory(const struct link *l)
{
    return l->had_no_memory;
}

void link_next_goes_alone(struct link *l)
{
    l->is_next_alone = true;
}

size_t link_room(const struct link *l)
{
    return l->room > 0 ? l->room : SIZE_MAX;
}

/* Not one of the calls that get their NULL in between is sent: the link is not up. */
void link_call_forget(struct link *l)
{
    bool is_broken = l->outstanding > 0 && l->is_break_due && !l->is_closed;
    l->is_fruitless = l->n_heavy > 0 && !l->has_answered_heavy;
    const bool is_heavy = is_broken && l->calls->weight > 0, is_alone = is_heavy && l->outstanding == 1;
    if (is_broken && l->break_err == MUSTER_E_CONN && l->weight > 1)
        link_set_room_most(l, l->weight / 2);
    l->was_alone = is_alone && l->break_err == MUSTER_E_CONN;
    l->had_no_memory = is_heavy && l->lacked_memory; /* answers come in the order of the calls */
    l->is_alone = l->has_answered_heavy = l->lacked_memory = false;
    l->room = is_broken ? 1 : l->room;
    while (l->calls) {
        answer(take_first(l), NULL);
        l->was_alone = l->had_no_memory = false;
    }
    while (l->held)
        answer(take_held(l), NULL);
}

void link_call_init(struct link *l)
{
    l->calls_end = &l->calls;
    l->held_end = &l->held;
}
