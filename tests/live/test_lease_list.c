/* SPDX-License-Identifier: MIT
 *
 * Leases that are extended, notes about the progress of the work, and the list of processes that shows both.
 */
#include <string.h>

#include "live_worker.h"
#include "taken.h"

#define AN_HOUR 3600000
#define SHORT 30

/* ---- extending ---- */

static struct taken_row row_of(struct scene *s, const char *id)
{
    struct taken all = {0};
    assert_ok(muster_process_list(s->client, NULL, taken_add, &all));
    for (size_t i = 0; i < all.n && i < TAKEN_MAX; i++)
        if (!strcmp(all.rows[i].id, id))
            return all.rows[i];
    fail_msg("%s is not listed", id);
    return all.rows[0];
}

static void an_extended_lease_does_not_lapse_when_it_would_have(void **state)
{
    struct scene *s = *state;
    struct taken taken, nothing;
    scene_enqueue(s, "q", "t");
    assert_ok(take_n(s, "q", 1, 1000, &taken));
    const char *id = taken.rows[0].id;
    int64_t before_ms = server_now_ms(s);
    assert_ok(muster_lease_extend(
        s->client, id,
        &(struct muster_extend_options){.size = sizeof(struct muster_extend_options), .lease_ms = AN_HOUR}));
    assert_in_range(row_of(s, id).ends_at_ms, before_ms + AN_HOUR, server_now_ms(s) + AN_HOUR);
    await_server_ms(s, taken.rows[0].ends_at_ms);
    assert_err(take_n(s, "q", 1, AN_HOUR, &nothing), MUSTER_E_NOT_FOUND);
    assert_ok(muster_lease_finish(s->client, id, NULL));
}

/* Shorter than it was: a waiter that sleeps until the old end would be late. */
static void a_lease_is_made_shorter_too(void **state)
{
    struct scene *s = *state;
    const struct muster_extend_options o = {.size = sizeof o, .lease_ms = SHORT};
    scene_enqueue(s, "q", "t");
    const char *id = take_one(s, "q", "t");
    assert_ok(muster_lease_extend(s->client, id, &o));
    await_server_ms(s, row_of(s, id).ends_at_ms);
    take_one(s, "q", "t");
    assert_err(muster_lease_finish(s->client, id, NULL), MUSTER_E_LOST);
}

static int note(struct scene *s, const char *id, const char *progress)
{
    const struct muster_extend_options o = {.size = sizeof o, .progress = progress};
    return muster_lease_extend(s->client, id, &o);
}

static void a_note_is_shown_replaced_and_taken_away(void **state)
{
    struct scene *s = *state;
    char long_note[MUSTER_PROGRESS_MAX + 2];
    memset(long_note, 'n', sizeof long_note);
    long_note[sizeof long_note - 1] = '\0';
    scene_enqueue(s, "q", "t");
    const char *id = take_one(s, "q", "t");
    int64_t ends_at_ms = row_of(s, id).ends_at_ms;
    assert_string_equal(row_of(s, id).progress, "");
    assert_ok(note(s, id, "1 of 9"));
    assert_string_equal(row_of(s, id).progress, "1 of 9");
    assert_ok(note(s, id, NULL));
    assert_string_equal(row_of(s, id).progress, "1 of 9");
    assert_ok(note(s, id, "2 of 9"));
    assert_string_equal(row_of(s, id).progress, "2 of 9");
    assert_int_equal(row_of(s, id).ends_at_ms, ends_at_ms);
    assert_ok(note(s, id, ""));
    assert_string_equal(row_of(s, id).progress, "");
    assert_ok(note(s, id, long_note + 1));
    assert_err(note(s, id, long_note), MUSTER_E_TOO_BIG);
    assert_ok(muster_lease_finish(s->client, id, NULL));
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:notes:.lease", s->prefix), 0);
}

