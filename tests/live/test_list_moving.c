/* SPDX-License-Identifier: MIT
 *
 * Lists of more rows than a page has, while others come, go and move. Proves that whatever is there the whole time is
 * listed, once.
 */
#include <muster/batch.h>
#include <muster/job.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scene.h"

/* More than two pages, and not just so many. */
enum { ROWS = 250, GONE = 60 };

/* What happens when the first row is given. */
struct look {
    struct scene *scene;
    const char *script; /* of Redis: ARGV has the prefix, and how many of the first rows go or move */
    int n, seen[ROWS];
};

static void see(struct look *l, const char *name)
{
    int i = -1;
    if (l->n++ == 0)
        raw_do(l->scene->server->redis, "EVAL %s 0 %s %d", l->script, l->scene->prefix, GONE);
    assert_int_equal(sscanf(name, "x%d", &i), 1);
    assert_in_range(i, 0, ROWS - 1);
    l->seen[i]++;
}

static void assert_all_seen_once(const struct look *l)
{
    for (int i = 0; i < ROWS; i++)
        if (l->seen[i] != 1)
            fail_msg("x%03d was listed %d times", i, l->seen[i]);
}

/* ---- workers ---- */

static void make_workers(struct scene *s)
{
    raw_do(s->server->redis, "EVAL %s 0 %s %d",
           "local p = ARGV[1] for i = 0, ARGV[2] - 1 do local id = string.format('x%03d', i)"
           " redis.call('ZADD', p .. ':registry', 9e15 + i, id)"
           " redis.call('HSET', p .. ':worker:' .. id, 'epoch', '00000000001', 'ttl', 60000, 'hands', 1, 'q:q', 0)"
           " redis.call('HSET', p .. ':processing:' .. id .. ':q', string.format('%011d', i + 1), 'task') end",
           s->prefix, ROWS);
}

/* As their heartbeats do. */
static const char are_heard[] = "for i = 0, ARGV[2] - 1 do redis.call('ZADD', ARGV[1] .. ':registry', 9e15 + 1000 + i, "
                                "string.format('x%03d', i)) end";

static int see_worker(const struct muster_worker_info *w, void *arg)
{
    see(arg, w->id);
    return 0;
}

static int see_process(const struct muster_process_info *p, void *arg)
{
    see(arg, p->worker);
    return 0;
}

static void workers_that_are_heard_meanwhile_hide_none(void **state)
{
    struct scene *s = *state;
    struct look l = {.scene = s, .script = are_heard};
    make_workers(s);
    assert_ok(muster_worker_list(s->client, see_worker, &l));
    assert_all_seen_once(&l);
}

static void and_none_of_what_they_hold(void **state)
{
    struct scene *s = *state;
    struct look l = {.scene = s, .script = are_heard};
    make_workers(s);
    assert_ok(muster_process_list(s->client, NULL, see_process, &l));
    assert_all_seen_once(&l);
}

/* ---- queues ---- */

/* In one millisecond many queues can be seen for the first time: such have one score. */
static void make_queues(struct scene *s, int of_one_score)
{
    raw_do(s->server->redis, "EVAL %s 0 %s %d %d",
           "local p = ARGV[1] for i = 0, ARGV[2] - 1 do local q = string.format('x%03d', i)"
           " redis.call('ZADD', p .. ':names', 1 + math.floor(i / ARGV[3]), q)"
           " redis.call('HSET', p .. ':failures:' .. q, 'g:group', 1) end",
           s->prefix, ROWS, of_one_score);
}

/* As tidying and deletions do. */
static const char go[] =
    "for i = 0, ARGV[2] - 1 do redis.call('ZREM', ARGV[1] .. ':names', string.format('x%03d', i)) end";

static int see_queue(const struct muster_queue_info *q, void *arg)
{
    see(arg, q->name);
    return 0;
}

static int see_counts(const char *queue, const uint64_t counts[MUSTER_JOB_STATE_COUNT], void *arg)
{
    (void)counts;
    see(arg, queue);
    return 0;
}

