/* SPDX-License-Identifier: MIT
 *
 * The headers of an answer.
 */
#include "server_reply.h"

#include <event2/buffer.h>
#include <event2/http.h>
#include <stdbool.h>
#include <stdio.h>

#include "need.h"

void server_headers(struct evhttp_request *request)
{
    static const struct {
        const char *name, *value;
    } all[] = {
        {"Content-Security-Policy",
         "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
         "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"},
        {"X-Content-Type-Options", "nosniff"},
        {"X-Frame-Options", "DENY"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Cross-Origin-Opener-Policy", "same-origin"},
    };
    struct evkeyvalq *headers = evhttp_request_get_output_headers(request);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        evhttp_add_header(headers, all[i].name, all[i].value);
}

static const char *reason_of(int status)
{
    static const struct {
        int status;
        const char *reason;
    } reasons[] = {
        {200, "OK"},
        {303, "See Other"},
        {304, "Not Modified"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {409, "Conflict"},
        {413, "Content Too Large"},
        {415, "Unsupported Media Type"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
    };
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].status == status)
            return reasons[i].reason;
    return "Error";
}

void server_reply(struct evhttp_request *request, int status, const char *type, const char *body, size_t len)
{
    struct evbuffer *buffer = need(evbuffer_new());
    struct evkeyvalq *headers = evhttp_request_get_output_headers(request);
    bool is_head = evhttp_request_get_command(request) == EVHTTP_REQ_HEAD;
    char length[32];
    server_headers(request);
    evhttp_add_header(headers, "Content-Type", type);
    evhttp_add_header(headers, "Cache-Control", evhttp_find_header(headers, "ETag") ? "no-cache, private" : "no-store");
    snprintf(length, sizeof length, "%zu", len);
    if (status != 304)
        evhttp_add_header(headers, "Content-Length", length);
    if (!is_head && status != 304)
        evbuffer_add(buffer, body, len);
    evhttp_send_reply(request, status, reason_of(status), buffer);
    evbuffer_free(buffer);
}
