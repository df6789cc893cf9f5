/* SPDX-License-Identifier: MIT
 *
 * Whatever a user of Redis may not do, and whatever a full Redis refuses: each call that blocks answers in words, and
 * the client is sound after it. Tried with the rules of examples/users.acl; with each right of them taken away while
 * the client is connected; and with rights and room that go while a call waits.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rights.h"
#include "script_world.h"

/* Long enough to be told twice that somebody listens (three seconds apart). */
#define FLIGHT_MS 4000
#define LEASED_MAX 64

struct caller {
    struct scene *scene;
    struct script_world world;
    struct muster_client *client;
    char leased[LEASED_MAX]; /* a process under a lease */
};

/* Takes whatever it is given. */
#define DEFINE_ROW(type)                                      \
    static int take_##type(const struct type *row, void *arg) \
    {                                                         \
        (void)row, (void)arg;                                 \
        return 0;                                             \
    }
DEFINE_ROW(muster_advice)
DEFINE_ROW(muster_batch)
DEFINE_ROW(muster_damage)
DEFINE_ROW(muster_delayed_task)
DEFINE_ROW(muster_failed_group)
DEFINE_ROW(muster_failure)
DEFINE_ROW(muster_job)
DEFINE_ROW(muster_job_ended)
DEFINE_ROW(muster_job_event)
DEFINE_ROW(muster_job_parent)
DEFINE_ROW(muster_process_info)
DEFINE_ROW(muster_queue_event)
DEFINE_ROW(muster_queue_info)
DEFINE_ROW(muster_setting)
DEFINE_ROW(muster_tag)
DEFINE_ROW(muster_task)
DEFINE_ROW(muster_worker_info)
#undef DEFINE_ROW

static int take_counts(const char *queue, const uint64_t counts[MUSTER_JOB_STATE_COUNT], void *arg)
{
    (void)queue, (void)counts, (void)arg;
    return 0;
}

static const char *const ids[] = {"waiting", "scheduled"};
static const struct muster_bytes tasks[] = {{"a", 1}, {"b", 1}};
static const struct muster_job_spec spec = {.size = sizeof spec, .id = "new"};
static const struct muster_job_spec *const specs[] = {&spec};
static const struct muster_batch_spec batch = {.size = sizeof batch, .id = "b"};
static const struct muster_extend_options extension = {.size = sizeof extension, .lease_ms = 1000};
static const struct muster_failed_filter failed = {.size = sizeof failed, .queue = "q"};
static const struct muster_job_filter waiting = {.size = sizeof waiting, .queue = "q", .state = MUSTER_JOB_WAITING};
static const struct muster_job_bulk cancel = {.size = sizeof cancel, .action = MUSTER_JOBS_CANCEL};
static const struct muster_job_change change = {.size = sizeof change, .priority = 3};
static const struct muster_take_options take = {.size = sizeof take, .wait_ms = 1};
static uint64_t n, n_running, counts[MUSTER_JOB_STATE_COUNT];
static int64_t ms;
static size_t n_put;
static int errs[2];
static char id[MUSTER_JOB_ID_MAX + 1];
static struct muster_queue_info queue_info;
static struct muster_server_info server_info = {.size = sizeof server_info};
static struct muster_stats stats = {.size = sizeof stats};

/* Every call of the library that blocks on a client `c`, and the roles that may do it, by their first letters. `p` is a
 * process under a lease. */
