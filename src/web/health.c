/* SPDX-License-Identifier: MIT
 *
 * The words are those that a verb of the command would print.
 */
#include "health.h"

#include <cjson/cJSON.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "client.h"
#include "http.h"
#include "need.h"
#include "now.h"
#include "work.h"

#define KNOWN_MS 1000
/* Shorter than the patience, so that what Redis says is told, and not that it says nothing. */
#define TIMEOUT_MS 1500
#define PATIENCE_MS 2000
#define WAITING_MAX 256

struct health {
    struct call call; /* with a timeout of its own */
    enum muster_probe what;
    struct http *http;
    struct work *work;

    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t has_changed;
    bool is_asked, is_ending;

    /* the loop's */
    bool is_trying;
    int64_t known_until_ms;
    double took_ms;
    char *error, *message; /* NULL: all is well */
    struct waiting {
        struct evhttp_request *request;
        int64_t until_ms;
    } waiting[WAITING_MAX];
    size_t n;
};

/* ---- the thread ---- */

static int run_write(const struct call *call)
{
    struct muster_client *client;
    int code = client_open(call, &client);
    return code ? code : client_close(call, client, muster_client_probe(client, MUSTER_PROBE_WRITE));
}

static int run_read(const struct call *call)
{
    struct muster_client *client;
    int code = client_open(call, &client);
    return code ? code : client_close(call, client, muster_client_probe(client, MUSTER_PROBE_READ));
}

static const struct opt no_options[] = {{.help = NULL}};
static const struct command verbs[] = {
    [MUSTER_PROBE_READ] = {.name = "web", .options = no_options, .run = run_read},
    [MUSTER_PROBE_WRITE] = {.name = "web", .options = no_options, .run = run_write},
};
static const struct route nothing = {.shape = ASK_ITEMS};

/* What the thread has found. */
struct tried {
    struct health *health;
    struct ask *ask;
    double took_ms;
};

static void on_tried(void *arg);

static void try_once(struct health *h, struct muster_client *client)
{
    struct tried *t = need(calloc(1, sizeof *t));
    int64_t began_ms = now_ms();
    t->health = h;
    t->ask = ask_new(&nothing, NULL);
    t->ask->like = &h->call;
    t->ask->client = client;
    (void)ask_run_verb(t->ask, &verbs[h->what], "");
    t->took_ms = (double)(now_ms() - began_ms);
    work_tell(h->work, on_tried, t);
}

/* False: the end. */
static bool wait_until_asked(struct health *h)
{
    pthread_mutex_lock(&h->lock);
    while (!h->is_asked && !h->is_ending)
        pthread_cond_wait(&h->has_changed, &h->lock);
    h->is_asked = false;
    bool goes_on = !h->is_ending;
    pthread_mutex_unlock(&h->lock);
    return goes_on;
}

static void *try_for_ever(void *arg)
{
    struct health *h = arg;
    struct muster_client *client = NULL;
    (void)client_open(&h->call, &client); /* without it each try opens one of its own, and tells why it cannot */
    while (wait_until_asked(h))
        try_once(h, client);
    muster_client_free(client);
    return NULL;
}

/* ---- the loop ---- */

static void tell(struct health *h, struct evhttp_request *request, const char *error, const char *message)
{
    cJSON *object = need(cJSON_CreateObject());
    need(cJSON_AddStringToObject(object, "state", error ? "ill" : "well"));
    need(cJSON_AddStringToObject(object, "tried", h->what == MUSTER_PROBE_READ ? "read" : "write"));
    if (error) {
        need(cJSON_AddStringToObject(object, "error", error));
        need(cJSON_AddStringToObject(object, "message", message));
    } else {
        need(cJSON_AddNumberToObject(object, "took_ms", h->took_ms));
    }
    http_reply_json(h->http, request, error ? 503 : 200, object);
}

static void note(struct health *h, const struct ask *a)
{
    bool has_failed = a->status != 0;
    free(h->error);
    free(h->message);
    h->error = has_failed ? need(strdup(a->error ? a->error : "E_REDIS")) : NULL;
    h->message = has_failed ? need(strdup(a->message ? a->message : "it failed")) : NULL;
}

static void on_tried(void *arg)
{
    struct tried *t = arg;
    struct health *h = t->health;
    note(h, t->ask);
    h->took_ms = t->took_ms;
    h->is_trying = false;
    h->known_until_ms = now_ms() + KNOWN_MS;
    while (h->n > 0)
        tell(h, h->waiting[--h->n].request, h->error, h->message);
    ask_free(t->ask);
    free(t);
}

static void change(struct health *h, bool is_ending)
{
    pthread_mutex_lock(&h->lock);
    h->is_asked = true;
    h->is_ending = is_ending;
    pthread_cond_signal(&h->has_changed);
    pthread_mutex_unlock(&h->lock);
}

void health_ask(struct health *h, struct evhttp_request *request)
{
    if (now_ms() < h->known_until_ms) {
        tell(h, request, h->error, h->message);
        return;
    }
    if (h->n == WAITING_MAX) {
        tell(h, request, "E_BUSY", "too many ask at once; try again");
        return;
    }
    h->waiting[h->n++] = (struct waiting){request, now_ms() + PATIENCE_MS};
    if (!h->is_trying)
        change(h, false);
    h->is_trying = true;
}

void health_sweep(struct health *h)
{
    int64_t now = now_ms();
    for (size_t i = 0; i < h->n;) {
        struct waiting waiting = h->waiting[i];
        if (now <= waiting.until_ms) {
            i++;
            continue;
        }
        h->waiting[i] = h->waiting[--h->n];
        tell(h, waiting.request, "E_TIMEOUT", "Redis does not answer");
    }
}

/* ---- its life ---- */

struct health *health_new(const struct call *call, enum muster_probe what, struct http *http, struct work *work)
{
    struct health *h = need(calloc(1, sizeof *h));
    *h = (struct health){.call = *call, .what = what, .http = http, .work = work};
    h->call.common[OPT_TIMEOUT] = (struct opt_value){.set = true, .number = TIMEOUT_MS, .text = "1500ms"};
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->has_changed, NULL);
    if (pthread_create(&h->thread, NULL, try_for_ever, h) != 0)
        need(NULL);
    return h;
}

void health_stop(struct health *h)
{
    change(h, true);
    pthread_join(h->thread, NULL);
}

void health_end(struct health *h)
{
    while (h->n > 0)
        tell(h, h->waiting[--h->n].request, "E_BUSY", "this server ends");
}

void health_free(struct health *h)
{
    pthread_mutex_destroy(&h->lock);
    pthread_cond_destroy(&h->has_changed);
    free(h->error);
    free(h->message);
    free(h);
}
