/* SPDX-License-Identifier: MIT
 *
 * The blocking client's handle, and enqueueing. What only looks is in inspect.c.
 */
#include "client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_DEFAULT_MS 5000
#define TIMEOUT_MAX_MS (24 * 3600 * 1000)

/* A big batch goes in chunks of so many tasks and bytes, so many of them on the way at once. */
#define CHUNK_TASKS 200
#define CHUNK_BYTES ((size_t)256 * 1024)
#define CHUNKS_IN_FLIGHT 8

static int options_are_wrong(const struct muster_client_options *o)
{
    if (o->prefix && muster_prefix_check(o->prefix))
        return 1;
    return o->timeout_ms < 0 || o->timeout_ms > TIMEOUT_MAX_MS || o->max_task_len > MUSTER_TASK_MAX;
}

int muster_client_new(struct muster_client **out, const struct muster_client_options *options)
{
    struct muster_client_options o = {0};
    struct url url = {0};
    const char *why;
    *out = NULL;
    if (options)
        memcpy(&o, options, options->size < sizeof o ? options->size : sizeof o);
    if (options_are_wrong(&o))
        return MUSTER_E_INVALID;
    if (!o.redis && url_parse(&url, o.url, &why) != MUSTER_OK)
        return MUSTER_E_INVALID;
    struct muster_client *c = calloc(1, sizeof *c);
    int err = c ? MUSTER_OK : MUSTER_E_NOMEM;
    if (c) {
        snprintf(c->prefix, sizeof c->prefix, "%s", o.prefix ? o.prefix : "muster");
        script_root_init(&c->root, c->prefix);
        c->max_task_len = o.max_task_len ? o.max_task_len : MUSTER_TASK_MAX_DEFAULT;
        err = redis_new(&c->redis, &url, o.redis, c->prefix, o.timeout_ms ? o.timeout_ms : TIMEOUT_DEFAULT_MS);
    }
    url_clear(&url);
    if (err != MUSTER_OK) {
        muster_client_free(c);
        return err;
    }
    *out = c;
    return MUSTER_OK;
}

void muster_client_free(struct muster_client *c)
{
    if (!c)
        return;
    redis_free(c->redis);
    free(c);
}

const char *muster_client_error(const struct muster_client *c)
{
    return redis_error(c->redis);
}

int client_check_queue(struct muster_client *c, const char *queue)
{
    const char *why = muster_queue_check(queue);
    if (!why)
        return MUSTER_OK;
    redis_error_set(c->redis, "%s", why);
    return MUSTER_E_INVALID;
}

int client_ask(struct muster_client *c, struct redisReply **reply, const char *const *words)
{
    struct command command = COMMAND_EMPTY;
    command_words(&command, words);
    int err = redis_call(c->redis, &command, reply);
    command_clear(&command);
    return err;
}

/* ---- enqueueing ---- */

static int check_tasks(struct muster_client *c, const char *queue, const struct muster_bytes *tasks, size_t n)
{
    int err = client_check_queue(c, queue);
    for (size_t i = 0; err == MUSTER_OK && i < n; i++) {
        if (tasks[i].len > c->max_task_len) {
            redis_error_set(c->redis, "a task of %zu bytes is over the limit of %zu; nothing was sent", tasks[i].len,
                            c->max_task_len);
            err = MUSTER_E_TOO_BIG;
        } else if (!tasks[i].data && tasks[i].len > 0) {
            redis_error_set(c->redis, "a task has a length but no bytes; nothing was sent");
            err = MUSTER_E_INVALID;
        }
    }
    return err;
}

static int enqueue_script(struct muster_client *c, const char *queue, int front, const struct muster_bytes *tasks,
                          size_t n, uint64_t *waiting)
{
    struct command command = COMMAND_EMPTY;
    struct redisReply *reply;
    script_enqueue(&command, &c->root, queue, front, tasks, n);
    int err = redis_script(c->redis, SCRIPT_ENQUEUE, &command, &reply);
    command_clear(&command);
    if (err == MUSTER_OK && waiting)
        *waiting = (uint64_t)reply_integer(reply);
    redis_reply_free(reply);
    return err;
}

/* A run of tasks that goes in one call. */
struct chunk {
    size_t from, to;
};

