/* SPDX-License-Identifier: MIT
 *
 * Whatever a user of Redis may not do, and whatever a full Redis refuses: each call of the asynchronous client is
 * answered in words, and the next one finds the client sound. Tried as the blocking calls are (test_rights.c).
 */
#include <stdlib.h>
#include <string.h>

#include "rights.h"
#include "script_world.h"

#define ANSWER_MS 20000
#define LONG_MS 600000

struct caller {
    struct scene *scene;
    struct script_world world;
    struct muster_async *async;
    char leased[64], words[512]; /* a process under a lease; those of the last answer */
};

static const struct muster_job_spec spec = {.size = sizeof spec, .id = "new"};
static const struct muster_extend_options extension = {.size = sizeof extension, .lease_ms = 1000};

/* Every call of the library on an asynchronous client `a`, and the roles that may do it, by their first letters. `p` is
 * a process under a lease; `wait_ms` is long for who may not hear. */
#define CALLS(X)                                                            \
    X(enqueue, muster_async_enqueue, "pw-o", (a, "q", "task", 4, 0, 0))     \
    X(put, muster_async_put, "pw-o", (a, "q", &spec, 0, 0))                 \
    X(take, muster_async_take, "pw-o", (a, "q", 1, 1000, 0, 0, 0))          \
    X(wait, muster_async_take, "-w-o", (a, "none", 1, 1000, wait_ms, 0, 0)) \
    X(finish, muster_async_finish, "pw-o", (a, p, NULL, 0, 0))              \
    X(give_back, muster_async_give_back, "pw-o", (a, p, 0, 0))              \
    X(retry, muster_async_retry, "pw-o", (a, p, 0, 0, 0))                   \
    X(retry_as, muster_async_retry_as, "pw-o", (a, p, 0, "g", "m", 0, 0))   \
    X(fail, muster_async_fail, "pw-o", (a, p, "g", "m", 0, 0))              \
    X(extend, muster_async_extend, "pw-o", (a, p, &extension, 0, 0))        \
    X(job, muster_async_job, "pwvo", (a, "waiting", 0, 0))                  \
    X(length, muster_async_length, "pwvo", (a, "q", 0, 0))

struct call {
    const char *name, *roles;
    int (*make)(struct muster_async *a, const char *p, int64_t wait_ms);
};

#define DEFINE_CALL(name, function, roles, args)                                   \
    static int make_##name(struct muster_async *a, const char *p, int64_t wait_ms) \
    {                                                                              \
        (void)p, (void)wait_ms;                                                    \
        return function args;                                                      \
    }
CALLS(DEFINE_CALL)
#undef DEFINE_CALL

static const struct call calls[] = {
#define CALL_ROW(name, function, roles, args) {#name, roles, make_##name},
    CALLS(CALL_ROW)
#undef CALL_ROW
};

static void connect_as(struct caller *c, const char *user, const char *prefix)
{
    char url[160];
    rights_url(c->scene, user, url);
    const struct muster_client_options client = {.size = sizeof client, .url = url, .prefix = prefix};
    const struct muster_async_options o = {.size = sizeof o, .client = &client};
    assert_ok(muster_async_new(&c->async, &o));
}

static void leave(struct caller *c)
{
    muster_async_free(c->async);
    c->async = NULL;
}

static struct caller *begin(struct scene *s)
{
    static struct caller c;
    struct rights all;
    c = (struct caller){.scene = s};
    rights_read(&all, "muster", s->prefix);
    rights_give(s, "u", &all, NULL);
    script_world_make(&c.world, s);
    script_world_keep(&c.world);
    snprintf(c.leased, sizeof c.leased, ".lease:%s:q", c.world.leased);
    return &c;
}

static void end(struct caller *c)
{
    leave(c);
    script_world_end(&c->world);
}

/* The one answer that is to come. */
static int answer_of(struct caller *c, const char *name, const char *how, uint64_t *waiting)
{
    struct muster_answer answer = {.size = sizeof answer};
    if (muster_async_wait(c->async, ANSWER_MS) != MUSTER_OK || muster_async_next(c->async, &answer, 1) != 1)
        fail_msg("%s, %s: no answer", name, how);
    snprintf(c->words, sizeof c->words, "%s", answer.text);
    if (strcmp(muster_err_name(answer.err), "E_UNKNOWN") == 0 || (answer.err != MUSTER_OK && !*answer.text))
        fail_msg("%s, %s: %d, in the words '%s'", name, how, answer.err, answer.text);
    if (waiting)
        *waiting = answer.waiting;
    return answer.err;
}

static int call_one(struct caller *c, const struct call *call, const char *how, int64_t wait_ms)
{
    assert_ok(call->make(c->async, c->leased, wait_ms));
    return answer_of(c, call->name, how, NULL);
}

/* What was refused before is nobody else's answer. */
static void assert_sound(struct caller *c, const char *name, const char *how, bool is_new)
{
    uint64_t length, truly = 0;
    assert_ok(muster_async_length(c->async, "q", NULL, NULL));
    int err = answer_of(c, "length", how, &length);
    if (!is_new)
        assert_ok(muster_queue_length(c->scene->client, "q", &truly));
    if (err != MUSTER_OK || length != truly)
        fail_msg("after %s, %s: %s: %s; %d waiting instead of %d", name, how, muster_err_name(err), c->words,
                 (int)length, (int)truly);
}

