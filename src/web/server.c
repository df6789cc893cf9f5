/* SPDX-License-Identifier: MIT
 *
 * The dashboard's server: which path is answered by what, and its life. Nothing here waits.
 */
#include <cjson/cJSON.h>
#include <event2/event.h>
#include <event2/http.h>
#include <muster/version.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "complain.h"
#include "connection.h"
#include "conns.h"
#include "ear.h"
#include "errands.h"
#include "exits.h"
#include "fresh.h"
#include "health.h"
#include "http.h"
#include "live.h"
#include "look.h"
#include "metrics.h"
#include "need.h"
#include "now.h"
#include "params.h"
#include "routes.h"
#include "site.h"
#include "text.h"
#include "web.h"
#include "work.h"

#define SWEEP_MS 200

struct server {
    const struct web_options *options;
    struct event_base *base;
    struct http *http;
    struct work *work;
    struct errands *errands;
    struct look *look;
    struct fresh *fresh;
    struct ear *ear;
    struct live *live;
    struct health *health;
    bool is_ill; /* the last look has failed */
};

static void refuse(struct server *s, struct evhttp_request *request, int status, const char *error, const char *message)
{
    http_refuse(s->http, request, status, error, message);
}

/* ---- errands come back ---- */

/* What the loop knows of the queue beside its row, which is of this moment: rates and history. */
static void add_sight(struct server *s, struct ask *a)
{
    const cJSON *row = look_queue(s->look, a->stars[0]), *each;
    cJSON *history = look_history(s->look, a->stars[0], 0);
    cJSON_ArrayForEach(each, row) if (!cJSON_HasObjectItem(a->whole, each->string))
        cJSON_AddItemToObject(a->whole, each->string, need(cJSON_Duplicate(each, true)));
    if (history)
        cJSON_AddItemToObject(a->whole, "history", history);
}

static void on_errand(void *arg, struct ask *a)
{
    struct server *s = arg;
    if (ask_is_change(a))
        fresh_note_change(s->fresh);
    if (a->whole)
        add_sight(s, a);
}

/* ---- what the loop knows itself ---- */

static cJSON *server_item(const char *url)
{
    char *text = connection_where(url);
    cJSON *item = need(cJSON_CreateString(text));
    free(text);
    return item;
}

/* As the last look has found it; null: not known yet, or this user may not read it. */
static cJSON *engine_item(const struct sight *sight)
{
    const cJSON *redis = sight ? cJSON_GetObjectItemCaseSensitive(sight->overview, "redis") : NULL;
    const cJSON *engine = cJSON_GetObjectItemCaseSensitive(redis, "engine");
    return need(engine ? cJSON_Duplicate(engine, true) : cJSON_CreateNull());
}

static void tell_session(struct server *s, struct evhttp_request *request)
{
    const struct web_options *o = s->options;
    const char *prefix = o->call->common[OPT_PREFIX].text;
    cJSON *object = need(cJSON_CreateObject());
    need(cJSON_AddStringToObject(object, "csrf", http_guard(s->http)->csrf));
    need(cJSON_AddBoolToObject(object, "read_only", o->is_read_only));
    need(cJSON_AddBoolToObject(object, "auth", o->place.token != NULL));
    need(cJSON_AddBoolToObject(object, "many", true));
    need(cJSON_AddStringToObject(object, "version", muster_version()));
    need(cJSON_AddStringToObject(object, "prefix", prefix && *prefix ? prefix : "muster"));
    cJSON_AddItemToObject(object, "server", server_item(o->call->common[OPT_URL].text));
    cJSON_AddItemToObject(object, "engine", engine_item(look_sight(s->look)));
    need(cJSON_AddNumberToObject(object, "now", (double)now_unix_ms()));
    http_reply_json(s->http, request, 200, object);
}

static void tell_rows(struct server *s, struct evhttp_request *request, const cJSON *rows)
{
    cJSON *object = need(cJSON_CreateObject());
    cJSON_AddItemReferenceToObject(object, "items", (cJSON *)rows);
    need(cJSON_AddNullToObject(object, "next"));
    need(cJSON_AddNumberToObject(object, "total", cJSON_GetArraySize(rows)));
    http_reply_json(s->http, request, 200, object);
}

static const char bad_query[] = "the query is name=value, each after an '&'; at most 64 of them";

static void tell_history(struct server *s, struct evhttp_request *request, const char *query)
{
    cJSON *params = params_of_query(query);
    const cJSON *since = cJSON_GetObjectItemCaseSensitive(params, "since");
    const char *text = cJSON_IsString(since) ? since->valuestring : "0";
    int64_t since_ms = 0;
    bool is_good = params && cJSON_GetArraySize(params) == (since != NULL) && text_read_number(&text, &since_ms);
    if (is_good && !*text)
        http_reply_json(s->http, request, 200, look_history(s->look, NULL, since_ms));
    else
        refuse(s, request, 400, "E_INVALID",
               params ? "since=N is a time in ms, and all that is known here" : bad_query);
    cJSON_Delete(params);
}

