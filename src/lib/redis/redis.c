/* SPDX-License-Identifier: MIT
 *
 * The blocking connection: commands and their answers, waiting, failures.
 *
 * It drives a wire by poll() with a deadline. A failed wire is dropped at once, and the next use connects again.
 */
#include "redis/redis.h"

#include <hiredis/hiredis.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/owner.h"
#include "base/words.h"
#include "redis/redis_private.h"

int redis_new(struct redis **out, const struct redis_options *o)
{
    struct redis *r = calloc(1, sizeof *r);
    *out = NULL;
    if (!r)
        return MUSTER_E_NOMEM;
    r->owner = owner_this();
    r->interrupt = &r->own;
    r->own.fd = -1;
    r->borrowed = o->borrowed;
    r->stays_at_sentinel = o->stays_at_sentinel;
    r->timeout_ms = r->patience_ms = o->timeout_ms;
    redis_asked_init(r);
    r->confirm = o->confirm;
    r->selected = o->selected;
    r->arg = o->arg;
    r->prefix = strdup(o->prefix);
    r->format_key = strdup(o->format_key);
    r->root_key = strdup(o->root_key);
    if (!r->prefix || !r->format_key || !r->root_key || interrupt_open(&r->own) != MUSTER_OK ||
        (!o->borrowed && url_copy(&r->url, o->url) != MUSTER_OK)) {
        redis_free(r);
        return MUSTER_E_NOMEM;
    }
    place_init(&r->place, &r->url);
    *out = r;
    return MUSTER_OK;
}

bool redis_is_own(const struct redis *r)
{
    return r->owner == owner_this();
}

void redis_free(struct redis *r)
{
    if (!r)
        return;
    redis_free(r->sentinel);
    redis_drop(r);
    interrupt_close(&r->own);
    resolver_forget(&r->resolver);
    tls_context_free(r->tls);
    url_clear(&r->url);
    free(r->prefix);
    free(r->format_key);
    free(r->root_key);
    free(r);
}

/* ---- figures ---- */

const struct redis_figures *redis_figures(const struct redis *r)
{
    return &r->figures;
}

int redis_count(struct redis *r, int err)
{
    if (err < 0 && -err < MUSTER_CLIENT_STATS_ERRORS)
        figures_add(&r->figures.errors[-err], 1);
    return err;
}

/* ---- failures ---- */

const char *redis_error(const struct redis *r)
{
    return r->error;
}

void redis_error_set(struct redis *r, const char *format, ...)
{
    va_list args;
    if (r->listens_for)
        r = r->listens_for;
    va_start(args, format);
    vsnprintf(r->error, sizeof r->error, format, args);
    va_end(args);
    words_clean(r->error);
}

void redis_describe(const struct redis *r, char *out, size_t size)
{
    if (r->borrowed)
        snprintf(out, size, "the connection that was handed in");
    else
        place_describe(&r->place, out, size);
}

/* The program must see, too, that its connection is of no use any more. */
static void spoil(struct redisContext *context, int err, const char *why)
{
    if (context->err)
        return;
    context->err = err == MUSTER_E_REDIS ? REDIS_ERR_PROTOCOL : err == MUSTER_E_NOMEM ? REDIS_ERR_OOM : REDIS_ERR_OTHER;
    snprintf(context->errstr, sizeof context->errstr, "%s", why);
}

static void count_bytes(struct redis *r)
{
    const struct wire_progress *now = wire_progress(r->wire);
    figures_add(&r->figures.sent_bytes, now->sent_bytes - r->sent_bytes);
    figures_add(&r->figures.received_bytes, now->received_bytes - r->received_bytes);
    r->sent_bytes = now->sent_bytes;
    r->received_bytes = now->received_bytes;
}

void redis_leave(struct redis *r)
{
    if (r->wire)
        count_bytes(r);
    r->sent_bytes = r->received_bytes = 0;
    if (r->borrowed && redis_is_connected(r) && (wire_asked(r->wire) > 0 || wire_has_unsent(r->wire)))
        spoil(r->borrowed, MUSTER_E_CONN, "an answer was not read");
    r->n_left += r->wire != NULL;
    wire_free(r->wire);
    r->wire = NULL;
    r->is_greeted = r->is_format_known = false;
    r->look_room = 0;
    memset(r->known, 0, sizeof r->known);
}

