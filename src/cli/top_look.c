/* SPDX-License-Identifier: MIT
 *
 * The thread looks, hands over what it saw, and sleeps until the next look, a wish or an action. Actions are the verbs
 * themselves, so their refusals are in the verbs' words.
 */
#include "top_look.h"

#include <cjson/cJSON.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "client.h"
#include "complain.h"
#include "need.h"
#include "now.h"
#include "out.h"
#include "parse.h"
#include "text.h"
#include "verbs.h"

/* How long the end waits for the thread, which may be in a call. */
#define END_MS 100

struct top_look {
    const struct call *call;
    struct muster_client *client;
    struct top_totals *totals;
    int64_t interval_ms;
    int fd;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    char *warned; /* the first line of the library's that no sight has yet; NULL: there is none */
    size_t n_warned;

    /* under the mutex */
    bool is_ending, is_wished, has_sight, has_action;
    enum top_view_id view;
    enum top_action action;
    char *queue, *name, *said;
    struct top_sight sight;
};

void top_look_clear(struct top_sight *s)
{
    free(s->queue);
    free(s->trouble);
    free(s->note);
    top_list_free(s->list);
    *s = (struct top_sight){.list = NULL};
}

static void tell(struct top_look *l)
{
    (void)eventfd_write(l->fd, 1);
}

/* The first refusal is the cause; a note stands only if nothing was refused. */
struct heard {
    char *words;
    bool is_refusal;
};

static void hear(const char *error, const char *message, void *arg)
{
    struct heard *h = arg;
    if (h->is_refusal || (h->words && !error))
        return;
    free(h->words);
    h->words = text_safe(message, strlen(message));
    h->is_refusal = error;
}

/* ---- what the library says ---- */

/* On standard error it would lie over the screen, and move it. Traces are what somebody has asked for there. */
static void on_library_line(enum muster_log_level level, const char *text, void *arg)
{
    struct top_look *l = arg;
    if (level == MUSTER_LOG_DEBUG)
        fprintf(stderr, "%s\n", text);
    else if (level <= MUSTER_LOG_WARN && l->n_warned++ == 0)
        l->warned = need(strdup(text));
}

static char *take_warned(struct top_look *l)
{
    char *note = l->warned;
    if (l->n_warned > 1) {
        if (asprintf(&note, "%s (and %zu more)", l->warned, l->n_warned - 1) < 0)
            need(NULL);
        free(l->warned);
    }
    l->warned = NULL;
    l->n_warned = 0;
    return note;
}

/* ---- actions ---- */

static const struct {
    const struct command *verb;
    const char *flag, *done;
} verbs[] = {
    [TOP_PAUSE] = {&cmd_pause, NULL, "paused"},
    [TOP_RESUME] = {&cmd_resume, NULL, "resumed"},
    [TOP_CANCEL] = {&cmd_cancel, "process", "told to stop"},
};

static char *said_of(const char *name, const char *done, const struct heard *h, int code)
{
    char *said = NULL, *shown = text_printable(name, strlen(name), SIZE_MAX);
    int n = code ? asprintf(&said, "%s: %s", shown, h->words ? h->words : "it failed")
                 : asprintf(&said, "%s: %s%s%s", shown, done, h->words ? "; " : "", h->words ? h->words : "");
    free(shown);
    return n < 0 ? need(NULL) : said;
}

static char *act(struct top_look *l, enum top_action action, char *name)
{
    struct heard heard = {.words = NULL};
    struct call call = {.command = verbs[action].verb, .operands = &name, .n_operands = 1};
    const struct parse_value values[] = {{verbs[action].flag, NULL}};
    cJSON *rows = need(cJSON_CreateArray());
    client_lend(l->client);
    complain_to(hear, &heard);
    out_collect(rows);
    int code = parse_values(&call, l->call, values, verbs[action].flag ? 1 : 0);
    if (!code)
        code = call.command->run(&call);
    out_collect(NULL);
    complain_to(NULL, NULL);
    client_lend(NULL);
    parse_clear(&call);
    cJSON_Delete(rows);
    char *said = said_of(name, verbs[action].done, &heard, code);
    free(heard.words);
    return said;
}

/* ---- looks ---- */

static void look(struct top_look *l, struct top_sight *s)
{
    struct heard heard = {.words = NULL};
    int64_t from = now_ms();
    int err = top_views_fill(s->view, l->client, s->queue, l->totals, &s->list);
    if (err == MUSTER_OK) {
        s->note = take_warned(l);
    } else {
        complain_to(hear, &heard);
        (void)complain_error(l->call, err, muster_client_error(l->client));
        complain_to(NULL, NULL);
        top_list_free(s->list);
        s->list = NULL;
        s->trouble = heard.words;
    }
    s->at_ms = s->note_at_ms = now_ms();
    s->took_ms = s->at_ms - from;
}

