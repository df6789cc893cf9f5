/* SPDX-License-Identifier: MIT
 *
 * Sweeping: retiring workers that are dead, and moving leases that have lapsed. The scripts decide; here they are
 * called for one worker or queue after the other.
 */
#include <stdio.h>
#include <stdlib.h>

#include "client/client.h"
#include "client/page.h"
#include "protocol/script_queue.h"
#include "protocol/script_task.h"
#include "protocol/script_worker.h"

static int sweep(struct muster_client *c, const char *worker, enum script_sweep whether, uint64_t *given_back)
{
    struct command command = COMMAND_EMPTY;
    struct redisReply *reply;
    struct script_swept swept = {0};
    const char *damaged;
    script_sweep(&command, &c->root, worker, whether);
    int err = client_run(c, &command, &reply);
    if (err == MUSTER_OK)
        err = client_understand(c, script_swept(reply, &swept, &damaged));
    *given_back = swept.given_back;
    redis_reply_free(reply);
    return err;
}

/* What the leases of a holder had. A script ends some of them. */
struct holding {
    uint64_t given_back, looked;
    char damaged[KEY_MAX]; /* "": no key */
};

static int fail_some(struct muster_client *c, const char *holder, int64_t *from, struct holding *h)
{
    struct command command = COMMAND_EMPTY;
    struct redisReply *reply;
    struct script_holder_failed failed;
    script_fail_holder(&command, &c->root, holder, *from);
    int err = client_run(c, &command, &reply);
    if (err == MUSTER_OK)
        err = client_understand(c, script_holder_failed(reply, &failed));
    if (err == MUSTER_OK && failed.next >= 0 && (failed.looked == 0 || failed.next < *from))
        err = client_understand(c, MUSTER_E_REDIS); /* it would go on for ever */
    if (err == MUSTER_OK) {
        *from = failed.next;
        h->given_back += failed.given_back;
        h->looked += failed.looked;
        if (failed.damaged)
            snprintf(h->damaged, sizeof h->damaged, "%s", failed.damaged);
    }
    redis_reply_free(reply);
    return err;
}

/* So many are enough for 20 million leases, and they end in any case. */
#define FAIL_STEPS_MAX 100000

static int fail_holder(struct muster_client *c, const char *holder, struct holding *h)
{
    int64_t from = 0;
    int err = MUSTER_OK;
    for (int i = 0; err == MUSTER_OK && from >= 0 && i < FAIL_STEPS_MAX; i++)
        err = fail_some(c, holder, &from, h);
    if (err != MUSTER_OK || !*h->damaged)
        return err;
    redis_error_set(c->redis, "the key '%s' has a wrong type: leases of its queue were passed over", h->damaged);
    return MUSTER_E_REDIS;
}

int muster_worker_fail(struct muster_client *c, const char *worker, uint64_t *given_back)
{
    uint64_t n = 0;
    struct holding h = {.given_back = 0};
    const char *why = muster_worker_id_check(worker);
    int err = why ? client_refuse(c, why) : sweep(c, worker, SWEEP_FORCED, &n);
    bool is_registered = err == MUSTER_OK;
    if (is_registered || err == MUSTER_E_NOT_FOUND)
        err = fail_holder(c, worker, &h);
    if (err == MUSTER_OK && !is_registered && h.looked == 0) {
        redis_error_set(c->redis, "no worker '%s' is registered, and nobody holds a lease under this name", worker);
        err = MUSTER_E_NOT_FOUND;
    }
    if (given_back)
        *given_back = n + h.given_back;
    return err;
}

/* Redis' clock in milliseconds, as text. */
static int server_now(struct muster_client *c, char *out, size_t size)
{
    struct redisReply *reply;
    int err = client_ask(c, &reply, (const char *const[]){"TIME", NULL});
    int64_t now_ms = reply_time_ms(reply);
    redis_reply_free(reply);
    if (err == MUSTER_OK && now_ms < 0) {
        redis_error_set(c->redis, "the answer to TIME is none that a Redis gives: is this another server?");
        return MUSTER_E_REDIS;
    }
    snprintf(out, size, "%lld", (long long)now_ms);
    return err;
}

/* What a sweep has done so far. A damaged worker or queue is skipped, and reported at the end in its own words. */
struct sweeping {
    uint64_t swept;
    bool is_damaged;
    char why[256];
};

static void skip(struct muster_client *c, struct sweeping *s, const char *what, const char *name)
{
    s->is_damaged = true;
    snprintf(s->why, sizeof s->why, "%s %s was skipped: %s", what, name, redis_error(c->redis));
}

/* One after the other. It is no error if a worker is in grace, is alive again, or was swept by another caller. */
static int sweep_workers(struct muster_client *c, const struct redisReply *past, struct sweeping *s)
{
    int err = MUSTER_OK;
    for (size_t i = 0; err == MUSTER_OK && i < reply_len(past); i++) {
        const char *worker = reply_text(reply_at(past, i));
        uint64_t n;
        if (!worker)
            continue;
        err = sweep(c, worker, SWEEP_IF_DEAD, &n);
        s->swept += err == MUSTER_OK;
        if (err == MUSTER_E_REDIS)
            skip(c, s, "worker", worker);
        if (err == MUSTER_E_REDIS || err == MUSTER_E_STATE || err == MUSTER_E_NOT_FOUND)
            err = MUSTER_OK;
    }
    return err;
}

