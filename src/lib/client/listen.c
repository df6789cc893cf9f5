/* SPDX-License-Identifier: MIT
 *
 * Listening to a queue (what was done, cancelled, deleted) and to jobs. The scripts publish only while they know of a
 * listener, so they are told again and again that there is one. Anybody may publish on these channels, and a queue of
 * another namespace may have a channel of the same name. So a message that does not parse, or that names another queue,
 * is skipped.
 */
#include "client/listen.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "client/client.h"
#include "protocol/frame.h"
#include "protocol/process_name.h"
#include "protocol/script_queue.h"

struct listening {
    const char *queue;
    const char *told; /* to the scripts: a queue, or "" for jobs */
    void (*hear)(struct muster_client *c, struct listening *l, const struct redisReply *message);
    muster_queue_event_fn *fn;
    muster_job_event_fn *job_fn;
    void *arg;
    bool stop;
};

/* "<length of process id>:<of task>:<of result, or - for none>:", then these three. */
static int read_done(struct muster_bytes rest, char id[PROCESS_ID_MAX], struct muster_queue_event *event,
                     struct muster_bytes *result)
{
    struct muster_bytes id_part, task, mark;
    size_t id_len, task_len, result_len = 0;
    if (frame_length(&rest, &id_len) != 0 || frame_length(&rest, &task_len) != 0)
        return -1;
    bool has_no_result = rest.len > 0 && *(const char *)rest.data == '-';
    if (has_no_result ? frame_field(&rest, &mark) != 0 || mark.len != 1 : frame_length(&rest, &result_len) != 0)
        return -1;
    if (frame_part(&rest, id_len, &id_part) != 0 || frame_part(&rest, task_len, &task) != 0 ||
        frame_part(&rest, result_len, result) != 0 || rest.len > 0)
        return -1;
    event->task = task.data;
    event->len = task.len;
    event->result = has_no_result ? NULL : result;
    return frame_text(id, PROCESS_ID_MAX, id_part);
}

/* Each hands out what the message says, if it is well formed. */

static void hear_done(struct listening *l, struct muster_queue_event *event, struct muster_bytes message)
{
    char id[PROCESS_ID_MAX];
    struct process_name name;
    struct muster_bytes result;
    if (read_done(message, id, event, &result) != 0 || process_name_parse(&name, id) ||
        strcmp(name.queue, l->queue) != 0)
        return;
    event->process = id;
    event->worker = name.worker;
    l->stop = l->fn(event, l->arg) != 0;
}

static void hear_cancelled(struct listening *l, struct muster_queue_event *event, struct muster_bytes message)
{
    event->task = message.data;
    event->len = message.len;
    l->stop = l->fn(event, l->arg) != 0;
}

static void hear_deleted(struct listening *l, struct muster_queue_event *event, struct muster_bytes message)
{
    if (message.len == strlen(l->queue) && memcmp(message.data, l->queue, message.len) == 0)
        l->stop = l->fn(event, l->arg) != 0;
}

static const struct {
    const char *what;
    enum muster_queue_event_type type;
    void (*hear)(struct listening *l, struct muster_queue_event *event, struct muster_bytes message);
} channels[] = {
    {CHANNEL_DONE, MUSTER_QUEUE_DONE, hear_done},
    {CHANNEL_CANCEL, MUSTER_QUEUE_CANCELLED, hear_cancelled},
    {CHANNEL_DELETE, MUSTER_QUEUE_DELETED, hear_deleted},
};
#define CHANNELS (sizeof channels / sizeof *channels)

static void hear_queue(struct muster_client *c, struct listening *l, const struct redisReply *message)
{
    for (size_t i = 0; i < CHANNELS; i++) {
        char name[CHANNEL_MAX];
        struct muster_queue_event event = {.type = channels[i].type, .queue = l->queue};
        key_channel(name, c->root.channels, l->queue, channels[i].what);
        struct muster_bytes bytes = reply_bytes(reply_at(message, 2));
        if (reply_is(reply_at(message, 1), name) && bytes.data)
            channels[i].hear(l, &event, bytes);
    }
}

static int subscribe_to_queue(struct muster_client *c, const char *queue, struct redis **listener)
{
    char names[CHANNELS][CHANNEL_MAX];
    const char *all[CHANNELS];
    for (size_t i = 0; i < CHANNELS; i++) {
        key_channel(names[i], c->root.channels, queue, channels[i].what);
        all[i] = names[i];
    }
    return redis_listen(listener, c->redis, all, CHANNELS);
}

/* ---- jobs ---- */

/* "what\tms\tqueue\tid\tworker\ttracked\ttext"; names hold no tabs. -1 if it is malformed. Puts NULs into `text`. */
static int read_job_event(char *text, struct muster_job_event *event)
{
    enum { WHAT, AT, QUEUE, ID, WORKER, TRACKED, TEXT, FIELDS };
    const char *fields[FIELDS];
    for (int i = 0; i < FIELDS; i++) {
        fields[i] = i < TEXT ? strsep(&text, "\t") : text;
        if (!fields[i])
            return -1;
    }
    *event = (struct muster_job_event){.what = fields[WHAT],
                                       .id = fields[ID],
                                       .queue = fields[QUEUE],
                                       .worker = fields[WORKER],
                                       .text = fields[TEXT],
                                       .at_ms = strtoll(fields[AT], NULL, 10),
                                       .tracked = strcmp(fields[TRACKED], "1") == 0};
    bool has_queue = *event->queue || strncmp(event->what, "batch-", 6) == 0; /* a batch belongs to none */
    return muster_job_id_check(event->id) || !has_queue || (*event->queue && muster_queue_check(event->queue)) ? -1 : 0;
}

