/* SPDX-License-Identifier: MIT
 *
 * The sampler of owners sees what it must see: each breach of the law, and gaps, in sets written by hand.
 */
#include <stdio.h>

#include "owner_sampler.h"
#include "scene.h"

struct watch {
    struct scene *scene;
    struct owner_sampler sampler;
    int from;
};

static void own(struct watch *w, const char *worker, const char *token, const char *task)
{
    const char *prefix = w->scene->prefix;
    raw_do(w->scene->server->redis, "HSET %s:processing:%s:q %s %s", prefix, worker, token, task);
}

static void disown(struct watch *w, const char *worker, const char *token)
{
    raw_do(w->scene->server->redis, "HDEL %s:processing:%s:q %s", w->scene->prefix, worker, token);
}

static bool two_more_snapshots(void *arg)
{
    struct watch *w = arg;
    return w->sampler.account->samples >= w->from + 2;
}

static void look(struct watch *w)
{
    w->from = w->sampler.account->samples;
    wait_until(two_more_snapshots, w, SOON_MS);
}

/* w0 and w1 run, and w0 owns t0. It comes last: a task whose owner does not run yet is a gap. */
static void watch_start(struct watch *w, struct scene *s)
{
    w->scene = s;
    raw_do(s->server->redis, "ZADD %s:registry 1 w0.1 1 w1.1", s->prefix);
    owner_sampler_start(&w->sampler, s->server->socket, s->prefix);
    atomic_store(&w->sampler.account->runs[0], 1);
    atomic_store(&w->sampler.account->runs[1], 1);
    own(w, "w0.1", "00000000005", "t0");
    look(w);
    assert_int_equal(w->sampler.account->breaches, 0);
}

static void assert_breach(struct watch *w)
{
    look(w);
    owner_sampler_stop(&w->sampler);
    print_message("%s\n", w->sampler.account->first_breach);
    assert_true(w->sampler.account->breaches > 0);
    owner_sampler_free(&w->sampler);
}

static void two_owners_are_seen(void **state)
{
    struct watch w;
    watch_start(&w, *state);
    own(&w, "w1.1", "00000000006", "t0");
    assert_breach(&w);
}

static void an_older_token_is_seen(void **state)
{
    struct watch w;
    watch_start(&w, *state);
    disown(&w, "w0.1", "00000000005");
    own(&w, "w1.1", "00000000004", "t0");
    assert_breach(&w);
}

static void another_owner_under_the_same_token_is_seen(void **state)
{
    struct watch w;
    watch_start(&w, *state);
    disown(&w, "w0.1", "00000000005");
    own(&w, "w1.1", "00000000005", "t0");
    assert_breach(&w);
}

static void look_for(struct watch *w, int ms)
{
    for (int64_t until = now_ms() + ms; now_ms() < until;)
        look(w);
}

static void gaps_are_measured(void **state)
{
    struct watch w;
    watch_start(&w, *state);
    disown(&w, "w0.1", "00000000005");
    look_for(&w, 300);
    own(&w, "w1.1", "00000000006", "t0");
    look(&w);
    atomic_store(&w.sampler.account->runs[1], 0);
    look_for(&w, 300);
    atomic_store(&w.sampler.account->runs[1], 1);
    look(&w);
    owner_sampler_stop(&w.sampler);
    const struct owner_account *a = w.sampler.account;
    int n = 0;
    for (int i = 0; i < SAMPLER_BUCKETS; i++)
        n += a->gaps[i];
    assert_int_equal(n, 2);
    assert_true(a->longest_gap_ms + a->blind_ms >= 250);
    assert_int_equal(a->breaches, 0);
    assert_int_equal(a->n_tasks_seen, 1);
    owner_sampler_free(&w.sampler);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(two_owners_are_seen),
        live_test(an_older_token_is_seen),
        live_test(another_owner_under_the_same_token_is_seen),
        live_test(gaps_are_measured),
    };
    return scene_run(tests, argc, argv);
}
