/* SPDX-License-Identifier: MIT
 *
 * Listing queues again and again. Proves that what comes and goes is seen at once, that the rest is asked for when
 * something has changed or is old, and that a listing in which nothing happened costs a third.
 */
#include <muster/stats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "taken.h"

enum { QUEUES = 1000, AN_HOUR = 3600000, STEPS = 300 };

struct found {
    const char *queue;
    struct muster_queue_info info;
    int n;
};

static int keep(const struct muster_queue_info *q, void *arg)
{
    struct found *f = arg;
    f->n++;
    if (f->queue && strcmp(f->queue, q->name) == 0)
        f->info = *q;
    return 0;
}

static struct muster_queue_info look(struct scene *s, const char *queue, int64_t max_age_ms)
{
    struct found f = {.queue = queue};
    assert_ok(muster_queue_list_cached(s->client, max_age_ms, keep, &f));
    return f.info;
}

static uint64_t commands_of_a_listing(struct scene *s, int64_t max_age_ms)
{
    struct muster_client_stats before = {.size = sizeof before}, after = {.size = sizeof after};
    struct found f = {.queue = NULL};
    assert_ok(muster_client_stats(s->client, &before));
    assert_ok(muster_queue_list_cached(s->client, max_age_ms, keep, &f));
    assert_ok(muster_client_stats(s->client, &after));
    assert_int_equal(f.n, QUEUES);
    return after.commands - before.commands;
}

static void a_listing_in_which_nothing_happened_costs_a_third(void **state)
{
    struct scene *s = *state;
    const uint64_t pages = 3 * (QUEUES / 100 + 1);
    for (int i = 0; i < QUEUES; i++)
        raw_do(s->server->redis, "ZADD %s:names %d q%d", s->prefix, i + 1, i);
    assert_in_range(commands_of_a_listing(s, AN_HOUR), QUEUES * 13, QUEUES * 13 + pages);
    assert_in_range(commands_of_a_listing(s, AN_HOUR), QUEUES * 4, QUEUES * 4 + pages);
    scene_enqueue(s, "q7", "task");
    assert_in_range(commands_of_a_listing(s, AN_HOUR), QUEUES * 4 + 9, QUEUES * 4 + 9 + pages);
    assert_in_range(commands_of_a_listing(s, 0), QUEUES * 13, QUEUES * 13 + pages);
}

static void what_stands_beside_the_line_is_asked_for_when_the_line_changes(void **state)
{
    struct scene *s = *state;
    scene_enqueue(s, "q", "a");
    assert_int_equal(look(s, "q", AN_HOUR).delayed, 0);
    raw_do(s->server->redis, "ZADD %s:delayed:q 1 x", s->prefix);
    assert_int_equal(look(s, "q", AN_HOUR).delayed, 0); /* as it was */
    scene_enqueue(s, "q", "b");
    struct muster_queue_info info = look(s, "q", AN_HOUR);
    assert_int_equal(info.delayed, 1);
    assert_int_equal(info.waiting, 2);
}

/* Whatever the row tells of now: a worker has come, something has lapsed. */
static void and_when_anything_else_of_the_row_changes(void **state)
{
    struct scene *s = *state;
    static const char *const fields[] = {"running", "paused", "cancelled", "dropped", "share",
                                         "hands",   "moved",  "stalls",    "deaths"};
    scene_enqueue(s, "q", "a");
    (void)look(s, "q", AN_HOUR);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        raw_do(s->server->redis, "ZADD %s:idle:q 1 w%d", s->prefix, (int)i);
        assert_int_equal(look(s, "q", AN_HOUR).idle, i);
        raw_do(s->server->redis, "HSET %s:queue:q %s 1", s->prefix, fields[i]);
        if (look(s, "q", AN_HOUR).idle != i + 1)
            fail_msg("'%s' has changed, and the rest was not asked for", fields[i]);
    }
}

