/* SPDX-License-Identifier: MIT
 *
 * A client's call whose request or answer gets lost, and the same call again: what it asked for is done, once. The
 * answer to the second call tells whether the first one counted, as far as job.h says so.
 */
#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "invariant.h"
#include "job_look.h"
#include "protocol/lua_scripts.h"
#include "proxy.h"

/*
 *   prepare  before the connection is at risk
 *   say      the call; the same every time
 *   again    what the second one returns when the first one was carried out
 *   judge    afterwards; `was_done`: the first one was carried out
 */
struct act {
    const char *name;
    enum script_id script;
    void (*prepare)(struct scene *s);
    int (*say)(struct scene *s, struct muster_client *c);
    int again;
    void (*judge)(struct scene *s, bool was_done);
};

static const char *held; /* the process that is ended */

/* ---- put ---- */

static int put(struct scene *s, struct muster_client *c)
{
    (void)s;
    return muster_job_put(c, "q",
                          JOB_SPEC(.id = "a", .data = BYTES("bytes"), .tags = IDS("blue"), .n_tags = 1,
                                   .after = IDS("before"), .n_after = 1),
                          NULL);
}

static void one_comes_before(struct scene *s)
{
    job_put(s, "q", JOB_SPEC(.id = "before"));
}

static void one_depends(struct scene *s, bool was_done)
{
    (void)was_done;
    struct job_seen a = job_look(s, "a");
    assert_string_equal(a.after, "before ");
    assert_string_equal(a.tags, "blue ");
    assert_string_equal(a.history, "put ");
    assert_int_equal(job_count(s, "q", MUSTER_JOB_DEPENDS), 1);
}

/* Without an id: the answer still has the one that was made. */
static char made[MUSTER_JOB_ID_MAX + 1];

static void no_id_yet(struct scene *s)
{
    (void)s;
    *made = '\0';
}

static int put_made(struct scene *s, struct muster_client *c)
{
    (void)s;
    if (*made)
        return muster_job_put(c, "q", JOB_SPEC(.id = made), NULL);
    return muster_job_put(c, "q", JOB_SPEC(.id = NULL), made);
}

static void one_waits(struct scene *s, bool was_done)
{
    (void)was_done;
    assert_int_equal(job_count(s, "q", MUSTER_JOB_WAITING), 1);
}

static int put_unique(struct scene *s, struct muster_client *c)
{
    (void)s;
    return muster_task_enqueue_unique(c, "q", "bytes", 5, NULL);
}

/* The same id once the first one is complete is another job. */
static int put_and_finish(struct scene *s, struct muster_client *c)
{
    int err = muster_job_put(c, "q", JOB_SPEC(.id = "a"), NULL);
    if (err && job_is_there(s, "a"))
        assert_ok(muster_lease_finish(s->client, job_take(s, "q", "a"), NULL));
    return err;
}

static void a_runs(struct scene *s)
{
    job_put(s, "q", JOB_SPEC(.id = "a", .data = BYTES("old"), .tags = IDS("old"), .n_tags = 1));
    held = job_take(s, "q", "a");
}

static int replace(struct scene *s, struct muster_client *c)
{
    (void)s;
    return muster_job_put(
        c, "r", JOB_SPEC(.id = "a", .replace = 1, .data = BYTES("new"), .tags = IDS("new"), .n_tags = 1), NULL);
}

static void it_is_replaced(struct scene *s, bool was_done)
{
    struct job_seen a = job_look(s, "a");
    assert_int_equal(a.state, MUSTER_JOB_WAITING);
    assert_string_equal(a.queue, "r");
    assert_string_equal(a.data, "new");
    assert_string_equal(a.tags, "new ");
    assert_string_equal(a.history, was_done ? "put taken=.lease moved=q put=in place " : "put taken=.lease moved=q ");
    assert_int_equal(job_count(s, "q", MUSTER_JOB_RUNNING), 0);
    assert_err(muster_lease_finish(s->client, held, NULL), MUSTER_E_LOST);
}

