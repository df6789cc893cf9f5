/* SPDX-License-Identifier: MIT
 *
 * Enqueueing tasks: one, a few in one script, or many in chunks.
 */
#include <stdio.h>
#include <string.h>

#include "client/full.h"
#include "protocol/script_task.h"

/* A big batch goes in chunks, with at most this many on the way. */
#define CHUNKS_IN_FLIGHT 8

/* One call to enqueue, as its parts see it. */
struct request {
    const char *queue;
    const char *id; /* the request's, NULL: none */
    bool at_front;
    const struct muster_bytes *tasks;
    size_t n;
};

static int check_request(struct muster_client *c, const struct request *r)
{
    int err = client_check_queue(c, r->queue);
    if (err == MUSTER_OK && r->id && muster_queue_check(r->id))
        err = client_refuse(c, "a request id has 1 to 200 bytes and no control characters");
    for (size_t i = 0; err == MUSTER_OK && i < r->n; i++)
        err = client_check_task(c, &r->tasks[i]);
    return err;
}

/* Larger tasks go by the script, which notes for the takes that the queue may have some. */
#define PLAIN_MAX 16384

static bool has_large(const struct request *r)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->tasks[i].len > PLAIN_MAX)
            return true;
    return false;
}

/* A run of tasks that goes in one call. */
struct chunk {
    size_t number; /* from 1 */
    size_t from;
    size_t to;
};

/* No tasks: the script only hands over what is in the queue. */
static const struct chunk no_tasks = {0, 0, 0};

/*
 * As soon as a part was not confirmed, the rest goes without the question: the caller is told at the end that all is
 * there and not confirmed, and does not wait for each part. Each part asks for itself, because the next one may go over
 * a new connection, to another server.
 */
enum adds { ADDS, ADDS_NOTHING };
static bool asks(const struct muster_client *c, enum adds adds)
{
    return adds == ADDS && redis_confirms(c->redis) && c->confirmed.err == MUSTER_OK;
}

static int run(struct muster_client *c, struct command *command, enum redis_wake wake, enum adds adds,
               struct redisReply **reply)
{
    if (asks(c, adds))
        return client_run_confirmed(c, command, wake, reply);
    int err =
        wake == REDIS_WAKES ? redis_script_waking(c->redis, command, reply) : redis_script(c->redis, command, reply);
    command_clear(command);
    return err;
}

static int enqueue_script(struct muster_client *c, const struct request *r, struct chunk chunk, uint64_t *waiting)
{
    struct command command = COMMAND_EMPTY;
    struct redisReply *reply;
    script_enqueue(&command, &c->root,
                   &(struct script_enqueue){.queue = r->queue,
                                            .front = r->at_front,
                                            .request_id = r->id,
                                            .chunk = chunk.number,
                                            .of = r->n,
                                            .tasks = r->tasks + chunk.from,
                                            .n = chunk.to - chunk.from});
    /* A single task should begin at once. With many tasks the throughput counts. */
    enum redis_wake wake = r->n == 1 ? REDIS_WAKES : REDIS_WAKES_NOBODY;
    int err = run(c, &command, wake, chunk.number > 0 ? ADDS : ADDS_NOTHING, &reply);
    if (err == MUSTER_E_EXISTS)
        redis_error_set(c->redis, "the request '%s' had other content before; nothing was enqueued", r->id);
    if (err == MUSTER_OK && waiting)
        *waiting = reply_count(reply);
    redis_reply_free(reply);
    return err;
}

/* The next chunk: to the end of the queue it begins where the one before stopped, to the front it ends there. */
static struct chunk next_chunk(const struct request *r, struct chunk before)
{
    struct chunk chunk = {before.number + 1, r->at_front ? before.from : before.to,
                          r->at_front ? before.from : before.to};
    size_t bytes = 0;
    while (chunk.to - chunk.from < SCRIPT_ENQUEUE_TASKS && (r->at_front ? chunk.from > 0 : chunk.to < r->n)) {
        size_t len = r->tasks[r->at_front ? chunk.from - 1 : chunk.to].len;
        if (bytes > 0 && bytes + len > SCRIPT_ENQUEUE_BYTES)
            break;
        bytes += len;
        if (r->at_front)
            chunk.from--;
        else
            chunk.to++;
    }
    return chunk;
}

