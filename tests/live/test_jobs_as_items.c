/* SPDX-License-Identifier: MIT
 *
 * Jobs used as the items of a work queue, without a registered worker: an id is added only once while it lives, is
 * leased, is completed once by its holder, and comes back when its lease lapses; by several clients at once. And unique
 * tasks: whatever happens to one, an equal one is accepted exactly when none is alive.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checked.h"
#include "child.h"
#include "job_look.h"
#include "script_call.h"
#include "taken.h"

#define AN_HOUR 3600000
#define SHORT 30

/* ---- items ---- */

static void an_item_is_added_once_and_again_after_its_completion(void **state)
{
    struct scene *s = *state;
    for (int round = 0; round < 3; round++) {
        job_put(s, "q", JOB_SPEC(.id = "item", .data = BYTES("d")));
        job_not_put(s, "q", JOB_SPEC(.id = "item"), MUSTER_E_EXISTS, "waiting");
        const char *process = job_take(s, "q", "item");
        job_not_put(s, "q", JOB_SPEC(.id = "item"), MUSTER_E_EXISTS, "running");
        assert_ok(muster_lease_finish(s->client, process, NULL));
        assert_err(muster_lease_finish(s->client, process, NULL), MUSTER_E_LOST);
    }
    assert_int_equal(job_count(s, "q", MUSTER_JOB_COMPLETE), 1);
}

enum { N_ITEMS = 200, N_PRODUCERS = 4 };

/* Each in an order of its own. Exits with 1 if any answer is neither OK nor E_EXISTS. */
static void produce(struct scene *s, int seed)
{
    struct muster_client *c = scene_client(s);
    bool is_bad = false;
    for (int i = 0; i < N_ITEMS; i++) {
        char id[16];
        int n = (i * 37 + seed * 53) % N_ITEMS;
        snprintf(id, sizeof id, "%d", n);
        int err = muster_job_put(c, "q", JOB_SPEC(.id = id, .data = {id, strlen(id)}), NULL);
        is_bad |= err != MUSTER_OK && err != MUSTER_E_EXISTS;
    }
    muster_client_free(c);
    _exit(is_bad);
}

static void of_several_producers_each_item_is_there_once(void **state)
{
    struct scene *s = *state;
    pid_t producers[N_PRODUCERS];
    bool seen[N_ITEMS] = {false};
    struct taken one;
    for (int i = 0; i < N_PRODUCERS; i++)
        if ((producers[i] = child_fork()) == 0)
            produce(s, i);
    for (int i = 0; i < N_PRODUCERS; i++)
        assert_int_equal(child_reap(producers[i], SOON_MS), 0);
    assert_int_equal(queue_row_of(s, "q").waiting, N_ITEMS);
    for (int i = 0; i < N_ITEMS; i++) {
        assert_ok(take_n(s, "q", 1, AN_HOUR, &one));
        int n = atoi(one.rows[0].task);
        assert_false(seen[n]);
        seen[n] = true;
    }
    assert_err(take_n(s, "q", 1, AN_HOUR, &one), MUSTER_E_NOT_FOUND);
    assert_int_equal(queue_row_of(s, "q").running, N_ITEMS);
}

static void of_all_that_complete_it_one_succeeds(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", JOB_SPEC(.id = "item"));
    const char *process = job_take(s, "q", "item");
    struct muster_client *clients[5];
    int n_ok = 0;
    for (size_t i = 0; i < N_OF(clients); i++) {
        clients[i] = scene_client(s);
        int err = muster_lease_finish(clients[i], process, NULL);
        assert_true(err == MUSTER_OK || err == MUSTER_E_LOST);
        n_ok += err == MUSTER_OK;
        muster_client_free(clients[i]);
    }
    assert_int_equal(n_ok, 1);
}

/* No cleaner is needed: the next take finds it. */
static void a_dropped_one_goes_to_another_when_its_lease_has_lapsed(void **state)
{
    struct scene *s = *state;
    struct taken taken;
    struct muster_client *other = scene_client(s);
    job_put(s, "q", JOB_SPEC(.id = "dropped", .data = BYTES("d")));
    job_put(s, "q", JOB_SPEC(.id = "behind"));
    assert_ok(take_n(s, "q", 1, SHORT, &taken));
    assert_int_equal(queue_row_of(s, "q").running, 1);
    await_server_ms(s, taken.rows[0].ends_at_ms);
    struct taken again = {0};
    assert_ok(muster_lease_take(other, "q", 1, AN_HOUR, 0, taken_add, &again));
    assert_string_equal(again.rows[0].task, "d");
    assert_err(muster_lease_finish(s->client, taken.rows[0].id, NULL), MUSTER_E_LOST);
    assert_ok(muster_lease_finish(other, again.rows[0].id, NULL));
    muster_client_free(other);
    assert_int_equal(queue_row_of(s, "q").running, 0);
    assert_int_equal(queue_row_of(s, "q").waiting, 1);
}

static void an_id_and_data_of_any_bytes_come_back_as_they_were(void **state)
{
    struct scene *s = *state;
    unsigned char data[256], id[MUSTER_JOB_ID_MAX + 1];
    struct taken taken;
    for (int i = 0; i < 256; i++)
        data[i] = (unsigned char)i;
    for (int i = 0; i < MUSTER_JOB_ID_MAX; i++)
        id[i] = (unsigned char)(i < 95 ? 32 + i : 128 + (i - 95) % 128);
    id[MUSTER_JOB_ID_MAX] = '\0';
    job_put(s, "q", JOB_SPEC(.id = (char *)id, .data = {data, sizeof data}));
    assert_ok(take_n(s, "q", 1, AN_HOUR, &taken));
    assert_int_equal(taken.rows[0].len, sizeof data);
    assert_memory_equal(taken.rows[0].task, data, sizeof taken.rows[0].task - 1);
    assert_string_equal(job_look(s, (char *)id).process, taken.rows[0].id);
    assert_ok(muster_lease_finish(s->client, taken.rows[0].id, NULL));
}

