/* SPDX-License-Identifier: MIT
 *
 * Many jobs at once: listed by when they were put, over all queues and by several tags, while others come and go; and
 * cancelled, replayed, dropped and changed by what they are.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job_look.h"
#include "live_worker.h"
#include "taken.h"

#define HOUR_MS 3600000
#define BULK(...) (&(struct muster_job_bulk){.size = sizeof(struct muster_job_bulk), __VA_ARGS__})

/* ---- by age ---- */

/* A millisecond sees one job only. */
static void put_alone(struct scene *s, const char *queue, const struct muster_job_spec *spec)
{
    job_put(s, queue, spec);
    for (int64_t after = server_now_ms(s); server_now_ms(s) <= after;)
        ;
}

static void put_five(struct scene *s)
{
    put_alone(s, "q", JOB_SPEC(.id = "e", .tags = IDS("red", "blue"), .n_tags = 2, .priority = 9));
    put_alone(s, "r", JOB_SPEC(.id = "d", .tags = IDS("red"), .n_tags = 1, .delay_ms = HOUR_MS));
    put_alone(s, "q", JOB_SPEC(.id = "c", .tags = IDS("blue"), .n_tags = 1, .priority = -9, .track = 1));
    put_alone(s, "s", JOB_SPEC(.id = "b", .after = IDS("c"), .n_after = 1));
    put_alone(s, "q", JOB_SPEC(.id = "a", .tags = IDS("red", "blue", "green"), .n_tags = 3));
}

static void jobs_are_listed_by_when_they_were_put(void **state)
{
    struct scene *s = *state;
    put_five(s);
    assert_jobs_listed(s, JOB_FILTER(.order = MUSTER_JOBS_OLDEST), "e d c b a ");
    assert_jobs_listed(s, JOB_FILTER(.order = MUSTER_JOBS_NEWEST), "a b c d e ");
    assert_jobs_listed(s, JOB_FILTER(.order = MUSTER_JOBS_NEWEST, .n = 2, .offset = 1), "b c ");
    assert_jobs_listed(s, JOB_FILTER(.order = MUSTER_JOBS_OLDEST, .queue = "q"), "e c a ");
    assert_jobs_listed(s, JOB_FILTER(.order = MUSTER_JOBS_NEWEST, .state = MUSTER_JOB_WAITING), "a c e ");
    assert_jobs_listed(s, JOB_FILTER(.order = MUSTER_JOBS_NEWEST, .tracked = 1), "c ");
    assert_ok(muster_lease_fail(s->client, job_take(s, "q", "c"), "why", NULL));
    assert_jobs_listed(s, JOB_FILTER(.order = MUSTER_JOBS_OLDEST, .group = "why"), "c ");
    assert_jobs_listed(s, JOB_FILTER(.order = MUSTER_JOBS_OLDEST, .group = "other"), "");
    assert_jobs_listed(s, JOB_FILTER(.order = MUSTER_JOBS_OLDEST), "e d c b a ");
}

static void a_state_is_listed_over_all_queues(void **state)
{
    struct scene *s = *state;
    put_five(s);
    assert_jobs_listed(s, JOB_FILTER(.state = MUSTER_JOB_WAITING), "c a e ");
    assert_jobs_listed(s, JOB_FILTER(.by_state = 1), "d ");
    assert_jobs_listed(s, JOB_FILTER(.state = MUSTER_JOB_DEPENDS), "b ");
    job_put(s, "r", JOB_SPEC(.id = "f"));
    assert_jobs_listed(s, JOB_FILTER(.state = MUSTER_JOB_WAITING), "c a e f ");
    assert_jobs_listed(s, JOB_FILTER(.state = MUSTER_JOB_WAITING, .offset = 2, .n = 2), "e f ");
    assert_jobs_listed(s, JOB_FILTER(.queue = "q"), "e c a ");
}

