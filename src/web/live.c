/* SPDX-License-Identifier: MIT
 *
 * What is sent is made once for all viewers. A viewer for whom more than UNSENT_MAX waits for longer than
 * PATIENCE_MS is cut off: a stream that is skipped in places would show what is not so.
 */
#include "live.h"

#include <cjson/cJSON.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/http.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "need.h"
#include "now.h"
#include "server_reply.h"

#define UNSENT_MAX ((size_t)2 * 1024 * 1024)
#define UNSENT_LIMIT ((size_t)32 * 1024 * 1024)
#define PATIENCE_MS 5000

struct viewer {
    struct live *live;
    struct evhttp_request *request;
    int64_t behind_since_ms; /* since when more than UNSENT_MAX waits for it; 0: it does not */
    bool is_dropped;         /* its connection is cut, and libevent has not noticed yet */
};

struct live {
    struct conns *conns;
    struct viewer *viewers[LIVE_MAX];
    size_t n, n_dropped;
    char *hearing; /* whether events of jobs are heard, as JSON; NULL: nothing was said of it */
};

struct live *live_new(struct conns *conns)
{
    struct live *l = need(calloc(1, sizeof *l));
    l->conns = conns;
    return l;
}

void live_free(struct live *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->viewers[i]);
    free(l->hearing);
    free(l);
}

static void remove_viewer(struct viewer *v)
{
    struct live *l = v->live;
    for (size_t i = 0; i < l->n; i++)
        if (l->viewers[i] == v)
            l->viewers[i] = l->viewers[--l->n];
    free(v);
}

/* libevent leaves a request that was not finished to us, and has taken its connection from it. */
static void on_close(struct evhttp_connection *connection, void *arg)
{
    struct viewer *v = arg;
    (void)connection;
    if (!evhttp_request_get_connection(v->request))
        evhttp_send_reply_end(v->request);
    remove_viewer(v);
}

static void drop(struct viewer *v)
{
    v->live->n_dropped += !v->is_dropped;
    v->is_dropped = true;
    conns_cut(v->request);
}

/* The rows of many queues are more than UNSENT_MAX by themselves: one who reads must have the time to read them. */
static bool is_too_slow(struct viewer *v)
{
    size_t unsent = conns_unsent(v->request);
    if (unsent <= UNSENT_MAX)
        v->behind_since_ms = 0;
    else if (v->behind_since_ms == 0)
        v->behind_since_ms = now_ms();
    return unsent > UNSENT_LIMIT || (v->behind_since_ms && now_ms() - v->behind_since_ms > PATIENCE_MS);
}

static void send_to(struct viewer *v, const char *text, size_t len)
{
    if (v->is_dropped || is_too_slow(v)) {
        drop(v);
        return;
    }
    struct evbuffer *buffer = need(evbuffer_new());
    evbuffer_add(buffer, text, len);
    evhttp_send_reply_chunk(v->request, buffer);
    evbuffer_free(buffer);
}

static char *event_text(const char *kind, const char *json)
{
    char *text;
    if (asprintf(&text, "event: %s\ndata: %s\n\n", kind, json) < 0)
        need(NULL);
    return text;
}

static char *event_of(const char *kind, const cJSON *object)
{
    char *json = need(cJSON_PrintUnformatted(object));
    char *text = event_text(kind, json);
    free(json);
    return text;
}

static void tell_all(struct live *l, char *text)
{
    size_t len = strlen(text);
    for (size_t i = 0; i < l->n; i++)
        send_to(l->viewers[i], text, len);
    free(text);
}

static bool is_any(const cJSON *change)
{
    return cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(change, "items")) > 0 ||
           cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(change, "gone")) > 0;
}

static cJSON *trouble(const struct sight *s)
{
    cJSON *object = need(cJSON_CreateObject());
    need(cJSON_AddStringToObject(object, "error", s->error));
    need(cJSON_AddStringToObject(object, "message", s->message));
    return object;
}

void live_tell_sight(struct live *l, const struct sight *sight)
{
    if (l->n == 0)
        return;
    if (sight->error) {
        cJSON *object = trouble(sight);
        tell_all(l, event_of("trouble", object));
        cJSON_Delete(object);
        return;
    }
    tell_all(l, event_of("overview", sight->overview));
    if (is_any(sight->queues_changed))
        tell_all(l, event_of("queues", sight->queues_changed));
    if (is_any(sight->workers_changed))
        tell_all(l, event_of("workers", sight->workers_changed));
}

void live_tell(struct live *l, const char *kind, const char *text)
{
    if (strcmp(kind, "hearing") == 0) {
        free(l->hearing);
        l->hearing = text ? need(strdup(text)) : NULL;
    }
    if (text && l->n > 0)
        tell_all(l, event_text(kind, text));
}

/* Frees the text. */
static void tell_one(struct viewer *v, char *text)
{
    send_to(v, text, strlen(text));
    free(text);
}

/* All that is there. */
static void tell_whole(struct viewer *v, const char *kind, const cJSON *rows)
{
    cJSON *object = need(cJSON_CreateObject());
    cJSON_AddItemReferenceToObject(object, "items", (cJSON *)rows);
    need(cJSON_AddArrayToObject(object, "gone"));
    tell_one(v, event_of(kind, object));
    cJSON_Delete(object);
}

/* To one who has just come. An overview ends a trouble, so in one there is none. */
static void tell_sight(struct viewer *v, const struct sight *sight)
{
    if (sight->overview && !sight->error)
        tell_one(v, event_of("overview", sight->overview));
    if (sight->overview) {
        tell_whole(v, "queues", sight->queues);
        tell_whole(v, "workers", sight->workers);
    }
    if (sight->error) {
        cJSON *object = trouble(sight);
        tell_one(v, event_of("trouble", object));
        cJSON_Delete(object);
    }
}

bool live_add(struct live *l, struct evhttp_request *request, const struct sight *sight)
{
    if (l->n == LIVE_MAX)
        return false;
    struct viewer *v = l->viewers[l->n++] = need(calloc(1, sizeof *v));
    struct evhttp_connection *connection = evhttp_request_get_connection(request);
    struct evkeyvalq *headers = evhttp_request_get_output_headers(request);
    *v = (struct viewer){.live = l, .request = request};
    server_headers(request);
    evhttp_add_header(headers, "Content-Type", "text/event-stream; charset=utf-8");
    evhttp_add_header(headers, "Cache-Control", "no-store");
    evhttp_connection_set_closecb(connection, on_close, v);
    bufferevent_set_timeouts(evhttp_connection_get_bufferevent(connection), NULL, NULL); /* a viewer only listens */
    evhttp_send_reply_start(request, 200, "OK");
    send_to(v, ": muster\n\n", strlen(": muster\n\n"));
    if (l->hearing)
        tell_one(v, event_text("hearing", l->hearing));
    if (sight)
        tell_sight(v, sight);
    return true;
}

size_t live_dropped(const struct live *l)
{
    return l->n_dropped;
}

size_t live_count(const struct live *l)
{
    return l->n;
}
