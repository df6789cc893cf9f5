/* SPDX-License-Identifier: MIT
 *
 * Listing jobs, counting them, their tags; changing and cancelling them.
 */
#include <stdio.h>
#include <string.h>

#include "client/page.h"
#include "job_look.h"
#include "taken.h"

#define A_MINUTE 60000

static void put_n(struct scene *s, const char *queue, const char *stem, int n)
{
    for (int i = 0; i < n; i++) {
        char id[32];
        snprintf(id, sizeof id, "%s%d", stem, i);
        job_put(s, queue, JOB_SPEC(.id = id, .tags = IDS("all"), .n_tags = 1));
    }
}

/* ---- listing ---- */

static void waiting_jobs_are_listed_as_they_come_out(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", JOB_SPEC(.id = "later", .priority = 5));
    job_put(s, "q", JOB_SPEC(.id = "a"));
    job_put(s, "q", JOB_SPEC(.id = "b"));
    job_put(s, "q", JOB_SPEC(.id = "first", .priority = -2147483647 - 1));
    job_put(s, "q", JOB_SPEC(.id = "last", .priority = 2147483647));
    job_put(s, "other", JOB_SPEC(.id = "c"));
    assert_jobs_listed(s, JOB_FILTER(.queue = "q", .state = MUSTER_JOB_WAITING), "first a b later last ");
    assert_jobs_listed(s, JOB_FILTER(.queue = "q", .state = MUSTER_JOB_WAITING, .offset = 1, .n = 2), "a b ");
    assert_jobs_listed(s, JOB_FILTER(.queue = "q", .state = MUSTER_JOB_WAITING, .offset = 9), "");
    assert_jobs_listed(s, JOB_FILTER(.queue = "nobody", .state = MUSTER_JOB_WAITING), "");
    job_take(s, "q", "first");
    assert_jobs_listed(s, JOB_FILTER(.queue = "q", .state = MUSTER_JOB_RUNNING), "first ");
}

static void each_state_has_its_list_and_its_count(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", JOB_SPEC(.id = "late", .delay_ms = 2 * A_MINUTE));
    job_put(s, "q", JOB_SPEC(.id = "soon", .delay_ms = A_MINUTE));
    job_put(s, "q", JOB_SPEC(.id = "every", .every_ms = A_MINUTE, .offset_ms = A_MINUTE));
    job_put(s, "q", JOB_SPEC(.id = "done"));
    assert_ok(muster_lease_finish(s->client, job_take(s, "q", "done"), NULL));
    job_put(s, "q", JOB_SPEC(.id = "failed"));
    assert_ok(muster_lease_fail(s->client, job_take(s, "q", "failed"), "g", "why"));
    scene_enqueue(s, "q", "plain");
    assert_ok(muster_lease_fail(s->client, take_one(s, "q", "plain"), "g", "why"));
    job_put(s, "q", JOB_SPEC(.id = "busy"));
    job_take(s, "q", "busy");
    job_put(s, "q", JOB_SPEC(.id = "after", .after = IDS("busy"), .n_after = 1));
    int64_t one = 1;
    assert_ok(muster_config_set(s->client, "q", "max_running_per_key", &one));
    job_put(s, "q", JOB_SPEC(.id = "ready", .key = "k"));
    job_put(s, "q", JOB_SPEC(.id = "held", .key = "k"));
    static const char *const lists[MUSTER_JOB_STATE_COUNT] = {
        [MUSTER_JOB_SCHEDULED] = "soon late ", [MUSTER_JOB_DEPENDS] = "after ", [MUSTER_JOB_WAITING] = "ready ",
        [MUSTER_JOB_RUNNING] = "busy ",        [MUSTER_JOB_FAILED] = "failed ", [MUSTER_JOB_COMPLETE] = "done ",
        [MUSTER_JOB_RECURRING] = "every ",     [MUSTER_JOB_HELD] = "held ",
    };
    for (int i = 0; i < MUSTER_JOB_STATE_COUNT; i++) {
        assert_jobs_listed(s, JOB_FILTER(.queue = "q", .by_state = 1, .state = (enum muster_job_state)i), lists[i]);
        assert_int_equal(job_count(s, "q", (enum muster_job_state)i), i == MUSTER_JOB_SCHEDULED ? 2 : 1);
    }
    struct muster_queue_info row = queue_row_of(s, "q");
    assert_int_equal(row.waiting, 1);
    assert_int_equal(row.running, 1);
    assert_int_equal(row.delayed, 2);
    assert_int_equal(row.depends, 1);
    assert_int_equal(row.recurring, 1);
    assert_int_equal(row.complete, 1);
    assert_int_equal(row.held, 1);
    assert_int_equal(row.failed, 2);
}