#define CALLS(X)                                                                                                       \
    X(muster_task_enqueue, "pw-o", (c, "q", "task", 4, &n))                                                            \
    X(muster_task_enqueue_many, "pw-o", (c, "q", tasks, 2, NULL, &n))                                                  \
    X(muster_task_enqueue_unique, "pw-o", (c, "q", "task", 4, id))                                                     \
    X(muster_task_peek, "pwvo", (c, "q", 0, 9, take_muster_task, NULL))                                                \
    X(muster_task_peek_delayed, "pwvo", (c, "q", 0, 9, take_muster_delayed_task, NULL))                                \
    X(muster_task_cancel, "pw-o", (c, "q", "t1", 2, &n, &n_running))                                                   \
    X(muster_queue_length, "pwvo", (c, "q", &n))                                                                       \
    X(muster_queue_list, "pwvo", (c, take_muster_queue_info, NULL))                                                    \
    X(muster_queue_list_cached, "pwvo", (c, 0, take_muster_queue_info, NULL))                                          \
    X(muster_queue_get, "pwvo", (c, "q", &queue_info))                                                                 \
    X(muster_queue_pause, "pw-o", (c, "q"))                                                                            \
    X(muster_queue_resume, "pw-o", (c, "q"))                                                                           \
    X(muster_queue_delete, "---o", (c, "q", &n, &n_running))                                                           \
    X(muster_queue_listen, "-w-o", (c, "q", 1, NULL, take_muster_queue_event, NULL))                                   \
    X(muster_worker_list, "pwvo", (c, take_muster_worker_info, NULL))                                                  \
    X(muster_worker_fail, "-w-o", (c, "w", &n))                                                                        \
    X(muster_process_list, "pwvo", (c, NULL, take_muster_process_info, NULL))                                          \
    X(muster_process_cancel, "pw-o", (c, p))                                                                           \
    X(muster_client_sweep, "-w-o", (c, &n))                                                                            \
    X(muster_client_time, "pwvo", (c, &ms))                                                                            \
    X(muster_client_server, "-w-o", (c, &server_info))                                                                 \
    X(muster_client_probe, "pw-o", (c, MUSTER_PROBE_WRITE))                                                            \
    X(muster_client_advise, "pwvo", (c, MUSTER_ROLE_ALL, take_muster_advice, NULL))                                    \
    X(muster_client_check, "---o", (c, 1, take_muster_damage, NULL))                                                   \
    X(muster_client_upgrade, "-w-o", (c, &n))                                                                          \
    X(muster_lease_take, "-w-o", (c, "none", 1, 1000, 1, take_muster_process_info, NULL))                              \
    X(muster_lease_take_as, "pw-o", (c, "q", &take, take_muster_process_info, NULL))                                   \
    X(muster_lease_finish, "pw-o", (c, p, NULL))                                                                       \
    X(muster_lease_give_back, "pw-o", (c, p))                                                                          \
    X(muster_lease_retry, "pw-o", (c, p, 0))                                                                           \
    X(muster_lease_retry_as, "pw-o", (c, p, 0, "g", "m"))                                                              \
    X(muster_lease_fail, "pw-o", (c, p, "g", "m"))                                                                     \
    X(muster_lease_end_many, "pw-o",                                                                                   \
      (c, &(struct muster_lease_end){.size = sizeof(struct muster_lease_end), .process = p, .outcome = MUSTER_FINISH}, \
       1, errs))                                                                                                       \
    X(muster_lease_extend, "pw-o", (c, p, &extension))                                                                 \
    X(muster_lease_extend_many, "pw-o", (c, &p, 1, &extension, errs))                                                  \
    X(muster_failed_list, "pwvo", (c, &failed, take_muster_failure, NULL))                                             \
    X(muster_failed_groups, "pwvo", (c, NULL, take_muster_failed_group, NULL))                                         \
    X(muster_failed_replay, "pw-o", (c, &failed, &n))                                                                  \
    X(muster_failed_drop, "pw-o", (c, &failed, &n))                                                                    \
    X(muster_job_put, "pw-o", (c, "q", &spec, id))                                                                     \
    X(muster_job_put_many, "pw-o", (c, "q", specs, 1, NULL, &n_put))                                                   \
    X(muster_job_get, "pwvo", (c, ids, 2, take_muster_job, NULL))                                                      \
    X(muster_job_peek, "pwvo", (c, ids, 2, take_muster_job, NULL))                                                     \
    X(muster_job_parents, "pwvo", (c, "depends", take_muster_job_parent, NULL))                                        \
    X(muster_job_wait, "-w-o", (c, ids, 2, 1, take_muster_job_ended, NULL))                                            \
    X(muster_job_list, "pwvo", (c, &waiting, take_muster_job, NULL))                                                   \
    X(muster_job_counts, "pwvo", (c, "q", counts))                                                                     \
    X(muster_job_counts_list, "pwvo", (c, take_counts, NULL))                                                          \
    X(muster_job_change, "pw-o", (c, "waiting", &change))                                                              \
    X(muster_job_cancel, "pw-o", (c, ids, 2, 1, &n, &n_running))                                                       \
    X(muster_job_bulk, "pw-o", (c, &waiting, &cancel, NULL))                                                           \
    X(muster_job_listen, "-w-o", (c, NULL, 1, NULL, take_muster_job_event, NULL))                                      \
    X(muster_tag_list, "pwvo", (c, 0, 9, take_muster_tag, NULL))                                                       \
    X(muster_stats_get, "pwvo", (c, "q", -1, &stats))                                                                  \
    X(muster_config_get, "pwvo", (c, "q", NULL, take_muster_setting, NULL))                                            \
    X(muster_config_set, "pw-o", (c, "q", "max_running", &(int64_t){3}))                                               \
    X(muster_batch_open, "pw-o", (c, &batch, id))                                                                      \
    X(muster_batch_close, "pw-o", (c, "batch"))                                                                        \
    X(muster_batch_cancel, "pw-o", (c, "batch", &n, &n_running))                                                       \
    X(muster_batch_get, "pwvo", (c, "batch", take_muster_batch, NULL))                                                 \
    X(muster_batch_list, "pwvo", (c, take_muster_batch, NULL))

