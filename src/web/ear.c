/* SPDX-License-Identifier: MIT
 *
 * The library's listener connects again by itself, and says from when on nothing is missed and when something may be: so
 * a viewer is told of each gap. Its descriptor is one of the loop's.
 */
#include "ear.h"

#include <cjson/cJSON.h>
#include <event2/event.h>
#include <muster/listen.h>
#include <stdio.h>
#include <stdlib.h>

#include "complain.h"
#include "connection.h"
#include "event_row.h"
#include "need.h"
#include "now.h"
#include "out.h"

/* Taken in one turn of the loop, which has others to serve. */
#define TURN_MAX 64
/* So much waits while the loop is busy; beyond it there is a gap, which is told. */
#define HEARD_MAX 10000

/* A listener that is denied tries again several times a second: this one, so often. */
#define DENIED_MS 5000

enum state { UNSAID, HEARS, IS_DEAF };

struct ear {
    struct connection connection;
    bool is_known; /* where Redis is */
    struct event_base *base;
    ear_fn *fn;
    void *arg;
    struct muster_listener *listener; /* NULL: nobody views */
    struct event *readable;
    enum state state; /* what was told */
    int told_err;
    int64_t again_at_ms; /* before that it is not tried again */
};

static char *text_of_event(const struct muster_job_event *event)
{
    cJSON *rows = need(cJSON_CreateArray());
    out_collect(rows);
    event_row_print(event);
    out_collect(NULL);
    char *text = need(cJSON_PrintUnformatted(cJSON_GetArrayItem(rows, 0)));
    cJSON_Delete(rows);
    return text;
}

/* `err` MUSTER_OK: events are heard. */
static char *text_of_state(int err, const char *why)
{
    char words[600];
    cJSON *object = need(cJSON_CreateObject());
    need(cJSON_AddBoolToObject(object, "heard", err == MUSTER_OK));
    if (err == MUSTER_E_DENIED)
        snprintf(words, sizeof words,
                 "events of jobs are not heard: a listener must write that it listens, and this user may not; one with "
                 "the rights of a worker or an operator may (%s)",
                 why);
    else
        snprintf(words, sizeof words, "events of jobs are not heard: %s", why);
    if (err != MUSTER_OK) {
        need(cJSON_AddStringToObject(object, "error", muster_err_name(err)));
        need(cJSON_AddStringToObject(object, "message", words));
    }
    char *text = need(cJSON_PrintUnformatted(object));
    cJSON_Delete(object);
    return text;
}

static void tell(struct ear *e, const char *kind, char *text)
{
    e->fn(e->arg, kind, text);
    free(text);
}

static void tell_state(struct ear *e, int err, const char *why)
{
    enum state state = err == MUSTER_OK ? HEARS : IS_DEAF;
    if (state != e->state || err != e->told_err)
        tell(e, "hearing", text_of_state(err, why));
    e->state = state;
    e->told_err = err;
}

static void hear(struct ear *e, const struct muster_heard *heard)
{
    if (heard->type == MUSTER_HEARD_JOB)
        tell(e, "job", text_of_event(heard->job));
    else if (heard->type == MUSTER_HEARD_READY)
        tell_state(e, MUSTER_OK, "");
    else if (heard->type == MUSTER_HEARD_GAP)
        tell_state(e, heard->err, heard->text);
}

static void close_listener(struct ear *e)
{
    if (e->readable)
        event_free(e->readable);
    muster_listener_free(e->listener);
    e->readable = NULL;
    e->listener = NULL;
}

static void give_up(struct ear *e)
{
    close_listener(e);
    e->again_at_ms = now_ms() + DENIED_MS;
}

/* What was told before may be of the listener before this one, and events may come before this one is ready. */
static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    struct ear *e = arg;
    struct muster_heard heard[TURN_MAX];
    bool is_denied = false;
    (void)fd;
    (void)what;
    heard[0].size = sizeof heard[0];
    size_t n = muster_listener_next(e->listener, heard, TURN_MAX);
    for (size_t i = 0; i < n; i++) {
        hear(e, &heard[i]);
        is_denied |= heard[i].type == MUSTER_HEARD_GAP && heard[i].err == MUSTER_E_DENIED;
    }
    if (is_denied)
        give_up(e);
}

static int open_listener(struct ear *e)
{
    const struct muster_client_options client = {.size = sizeof client, CONNECTION_OPTIONS(&e->connection)};
    const struct muster_listener_options o = {.size = sizeof o, .client = &client, .max_heard = HEARD_MAX};
    int err = e->is_known ? muster_listener_new(&e->listener, &o) : MUSTER_E_INVALID;
    return err == MUSTER_OK ? muster_listener_add(e->listener, NULL, MUSTER_LISTEN_JOBS) : err;
}

static void begin(struct ear *e)
{
    int err = open_listener(e);
    if (err != MUSTER_OK) {
        tell_state(e, err, e->is_known ? muster_listener_error(NULL) : "it was told at the start why");
        give_up(e);
        return;
    }
    e->readable = need(event_new(e->base, muster_listener_fd(e->listener), EV_READ | EV_PERSIST, on_readable, e));
    event_add(e->readable, NULL);
}

/* Whoever comes next is told nothing that was true for others. */
static void end(struct ear *e)
{
    close_listener(e);
    e->state = UNSAID;
    e->again_at_ms = 0;
    e->fn(e->arg, "hearing", NULL);
}

void ear_want(struct ear *e, bool is_wanted)
{
    if (is_wanted && !e->listener && now_ms() >= e->again_at_ms)
        begin(e);
    else if (!is_wanted && (e->listener || e->state != UNSAID))
        end(e);
}

struct ear *ear_new(const struct call *call, struct event_base *base, ear_fn *fn, void *arg)
{
    struct ear *e = need(calloc(1, sizeof *e));
    *e = (struct ear){.base = base, .fn = fn, .arg = arg};
    e->is_known = connection_read(call, &e->connection) == EXIT_DONE;
    return e;
}

void ear_free(struct ear *e)
{
    close_listener(e);
    connection_clear(&e->connection);
    free(e);
}
