/* SPDX-License-Identifier: MIT
 *
 * No interrupt is lost, and none ends two calls: each call that blocks is interrupted while it waits for each of its
 * answers in turn. It says E_INTERRUPTED, or the interrupt is there for the next call.
 */
#include <muster/job.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "blocking_calls.h"
#include "hostile_server.h"
#include "script_world.h"

struct stage {
    struct scene *scene;
    struct script_world world;
    struct hostile_server redis;
    struct muster_client *client;
};

static void begin(struct stage *t, struct scene *s, const char *parameters)
{
    char url[160];
    *t = (struct stage){.scene = s};
    script_world_make(&t->world, s);
    raw_do(s->server->redis, "HSET %s:queue:q listen 99999999999999", s->prefix); /* what is pushed is told */
    script_world_keep(&t->world);
    hostile_server_start(&t->redis, s->server->dir, &(struct hostile_spec){.relay_to = s->server->socket});
    snprintf(url, sizeof url, "%s%s", t->redis.url, parameters);
    const struct muster_client_options o = {.size = sizeof o, .url = url, .prefix = s->prefix};
    assert_ok(muster_client_new(&t->client, &o));
}

static void end(struct stage *t)
{
    muster_client_free(t->client);
    hostile_server_stop(&t->redis);
    script_world_end(&t->world);
}

struct flight {
    struct stage *stage;
    const struct blocking_call *call;
    uint64_t held_before;
    atomic_bool has_returned;
    int err;
};

static void *fly(void *arg)
{
    struct flight *f = arg;
    f->err = f->call->run(f->stage->client, f->stage->world.process);
    atomic_store(&f->has_returned, true);
    return NULL;
}

static bool is_held_or_over(void *arg)
{
    struct flight *f = arg;
    return f->stage->redis.counts->held > f->held_before || atomic_load(&f->has_returned);
}

/* Returns whether the call asks for so many. `refusal`: of what the call asks for just before that; "": it is none. */
static bool interrupt_one(struct stage *t, const struct blocking_call *call, uint64_t nth, const char *refusal)
{
    struct flight f = {.stage = t, .call = call, .held_before = t->redis.counts->held};
    pthread_t thread;
    script_world_restore(&t->world);
    snprintf(t->redis.counts->refusal, sizeof t->redis.counts->refusal, "%s", refusal);
    t->redis.counts->refuses_in = *refusal ? nth - 1 : 0;
    t->redis.counts->holds_in = nth;
    assert_int_equal(pthread_create(&thread, NULL, fly, &f), 0);
    wait_until(is_held_or_over, &f, SOON_MS);
    bool was_held = t->redis.counts->held > f.held_before;
    t->redis.counts->holds_in = t->redis.counts->refuses_in = 0;
    if (was_held)
        assert_ok(muster_client_interrupt(t->client));
    pthread_join(thread, NULL);
    int is_left = muster_client_interrupt_take_back(t->client);
    if (was_held && is_left == (f.err == MUSTER_E_INTERRUPTED))
        fail_msg("%s was interrupted at its answer %d, behind '%.20s': it says %s, and the interrupt is %s", call->name,
                 (int)nth, refusal, muster_err_name(f.err), is_left ? "still there" : "lost");
    return was_held;
}

/* Where the last enqueue has left tasks waiting, the next one goes plainly. */
static void make_busy(struct stage *t, const struct blocking_call *call)
{
    if (strcmp(call->name, "muster_task_enqueue") != 0)
        return;
    script_world_restore(&t->world);
    (void)call->run(t->client, t->world.process);
}

/* A list asks the same again and again. */
#define BEHIND_MAX 6

/* If there are refusals, also behind one of them, where that does not end the call. */
static void interrupt_each(struct scene *s, const char *parameters, const char *const *refusals, size_t n_refusals)
{
    static struct stage t;
    begin(&t, s, parameters);
    for (size_t i = 0; i < n_blocking_calls; i++) {
        const struct blocking_call *call = &blocking_calls[i];
        const uint64_t step = strcmp(call->name, "muster_client_advise") == 0 ? 8 : 1; /* it looks for a second */
        uint64_t nth = 1;
        for (make_busy(&t, call); interrupt_one(&t, call, nth, ""); nth += step)
            make_busy(&t, call);
        for (uint64_t behind = 2; n_refusals > 0 && behind < nth && behind <= BEHIND_MAX; behind += step) {
            make_busy(&t, call);
            (void)interrupt_one(&t, call, behind, refusals[behind % n_refusals]);
        }
    }
    end(&t);
}

static void no_interrupt_is_lost_in_any_call(void **state)
{
    interrupt_each(*state, "", NULL, 0);
}

static void none_is_lost_while_a_replica_is_asked(void **state)
{
    interrupt_each(*state, "?replicas=1,2000", NULL, 0);
}

static void none_is_lost_behind_a_refusal(void **state)
{
    static const char *const refusals[] = {"-WRONGTYPE no\r\n", "-NOPERM no\r\n"};
    interrupt_each(*state, "", refusals, N_OF(refusals));
}

/* More than one script lets go. */
#define WAITERS 1000

static void put_waiters(struct scene *s)
{
    static struct muster_job_spec specs[WAITERS + 1];
    static const struct muster_job_spec *all[WAITERS + 1];
    static const char *const first[] = {"first"};
    for (size_t i = 0; i <= WAITERS; i++) {
        specs[i] = (struct muster_job_spec){.size = sizeof *specs};
        all[i] = &specs[i];
        if (i == 0)
            specs[i].id = *first;
        else
            specs[i].after = first, specs[i].n_after = 1;
    }
    assert_ok(muster_job_put_many(s->client, "r", all, WAITERS + 1, NULL, NULL));
}

static int cancel_with_waiters(struct muster_client *c, const char *process)
{
    (void)process;
    return muster_job_cancel(c, (const char *const[]){"first"}, 1, 1, NULL, NULL);
}

static void none_is_lost_in_the_steps_of_a_cancel(void **state)
{
    static const struct blocking_call cancel = {"muster_job_cancel in steps", "", cancel_with_waiters};
    static struct stage t;
    begin(&t, *state, "");
    put_waiters(t.scene);
    script_world_keep(&t.world);
    uint64_t nth = 1;
    while (interrupt_one(&t, &cancel, nth, ""))
        nth++;
    assert_true(nth > 3); /* the first step, and some of the rest */
    end(&t);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(no_interrupt_is_lost_in_any_call),
        live_test(none_is_lost_while_a_replica_is_asked),
        live_test(none_is_lost_behind_a_refusal),
        live_test(none_is_lost_in_the_steps_of_a_cancel),
    };
    return scene_run(tests, argc, argv);
}