static void several_tags_are_all_or_any(void **state)
{
    struct scene *s = *state;
    put_five(s);
    assert_jobs_listed(s, JOB_FILTER(.tag = "red", .tags = IDS("blue"), .n_tags = 1), "e a ");
    assert_jobs_listed(s, JOB_FILTER(.tag = "red", .tags = IDS("blue"), .n_tags = 1, .any_tag = 1), "e d c a ");
    assert_jobs_listed(s, JOB_FILTER(.tag = "red", .tags = IDS("blue", "green"), .n_tags = 2), "a ");
    assert_jobs_listed(
        s, JOB_FILTER(.tag = "none", .tags = IDS("green"), .n_tags = 1, .any_tag = 1, .order = MUSTER_JOBS_NEWEST),
        "a ");
    assert_jobs_listed(s, JOB_FILTER(.tag = "re"), "");
    assert_jobs_listed(s, JOB_FILTER(.tag = "red", .tags = IDS("gree"), .n_tags = 1), "");
    assert_jobs_listed(s, JOB_FILTER(.tag = "red", .tracked = 1), "");
    assert_jobs_listed(s, JOB_FILTER(.tag = "blue", .tracked = 1), "c ");
}

/* ---- while jobs come and go ---- */

enum { STAY = 500, PAGE = 60 };

struct paging {
    struct scene *s;
    struct muster_client *other;
    int order;
    char past_id[MUSTER_JOB_ID_MAX + 1];
    int64_t past_ms;
    int seen[STAY];
    int n_rows;
};

static int note_row(const struct muster_job *job, void *arg)
{
    struct paging *p = arg;
    snprintf(p->past_id, sizeof p->past_id, "%s", job->id);
    p->past_ms = job->put_at_ms;
    p->n_rows++;
    if (strncmp(job->id, "stay-", 5) == 0)
        p->seen[atoi(job->id + 5)]++;
    return 0;
}

/* The last one of a page is put anew while the page is read: then it is not of the page, which goes on behind it. */
static int put_another_anew(const struct muster_job *job, void *arg)
{
    struct paging *p = arg;
    if (p->n_rows == 0) {
        assert_ok(muster_job_cancel(p->other, N_IDS("p19"), 0, NULL, NULL));
        assert_ok(muster_job_put(p->other, "q", JOB_SPEC(.id = "p19"), NULL));
    }
    return note_row(job, arg);
}

static void a_job_put_anew_is_not_the_end_of_a_page(void **state)
{
    struct scene *s = *state;
    struct paging p = {.s = s, .other = scene_client(s)};
    char id[32];
    for (int i = 0; i < 40; i++) {
        snprintf(id, sizeof id, "p%02d", i);
        put_alone(s, "q", JOB_SPEC(.id = id));
    }
    assert_ok(muster_job_list(s->client, JOB_FILTER(.order = MUSTER_JOBS_OLDEST, .n = 20), put_another_anew, &p));
    assert_int_equal(p.n_rows, 20);
    assert_string_equal(p.past_id, "p20");
    muster_client_free(p.other);
}

static void come_and_go(struct paging *p, int page)
{
    char id[32], gone[32];
    for (int i = 0; i < 20; i++) {
        snprintf(id, sizeof id, "come-%d-%d-%d", p->order, page, i);
        snprintf(gone, sizeof gone, "go-%d", page * 20 + i);
        job_put(p->s, i % 2 ? "q" : "r", JOB_SPEC(.id = id));
        assert_ok(muster_job_cancel(p->s->client, N_IDS(gone), 0, NULL, NULL));
    }
}

static void page_all(struct scene *s, enum muster_jobs_order order)
{
    struct paging p = {.s = s, .order = order};
    for (int page = 0;; page++) {
        int before = p.n_rows;
        const struct muster_job_filter f = {.size = sizeof f,
                                            .order = order,
                                            .state = MUSTER_JOB_WAITING,
                                            .n = PAGE,
                                            .past_id = p.n_rows ? p.past_id : NULL,
                                            .past_ms = p.past_ms};
        assert_ok(muster_job_list(s->client, &f, note_row, &p));
        if (p.n_rows == before)
            break;
        if (page < 20) /* then the end must come */
            come_and_go(&p, page);
        assert_true(page < 100);
    }
    for (int i = 0; i < STAY; i++)
        assert_int_equal(p.seen[i], 1);
}

static void who_stays_is_seen_once(void **state)
{
    struct scene *s = *state;
    char id[32];
    for (int i = 0; i < STAY; i++) {
        snprintf(id, sizeof id, "stay-%d", i);
        job_put(s, i % 3 ? "q" : "r", JOB_SPEC(.id = id, .priority = i % 7));
        snprintf(id, sizeof id, "go-%d", i);
        job_put(s, i % 2 ? "q" : "r", JOB_SPEC(.id = id, .priority = i % 5));
    }
    page_all(s, MUSTER_JOBS_OLDEST);
    page_all(s, MUSTER_JOBS_NEWEST);
}

