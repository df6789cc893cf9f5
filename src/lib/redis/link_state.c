/* SPDX-License-Identifier: MIT
 *
 * The states of a link, and silence.
 *
 * A break is only noted where it is noticed. `breaker`, an event that runs outside of all callbacks, carries it out
 * (link_connect.c). Until then nothing new is accepted, and nothing that was read is told.
 *
 * While anything is outstanding, `watch` looks for signs of life. What is a sign, the wire says: a whole reply, or many
 * bytes of one, or of a request. So a server that drips bytes is silent, too. While Redis works on what it was asked,
 * nothing moves: a large request has more time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/timer.h"
#include "redis/link_private.h"

static const char *const state_names[] = {"new", "down", "resolving", "connecting", "greeting", "up"};

void link_enter(struct link *l, enum link_state state)
{
    if (l->state != state)
        trace_line(TRACE_STATE, "%s link: %s -> %s", l->name, state_names[l->state], state_names[state]);
    l->state = state;
}

bool link_is_up(const struct link *l)
{
    return l->state == LINK_UP && l->wire && !l->is_break_due && !l->is_leaving;
}

void link_break(struct link *l, int err, const char *why)
{
    if (l->is_break_due || l->state == LINK_DOWN || l->state == LINK_NEW)
        return;
    l->is_break_due = true;
    l->break_err = err;
    snprintf(l->why, sizeof l->why, "%s", why);
    event_active(l->breaker, EV_TIMEOUT, 1);
}

/* ---- silence ---- */

static bool is_waiting(const struct link *l)
{
    return l->outstanding > 0 || l->unconfirmed > 0 || l->ending > 0 || (l->state > LINK_DOWN && l->state < LINK_UP);
}

/* A share is never so short that a server which is only slow is passed over for ever. */
#define SHARE_LEAST_MS 1000

static int patience_ms(const struct link *l)
{
    const bool is_one_of_several = l->state != LINK_UP && (l->place.is_sent_on || link_n_places(l) > 1);
    const int share_ms = l->silence_ms / PLACE_SHARES;
    if (!is_one_of_several || l->silence_ms <= SHARE_LEAST_MS)
        return l->silence_ms;
    return share_ms > SHARE_LEAST_MS ? share_ms : SHARE_LEAST_MS;
}

/* How many places there are may have come out meanwhile. */
void link_begin_waiting(struct link *l)
{
    if (!is_waiting(l)) {
        l->last_sign_ms = clock_ms();
        l->is_late = false;
    }
    if (l->state != LINK_UP || !evtimer_pending(l->watch, NULL))
        timer_after_ms(l->watch, patience_ms(l));
}

void link_note_sign(struct link *l)
{
    if (wire_marks(l->wire) == l->marks)
        return;
    const int64_t now_ms = clock_ms();
    l->marks = wire_marks(l->wire);
    l->is_late |= now_ms - l->last_sign_ms >= patience_ms(l);
    l->last_sign_ms = now_ms;
}

/* From here on requests take long over a line on which a worker can barely live. */
#define BUSY_LEAST ((size_t)8 * 1024)

static bool is_busy(const struct link *l)
{
    return l->wire && (l->outstanding_bytes >= BUSY_LEAST || wire_progress(l->wire)->begun > 0);
}

bool link_is_busy(const struct link *l)
{
    return link_is_up(l) && is_busy(l);
}

/* A tunnel or a proxy may hold more of a request than shows here; over a very slow line too little of it, or of an answer,
 * moves for a sign of life. So each time it has longer. */
static int64_t most_silent_ms(const struct link *l)
{
    const int64_t ms = patience_ms(l) + wire_extra_ms(l->outstanding_bytes);
    return is_busy(l) ? ms * (INT64_C(1) << l->n_slow) : ms;
}

/* So often the time is doubled. */
#define SLOW_MAX 5

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Next time it has longer. */
static void note_slow(struct link *l)
{
    const size_t answer = wire_progress(l->wire)->begun, request = l->outstanding > 0 ? l->largest : 0;
    if (l->n_slow == 0)
        l->slow_request = l->slow_answer = SIZE_MAX;
    if (answer > request)
        l->slow_answer = least(l->slow_answer, answer);
    else
        l->slow_request = least(l->slow_request, request);
    l->n_slow += l->n_slow < SLOW_MAX;
}

/* That something has come through in a longer time does not end it: what is larger comes behind. */
void link_note_reply(struct link *l, size_t request)
{
    const bool is_as_large = request >= l->slow_request || wire_progress(l->wire)->replied >= l->slow_answer;
    link_note_sign(l);
    if (is_as_large && !l->is_late)
        l->n_slow = 0;
    l->is_late = false;
}

static void break_for_silence(struct link *l, int64_t most_ms)
{
    char why[64];
    const char *whose = l->state == LINK_RESOLVING ? "the name lookup has had " : "";
    snprintf(why, sizeof why, "%sno answer for %lld ms", whose, (long long)most_ms);
    bool has_words = l->wire && *wire_why(l->wire);
    if ((l->sends_again || l->state < LINK_UP) && is_busy(l)) /* a greeting comes again in any case */
        note_slow(l);
    link_break(l, MUSTER_E_TIMEOUT, has_words ? wire_why(l->wire) : why);
}

static void on_watch(evutil_socket_t fd, short what, void *arg)
{
    struct link *l = arg;
    (void)fd, (void)what;
    if (!is_waiting(l))
        return;
    if (l->wire) {
        wire_look(l->wire);
        link_note_sign(l);
    }
    int64_t silent_ms = clock_ms() - l->last_sign_ms, most_ms = most_silent_ms(l), again_ms = patience_ms(l);
    if (silent_ms >= most_ms)
        break_for_silence(l, most_ms);
    else /* soon: what is waited for by then may have less time */
        timer_after_ms(l->watch, most_ms - silent_ms < again_ms ? most_ms - silent_ms : again_ms);
}

int link_state_init(struct link *l)
{
    l->watch = evtimer_new(l->base, on_watch, l);
    return l->watch ? MUSTER_OK : MUSTER_E_NOMEM;
}

void link_state_clear(struct link *l)
{
    if (l->watch)
        event_free(l->watch);
}