void redis_drop(struct redis *r)
{
    redis_leave(r);
    redis_asked_clear(r);
}

int redis_break(struct redis *r, int err, const char *why)
{
    char where[300];
    redis_describe(r, where, sizeof where);
    if (err == MUSTER_E_NOMEM)
        redis_error_set(r, "out of memory");
    else if (err == MUSTER_E_TIMEOUT && !*why)
        redis_error_set(r, "%s: no answer within %d ms", where, r->timeout_ms);
    else if (err == MUSTER_E_CONN && r->asked_bytes >= COMMAND_LARGE)
        redis_error_set(r, "%s: %s, %zu bytes being asked of it: its client-query-buffer-limit may be less", where, why,
                        r->asked_bytes);
    else
        redis_error_set(r, "%s: %s", where, why);
    if (r->borrowed)
        spoil(r->borrowed, err, *why ? why : "no answer");
    wire_throw_away(r->wire);
    redis_leave(r);
    return err;
}

/* ---- waiting ---- */

int redis_set_timeout(struct redis *r, int timeout_ms)
{
    int before = r->timeout_ms;
    r->timeout_ms = r->patience_ms = timeout_ms;
    return before;
}

int redis_hurry(struct redis *r, int timeout_ms)
{
    return redis_set_timeout(r, timeout_ms < r->timeout_ms ? timeout_ms : r->timeout_ms);
}

/* It looks before it judges: this process may have been stopped for a long time. */
bool redis_wait(struct redis *r, int64_t until_ms)
{
    int64_t left_ms = until_ms - clock_ms();
    bool has_more = wire_has_more(r->wire);
    int ms = left_ms <= 0 || has_more ? 0 : left_ms < INT_MAX ? (int)left_ms : INT_MAX;
    short ready;
    bool is_early = interrupt_wait(r->interrupt, wire_fd(r->wire), wire_waits_for(r->wire), ms, &ready);
    if (ready || has_more)
        wire_step(r->wire, ready);
    return is_early || has_more;
}

/* An answer may take as long as we have patience, and longer after a large request; all of a greeting together must be
 * there in time. */
static int64_t answered_by_ms(const struct redis *r)
{
    int64_t until_ms = clock_in_ms(r->patience_ms + wire_extra_ms(r->asked_bytes));
    return r->greeted_by_ms && r->greeted_by_ms < until_ms ? r->greeted_by_ms : until_ms;
}

void redis_begin_time(struct redis *r)
{
    r->until_ms = clock_in_ms(r->timeout_ms);
    r->n_moves = 0;
    r->answer_limits = (struct byte_limits){0};
}

bool redis_is_at_cluster(const struct redis *r)
{
    return r->url.kind == URL_CLUSTER || (r->url.kind == URL_SINGLE && r->place.is_sent_on);
}

void redis_set_once(struct redis *r, bool is_once)
{
    r->is_once = is_once;
}

int redis_open(struct redis *r)
{
    int err = redis_asked_finish(r);
    redis_begin_time(r);
    return redis_count(r, err == MUSTER_OK ? redis_connect(r) : err);
}

void redis_set_order(struct redis *r, enum redis_order order)
{
    r->is_in_order = order == REDIS_IN_ORDER;
}

/* Most answers come so soon. */
#define SOON_MS 10

/* An answer's first wait is one system call, which sees no interrupt and no clock. So it is short, and those that follow
 * see both. */
static bool wait_first(struct redis *r, int64_t until_ms)
{
    if (r->greeted_by_ms || !wire_can_wait(r->wire))
        return redis_wait(r, until_ms);
    (void)wire_wait(r->wire, r->patience_ms < SOON_MS ? r->patience_ms : SOON_MS);
    return true;
}