static int note_counts(const char *queue, const uint64_t counts[MUSTER_JOB_STATE_COUNT], void *arg)
{
    char *text = arg;
    sprintf(text + strlen(text), "%s=%d,%d,%d ", queue, (int)counts[MUSTER_JOB_WAITING],
            (int)counts[MUSTER_JOB_SCHEDULED], (int)counts[MUSTER_JOB_FAILED]);
    return strcmp(queue, "r") == 0;
}

static void all_queues_are_counted_in_pages(void **state)
{
    struct scene *s = *state;
    char text[4096] = "", expected[4096] = "a=2,1,0 b=0,0,1 ", name[16];
    job_put(s, "a", JOB_SPEC(.id = "a1"));
    job_put(s, "a", JOB_SPEC(.id = "a2"));
    job_put(s, "a", JOB_SPEC(.id = "a3", .delay_ms = A_MINUTE));
    job_put(s, "b", JOB_SPEC(.id = "b1"));
    assert_ok(muster_lease_fail(s->client, job_take(s, "b", "b1"), "why", NULL));
    for (int i = 0; i < 120; i++) {
        snprintf(name, sizeof name, "q%03d", i);
        scene_enqueue(s, name, "plain");
        sprintf(expected + strlen(expected), "%s=0,0,0 ", name);
    }
    job_put(s, "r", JOB_SPEC(.id = "r1")); /* what came within a millisecond is in the order of the names */
    scene_enqueue(s, "s", "plain");
    strcat(expected, "r=1,0,0 ");
    assert_ok(muster_job_counts_list(s->client, note_counts, text));
    assert_string_equal(text, expected);
}

/* Each of them answers the same: nothing. */
static void thousands_of_queues_without_such_jobs_hide_none(void **state)
{
    struct scene *s = *state;
    raw_do(s->server->redis, "EVAL %s 0 %s %d",
           "for i = 1, ARGV[2] do redis.call('ZADD', ARGV[1] .. ':names', i, 'empty' .. i) end", s->prefix,
           2 * PAGE_SAME_MAX);
    job_put(s, "q", JOB_SPEC(.id = "failed"));
    assert_ok(muster_lease_fail(s->client, job_take(s, "q", "failed"), "g", "why"));
    job_put(s, "q", JOB_SPEC(.id = "ready"));
    assert_jobs_listed(s, JOB_FILTER(.state = MUSTER_JOB_WAITING), "ready ");
    assert_jobs_listed(s, JOB_FILTER(.state = MUSTER_JOB_RUNNING), "");
    assert_jobs_listed(s, JOB_FILTER(.state = MUSTER_JOB_FAILED), "failed ");
    assert_jobs_listed(s, JOB_FILTER(.group = "g"), "failed ");
    assert_jobs_listed(s, JOB_FILTER(.order = MUSTER_JOBS_NEWEST), "ready failed ");
}

