/* SPDX-License-Identifier: MIT
 *
 * The HTTP server: who asks for what, and the answers. Nothing here waits.
 */
#include <cjson/cJSON.h>
#include <ctype.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/http_struct.h>
#include <event2/keyvalq_struct.h>
#include <event2/listener.h>
#include <muster/version.h>
#include <netdb.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ask.h"
#include "client.h"
#include "complain.h"
#include "conns.h"
#include "ear.h"
#include "guard.h"
#include "live.h"
#include "look.h"
#include "metrics.h"
#include "need.h"
#include "routes.h"
#include "server_reply.h"
#include "text.h"
#include "web.h"
#include "web_pages.h"

#define HEADERS_MAX (16 * 1024)
#define BODY_MAX (1024 * 1024)
#define IDLE_S 60
/* A look that is older is made anew before it is told. */
#define FRESH_MS 1500
#define PARKED_MAX 64
/* Whoever asks has an answer within this time, whatever Redis does. */
#define DEADLINE_MS 10000
#define SWEEP_MS 200

struct server {
    const struct web_options *options;
    struct guard guard;
    struct event_base *base;
    struct evhttp *http;
    struct conns *conns;
    struct work *work;
    struct look *look;
    struct ear *ear;
    struct live *live;
    struct muster_client *clients[WORK_THREADS];
    struct parked {
        struct evhttp_request *request;
        int64_t until_ms, after_ms;
    } parked[PARKED_MAX];
    size_t n_parked;
    int64_t changed_ms; /* when the last change was answered: a look must have begun after it */
    struct errand *errands;
    struct event *sweeper;
};

