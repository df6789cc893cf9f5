/* SPDX-License-Identifier: MIT
 *
 * Waking: the messages on the worker's own channel, and the announcements of foreign producers.
 *
 * Design notes
 *
 *   1. A hand-over puts a task into this worker's set and publishes its token. The set is the truth; the message only
 *      says so at once.
 *   2. Message or read-back: the first one brings the token into the table, the other one finds it there (accept.c). It
 *      may have ended in between. So the read-back answers the last token N, and later messages up to N are dropped.
 *   3. The read-back finds a message that was lost (readback.c).
 *   4. Until the server of the data connection has counted this subscription as a receiver, a message is only a reason
 *      for a read-back: it may come by a replica, and tell of what nobody was handed (connection.c). A server that is
 *      made a replica afterwards keeps its connections. What is undone at its master then is followed by a message
 *      that says so: in the same moment, so that hardly anything begins in between.
 *   5. In doubt a message is taken up like any other; nothing starts then anyway. If it were dropped, one that comes
 *      between the read-back that ends the doubt and its answer would be missed until the next heartbeat, and the order
 *      would be lost with it.
 *   6. A cancel is told by a message too, and again with every heartbeat and read-back (marks.c).
 *   7. Messages of another epoch belong to another life of this id: not ours.
 *   8. The own channel is a sharded one: in a cluster the count of its receivers is right where the scripts run, and no
 *      other node pays for it. The queues' channels are classic ones, because foreign programs publish there.
 */
#include "worker/wake.h"

#include <event2/event.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/timer.h"
#include "worker/worker.h"

/* Announcements of foreign producers make the worker take at most once in this time. */
#define HINT_PAUSE_MS 10
/* "T", "F", "A" or "J", epoch, token, three digits for the length of the queue's name, the name, and after "T" the
 * task. */
#define NAME_LEN_LEN 3
#define MESSAGE_HEAD (1 + 2 * TOKEN_LEN)
#define EPOCH_END (1 + TOKEN_LEN)

/* ---- subscribing ---- */

int wake_subscribe_queue(struct muster_worker *w, const char *queue)
{
    static const char *const heard[] = {CHANNEL_WORK, CHANNEL_CANCEL};
    char channel[CHANNEL_MAX];
    int err = MUSTER_OK;
    for (size_t i = 0; i < sizeof heard / sizeof *heard && err == MUSTER_OK; i++) {
        key_channel(channel, w->root.channels, queue, heard[i]);
        err = link_subscribe(w->connection.subscription, WIRE_CLASSIC, channel);
    }
    return err;
}

int wake_subscribe(struct muster_worker *w)
{
    char channel[CHANNEL_MAX];
    key_wake(channel, w->root.channels, w->id);
    int err = link_subscribe(w->connection.subscription, WIRE_SHARDED, channel);
    for (size_t i = 0; err == MUSTER_OK && i < w->n_served; i++)
        if (w->served[i]->serving != LEFT)
            err = wake_subscribe_queue(w, w->served[i]->name);
    return err;
}

/* ---- the worker's own channel ---- */

struct hand_over {
    uint64_t token;
    struct served *served;
    struct muster_bytes task;
};

/* Reads three digits and a name as long as they say; false if they are not there. */
static bool parse_name(const char *text, size_t len, struct muster_bytes *name)
{
    size_t name_len = 0;
    if (len < NAME_LEN_LEN)
        return false;
    for (size_t i = 0; i < NAME_LEN_LEN; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        name_len = name_len * 10 + (size_t)(text[i] - '0');
    }
    *name = (struct muster_bytes){text + NAME_LEN_LEN, name_len};
    return name_len <= len - NAME_LEN_LEN;
}