static void what_is_older_than_was_asked_for_is_asked_for(void **state)
{
    struct scene *s = *state;
    scene_enqueue(s, "q", "a");
    (void)look(s, "q", AN_HOUR);
    raw_do(s->server->redis, "ZADD %s:failed:q 1 x", s->prefix);
    assert_int_equal(look(s, "q", AN_HOUR).failed, 0);
    const int64_t begun_ms = server_now_ms(s);
    while (look(s, "q", 50).failed == 0)
        assert_true(server_now_ms(s) - begun_ms < 20000);
    assert_int_equal(look(s, "q", AN_HOUR).failed, 1);
    raw_do(s->server->redis, "ZADD %s:failed:q 1 y", s->prefix);
    assert_int_equal(look(s, "q", 0).failed, 2);
}

static void a_queue_that_was_deleted_and_made_again_is_another(void **state)
{
    struct scene *s = *state;
    uint64_t removed, running;
    scene_enqueue(s, "q", "a");
    raw_do(s->server->redis, "ZADD %s:recurring:q 1 x", s->prefix);
    assert_int_equal(look(s, "q", AN_HOUR).recurring, 1);
    raw_do(s->server->redis, "DEL %s:recurring:q", s->prefix);
    assert_ok(muster_queue_delete(s->client, "q", &removed, &running));
    scene_enqueue(s, "q", "a");
    struct muster_queue_info info = look(s, "q", AN_HOUR);
    assert_int_equal(info.recurring, 0);
    assert_int_equal(info.waiting, 1);
}

/* Another one came back in the place of the first: all that is counted is as before. */
static void the_age_of_what_came_back_is_of_now(void **state)
{
    struct scene *s = *state;
    struct muster_client *other = scene_client(s);
    struct taken first, second, again;
    scene_enqueue(s, "q", "a");
    scene_enqueue(s, "q", "b");
    assert_ok(take_n(s, "q", 1, 600000, &first));
    await_server_ms(s, server_now_ms(s) + 300);
    assert_ok(take_n(s, "q", 1, 600000, &second));
    assert_ok(muster_lease_give_back(other, first.rows[0].id));
    assert_true(look(s, "q", AN_HOUR).oldest_ms >= 300);
    assert_ok(take_n(s, "q", 1, 600000, &again));
    assert_ok(muster_lease_give_back(other, second.rows[0].id));
    struct muster_queue_info cached = look(s, "q", AN_HOUR), fresh;
    assert_ok(muster_queue_get(other, "q", &fresh));
    assert_int_equal(cached.waiting, 1);
    assert_true(cached.oldest_ms <= fresh.oldest_ms);
    muster_client_free(other);
}

static void a_negative_age_is_refused(void **state)
{
    struct scene *s = *state;
    struct found f = {.queue = NULL};
    assert_int_equal(muster_queue_list_cached(s->client, -1, keep, &f), MUSTER_E_INVALID);
    assert_non_null(strstr(muster_client_error(s->client), "max_age_ms"));
    assert_int_equal(f.n, 0);
}

/* ---- two clients: one changes, the other one lists ---- */

struct changer {
    struct scene *scene;
    struct muster_client *client;
    struct random random;
    char held[PROCESS_ID_MAX]; /* what it has taken; "": nothing */
};

static void take(struct changer *c)
{
    struct taken one = {0};
    int err = muster_lease_take(c->client, "q", 1, 3600000, 0, taken_add, &one);
    assert_true(err == MUSTER_OK || err == MUSTER_E_NOT_FOUND);
    snprintf(c->held, sizeof c->held, "%s", one.n > 0 ? one.rows[0].id : "");
}

/* Taking and ending are apart: a look between them sees the end alone. */
static void end(struct changer *c)
{
    switch (random_below(&c->random, 5)) {
    case 0:
        assert_ok(muster_lease_finish(c->client, c->held, NULL));
        break;
    case 1:
        assert_ok(muster_lease_fail(c->client, c->held, "g", "it failed"));
        break;
    case 2:
        assert_ok(muster_lease_give_back(c->client, c->held));
        break;
    case 3:
        assert_ok(muster_lease_retry(c->client, c->held, 3600000));
        break;
    default:
        break; /* it runs on, and nobody ends it */
    }
    c->held[0] = '\0';
}

static const char *draw_task(struct changer *c)
{
    static const char *const tasks[] = {"a", "b", "c"};
    return tasks[random_below(&c->random, 3)];
}