struct call {
    const char *name, *roles;
    int (*run)(struct muster_client *c, const char *p);
};

#define DEFINE_CALL(name, roles, args)                            \
    static int run_##name(struct muster_client *c, const char *p) \
    {                                                             \
        (void)p;                                                  \
        return name args;                                         \
    }
CALLS(DEFINE_CALL)
#undef DEFINE_CALL

static const struct call calls[] = {
#define CALL_ROW(name, roles, args) {#name, roles, run_##name},
    CALLS(CALL_ROW)
#undef CALL_ROW
};

static struct caller *begin(struct scene *s)
{
    static struct caller c;
    c = (struct caller){.scene = s};
    script_world_make(&c.world, s);
    script_world_keep(&c.world);
    snprintf(c.leased, sizeof c.leased, ".lease:%s:q", c.world.leased);
    return &c;
}

static void end(struct caller *c)
{
    muster_client_free(c->client);
    script_world_end(&c->world);
}

static void assert_words(const struct caller *c, const char *name, int err, const char *how)
{
    const bool is_known = strcmp(muster_err_name(err), "E_UNKNOWN") != 0;
    if (!is_known || (err != MUSTER_OK && !*muster_client_error(c->client)))
        fail_msg("%s, %s: %d, in the words '%s'", name, how, err, muster_client_error(c->client));
    const char *full = err == MUSTER_E_FULL ? strstr(muster_client_error(c->client), "failed lists hold") : NULL;
    if (full && strstr(full + 1, "failed lists hold"))
        fail_msg("%s says it twice: %s", name, muster_client_error(c->client));
}

/* All calls, each in the world as it was kept. `role`: denied are those that are not this role's; 0: any may be. */
static void call_all(struct caller *c, const char *how, char role)
{
    for (size_t i = 0; i < N_OF(calls); i++) {
        script_world_restore(&c->world);
        int err = calls[i].run(c->client, c->leased);
        assert_words(c, calls[i].name, err, how);
        if (role && (err == MUSTER_E_DENIED) != !strchr(calls[i].roles, role))
            fail_msg("%s, %s: %s", calls[i].name, how, muster_err_name(err));
    }
    script_world_restore(&c->world);
}

/* An answer that nobody has read would come now. */
static void assert_sound(struct caller *c, const char *how)
{
    uint64_t length = 0, truly;
    int err = muster_queue_length(c->client, "q", &length);
    assert_ok(muster_queue_length(c->scene->client, "q", &truly));
    if (err != MUSTER_OK || length != truly)
        fail_msg("after %s: %s, %d waiting instead of %d", how, muster_err_name(err), (int)length, (int)truly);
}

static void every_call_answers_every_role_in_words(void **state)
{
    struct caller *c = begin(*state);
    struct rights rights;
    for (const char *const *role = rights_roles; *role; role++) {
        rights_read(&rights, *role, c->scene->prefix);
        rights_give(c->scene, *role, &rights, NULL);
        c->client = rights_client(c->scene, *role);
        call_all(c, *role, strcmp(*role, "muster") == 0 ? 'o' : **role); /* who may all may what an operator may */
        assert_sound(c, *role);
        muster_client_free(c->client);
        c->client = NULL;
    }
    end(c);
}