static struct chunk before_first_chunk(const struct request *r)
{
    return (struct chunk){0, r->n, 0};
}

/* The tasks are in the queue, whatever happens here: an error would make the caller enqueue them twice. A heartbeat makes
 * up for a missed wake-up, and the next task goes by script and reports the error. */
static bool hand_over(struct muster_client *c, const struct request *r, uint64_t *waiting)
{
    int err = enqueue_script(c, r, no_tasks, waiting);
    redis_pass_over(c->redis, err);
    return err == MUSTER_OK;
}

/* ---- many tasks ---- */

static int append_push(struct muster_client *c, const char *key, const struct request *r, struct chunk chunk)
{
    struct command command = COMMAND_EMPTY;
    size_t n = chunk.to - chunk.from;
    command_text(&command, r->at_front ? "RPUSH" : "LPUSH");
    command_text(&command, key);
    for (size_t i = 0; i < n; i++) {
        const struct muster_bytes *task = &r->tasks[r->at_front ? chunk.to - 1 - i : chunk.from + i];
        command_bytes(&command, task->data, task->len);
    }
    int err = redis_append(c->redis, &command);
    command_clear(&command);
    return err;
}

/* Read answers until at most `left` are outstanding. The first error is kept, and how many tasks wait by the last one. */
static void read_down_to(struct muster_client *c, size_t *in_flight, size_t left, uint64_t *waiting, int *err)
{
    while (*in_flight > left) {
        struct redisReply *reply;
        int read = redis_read(c->redis, &reply);
        if (waiting && read == MUSTER_OK)
            *waiting = reply_count(reply);
        redis_reply_free(reply);
        (*in_flight)--;
        *err = redis_first_error(c->redis, *err, read);
    }
}

/* Plain pushes, pipelined, from `done` on to the other end of the tasks. */
static int push_rest(struct muster_client *c, const struct request *r, struct chunk done, uint64_t *waiting)
{
    char key[KEY_MAX];
    size_t in_flight = 0;
    unsigned connection = 0; /* of the first push */
    int err = MUSTER_OK;
    key_of(key, c->prefix, KEY_QUEUES, r->queue);
    redis_set_order(c->redis, REDIS_IN_ORDER);
    for (bool is_first = true;; is_first = false) {
        struct chunk chunk = next_chunk(r, done);
        if (err != MUSTER_OK || chunk.from == chunk.to)
            break;
        /* Where a slot may change hands, a push could be refused and the next one, behind it, be executed. */
        read_down_to(c, &in_flight, redis_is_at_cluster(c->redis) ? 0 : CHUNKS_IN_FLIGHT - 1, waiting, &err);
        if (err == MUSTER_OK)
            err = append_push(c, key, r, chunk);
        if (is_first)
            connection = redis_connection(c->redis);
        in_flight += err == MUSTER_OK;
        done = chunk;
    }
    bool is_asked = err == MUSTER_OK && in_flight > 0 && asks(c, ADDS);
    if (is_asked)
        err = redis_confirm_append(c->redis);
    read_down_to(c, &in_flight, 0, waiting, &err);
    if (is_asked && err == MUSTER_OK)
        redis_confirm_read(c->redis, connection, &c->confirmed);
    else if (is_asked)
        redis_confirm_skip(c->redis);
    redis_set_order(c->redis, REDIS_ANY_ORDER);
    return err;
}

/*
 * For more tasks than one script should hold. To the end of the queue: the first chunk goes by script, so that workers
 * can begin at once; then come plain pushes, and then the script again, which hands over what is left. To the front:
 * all tasks are pushed from the last to the first, and the script at the end hands over.
 */