static const char *api_path(struct evhttp_request *request)
{
    return evhttp_uri_get_path(evhttp_request_get_evhttp_uri(request)) + strlen("/api/");
}

static void tell_sight(void *arg, struct evhttp_request *request, const struct sight *sight)
{
    struct server *s = arg;
    const char *path = api_path(request);
    if (sight->error)
        refuse(s, request, sight->status, sight->error, sight->message);
    else if (strcmp(path, "overview") == 0)
        http_reply_json(s->http, request, 200, need(cJSON_Duplicate(sight->overview, true)));
    else
        tell_rows(s, request, path[0] == 'q' ? sight->queues : sight->workers);
}

/* Once for each change. */
static void log_look(struct server *s, const struct sight *sight)
{
    bool is_ill = sight->error;
    if (is_ill && !s->is_ill)
        complain(s->options->call, "%s; keeps trying", sight->message);
    else if (s->is_ill && !is_ill)
        complain(s->options->call, "Redis answers again");
    s->is_ill = is_ill;
}

static void on_look(void *arg, const struct sight *sight)
{
    struct server *s = arg;
    log_look(s, sight);
    fresh_tell(s->fresh, sight);
    live_tell_sight(s->live, sight);
    if (live_count(s->live) > 0)
        look_want(s->look);
    ear_want(s->ear, live_count(s->live) > 0);
}

static void on_heard(void *arg, const char *kind, const char *text)
{
    struct server *s = arg;
    live_tell(s->live, kind, text);
}

static void go_live(struct server *s, struct evhttp_request *request)
{
    if (evhttp_request_get_command(request) != EVHTTP_REQ_GET) { /* nothing would end its answer */
        refuse(s, request, 405, "E_INVALID", "a stream is asked for with GET");
        return;
    }
    if (!live_add(s->live, request, look_sight(s->look))) {
        refuse(s, request, 503, "E_BUSY", "too many viewers; try again later");
        return;
    }
    look_want(s->look);
    ear_want(s->ear, true);
}

static void tell_metrics(struct server *s, struct evhttp_request *request)
{
    const struct metrics_web web = {conns_count(http_conns(s->http)), live_count(s->live), live_dropped(s->live)};
    look_want(s->look);
    char *text = metrics_text(look_sight(s->look), &web);
    http_reply(s->http, request, 200, METRICS_TYPE, text, strlen(text));
    free(text);
}

/* ---- the API ---- */

static void serve_route(struct server *s, struct evhttp_request *request, const char *method, const char *path,
                        const char *query)
{
    const struct route *route;
    char *stars[ASK_STARS_MAX] = {NULL};
    enum routes_found found = routes_find(method, path, &route, stars);
    bool is_post = strcmp(method, "POST") == 0;
    cJSON *params = found != ROUTES_FOUND ? NULL : is_post ? params_of_body(request) : params_of_query(query);
    if (found == ROUTES_NO_PATH) {
        refuse(s, request, 404, "E_NOT_FOUND", "there is no such path");
    } else if (found == ROUTES_NO_METHOD) {
        refuse(s, request, 405, "E_INVALID", "this path has another method");
    } else if (!params) {
        refuse(s, request, 400, "E_INVALID",
               is_post ? "the body is not a JSON object, not UTF-8, holds a NUL, or a `_base64` that is none"
                       : bad_query);
    } else {
        struct ask *a = ask_new(route, params);
        memcpy(a->stars, stars, sizeof stars);
        errands_send(s->errands, request, a);
        return;
    }
    for (size_t i = 0; i < ASK_STARS_MAX; i++)
        free(stars[i]);
}

static void serve_get(struct server *s, struct evhttp_request *request, const char *path, const char *query)
{
    if (strcmp(path, "session") == 0)
        tell_session(s, request);
    else if (strcmp(path, "overview") == 0 || strcmp(path, "queues") == 0 || strcmp(path, "workers") == 0)
        fresh_ask(s->fresh, request);
    else if (strcmp(path, "history") == 0)
        tell_history(s, request, query);
    else if (strcmp(path, "live") == 0)
        go_live(s, request);
    else
        serve_route(s, request, "GET", path, query);
}

/* Does it show the secret? Otherwise it is refused. */
static bool may_change(struct server *s, struct evhttp_request *request)
{
    bool may = guard_has_csrf(http_guard(s->http), request);
    if (!may)
        refuse(s, request, 403, "E_DENIED", "X-Muster-CSRF is missing or old: get /api/session first");
    return may;
}

