/* SPDX-License-Identifier: MIT
 *
 * An errand whose deadline is over is answered, and goes on: nobody can take back what Redis was asked for.
 */
#include "errands.h"

#include <muster/client.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "client.h"
#include "http.h"
#include "need.h"
#include "now.h"
#include "server_reply.h"
#include "work.h"

enum errand_state { ERRAND_WAITS, ERRAND_RUNS, ERRAND_IS_PAST };

/* If the one who asked has gone, libevent has taken the connection from the request, and frees it when it is answered. */
struct errand {
    struct errands *all;
    struct errand *next, *before;
    struct evhttp_request *request; /* NULL: it was told that it takes too long */
    struct ask *ask;
    int64_t until_ms;
    atomic_int state; /* enum errand_state */
};

struct errands {
    const struct call *call;
    struct http *http;
    struct work *work;
    errands_fn *fn;
    void *arg;
    struct muster_client *clients[WORK_THREADS];
    struct errand *first;
};

/* ---- on a thread ---- */

/* Nothing is done for one who was told that it was not. */
static void run_errand(void *arg, size_t thread)
{
    struct errand *e = arg;
    int waits = ERRAND_WAITS;
    if (!atomic_compare_exchange_strong(&e->state, &waits, ERRAND_RUNS))
        return;
    e->ask->client = e->all->clients[thread];
    ask_run(e->ask);
}

/* ---- on the loop ---- */

static void link_errand(struct errand *e)
{
    e->next = e->all->first;
    if (e->next)
        e->next->before = e;
    e->all->first = e;
}

static void free_errand(struct errand *e)
{
    if (e->next)
        e->next->before = e->before;
    if (e->before)
        e->before->next = e->next;
    else
        e->all->first = e->next;
    ask_free(e->ask);
    free(e);
}

static void end_late_errand(struct errand *e)
{
    int waits = ERRAND_WAITS;
    bool has_run = !atomic_compare_exchange_strong(&e->state, &waits, ERRAND_IS_PAST);
    struct evhttp_request *request = e->request;
    e->request = NULL;
    http_refuse(e->all->http, request, 503, "E_BUSY",
                has_run && ask_is_change(e->ask) ? "Redis has not answered in time: look whether it was done"
                : has_run                        ? "Redis has not answered in time; try again"
                          : "it waited too long for other requests, and nothing was done; try again");
}

void errands_sweep(struct errands *all)
{
    int64_t now = now_ms();
    for (struct errand *e = all->first; e; e = e->next)
        if (e->request && now > e->until_ms)
            end_late_errand(e);
}

static void on_answer(void *arg)
{
    struct errand *e = arg;
    e->all->fn(e->all->arg, e->ask);
    if (!e->request) {
        free_errand(e);
        return;
    }
    if (!e->ask->status)
        ask_refuse(e->ask, 503, "E_BUSY", "this server ends");
    char *text = ask_text(e->ask);
    http_reply(e->all->http, e->request, e->ask->status, SERVER_JSON, text, strlen(text));
    free(text);
    free_errand(e);
}

void errands_send(struct errands *all, struct evhttp_request *request, struct ask *a)
{
    struct errand *e = need(calloc(1, sizeof *e));
    *e = (struct errand){.all = all, .request = request, .ask = a, .until_ms = now_ms() + HTTP_DEADLINE_MS};
    a->like = all->call;
    link_errand(e);
    if (work_post(all->work, run_errand, on_answer, e))
        return;
    free_errand(e);
    http_refuse(all->http, request, 503, "E_BUSY", "too many requests wait already; try again");
}

/* ---- its life ---- */

int errands_new(struct errands **out, const struct call *call, errands_fn *fn, void *arg)
{
    struct errands *all = need(calloc(1, sizeof *all));
    int code = 0;
    *all = (struct errands){.call = call, .fn = fn, .arg = arg};
    for (size_t i = 0; i < WORK_THREADS && !code; i++)
        code = client_open(call, &all->clients[i]);
    if (code)
        errands_free(all);
    else
        *out = all;
    return code;
}

void errands_begin(struct errands *all, struct http *http, struct work *work)
{
    all->http = http;
    all->work = work;
}

void errands_free(struct errands *all)
{
    for (size_t i = 0; i < WORK_THREADS; i++)
        muster_client_free(all->clients[i]);
    free(all);
}