static void long_lists_are_read_in_pages(void **state)
{
    struct scene *s = *state;
    char text[1024] = "", id[8];
    for (int i = 10; i < 60; i++) { /* names that sort as they were put: a millisecond may see several */
        snprintf(id, sizeof id, "j%d", i);
        job_put(s, "q", JOB_SPEC(.id = id, .tags = IDS("all"), .n_tags = 1));
        if (i >= 23 && i < 58)
            strcat(strcat(text, id), " ");
    }
    assert_jobs_listed(s, JOB_FILTER(.queue = "q", .state = MUSTER_JOB_WAITING, .offset = 13, .n = 35), text);
    assert_jobs_listed(s, JOB_FILTER(.tag = "all", .offset = 13, .n = 35), text);
}

static void by_tag_and_tracked_are_of_all_queues_unless_restricted(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", JOB_SPEC(.id = "a", .track = 1, .tags = IDS("red", "blue"), .n_tags = 2));
    job_put(s, "r", JOB_SPEC(.id = "b", .tags = IDS("red"), .n_tags = 1, .delay_ms = A_MINUTE));
    job_put(s, "r", JOB_SPEC(.id = "c", .track = 1, .tags = IDS("red"), .n_tags = 1));
    assert_jobs_listed(s, JOB_FILTER(.tag = "red"), "a b c ");
    assert_jobs_listed(s, JOB_FILTER(.tag = "blue"), "a ");
    assert_jobs_listed(s, JOB_FILTER(.tag = "green"), "");
    assert_jobs_listed(s, JOB_FILTER(.tag = "red", .queue = "r"), "b c ");
    assert_jobs_listed(s, JOB_FILTER(.tag = "red", .by_state = 1, .state = MUSTER_JOB_SCHEDULED), "b ");
    assert_jobs_listed(s, JOB_FILTER(.tag = "red", .by_state = 1, .state = MUSTER_JOB_WAITING, .offset = 1), "c ");
    assert_jobs_listed(s, JOB_FILTER(.tracked = 1), "a c ");
    assert_jobs_listed(s, JOB_FILTER(.tracked = 1, .queue = "q"), "a ");
}

static void failed_jobs_are_listed_newest_first_by_group(void **state)
{
    struct scene *s = *state;
    for (int i = 0; i < 20; i++) {
        char id[8];
        snprintf(id, sizeof id, "f%d", i);
        job_put(s, "q", JOB_SPEC(.id = id));
        assert_ok(muster_lease_fail(s->client, job_take(s, "q", id), i % 2 ? "odd" : "even", NULL));
        scene_enqueue(s, "q", "plain");
        assert_ok(muster_lease_fail(s->client, take_one(s, "q", "plain"), "even", NULL));
    }
    assert_jobs_listed(s, JOB_FILTER(.queue = "q", .group = "odd", .n = 3), "f19 f17 f15 ");
    assert_jobs_listed(s, JOB_FILTER(.queue = "q", .group = "even", .offset = 8), "f2 f0 ");
    assert_jobs_listed(s, JOB_FILTER(.queue = "q", .state = MUSTER_JOB_FAILED, .offset = 17), "f2 f1 f0 ");
    assert_int_equal(job_count(s, "q", MUSTER_JOB_FAILED), 20);
    assert_int_equal(queue_row_of(s, "q").failed, 40);
}

static int never(const struct muster_job *job, void *arg)
{
    (void)job;
    (void)arg;
    fail();
    return 1;
}