int listen_read_job_event(const struct redisReply *message, char **text, struct muster_job_event *event)
{
    const char *bytes = reply_text(reply_at(message, 2));
    *text = bytes ? strdup(bytes) : NULL; /* without memory the event is lost; events may be */
    return *text ? read_job_event(*text, event) : -1;
}

static void hear_jobs(struct muster_client *c, struct listening *l, const struct redisReply *message)
{
    struct muster_job_event event;
    char *text;
    (void)c;
    if (listen_read_job_event(message, &text, &event) == 0 && (!l->queue || strcmp(l->queue, event.queue) == 0))
        l->stop = l->job_fn(&event, l->arg) != 0;
    free(text);
}

int listen_subscribe_to_jobs(struct muster_client *c, struct redis **listener)
{
    char channel[CHANNEL_MAX];
    key_events(channel, c->root.channels);
    return redis_listen(listener, c->redis, (const char *const[]){channel}, 1);
}

static int subscribe(struct muster_client *c, const struct listening *l, struct redis **listener)
{
    return l->job_fn ? listen_subscribe_to_jobs(c, listener) : subscribe_to_queue(c, l->queue, listener);
}

/* ---- listening ---- */

/* E_TIMEOUT means that the time to listen is over. So a Redis that does not answer in time is E_CONN. */
int listen_announce(struct muster_client *c, const char *told)
{
    struct command command = COMMAND_EMPTY;
    struct redisReply *reply;
    script_queue_call(&command, SCRIPT_LISTEN, &c->root, told);
    int err = client_run(c, &command, &reply);
    redis_reply_free(reply);
    return err == MUSTER_E_TIMEOUT ? MUSTER_E_CONN : err;
}

static int listen_on(struct muster_client *c, struct redis *listener, struct listening *l, int64_t wait_ms)
{
    const int64_t began_at_ms = clock_ms();
    int64_t renewed_at_ms = began_at_ms;
    while (!l->stop) {
        struct redisReply *message;
        int64_t now = clock_ms(), left_ms = wait_ms - (now - began_at_ms);
        if (left_ms <= 0) {
            redis_error_set(c->redis, "the %lld ms to listen are over", (long long)wait_ms);
            return MUSTER_E_TIMEOUT;
        }
        if (now - renewed_at_ms >= LISTEN_RENEW_MS) {
            int err = listen_announce(c, l->told);
            if (err != MUSTER_OK)
                return err;
            renewed_at_ms = now;
        }
        int64_t renew_in_ms = LISTEN_RENEW_MS - (now - renewed_at_ms);
        int err = redis_hear(listener, left_ms < renew_in_ms ? left_ms : renew_in_ms, &message);
        if (err == MUSTER_OK)
            l->hear(c, l, message);
        else if (err != MUSTER_E_TIMEOUT)
            return err;
        redis_reply_free(message);
    }
    return MUSTER_OK;
}

static int listen_to(struct muster_client *c, struct listening *l, int64_t wait_ms, int (*ready)(void *arg))
{
    struct redis *listener = NULL;
    int err = l->queue ? client_check_queue(c, l->queue) : MUSTER_OK;
    if (err == MUSTER_OK && wait_ms < 0)
        err = client_refuse(c, "a time to listen must not be negative");
    if (err == MUSTER_OK)
        err = redis_check_listen(c->redis);
    if (err == MUSTER_OK)
        err = redis_claim_format(c->redis);
    if (err == MUSTER_OK)
        err = subscribe(c, l, &listener);
    if (err == MUSTER_OK)
        err = listen_announce(c, l->told);
    if (err == MUSTER_E_TIMEOUT)
        err = MUSTER_E_CONN;
    if (err == MUSTER_OK && ready)
        l->stop = ready(l->arg) != 0;
    if (err == MUSTER_OK)
        err = listen_on(c, listener, l, wait_ms);
    redis_free(listener);
    return err;
}

int muster_queue_listen(struct muster_client *c, const char *queue, int64_t wait_ms, int (*ready)(void *arg),
                        muster_queue_event_fn *fn, void *arg)
{
    struct listening l = {.queue = queue ? queue : "", .told = queue, .hear = hear_queue, .fn = fn, .arg = arg};
    return listen_to(c, &l, wait_ms, ready);
}

int muster_job_listen(struct muster_client *c, const char *queue, int64_t wait_ms, int (*ready)(void *arg),
                      muster_job_event_fn *fn, void *arg)
{
    struct listening l = {.queue = queue, .told = "", .hear = hear_jobs, .job_fn = fn, .arg = arg};
    return listen_to(c, &l, wait_ms, ready);
}
