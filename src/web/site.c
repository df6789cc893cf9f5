/* SPDX-License-Identifier: MIT
 *
 * The cookie holds a secret of this server, not the token: it is worth nothing after the server has ended.
 */
#include "site.h"

#include <cjson/cJSON.h>
#include <event2/buffer.h>
#include <event2/http.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http.h"
#include "need.h"
#include "params.h"
#include "server_reply.h"
#include "web_pages.h"

#define LOGIN_MAX 4096

const struct web_page *site_find(const char *path)
{
    for (size_t i = 0; i < web_pages_count; i++)
        if (strcmp(web_pages[i].path, path) == 0)
            return &web_pages[i];
    return NULL;
}

void site_serve(struct http *h, struct evhttp_request *request, const struct web_page *page)
{
    const char *known = evhttp_find_header(evhttp_request_get_input_headers(request), "If-None-Match");
    struct evkeyvalq *headers = evhttp_request_get_output_headers(request);
    evhttp_add_header(headers, "ETag", page->etag);
    if (known && strcmp(known, page->etag) == 0)
        http_reply(h, request, 304, page->type, "", 0);
    else
        http_reply(h, request, 200, page->type, (const char *)page->body, page->len);
}

void site_go_to(struct http *h, struct evhttp_request *request, const char *where)
{
    evhttp_add_header(evhttp_request_get_output_headers(request), "Location", where);
    http_reply(h, request, 303, "text/plain; charset=utf-8", "", 0);
}

static void set_cookie(struct evhttp_request *request, const char *value, const char *more)
{
    char text[200];
    snprintf(text, sizeof text, "muster_session=%s; Path=/; HttpOnly; SameSite=Strict%s", value, more);
    evhttp_add_header(evhttp_request_get_output_headers(request), "Set-Cookie", text);
}

void site_log_in(struct http *h, struct evhttp_request *request)
{
    struct evbuffer *body = evhttp_request_get_input_buffer(request);
    size_t len = evbuffer_get_length(body);
    if (len > LOGIN_MAX)
        len = 0; /* no token is so long */
    char *text = need(strndup(len ? (const char *)evbuffer_pullup(body, (ev_ssize_t)len) : "", len));
    cJSON *params = params_of_query(text);
    const cJSON *token = cJSON_GetObjectItemCaseSensitive(params, "token");
    bool is_right = cJSON_IsString(token) && guard_is_token(http_guard(h), token->valuestring);
    if (is_right)
        set_cookie(request, http_guard(h)->session, "");
    site_go_to(h, request, is_right ? "/" : "/login?failed");
    explicit_bzero(text, len);
    free(text);
    cJSON_Delete(params);
}

void site_log_out(struct http *h, struct evhttp_request *request)
{
    set_cookie(request, "", "; Max-Age=0");
    http_reply(h, request, 200, SERVER_JSON, "{}", 2);
}