/* ---- in bulk ---- */

struct refusals {
    int n, err;
    char ids[256], why[256];
    int stop_at;
};

static int note_refusal(const char *id, int err, const char *why, void *arg)
{
    struct refusals *r = arg;
    strcat(strcat(r->ids, id), " ");
    snprintf(r->why, sizeof r->why, "%s", why);
    r->err = err;
    return ++r->n == r->stop_at;
}

static struct muster_job_bulk_counts bulk(struct scene *s, const struct muster_job_filter *f,
                                          const struct muster_job_bulk *what)
{
    struct muster_job_bulk_counts n = {.size = sizeof n};
    assert_ok(muster_job_bulk(s->client, f, what, &n));
    return n;
}

static void assert_counts(struct muster_job_bulk_counts n, int chosen, int done, int passed, int refused)
{
    assert_int_equal(n.chosen, chosen);
    assert_int_equal(n.done, done);
    assert_int_equal(n.passed, passed);
    assert_int_equal(n.refused, refused);
}

static void put_tagged(struct scene *s, int n)
{
    char id[32];
    for (int i = 0; i < n; i++) {
        snprintf(id, sizeof id, "t%d", i);
        job_put(s, i % 3 ? "q" : "r",
                JOB_SPEC(.id = id, .tags = IDS("all", i % 2 ? "odd" : "even"), .n_tags = 2,
                         .delay_ms = i % 5 ? 0 : HOUR_MS));
    }
}

static void a_dry_run_counts_and_changes_nothing(void **state)
{
    struct scene *s = *state;
    char before[41], after[41];
    put_tagged(s, 250);
    redis_server_digest(s->server, before);
    for (int action = 0; action <= MUSTER_JOBS_CHANGE; action++) {
        bool moves = action == MUSTER_JOBS_REPLAY || action == MUSTER_JOBS_DROP;
        const struct muster_job_change *change = action == MUSTER_JOBS_CHANGE ? JOB_CHANGE(.priority = 5) : NULL;
        assert_counts(bulk(s, JOB_FILTER(.tag = "odd"),
                           BULK(.action = (enum muster_job_action)action, .change = change, .dry_run = 1)),
                      moves ? 0 : 125, 0, 0, 0);
    }
    redis_server_digest(s->server, after);
    assert_string_equal(before, after);
}

static void jobs_are_cancelled_by_what_they_are(void **state)
{
    struct scene *s = *state;
    put_tagged(s, 250);
    const char *process = job_take(s, "q", "t1");
    assert_counts(bulk(s, JOB_FILTER(.tag = "all", .state = MUSTER_JOB_WAITING, .queue = "r"),
                       BULK(.action = MUSTER_JOBS_CANCEL)),
                  67, 67, 0, 0);
    assert_int_equal(job_count(s, "r", MUSTER_JOB_WAITING), 0);
    assert_int_equal(job_count(s, "r", MUSTER_JOB_SCHEDULED), 17);
    struct muster_job_bulk_counts n =
        bulk(s, JOB_FILTER(.tag = "all", .tags = IDS("odd"), .n_tags = 1), BULK(.action = MUSTER_JOBS_CANCEL));
    assert_int_equal(n.running, 1);
    assert_counts(n, 91, 91, 0, 0);
    assert_false(job_is_there(s, "t1"));
    assert_err(muster_lease_finish(s->client, process, NULL), MUSTER_E_CANCELLED);
    assert_counts(bulk(s, JOB_FILTER(.queue = "q"), BULK(.action = MUSTER_JOBS_CANCEL)), 83, 83, 0, 0);
    assert_counts(bulk(s, JOB_FILTER(.tag = "all"), BULK(.action = MUSTER_JOBS_CANCEL)), 9, 9, 0, 0);
    assert_counts(bulk(s, JOB_FILTER(.tag = "all"), BULK(.action = MUSTER_JOBS_CANCEL)), 0, 0, 0, 0);
}