static void a_workers_process_has_notes_but_no_lease(void **state)
{
    struct scene *s = *state;
    struct taken all = {0};
    const struct muster_extend_options o = {.size = sizeof o, .lease_ms = AN_HOUR};
    struct live_worker *w = live_worker_idle(
        s, &(struct worker_spec){.id = "w1", .ttl_ms = AN_HOUR, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    assert_ok(muster_process_list(s->client, NULL, taken_add, &all));
    const char *id = all.rows[0].id;
    assert_int_equal(all.rows[0].ends_at_ms, 0);
    assert_err(muster_lease_extend(s->client, id, &o), MUSTER_E_STATE);
    assert_non_null(strstr(muster_client_error(s->client), "no lease"));
    assert_ok(note(s, id, "half"));
    assert_string_equal(row_of(s, id).progress, "half");
    live_worker_answer(w, MUSTER_FINISH);
    raw_await(s->server->redis, s->base, 0, "EXISTS %s:notes:w1", s->prefix);
    scene_assert_quiet(s);
}

/* ---- listing ---- */

static size_t count_listed(struct scene *s, const char *queue, const char *worker)
{
    const struct muster_process_filter f = {.size = sizeof f, .queue = queue, .worker = worker};
    struct taken all = {0};
    assert_ok(muster_process_list(s->client, &f, taken_add, &all));
    return all.n;
}

static void leases_are_listed_after_the_workers_processes(void **state)
{
    struct scene *s = *state;
    struct taken taken, all = {0};
    live_worker_idle(s, &(struct worker_spec){.id = "w1", .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    scene_enqueue_n(s, "q", "t", 3);
    scene_enqueue_n(s, "r", "u", 2);
    scene_await_starts(s, 1);
    assert_ok(take_n(s, "q", 2, AN_HOUR, &taken));
    assert_ok(take_n(s, "r", 1, AN_HOUR, &taken));
    assert_ok(muster_process_list(s->client, NULL, taken_add, &all));
    assert_int_equal(all.n, 4);
    assert_string_equal(all.rows[0].worker, "w1");
    assert_int_equal(all.rows[0].ends_at_ms, 0);
    assert_string_equal(all.rows[3].worker, MUSTER_LEASE_ID);
    assert_string_equal(all.rows[3].id, taken.rows[0].id);
    assert_int_equal(all.rows[3].ends_at_ms, taken.rows[0].ends_at_ms);
    assert_int_equal(count_listed(s, "q", NULL), 3);
    assert_int_equal(count_listed(s, "r", NULL), 1);
    assert_int_equal(count_listed(s, NULL, MUSTER_LEASE_ID), 3);
    assert_int_equal(count_listed(s, "q", MUSTER_LEASE_ID), 2);
    assert_int_equal(count_listed(s, "q", "w1"), 1);
    const struct muster_process_filter f = {.size = sizeof f, .worker = ".leases"};
    assert_err(muster_process_list(s->client, &f, taken_add, &all), MUSTER_E_INVALID);
}

static void many_leases_are_listed_each_with_its_end_note_and_mark(void **state)
{
    struct scene *s = *state;
    struct taken taken;
    scene_enqueue_n(s, "q", "t", 800);
    assert_ok(take_n(s, "q", 800, AN_HOUR, &taken));
    const char *id = taken.rows[7].id;
    assert_ok(note(s, id, "half"));
    assert_ok(muster_process_cancel(s->client, id));
    assert_int_equal(count_listed(s, NULL, NULL), 800);
    const struct muster_bytes task = {taken.rows[7].task, taken.rows[7].len};
    const struct muster_process_filter f = {.size = sizeof f, .queue = "q", .worker = MUSTER_LEASE_ID, .task = &task};
    struct taken one = {0};
    assert_ok(muster_process_list(s->client, &f, taken_add, &one));
    assert_int_equal(one.n, 1);
    assert_string_equal(one.rows[0].progress, "half");
    assert_true(one.rows[0].cancelled);
    assert_int_equal(one.rows[0].ends_at_ms, taken.rows[7].ends_at_ms);
}

static int add_queues(const struct muster_worker_info *worker, void *arg)
{
    for (size_t i = 0; i < worker->n_queues; i++)
        strcat(strcat(arg, worker->queues[i]), " ");
    return 0;
}

static void a_queue_that_its_worker_has_left_is_not_shown_as_its_own(void **state)
{
    struct scene *s = *state;
    char queues[64] = "";
    struct live_worker *w = live_worker_idle(s, &(struct worker_spec){.id = "w1", .queues = {{"q", 0}, {"r", 0}}});
    assert_ok(muster_worker_leave(w->worker, "r"));
    scene_await_events(s, MUSTER_EVENT_LEFT, "w1", 1);
    assert_ok(muster_worker_list(s->client, add_queues, queues));
    assert_string_equal(queues, "q ");
    assert_int_equal(count_listed(s, NULL, NULL), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(an_extended_lease_does_not_lapse_when_it_would_have),
        live_test(a_lease_is_made_shorter_too),
        live_test(a_note_is_shown_replaced_and_taken_away),
        live_test(a_workers_process_has_notes_but_no_lease),
        live_test(leases_are_listed_after_the_workers_processes),
        live_test(many_leases_are_listed_each_with_its_end_note_and_mark),
        live_test(a_queue_that_its_worker_has_left_is_not_shown_as_its_own),
    };
    return scene_run(tests, argc, argv);
}