static int enqueue_pipelined(struct muster_client *c, const struct request *r, uint64_t *waiting)
{
    struct chunk done = before_first_chunk(r);
    int err = MUSTER_OK;
    if (!r->at_front) {
        done = next_chunk(r, done);
        err = enqueue_script(c, r, done, NULL);
    }
    if (err == MUSTER_OK)
        err = push_rest(c, r, done, waiting);
    if (err == MUSTER_OK)
        (void)!hand_over(c, r, waiting);
    return err;
}

/* Each chunk is a script. Under a request id the script knows whether the chunk was there before: so what an earlier
 * try enqueued stays enqueued once. Without one nobody may stop it: the same call would not do the rest, but all. */
static int enqueue_scripts(struct muster_client *c, const struct request *r, uint64_t *waiting)
{
    int err = MUSTER_OK;
    for (struct chunk chunk = next_chunk(r, before_first_chunk(r)); err == MUSTER_OK && chunk.from < chunk.to;
         chunk = next_chunk(r, chunk)) {
        uint64_t done = r->at_front ? r->n - chunk.to : chunk.from;
        err = done > 0 && r->id ? client_step(c, done, r->n) : MUSTER_OK;
        if (err == MUSTER_OK)
            err = enqueue_script(c, r, chunk, waiting);
    }
    return err;
}

/* ---- one task ---- */

enum { PLAIN_PUSH, PLAIN_SETTINGS, PLAIN_IDLE, PLAIN_PARTS };

/* What it says of the queue is of no use but behind the push. */
static int append_look(struct muster_client *c, const char *const *words)
{
    int err = client_append(c, words);
    if (err == MUSTER_OK)
        redis_asked_follow(c->redis);
    return err;
}

static int append_plain(struct muster_client *c, const struct request *r)
{
    char key[KEY_MAX];
    struct command push = COMMAND_EMPTY;
    key_of(key, c->prefix, KEY_QUEUES, r->queue);
    command_text(&push, "LPUSH");
    command_text(&push, key);
    command_bytes(&push, r->tasks->data, r->tasks->len);
    int err = redis_append(c->redis, &push);
    command_clear(&push);
    key_of(key, c->prefix, KEY_QUEUE, r->queue);
    if (err == MUSTER_OK)
        err = append_look(
            c, (const char *const[]){"HMGET", key, "named", "listen", "broadcast", "jobs", "returned", NULL});
    key_of(key, c->prefix, KEY_IDLE, r->queue);
    return err == MUSTER_OK ? append_look(c, (const char *const[]){"EXISTS", key, NULL}) : err;
}

/*
 * A plain push, and a check after it, in one round trip and without a script, which would cost Redis twice as much. It
 * is right only where no worker is idle and nobody listens; `*is_done` says whether that is known. A worker becomes idle
 * only in a script that finds the queue empty. If it became idle before the push, the check sees it. If later, it takes
 * the task.
 */