/* A chain of 300: those that wait go first, across steps. One that is not meant stops the one that it waits for. */
static void who_waits_is_cancelled_before_for_whom(void **state)
{
    struct scene *s = *state;
    struct refusals r = {.n = 0};
    char id[32], on[32];
    for (int i = 0; i < 300; i++) {
        snprintf(id, sizeof id, "c%03d", i);
        snprintf(on, sizeof on, "c%03d", i - 1);
        job_put(s, "q", JOB_SPEC(.id = id, .after = IDS(on), .n_after = i > 0));
    }
    job_put(s, "r", JOB_SPEC(.id = "other", .after = IDS("c010"), .n_after = 1));
    struct muster_job_bulk_counts n =
        bulk(s, JOB_FILTER(.queue = "q"), BULK(.action = MUSTER_JOBS_CANCEL, .refused = note_refusal, .arg = &r));
    assert_int_equal(n.chosen, 300);
    assert_int_equal(n.done + n.refused, 300);
    assert_string_equal(strstr(r.ids, "c010 ") == r.ids ? "c010" : r.ids, "c010");
    assert_int_equal(r.err, MUSTER_E_STATE);
    assert_true(job_is_there(s, "c010"));
    assert_false(job_is_there(s, "c011"));
    assert_job_state(s, "other", MUSTER_JOB_DEPENDS);
    n = bulk(s, JOB_FILTER(.queue = "q"), BULK(.action = MUSTER_JOBS_CANCEL, .dependents = 1));
    assert_int_equal(n.refused, 0);
    assert_false(job_is_there(s, "other"));
    assert_int_equal(job_count(s, "q", MUSTER_JOB_DEPENDS), 0);
}