/* ---- change ---- */

static void a_waits(struct scene *s)
{
    job_put(s, "q", JOB_SPEC(.id = "a", .tags = IDS("old"), .n_tags = 1));
}

static int change(struct scene *s, struct muster_client *c)
{
    (void)s;
    return muster_job_change(c, "a",
                             JOB_CHANGE(.queue = "r", .priority = -3, .tag = IDS("new"), .n_tag = 1,
                                        .untag = IDS("old"), .n_untag = 1, .track = 1, .log = "line",
                                        .data = BYTES("new")));
}

/* A line is in its history once more: it may have been meant twice. */
static void it_is_changed(struct scene *s, bool was_done)
{
    struct job_seen a = job_look(s, "a");
    assert_string_equal(a.queue, "r");
    assert_string_equal(a.tags, "new ");
    assert_string_equal(a.data, "new");
    assert_int_equal(a.priority, -3);
    assert_int_equal(a.tracked, 1);
    assert_string_equal(a.history, was_done ? "put log=line moved=q log=line " : "put log=line moved=q ");
    assert_jobs_listed(s, JOB_FILTER(.queue = "r", .state = MUSTER_JOB_WAITING), "a ");
}

static void a_depends(struct scene *s)
{
    one_comes_before(s);
    job_put(s, "r", JOB_SPEC(.id = "a", .after = IDS("before"), .n_after = 1));
}

static int let_go(struct scene *s, struct muster_client *c)
{
    (void)s;
    return muster_job_change(c, "a", JOB_CHANGE(.not_after_all = 1));
}

static void it_is_ready(struct scene *s, bool was_done)
{
    (void)was_done;
    struct job_seen a = job_look(s, "a");
    assert_int_equal(a.state, MUSTER_JOB_WAITING);
    assert_string_equal(a.history, "put ready ");
}

/* ---- cancel ---- */

static int cancel(struct scene *s, struct muster_client *c)
{
    (void)s;
    return muster_job_cancel(c, IDS("a"), 1, 1, NULL, NULL);
}

static uint64_t cancelled(struct scene *s)
{
    struct muster_stats stats = {.size = sizeof stats};
    assert_ok(muster_stats_get(s->client, "q", -1, &stats));
    return stats.cancelled;
}

static void it_is_gone(struct scene *s, bool was_done)
{
    (void)was_done;
    assert_false(job_is_there(s, "a"));
    assert_int_equal(cancelled(s), 1);
}

static void it_is_gone_and_its_process_is_marked(struct scene *s, bool was_done)
{
    it_is_gone(s, was_done);
    assert_err(muster_lease_give_back(s->client, held), MUSTER_E_CANCELLED);
    it_is_gone(s, was_done);
}

/* ---- ends ---- */

static void a_runs_and_others_wait(struct scene *s)
{
    a_runs(s);
    job_put(s, "r", JOB_SPEC(.id = "b", .after = IDS("a"), .n_after = 1));
}

static int finish(struct scene *s, struct muster_client *c)
{
    (void)s;
    return muster_lease_finish(c, held,
                               &(struct muster_finish_options){.size = sizeof(struct muster_finish_options),
                                                               .result = &(struct muster_bytes)BYTES("result")});
}

static void it_is_complete(struct scene *s, bool was_done)
{
    struct muster_stats stats = {.size = sizeof stats};
    (void)was_done;
    struct job_seen a = job_look(s, "a");
    assert_int_equal(a.state, MUSTER_JOB_COMPLETE);
    assert_string_equal(a.result, "result");
    assert_string_equal(a.history, "put taken=.lease completed=.lease ");
    assert_string_equal(job_look(s, "b").history, "put ready ");
    assert_ok(muster_stats_get(s->client, "q", -1, &stats));
    assert_int_equal(stats.completed, 1);
    assert_int_equal(stats.run.n, 1);
}