static void a_filter_says_one_thing(void **state)
{
    struct scene *s = *state;
    const struct {
        const struct muster_job_filter *filter;
        const char *words;
    } bad[] = {
        {JOB_FILTER(.queue = NULL), "listed by a queue"},
        {JOB_FILTER(.queue = ""), "empty"},
        {JOB_FILTER(.queue = "q", .state = MUSTER_JOB_STATE_COUNT), "no such state"},
        {JOB_FILTER(.queue = "q", .state = (enum muster_job_state) - 1), "no such state"},
        {JOB_FILTER(.tag = ""), "tag"},
        {JOB_FILTER(.any_tag = 1), "by a `tag`"},
        {JOB_FILTER(.tags = IDS("t"), .n_tags = 1), "by a `tag`"},
        {JOB_FILTER(.queue = "q", .group = "g", .state = MUSTER_JOB_WAITING), "every other state"},
        {JOB_FILTER(.queue = "q", .order = (enum muster_jobs_order)3), "no such order"},
        {JOB_FILTER(.queue = "q", .past_id = "a"), "`past_id`"},
        {JOB_FILTER(.order = MUSTER_JOBS_OLDEST, .past_id = ""), "id"},
        {JOB_FILTER(.queue = "q", .group = "a\nb"), "group"},
    };
    for (size_t i = 0; i < N_OF(bad); i++) {
        assert_err(muster_job_list(s->client, bad[i].filter, never, NULL), MUSTER_E_INVALID);
        assert_words(s, bad[i].words);
    }
    uint64_t counts[MUSTER_JOB_STATE_COUNT];
    assert_err(muster_job_counts(s->client, "a\nb", counts), MUSTER_E_INVALID);
}

/* ---- tags ---- */

static int note_tag(const struct muster_tag *tag, void *arg)
{
    sprintf((char *)arg + strlen(arg), "%s=%d ", tag->name, (int)tag->jobs);
    return 0;
}

static void assert_tags(struct scene *s, uint64_t offset, uint64_t n, const char *expected)
{
    char text[512] = "";
    assert_ok(muster_tag_list(s->client, offset, n, note_tag, text));
    assert_string_equal(text, expected);
}

static void tags_are_listed_by_how_many_jobs_have_them(void **state)
{
    struct scene *s = *state;
    assert_tags(s, 0, 10, "");
    job_put(s, "q", JOB_SPEC(.id = "a", .tags = IDS("red", "blue", "red"), .n_tags = 3));
    job_put(s, "r", JOB_SPEC(.id = "b", .tags = IDS("red"), .n_tags = 1));
    job_put(s, "r", JOB_SPEC(.id = "c", .tags = IDS("red", "green", "blue"), .n_tags = 3));
    assert_tags(s, 0, 10, "red=3 blue=2 green=1 ");
    assert_tags(s, 1, 1, "blue=2 ");
    assert_tags(s, 3, UINT64_MAX, "");
    assert_tags(s, UINT64_MAX, UINT64_MAX, "");
    assert_tags(s, 0, 0, "");
    assert_ok(muster_job_change(
        s->client, "a", JOB_CHANGE(.untag = IDS("red", "none"), .n_untag = 2, .tag = IDS("new", "blue"), .n_tag = 2)));
    assert_string_equal(job_look(s, "a").tags, "blue new ");
    assert_ok(muster_job_cancel(s->client, N_IDS("b", "c"), 0, NULL, NULL));
    assert_tags(s, 0, 10, "new=1 blue=1 ");
}

/* ---- change ---- */

static void a_job_is_moved_and_reordered(void **state)
{
    struct scene *s = *state;
    put_n(s, "q", "j", 3);
    assert_ok(muster_job_change(s->client, "j2", JOB_CHANGE(.priority = -1)));
    assert_ok(muster_job_change(s->client, "j0", JOB_CHANGE(.priority = 1)));
    assert_jobs_listed(s, JOB_FILTER(.queue = "q", .state = MUSTER_JOB_WAITING), "j2 j1 j0 ");
    assert_ok(muster_job_change(s->client, "j0", JOB_CHANGE(.priority = MUSTER_ZERO)));
    assert_jobs_listed(s, JOB_FILTER(.queue = "q", .state = MUSTER_JOB_WAITING), "j2 j0 j1 ");
    assert_ok(muster_job_change(s->client, "j2", JOB_CHANGE(.queue = "r", .data = BYTES("new"))));
    assert_string_equal(job_look(s, "j2").queue, "r");
    assert_string_equal(job_look(s, "j2").data, "new");
    assert_string_equal(job_look(s, "j2").history, "put moved=q ");
    assert_ok(muster_job_change(s->client, "j2", JOB_CHANGE(.data = {"", 0})));
    assert_string_equal(job_look(s, "j2").data, "");
    job_take(s, "r", "j2");
    assert_err(muster_job_change(s->client, "j2", JOB_CHANGE(.queue = "q")), MUSTER_E_STATE);
    assert_words(s, "'j2' is running");
}

