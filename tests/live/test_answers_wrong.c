/* SPDX-License-Identifier: MIT
 *
 * A server gives one command, or one script, the same wrong answer each time: no call asks it for ever, or reads beyond what
 * it has asked for.
 */
#include <muster/job.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hostile_server.h"
#include "jobs.h"
#include "protocol/lua_scripts.h"
#include "taken.h"

/* More than any of these calls has to ask. */
#define COMMANDS_MAX 50000

struct stage {
    struct scene *scene;
    struct hostile_server server;
    struct muster_client *client;
    pthread_t watch;
    atomic_bool is_over;
};

/* Ends the call of a client that asks too much. */
static void *watch(void *arg)
{
    struct stage *t = arg;
    while (!atomic_load(&t->is_over) && t->server.counts->commands <= COMMANDS_MAX)
        usleep(1000);
    if (!atomic_load(&t->is_over))
        assert_ok(muster_client_interrupt(t->client));
    return NULL;
}

static void begin(struct stage *t, struct scene *s, const char *answer, const char *only)
{
    *t = (struct stage){.scene = s};
    hostile_server_start(&t->server, s->server->dir,
                         &(struct hostile_spec){.relay_to = s->server->socket, .constant = answer, .only = only});
    assert_ok(muster_client_new(
        &t->client, &(struct muster_client_options){
                        .size = sizeof(struct muster_client_options), .url = t->server.url, .prefix = s->prefix}));
    assert_int_equal(pthread_create(&t->watch, NULL, watch, t), 0);
}

static void end(struct stage *t)
{
    atomic_store(&t->is_over, true);
    pthread_join(t->watch, NULL);
    muster_client_free(t->client);
    hostile_server_stop(&t->server);
}

/* ---- asked again and again ---- */

static int on_task(const struct muster_task *task, void *arg)
{
    (void)task, (void)arg;
    return 0;
}

static int on_failure(const struct muster_failure *failure, void *arg)
{
    (void)failure, (void)arg;
    return 0;
}

static int on_job(const struct muster_job *job, void *arg)
{
    (void)job, (void)arg;
    return 0;
}

static int on_delayed(const struct muster_delayed_task *task, void *arg)
{
    (void)task, (void)arg;
    return 0;
}

static int on_tag(const struct muster_tag *tag, void *arg)
{
    (void)tag, (void)arg;
    return 0;
}

static int cancel(struct muster_client *c)
{
    return muster_task_cancel(c, "q", "t", 1, NULL, NULL);
}

static int peek(struct muster_client *c)
{
    return muster_task_peek(c, "q", 0, 3, on_task, NULL);
}

static int list_failures(struct muster_client *c)
{
    const struct muster_failed_filter f = {.size = sizeof f, .queue = "q"};
    return muster_failed_list(c, &f, on_failure, NULL);
}

static int get(struct muster_client *c)
{
    return muster_job_get(c, (const char *const[]){"j"}, 1, on_job, NULL);
}

static int peek_delayed(struct muster_client *c)
{
    return muster_task_peek_delayed(c, "q", 0, UINT64_MAX, on_delayed, NULL);
}

static int list_jobs(struct muster_client *c)
{
    const struct muster_job_filter f = {.size = sizeof f, .queue = "q", .state = MUSTER_JOB_WAITING};
    return muster_job_list(c, &f, on_job, NULL);
}

static int list_failed_jobs(struct muster_client *c)
{
    const struct muster_job_filter f = {.size = sizeof f, .queue = "q", .state = MUSTER_JOB_FAILED};
    return muster_job_list(c, &f, on_job, NULL);
}

static int list_tags(struct muster_client *c)
{
    return muster_tag_list(c, 0, UINT64_MAX, on_tag, NULL);
}

static int replay(struct muster_client *c)
{
    const struct muster_failed_filter f = {.size = sizeof f, .queue = "q"};
    return muster_failed_replay(c, &f, NULL);
}

static int replay_named(struct muster_client *c)
{
    const struct muster_failed_filter f = {
        .size = sizeof f, .queue = "q", .entries = (const char *const[]){"00000000001"}, .n_entries = 1};
    return muster_failed_replay(c, &f, NULL);
}

#define TEXTS_4 "$1\r\nx\r\n$1\r\nx\r\n$1\r\nx\r\n$1\r\nx\r\n"
#define TEXTS_8 TEXTS_4 TEXTS_4
#define TEXTS_40 TEXTS_8 TEXTS_8 TEXTS_8 TEXTS_8 TEXTS_8