/* The connection stays, and only what it asks for is refused: scripts may stop in their middle then. */
static void every_call_answers_in_words_when_a_right_is_taken_away(void **state)
{
    struct caller *c = begin(*state);
    struct rights all;
    rights_read(&all, "muster", c->scene->prefix);
    rights_give(c->scene, "u", &all, NULL);
    c->client = rights_client(c->scene, "u");
    assert_sound(c, "all rights");
    for (size_t i = 0; i < all.n; i++) {
        if (strcmp(all.words[i], "resetchannels") == 0 || strcmp(all.words[i], "-@all") == 0)
            continue;
        rights_give(c->scene, "u", &all, all.words[i]);
        call_all(c, all.words[i], 0);
        rights_give(c->scene, "u", &all, NULL);
        assert_sound(c, all.words[i]);
    }
    end(c);
}

static void every_call_answers_in_words_on_a_full_redis(void **state)
{
    struct caller *c = begin(*state);
    struct redisContext *redis = c->scene->server->redis;
    c->client = scene_client(c->scene);
    for (size_t i = 0; i < N_OF(calls); i++) {
        raw_do(redis, "CONFIG SET maxmemory 0");
        script_world_restore(&c->world);
        raw_do(redis, "CONFIG SET maxmemory 1");
        assert_words(c, calls[i].name, calls[i].run(c->client, c->leased), "full");
    }
    raw_do(redis, "CONFIG SET maxmemory 0");
    script_world_restore(&c->world);
    assert_sound(c, "full");
    end(c);
}

/* So nobody can write down the format, which comes before all that writes. */
static void every_call_answers_in_words_in_a_new_namespace_on_a_full_redis(void **state)
{
    struct scene *s = *state;
    const struct muster_client_options o = {.size = sizeof o, .url = s->server->url, .prefix = "new"};
    struct caller c = {.scene = s};
    raw_do(s->server->redis, "CONFIG SET maxmemory 1");
    for (size_t i = 0; i < N_OF(calls); i++) {
        assert_ok(muster_client_new(&c.client, &o));
        assert_words(&c, calls[i].name, calls[i].run(c.client, ".lease:00000000001:q"), "full and new");
        muster_client_free(c.client);
    }
    raw_do(s->server->redis, "CONFIG SET maxmemory 0");
}

/* ---- while a call waits ---- */

static int wait_for_jobs(struct muster_client *c)
{
    return muster_job_wait(c, ids, 2, FLIGHT_MS, take_muster_job_ended, NULL);
}

static int wait_for_tasks(struct muster_client *c)
{
    return muster_lease_take(c, "none", 1, 1000, FLIGHT_MS, take_muster_process_info, NULL);
}

static int listen_to_jobs(struct muster_client *c)
{
    return muster_job_listen(c, NULL, FLIGHT_MS, NULL, take_muster_job_event, NULL);
}

static int listen_to_queue(struct muster_client *c)
{
    return muster_queue_listen(c, "q", FLIGHT_MS, NULL, take_muster_queue_event, NULL);
}

static int (*const waits[])(struct muster_client *c) = {wait_for_jobs, wait_for_tasks, listen_to_jobs, listen_to_queue};
#define WAITS N_OF(waits)

/* What goes meanwhile, and what each of the waits answers then. Who has lost its connection, and cannot make another
 * one, says so; a wait for jobs looks at the records as long as it may read them. */
static const struct loss {
    const char *name, *words[6];
    int answers[WAITS];
} losses[] = {
    {"channels",
     {"ACL", "SETUSER", "USER", "resetchannels"},
     {MUSTER_E_DENIED, MUSTER_E_DENIED, MUSTER_E_CONN, MUSTER_E_CONN}},
    {"scripts",
     {"ACL", "SETUSER", "USER", "-evalsha", "-eval"},
     {MUSTER_E_TIMEOUT, MUSTER_E_DENIED, MUSTER_E_DENIED, MUSTER_E_DENIED}},
    {"commands",
     {"ACL", "SETUSER", "USER", "-@all"},
     {MUSTER_E_DENIED, MUSTER_E_DENIED, MUSTER_E_DENIED, MUSTER_E_DENIED}},
    {"user", {"ACL", "DELUSER", "USER"}, {MUSTER_E_DENIED, MUSTER_E_DENIED, MUSTER_E_CONN, MUSTER_E_CONN}},
    {"room", {"CONFIG", "SET", "maxmemory", "1"}, {MUSTER_E_TIMEOUT, MUSTER_E_NOT_FOUND, MUSTER_E_FULL, MUSTER_E_FULL}},
};
#define LOSSES N_OF(losses)