static void serve_post(struct server *s, struct evhttp_request *request, const char *path)
{
    if (s->options->is_read_only)
        refuse(s, request, 403, "E_DENIED", "this server is read-only");
    else if (!may_change(s, request))
        return;
    else if (!params_are_json(request))
        refuse(s, request, 415, "E_INVALID", "the body must be application/json");
    else
        serve_route(s, request, "POST", path, NULL);
}

static void log_out(struct server *s, struct evhttp_request *request)
{
    if (may_change(s, request))
        site_log_out(s->http, request);
}

/* ---- all requests ---- */

static void serve_known(struct server *s, struct evhttp_request *request, const char *path, const char *query)
{
    bool is_post = evhttp_request_get_command(request) == EVHTTP_REQ_POST;
    const struct web_page *page = is_post ? NULL : site_find(path);
    if (strncmp(path, "/api/", 5) == 0 && is_post)
        serve_post(s, request, path + 5);
    else if (strncmp(path, "/api/", 5) == 0)
        serve_get(s, request, path + 5, query);
    else if (strcmp(path, "/logout") == 0 && is_post)
        log_out(s, request);
    else if (strcmp(path, "/metrics") == 0 && !is_post)
        tell_metrics(s, request);
    else if (strcmp(path, "/healthz") == 0 && !is_post)
        health_ask(s->health, request);
    else if (page)
        site_serve(s->http, request, page);
    else
        refuse(s, request, 404, "E_NOT_FOUND", "there is no such page");
}

/* Nothing in these is secret, and signing in needs them. */
static bool is_open(const char *path)
{
    return strcmp(path, "/login") == 0 || strncmp(path, "/assets/", strlen("/assets/")) == 0;
}

static void serve(void *arg, struct evhttp_request *request, const char *path, const char *query)
{
    struct server *s = arg;
    bool is_post = evhttp_request_get_command(request) == EVHTTP_REQ_POST;
    if (strcmp(path, "/login") == 0 && is_post)
        site_log_in(s->http, request);
    else if (is_open(path) || guard_knows(http_guard(s->http), request))
        serve_known(s, request, path, query);
    else if (strcmp(path, "/") == 0 && !is_post)
        site_go_to(s->http, request, "/login");
    else
        refuse(s, request, 401, "E_DENIED", "a token is needed: Authorization: Bearer, or /login");
}

/* ---- its life ---- */

static void on_signal(evutil_socket_t number, short what, void *arg)
{
    (void)number, (void)what;
    event_base_loopbreak(arg);
}

static void on_sweep(evutil_socket_t fd, short what, void *arg)
{
    struct server *s = arg;
    (void)fd, (void)what;
    errands_sweep(s->errands);
    fresh_sweep(s->fresh);
    health_sweep(s->health);
}

static void serve_until_signal(struct server *s)
{
    struct event *on_term = need(evsignal_new(s->base, SIGTERM, on_signal, s->base));
    struct event *on_int = need(evsignal_new(s->base, SIGINT, on_signal, s->base));
    struct event *sweeper = need(event_new(s->base, -1, EV_PERSIST, on_sweep, s));
    event_add(on_term, NULL);
    event_add(on_int, NULL);
    event_add(sweeper, &(const struct timeval){.tv_usec = SWEEP_MS * 1000});
    event_base_dispatch(s->base);
    event_free(sweeper);
    event_free(on_term);
    event_free(on_int);
}

static void open_all(struct server *s, const struct call *call)
{
    s->live = live_new(http_conns(s->http));
    s->work = work_new(s->base);
    s->look = look_new(call, s->work, on_look, s);
    s->fresh = fresh_new(s->http, s->look, tell_sight, s);
    s->ear = ear_new(call, s->base, on_heard, s);
    s->health = health_new(call, s->options->is_read_only ? MUSTER_PROBE_READ : MUSTER_PROBE_WRITE, s->http, s->work);
    errands_begin(s->errands, s->http, s->work);
}

static void close_all(struct server *s)
{
    look_stop(s->look);
    health_stop(s->health);
    work_free(s->work);
    fresh_end(s->fresh);
    health_end(s->health);
    ear_free(s->ear);
    look_free(s->look);
    http_free(s->http);
    live_free(s->live);
    fresh_free(s->fresh);
    health_free(s->health);
}

static void tell_place(const struct server *s)
{
    char *url = http_url(s->http);
    complain(s->options->call, "listens at %s", url);
    free(url);
}

int web_run(const struct web_options *o)
{
    struct server s = {.options = o};
    int code = errands_new(&s.errands, o->call, on_errand, &s);
    if (code)
        return code;
    s.base = need(event_base_new());
    s.http = http_new(o->call, s.base, &o->place, serve, &s);
    if (s.http) {
        complain_unwaiting(o->call);
        open_all(&s, o->call);
        tell_place(&s);
        serve_until_signal(&s);
        close_all(&s);
    }
    errands_free(s.errands);
    event_base_free(s.base);
    return s.http ? EXIT_DONE : EXIT_FAILED;
}