static int advance(struct scene *s, struct muster_client *c)
{
    (void)s;
    return muster_lease_finish(
        c, held, &(struct muster_finish_options){.size = sizeof(struct muster_finish_options), .next = "r"});
}

static void it_went_on(struct scene *s, bool was_done)
{
    (void)was_done;
    assert_string_equal(job_look(s, "a").history, "put taken=.lease advanced=r put=q ");
    assert_jobs_listed(s, JOB_FILTER(.queue = "r", .state = MUSTER_JOB_WAITING), "a ");
    assert_int_equal(job_look(s, "b").state, MUSTER_JOB_DEPENDS);
}

static int retry(struct scene *s, struct muster_client *c)
{
    (void)s;
    return muster_lease_retry(c, held, 0);
}

static void it_was_retried_once(struct scene *s, bool was_done)
{
    (void)was_done;
    assert_int_equal(job_look(s, "a").retried, 1);
    assert_jobs_listed(s, JOB_FILTER(.queue = "q", .state = MUSTER_JOB_WAITING), "a ");
}

static int give_up(struct scene *s, struct muster_client *c)
{
    (void)s;
    return muster_lease_fail(c, held, "g", "message");
}

static void it_failed_once(struct scene *s, bool was_done)
{
    (void)was_done;
    assert_string_equal(job_look(s, "a").history, "put taken=.lease failed=g ");
    assert_int_equal(job_count(s, "q", MUSTER_JOB_FAILED), 1);
}

static void a_has_failed(struct scene *s)
{
    a_runs(s);
    assert_ok(muster_lease_fail(s->client, held, "g", "message"));
}

static int replay(struct scene *s, struct muster_client *c)
{
    (void)s;
    return muster_failed_replay(
        c, &(struct muster_failed_filter){.size = sizeof(struct muster_failed_filter), .queue = "q"}, NULL);
}

static void it_waits_once(struct scene *s, bool was_done)
{
    (void)was_done;
    assert_string_equal(job_look(s, "a").history, "put taken=.lease failed=g replayed ");
    assert_jobs_listed(s, JOB_FILTER(.queue = "q", .state = MUSTER_JOB_WAITING), "a ");
    assert_int_equal(job_count(s, "q", MUSTER_JOB_FAILED), 0);
}

/* ---- settings ---- */

static void one_in_work(struct scene *s)
{
    assert_ok(muster_config_set(s->client, "q", "max_running", &(int64_t){1}));
    a_runs(s);
    job_put(s, "q", JOB_SPEC(.id = "b"));
    job_put(s, "q", JOB_SPEC(.id = "c"));
}

static int set(struct scene *s, struct muster_client *c)
{
    (void)s;
    return muster_config_set(c, "q", "max_running", &(int64_t){2});
}

static int note_value(const struct muster_setting *setting, void *arg)
{
    *(int64_t *)arg = setting->value;
    return 0;
}

static int ignore(const struct muster_process_info *p, void *arg)
{
    (void)p, (void)arg;
    return 0;
}

static void it_is_set(struct scene *s, bool was_done)
{
    int64_t value = 0;
    (void)was_done;
    assert_ok(muster_config_get(s->client, "q", "max_running", note_value, &value));
    assert_int_equal(value, 2);
    assert_ok(muster_lease_take(s->client, "q", 10, 3600000, 0, ignore, NULL));
    assert_int_equal(job_count(s, "q", MUSTER_JOB_RUNNING), 2);
}

/* ---- all of them, lost either way ---- */

static void prepare_nothing(struct scene *s)
{
    (void)s;
}