/* A thread that waits, with a client and a user of its own. */
struct flight {
    struct caller caller; /* first */
    int (*wait)(struct muster_client *c);
    char user[32];
    pthread_t thread;
    int err;
};

static void *fly(void *arg)
{
    struct flight *f = arg;
    f->err = f->wait(f->caller.client);
    return NULL;
}

static bool is_subscribed(void *arg)
{
    const struct flight *f = arg;
    char *list = raw_string(f->caller.scene->server->redis, "CLIENT LIST"), *rest, user[48];
    bool is = false;
    snprintf(user, sizeof user, " user=%s ", f->user);
    for (char *line = strtok_r(list, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        is |= strstr(line, user) && !strstr(line, " sub=0 ");
    free(list);
    return is;
}

static void take_off(struct flight *f, struct scene *s, const struct rights *all, size_t loss, size_t wait)
{
    *f = (struct flight){.caller = {.scene = s}, .wait = waits[wait]};
    snprintf(f->user, sizeof f->user, "%s%zu", losses[loss].name, wait);
    rights_give(s, f->user, all, NULL);
    f->caller.client = rights_client(s, f->user);
    assert_int_equal(pthread_create(&f->thread, NULL, fly, f), 0);
}

static void lose(const struct flight *f, const struct loss *loss)
{
    const char *argv[N_OF(loss->words)];
    int argc = 0;
    for (; loss->words[argc]; argc++)
        argv[argc] = strcmp(loss->words[argc], "USER") == 0 ? f->user : loss->words[argc];
    redisReply *reply = redisCommandArgv(f->caller.scene->server->redis, argc, argv, NULL);
    assert_non_null(reply);
    assert_int_not_equal(reply->type, REDIS_REPLY_ERROR);
    freeReplyObject(reply);
}

static void land(struct flight *f, const struct loss *loss, size_t wait)
{
    pthread_join(f->thread, NULL);
    assert_words(&f->caller, f->user, f->err, "in flight");
    if (f->err != loss->answers[wait])
        fail_msg("%s: %s, expected %s: %s", f->user, muster_err_name(f->err), muster_err_name(loss->answers[wait]),
                 muster_client_error(f->caller.client));
    muster_client_free(f->caller.client);
}

static void a_wait_answers_in_words_when_rights_or_room_go_meanwhile(void **state)
{
    struct caller *c = begin(*state);
    struct flight flights[LOSSES][WAITS];
    struct rights all;
    rights_read(&all, "muster", c->scene->prefix);
    for (size_t l = 0; l < LOSSES; l++)
        for (size_t w = 0; w < WAITS; w++)
            take_off(&flights[l][w], c->scene, &all, l, w);
    for (size_t l = 0; l < LOSSES; l++)
        for (size_t w = 0; w < WAITS; w++)
            wait_until(is_subscribed, &flights[l][w], SOON_MS);
    for (size_t l = 0; l < LOSSES; l++)
        for (size_t w = 0; w < WAITS; w++)
            lose(&flights[l][w], &losses[l]);
    for (size_t l = 0; l < LOSSES; l++)
        for (size_t w = 0; w < WAITS; w++)
            land(&flights[l][w], &losses[l], w);
    raw_do(c->scene->server->redis, "CONFIG SET maxmemory 0");
    end(c);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(every_call_answers_every_role_in_words),
        live_test(every_call_answers_in_words_when_a_right_is_taken_away),
        live_test(every_call_answers_in_words_on_a_full_redis),
        live_test(every_call_answers_in_words_in_a_new_namespace_on_a_full_redis),
        live_test(a_wait_answers_in_words_when_rights_or_room_go_meanwhile),
    };
    return scene_run(tests, argc, argv);
}
