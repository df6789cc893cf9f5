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

#include "blocking_calls.h"
#include "rights.h"
#include "script_world.h"

/* Long enough to be told twice that somebody listens (three seconds apart). */
#define FLIGHT_MS 4000
struct caller {
    struct scene *scene;
    struct script_world world;
    struct muster_client *client;
};

static struct caller *begin(struct scene *s)
{
    static struct caller c;
    c = (struct caller){.scene = s};
    script_world_make(&c.world, s);
    script_world_keep(&c.world);
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
    for (size_t i = 0; i < n_blocking_calls; i++) {
        script_world_restore(&c->world);
        int err = blocking_calls[i].run(c->client, c->world.process);
        assert_words(c, blocking_calls[i].name, err, how);
        if (role && (err == MUSTER_E_DENIED) != !strchr(blocking_calls[i].roles, role))
            fail_msg("%s, %s: %s", blocking_calls[i].name, how, muster_err_name(err));
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
    for (size_t i = 0; i < n_blocking_calls; i++) {
        raw_do(redis, "CONFIG SET maxmemory 0");
        script_world_restore(&c->world);
        raw_do(redis, "CONFIG SET maxmemory 1");
        assert_words(c, blocking_calls[i].name, blocking_calls[i].run(c->client, c->world.process), "full");
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
    for (size_t i = 0; i < n_blocking_calls; i++) {
        assert_ok(muster_client_new(&c.client, &o));
        assert_words(&c, blocking_calls[i].name, blocking_calls[i].run(c.client, ".lease:00000000001:q"),
                     "full and new");
        muster_client_free(c.client);
    }
    raw_do(s->server->redis, "CONFIG SET maxmemory 0");
}

/* ---- while a call waits ---- */

/* Takes whatever it is given. */
#define DEFINE_ROW(type)                                      \
    static int take_##type(const struct type *row, void *arg) \
    {                                                         \
        (void)row, (void)arg;                                 \
        return 0;                                             \
    }
DEFINE_ROW(muster_job_ended)
DEFINE_ROW(muster_job_event)
DEFINE_ROW(muster_process_info)
DEFINE_ROW(muster_queue_event)
#undef DEFINE_ROW

static const char *const ids[] = {"waiting", "scheduled"};

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