/* Is it interrupted while an answer is to come? */
static int break_off(struct redis *r)
{
    int err = redis_check_interrupt(r);
    if (err != MUSTER_OK && r->borrowed)
        spoil(r->borrowed, err, "interrupted");
    if (err != MUSTER_OK) {
        wire_throw_away(r->wire);
        redis_leave(r);
    }
    return err;
}

/* Has nothing moved since there were so many marks? */
static bool is_silent(struct redis *r, unsigned marks)
{
    wire_look(r->wire);
    return wire_marks(r->wire) == marks;
}

int redis_answer(struct redis *r, struct redisReply **reply)
{
    int err = redis_check_owner(r);
    int64_t until_ms = answered_by_ms(r);
    unsigned marks = wire_marks(r->wire);
    if (err != MUSTER_OK)
        return err;
    wire_flush(r->wire);
    for (bool is_first = true;; is_first = false) {
        err = wire_next(r->wire, reply);
        if (err != MUSTER_OK)
            return redis_break(r, err, wire_why(r->wire));
        if (*reply) {
            count_bytes(r);
            return MUSTER_OK;
        }
        if (wire_marks(r->wire) != marks)
            until_ms = answered_by_ms(r);
        marks = wire_marks(r->wire);
        if ((err = break_off(r)) != MUSTER_OK)
            return err;
        if (!(is_first ? wait_first : redis_wait)(r, until_ms) && is_silent(r, marks))
            return redis_break(r, MUSTER_E_TIMEOUT, wire_why(r->wire));
    }
}

/* ---- commands and answers ---- */

int redis_send(struct redis *r, struct command *c)
{
    command_close(c);
    int err = wire_say(r->wire, c, 1);
    const bool is_later = c->is_look && redis_asked_is_full(r);
    const bool is_said = err == MUSTER_OK;
    if (is_said)
        err = redis_asked_add(r, c->is_look);
    if (is_said && (is_later || err != MUSTER_OK))
        wire_unsay(r->wire, 1);
    if (err == MUSTER_OK)
        return MUSTER_OK;
    redis_error_set(r, "out of memory");
    if (r->asked)
        redis_drop(r); /* the next call must not take the answers to earlier commands for its own */
    return MUSTER_E_NOMEM;
}

int redis_read(struct redis *r, struct redisReply **reply)
{
    *reply = NULL;
    int err = redis_asked_read(r, reply);
    if (err != MUSTER_OK)
        return redis_count(r, err);
    err = reply_err(*reply);
    if (err != MUSTER_OK) {
        if (!reply_is_refusal(*reply, "NOSCRIPT")) /* it is sent again with its body */
            redis_count(r, err);
        char where[300], words[sizeof r->error];
        redis_describe(r, where, sizeof where);
        reply_refusal_words(words, sizeof words, reply_text(*reply));
        if (*r->wrong_key)
            redis_script_say_key(r, r->wrong_key);
        else
            redis_error_set(r, "%s: %s", where, words);
        redis_reply_free(*reply);
        *reply = NULL;
    }
    if (err == MUSTER_E_TOO_BIG) /* it has closed the connection */
        redis_drop(r);
    return err;
}

void redis_reply_free(struct redisReply *reply)
{
    if (reply)
        freeReplyObject(reply);
}

/* After the first answer only who reads in between sends more; any other call begins here. */
int redis_append(struct redis *r, struct command *c)
{
    int err = r->is_read_from && !r->is_in_order ? redis_asked_finish(r) : MUSTER_OK;
    if (!r->asked)
        redis_begin_time(r);
    if (err == MUSTER_OK && !c->is_look)
        err = redis_asked_catch_up(r);
    if (err == MUSTER_OK)
        err = redis_connect(r);
    return redis_count(r, err == MUSTER_OK ? redis_send(r, c) : err);
}

int redis_call(struct redis *r, struct command *c, struct redisReply **reply)
{
    *reply = NULL;
    int err = redis_asked_finish(r);
    if (err == MUSTER_OK)
        err = redis_append(r, c);
    return err == MUSTER_OK ? redis_read(r, reply) : err;
}

bool redis_where(const struct redis *r, char *out, size_t size)
{
    redis_describe(r, out, size);
    return !r->borrowed && r->url.kind == URL_SENTINEL;
}
