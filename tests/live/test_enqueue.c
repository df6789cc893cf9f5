/* SPDX-License-Identifier: MIT
 *
 * Enqueue, peek and length: what goes in comes out, in its order, byte for byte, whatever its size and number. No
 * worker runs here; how a task is handed to one is test_wake.c's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scene.h"

/* ---- collecting what waits ---- */

struct seen {
    size_t n, stop_after;
    uint64_t first, sum_len;
    char last[64], all[256];
    bool in_order;
    int expected;
};

/* Tasks are expected to be "t0", "t1", ... from `expected` on, positions one after the other. */
static int see_numbered(const struct muster_task *task, void *arg)
{
    struct seen *seen = arg;
    char name[32];
    snprintf(name, sizeof name, "t%d", seen->expected++);
    if (seen->n == 0) {
        seen->first = task->position;
        seen->in_order = true;
    }
    seen->in_order &= task->position == seen->first + seen->n;
    seen->in_order &= task->len == strlen(name) && !memcmp(task->data, name, task->len);
    return ++seen->n == seen->stop_after;
}

/* All tasks as one text: "a b c ". */
static int see_text(const struct muster_task *task, void *arg)
{
    struct seen *seen = arg;
    size_t used = strlen(seen->all);
    snprintf(seen->all + used, sizeof seen->all - used, "%.*s ", (int)task->len, (const char *)task->data);
    seen->n++;
    return 0;
}

static void assert_waiting(struct scene *s, const char *queue, const char *expected)
{
    struct seen seen = {0};
    assert_ok(muster_task_peek(s->client, queue, 0, 1000, see_text, &seen));
    assert_string_equal(seen.all, expected);
}

/* ---- numbers of tasks ---- */

static struct muster_bytes *numbered(int n, char (**names)[16])
{
    struct muster_bytes *tasks = calloc((size_t)n + 1, sizeof *tasks);
    *names = calloc((size_t)n + 1, sizeof **names);
    for (int i = 0; i < n; i++) {
        tasks[i].len = (size_t)snprintf((*names)[i], sizeof((*names)[i]), "t%d", i);
        tasks[i].data = (*names)[i];
    }
    return tasks;
}

static uint64_t enqueue_numbered(struct scene *s, const char *queue, int n, int at_front)
{
    char(*names)[16];
    struct muster_bytes *tasks = numbered(n, &names);
    const struct muster_enqueue_options o = {.size = sizeof o, .at_front = at_front};
    uint64_t waiting = UINT64_MAX;
    int err = muster_task_enqueue_many(s->client, queue, tasks, (size_t)n, &o, &waiting);
    free(tasks);
    free(names);
    assert_ok(err);
    return waiting;
}

static void one_task_waits_at_the_end_of_its_queue(void **state)
{
    struct scene *s = *state;
    uint64_t waiting = 99;
    assert_ok(muster_task_enqueue(s->client, "q", "a", 1, &waiting));
    assert_int_equal(waiting, 1);
    assert_ok(muster_task_enqueue(s->client, "q", "b", 1, &waiting));
    assert_int_equal(waiting, 2);
    assert_ok(muster_task_enqueue(s->client, "q", "c", 1, NULL));
    assert_waiting(s, "q", "a b c ");
}

static void many_tasks_keep_their_order(void **state)
{
    struct scene *s = *state;
    const int sizes[] = {1, 2, 999, 1000, 1001, 25000};
    for (size_t i = 0; i < N_OF(sizes); i++) {
        char queue[32];
        snprintf(queue, sizeof queue, "q%d", sizes[i]);
        assert_int_equal(enqueue_numbered(s, queue, sizes[i], 0), sizes[i]);
        struct seen seen = {0};
        assert_ok(muster_task_peek(s->client, queue, 0, UINT64_MAX, see_numbered, &seen));
        assert_int_equal(seen.n, sizes[i]);
        assert_true(seen.in_order);
    }
}

