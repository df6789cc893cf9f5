/* SPDX-License-Identifier: MIT
 *
 * The scene of a live test.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "live_worker.h"
#include "scene.h"
#include "worker_process.h"

static struct redis_server server;

/* ---- the program ---- */

static int start(void **state, const struct redis_server_options *o)
{
    redis_server_start(&server, o);
    *state = NULL;
    return 0;
}

int scene_start(void **state)
{
    return start(state, NULL);
}

int scene_start_durable(void **state)
{
    return start(state, &(struct redis_server_options){.aof = true});
}

int scene_stop(void **state)
{
    (void)state;
    redis_server_remove(&server);
    return 0;
}

/* ---- a test ---- */

int scene_begin(void **state)
{
    static int n_scenes;
    /* The test before may have failed halfway. */
    if (server.pid == 0)
        redis_server_restart(&server);
    redis_server_thaw(&server);
    raw_do(server.redis, "CONFIG SET maxmemory 0");
    struct scene *s = calloc(1, sizeof *s);
    s->server = &server;
    s->written_before = raw_written();
    snprintf(s->prefix, sizeof s->prefix, "test%d", ++n_scenes);
    s->client = scene_client(s);
    s->base = event_base_new();
    s->journal = journal_open();
    *state = s;
    return 0;
}

static void free_processes(struct scene *s)
{
    while (s->processes) {
        struct worker_process *w = s->processes;
        s->processes = w->next;
        worker_process_kill(w);
        free(w);
    }
}

/* Workers that are gone without a word wait for their sweep: that is no damage. A test that has moved has removed its
 * server by now. */
static bool is_clean(struct scene *s)
{
    if (s->server != &server || server.pid == 0)
        return true;
    redis_server_thaw(&server);
    struct checked found = {.prefix = s->prefix};
    int err = muster_client_check(s->client, 0, checked_note, &found);
    if ((err == MUSTER_OK && found.n == 0) || raw_written() > s->written_before)
        return true;
    print_error("left amiss: %s\n%s", err ? muster_client_error(s->client) : "", found.what);
    return false;
}

int scene_end(void **state)
{
    struct scene *s = *state;
    free_processes(s);
    while (s->workers)
        live_worker_free(s, s->workers);
    bool clean = is_clean(s);
    event_base_free(s->base);
    muster_client_free(s->client);
    journal_close(s->journal);
    free(s);
    return clean ? 0 : -1;
}

struct muster_client *scene_client(struct scene *s)
{
    struct muster_client *c;
    const struct muster_client_options o = {.size = sizeof o, .url = s->server->url, .prefix = s->prefix};
    assert_ok(muster_client_new(&c, &o));
    return c;
}

void scene_move(struct scene *s, struct redis_server *to)
{
    muster_client_free(s->client);
    s->server = to;
    s->client = scene_client(s);
}

void scene_enqueue(struct scene *s, const char *queue, const char *task)
{
    int err = muster_task_enqueue(s->client, queue, task, strlen(task), NULL);
    if (err)
        fail_msg("enqueue %s on %s: %s: %s", task, queue, muster_err_name(err), muster_client_error(s->client));
}

void scene_enqueue_n(struct scene *s, const char *queue, const char *stem, int n)
{
    struct muster_bytes *tasks = calloc((size_t)n, sizeof *tasks);
    char(*names)[32] = calloc((size_t)n, sizeof *names);
    for (int i = 0; i < n; i++) {
        tasks[i].len = (size_t)snprintf(names[i], sizeof names[i], "%s%d", stem, i);
        tasks[i].data = names[i];
    }
    int err = muster_task_enqueue_many(s->client, queue, tasks, (size_t)n, NULL, NULL);
    free(names);
    free(tasks);
    assert_ok(err);
}

/* ---- waiting ---- */

struct awaited {
    struct scene *scene;
    enum journal_kind kind;
    int what;
    const char *worker;
    size_t n, seen;
};

static bool has_come(void *arg)
{
    struct awaited *a = arg;
    a->seen = journal_count(a->scene->journal, a->kind, a->what, a->worker, NULL);
    return a->seen >= a->n;
}

void scene_await_starts(struct scene *s, size_t n)
{
    struct awaited a = {.scene = s, .kind = JOURNAL_START, .what = -1, .n = n};
    if (!wait_for(s->base, has_come, &a, SOON_MS))
        fail_msg("%zu handlers have begun, not %zu", a.seen, n);
}

void scene_await_events(struct scene *s, enum muster_event_type type, const char *worker, size_t n)
{
    struct awaited a = {.scene = s, .kind = JOURNAL_EVENT, .what = (int)type, .worker = worker, .n = n};
    if (!wait_for(s->base, has_come, &a, SOON_MS))
        fail_msg("event %d came %zu times to %s, not %zu", (int)type, a.seen, worker ? worker : "anybody", n);
}

void scene_await_idle(struct scene *s, const char *queue, const char *worker)
{
    raw_await(s->server->redis, s->base, 1, "EVAL %s 1 %s:idle:%s %s",
              "return redis.call('ZSCORE', KEYS[1], ARGV[1]) and 1 or 0", s->prefix, queue, worker);
}

/* ---- looking ---- */

size_t scene_starts(struct scene *s)
{
    return journal_count(s->journal, JOURNAL_START, -1, NULL, NULL);
}

void scene_assert_started(struct scene *s, size_t from, const char *const *tasks)
{
    for (size_t i = from, n = journal_size(s->journal); i < n; i++) {
        const struct journal_entry *e = journal_at(s->journal, i);
        if (!e || e->kind != JOURNAL_START)
            continue;
        if (!*tasks)
            fail_msg("%s began, but nothing more was expected", e->task);
        assert_string_equal(e->task, *tasks++);
    }
    if (*tasks)
        fail_msg("%s did not begin", *tasks);
}

static int add_up(const struct muster_queue_info *q, void *arg)
{
    uint64_t *left = arg;
    *left += q->waiting + q->running + q->delayed;
    return 0;
}

void scene_assert_quiet(struct scene *s)
{
    uint64_t left = 0;
    assert_ok(muster_queue_list(s->client, add_up, &left));
    assert_int_equal(left, 0);
}

int64_t scene_waiting(struct scene *s, const char *queue)
{
    return raw_int(s->server->redis, "LLEN %s:queues:%s", s->prefix, queue) +
           raw_int(s->server->redis, "ZCOUNT %s:returned:%s 0 +inf", s->prefix, queue);
}

void scene_await_waiting(struct scene *s, const char *queue, int64_t n)
{
    static const char lua[] = "return redis.call('LLEN', KEYS[1] .. ':queues:' .. ARGV[1])\n"
                              "  + redis.call('ZCOUNT', KEYS[1] .. ':returned:' .. ARGV[1], 0, '+inf')";
    raw_await(s->server->redis, s->base, n, "EVAL %s 1 %s %s", lua, s->prefix, queue);
}

void scene_suspect_nothing(struct scene *s)
{
    const int64_t none = 0;
    assert_ok(muster_config_set(s->client, NULL, "max_crashes", &none));
}
