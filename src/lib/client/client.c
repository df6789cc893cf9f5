/* SPDX-License-Identifier: MIT
 *
 * The blocking client's handle, and enqueueing. What only looks is in inspect.c.
 */
#include "client/client.h"
#include "protocol/script_task.h"
#include "protocol/script_worker.h"

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

static int client_init(struct muster_client *c, const struct muster_client_options *o, const struct url *url)
{
    char format_key[KEY_MAX];
    snprintf(c->prefix, sizeof c->prefix, "%s", o->prefix ? o->prefix : "muster");
    script_root_init(&c->root, c->prefix);
    c->max_task_len = o->max_task_len ? o->max_task_len : MUSTER_TASK_MAX_DEFAULT;
    key_of(format_key, c->prefix, KEY_FORMAT, "");
    return redis_new(&c->redis,
                     &(struct redis_options){.url = url,
                                             .borrowed = o->redis,
                                             .timeout_ms = o->timeout_ms ? o->timeout_ms : TIMEOUT_DEFAULT_MS,
                                             .prefix = c->prefix,
                                             .format_key = format_key,
                                             .format = FORMAT_VERSION});
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
    int err = o.redis ? MUSTER_OK : url_parse(&url, o.url, &why);
    if (err != MUSTER_OK)
        return err;
    struct muster_client *c = calloc(1, sizeof *c);
    err = c ? client_init(c, &o, &url) : MUSTER_E_NOMEM;
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

int client_refuse(struct muster_client *c, const char *why)
{
    redis_error_set(c->redis, "%s", why);
    return MUSTER_E_INVALID;
}

int client_check_queue(struct muster_client *c, const char *queue)
{
    const char *why = muster_queue_check(queue);
    return why ? client_refuse(c, why) : MUSTER_OK;
}

int client_check_task(struct muster_client *c, const struct muster_bytes *task)
{
    if (task->len > c->max_task_len) {
        redis_error_set(c->redis, "a task of %zu bytes is over the limit of %zu; nothing was sent", task->len,
                        c->max_task_len);
        return MUSTER_E_TOO_BIG;
    }
    if (!task->data && task->len > 0)
        return client_refuse(c, "a task has a length but no bytes; nothing was sent");
    return MUSTER_OK;
}

int client_ask(struct muster_client *c, struct redisReply **reply, const char *const *words)
{
    struct command command = COMMAND_EMPTY;
    command_words(&command, words);
    int err = redis_call(c->redis, &command, reply);
    command_clear(&command);
    return err;
}

int client_append(struct muster_client *c, const char *const *words)
{
    struct command command = COMMAND_EMPTY;
    command_words(&command, words);
    int err = redis_append(c->redis, &command);
    command_clear(&command);
    return err;
}

int client_run(struct muster_client *c, struct command *command, struct redisReply **reply)
{
    int err = redis_script(c->redis, command, reply);
    command_clear(command);
    return err;
}

/* ---- enqueueing ---- */

/* One call to enqueue, as its parts see it. */
struct request {
    const char *queue, *id;
    int front;
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

/* A run of tasks that goes in one call. */
struct chunk {
    size_t number, from, to;
};

static int enqueue_script(struct muster_client *c, const struct request *r, struct chunk chunk, uint64_t *waiting)
{
    struct command command = COMMAND_EMPTY;
    struct redisReply *reply;
    script_enqueue(&command, &c->root,
                   &(struct script_enqueue){.queue = r->queue,
                                            .front = r->front,
                                            .request_id = r->id,
                                            .chunk = chunk.number,
                                            .of = r->n,
                                            .tasks = r->tasks + chunk.from,
                                            .n = chunk.to - chunk.from});
    /* One task is there to be begun at once; with many the throughput counts. */
    int err = r->n == 1 ? redis_script_waking(c->redis, &command, &reply) : redis_script(c->redis, &command, &reply);
    command_clear(&command);
    if (err == MUSTER_E_EXISTS)
        redis_error_set(c->redis, "the request '%s' had other content before; nothing was enqueued", r->id);
    if (err == MUSTER_OK && waiting)
        *waiting = (uint64_t)reply_integer(reply);
    redis_reply_free(reply);
    return err;
}

/* The chunk that begins, or for the front ends, where the one before it stopped. */
static struct chunk next_chunk(const struct request *r, struct chunk before)
{
    struct chunk chunk = {before.number + 1, r->front ? before.from : before.to, r->front ? before.from : before.to};
    size_t bytes = 0;
    while (chunk.to - chunk.from < CHUNK_TASKS && (r->front ? chunk.from > 0 : chunk.to < r->n)) {
        size_t len = r->tasks[r->front ? chunk.from - 1 : chunk.to].len;
        if (bytes > 0 && bytes + len > CHUNK_BYTES)
            break;
        bytes += len;
        if (r->front)
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

static int append_push(struct muster_client *c, const char *key, const struct request *r, struct chunk chunk)
{
    struct command command = COMMAND_EMPTY;
    size_t n = chunk.to - chunk.from;
    command_text(&command, r->front ? "RPUSH" : "LPUSH");
    command_text(&command, key);
    for (size_t i = 0; i < n; i++) {
        const struct muster_bytes *task = &r->tasks[r->front ? chunk.to - 1 - i : chunk.from + i];
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
static int push_rest(struct muster_client *c, const struct request *r, struct chunk done)
{
    char key[KEY_MAX];
    size_t in_flight = 0;
    int err = MUSTER_OK;
    key_of(key, c->prefix, KEY_QUEUES, r->queue);
    for (;;) {
        struct chunk chunk = next_chunk(r, done);
        if (err != MUSTER_OK || chunk.from == chunk.to)
            break;
        err = append_push(c, key, r, chunk);
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
static int enqueue_pipelined(struct muster_client *c, const struct request *r, uint64_t *waiting)
{
    struct chunk done = before_first_chunk(r);
    int err = MUSTER_OK;
    if (!r->front) {
        done = next_chunk(r, done);
        err = enqueue_script(c, r, done, NULL);
    }
    if (err == MUSTER_OK)
        err = push_rest(c, r, done);
    return err == MUSTER_OK ? enqueue_script(c, r, (struct chunk){0, 0, 0}, waiting) : err;
}

/* Under a request id each chunk is a script that knows whether it was there before; what an earlier try enqueued stays
 * enqueued once. */
static int enqueue_once(struct muster_client *c, const struct request *r, uint64_t *waiting)
{
    int err = MUSTER_OK;
    for (struct chunk chunk = next_chunk(r, before_first_chunk(r)); err == MUSTER_OK && chunk.from < chunk.to;
         chunk = next_chunk(r, chunk))
        err = enqueue_script(c, r, chunk, waiting);
    return err;
}

/* ---- one task ---- */

enum { PLAIN_PUSH, PLAIN_SETTINGS, PLAIN_IDLE, PLAIN_PARTS };

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
        err = client_append(c, (const char *const[]){"HMGET", key, "named", "listen", "broadcast", NULL});
    key_of(key, c->prefix, KEY_IDLE, r->queue);
    if (err == MUSTER_OK)
        err = client_append(c, (const char *const[]){"EXISTS", key, NULL});
    return err;
}

/*
 * A plain push, and a look behind it, in one round trip and without a script, which costs Redis twice as much. Right
 * only where nobody is idle and nobody listens: `*is_done` says whether that was so. A worker becomes idle only in a
 * script that finds the queue empty: so whoever became idle before the push is seen by the look, and who does so later
 * takes the task.
 */
static int push_plainly(struct muster_client *c, const struct request *r, uint64_t *waiting, int *is_done)
{
    struct redisReply *parts[PLAIN_PARTS] = {NULL};
    int err = append_plain(c, r), read = err;
    for (int i = 0; i < PLAIN_PARTS && read == MUSTER_OK; i++) {
        read = redis_read(c->redis, &parts[i]);
        if (err == MUSTER_OK && (i == PLAIN_PUSH || read == MUSTER_E_CONN || read == MUSTER_E_TIMEOUT))
            err = read;
        read = read == MUSTER_E_CONN || read == MUSTER_E_TIMEOUT ? read : MUSTER_OK;
    }
    const struct redisReply *settings = parts[PLAIN_SETTINGS];
    *is_done = reply_kind(reply_at(settings, 0)) == REPLY_TEXT && reply_kind(reply_at(settings, 1)) == REPLY_NIL &&
               reply_kind(reply_at(settings, 2)) == REPLY_NIL && reply_kind(parts[PLAIN_IDLE]) == REPLY_INTEGER &&
               reply_integer(parts[PLAIN_IDLE]) == 0;
    *waiting = (uint64_t)reply_integer(parts[PLAIN_PUSH]);
    for (int i = 0; i < PLAIN_PARTS; i++)
        redis_reply_free(parts[i]);
    return err;
}

/* To the end of a queue where nobody was idle the last time: plainly, and by script only if that has changed. */
static int enqueue_one(struct muster_client *c, const struct request *r, uint64_t *waiting)
{
    uint64_t n = 0;
    int err, is_done = 1;
    if (strcmp(c->busy_queue, r->queue) == 0) {
        err = push_plainly(c, r, &n, &is_done);
        /* The task is in, whatever becomes of this: a refusal would have it enqueued twice. A heartbeat makes up for
         * it, and the next task goes by script and is told. */
        if (err == MUSTER_OK && !is_done)
            is_done = enqueue_script(c, r, (struct chunk){0, 0, 0}, &n) == MUSTER_OK;
    } else {
        err = enqueue_script(c, r, (struct chunk){1, 0, 1}, &n);
    }
    snprintf(c->busy_queue, sizeof c->busy_queue, "%s", err == MUSTER_OK && is_done && n > 0 ? r->queue : "");
    if (waiting)
        *waiting = n;
    return err;
}

int muster_task_enqueue(struct muster_client *c, const char *queue, const void *task, size_t len, uint64_t *waiting)
{
    const struct muster_bytes one = {task, len};
    return muster_task_enqueue_many(c, queue, &one, 1, NULL, waiting);
}

int muster_task_enqueue_many(struct muster_client *c, const char *queue, const struct muster_bytes *tasks, size_t n,
                             const struct muster_enqueue_options *options, uint64_t *waiting)
{
    size_t bytes = 0;
    struct muster_enqueue_options o = {0};
    if (options)
        memcpy(&o, options, options->size < sizeof o ? options->size : sizeof o);
    const struct request r = {queue, o.request_id, o.at_front, tasks, n};
    if (waiting)
        *waiting = 0;
    int err = check_request(c, &r);
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
    if (n == 1 && !r.id && !r.front)
        return enqueue_one(c, &r, waiting);
    if (n == 1 || (n <= MUSTER_ENQUEUE_ATOMIC_TASKS && bytes <= MUSTER_ENQUEUE_ATOMIC_BYTES))
        return enqueue_script(c, &r, (struct chunk){1, 0, n}, waiting);
    return r.id ? enqueue_once(c, &r, waiting) : enqueue_pipelined(c, &r, waiting);
}

/* ---- workers ---- */

static int sweep(struct muster_client *c, const char *worker, enum script_sweep whether, uint64_t *given_back)
{
    struct command command = COMMAND_EMPTY;
    struct redisReply *reply;
    const char *damaged;
    script_sweep(&command, &c->root, worker, whether);
    int err = client_run(c, &command, &reply);
    if (err == MUSTER_OK)
        err = script_given_back(reply, given_back, &damaged);
    redis_reply_free(reply);
    return err;
}

int muster_worker_fail(struct muster_client *c, const char *worker, uint64_t *given_back)
{
    uint64_t n = 0;
    const char *why = muster_worker_id_check(worker);
    int err = why ? client_refuse(c, why) : sweep(c, worker, SWEEP_FORCED, &n);
    if (err == MUSTER_E_NOT_FOUND)
        redis_error_set(c->redis, "no worker '%s' is registered", worker);
    if (given_back)
        *given_back = n;
    return err;
}

/* Redis' clock, ms, as text. */
static int server_now(struct muster_client *c, char *out, size_t size)
{
    struct redisReply *reply;
    int err = client_ask(c, &reply, (const char *const[]){"TIME", NULL});
    snprintf(out, size, "%lld",
             reply_number(reply_at(reply, 0), 0) * 1000 + reply_number(reply_at(reply, 1), 0) / 1000);
    redis_reply_free(reply);
    return err;
}

/* What a sweep does: a damaged worker or queue is passed over, and answered at the end in its own words. */
struct sweeping {
    uint64_t swept;
    int damaged;
    char why[256];
};

static void pass_over(struct muster_client *c, struct sweeping *s, const char *what, const char *name)
{
    s->damaged = 1;
    snprintf(s->why, sizeof s->why, "%s %s is passed over: %s", what, name, redis_error(c->redis));
}

/* One after the other; in grace, alive again or swept by somebody else is no error. */
static int sweep_workers(struct muster_client *c, const struct redisReply *past, struct sweeping *s)
{
    int err = MUSTER_OK;
    for (size_t i = 0; err == MUSTER_OK && i < reply_len(past); i++) {
        const char *worker = reply_text(reply_at(past, i));
        uint64_t n;
        err = sweep(c, worker, SWEEP_IF_DEAD, &n);
        s->swept += err == MUSTER_OK;
        if (err == MUSTER_E_REDIS)
            pass_over(c, s, "worker", worker);
        if (err == MUSTER_E_REDIS || err == MUSTER_E_STATE || err == MUSTER_E_NOT_FOUND)
            err = MUSTER_OK;
    }
    return err;
}

/* Leases that have lapsed, and what is due, of one queue: any take moves them, so one that takes nothing does. */
static int sweep_leases(struct muster_client *c, const char *queue, void *arg, int *stop)
{
    struct command command = COMMAND_EMPTY;
    struct redisReply *reply;
    (void)stop;
    script_take(&command, &c->root, &(struct script_take_lease){.queue = queue, .lease_ms = 1});
    int err = client_run(c, &command, &reply);
    redis_reply_free(reply);
    if (err != MUSTER_E_REDIS)
        return err;
    pass_over(c, arg, "queue", queue);
    return MUSTER_OK;
}

/* All whose life has ended; whether they may be swept, the script decides. */
int muster_client_sweep(struct muster_client *c, uint64_t *workers)
{
    char key[KEY_MAX], now[24];
    struct redisReply *past = NULL;
    struct sweeping s = {0};
    key_of(key, c->prefix, KEY_REGISTRY, "");
    int err = server_now(c, now, sizeof now);
    if (err == MUSTER_OK)
        err = client_ask(c, &past, (const char *const[]){"ZRANGEBYSCORE", key, "-inf", now, NULL});
    if (err == MUSTER_OK)
        err = sweep_workers(c, past, &s);
    redis_reply_free(past);
    if (err == MUSTER_OK)
        err = client_each_member(c, KEY_NAMES, sweep_leases, &s);
    if (workers)
        *workers = s.swept;
    if (err != MUSTER_OK || !s.damaged)
        return err;
    redis_error_set(c->redis, "%s", s.why);
    return MUSTER_E_REDIS;
}
