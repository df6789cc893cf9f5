/* SPDX-License-Identifier: MIT
 *
 * Telling the program: its callback for events, and each refusal once.
 */
#include "worker/tell.h"

#include <event2/event.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/words.h"
#include "worker/worker.h"

/* Longer than any words of an event. */
#define TEXT_MAX 1024

void tell_enter(struct muster_worker *w)
{
    w->tell.depth++;
}

void tell_leave(struct muster_worker *w)
{
    if (--w->tell.depth == 0 && w->is_free_due)
        event_active(w->reaper, EV_TIMEOUT, 1);
}

/* `out` is one of those that the lock is for. What comes behind has "; " before it, and is not said twice: each of several
 * commands may find the same reason to stop. */
__attribute__((format(printf, 4, 0))) static void set_words(struct muster_worker *w, char out[TELL_ERROR_SIZE],
                                                            bool is_behind, const char *format, va_list args)
{
    char words[TELL_ERROR_SIZE];
    vsnprintf(words, sizeof words, format, args);
    words_clean(words);
    pthread_mutex_lock(&w->tell.lock);
    size_t len = is_behind ? strlen(out) : 0;
    if (len == 0 || !strstr(out, words))
        snprintf(out + len, TELL_ERROR_SIZE - len, "%s%s", len > 0 ? "; " : "", words);
    pthread_mutex_unlock(&w->tell.lock);
}

void tell_error(struct muster_worker *w, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set_words(w, w->tell.error, false, format, args);
    va_end(args);
}

int tell_error_as(struct muster_worker *w, int err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set_words(w, w->tell.error, false, format, args);
    va_end(args);
    return err;
}

void tell_why(struct muster_worker *w, int err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set_words(w, w->tell.why, true, format, args);
    va_end(args);
    if (w->result == MUSTER_OK)
        w->result = err;
    tell_error(w, "%s", w->tell.why);
}

/* Its locks may have been held by a thread that a child of fork() does not have. */
const char *muster_worker_error(const struct muster_worker *worker)
{
    static _Thread_local char copy[TELL_ERROR_SIZE];
    struct muster_worker *w = (struct muster_worker *)worker; /* its lock is no part of what it is */
    if (!worker_is_own(w))
        return "this worker is the parent's: a child of fork() makes its own";
    struct tell *t = &w->tell;
    char *to = round_is_in_loop(w) ? t->shown : copy;
    pthread_mutex_lock(&t->lock);
    memcpy(to, t->is_over && *t->why ? t->why : t->error, TELL_ERROR_SIZE);
    pthread_mutex_unlock(&t->lock);
    return to;
}

/* Its words may have a name or a refusal in them that somebody else has written. Handlers that were left running have
 * limits still, and ends: nobody hears of these after STOPPED. */
static void tell(struct muster_worker *w, const struct muster_event *e)
{
    char text[TEXT_MAX];
    struct muster_event clean = *e;
    if (w->is_free_due || (w->tell.is_over && e->type != MUSTER_EVENT_STOPPED))
        return;
    snprintf(text, sizeof text, "%s", e->text);
    words_clean(text);
    clean.text = text;
    if (!w->on_event && outbox_is_heard(w)) {
        outbox_event(w, &clean);
        return;
    }
    if (!w->on_event) {
        tell_log_event(w, &clean);
        return;
    }
    tell_enter(w);
    w->on_event(w, &clean, w->arg);
    tell_leave(w);
}

void tell_event(struct muster_worker *w, enum muster_event_type type, int err, const char *text,
                struct muster_process *process)
{
    if (text && err != MUSTER_OK && !w->tell.is_over)
        tell_error(w, "%s", text);
    tell(w, &(struct muster_event){.type = type, .err = err, .text = text ? text : "", .process = process});
}

void tell_stopped(struct muster_worker *w)
{
    pthread_mutex_lock(&w->tell.lock);
    w->tell.is_over = true;
    pthread_mutex_unlock(&w->tell.lock);
    tell_event(w, MUSTER_EVENT_STOPPED, w->result, w->result == MUSTER_OK ? NULL : w->tell.why, NULL);
}

void tell_queue_event(struct muster_worker *w, enum muster_event_type type, const char *queue, struct muster_bytes task)
{
    tell(w, &(struct muster_event){.type = type, .text = "", .queue = queue, .task = task.data, .len = task.len});
}