/* Sleep until there is something to do. With the mutex. */
static void rest(struct top_look *l, int64_t until_ms)
{
    const struct timespec until = {until_ms / 1000, until_ms % 1000 * 1000000};
    while (!l->is_ending && !l->is_wished && !l->has_action && now_ms() < until_ms)
        (void)pthread_cond_timedwait(&l->changed, &l->mutex, &until);
}

/* With the mutex, which it gives up meanwhile. */
static void act_once(struct top_look *l)
{
    pthread_mutex_unlock(&l->mutex);
    char *said = act(l, l->action, l->name); /* nobody else writes these while there is an action */
    pthread_mutex_lock(&l->mutex);
    free(l->said);
    l->said = said;
    l->has_action = false;
    tell(l);
}

static void look_once(struct top_look *l)
{
    struct top_sight s = {.view = l->view, .queue = l->queue ? need(strdup(l->queue)) : NULL};
    l->is_wished = false;
    pthread_mutex_unlock(&l->mutex);
    look(l, &s);
    pthread_mutex_lock(&l->mutex);
    top_look_clear(&l->sight);
    l->sight = s;
    l->has_sight = true;
    tell(l);
}

static void *run(void *arg)
{
    struct top_look *l = arg;
    pthread_mutex_lock(&l->mutex);
    for (;;) {
        if (l->has_action) /* also at the end: it was promised */
            act_once(l);
        if (l->is_ending)
            break;
        look_once(l);
        rest(l, now_ms() + l->interval_ms);
    }
    pthread_mutex_unlock(&l->mutex);
    return NULL;
}

/* ---- from outside ---- */

struct top_look *top_look_start(const struct call *call, struct muster_client *client, int64_t interval_ms)
{
    struct top_look *l = need(calloc(1, sizeof *l));
    pthread_condattr_t attributes;
    sigset_t all, before;
    *l = (struct top_look){.call = call, .client = client, .interval_ms = interval_ms};
    l->totals = top_views_totals();
    l->fd = need_descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    pthread_mutex_init(&l->mutex, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&l->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    muster_log_set(on_library_line, l);
    sigfillset(&all); /* signals are the terminal's */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int err = pthread_create(&l->thread, NULL, run, l);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return err ? need(NULL) : l;
}

void top_look_at(struct top_look *l, enum top_view_id view, const char *queue)
{
    pthread_mutex_lock(&l->mutex);
    l->view = view;
    free(l->queue);
    l->queue = queue ? need(strdup(queue)) : NULL;
    l->is_wished = true;
    pthread_cond_signal(&l->changed);
    pthread_mutex_unlock(&l->mutex);
}

bool top_look_act(struct top_look *l, enum top_action action, const char *name)
{
    pthread_mutex_lock(&l->mutex);
    bool is_free = !l->has_action;
    if (is_free) {
        free(l->name);
        l->name = need(strdup(name));
        l->action = action;
        l->has_action = true;
        pthread_cond_signal(&l->changed);
    }
    pthread_mutex_unlock(&l->mutex);
    return is_free;
}

int top_look_fd(const struct top_look *l)
{
    return l->fd;
}

bool top_look_take(struct top_look *l, struct top_sight *out)
{
    eventfd_t n;
    (void)eventfd_read(l->fd, &n);
    pthread_mutex_lock(&l->mutex);
    bool has_sight = l->has_sight;
    if (has_sight) {
        *out = l->sight;
        l->sight = (struct top_sight){.list = NULL};
        l->has_sight = false;
    }
    pthread_mutex_unlock(&l->mutex);
    return has_sight;
}

char *top_look_take_said(struct top_look *l)
{
    pthread_mutex_lock(&l->mutex);
    char *said = l->said;
    l->said = NULL;
    pthread_mutex_unlock(&l->mutex);
    return said;
}

bool top_look_is_acting(struct top_look *l)
{
    pthread_mutex_lock(&l->mutex);
    bool is_acting = l->has_action;
    pthread_mutex_unlock(&l->mutex);
    return is_acting;
}

static bool join(struct top_look *l, bool is_acting)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += END_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    return (is_acting ? pthread_join(l->thread, NULL) : pthread_timedjoin_np(l->thread, NULL, &until)) == 0;
}

bool top_look_end(struct top_look *l, char **said)
{
    pthread_mutex_lock(&l->mutex);
    bool is_acting = l->has_action;
    l->is_ending = true;
    pthread_cond_signal(&l->changed);
    pthread_mutex_unlock(&l->mutex);
    bool has_ended = join(l, is_acting);
    *said = top_look_take_said(l);
    if (!has_ended)
        return false;
    muster_client_free(l->client);
    muster_log_set(NULL, NULL);
    free(l->warned);
    top_views_totals_free(l->totals);
    top_look_clear(&l->sight);
    free(l->queue);
    free(l->name);
    close(l->fd);
    pthread_cond_destroy(&l->changed);
    pthread_mutex_destroy(&l->mutex);
    free(l);
    return true;
}