static int see_group(const struct muster_failed_group *g, void *arg)
{
    see(arg, g->queue);
    return 0;
}

static void queues_that_go_meanwhile_hide_none(void **state)
{
    struct scene *s = *state;
    static const int of_one_score[] = {1, 3, 40, ROWS};
    for (size_t i = 0; i < sizeof of_one_score / sizeof *of_one_score; i++) {
        struct look rows = {.scene = s, .script = go}, counts = rows, groups = rows;
        make_queues(s, of_one_score[i]);
        assert_ok(muster_queue_list(s->client, see_queue, &rows));
        assert_all_seen_once(&rows);
        make_queues(s, of_one_score[i]);
        assert_ok(muster_job_counts_list(s->client, see_counts, &counts));
        assert_all_seen_once(&counts);
        make_queues(s, of_one_score[i]);
        assert_ok(muster_failed_groups(s->client, NULL, see_group, &groups));
        assert_int_equal(groups.seen[ROWS - 1], 1);
    }
}

/* ---- batches ---- */

static int see_batch(const struct muster_batch *b, void *arg)
{
    see(arg, b->id);
    return 0;
}

static void batches_that_go_meanwhile_hide_none(void **state)
{
    struct scene *s = *state;
    struct look l = {.scene = s,
                     .script = "for i = 0, ARGV[2] - 1 do local id = string.format('x%03d', i)"
                               " redis.call('ZREM', ARGV[1] .. ':batches', id)"
                               " redis.call('DEL', ARGV[1] .. ':batch:' .. id) end"};
    for (int i = 0; i < ROWS; i++) {
        char id[16];
        snprintf(id, sizeof id, "x%03d", i);
        const struct muster_batch_spec spec = {.size = sizeof spec, .id = id};
        assert_ok(muster_batch_open(s->client, &spec, NULL));
    }
    assert_ok(muster_batch_list(s->client, see_batch, &l));
    assert_all_seen_once(&l);
}

/* Those that are closed have one score. Each page has the last row of the one before, and 99 more: the last one of all but
 * some of them goes as it is given. */
#define PAGES 20
#define LAST (100 + 99 * PAGES)

static int64_t pages_asked(struct scene *s)
{
    char *info = raw_string(s->server->redis, "INFO commandstats");
    const char *at = strstr(info, "cmdstat_zrangebyscore:calls=");
    int64_t n = at ? strtoll(strchr(at, '=') + 1, NULL, 10) : 0;
    free(info);
    return n;
}

static int forget_batch(const struct muster_batch *b, void *arg)
{
    struct scene *s = arg;
    raw_do(s->server->redis, "ZREM %s:batches %s", s->prefix, b->id);
    return 0;
}

static void one_that_goes_makes_no_more_than_its_page_be_read_again(void **state)
{
    struct scene *s = *state;
    char id[16];
    snprintf(id, sizeof id, "x%07d", LAST - 1);
    const struct muster_batch_spec spec = {.size = sizeof spec, .id = id};
    assert_ok(muster_batch_open(s->client, &spec, NULL));
    raw_do(s->server->redis, "EVAL %s 0 %s %d",
           "for i = 0, ARGV[2] - 1 do redis.call('ZADD', ARGV[1] .. ':batches', 'inf', string.format('x%07d', i)) end",
           s->prefix, LAST + 150);
    const int64_t before = pages_asked(s);
    assert_ok(muster_batch_list(s->client, forget_batch, s));
    assert_in_range(pages_asked(s) - before, PAGES, PAGES + 6);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(workers_that_are_heard_meanwhile_hide_none),
        live_test(and_none_of_what_they_hold),
        live_test(queues_that_go_meanwhile_hide_none),
        live_test(batches_that_go_meanwhile_hide_none),
        live_test(one_that_goes_makes_no_more_than_its_page_be_read_again),
    };
    return scene_run(tests, argc, argv);
}