static void a_change_is_logged_tracked_or_refused(void **state)
{
    struct scene *s = *state;
    static char line[MUSTER_JOB_LOG_MAX + 2];
    memset(line, 'x', sizeof line - 1);
    job_put(s, "q", JOB_SPEC(.id = "a"));
    assert_ok(muster_job_change(s->client, "a", JOB_CHANGE(.log = "half way", .track = 1)));
    assert_string_equal(job_look(s, "a").history, "put log=half way ");
    assert_true(job_look(s, "a").tracked);
    assert_ok(muster_job_change(s->client, "a", JOB_CHANGE(.track = -1)));
    assert_false(job_look(s, "a").tracked);
    assert_jobs_listed(s, JOB_FILTER(.tracked = 1), "");
    assert_ok(muster_job_change(s->client, "a", JOB_CHANGE(.log = line + 1)));
    assert_err(muster_job_change(s->client, "a", JOB_CHANGE(.log = line)), MUSTER_E_TOO_BIG);
    assert_err(muster_job_change(s->client, "a", JOB_CHANGE(.log = "a\tb")), MUSTER_E_INVALID);
    assert_err(muster_job_change(s->client, "a", JOB_CHANGE(.track = 2)), MUSTER_E_INVALID);
    assert_err(muster_job_change(s->client, "a", JOB_CHANGE(.queue = "")), MUSTER_E_INVALID);
    assert_err(muster_job_change(s->client, "a", JOB_CHANGE(.tag = IDS(""), .n_tag = 1)), MUSTER_E_INVALID);
    assert_err(muster_job_change(s->client, "a", JOB_CHANGE(.every_ms = 10)), MUSTER_E_INVALID);
    assert_err(muster_job_change(s->client, "a", JOB_CHANGE(.every_ms = 1000)), MUSTER_E_STATE);
    assert_err(muster_job_change(s->client, "a", JOB_CHANGE(.after = IDS("b"), .n_after = 1)), MUSTER_E_STATE);
    assert_err(muster_job_change(s->client, "", JOB_CHANGE(.priority = 1)), MUSTER_E_INVALID);
    assert_err(muster_job_change(s->client, "b", JOB_CHANGE(.priority = 1)), MUSTER_E_NOT_FOUND);
    assert_words(s, "no job 'b'");
}

static void a_job_has_a_hundred_tags_at_most_however_they_came(void **state)
{
    struct scene *s = *state;
    static char tags[MUSTER_JOB_TAGS_MAX + 1][8];
    const char *all[MUSTER_JOB_TAGS_MAX + 1];
    for (size_t i = 0; i < N_OF(all); i++) {
        snprintf(tags[i], sizeof tags[i], "t%zu", i);
        all[i] = tags[i];
    }
    job_put(s, "q", JOB_SPEC(.id = "a", .tags = all, .n_tags = 60));
    assert_err(muster_job_change(s->client, "a", JOB_CHANGE(.tag = all + 60, .n_tag = 41, .log = "no")),
               MUSTER_E_TOO_BIG);
    assert_words(s, "100 tags");
    assert_int_equal(job_look(s, "a").n_tags, 60);
    assert_string_equal(job_look(s, "a").history, "put ");
    assert_ok(muster_job_change(s->client, "a", JOB_CHANGE(.tag = all + 60, .n_tag = 40)));
    assert_int_equal(job_look(s, "a").n_tags, 100);
    assert_err(muster_job_change(s->client, "a", JOB_CHANGE(.tag = all, .n_tag = 101)), MUSTER_E_TOO_BIG);
}

