/* SPDX-License-Identifier: MIT
 *
 * What a worker's health is: it is registered and heard, it hears messages, and its loop goes round.
 */
#include "status.h"

#include <cjson/cJSON.h>
#include <event2/event.h>
#include <event2/http.h>
#include <limits.h>
#include <muster/stats.h>
#include <muster/version.h>
#include <muster/worker.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "http.h"
#include "metrics.h"
#include "metrics_worker.h"
#include "need.h"
#include "now.h"
#include "text.h"

/* A loop that is silent for longer stands still. It is several beats, so that a busy machine is not taken for that. */
#define STUCK_MS 3000

/* X(state, name, error): what a worker can be, in the order in which it is looked for. */
#define STATES(X)                                      \
    X(STATE_STUCK, "stuck", "E_TIMEOUT")               \
    X(STATE_STOPPING, "stopping", "E_STATE")           \
    X(STATE_CONNECTING, "connecting", "E_NOT_STARTED") \
    X(STATE_SUSPENDED, "suspended", "E_CONN")          \
    X(STATE_DEAF, "deaf", "E_CONN")                    \
    X(STATE_UNHEARD, "unheard", "E_CONN")              \
    X(STATE_WELL, "well", NULL)

enum state {
#define STATE_ENUM(state, name, error) state,
    STATES(STATE_ENUM)
#undef STATE_ENUM
};

static const struct {
    const char *name, *error;
} states[] = {
#define STATE_ROW(state, name, error) [state] = {name, error},
    STATES(STATE_ROW)
#undef STATE_ROW
};

struct status {
    const struct status_options *options;
    char host[HOST_NAME_MAX + 1];
    struct event_base *base;
    struct http *http;
    pthread_t thread;
    int end_fd;
    struct event *on_end;
    atomic_int_least64_t beat_ms;

    pthread_mutex_t lock;
    char error[32], message[600]; /* under the lock; empty: there is no trouble */
};

/* ---- the worker's loop ---- */

void status_beat(struct status *s)
{
    if (s)
        atomic_store(&s->beat_ms, now_ms());
}

void status_note_trouble(struct status *s, const char *error, const char *message)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    snprintf(s->error, sizeof s->error, "%s", message ? error : "");
    snprintf(s->message, sizeof s->message, "%s", message ? message : "");
    pthread_mutex_unlock(&s->lock);
}

/* ---- its health ---- */

struct health {
    struct muster_worker_stats stats;
    int64_t silent_ms; /* since the loop went round */
    enum state state;
};

static enum state state_of(const struct status *s, const struct health *h)
{
    if (h->silent_ms > STUCK_MS)
        return STATE_STUCK;
    if (h->stats.stopping)
        return STATE_STOPPING;
    if (!h->stats.registered)
        return STATE_CONNECTING;
    if (h->stats.in_doubt)
        return STATE_SUSPENDED;
    if (!h->stats.subscribed)
        return STATE_DEAF;
    if (h->stats.heard_ms < 0 || h->stats.heard_ms > s->options->ttl_ms)
        return STATE_UNHEARD;
    return STATE_WELL;
}

static struct health look(const struct status *s)
{
    struct health h = {.stats = {.size = sizeof h.stats}};
    (void)muster_worker_stats(s->options->worker, &h.stats); /* only a wrong size is refused */
    h.silent_ms = now_ms() - atomic_load(&s->beat_ms);
    h.state = state_of(s, &h);
    return h;
}

/* What Redis or the way to it said, if it is that. */
static const char *trouble_of(const char *message)
{
    return *message ? message : "there is no answer of Redis yet";
}

/* Under the lock. */
static void write_words(const struct status *s, const struct health *h, char *out, size_t size)
{
    const struct muster_worker_stats *stats = &h->stats;
    switch (h->state) {
    case STATE_STUCK:
        snprintf(out, size, "the worker's loop stands still for %lld ms: its heartbeats are late, too",
                 (long long)h->silent_ms);
        break;
    case STATE_STOPPING:
        snprintf(out, size, "the worker stops: it takes nothing more, and %lld %s", (long long)stats->running,
                 stats->running == 1 ? "handler runs" : "handlers run");
        break;
    case STATE_CONNECTING:
        snprintf(out, size, "the worker is not registered: %s", trouble_of(s->message));
        break;
    case STATE_SUSPENDED:
        snprintf(out, size, "no heartbeat was confirmed for the whole ttl, nothing is started until one is: %s",
                 trouble_of(s->message));
        break;
    case STATE_DEAF:
        snprintf(out, size, "the worker hears no messages, and is woken by its heartbeats alone: %s",
                 trouble_of(s->message));
        break;
    case STATE_UNHEARD:
        snprintf(out, size, "no heartbeat was confirmed for %lld ms: %s", (long long)stats->heard_ms,
                 trouble_of(s->message));
        break;
    case STATE_WELL:
        *out = '\0';
    }
}

/* The error of the trouble says more than that of the state. */
static void add_trouble(struct status *s, const struct health *h, cJSON *object)
{
    char words[800];
    bool is_by_redis = h->state != STATE_STUCK && h->state != STATE_STOPPING;
    pthread_mutex_lock(&s->lock);
    write_words(s, h, words, sizeof words);
    need(cJSON_AddStringToObject(object, "error", is_by_redis && *s->error ? s->error : states[h->state].error));
    pthread_mutex_unlock(&s->lock);
    char *safe = text_safe(words, strlen(words));
    need(cJSON_AddStringToObject(object, "message", safe));
    free(safe);
}

