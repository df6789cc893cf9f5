/* SPDX-License-Identifier: MIT
 *
 * One key has a wrong type, each in turn. A call that fails because of it names it: Redis does not. A call that asks for
 * one thing alone fails by each key that it reads.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blocking_calls.h"
#include "script_world.h"

/* By the key; or by what it is about, as the record of a job. */
static void assert_named(struct scene *s, const char *key, const struct blocking_call *call, const char *process)
{
    char what[256];
    int err = call->run(s->client, process);
    const char *words = muster_client_error(s->client);
    snprintf(what, sizeof what, " '%s' cannot be read", strrchr(key, ':') + 1);
    if (err == MUSTER_E_REDIS && !strstr(words, key) && !strstr(words, what))
        fail_msg("%s with %s of a wrong type says: %s", call->name, key, words);
}

static const char damage[] = "local is_text = redis.call('TYPE', KEYS[1]).ok == 'string'\n"
                             "redis.call('DEL', KEYS[1])\n"
                             "redis.call(is_text and 'SADD' or 'SET', KEYS[1], 'x')";

static void whoever_meets_a_key_of_a_wrong_type_names_it(void **state)
{
    struct scene *s = *state;
    struct script_world world;
    script_world_make(&world, s);
    script_world_keep(&world);
    char *all = raw_string(
        s->server->redis, "EVAL %s 1 %s:",
        "return table.concat(redis.call('SCAN', 0, 'COUNT', 100000, 'MATCH', KEYS[1] .. '*')[2], '\\n')", s->prefix);
    int n = 0;
    for (char *rest = all, *key; (key = strsep(&rest, "\n")) != NULL; n++) {
        for (size_t i = 0; i < n_blocking_calls; i++) {
            if (strcmp(blocking_calls[i].name, "muster_client_advise") == 0)
                continue; /* what it looks at is the server */
            script_world_restore(&world);
            raw_do(s->server->redis, "EVAL %s 1 %s", damage, key);
            assert_named(s, key, &blocking_calls[i], world.process);
        }
    }
    assert_true(n > 50);
    free(all);
    script_world_end(&world);
}

/* ---- what is asked for alone ---- */

#define LINE "queues:q waiting:q returned:q"
/* The keys that a call reads of what it was asked for. */
static const struct {
    const char *call, *keys;
} alone[] = {
    {"muster_queue_length", LINE},
    {"muster_queue_get", LINE " names queue:q delayed:q failed:q failures:q idle:q scheduled:q depends:q recurring:q "
                              "complete:q held:q"},
    {"muster_task_peek", LINE},
    {"muster_task_peek_delayed", "delayed:q"},
    {"muster_failed_list", "failed:q"},
    {"muster_job_counts", "failures:q scheduled:q depends:q waiting:q running:q complete:q recurring:q held:q"},
    {"muster_job_get", "job:waiting job:leased"},
    {"muster_job_peek", "job:waiting job:leased"},
    {"muster_job_parents", "job:depends job:held"},
    {"muster_config_get", "config queue:q"},
    {"muster_batch_get", "batch:batch batches"},
};

static const struct blocking_call *call_of(const char *name)
{
    size_t i = 0;
    while (i < n_blocking_calls && strcmp(blocking_calls[i].name, name) != 0)
        i++;
    assert_in_range(i, 0, n_blocking_calls - 1);
    return &blocking_calls[i];
}

static void what_is_asked_for_alone_is_not_told_without_a_key_of_a_wrong_type(void **state)
{
    struct scene *s = *state;
    struct script_world world;
    script_world_make(&world, s);
    script_world_keep(&world);
    for (size_t i = 0; i < N_OF(alone); i++) {
        const struct blocking_call *call = call_of(alone[i].call);
        char all[256];
        snprintf(all, sizeof all, "%s", alone[i].keys);
        assert_ok(call->run(s->client, world.process));
        for (char *rest = all, *name; (name = strsep(&rest, " ")) != NULL;) {
            char key[256];
            snprintf(key, sizeof key, "%s:%s", s->prefix, name);
            script_world_restore(&world);
            raw_do(s->server->redis, "EVAL %s 1 %s", damage, key);
            int err = call->run(s->client, world.process);
            if (err != MUSTER_E_REDIS)
                fail_msg("%s with %s of a wrong type: %s", call->name, key, muster_err_name(err));
            assert_named(s, key, call, world.process);
        }
        script_world_restore(&world);
    }
    script_world_end(&world);
}

/* ---- who has it in work ---- */

static int note_leased(const struct muster_process_info *p, void *arg)
{
    int *n = arg;
    if (p->job && strcmp(p->job, "leased") == 0) {
        assert_int_equal(p->len, 0);
        assert_int_equal(p->whole_len, 0);
        ++*n;
    }
    return 0;
}

static void a_process_has_no_bytes_if_the_record_of_its_job_has_a_wrong_type(void **state)
{
    struct scene *s = *state;
    struct script_world world;
    struct muster_client *viewer;
    char url[300];
    int n = 0;
    script_world_make(&world, s);
    raw_do(s->server->redis, "EVAL %s 1 %s:job:leased", damage, s->prefix);
    raw_do(s->server->redis, "ACL SETUSER viewer on >pw ~* &* +@read +hello +select +auth -@write");
    snprintf(url, sizeof url, "unix://viewer:pw@%s", s->server->socket);
    assert_ok(muster_client_new(&viewer, &(struct muster_client_options){.size = sizeof(struct muster_client_options),
                                                                         .url = url,
                                                                         .prefix = s->prefix}));
    assert_ok(muster_process_list(s->client, NULL, note_leased, &n));
    assert_int_equal(n, 1);
    assert_ok(muster_process_list(viewer, NULL, note_leased, &n));
    assert_int_equal(n, 2);
    muster_client_free(viewer);
    raw_do(s->server->redis, "ACL DELUSER viewer");
    script_world_end(&world);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {live_test(whoever_meets_a_key_of_a_wrong_type_names_it),
                                       live_test(what_is_asked_for_alone_is_not_told_without_a_key_of_a_wrong_type),
                                       live_test(a_process_has_no_bytes_if_the_record_of_its_job_has_a_wrong_type)};
    return scene_run(tests, argc, argv);
}