static void every_call_answers_every_role_in_words(void **state)
{
    struct caller *c = begin(*state);
    struct rights rights;
    for (const char *const *role = rights_roles; *role; role++) {
        const char letter = strcmp(*role, "muster") == 0 ? 'o' : **role;
        rights_read(&rights, *role, c->scene->prefix);
        rights_give(c->scene, *role, &rights, NULL);
        connect_as(c, *role, c->scene->prefix);
        for (size_t i = 0; i < N_OF(calls); i++) {
            const bool may = strchr(calls[i].roles, letter);
            script_world_restore(&c->world);
            int err = call_one(c, &calls[i], *role, may ? 1 : LONG_MS);
            if ((err == MUSTER_E_DENIED) == may || (!may && !strstr(c->words, "NOPERM")))
                fail_msg("%s, %s: %s: %s", calls[i].name, *role, muster_err_name(err), c->words);
            assert_sound(c, calls[i].name, *role, false);
        }
        leave(c);
    }
    end(c);
}

/* In a namespace that has nothing in it, not even a format. */
static void begin_new(struct caller *c, struct scene *s, const char *user, const char *role)
{
    struct rights rights;
    *c = (struct caller){.scene = s, .leased = ".lease:00000000001:q"};
    rights_read(&rights, role, "new");
    rights_give(s, user, &rights, NULL);
    connect_as(c, user, "new");
}

/* It may write nothing, so the namespace has no format. */
static void a_viewer_of_a_new_namespace_looks_at_it_all_the_same(void **state)
{
    struct scene *s = *state;
    struct caller c;
    begin_new(&c, s, "viewer", "viewer");
    for (size_t i = 0; i < N_OF(calls); i++) {
        const bool may = strchr(calls[i].roles, 'v');
        int err = call_one(&c, &calls[i], "viewer", LONG_MS);
        if ((err == MUSTER_E_DENIED) == may)
            fail_msg("%s: %s: %s", calls[i].name, muster_err_name(err), c.words);
        assert_sound(&c, calls[i].name, "viewer", true);
    }
    leave(&c);
}

static void every_call_answers_in_words_when_a_right_is_taken_away(void **state)
{
    struct caller *c = begin(*state);
    struct rights all;
    rights_read(&all, "muster", c->scene->prefix);
    connect_as(c, "u", c->scene->prefix);
    assert_sound(c, "nothing", "all rights", false);
    for (size_t i = 0; i < all.n; i++) {
        if (strcmp(all.words[i], "resetchannels") == 0 || strcmp(all.words[i], "-@all") == 0)
            continue;
        rights_give(c->scene, "u", &all, all.words[i]);
        for (size_t k = 0; k < N_OF(calls); k++) {
            script_world_restore(&c->world);
            (void)call_one(c, &calls[k], all.words[i], 1);
        }
        rights_give(c->scene, "u", &all, NULL);
        assert_sound(c, "all calls", all.words[i], false);
    }
    end(c);
}

static void every_call_answers_in_words_on_a_full_redis(void **state)
{
    struct caller *c = begin(*state);
    struct redisContext *redis = c->scene->server->redis;
    connect_as(c, "u", c->scene->prefix);
    for (size_t i = 0; i < N_OF(calls); i++) {
        raw_do(redis, "CONFIG SET maxmemory 0");
        script_world_restore(&c->world);
        raw_do(redis, "CONFIG SET maxmemory 1");
        (void)call_one(c, &calls[i], "full", 1);
        assert_sound(c, calls[i].name, "full", false);
    }
    raw_do(redis, "CONFIG SET maxmemory 0");
    end(c);
}

/* So nobody can write down the format, which comes before all that writes. */
static void every_call_answers_in_words_in_a_new_namespace_on_a_full_redis(void **state)
{
    struct scene *s = *state;
    struct caller c;
    raw_do(s->server->redis, "CONFIG SET maxmemory 1");
    begin_new(&c, s, "u", "muster");
    for (size_t i = 0; i < N_OF(calls); i++) {
        const bool reads = strchr(calls[i].roles, 'v');
        int err = call_one(&c, &calls[i], "full and new", 1);
        if ((err == MUSTER_E_FULL) == reads)
            fail_msg("%s: %s: %s", calls[i].name, muster_err_name(err), c.words);
        assert_sound(&c, calls[i].name, "full and new", true);
    }
    raw_do(s->server->redis, "CONFIG SET maxmemory 0");
    leave(&c);
}

static bool somebody_hears(void *arg)
{
    const struct caller *c = arg;
    char *list = raw_string(c->scene->server->redis, "CLIENT LIST TYPE pubsub");
    const bool hears = strstr(list, " user=u ");
    free(list);
    return hears;
}

static void a_take_that_waits_is_told_when_its_rights_go(void **state)
{
    static const char *const losses[] = {"resetchannels", "-@scripting", "-@all"};
    struct caller *c = begin(*state);
    for (size_t i = 0; i < N_OF(losses); i++) {
        struct rights all;
        rights_read(&all, "muster", c->scene->prefix);
        rights_give(c->scene, "u", &all, NULL);
        connect_as(c, "u", c->scene->prefix);
        assert_ok(muster_async_take(c->async, "none", 1, 1000, LONG_MS, NULL, NULL));
        wait_until(somebody_hears, c, SOON_MS);
        raw_do(c->scene->server->redis, "ACL SETUSER u %s", losses[i]);
        int err = answer_of(c, "take", losses[i], NULL);
        if (err != MUSTER_E_DENIED)
            fail_msg("%s: %s: %s", losses[i], muster_err_name(err), c->words);
        leave(c);
    }
    end(c);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(every_call_answers_every_role_in_words),
        live_test(a_viewer_of_a_new_namespace_looks_at_it_all_the_same),
        live_test(every_call_answers_in_words_when_a_right_is_taken_away),
        live_test(every_call_answers_in_words_on_a_full_redis),
        live_test(every_call_answers_in_words_in_a_new_namespace_on_a_full_redis),
        live_test(a_take_that_waits_is_told_when_its_rights_go),
    };
    return scene_run(tests, argc, argv);
}