static void dependencies_are_added_and_taken_away(void **state)
{
    struct scene *s = *state;
    put_n(s, "q", "j", 3);
    job_put(s, "q", JOB_SPEC(.id = "a", .after = IDS("j0"), .n_after = 1));
    job_put(s, "q", JOB_SPEC(.id = "b", .after = IDS("j0", "j1"), .n_after = 2));
    assert_ok(muster_job_change(
        s->client, "a", JOB_CHANGE(.after = IDS("j1", "j2"), .n_after = 2, .not_after = IDS("j0"), .n_not_after = 1)));
    assert_string_equal(job_look(s, "a").after, "j1 j2 ");
    assert_string_equal(job_look(s, "j1").before, "a b ");
    assert_ok(muster_job_change(s->client, "a", JOB_CHANGE(.not_after = IDS("j1", "j2"), .n_not_after = 2)));
    assert_job_state(s, "a", MUSTER_JOB_WAITING);
    assert_ok(muster_job_change(s->client, "b", JOB_CHANGE(.not_after_all = 1)));
    assert_job_state(s, "b", MUSTER_JOB_WAITING);
    assert_string_equal(job_look(s, "j0").before, "");
}

/* ---- cancel ---- */

static void cancelled_jobs_are_gone_and_counted(void **state)
{
    struct scene *s = *state;
    uint64_t n;
    put_n(s, "q", "j", 2);
    job_put(s, "q", JOB_SPEC(.id = "later", .delay_ms = A_MINUTE));
    job_put(s, "q", JOB_SPEC(.id = "every", .every_ms = A_MINUTE, .offset_ms = A_MINUTE));
    job_put(s, "q", JOB_SPEC(.id = "done", .priority = -1));
    assert_ok(muster_lease_finish(s->client, job_take(s, "q", "done"), NULL));
    job_put(s, "q", JOB_SPEC(.id = "failed", .priority = -1));
    assert_ok(muster_lease_fail(s->client, job_take(s, "q", "failed"), NULL, NULL));
    assert_ok(
        muster_job_cancel(s->client, N_IDS("j0", "later", "every", "done", "failed", "nobody", "j0"), 0, &n, NULL));
    assert_int_equal(n, 4);
    assert_false(job_is_there(s, "j0"));
    assert_false(job_is_there(s, "failed"));
    assert_job_state(s, "done", MUSTER_JOB_COMPLETE);
    assert_int_equal(queue_row_of(s, "q").failed, 0);
    assert_ok(muster_job_cancel(s->client, NULL, 0, 0, &n, NULL));
    assert_int_equal(n, 0);
    assert_err(muster_job_cancel(s->client, N_IDS("j1", "a\nb"), 0, &n, NULL), MUSTER_E_INVALID);
    assert_job_state(s, "j1", MUSTER_JOB_WAITING);
}

static void a_running_job_is_gone_at_once_and_no_end_of_it_counts(void **state)
{
    struct scene *s = *state;
    uint64_t removed, running;
    put_n(s, "q", "j", 3);
    const char *finishes = job_take(s, "q", "j0"), *gives_back = job_take(s, "q", "j1");
    assert_ok(muster_job_cancel(s->client, N_IDS("j0", "j1", "j2"), 0, &removed, &running));
    assert_int_equal(removed, 1);
    assert_int_equal(running, 2);
    assert_false(job_is_there(s, "j0"));
    assert_false(job_is_there(s, "j1"));
    assert_err(muster_lease_finish(s->client, finishes, NULL), MUSTER_E_CANCELLED);
    assert_words(s, "was cancelled");
    assert_err(muster_lease_give_back(s->client, gives_back), MUSTER_E_CANCELLED);
    assert_false(job_is_there(s, "j0"));
    assert_false(job_is_there(s, "j1"));
}