static void tell_health(struct status *s, struct evhttp_request *request)
{
    const struct health h = look(s);
    cJSON *object = need(cJSON_CreateObject());
    need(cJSON_AddStringToObject(object, "state", states[h.state].name));
    if (h.state != STATE_WELL)
        add_trouble(s, &h, object);
    need(cJSON_AddStringToObject(object, "worker", muster_worker_id(s->options->worker)));
    http_reply_json(s->http, request, h.state == STATE_WELL ? 200 : 503, object);
}

/* ---- what else is asked for ---- */

static void tell_metrics(struct status *s, struct evhttp_request *request)
{
    const struct health h = look(s);
    const struct metrics_worker m = {&h.stats, h.state == STATE_WELL, (double)h.silent_ms / 1000};
    char *text = metrics_worker_text(&m);
    http_reply(s->http, request, 200, METRICS_TYPE, text, strlen(text));
    free(text);
}

/* JSON has only UTF-8. */
static cJSON *name_item(const char *name)
{
    char *shown = text_printable(name, strlen(name), SIZE_MAX);
    cJSON *item = need(cJSON_CreateString(text_is_utf8(name, strlen(name)) ? name : shown));
    free(shown);
    return item;
}

static void tell_who(struct status *s, struct evhttp_request *request)
{
    const struct status_options *o = s->options;
    const char *prefix = o->call->common[OPT_PREFIX].text;
    const struct health h = look(s);
    cJSON *object = need(cJSON_CreateObject()), *queues, *paths;
    need(cJSON_AddStringToObject(object, "worker", muster_worker_id(o->worker)));
    need(cJSON_AddStringToObject(object, "state", states[h.state].name));
    need(cJSON_AddStringToObject(object, "host", s->host));
    need(cJSON_AddNumberToObject(object, "pid", getpid()));
    need(cJSON_AddStringToObject(object, "version", muster_version()));
    need(cJSON_AddStringToObject(object, "prefix", prefix && *prefix ? prefix : "muster"));
    need(cJSON_AddNumberToObject(object, "ttl_ms", (double)o->ttl_ms));
    need(cJSON_AddNumberToObject(object, "hands", (double)h.stats.hands));
    queues = need(cJSON_AddArrayToObject(object, "queues"));
    for (size_t i = 0; i < o->n_queues; i++)
        cJSON_AddItemToArray(queues, name_item(o->queues[i]));
    paths = need(cJSON_AddArrayToObject(object, "paths"));
    cJSON_AddItemToArray(paths, need(cJSON_CreateString("/healthz")));
    cJSON_AddItemToArray(paths, need(cJSON_CreateString("/metrics")));
    http_reply_json(s->http, request, 200, object);
}

static void serve_known(struct status *s, struct evhttp_request *request, const char *path)
{
    if (evhttp_request_get_command(request) == EVHTTP_REQ_POST)
        http_refuse(s->http, request, 405, "E_INVALID", "here nothing is changed");
    else if (strcmp(path, "/") == 0)
        tell_who(s, request);
    else if (strcmp(path, "/healthz") == 0)
        tell_health(s, request);
    else if (strcmp(path, "/metrics") == 0)
        tell_metrics(s, request);
    else
        http_refuse(s->http, request, 404, "E_NOT_FOUND", "there is nothing but /, /healthz and /metrics");
}

static void serve(void *arg, struct evhttp_request *request, const char *path, const char *query)
{
    struct status *s = arg;
    (void)query;
    if (guard_knows(http_guard(s->http), request))
        serve_known(s, request, path);
    else
        http_refuse(s->http, request, 401, "E_DENIED", "a token is needed: Authorization: Bearer");
}

/* ---- its life ---- */

static void on_end(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    event_base_loopbreak(arg);
}

static void *serve_until_end(void *arg)
{
    struct status *s = arg;
    event_base_dispatch(s->base);
    return NULL;
}

/* The signals are the worker's: their handlers may not run in a thread that it does not know. */
static void begin_thread(struct status *s)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    if (pthread_create(&s->thread, NULL, serve_until_end, s) != 0)
        need(NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

struct status *status_start(const struct status_options *o)
{
    struct status *s = need(calloc(1, sizeof *s));
    s->options = o;
    s->base = need(event_base_new());
    s->http = http_new(o->call, s->base, &o->place, serve, s);
    if (!s->http) {
        event_base_free(s->base);
        free(s);
        return NULL;
    }
    (void)gethostname(s->host, sizeof s->host - 1);
    pthread_mutex_init(&s->lock, NULL);
    s->end_fd = need_descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    s->on_end = need(event_new(s->base, s->end_fd, EV_READ, on_end, s->base));
    event_add(s->on_end, NULL);
    status_beat(s);
    begin_thread(s);
    return s;
}

void status_stop(struct status *s)
{
    if (!s)
        return;
    (void)!write(s->end_fd, &(uint64_t){1}, sizeof(uint64_t));
    pthread_join(s->thread, NULL);
    event_free(s->on_end);
    close(s->end_fd);
    http_free(s->http);
    event_base_free(s->base);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

char *status_url(const struct status *s)
{
    return http_url(s->http);
}