static const struct act acts[] = {
    {"put", SCRIPT_PUT, one_comes_before, put, MUSTER_E_EXISTS, one_depends},
    {"put, its id made", SCRIPT_PUT, no_id_yet, put_made, MUSTER_E_EXISTS, one_waits},
    {"put, unique", SCRIPT_PUT, prepare_nothing, put_unique, MUSTER_E_EXISTS, one_waits},
    {"put, complete before it was said again", SCRIPT_PUT, prepare_nothing, put_and_finish, MUSTER_OK, one_waits},
    {"put, replacing", SCRIPT_PUT, a_runs, replace, MUSTER_OK, it_is_replaced},
    {"change", SCRIPT_CHANGE, a_waits, change, MUSTER_OK, it_is_changed},
    {"change of what it waits for", SCRIPT_CHANGE, a_depends, let_go, MUSTER_E_STATE, it_is_ready},
    {"cancel", SCRIPT_CANCEL_JOBS, a_waits, cancel, MUSTER_OK, it_is_gone},
    {"cancel of what runs", SCRIPT_CANCEL_JOBS, a_runs, cancel, MUSTER_OK, it_is_gone_and_its_process_is_marked},
    {"finish", SCRIPT_END, a_runs_and_others_wait, finish, MUSTER_E_LOST, it_is_complete},
    {"finish into a next queue", SCRIPT_END, a_runs_and_others_wait, advance, MUSTER_E_LOST, it_went_on},
    {"retry", SCRIPT_END, a_runs, retry, MUSTER_E_LOST, it_was_retried_once},
    {"fail", SCRIPT_END, a_runs, give_up, MUSTER_E_LOST, it_failed_once},
    {"replay", SCRIPT_REPLAY, a_has_failed, replay, MUSTER_OK, it_waits_once},
    {"config", SCRIPT_CONFIG, one_in_work, set, MUSTER_OK, it_is_set},
};

/* Otherwise the lost answer would be the one that it is not there. */
static void make_known(struct scene *s, enum script_id id)
{
    char *text = strndup((const char *)lua_scripts[id].body, lua_scripts[id].len);
    free(raw_string(s->server->redis, "SCRIPT LOAD %s", text));
    free(text);
}

/* Its connection is open, so that what gets lost is the call. */
static struct muster_client *client_behind(struct scene *s, struct proxy *proxy)
{
    struct muster_client *c;
    uint64_t waiting;
    const struct muster_client_options o = {.size = sizeof o, .url = proxy->url, .prefix = s->prefix};
    assert_ok(muster_client_new(&c, &o));
    assert_ok(muster_queue_length(c, "q", &waiting));
    return c;
}

static void lose(struct scene *s, const struct act *act, int way)
{
    struct proxy proxy;
    bool was_done = way == PROXY_REPLIES;
    act->prepare(s);
    make_known(s, act->script);
    proxy_start(&proxy, s->server->dir, s->server->socket);
    struct muster_client *c = client_behind(s, &proxy);
    proxy_trap(&proxy, lua_scripts[act->script].sha1, way);
    int first = act->say(s, c), second = act->say(s, c);
    int trapped = proxy_count(&proxy).trapped;
    muster_client_free(c);
    proxy_stop(&proxy);
    print_message("%s, its %s lost: %s, then %s\n", act->name, was_done ? "answer" : "request", muster_err_name(first),
                  muster_err_name(second));
    assert_int_equal(trapped, 1);
    assert_err(first, MUSTER_E_CONN);
    assert_err(second, was_done ? act->again : MUSTER_OK);
    act->judge(s, was_done);
    invariant_assert(s->server->redis, s->prefix);
    checked_assert_clean(s);
}

static void lose_each(void **state, int way)
{
    for (size_t i = 0; i < N_OF(acts); i++) {
        if (i > 0) {
            assert_int_equal(scene_end(state), 0);
            scene_begin(state);
        }
        lose(*state, &acts[i], way);
    }
}

static void what_never_arrived_is_done_when_said_again(void **state)
{
    lose_each(state, PROXY_REQUESTS);
}

static void what_was_done_unheard_is_done_once_when_said_again(void **state)
{
    lose_each(state, PROXY_REPLIES);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(what_never_arrived_is_done_when_said_again),
        live_test(what_was_done_unheard_is_done_once_when_said_again),
    };
    return scene_run(tests, argc, argv);
}