/* Reads what follows the epoch; false if it is malformed, or of a queue that the worker has never served. */
static bool parse(struct muster_worker *w, const char *text, size_t len, struct hand_over *out)
{
    struct muster_bytes name;
    if (len < MESSAGE_HEAD || token_parse(text + 1 + TOKEN_LEN, TOKEN_LEN, &out->token) != MUSTER_OK ||
        !parse_name(text + MESSAGE_HEAD, len - MESSAGE_HEAD, &name))
        return false;
    size_t head = MESSAGE_HEAD + NAME_LEN_LEN + name.len;
    out->served = serve_find(w, name.data, name.len);
    out->task = (struct muster_bytes){text + head, len - head};
    return out->served != NULL;
}

static void accept_handed_token(struct muster_worker *w, const struct hand_over *h, char kind)
{
    struct muster_process *p = accept_token(w, h->served, h->token, kind == 'J' ? PROCESS_JOB : PROCESS_TASK);
    if (p && kind == 'A')
        suspect_note(p);
}

static void apply_hand_over(struct muster_worker *w, const char *text, size_t len)
{
    struct hand_over h;
    if (!parse(w, text, len, &h) || h.token <= h.served->dropped_upto || h.token <= w->readback.last_token ||
        w->stop.drain_is_over || process_find(w, h.token))
        return;                                                     /* after the drain it goes back with the rest */
    if (!w->connection.pair.is_here || h.served->serving == LEFT) { /* which Redis has forgotten */
        readback_ask(w);
        return;
    }
    trace_line(TRACE_WAKE, "handed over: process %.*s of %s, %zu bytes%s", TOKEN_LEN, text + 1 + TOKEN_LEN,
               h.served->name, h.task.len, *text != 'T' ? " (to be fetched)" : "");
    figures_add(&w->figures.wakes_message, 1);
    if (*text == 'T')
        accept_task(w, h.served, h.token, h.task);
    else
        accept_handed_token(w, &h, *text);
}

/* A hand-over that was undone, because nobody has heard of it at the server that it is from: this one follows it. A process
 * that has begun by now is told by a read-back there. */
static void apply_undone(struct muster_worker *w, uint64_t token)
{
    dispatch_call_off(w);
    struct muster_process *p = process_find(w, token);
    trace_line(TRACE_WAKE, "a hand-over was heard here, and not where it was made");
    if (p && process_is(p, IS_UNTOUCHED))
        process_free(p);
    pair_doubt(&w->connection.pair);
    heartbeat_now(w);
}

/* Tokens that follow each other without anything between. */
static void apply_marks(struct muster_worker *w, const char *text, size_t len, enum mark mark)
{
    uint64_t token;
    for (size_t at = EPOCH_END; at + TOKEN_LEN <= len; at += TOKEN_LEN)
        if (token_parse(text + at, TOKEN_LEN, &token) == MUSTER_OK)
            marks_note(w, token, mark);
}

/* Somebody else has ended one of its processes. If that was the process' own command, its token and a letter follow. */
static void apply_ended(struct muster_worker *w, const char *text, size_t len)
{
    uint64_t token;
    if (len == MESSAGE_HEAD + 1 && token_parse(text + EPOCH_END, TOKEN_LEN, &token) == MUSTER_OK)
        ended_note(w, token, text[MESSAGE_HEAD]);
    readback_ask(w);
}

/* After the queue's name: how many entries of its failed list were dropped, a blank, and the setting that bounds it. */
static void apply_dropped(struct muster_worker *w, const char *text, size_t len)
{
    struct muster_bytes name;
    char queue[MUSTER_QUEUE_MAX + 1], what[64];
    if (!parse_name(text + EPOCH_END, len - EPOCH_END, &name) || name.len >= sizeof queue)
        return;
    size_t head = EPOCH_END + NAME_LEN_LEN + name.len;
    snprintf(queue, sizeof queue, "%.*s", (int)name.len, (const char *)name.data);
    snprintf(what, sizeof what, "%.*s", (int)(len - head), text + head);
    tell_dropped(w, queue, what);
}

