/* SPDX-License-Identifier: MIT
 *
 * A process is held while what it follows is not there. It is held no longer than that, whoever says what of it, and in
 * which order; and what it held comes back if its worker dies meanwhile.
 */
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "live_worker.h"

static bool is_set(void *flag)
{
    return atomic_load((atomic_bool *)flag);
}

static void await_flag(atomic_bool *flag)
{
    wait_until(is_set, flag, SOON_MS);
}

/* ---- data of a process that has begun without the loop ---- */

static struct ahead {
    struct scene *scene;
    atomic_bool loop_waits, has_posted_end, has_posted_data, has_data, may_end;
} ahead;

static void set_its_data(struct muster_worker *w, void *process)
{
    (void)w;
    assert_ok(muster_process_set_data(process, "new", 3));
    atomic_store(&ahead.has_data, true);
}

/* The loop stands still until a thread has begun "c" by itself, and that has asked for its data. */
static void hold_the_loop(struct muster_worker *w, void *arg)
{
    (void)w, (void)arg;
    atomic_store(&ahead.loop_waits, true);
    await_flag(&ahead.has_posted_end);
    await_flag(&ahead.has_posted_data);
}

static enum muster_outcome run_ahead(struct muster_process *p, void *arg)
{
    const char *id = muster_process_job(p)->id;
    (void)arg;
    if (strcmp(id, "c") == 0) {
        if (strcmp(muster_process_task(p, NULL), "new") == 0)
            return MUSTER_FINISH;
        assert_ok(muster_worker_post(muster_process_worker(p), set_its_data, p));
        atomic_store(&ahead.has_posted_data, true);
        await_flag(&ahead.has_data);
        assert_ok(muster_process_set_retry(p, 0));
        return MUSTER_RETRY;
    }
    await_flag(&ahead.loop_waits);
    if (strcmp(id, "b") == 0)
        return MUSTER_FINISH;
    assert_ok(muster_process_end(p, MUSTER_FINISH));
    atomic_store(&ahead.has_posted_end, true);
    while (!atomic_load(&ahead.may_end) && muster_process_stop_reason(p) == MUSTER_GO_ON)
        sched_yield();
    return MUSTER_LATER;
}

/* With their records; so "c" lies ahead for a thread. */
static bool have_all_come(void *arg)
{
    struct muster_worker_stats stats = {.size = sizeof stats};
    assert_ok(muster_worker_stats(((struct live_worker *)arg)->worker, &stats));
    return stats.wait.n == 3;
}

static bool has_retried(void *journal)
{
    const struct journal_entry *e = journal_find(journal, 0, JOURNAL_EVENT, MUSTER_EVENT_ENDED, "w", "c");
    return e && strcmp(e->text, "retried") == 0;
}

static void put(struct scene *s, const char *id)
{
    const struct muster_job_spec spec = {.size = sizeof spec, .id = id, .data = {id, 1}};
    assert_ok(muster_job_put(s->client, "q", &spec, NULL));
}

static void data_that_the_loop_sets_before_it_knows_of_the_beginning(void **state)
{
    struct scene *s = *state;
    ahead = (struct ahead){.scene = s};
    struct live_worker *w = live_worker_idle(s, &(struct worker_spec){.id = "w",
                                                                      .hands = 2,
                                                                      .prefetch = 1,
                                                                      .queues = {{"q", 0}},
                                                                      .more = {.threads = 2, .tell_ended = 1},
                                                                      .handler = run_ahead});
    put(s, "a");
    put(s, "b");
    put(s, "c");
    wait_on(s->base, have_all_come, w, SOON_MS);
    assert_ok(muster_worker_post(w->worker, hold_the_loop, NULL));
    wait_on(s->base, is_set, &ahead.has_data, SOON_MS);
    wait_on(s->base, has_retried, s->journal, SOON_MS);
    atomic_store(&ahead.may_end, true);
    raw_await(s->server->redis, s->base, 0, "HLEN %s:processing:w:q", s->prefix);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(data_that_the_loop_sets_before_it_knows_of_the_beginning),
    };
    return scene_run(tests, argc, argv);
}