static void no_call_goes_on_for_ever(void **state)
{
    const struct {
        const char *name, *only, *answer;
        int (*call)(struct muster_client *c);
        int err;
    } rows[] = {
        {"cancel", lua_scripts[SCRIPT_CANCEL].sha1, "*4\r\n:0\r\n:0\r\n:0\r\n$1\r\n7\r\n", cancel, MUSTER_E_REDIS},
        {"peek", lua_scripts[SCRIPT_HEADS].sha1, "*3\r\n:5\r\n:0\r\n*1\r\n$1\r\nx\r\n", peek, MUSTER_E_REDIS},
        {"failures", lua_scripts[SCRIPT_HEADS].sha1, "*3\r\n:6\r\n:0\r\n*2\r\n$1\r\nx\r\n$1\r\n1\r\n", list_failures,
         MUSTER_E_REDIS},
        {"a page of failures", lua_scripts[SCRIPT_HEADS].sha1, "*3\r\n:0\r\n:0\r\n*8\r\n" TEXTS_8, list_failures,
         MUSTER_E_REDIS},
        {"delayed", lua_scripts[SCRIPT_HEADS].sha1, "*3\r\n:0\r\n:0\r\n*16\r\n" TEXTS_8 TEXTS_8, peek_delayed,
         MUSTER_E_REDIS},
        {"jobs", "\r\nZRANGE\r\n", "*16\r\n" TEXTS_8 TEXTS_8, list_jobs, MUSTER_E_REDIS},
        {"failed jobs", lua_scripts[SCRIPT_HEADS].sha1, "*3\r\n:0\r\n:0\r\n*8\r\n" TEXTS_8, list_failed_jobs,
         MUSTER_E_REDIS},
        {"tags", "\r\nZREVRANGE\r\n", "*200\r\n" TEXTS_40 TEXTS_40 TEXTS_40 TEXTS_40 TEXTS_40, list_tags,
         MUSTER_E_REDIS},
        {"replay", lua_scripts[SCRIPT_REPLAY].sha1, "*5\r\n:0\r\n:0\r\n:0\r\n:0\r\n:1\r\n", replay, MUSTER_E_REDIS},
        {"replay of one", lua_scripts[SCRIPT_REPLAY].sha1, "*5\r\n:0\r\n:0\r\n:0\r\n:0\r\n:1\r\n", replay_named,
         MUSTER_E_REDIS},
        {"history", "\r\nLLEN\r\n", ":1000000000000000\r\n", get, MUSTER_OK},
    };
    struct scene *s = *state;
    scene_enqueue_n(s, "q", "t", 4);
    const char *const process = take_one(s, "q", "t0");
    assert_ok(muster_lease_fail(s->client, process, NULL, NULL));
    job_put(s, "other", "j", NULL);
    for (size_t i = 0; i < N_OF(rows); i++) {
        static struct stage t;
        begin(&t, s, rows[i].answer, rows[i].only);
        int err = rows[i].call(t.client);
        if (err != rows[i].err)
            fail_msg("%s: %s after %d commands: %s", rows[i].name, muster_err_name(err), (int)t.server.counts->commands,
                     muster_client_error(t.client));
        end(&t);
    }
}

/* ---- more than was asked for ---- */

static int on_damage(const struct muster_damage *damage, void *arg)
{
    (void)arg;
    return *damage->what == '\0';
}

static void a_check_reads_no_more_settings_than_there_are(void **state)
{
    struct scene *s = *state;
    static struct stage t;
    scene_enqueue(s, "q", "t");
    begin(&t, s, "*40\r\n" TEXTS_40, "\r\nkeep_history\r\n");
    assert_ok(muster_client_check(t.client, 0, on_damage, NULL));
    end(&t);
}

/* The job that a refusal names is one of those that were sent. */
static void a_refused_job_is_one_of_the_call(void **state)
{
    enum { N = 250 };
    static const long long numbers[] = {-100, 101, 151, INT64_MIN, INT64_MAX};
    static struct muster_job_spec specs[N];
    static const struct muster_job_spec *all[N];
    struct scene *s = *state;
    for (size_t i = 0; i < N; i++) {
        specs[i] = (struct muster_job_spec){.size = sizeof *specs};
        all[i] = &specs[i];
    }
    for (size_t i = 0; i < N_OF(numbers); i++) {
        static struct stage t;
        size_t refused = 9, put = 0;
        const struct muster_job_put_options o = {.size = sizeof o, .refused = &refused};
        begin(&t, s, NULL, NULL);
        assert_ok(muster_job_put(t.client, "q", all[0], NULL)); /* Redis knows the script */
        snprintf(t.server.counts->refusal, sizeof t.server.counts->refusal,
                 "*4\r\n:%d\r\n$5\r\nalive\r\n$1\r\nj\r\n:%lld\r\n", MUSTER_E_EXISTS, numbers[i]);
        t.server.counts->refuses_in = 2;
        assert_err(muster_job_put_many(t.client, "q", all, N, &o, &put), MUSTER_E_EXISTS);
        assert_int_equal(put, 100);
        assert_int_equal(refused, 0);
        end(&t);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(no_call_goes_on_for_ever),
        live_test(a_check_reads_no_more_settings_than_there_are),
        live_test(a_refused_job_is_one_of_the_call),
    };
    muster_log_set(muster_log_silent, NULL);
    return scene_run(tests, argc, argv);
}