static void many_at_the_front_are_the_next_out_in_their_order(void **state)
{
    struct scene *s = *state;
    const int sizes[] = {1, 2, 1000, 1001, 25000};
    for (size_t i = 0; i < N_OF(sizes); i++) {
        char queue[32];
        snprintf(queue, sizeof queue, "q%d", sizes[i]);
        scene_enqueue(s, queue, "old");
        assert_int_equal(enqueue_numbered(s, queue, sizes[i], 1), sizes[i] + 1);
        struct seen seen = {0};
        assert_ok(muster_task_peek(s->client, queue, 0, (uint64_t)sizes[i], see_numbered, &seen));
        assert_int_equal(seen.n, sizes[i]);
        assert_true(seen.in_order);
    }
}

static void none_at_all_tells_the_length(void **state)
{
    struct scene *s = *state;
    uint64_t waiting = 99;
    assert_ok(muster_task_enqueue_many(s->client, "q", NULL, 0, NULL, &waiting));
    assert_int_equal(waiting, 0);
    enqueue_numbered(s, "q", 3, 0);
    assert_ok(muster_task_enqueue_many(s->client, "q", NULL, 0, NULL, &waiting));
    assert_int_equal(waiting, 3);
}

static void more_bytes_than_one_script_takes_keep_their_order(void **state)
{
    struct scene *s = *state;
    enum { N = 8, LEN = 400 * 1024 };
    char *data = malloc((size_t)N * LEN);
    struct muster_bytes tasks[N];
    for (int i = 0; i < N; i++) {
        tasks[i] = (struct muster_bytes){data + (size_t)i * LEN, LEN};
        memset(data + (size_t)i * LEN, 'a' + i, LEN);
    }
    int err = muster_task_enqueue_many(s->client, "q", tasks, N, NULL, NULL);
    free(data);
    assert_ok(err);
    for (int i = 0; i < N; i++) {
        char *first = raw_string(s->server->redis, "LRANGE %s:queues:q %d %d", s->prefix, -1 - i, -1 - i);
        assert_int_equal(strlen(first), LEN + 1);
        assert_int_equal(first[0], 'a' + i);
        free(first);
    }
}

/* ---- what waits in Redis ---- */

static void a_task_is_the_plain_bytes_in_a_list(void **state)
{
    struct scene *s = *state;
    scene_enqueue(s, "q", "mine");
    char key[64];
    snprintf(key, sizeof key, "%s:queues:q", s->prefix);
    raw_push(s->server->redis, key, "foreign", strlen("foreign"));
    char *list = raw_string(s->server->redis, "LRANGE %s 0 -1", key);
    assert_string_equal(list, "foreign\nmine\n");
    free(list);
    assert_waiting(s, "q", "mine foreign ");
}

struct copy {
    const void *data;
    size_t len;
    bool same;
};

static int compare(const struct muster_task *task, void *arg)
{
    struct copy *copy = arg;
    size_t head = copy->len < MUSTER_HEAD_MAX ? copy->len : MUSTER_HEAD_MAX;
    copy->same = task->whole_len == copy->len && task->len == head && (!head || !memcmp(task->data, copy->data, head));
    return 0;
}

static void assert_comes_out_same(struct scene *s, const char *queue, const void *data, size_t len)
{
    struct copy copy = {data, len, false};
    assert_ok(muster_task_enqueue(s->client, queue, data, len, NULL));
    assert_ok(muster_task_peek(s->client, queue, 0, 1, compare, &copy));
    assert_true(copy.same);
    redisReply *whole = raw(s->server->redis, "LINDEX %s:queues:%s 0", s->prefix, queue);
    assert_int_equal(whole->len, len);
    assert_true(len == 0 || memcmp(whole->str, data, len) == 0);
    freeReplyObject(whole);
}

static void every_byte_value_is_kept(void **state)
{
    struct scene *s = *state;
    unsigned char bytes[512];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)i;
    assert_comes_out_same(s, "q", bytes, sizeof bytes);
}

static void the_empty_task_is_a_task(void **state)
{
    struct scene *s = *state;
    uint64_t waiting = 0;
    assert_comes_out_same(s, "q", NULL, 0);
    assert_comes_out_same(s, "q2", "", 0);
    assert_ok(muster_queue_length(s->client, "q", &waiting));
    assert_int_equal(waiting, 1);
}