/* ---- unique tasks ---- */

enum { N_TEXTS = 4, N_STEPS = 1500 };
static const char *const texts[N_TEXTS] = {"one", "two", "", "one "};

/* What the model knows of each text: is it alive, and will any end but a finish drop it; its process while it runs. */
struct twin {
    bool is_alive, is_doomed;
    char process[PROCESS_ID_MAX], id[MUSTER_JOB_ID_MAX + 1];
};

static void learn(struct scene *s, struct twin *twins)
{
    for (int i = 0; i < N_TEXTS; i++) {
        twins[i].process[0] = '\0';
        if (*twins[i].id && job_is_there(s, twins[i].id))
            snprintf(twins[i].process, PROCESS_ID_MAX, "%s", job_look(s, twins[i].id).process);
    }
}

/* Returns whether it is alive afterwards. */
static bool end_twin(struct scene *s, struct twin *t, int how)
{
    bool was_cancelled = job_look(s, t->id).cancelled;
    const int kept = was_cancelled ? MUSTER_E_CANCELLED : MUSTER_OK;
    switch (how) {
    case 0:
        assert_ok(muster_lease_finish(s->client, t->process, NULL));
        return false;
    case 1:
        assert_int_equal(muster_lease_fail(s->client, t->process, "g", NULL), kept);
        return false;
    case 2:
        assert_int_equal(muster_lease_give_back(s->client, t->process), kept);
        return !was_cancelled;
    case 3:
        assert_int_equal(muster_lease_retry(s->client, t->process, AN_HOUR), kept);
        break;
    default:
        assert_int_equal(muster_lease_retry(s->client, t->process, 0), kept);
        break;
    }
    return job_is_there(s, t->id) && job_look(s, t->id).state != MUSTER_JOB_FAILED;
}

static void enqueue_twin(struct scene *s, struct twin *t, const char *text)
{
    const int expected = !t->is_alive ? MUSTER_OK : t->is_doomed ? MUSTER_E_STATE : MUSTER_E_EXISTS;
    char id[MUSTER_JOB_ID_MAX + 1];
    assert_err(muster_task_enqueue_unique(s->client, "q", text, strlen(text), id), expected);
    if (expected == MUSTER_E_STATE) {
        assert_string_equal(id, "");
        return;
    }
    snprintf(t->id, sizeof t->id, "%s", id);
    t->is_alive = true;
}

static void step(struct scene *s, struct twin *twins, int what, struct twin *t, const char *text)
{
    const struct muster_failed_filter all = {.size = sizeof all, .queue = "q"};
    struct taken taken;
    switch (what) {
    case 0:
    case 1:
    case 2:
        enqueue_twin(s, t, text);
        break;
    case 3:
    case 4:
        (void)take_n(s, "q", 1, AN_HOUR, &taken);
        break;
    case 5:
    case 6:
    case 7:
        if (*t->process) {
            t->is_alive = end_twin(s, t, rand() % 5);
            t->is_doomed = false; /* it is gone now, if it was */
        }
        break;
    case 8:
        if (*t->id) {
            bool is_running = *t->process;
            assert_ok(muster_job_cancel(s->client, (const char *const[]){t->id}, 1, 0, NULL, NULL));
            t->is_alive = t->is_doomed = is_running;
        }
        break;
    case 9:
        scene_enqueue(s, "q", text);
        break; /* an equal plain task is another matter */
    case 10:
        if (rand() % 4 == 0) {
            assert_ok(muster_queue_delete(s->client, "q", NULL, NULL));
            for (int i = 0; i < N_TEXTS; i++)
                twins[i].is_alive = twins[i].is_doomed = *twins[i].process;
        }
        break;
    case 11:
        assert_ok(muster_failed_replay(s->client, &all, NULL));
        for (int i = 0; i < N_TEXTS; i++)
            if (*twins[i].id && job_is_there(s, twins[i].id) && job_look(s, twins[i].id).state == MUSTER_JOB_WAITING)
                twins[i].is_alive = true;
        break;
    }
}

static void whatever_happens_an_equal_one_is_accepted_just_when_none_is_alive(void **state)
{
    struct scene *s = *state;
    struct twin twins[N_TEXTS] = {0};
    unsigned seed = (unsigned)now_ms();
    print_message("  seed %u\n", seed);
    srand(seed);
    for (int i = 0; i < N_STEPS; i++) {
        int which = rand() % N_TEXTS;
        learn(s, twins);
        step(s, twins, rand() % 12, &twins[which], texts[which]);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(an_item_is_added_once_and_again_after_its_completion),
        live_test(of_several_producers_each_item_is_there_once),
        live_test(of_all_that_complete_it_one_succeeds),
        live_test(a_dropped_one_goes_to_another_when_its_lease_has_lapsed),
        live_test(an_id_and_data_of_any_bytes_come_back_as_they_were),
        live_test(whatever_happens_an_equal_one_is_accepted_just_when_none_is_alive),
    };
    return scene_run(tests, argc, argv);
}