static void what_others_wait_for_is_cancelled_with_them_only(void **state)
{
    struct scene *s = *state;
    uint64_t n = 9;
    job_put(s, "q", JOB_SPEC(.id = "a"));
    job_put(s, "q", JOB_SPEC(.id = "b", .after = IDS("a"), .n_after = 1));
    job_put(s, "r", JOB_SPEC(.id = "c", .after = IDS("b"), .n_after = 1));
    assert_err(muster_job_cancel(s->client, N_IDS("a"), 0, &n, NULL), MUSTER_E_STATE);
    assert_words(s, "'b'");
    assert_int_equal(n, 0);
    assert_err(muster_job_cancel(s->client, N_IDS("b", "a"), 0, &n, NULL), MUSTER_E_STATE);
    assert_words(s, "'c'");
    assert_job_state(s, "a", MUSTER_JOB_WAITING);
    assert_ok(muster_job_cancel(s->client, N_IDS("b"), 1, &n, NULL));
    assert_int_equal(n, 2);
    assert_string_equal(job_look(s, "a").before, "");
    assert_false(job_is_there(s, "c"));
}

static void a_queue_is_deleted_with_all_its_jobs(void **state)
{
    struct scene *s = *state;
    uint64_t removed, running;
    struct muster_bytes tasks[10];
    for (size_t i = 0; i < N_OF(tasks); i++)
        tasks[i] = (struct muster_bytes)BYTES("t");
    assert_ok(muster_task_enqueue_many(s->client, "q", tasks, N_OF(tasks), NULL, NULL));
    put_n(s, "q", "j", 2100);
    job_put(s, "q", JOB_SPEC(.id = "failed", .priority = -1));
    assert_ok(muster_lease_fail(s->client, job_take(s, "q", "failed"), NULL, NULL));
    job_put(s, "q", JOB_SPEC(.id = "busy", .priority = -1));
    const char *busy = job_take(s, "q", "busy");
    job_put(s, "r", JOB_SPEC(.id = "elsewhere", .after = IDS("j5"), .n_after = 1));
    assert_ok(muster_queue_delete(s->client, "q", &removed, &running));
    assert_int_equal(removed, 2110);
    assert_int_equal(running, 1);
    assert_false(job_is_there(s, "j0"));
    assert_false(job_is_there(s, "failed"));
    assert_true(job_look(s, "busy").cancelled);
    struct job_seen job = job_look(s, "elsewhere");
    assert_int_equal(job.state, MUSTER_JOB_FAILED);
    assert_string_equal(job.group, "dependency");
    assert_non_null(strstr(job.message, "j5"));
    assert_err(muster_lease_give_back(s->client, busy), MUSTER_E_CANCELLED);
    assert_false(job_is_there(s, "busy"));
    const struct muster_failed_filter f = {.size = sizeof f, .queue = "r"};
    assert_ok(muster_failed_drop(s->client, &f, NULL));
    assert_tags(s, 0, 9, "");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(waiting_jobs_are_listed_as_they_come_out),
        live_test(each_state_has_its_list_and_its_count),
        live_test(all_queues_are_counted_in_pages),
        live_test(thousands_of_queues_without_such_jobs_hide_none),
        live_test(long_lists_are_read_in_pages),
        live_test(by_tag_and_tracked_are_of_all_queues_unless_restricted),
        live_test(failed_jobs_are_listed_newest_first_by_group),
        live_test(a_filter_says_one_thing),
        live_test(tags_are_listed_by_how_many_jobs_have_them),
        live_test(a_job_is_moved_and_reordered),
        live_test(a_change_is_logged_tracked_or_refused),
        live_test(a_job_has_a_hundred_tags_at_most_however_they_came),
        live_test(dependencies_are_added_and_taken_away),
        live_test(cancelled_jobs_are_gone_and_counted),
        live_test(a_running_job_is_gone_at_once_and_no_end_of_it_counts),
        live_test(what_others_wait_for_is_cancelled_with_them_only),
        live_test(a_queue_is_deleted_with_all_its_jobs),
    };
    return scene_run(tests, argc, argv);
}