/* Followers in any number of steps, of one that was put after them. With an idle worker beside them none starts. */
static void assert_cancelled_without_a_start(struct scene *s, const struct muster_job_spec *follower, const char *on)
{
    enum { FOLLOWERS = 250 };
    struct muster_job_spec spec = *follower;
    char id[32];
    spec.id = id;
    spec.tags = IDS("all");
    spec.n_tags = 1;
    for (int i = 0; i < FOLLOWERS; i++) {
        snprintf(id, sizeof id, "f%03d", i);
        job_put(s, "q", &spec);
    }
    job_put(s, "q", JOB_SPEC(.id = on, .tags = IDS("all"), .n_tags = 1, .delay_ms = HOUR_MS, .replace = 1));
    live_worker_idle(s, &(struct worker_spec){.id = "w", .hands = 9, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    struct muster_job_bulk_counts n = bulk(s, JOB_FILTER(.tag = "all"), BULK(.action = MUSTER_JOBS_CANCEL));
    assert_counts(n, FOLLOWERS + 1, FOLLOWERS + 1, 0, 0);
    assert_jobs_listed(s, JOB_FILTER(.tag = "all"), "");
    assert_jobs_listed(s, JOB_FILTER(.queue = "q", .state = MUSTER_JOB_RUNNING), "");
    assert_int_equal(scene_starts(s), 0);
}

static void put_last(struct scene *s, const char *id)
{
    job_put(s, "q", JOB_SPEC(.id = id, .delay_ms = HOUR_MS));
}

static void who_waits_for_one_put_later_is_cancelled_before_it(void **state)
{
    put_last(*state, "a");
    assert_cancelled_without_a_start(*state, JOB_SPEC(.after = IDS("a"), .n_after = 1), "a");
}

static void who_waits_for_its_end_does_not_start(void **state)
{
    put_last(*state, "z");
    assert_cancelled_without_a_start(*state, JOB_SPEC(.after_end = IDS("z"), .n_after_end = 1), "z");
}

static void who_waits_for_its_failure_is_counted(void **state)
{
    put_last(*state, "zz");
    assert_cancelled_without_a_start(*state, JOB_SPEC(.after_failure = IDS("zz"), .n_after_failure = 1), "zz");
}

static void failed_jobs_of_all_queues_are_replayed_and_dropped(void **state)
{
    struct scene *s = *state;
    char id[32];
    for (int i = 0; i < 240; i++) {
        snprintf(id, sizeof id, "f%d", i);
        const char *queue = i % 2 ? "q" : "r";
        job_put(s, queue, JOB_SPEC(.id = id, .tags = IDS("t"), .n_tags = i % 3 == 0));
        assert_ok(muster_lease_fail(s->client, job_take(s, queue, id), i % 4 < 2 ? "x" : "y", NULL));
    }
    scene_enqueue(s, "q", "plain");
    assert_ok(muster_lease_fail(s->client, take_one(s, "q", "plain"), "x", NULL));
    assert_counts(bulk(s, JOB_FILTER(.tag = "t", .group = "x"), BULK(.action = MUSTER_JOBS_REPLAY)), 40, 40, 0, 0);
    assert_counts(bulk(s, JOB_FILTER(.tag = "t"), BULK(.action = MUSTER_JOBS_DROP)), 40, 40, 0, 0);
    assert_counts(bulk(s, JOB_FILTER(.group = "x"), BULK(.action = MUSTER_JOBS_REPLAY)), 80, 80, 0, 0);
    assert_counts(bulk(s, JOB_FILTER(.queue = "q"), BULK(.action = MUSTER_JOBS_DROP)), 40, 40, 0, 0);
    assert_int_equal(job_count(s, "q", MUSTER_JOB_FAILED), 0);
    assert_int_equal(job_count(s, "r", MUSTER_JOB_FAILED), 40);
    assert_int_equal(queue_row_of(s, "q").failed, 1); /* the plain task */
}

/* So many wait for its failure, or for its end, that one script does not let them all go. Then more of them do. */
static void a_failed_job_that_many_follow_is_replayed(void **state)
{
    struct scene *s = *state;
    uint64_t moved = 0;
    char id[32];
    const struct muster_failed_filter all = {.size = sizeof all, .queue = "q"};
    for (int round = 0; round < 2; round++) {
        job_put(s, "q",
                JOB_SPEC(.id = "r", .data = BYTES("r"), .tags = IDS("all"), .n_tags = 1, .retries = MUSTER_ZERO,
                         .replace = 1));
        for (int i = 0; i < 1200; i++) {
            snprintf(id, sizeof id, "f%d-%d", round, i);
            job_put(s, "elsewhere", JOB_SPEC(.id = id, .after_end = IDS("r"), .n_after_end = 1));
        }
        assert_ok(muster_lease_fail(s->client, job_take(s, "q", "r"), "g", NULL));
        if (round == 0)
            assert_counts(bulk(s, JOB_FILTER(.tag = "all"), BULK(.action = MUSTER_JOBS_REPLAY)), 1, 1, 0, 0);
        else
            assert_ok(muster_failed_replay(s->client, &all, &moved));
        assert_job_state(s, "r", MUSTER_JOB_WAITING);
        assert_int_equal(job_count(s, "elsewhere", MUSTER_JOB_WAITING), 1200 * (round + 1));
        assert_ok(muster_lease_finish(s->client, job_take(s, "q", "r"), NULL));
    }
    assert_int_equal(moved, 1);
}

static void jobs_are_changed_by_what_they_are(void **state)
{
    struct scene *s = *state;
    struct refusals r = {.n = 0};
    put_tagged(s, 120);
    assert_counts(bulk(s, JOB_FILTER(.tag = "odd", .state = MUSTER_JOB_WAITING),
                       BULK(.action = MUSTER_JOBS_CHANGE, .change = JOB_CHANGE(.priority = 7, .queue = "z"))),
                  48, 48, 0, 0);
    assert_int_equal(job_count(s, "z", MUSTER_JOB_WAITING), 48);
    assert_int_equal(job_look(s, "t1").priority, 7);
    job_take(s, "z", "t1");
    struct muster_job_bulk_counts n = bulk(
        s, JOB_FILTER(.queue = "z"),
        BULK(.action = MUSTER_JOBS_CHANGE, .change = JOB_CHANGE(.queue = "y"), .refused = note_refusal, .arg = &r));
    assert_counts(n, 48, 47, 0, 1);
    assert_string_equal(r.ids, "t1 ");
    assert_int_equal(r.err, MUSTER_E_STATE);
    assert_counts(bulk(s, JOB_FILTER(.queue = "y"),
                       BULK(.action = MUSTER_JOBS_CHANGE,
                            .change = JOB_CHANGE(.priority = 1, .only_if = MUSTER_JOB_IN(MUSTER_JOB_SCHEDULED)))),
                  47, 0, 47, 0);
}

/* In whichever way: it is there itself, so it has not moved on. */
static void who_cannot_wait_for_what_is_not_there_refuses(void **state)
{
    struct scene *s = *state;
    const struct muster_job_change *const changes[] = {JOB_CHANGE(.after = IDS("none"), .n_after = 1),
                                                       JOB_CHANGE(.after_end = IDS("none"), .n_after_end = 1),
                                                       JOB_CHANGE(.after_failure = IDS("none"), .n_after_failure = 1)};
    job_put(s, "q", JOB_SPEC(.id = "first"));
    job_put(s, "q", JOB_SPEC(.id = "second", .after = IDS("first"), .n_after = 1));
    for (size_t i = 0; i < N_OF(changes); i++) {
        struct refusals r = {.n = 0};
        assert_counts(
            bulk(s, JOB_FILTER(.state = MUSTER_JOB_DEPENDS),
                 BULK(.action = MUSTER_JOBS_CHANGE, .change = changes[i], .refused = note_refusal, .arg = &r)),
            1, 0, 0, 1);
        assert_int_equal(r.err, MUSTER_E_NOT_FOUND);
        assert_non_null(strstr(r.why, "'none'"));
    }
}

/* ---- what has moved on ---- */

struct meddling {
    struct scene *s;
    struct muster_client *other;
    void (*meddle)(struct meddling *m);
    int steps;
};

static int between_steps(const struct muster_progress *progress, void *arg)
{
    struct meddling *m = arg;
    (void)progress;
    if (m->steps++ == 0)
        m->meddle(m);
    return 0;
}

/* After they were chosen, before the first step. */
static void move_on(struct meddling *m)
{
    assert_ok(muster_job_change(m->other, "m0", JOB_CHANGE(.queue = "elsewhere")));
    assert_ok(muster_job_change(m->other, "m1", JOB_CHANGE(.delay_ms = HOUR_MS)));
    assert_ok(muster_job_cancel(m->other, N_IDS("m2", "m3"), 0, NULL, NULL));
    assert_ok(muster_job_put(m->other, "q", JOB_SPEC(.id = "m3"), NULL));
}

static struct muster_job_bulk_counts meddled(struct scene *s, const struct muster_job_bulk *what)
{
    struct meddling m = {s, scene_client(s), move_on, 0};
    char id[32];
    for (int i = 0; i < 150; i++) {
        snprintf(id, sizeof id, "m%d", i);
        put_alone(s, "q", JOB_SPEC(.id = id));
    }
    muster_client_set_progress(s->client, between_steps, &m);
    struct muster_job_bulk_counts n = bulk(s, JOB_FILTER(.queue = "q", .state = MUSTER_JOB_WAITING), what);
    muster_client_set_progress(s->client, NULL, NULL);
    assert_int_equal(m.steps, 2);
    muster_client_free(m.other);
    return n;
}

static void who_has_moved_on_is_not_cancelled(void **state)
{
    struct scene *s = *state;
    assert_counts(meddled(s, BULK(.action = MUSTER_JOBS_CANCEL)), 150, 146, 4, 0);
    assert_string_equal(job_look(s, "m0").queue, "elsewhere");
    assert_job_state(s, "m1", MUSTER_JOB_SCHEDULED);
    assert_job_state(s, "m3", MUSTER_JOB_WAITING);
}

static void change_the_last(struct meddling *m)
{
    assert_ok(muster_job_change(m->other, "m149", JOB_CHANGE(.queue = "elsewhere")));
    assert_ok(muster_job_change(m->other, "m148", JOB_CHANGE(.delay_ms = HOUR_MS)));
    assert_ok(muster_job_cancel(m->other, N_IDS("m147", "m146"), 0, NULL, NULL));
    assert_ok(muster_job_put(m->other, "q", JOB_SPEC(.id = "m146"), NULL));
}

static void who_has_moved_on_is_not_changed(void **state)
{
    struct scene *s = *state;
    struct meddling m = {s, scene_client(s), change_the_last, 0};
    char id[32];
    for (int i = 0; i < 150; i++) {
        snprintf(id, sizeof id, "m%d", i);
        put_alone(s, "q", JOB_SPEC(.id = id));
    }
    muster_client_set_progress(s->client, between_steps, &m);
    assert_counts(bulk(s, JOB_FILTER(.queue = "q", .state = MUSTER_JOB_WAITING),
                       BULK(.action = MUSTER_JOBS_CHANGE, .change = JOB_CHANGE(.priority = 3))),
                  150, 146, 4, 0);
    muster_client_set_progress(s->client, NULL, NULL);
    muster_client_free(m.other);
    static const char *const left[] = {"m146", "m148", "m149"};
    for (size_t i = 0; i < N_OF(left); i++)
        assert_int_equal(job_look(s, left[i]).priority, 0);
    assert_int_equal(job_look(s, "m145").priority, 3);
}

/* ---- wrong use ---- */

static void it_must_say_which_and_what(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", JOB_SPEC(.id = "a"));
    const struct {
        const struct muster_job_filter *filter;
        const struct muster_job_bulk *what;
        const char *words;
    } bad[] = {
        {JOB_FILTER(.queue = NULL), BULK(.action = MUSTER_JOBS_CANCEL), "say which jobs"},
        {JOB_FILTER(.any_tag = 1), BULK(.action = MUSTER_JOBS_CANCEL), "say which jobs"},
        {JOB_FILTER(.queue = "q", .n = 3), BULK(.action = MUSTER_JOBS_CANCEL), "are for lists"},
        {JOB_FILTER(.queue = "q", .order = MUSTER_JOBS_NEWEST), BULK(.action = MUSTER_JOBS_CANCEL), "are for lists"},
        {JOB_FILTER(.queue = "q", .state = MUSTER_JOB_COMPLETE), BULK(.action = MUSTER_JOBS_CANCEL), "complete"},
        {JOB_FILTER(.queue = "q", .state = MUSTER_JOB_WAITING), BULK(.action = MUSTER_JOBS_DROP), "only failed jobs"},
        {JOB_FILTER(.queue = "q", .by_state = 1), BULK(.action = MUSTER_JOBS_REPLAY), "only failed jobs"},
        {JOB_FILTER(.queue = "q"), BULK(.action = MUSTER_JOBS_CHANGE), "is missing"},
        {JOB_FILTER(.queue = "q"), BULK(.action = MUSTER_JOBS_CHANGE, .change = JOB_CHANGE(.queue = "")), "empty"},
        {JOB_FILTER(.queue = "q"), BULK(.action = MUSTER_JOBS_DROP, .dependents = 1), "`dependents`"},
        {JOB_FILTER(.queue = "q"), BULK(.action = (enum muster_job_action)9), "no such action"},
        {JOB_FILTER(.queue = "q", .state = MUSTER_JOB_WAITING),
         BULK(.action = MUSTER_JOBS_CHANGE, .change = JOB_CHANGE(.only_if = MUSTER_JOB_IN(MUSTER_JOB_HELD))),
         "only_if"},
    };
    for (size_t i = 0; i < N_OF(bad); i++) {
        assert_err(muster_job_bulk(s->client, bad[i].filter, bad[i].what, NULL), MUSTER_E_INVALID);
        assert_words(s, bad[i].words);
    }
    assert_job_state(s, "a", MUSTER_JOB_WAITING);
}

static int stop(const struct muster_progress *progress, void *arg)
{
    (void)arg;
    return progress->done >= 200;
}

static void it_can_be_stopped_between_two_steps(void **state)
{
    struct scene *s = *state;
    struct muster_job_bulk_counts n = {.size = sizeof n};
    put_tagged(s, 350);
    muster_client_set_progress(s->client, stop, NULL);
    assert_err(muster_job_bulk(s->client, JOB_FILTER(.tag = "all"), BULK(.action = MUSTER_JOBS_CANCEL), &n),
               MUSTER_E_STOPPED);
    muster_client_set_progress(s->client, NULL, NULL);
    assert_counts(n, 350, 200, 0, 0);
    assert_counts(bulk(s, JOB_FILTER(.tag = "all"), BULK(.action = MUSTER_JOBS_CANCEL)), 150, 150, 0, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(jobs_are_listed_by_when_they_were_put),
        live_test(a_state_is_listed_over_all_queues),
        live_test(several_tags_are_all_or_any),
        live_test(who_stays_is_seen_once),
        live_test(a_dry_run_counts_and_changes_nothing),
        live_test(jobs_are_cancelled_by_what_they_are),
        live_test(who_waits_is_cancelled_before_for_whom),
        live_test(failed_jobs_of_all_queues_are_replayed_and_dropped),
        live_test(a_failed_job_that_many_follow_is_replayed),
        live_test(jobs_are_changed_by_what_they_are),
        live_test(who_cannot_wait_for_what_is_not_there_refuses),
        live_test(who_has_moved_on_is_not_cancelled),
        live_test(who_has_moved_on_is_not_changed),
        live_test(who_waits_for_one_put_later_is_cancelled_before_it),
        live_test(who_waits_for_its_end_does_not_start),
        live_test(who_waits_for_its_failure_is_counted),
        live_test(a_job_put_anew_is_not_the_end_of_a_page),
        live_test(it_must_say_which_and_what),
        live_test(it_can_be_stopped_between_two_steps),
    };
    return scene_run(tests, argc, argv);
}
