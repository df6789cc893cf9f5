/* SPDX-License-Identifier: MIT
 *
 * A damaged key costs its own queue only: each kind of key has a wrong type in turn, for one of a worker's two queues, while
 * its tasks and jobs end in each way, and its jobs get new data. What comes to the other queue meanwhile is done.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live_worker.h"
#include "protocol/keys.h"

/* More than can get stuck before the key is put right. */
enum { HANDS = 40, EACH = 3 };

static enum muster_outcome end_in_each_way(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    unsigned *n = w->spec.arg;
    journal_process(w->journal, JOURNAL_START, 0, p);
    if (strcmp(muster_process_queue(p), "well") == 0)
        return MUSTER_FINISH;
    if (muster_process_job(p) && ++*n % 2)
        assert_ok(muster_process_set_data(p, "new", 3));
    assert_ok(muster_process_set_retry(p, 0));
    return (enum muster_outcome)(*n % MUSTER_LATER);
}

/* Whether it is accepted is for others to test. */
static void put_some(struct scene *s, int kind, const char *stem)
{
    for (int i = 0; i < EACH; i++) {
        char id[40];
        snprintf(id, sizeof id, "%s%d-%d", stem, kind, i);
        const struct muster_job_spec spec = {.size = sizeof spec, .id = id, .retries = 1};
        (void)!muster_job_put(s->client, "ill", &spec, NULL);
        (void)!muster_task_enqueue(s->client, "ill", id, strlen(id), NULL);
    }
}

struct done {
    struct scene *scene;
    char task[40];
};

static bool is_done(void *arg)
{
    const struct done *d = arg;
    return journal_find(d->scene->journal, 0, JOURNAL_START, -1, "w", d->task) != NULL;
}

static void assert_the_other_goes_on(struct scene *s, int kind, const char *key)
{
    for (int i = 0; i < 2 * EACH; i++) {
        struct done d = {.scene = s};
        snprintf(d.task, sizeof d.task, "t%d-%d", kind, i);
        scene_enqueue(s, "well", d.task);
        if (!wait_for(s->base, is_done, &d, SOON_MS))
            fail_msg("%sill holds up the other queue", key);
    }
}

static void a_damaged_key_costs_its_own_queue_only(void **state)
{
    struct scene *s = *state;
    unsigned n = 0;
    struct live_worker *w = live_worker_idle(s, &(struct worker_spec){.id = "w",
                                                                      .ttl_ms = 600,
                                                                      .hands = HANDS,
                                                                      .handler = end_in_each_way,
                                                                      .arg = &n,
                                                                      .queues = {{"ill", 0}, {"well", 0}}});
    for (int kind = 0; kind < KEY_COUNT; kind++) {
        char key[KEY_MAX];
        size_t len = key_of(key, s->prefix, (enum key)kind, "");
        if (key[len - 1] != ':')
            continue; /* it is no queue's */
        put_some(s, kind, "before");
        event_base_loop(s->base, EVLOOP_NONBLOCK);
        raw_do(s->server->redis, "DEL %sill %sw:ill", key, key);
        raw_do(s->server->redis, "MSET %sill text %sw:ill text", key, key);
        put_some(s, kind, "beside");
        assert_the_other_goes_on(s, kind, key);
        raw_do(s->server->redis, "DEL %sill %sw:ill", key, key);
        live_worker_await_beats(s, w, 3);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {live_test(a_damaged_key_costs_its_own_queue_only)};
    return scene_run(tests, argc, argv);
}