static void put_or_pause(struct changer *c)
{
    switch (random_below(&c->random, 4)) {
    case 0:
        assert_ok(muster_task_enqueue(c->client, "q", draw_task(c), 1, NULL));
        break;
    case 1:
        raw_do(c->scene->server->redis, "LPUSH %s:queues:q foreign", c->scene->prefix);
        break;
    case 2:
        assert_ok(muster_queue_pause(c->client, "q"));
        break;
    default:
        assert_ok(muster_queue_resume(c->client, "q"));
    }
}

static void do_something(struct changer *c)
{
    size_t what = random_below(&c->random, 10);
    if (what < 5)
        put_or_pause(c);
    else if (what == 5)
        assert_ok(muster_task_cancel(c->client, "q", draw_task(c), 1, NULL, NULL));
    else if (*c->held)
        end(c);
    else
        take(c);
}

/* With a failed task it does not go by itself when all else has ended. */
static struct changer begin_changing(struct scene *s, uint64_t seed)
{
    struct changer c = {s, scene_client(s), random_from(random_seed(seed)), ""};
    assert_ok(muster_task_enqueue(c.client, "q", "a", 1, NULL));
    take(&c);
    assert_ok(muster_lease_fail(c.client, c.held, "g", "it stays"));
    c.held[0] = '\0';
    return c;
}

static bool has_moved(const struct muster_queue_info *a, const struct muster_queue_info *b)
{
    return a->waiting != b->waiting || a->running != b->running || a->cancelled != b->cancelled ||
           a->paused != b->paused || a->in != b->in || a->out != b->out;
}

static void assert_now(const struct muster_queue_info *cached, const struct muster_queue_info *fresh)
{
    assert_int_equal(cached->waiting, fresh->waiting);
    assert_int_equal(cached->running, fresh->running);
    assert_int_equal(cached->cancelled, fresh->cancelled);
    assert_int_equal(cached->paused, fresh->paused);
    assert_int_equal(cached->in, fresh->in);
    assert_int_equal(cached->out, fresh->out);
}

/* What the one changes is as true in a cached row of the other as in one that is asked for. */
static void what_comes_and_goes_is_never_old(void **state)
{
    struct scene *s = *state;
    struct changer c = begin_changing(s, 11);
    struct muster_queue_info cached = look(s, "q", AN_HOUR), fresh;
    size_t n_moved = 0;
    for (int i = 0; i < STEPS; i++) {
        struct muster_queue_info before = cached;
        do_something(&c);
        cached = look(s, "q", AN_HOUR);
        assert_ok(muster_queue_get(c.client, "q", &fresh));
        assert_now(&cached, &fresh);
        if (!has_moved(&before, &fresh))
            continue;
        n_moved++;
        assert_int_equal(cached.failed, fresh.failed);
        assert_int_equal(cached.delayed, fresh.delayed);
        assert_int_equal(cached.idle, fresh.idle);
    }
    assert_true(n_moved > STEPS / 4 && fresh.failed > 1 && fresh.delayed + fresh.cancelled > 0);
    muster_client_free(c.client);
}

static void an_age_is_never_above_that_of_a_later_row(void **state)
{
    struct scene *s = *state;
    struct changer c = begin_changing(s, 12);
    for (int i = 0; i < STEPS; i++) {
        put_or_pause(&c);
        struct muster_queue_info cached = look(s, "q", AN_HOUR), fresh;
        assert_ok(muster_queue_get(s->client, "q", &fresh));
        assert_true(cached.oldest_ms <= fresh.oldest_ms);
    }
    muster_client_free(c.client);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_listing_in_which_nothing_happened_costs_a_third),
        live_test(what_stands_beside_the_line_is_asked_for_when_the_line_changes),
        live_test(and_when_anything_else_of_the_row_changes),
        live_test(what_is_older_than_was_asked_for_is_asked_for),
        live_test(a_queue_that_was_deleted_and_made_again_is_another),
        live_test(the_age_of_what_came_back_is_of_now),
        live_test(a_negative_age_is_refused),
        live_test(what_comes_and_goes_is_never_old),
        live_test(an_age_is_never_above_that_of_a_later_row),
    };
    return scene_run(tests, argc, argv);
}