static void apply_own_message(struct muster_worker *w, const char *text, size_t len)
{
    uint64_t token;
    if (w->state != WORKER_WORKING && w->state != WORKER_DRAINING)
        return;
    if (len < EPOCH_END || memcmp(text + 1, w->caller.epoch, TOKEN_LEN) != 0)
        return;
    if (*text == 'C' || *text == 'D')
        apply_marks(w, text, len, *text == 'C' ? MARK_CANCELLED : MARK_DELETED);
    else if (*text == 'R')
        apply_ended(w, text, len);
    else if (*text == 'E' && len >= MESSAGE_HEAD && token_parse(text + 1 + TOKEN_LEN, TOKEN_LEN, &token) == MUSTER_OK)
        heartbeat_apply_echo(w, token);
    else if (*text == 'U' && len >= MESSAGE_HEAD && token_parse(text + 1 + TOKEN_LEN, TOKEN_LEN, &token) == MUSTER_OK)
        apply_undone(w, token);
    else if (*text == 'S')
        timer_keeper_sooner(w); /* something is due earlier than it knows of */
    else if (*text == 'X')
        apply_dropped(w, text, len);
    else if (*text == 'T' || *text == 'F' || *text == 'A' || *text == 'J')
        apply_hand_over(w, text, len);
}

/* ---- the queues' channels ---- */

static void take_for_hint(struct muster_worker *w)
{
    w->wake.last_hint_ms = clock_ms();
    figures_add(&w->figures.wakes_hint, 1);
    turn_want_take(w);
}

static void on_hint_timer(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    take_for_hint(arg);
}

static void apply_hint(struct muster_worker *w, const char *channel)
{
    int64_t wait_ms = w->wake.last_hint_ms + HINT_PAUSE_MS - clock_ms();
    trace_line(TRACE_WAKE, "a foreign producer announces work on %s", channel);
    if (wait_ms <= 0)
        take_for_hint(w);
    else if (!evtimer_pending(w->wake.hint_timer, NULL))
        timer_after_ms(w->wake.hint_timer, wait_ms);
}

/* The queue whose announcements of this kind come on the channel; NULL: none that the worker serves. */
static struct served *queue_of(struct muster_worker *w, const char *channel, const char *what)
{
    size_t root = strlen(w->root.channels), len = strlen(channel), tail = strlen(what);
    if (len <= root + tail + 2 || strcmp(channel + len - tail, what) != 0)
        return NULL;
    struct served *s = serve_find(w, channel + root + 1, len - root - tail - 2);
    return s && s->serving == SERVING ? s : NULL;
}

/* Workers ignore what muster itself announces: they are handed their work. */
static bool is_own_hint(struct muster_bytes message)
{
    const size_t len = strlen(CHANNEL_WORK_OWN);
    return message.len >= len && memcmp(message.data, CHANNEL_WORK_OWN, len) == 0 &&
           (message.len == len || ((const char *)message.data)[len] == ' ');
}

void wake_message(struct muster_worker *w, const char *channel, struct muster_bytes message)
{
    char own[CHANNEL_MAX];
    w->wake.last_message_ms = clock_ms();
    key_wake(own, w->root.channels, w->id);
    if (strcmp(channel, own) == 0) {
        apply_own_message(w, message.data, message.len);
        return;
    }
    struct served *cancelled_in = queue_of(w, channel, CHANNEL_CANCEL);
    if (cancelled_in)
        tell_queue_event(w, MUSTER_EVENT_CANCEL, cancelled_in->name, message);
    else if (queue_of(w, channel, CHANNEL_WORK) && !is_own_hint(message))
        apply_hint(w, channel);
}

/* ---- life ---- */

void wake_stop(struct muster_worker *w)
{
    event_del(w->wake.hint_timer);
}

int wake_new(struct muster_worker *w)
{
    w->wake.hint_timer = evtimer_new(w->base, on_hint_timer, w);
    return w->wake.hint_timer ? MUSTER_OK : MUSTER_E_NOMEM;
}

void wake_free(struct muster_worker *w)
{
    if (w->wake.hint_timer)
        event_free(w->wake.hint_timer);
}