static int push_plainly(struct muster_client *c, const struct request *r, uint64_t *waiting, bool *is_done)
{
    struct redisReply *parts[PLAIN_PARTS] = {NULL};
    int err = append_plain(c, r), read = err;
    for (int i = 0; i < PLAIN_PARTS && read == MUSTER_OK; i++) {
        read = redis_read(c->redis, &parts[i]);
        if (i == PLAIN_PUSH)
            err = read;
        read = redis_is_unanswered(read) ? read : MUSTER_OK;
    }
    if (read != err) /* the task is in the queue, or was refused */
        redis_pass_over(c->redis, read);
    const struct redisReply *settings = parts[PLAIN_SETTINGS];
    *is_done = reply_kind(reply_at(settings, 0)) == REPLY_TEXT && reply_kind(reply_at(settings, 1)) == REPLY_NIL &&
               reply_kind(reply_at(settings, 2)) == REPLY_NIL && reply_kind(parts[PLAIN_IDLE]) == REPLY_INTEGER &&
               reply_integer(parts[PLAIN_IDLE]) == 0;
    *waiting = reply_count(parts[PLAIN_PUSH]);
    bool is_more_there =
        reply_kind(reply_at(settings, 3)) == REPLY_TEXT || reply_kind(reply_at(settings, 4)) == REPLY_TEXT;
    for (int i = 0; i < PLAIN_PARTS; i++)
        redis_reply_free(parts[i]);
    uint64_t length;
    int counted = MUSTER_E_NOT_FOUND;
    if (err == MUSTER_OK && *is_done && is_more_there)
        counted = muster_queue_length(c, r->queue, &length);
    if (counted == MUSTER_OK)
        *waiting = length; /* otherwise the task is in the queue all the same: an error would mislead */
    else
        redis_pass_over(c->redis, counted);
    return err;
}

/* To the end of a queue. If no worker was idle there the last time: plainly, and by script only if that has changed.
 * What is to be confirmed goes by script: the hand-over must not wait until replicas have the task. */
static int enqueue_one(struct muster_client *c, const struct request *r, uint64_t *waiting)
{
    uint64_t n = 0;
    bool is_done = true;
    int err;
    if (strcmp(c->busy_queue, r->queue) == 0 && !has_large(r) && !redis_confirms(c->redis)) {
        err = push_plainly(c, r, &n, &is_done);
        if (err == MUSTER_OK && !is_done)
            is_done = hand_over(c, r, &n);
    } else {
        err = enqueue_script(c, r, (struct chunk){1, 0, 1}, &n);
    }
    snprintf(c->busy_queue, sizeof c->busy_queue, "%s", err == MUSTER_OK && is_done && n > 0 ? r->queue : "");
    if (waiting)
        *waiting = n;
    return err;
}

/* ---- calls ---- */

static int enqueue(struct muster_client *c, const struct request *r, uint64_t *waiting)
{
    size_t bytes = 0;
    for (size_t i = 0; i < r->n; i++)
        bytes += r->tasks[i].len;
    if (r->n == 1 && !r->id && !r->at_front)
        return enqueue_one(c, r, waiting);
    if (r->n == 1 || (r->n <= MUSTER_ENQUEUE_ATOMIC_TASKS && bytes <= MUSTER_ENQUEUE_ATOMIC_BYTES))
        return enqueue_script(c, r, (struct chunk){1, 0, r->n}, waiting);
    return r->id || has_large(r) ? enqueue_scripts(c, r, waiting) : enqueue_pipelined(c, r, waiting);
}

int muster_task_enqueue(struct muster_client *c, const char *queue, const void *task, size_t len, uint64_t *waiting)
{
    const struct muster_bytes one = {task, len};
    return muster_task_enqueue_many(c, queue, &one, 1, NULL, waiting);
}

int muster_task_enqueue_many(struct muster_client *c, const char *queue, const struct muster_bytes *tasks, size_t n,
                             const struct muster_enqueue_options *options, uint64_t *waiting)
{
    struct muster_enqueue_options o;
    int err = client_read(c, SIZED_ENQUEUE_OPTIONS, &o, options);
    const struct request r = {.queue = queue, .id = o.request_id, .at_front = o.at_front, .tasks = tasks, .n = n};
    if (waiting)
        *waiting = 0;
    if (err == MUSTER_OK)
        err = check_request(c, &r);
    if (err == MUSTER_OK && n == 0) {
        uint64_t length;
        return muster_queue_length(c, queue, waiting ? waiting : &length);
    }
    if (err == MUSTER_OK)
        err = client_begin_adding(c);
    if (err == MUSTER_OK)
        err = enqueue(c, &r, waiting);
    return err == MUSTER_OK ? client_confirmed(c) : full_explain(c, err);
}
