/* SPDX-License-Identifier: MIT
 *
 * A thread with a client of its own. It listens for a second at a time, and between looks whether it is still wanted;
 * the library keeps the subscription meanwhile.
 */
#include "ear.h"

#include <cjson/cJSON.h>
#include <muster/job.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "client.h"
#include "event_row.h"
#include "need.h"
#include "out.h"

#define STRETCH_MS 1000
#define PAUSE_MS 1000
#define DENIED_MS 5000
/* So many events may wait for the loop. What is beyond that is not told: a viewer could not read it either. */
#define PENDING_MAX 1000

struct ear {
    const struct call *call;
    struct work *work;
    ear_fn *fn;
    void *arg;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t has_changed;
    bool is_wanted, is_ending;
    int told_err; /* the thread's: the last state that it has told */
    atomic_int pending;
};

struct heard {
    struct ear *ear;
    const char *kind;
    char *text;
};

static void on_heard(void *arg)
{
    struct heard *h = arg;
    h->ear->pending--;
    h->ear->fn(h->ear->arg, h->kind, h->text);
    free(h->text);
    free(h);
}

static char *text_of(const struct muster_job_event *event)
{
    cJSON *rows = need(cJSON_CreateArray());
    out_collect(rows);
    event_row_print(event);
    out_collect(NULL);
    char *text = need(cJSON_PrintUnformatted(cJSON_GetArrayItem(rows, 0)));
    cJSON_Delete(rows);
    return text;
}

static void tell(struct ear *e, const char *kind, char *text)
{
    struct heard *h = need(calloc(1, sizeof *h));
    *h = (struct heard){e, kind, text};
    e->pending++;
    work_tell(e->work, on_heard, h);
}

static int hear(const struct muster_job_event *event, void *arg)
{
    struct ear *e = arg;
    if (e->pending >= PENDING_MAX)
        return 0;
    tell(e, "job", text_of(event));
    return 0;
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

static void tell_state(struct ear *e, int err, const char *why)
{
    if (err != e->told_err)
        tell(e, "hearing", text_of_state(err, why));
    e->told_err = err;
}

/* Until it is wanted; false: the end. */
static bool wait_until_wanted(struct ear *e)
{
    pthread_mutex_lock(&e->lock);
    while (!e->is_wanted && !e->is_ending)
        pthread_cond_wait(&e->has_changed, &e->lock);
    bool goes_on = !e->is_ending;
    pthread_mutex_unlock(&e->lock);
    return goes_on;
}

/* Whoever wants it meanwhile does not end the pause. */
static void pause_for(struct ear *e, int64_t ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += ms / 1000;
    pthread_mutex_lock(&e->lock);
    while (!e->is_ending && pthread_cond_timedwait(&e->has_changed, &e->lock, &until) == 0)
        continue;
    pthread_mutex_unlock(&e->lock);
}

static void *listen_for_ever(void *arg)
{
    struct ear *e = arg;
    struct muster_client *client;
    if (client_open(e->call, &client))
        return NULL;
    while (wait_until_wanted(e)) {
        int err = muster_job_listen(client, NULL, STRETCH_MS, NULL, hear, e);
        bool is_heard = err == MUSTER_OK || err == MUSTER_E_TIMEOUT;
        tell_state(e, is_heard ? MUSTER_OK : err, muster_client_error(client));
        if (!is_heard)
            pause_for(e, err == MUSTER_E_DENIED ? DENIED_MS : PAUSE_MS);
    }
    muster_client_free(client);
    return NULL;
}

struct ear *ear_new(const struct call *call, struct work *work, ear_fn *fn, void *arg)
{
    struct ear *e = need(calloc(1, sizeof *e));
    pthread_condattr_t attr;
    e->call = call;
    e->work = work;
    e->fn = fn;
    e->arg = arg;
    pthread_mutex_init(&e->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&e->has_changed, &attr);
    pthread_condattr_destroy(&attr);
    if (pthread_create(&e->thread, NULL, listen_for_ever, e) != 0)
        need(NULL);
    return e;
}

static void change(struct ear *e, bool is_wanted, bool is_ending)
{
    pthread_mutex_lock(&e->lock);
    e->is_wanted = is_wanted;
    e->is_ending = is_ending;
    pthread_cond_signal(&e->has_changed);
    pthread_mutex_unlock(&e->lock);
}

void ear_want(struct ear *e, bool is_wanted)
{
    change(e, is_wanted, false);
}

void ear_stop(struct ear *e)
{
    change(e, false, true);
    pthread_join(e->thread, NULL);
}

void ear_free(struct ear *e)
{
    pthread_mutex_destroy(&e->lock);
    pthread_cond_destroy(&e->has_changed);
    free(e);
}