static void the_largest_task_is_accepted_and_a_larger_one_is_not_sent(void **state)
{
    struct scene *s = *state;
    size_t len = MUSTER_TASK_MAX_DEFAULT;
    char *data = malloc(len + 1);
    for (size_t i = 0; i <= len; i++)
        data[i] = (char)(i * 2654435761U >> 13);
    assert_comes_out_same(s, "q", data, len);
    raw_do(s->server->redis, "DEL %s:queues:q", s->prefix);

    const struct muster_bytes batch[] = {{"small", 5}, {data, len + 1}};
    int64_t before = redis_server_calls(s->server, NULL);
    assert_err(muster_task_enqueue(s->client, "q", data, len + 1, NULL), MUSTER_E_TOO_BIG);
    assert_string_not_equal(muster_client_error(s->client), "");
    assert_err(muster_task_enqueue_many(s->client, "q", batch, 2, NULL, NULL), MUSTER_E_TOO_BIG);
    assert_int_equal(redis_server_calls(s->server, NULL), before);
    free(data);
}

static void the_limit_can_be_set(void **state)
{
    struct scene *s = *state;
    struct muster_client *c;
    const struct muster_client_options o = {
        .size = sizeof o, .url = s->server->url, .prefix = s->prefix, .max_task_len = 3};
    assert_ok(muster_client_new(&c, &o));
    assert_ok(muster_task_enqueue(c, "q", "abc", 3, NULL));
    assert_err(muster_task_enqueue(c, "q", "abcd", 4, NULL), MUSTER_E_TOO_BIG);
    muster_client_free(c);
    assert_waiting(s, "q", "abc ");
}

/* ---- peek and length ---- */

static void peek_shows_a_part_and_takes_nothing(void **state)
{
    struct scene *s = *state;
    enqueue_numbered(s, "q", 2500, 0);
    const struct {
        uint64_t from, n, shown;
    } cases[] = {{0, 0, 0},
                 {0, 1, 1},
                 {7, 3, 3},
                 {2499, 5, 1},
                 {2500, 5, 0},
                 {990, 1100, 1100},
                 {1000, UINT64_MAX, 1500},
                 {UINT64_MAX, 1, 0}};
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct seen seen = {.expected = (int)cases[i].from};
        assert_ok(muster_task_peek(s->client, "q", cases[i].from, cases[i].n, see_numbered, &seen));
        assert_int_equal(seen.n, cases[i].shown);
        assert_true(!seen.n || (seen.in_order && seen.first == cases[i].from));
    }
    uint64_t waiting;
    assert_ok(muster_queue_length(s->client, "q", &waiting));
    assert_int_equal(waiting, 2500);
}

static void peek_ends_when_told(void **state)
{
    struct scene *s = *state;
    enqueue_numbered(s, "q", 3000, 0);
    const size_t ends[] = {1, 2, 1500};
    for (size_t i = 0; i < N_OF(ends); i++) {
        struct seen seen = {.stop_after = ends[i]};
        assert_ok(muster_task_peek(s->client, "q", 0, UINT64_MAX, see_numbered, &seen));
        assert_int_equal(seen.n, ends[i]);
    }
}

static void a_queue_that_does_not_exist_is_an_empty_one(void **state)
{
    struct scene *s = *state;
    struct seen seen = {0};
    uint64_t waiting = 99;
    assert_ok(muster_task_peek(s->client, "nothing", 0, 10, see_numbered, &seen));
    assert_int_equal(seen.n, 0);
    assert_ok(muster_queue_length(s->client, "nothing", &waiting));
    assert_int_equal(waiting, 0);
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:queues:nothing", s->prefix), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(one_task_waits_at_the_end_of_its_queue),
        live_test(many_tasks_keep_their_order),
        live_test(many_at_the_front_are_the_next_out_in_their_order),
        live_test(none_at_all_tells_the_length),
        live_test(more_bytes_than_one_script_takes_keep_their_order),
        live_test(a_task_is_the_plain_bytes_in_a_list),
        live_test(every_byte_value_is_kept),
        live_test(the_empty_task_is_a_task),
        live_test(the_largest_task_is_accepted_and_a_larger_one_is_not_sent),
        live_test(the_limit_can_be_set),
        live_test(peek_shows_a_part_and_takes_nothing),
        live_test(peek_ends_when_told),
        live_test(a_queue_that_does_not_exist_is_an_empty_one),
    };
    return scene_run(tests, argc, argv);
}