/* The chunk that begins, or for the front ends, where the one before it stopped. */
static struct chunk next_chunk(const struct muster_bytes *tasks, size_t n, struct chunk before, int front)
{
    struct chunk chunk = {front ? before.from : before.to, front ? before.from : before.to};
    size_t bytes = 0;
    while (chunk.to - chunk.from < CHUNK_TASKS && (front ? chunk.from > 0 : chunk.to < n)) {
        size_t len = tasks[front ? chunk.from - 1 : chunk.to].len;
        if (bytes > 0 && bytes + len > CHUNK_BYTES)
            break;
        bytes += len;
        if (front)
            chunk.from--;
        else
            chunk.to++;
    }
    return chunk;
}

static int append_push(struct muster_client *c, const char *key, int front, const struct muster_bytes *tasks,
                       struct chunk chunk)
{
    struct command command = COMMAND_EMPTY;
    size_t n = chunk.to - chunk.from;
    command_text(&command, front ? "RPUSH" : "LPUSH");
    command_text(&command, key);
    for (size_t i = 0; i < n; i++) {
        const struct muster_bytes *task = &tasks[front ? chunk.to - 1 - i : chunk.from + i];
        command_bytes(&command, task->data, task->len);
    }
    int err = redis_append(c->redis, &command);
    command_clear(&command);
    return err;
}

/* Reads answers until at most `left` are outstanding; keeps the first error. */
static void read_down_to(struct muster_client *c, size_t *in_flight, size_t left, int *err)
{
    while (*in_flight > left) {
        struct redisReply *reply;
        int read = redis_read(c->redis, &reply);
        redis_reply_free(reply);
        (*in_flight)--;
        if (*err == MUSTER_OK)
            *err = read;
    }
}

/* Plain pushes, pipelined, from `done` on to the other end of the tasks. */
static int push_rest(struct muster_client *c, const char *queue, int front, const struct muster_bytes *tasks, size_t n,
                     struct chunk done)
{
    char key[KEY_MAX];
    size_t in_flight = 0;
    int err = MUSTER_OK;
    key_of(key, c->prefix, KEY_QUEUES, queue);
    for (;;) {
        struct chunk chunk = next_chunk(tasks, n, done, front);
        if (err != MUSTER_OK || chunk.from == chunk.to)
            break;
        err = append_push(c, key, front, tasks, chunk);
        in_flight += err == MUSTER_OK;
        done = chunk;
        read_down_to(c, &in_flight, CHUNKS_IN_FLIGHT - 1, &err);
    }
    read_down_to(c, &in_flight, 0, &err);
    return err;
}

/*
 * More than one script should hold. To the end: the first chunk by script, so that workers can begin at once, then
 * plain pushes, then the script again, which hands over what is left. To the front everything is pushed from the last
 * to the first, and the script at the end hands over.
 */
static int enqueue_in_chunks(struct muster_client *c, const char *queue, int front, const struct muster_bytes *tasks,
                             size_t n, uint64_t *waiting)
{
    struct chunk done = {n, 0};
    int err = MUSTER_OK;
    if (!front) {
        done = next_chunk(tasks, n, done, front);
        err = enqueue_script(c, queue, front, tasks, done.to, NULL);
    }
    if (err == MUSTER_OK)
        err = push_rest(c, queue, front, tasks, n, done);
    return err == MUSTER_OK ? enqueue_script(c, queue, front, NULL, 0, waiting) : err;
}

int muster_task_enqueue(struct muster_client *c, const char *queue, const void *task, size_t len, uint64_t *waiting)
{
    const struct muster_bytes one = {task, len};
    return muster_task_enqueue_many(c, queue, &one, 1, NULL, waiting);
}

int muster_task_enqueue_many(struct muster_client *c, const char *queue, const struct muster_bytes *tasks, size_t n,
                             const struct muster_enqueue_options *o, uint64_t *waiting)
{
    size_t bytes = 0;
    int front = o && o->at_front;
    if (waiting)
        *waiting = 0;
    int err = check_tasks(c, queue, tasks, n);
    if (err == MUSTER_OK && n == 0) {
        uint64_t length;
        return muster_queue_length(c, queue, waiting ? waiting : &length);
    }
    if (err == MUSTER_OK)
        err = redis_claim_format(c->redis);
    if (err != MUSTER_OK)
        return err;
    for (size_t i = 0; i < n; i++)
        bytes += tasks[i].len;
    if (n == 1 || (n <= MUSTER_ENQUEUE_ATOMIC_TASKS && bytes <= MUSTER_ENQUEUE_ATOMIC_BYTES))
        return enqueue_script(c, queue, front, tasks, n, waiting);
    return enqueue_in_chunks(c, queue, front, tasks, n, waiting);
}
