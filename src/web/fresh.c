/* SPDX-License-Identifier: MIT
 *
 * One look is for all who wait for one.
 */
#include "fresh.h"

#include <stdlib.h>

#include "http.h"
#include "look.h"
#include "need.h"
#include "now.h"

/* A look that is older is made anew before it is told. */
#define FRESH_MS 1500
#define PARKED_MAX 64

struct fresh {
    struct http *http;
    struct look *look;
    fresh_fn *fn;
    void *arg;
    struct parked {
        struct evhttp_request *request;
        int64_t until_ms, after_ms;
    } parked[PARKED_MAX];
    size_t n;
    int64_t changed_ms; /* when the last change was answered: a look must have begun after it */
};

struct fresh *fresh_new(struct http *http, struct look *look, fresh_fn *fn, void *arg)
{
    struct fresh *f = need(calloc(1, sizeof *f));
    *f = (struct fresh){.http = http, .look = look, .fn = fn, .arg = arg};
    return f;
}

void fresh_end(struct fresh *f)
{
    while (f->n > 0)
        http_refuse(f->http, f->parked[--f->n].request, 503, "E_BUSY", "this server ends");
}

void fresh_free(struct fresh *f)
{
    free(f);
}

static void park(struct fresh *f, struct evhttp_request *request)
{
    if (f->n == PARKED_MAX) {
        http_refuse(f->http, request, 503, "E_BUSY", "too many requests wait already; try again");
        return;
    }
    f->parked[f->n++] = (struct parked){request, now_ms() + HTTP_DEADLINE_MS, f->changed_ms};
    look_now(f->look);
}

void fresh_ask(struct fresh *f, struct evhttp_request *request)
{
    const struct sight *sight = look_sight(f->look);
    look_want(f->look);
    if (sight && !sight->error && sight->begun_ms > f->changed_ms && now_unix_ms() - sight->at_ms < FRESH_MS)
        f->fn(f->arg, request, sight);
    else
        park(f, request);
}

void fresh_note_change(struct fresh *f)
{
    f->changed_ms = now_ms();
    look_now(f->look);
}

void fresh_tell(struct fresh *f, const struct sight *sight)
{
    for (size_t i = 0; i < f->n;) {
        struct parked parked = f->parked[i];
        if (!sight->error && sight->begun_ms <= parked.after_ms) {
            i++;
            continue;
        }
        f->parked[i] = f->parked[--f->n];
        f->fn(f->arg, parked.request, sight);
    }
}

void fresh_sweep(struct fresh *f)
{
    int64_t now = now_ms();
    for (size_t i = 0; i < f->n;) {
        struct parked parked = f->parked[i];
        if (now <= parked.until_ms) {
            i++;
            continue;
        }
        f->parked[i] = f->parked[--f->n];
        http_refuse(f->http, parked.request, 503, "E_BUSY", "Redis has not answered in time; try again");
    }
}