static int64_t clock_in_ms(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int64_t unix_ms(void)
{
    return clock_in_ms(CLOCK_REALTIME);
}

static int64_t deadline_ms(void)
{
    return clock_in_ms(CLOCK_MONOTONIC) + DEADLINE_MS;
}

static void finish(struct server *s, struct evhttp_request *request, int status, const char *type, const char *body,
                   size_t len)
{
    conns_end(s->conns, request);
    server_reply(request, status, type, body, len);
}

static void refuse(struct server *s, struct evhttp_request *request, int status, const char *error, const char *message)
{
    char *text = ask_error_text(error, message);
    finish(s, request, status, SERVER_JSON, text, strlen(text));
    free(text);
}

/* Deletes the object. */
static void finish_json(struct server *s, struct evhttp_request *request, cJSON *object)
{
    char *text = need(cJSON_PrintUnformatted(object));
    finish(s, request, 200, SERVER_JSON, text, strlen(text));
    free(text);
    cJSON_Delete(object);
}

/* ---- what Redis is asked for: on the other thread ---- */

/* A request that waits for its answer. If the one who asked has gone, libevent has taken the connection from it, and
 * frees it when it is answered. */
struct errand {
    struct server *server;
    struct errand *next, *before;
    struct evhttp_request *request; /* NULL: it was told that it takes too long */
    struct ask *ask;
    int64_t until_ms;
    atomic_int state; /* enum errand_state */
};

enum errand_state { ERRAND_WAITS, ERRAND_RUNS, ERRAND_IS_PAST };

/* Nothing is done for one who was told that it was not. */
static void run_errand(void *arg, size_t thread)
{
    struct errand *e = arg;
    int waits = ERRAND_WAITS;
    if (!atomic_compare_exchange_strong(&e->state, &waits, ERRAND_RUNS))
        return;
    e->ask->client = e->server->clients[thread];
    ask_run(e->ask);
}

static void link_errand(struct errand *e)
{
    struct server *s = e->server;
    e->next = s->errands;
    if (e->next)
        e->next->before = e;
    s->errands = e;
}

static void free_errand(struct errand *e)
{
    if (e->next)
        e->next->before = e->before;
    if (e->before)
        e->before->next = e->next;
    else
        e->server->errands = e->next;
    ask_free(e->ask);
    free(e);
}

static void end_late_errand(struct errand *e)
{
    int waits = ERRAND_WAITS;
    bool has_run = !atomic_compare_exchange_strong(&e->state, &waits, ERRAND_IS_PAST);
    bool is_post = e->ask->route->method[0] == 'P';
    struct evhttp_request *request = e->request;
    e->request = NULL;
    refuse(e->server, request, 503, "E_BUSY",
           has_run && is_post ? "Redis has not answered in time: look whether it was done"
           : has_run          ? "Redis has not answered in time; try again"
                              : "it waited too long for other requests, and nothing was done; try again");
}

/* What the loop knows of the queue. */
static void add_sight(struct server *s, struct ask *a)
{
    const struct sight *sight = look_sight(s->look);
    const cJSON *row;
    cJSON *history = look_history(s->look, a->stars[0], 0);
    if (sight && sight->queues)
        cJSON_ArrayForEach(row, sight->queues)
        {
            const cJSON *name = cJSON_GetObjectItemCaseSensitive(row, "queue"), *each;
            if (cJSON_IsString(name) && strcmp(name->valuestring, a->stars[0]) == 0)
                cJSON_ArrayForEach(each, row)
                    cJSON_AddItemToObject(a->whole, each->string, need(cJSON_Duplicate(each, true)));
        }
    if (history)
        cJSON_AddItemToObject(a->whole, "history", history);
}

static void on_answer(void *arg)
{
    struct errand *e = arg;
    struct server *s = e->server;
    if (e->ask->route->method[0] == 'P') {
        s->changed_ms = clock_in_ms(CLOCK_MONOTONIC);
        look_now(s->look);
    }
    if (!e->request) {
        free_errand(e);
        return;
    }
    if (e->ask->whole)
        add_sight(s, e->ask);
    if (!e->ask->status)
        ask_refuse(e->ask, 503, "E_BUSY", "this server ends");
    char *text = ask_text(e->ask);
    finish(s, e->request, e->ask->status, SERVER_JSON, text, strlen(text));
    free(text);
    free_errand(e);
}

static void send_errand(struct server *s, struct evhttp_request *request, struct ask *a)
{
    struct errand *e = need(calloc(1, sizeof *e));
    *e = (struct errand){.server = s, .request = request, .ask = a, .until_ms = deadline_ms()};
    a->like = s->options->call;
    link_errand(e);
    if (work_post(s->work, run_errand, on_answer, e))
        return;
    free_errand(e);
    refuse(s, request, 503, "E_BUSY", "too many requests wait already; try again");
}

/* ---- parameters ---- */

/* Of the query; a parameter that is there twice is a list. */
static cJSON *read_query(const char *query)
{
    struct evkeyvalq pairs;
    cJSON *params = need(cJSON_CreateObject());
    if (!query || evhttp_parse_query_str(query, &pairs) != 0)
        return params;
    for (const struct evkeyval *p = pairs.tqh_first; p; p = p->next.tqe_next) {
        cJSON *before = cJSON_GetObjectItemCaseSensitive(params, p->key);
        if (!before) {
            need(cJSON_AddStringToObject(params, p->key, p->value));
            continue;
        }
        if (!cJSON_IsArray(before)) {
            cJSON *list = need(cJSON_CreateArray());
            cJSON_AddItemToArray(list, cJSON_DetachItemFromObjectCaseSensitive(params, p->key));
            cJSON_AddItemToObject(params, p->key, list);
            before = list;
        }
        cJSON_AddItemToArray(before, need(cJSON_CreateString(p->value)));
    }
    evhttp_clear_headers(&pairs);
    return params;
}

/* cJSON ends a text at a NUL, so what is behind it would be lost without a word. */
static bool has_nul(const char *text, size_t len)
{
    bool is_escaped = false;
    for (size_t i = 0; i < len; i++) {
        if (is_escaped && len - i >= 5 && strncmp(text + i, "u0000", 5) == 0)
            return true;
        is_escaped = !is_escaped && text[i] == '\\';
    }
    return memchr(text, '\0', len);
}

/* NULL: it is no JSON object, or has what a text of the command cannot have. An empty body is an empty object. */
static cJSON *read_body(struct evhttp_request *request)
{
    struct evbuffer *body = evhttp_request_get_input_buffer(request);
    size_t len = evbuffer_get_length(body);
    if (len == 0)
        return need(cJSON_CreateObject());
    const char *text = (const char *)evbuffer_pullup(body, -1), *end = NULL;
    if (!text_is_utf8(text, len) || has_nul(text, len))
        return NULL;
    cJSON *object = cJSON_ParseWithLengthOpts(text, len, &end, false);
    while (object && end < text + len && strchr(" \t\r\n", *end))
        end++;
    if (object && cJSON_IsObject(object) && end == text + len)
        return object;
    cJSON_Delete(object);
    return NULL;
}

static bool is_json(struct evhttp_request *request)
{
    const char *type = evhttp_find_header(evhttp_request_get_input_headers(request), "Content-Type");
    return type && strncasecmp(type, "application/json", strlen("application/json")) == 0;
}

/* ---- what the loop knows itself ---- */

static void tell_session(struct server *s, struct evhttp_request *request)
{
    const struct web_options *o = s->options;
    const char *prefix = o->call->common[OPT_PREFIX].text;
    cJSON *object = need(cJSON_CreateObject());
    need(cJSON_AddStringToObject(object, "csrf", s->guard.csrf));
    need(cJSON_AddBoolToObject(object, "read_only", o->is_read_only));
    need(cJSON_AddBoolToObject(object, "auth", o->token != NULL));
    need(cJSON_AddBoolToObject(object, "many", true));
    need(cJSON_AddStringToObject(object, "version", muster_version()));
    need(cJSON_AddStringToObject(object, "prefix", prefix && *prefix ? prefix : "muster"));
    need(cJSON_AddNumberToObject(object, "now", (double)unix_ms()));
    finish_json(s, request, object);
}

static void tell_rows(struct server *s, struct evhttp_request *request, const cJSON *rows)
{
    cJSON *object = need(cJSON_CreateObject());
    cJSON_AddItemReferenceToObject(object, "items", (cJSON *)rows);
    need(cJSON_AddNullToObject(object, "next"));
    need(cJSON_AddNumberToObject(object, "total", cJSON_GetArraySize(rows)));
    finish_json(s, request, object);
}

static void tell_history(struct server *s, struct evhttp_request *request, const char *query)
{
    cJSON *params = read_query(query);
    const cJSON *since = cJSON_GetObjectItemCaseSensitive(params, "since");
    int64_t since_ms = cJSON_IsString(since) ? strtoll(since->valuestring, NULL, 10) : 0;
    finish_json(s, request, look_history(s->look, NULL, since_ms));
    cJSON_Delete(params);
}

static const char *api_path(struct evhttp_request *request)
{
    return evhttp_uri_get_path(evhttp_request_get_evhttp_uri(request)) + strlen("/api/");
}

static void tell_sight(struct server *s, struct evhttp_request *request, const struct sight *sight)
{
    const char *path = api_path(request);
    if (sight->error)
        refuse(s, request, 503, sight->error, sight->message);
    else if (strcmp(path, "overview") == 0)
        finish_json(s, request, need(cJSON_Duplicate(sight->overview, true)));
    else
        tell_rows(s, request, path[0] == 'q' ? sight->queues : sight->workers);
}

/* Those who wait for a look that is fresh. */
static void park(struct server *s, struct evhttp_request *request)
{
    if (s->n_parked == PARKED_MAX) {
        refuse(s, request, 503, "E_BUSY", "too many requests wait already; try again");
        return;
    }
    s->parked[s->n_parked++] = (struct parked){request, deadline_ms(), s->changed_ms};
    look_now(s->look);
}

/* Whoever has waited too long is told so. */
static void on_sweep(evutil_socket_t fd, short what, void *arg)
{
    struct server *s = arg;
    int64_t now_ms = clock_in_ms(CLOCK_MONOTONIC);
    (void)fd, (void)what;
    for (struct errand *e = s->errands; e; e = e->next)
        if (e->request && now_ms > e->until_ms)
            end_late_errand(e);
    for (size_t i = 0; i < s->n_parked;) {
        struct parked parked = s->parked[i];
        if (now_ms <= parked.until_ms) {
            i++;
            continue;
        }
        s->parked[i] = s->parked[--s->n_parked];
        refuse(s, parked.request, 503, "E_BUSY", "Redis has not answered in time; try again");
    }
}

static void tell_fresh_sight(struct server *s, struct evhttp_request *request)
{
    const struct sight *sight = look_sight(s->look);
    look_want(s->look);
    if (sight && !sight->error && sight->begun_ms > s->changed_ms && unix_ms() - sight->at_ms < FRESH_MS)
        tell_sight(s, request, sight);
    else
        park(s, request);
}

static void on_look(void *arg, const struct sight *sight)
{
    struct server *s = arg;
    for (size_t i = 0; i < s->n_parked;) {
        struct parked parked = s->parked[i];
        if (!sight->error && sight->begun_ms <= parked.after_ms) {
            i++;
            continue;
        }
        s->parked[i] = s->parked[--s->n_parked];
        tell_sight(s, parked.request, sight);
    }
    live_tell_sight(s->live, sight);
    if (live_count(s->live) > 0)
        look_want(s->look);
    ear_want(s->ear, live_count(s->live) > 0);
}

static void on_job(void *arg, const char *text)
{
    struct server *s = arg;
    live_tell_job(s->live, text);
}

static void go_live(struct server *s, struct evhttp_request *request)
{
    server_headers(request);
    if (!live_add(s->live, request, look_sight(s->look))) {
        refuse(s, request, 503, "E_BUSY", "too many viewers; try again later");
        return;
    }
    look_want(s->look);
    ear_want(s->ear, true);
}

static void tell_metrics(struct server *s, struct evhttp_request *request)
{
    const struct metrics_web web = {conns_count(s->conns), live_count(s->live)};
    look_want(s->look);
    char *text = metrics_text(look_sight(s->look), &web);
    finish(s, request, 200, METRICS_TYPE, text, strlen(text));
    free(text);
}

/* Healthy: the last look was answered, and is not old. */
static void tell_health(struct server *s, struct evhttp_request *request)
{
    const struct sight *sight = look_sight(s->look);
    bool is_well = sight && !sight->error && unix_ms() - sight->at_ms < 15000;
    if (is_well)
        finish(s, request, 200, "text/plain; charset=utf-8", "ok\n", 3);
    else
        refuse(s, request, 503, sight && sight->error ? sight->error : "E_BUSY",
               sight && sight->error ? sight->message : "Redis was not looked at yet");
}

/* ---- the API ---- */

static void serve_route(struct server *s, struct evhttp_request *request, const char *method, const char *path,
                        const char *query)
{
    const struct route *route;
    char *stars[ASK_STARS_MAX] = {NULL};
    enum routes_found found = routes_find(method, path, &route, stars);
    bool is_post = strcmp(method, "POST") == 0;
    cJSON *params = found != ROUTES_FOUND ? NULL : is_post ? read_body(request) : read_query(query);
    if (found == ROUTES_NO_PATH) {
        refuse(s, request, 404, "E_NOT_FOUND", "there is no such path");
    } else if (found == ROUTES_NO_METHOD) {
        refuse(s, request, 405, "E_INVALID", "this path has another method");
    } else if (!params) {
        refuse(s, request, 400, "E_INVALID", "the body is not a JSON object, not UTF-8, or holds a NUL");
    } else {
        struct ask *a = ask_new(route, params);
        memcpy(a->stars, stars, sizeof stars);
        send_errand(s, request, a);
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
        tell_fresh_sight(s, request);
    else if (strcmp(path, "history") == 0)
        tell_history(s, request, query);
    else if (strcmp(path, "live") == 0)
        go_live(s, request);
    else
        serve_route(s, request, "GET", path, query);
}

static void serve_post(struct server *s, struct evhttp_request *request, const char *path)
{
    if (s->options->is_read_only)
        refuse(s, request, 403, "E_DENIED", "this server is read-only");
    else if (!guard_has_csrf(&s->guard, request))
        refuse(s, request, 403, "E_DENIED", "X-Muster-CSRF is missing or old: get /api/session first");
    else if (!is_json(request))
        refuse(s, request, 415, "E_INVALID", "the body must be application/json");
    else
        serve_route(s, request, "POST", path, NULL);
}

/* ---- pages ---- */

static const struct web_page *find_page(const char *path)
{
    for (size_t i = 0; i < web_pages_count; i++)
        if (strcmp(web_pages[i].path, path) == 0)
            return &web_pages[i];
    return NULL;
}

static void serve_page(struct server *s, struct evhttp_request *request, const struct web_page *page)
{
    const char *known = evhttp_find_header(evhttp_request_get_input_headers(request), "If-None-Match");
    struct evkeyvalq *headers = evhttp_request_get_output_headers(request);
    evhttp_add_header(headers, "ETag", page->etag);
    if (known && strcmp(known, page->etag) == 0)
        finish(s, request, 304, page->type, "", 0);
    else
        finish(s, request, 200, page->type, (const char *)page->body, page->len);
}

static void go_to(struct server *s, struct evhttp_request *request, const char *where)
{
    evhttp_add_header(evhttp_request_get_output_headers(request), "Location", where);
    finish(s, request, 303, "text/plain; charset=utf-8", "", 0);
}

static void set_cookie(struct evhttp_request *request, const char *value, const char *more)
{
    char text[200];
    snprintf(text, sizeof text, "muster_session=%s; Path=/; HttpOnly; SameSite=Strict%s", value, more);
    evhttp_add_header(evhttp_request_get_output_headers(request), "Set-Cookie", text);
}

static void log_in(struct server *s, struct evhttp_request *request)
{
    struct evbuffer *body = evhttp_request_get_input_buffer(request);
    size_t len = evbuffer_get_length(body);
    char *text = need(strndup(len ? (const char *)evbuffer_pullup(body, -1) : "", len));
    cJSON *params = read_query(text);
    const cJSON *token = cJSON_GetObjectItemCaseSensitive(params, "token");
    bool is_right = cJSON_IsString(token) && guard_is_token(&s->guard, token->valuestring);
    if (is_right)
        set_cookie(request, s->guard.session, "");
    go_to(s, request, is_right ? "/" : "/login?failed");
    explicit_bzero(text, len);
    free(text);
    cJSON_Delete(params);
}

static void log_out(struct server *s, struct evhttp_request *request)
{
    if (!guard_has_csrf(&s->guard, request)) {
        refuse(s, request, 403, "E_DENIED", "X-Muster-CSRF is missing or old: get /api/session first");
        return;
    }
    set_cookie(request, "", "; Max-Age=0");
    finish(s, request, 200, SERVER_JSON, "{}", 2);
}

/* ---- all requests ---- */

static void serve_known(struct server *s, struct evhttp_request *request, const char *path, const char *query)
{
    bool is_post = evhttp_request_get_command(request) == EVHTTP_REQ_POST;
    const struct web_page *page = is_post ? NULL : find_page(path);
    if (strncmp(path, "/api/", 5) == 0 && is_post)
        serve_post(s, request, path + 5);
    else if (strncmp(path, "/api/", 5) == 0)
        serve_get(s, request, path + 5, query);
    else if (strcmp(path, "/logout") == 0 && is_post)
        log_out(s, request);
    else if (strcmp(path, "/metrics") == 0 && !is_post)
        tell_metrics(s, request);
    else if (strcmp(path, "/healthz") == 0 && !is_post)
        tell_health(s, request);
    else if (page)
        serve_page(s, request, page);
    else
        refuse(s, request, 404, "E_NOT_FOUND", "there is no such page");
}

/* Nothing in these is secret, and signing in needs them. */
static bool is_open(const char *path)
{
    return strcmp(path, "/login") == 0 || strncmp(path, "/assets/", strlen("/assets/")) == 0;
}

static void serve(struct server *s, struct evhttp_request *request, const char *path, const char *query)
{
    bool is_post = evhttp_request_get_command(request) == EVHTTP_REQ_POST;
    const char *why = guard_refuse_site(&s->guard, request);
    if (why)
        refuse(s, request, 403, "E_DENIED", why);
    else if (strcmp(path, "/login") == 0 && is_post)
        log_in(s, request);
    else if (is_open(path) || guard_knows(&s->guard, request))
        serve_known(s, request, path, query);
    else if (strcmp(path, "/") == 0 && !is_post)
        go_to(s, request, "/login");
    else
        refuse(s, request, 401, "E_DENIED", "a token is needed: Authorization: Bearer, or /login");
}

/* Each '%' stands before two digits. */
static bool is_encoded(const char *text)
{
    for (const char *at = text ? strchr(text, '%') : NULL; at; at = strchr(at + 1, '%'))
        if (!isxdigit((unsigned char)at[1]) || !isxdigit((unsigned char)at[2]))
            return false;
    return true;
}

static void on_request(struct evhttp_request *request, void *arg)
{
    struct server *s = arg;
    const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(request);
    const char *path = uri ? evhttp_uri_get_path(uri) : NULL;
    conns_begin(s->conns, request);
    if (!path || path[0] != '/')
        refuse(s, request, 400, "E_INVALID", "the path must begin with a slash");
    else if (!is_encoded(path) || !is_encoded(evhttp_uri_get_query(uri)))
        refuse(s, request, 400, "E_INVALID", "a '%' in the path stands before two digits");
    else
        serve(s, request, path, evhttp_uri_get_query(uri));
}

/* ---- its life ---- */

static void on_signal(evutil_socket_t number, short what, void *arg)
{
    (void)number, (void)what;
    event_base_loopbreak(arg);
}

static struct evconnlistener *listen_at(const struct web_options *o, struct event_base *base)
{
    struct evutil_addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = EVUTIL_AI_PASSIVE}, *list = NULL;
    char port[16];
    snprintf(port, sizeof port, "%d", o->port);
    int err = getaddrinfo(o->host, port, &hints, &list);
    if (err) {
        complain(o->call, "%s: %s", o->host, gai_strerror(err));
        return NULL;
    }
    struct evconnlistener *l =
        evconnlistener_new_bind(base, NULL, NULL, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE, 64,
                                list->ai_addr, (int)list->ai_addrlen);
    if (!l)
        complain(o->call, "%s port %d: %s", o->host, o->port, strerror(errno));
    freeaddrinfo(list);
    return l;
}

static void tell_place(const struct web_options *o, struct evconnlistener *listener)
{
    struct sockaddr_storage a;
    socklen_t len = sizeof a;
    char host[NI_MAXHOST], port[NI_MAXSERV];
    if (getsockname(evconnlistener_get_fd(listener), (struct sockaddr *)&a, &len) != 0 ||
        getnameinfo((struct sockaddr *)&a, len, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return;
    complain(o->call, strchr(host, ':') ? "listens at http://[%s]:%s/" : "listens at http://%s:%s/", host, port);
}

static void open_http(struct server *s, struct evconnlistener *listener)
{
    s->http = need(evhttp_new(s->base));
    evhttp_set_max_headers_size(s->http, HEADERS_MAX);
    evhttp_set_max_body_size(s->http, BODY_MAX);
    evhttp_set_timeout(s->http, IDLE_S);
    evhttp_set_allowed_methods(s->http, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD | EVHTTP_REQ_POST);
    evhttp_set_gencb(s->http, on_request, s);
    if (!evhttp_bind_listener(s->http, listener))
        need(NULL);
    s->conns = conns_new(s->base, s->http, listener);
}

static void serve_until_signal(struct server *s)
{
    struct event *on_term = need(evsignal_new(s->base, SIGTERM, on_signal, s->base));
    struct event *on_int = need(evsignal_new(s->base, SIGINT, on_signal, s->base));
    s->sweeper = need(event_new(s->base, -1, EV_PERSIST, on_sweep, s));
    event_add(on_term, NULL);
    event_add(on_int, NULL);
    event_add(s->sweeper, &(const struct timeval){.tv_usec = SWEEP_MS * 1000});
    event_base_dispatch(s->base);
    event_free(s->sweeper);
    event_free(on_term);
    event_free(on_int);
}

static void close_clients(struct server *s)
{
    for (size_t i = 0; i < WORK_THREADS; i++)
        muster_client_free(s->clients[i]);
}

static int open_clients(struct server *s)
{
    int code = 0;
    for (size_t i = 0; i < WORK_THREADS && !code; i++)
        code = client_open(s->options->call, &s->clients[i]);
    return code;
}

static void close_all(struct server *s)
{
    ear_stop(s->ear);
    look_stop(s->look);
    work_free(s->work);
    while (s->n_parked > 0)
        refuse(s, s->parked[--s->n_parked].request, 503, "E_BUSY", "this server ends");
    ear_free(s->ear);
    look_free(s->look);
    evhttp_free(s->http);
    live_free(s->live);
    conns_free(s->conns);
    close_clients(s);
}

int web_run(const struct web_options *o)
{
    struct server s = {.options = o};
    int code = open_clients(&s);
    if (code) {
        close_clients(&s);
        return code;
    }
    if (!guard_init(&s.guard, o)) {
        complain(o->call, "the system gives no random bytes: %s", strerror(errno));
        close_clients(&s);
        return EXIT_FAILED;
    }
    s.base = need(event_base_new());
    struct evconnlistener *listener = listen_at(o, s.base);
    if (listener) {
        open_http(&s, listener);
        s.live = live_new(s.conns);
        s.work = work_new(s.base);
        s.look = look_new(o->call, s.work, on_look, &s);
        s.ear = ear_new(o->call, s.work, on_job, &s);
        tell_place(o, listener);
        serve_until_signal(&s);
        close_all(&s);
    } else {
        close_clients(&s);
    }
    event_base_free(s.base);
    return listener ? EXIT_DONE : EXIT_FAILED;
}