void tell_end(struct muster_process *p, enum muster_outcome outcome)
{
    struct muster_worker *w = p->worker;
    const struct muster_end end = {
        .process = p,
        .outcome = outcome,
        .group = p->group ? p->group : "",
        .message = p->message ? p->message : "",
        .waited_ms = p->job ? p->job->waited_ms : -1,
        .ran_ms = (p->ended_us - p->began_us) / 1000,
        .by_command = p->is_ended,
    };
    if (w->is_free_due || w->tell.is_over)
        return;
    tell_enter(w);
    w->on_end(w, &end, w->arg);
    tell_leave(w);
}

/* `what`: a number, and the setting that bounds the list. */
void tell_dropped(struct muster_worker *w, const char *queue, const char *what)
{
    char line[MUSTER_QUEUE_MAX + 160];
    size_t digits = strspn(what, "0123456789");
    snprintf(line, sizeof line, "the failed list of '%s' is beyond%s: its oldest entries went, %.*s of them", queue,
             what + digits, (int)digits, what);
    tell(w, &(struct muster_event){.type = MUSTER_EVENT_DROPPED, .text = line, .queue = queue});
}

#define FULL_ADVICE "; `muster queues` shows how many bytes failed lists hold, `muster drop` forgets what is on them"

static const char *const request_names[] = {
#define REQUEST_NAME(name, text) [name] = (text),
    REQUESTS(REQUEST_NAME)
#undef REQUEST_NAME
};

static void say_refusal(char out[TELL_REFUSAL_SIZE], enum request request, int err, const char *text)
{
    size_t size = TELL_REFUSAL_SIZE;
    size_t len = (size_t)snprintf(out, size, "%s was refused: ", request_names[request]);
    reply_refusal_words(out + len, size - len, text ? text : muster_err_text(err));
    len = strlen(out);
    if (err == MUSTER_E_FULL)
        snprintf(out + len, size - len, "%s", FULL_ADVICE);
    words_clean(out);
}

void tell_refused(struct muster_worker *w, enum request request, int err, const char *text)
{
    struct tell *t = &w->tell;
    struct last_refusal refusal = {.number = ++t->n_refused, .err = err};
    bool was_told = t->refused & 1u << request;
    t->refused |= 1u << request;
    say_refusal(refusal.words, request, err, text);
    if (request <= REQUEST_STOP)
        t->refusals[request] = refusal;
    figures_add(&w->figures.refusals, 1);
    if (!was_told)
        tell_event(w, MUSTER_EVENT_REFUSED, err, refusal.words, NULL);
}

void tell_refused_for_key(struct muster_worker *w, enum request request, const char *key)
{
    char line[KEY_MAX + 80];
    snprintf(line, sizeof line, TELL_WRONG_TYPE, key);
    tell_refused(w, request, MUSTER_E_REDIS, line);
}

const char *tell_refusal(const struct muster_worker *w, int *err)
{
    const struct tell *t = &w->tell;
    const struct last_refusal *last = NULL;
    for (unsigned i = 0; i <= REQUEST_STOP; i++)
        if (t->refused & 1u << i && (!last || t->refusals[i].number > last->number))
            last = &t->refusals[i];
    if (!last)
        return NULL;
    *err = last->err;
    return last->words;
}

void tell_accepted(struct muster_worker *w, enum request request)
{
    w->tell.refused &= ~(1u << request);
}

void tell_damaged(struct muster_worker *w, const char *key)
{
    struct tell *t = &w->tell;
    char line[KEY_MAX + 80];
    const bool was_told = t->damage_told;
    t->damage_told = key || t->damage_met;
    t->damage_met = key != NULL;
    figures_add(&w->figures.refusals, key != NULL);
    if (!key || was_told)
        return;
    snprintf(line, sizeof line, "the key '%s' has a wrong type; its queue or worker is passed over", key);
    tell_event(w, MUSTER_EVENT_REFUSED, MUSTER_E_REDIS, line, NULL);
}

/* ---- life ---- */

void tell_new(struct muster_worker *w)
{
    pthread_mutex_init(&w->tell.lock, NULL);
}

void tell_free(struct muster_worker *w)
{
    pthread_mutex_destroy(&w->tell.lock);
}