/* One script moves some of what is due. So many are enough for 200 000 leases, and they end in any case. */
#define DUE_STEPS_MAX 1000

/* Any take moves what is due, so this one takes nothing. *is_more: something is due still. */
static int move_due(struct muster_client *c, const char *queue, bool *is_more)
{
    struct command command = COMMAND_EMPTY;
    struct redisReply *reply;
    struct script_leased leased = {.next_due_ms = -1};
    script_take(&command, &c->root, &(struct script_take_lease){.queue = queue, .lease_ms = 1});
    int err = client_run(c, &command, &reply);
    if (err == MUSTER_OK)
        err = client_understand(c, script_leased(reply, 0, &leased));
    *is_more = err == MUSTER_OK && leased.next_due_ms == 0;
    redis_reply_free(reply);
    return err;
}

/* Move what is due in one queue, and its leases that have lapsed. */
static int sweep_leases(struct muster_client *c, const char *queue, void *arg, bool *stop)
{
    bool is_more = true;
    int err = MUSTER_OK;
    (void)stop;
    for (int i = 0; err == MUSTER_OK && is_more && i < DUE_STEPS_MAX; i++)
        err = move_due(c, queue, &is_more);
    if (err != MUSTER_E_REDIS)
        return err;
    skip(c, arg, "queue", queue);
    return MUSTER_OK;
}

static int tidy_step(struct muster_client *c, struct script_tidied *tidied)
{
    struct command command = COMMAND_EMPTY;
    struct redisReply *reply;
    script_tidy(&command, &c->root, (uint64_t)tidied->place);
    int err = client_run(c, &command, &reply);
    if (err == MUSTER_OK)
        err = client_understand(c, script_tidied(reply, tidied));
    redis_reply_free(reply);
    return err;
}

/* One queue may have what 300 000 jobs leave behind. */
#define TIDY_STEPS_MAX 1000

/* Remove what nobody needs any more, from the first queue's name to the last. A step that comes no further has removed
 * something; a server that says anything else would hold us for ever. */
static int tidy(struct muster_client *c)
{
    struct script_tidied tidied = {.place = 0};
    int err = MUSTER_OK;
    for (int steps_here = 0; err == MUSTER_OK && tidied.place >= 0; steps_here++) {
        const int64_t from = tidied.place;
        err = tidy_step(c, &tidied);
        if (err != MUSTER_OK || tidied.place < 0)
            return err;
        bool is_further = tidied.place > from;
        if (tidied.place < from || (!is_further && tidied.removed == 0)) {
            redis_error_set(c->redis, "a sweep goes on at a place that is none: is this another server?");
            return MUSTER_E_REDIS;
        }
        if (is_further)
            steps_here = 0;
        else if (steps_here >= TIDY_STEPS_MAX) {
            redis_error_set(c->redis, "a queue has more to remove than one sweep removes: sweep again");
            return MUSTER_E_REDIS;
        }
    }
    return err;
}

/* If Redis' clock was set back, lives end too late, and the registry shows nobody that has died. The script of a sweep
 * cuts them to their ttl, of whichever worker it is called. */
static int cut_lives(struct muster_client *c, const char *now)
{
    char key[KEY_MAX];
    struct redisReply *beat = NULL;
    uint64_t none;
    key_of(key, c->prefix, KEY_BEAT, "");
    int err = client_ask(c, &beat, (const char *const[]){"HGET", key, "at", NULL});
    bool is_ahead = err == MUSTER_OK && reply_number(beat, 0) > strtoll(now, NULL, 10);
    redis_reply_free(beat);
    if (is_ahead)
        err = sweep(c, "", SWEEP_IF_DEAD, &none);
    return err == MUSTER_E_NOT_FOUND || err == MUSTER_E_REDIS ? MUSTER_OK : err;
}

/* All workers whose life has ended by the registry. The script decides whether each may be swept. */
int muster_client_sweep(struct muster_client *c, uint64_t *workers)
{
    char key[KEY_MAX], now[24];
    struct redisReply *past = NULL;
    struct sweeping s = {0};
    key_of(key, c->prefix, KEY_REGISTRY, "");
    int err = server_now(c, now, sizeof now);
    if (err == MUSTER_OK)
        err = cut_lives(c, now);
    if (err == MUSTER_OK)
        err = client_ask(c, &past, (const char *const[]){"ZRANGEBYSCORE", key, "-inf", now, NULL});
    if (err == MUSTER_OK)
        err = sweep_workers(c, past, &s);
    redis_reply_free(past);
    if (err == MUSTER_OK)
        err = page_each_member(c, KEY_NAMES, sweep_leases, &s);
    if (err == MUSTER_OK)
        err = tidy(c);
    if (workers)
        *workers = s.swept;
    if (err != MUSTER_OK || !s.is_damaged)
        return err;
    redis_error_set(c->redis, "%s", s.why);
    return MUSTER_E_REDIS;
}
