/* SPDX-License-Identifier: MIT
 *
 * Names of queues and prefixes: which are allowed, and that no two of them ever meet in one key.
 */
#include <stdio.h>
#include <string.h>

#include "scene.h"

/* Each of them could be taken for a part of another key, a pattern, or two arguments. */
static const char *const odd_names[] = {
    "a",        "a:b",        "b", "*",  "a*", "?",  "[ab]", "{a}",      "{a}:b",   " ",      "a b",
    "%s",       "\"quoted\"", "'", "\\", "$1", "-1", "+inf", "queues:a", "queue:a", "idle:a", "\xc3\xa9t\xc3\xa9",
    "\xff\xfe",
};

static void each_name_is_a_queue_of_its_own(void **state)
{
    struct scene *s = *state;
    for (size_t i = 0; i < N_OF(odd_names); i++)
        for (size_t k = 0; k <= i; k++)
            scene_enqueue(s, odd_names[i], "x");
    for (size_t i = 0; i < N_OF(odd_names); i++) {
        uint64_t waiting = 0;
        assert_null(muster_queue_check(odd_names[i]));
        assert_ok(muster_queue_length(s->client, odd_names[i], &waiting));
        assert_int_equal(waiting, i + 1);
    }
}

static int mark_known(const struct muster_queue_info *queue, void *arg)
{
    int *marks = arg;
    for (size_t i = 0; i < N_OF(odd_names); i++)
        marks[i] += !strcmp(odd_names[i], queue->name) && queue->waiting == 1;
    return 0;
}

static void each_name_is_listed_as_it_is(void **state)
{
    struct scene *s = *state;
    int marks[N_OF(odd_names)] = {0};
    for (size_t i = 0; i < N_OF(odd_names); i++)
        scene_enqueue(s, odd_names[i], "x");
    assert_ok(muster_queue_list(s->client, mark_known, marks));
    for (size_t i = 0; i < N_OF(odd_names); i++)
        assert_int_equal(marks[i], 1);
}

static void a_name_has_1_to_200_bytes(void **state)
{
    struct scene *s = *state;
    char name[202];
    memset(name, 'n', sizeof name);
    name[201] = '\0';
    int64_t before = redis_server_calls(s->server, NULL);
    assert_err(muster_task_enqueue(s->client, name, "x", 1, NULL), MUSTER_E_INVALID);
    assert_err(muster_task_enqueue(s->client, "", "x", 1, NULL), MUSTER_E_INVALID);
    assert_err(muster_queue_length(s->client, "", &(uint64_t){0}), MUSTER_E_INVALID);
    assert_int_equal(redis_server_calls(s->server, NULL), before);
    assert_non_null(muster_queue_check(name));
    assert_non_null(muster_queue_check(""));
    assert_non_null(muster_queue_check(NULL));
    name[200] = '\0';
    assert_null(muster_queue_check(name));
    scene_enqueue(s, name, "x");
}

static void a_name_has_no_control_bytes(void **state)
{
    struct scene *s = *state;
    for (int byte = 1; byte <= 0x7f; byte++) {
        if (byte >= 0x20 && byte < 0x7f)
            continue;
        const char name[] = {'a', (char)byte, 'b', '\0'};
        assert_non_null(muster_queue_check(name));
        assert_err(muster_task_enqueue(s->client, name, "x", 1, NULL), MUSTER_E_INVALID);
        assert_string_not_equal(muster_client_error(s->client), "");
    }
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:names", s->prefix), 0);
}

static void two_prefixes_do_not_meet(void **state)
{
    struct scene *s = *state;
    const char *prefixes[] = {"one", "one.two", "{one}", "{one}two", "one-", "ONE"};
    for (size_t i = 0; i < N_OF(prefixes); i++) {
        struct muster_client *c;
        const struct muster_client_options o = {.size = sizeof o, .url = s->server->url, .prefix = prefixes[i]};
        uint64_t waiting = 0;
        assert_ok(muster_client_new(&c, &o));
        int err = muster_task_enqueue(c, "q", "x", 1, &waiting);
        muster_client_free(c);
        assert_ok(err);
        assert_int_equal(waiting, 1);
        assert_int_equal(raw_int(s->server->redis, "LLEN %s:queues:q", prefixes[i]), 1);
    }
}

static void ids_and_prefixes_hold_few_characters(void **state)
{
    (void)state;
    char longest[MUSTER_WORKER_ID_MAX + 2];
    memset(longest, 'w', sizeof longest);
    longest[MUSTER_WORKER_ID_MAX + 1] = '\0';
    const char *bad[] = {NULL, "", ".a", "a:b", "a b", "a*", "a/b", "\xc3\xa9", "a\n", longest};
    const char *good[] = {"a", "A-Z_0.9", "-", "host-1-2"};
    for (size_t i = 0; i < N_OF(bad); i++) {
        assert_non_null(muster_worker_id_check(bad[i]));
        assert_non_null(muster_prefix_check(bad[i]));
    }
    for (size_t i = 0; i < N_OF(good); i++) {
        assert_null(muster_worker_id_check(good[i]));
        assert_null(muster_prefix_check(good[i]));
    }
    assert_null(muster_worker_id_check(longest + 1));
    assert_null(muster_prefix_check("{mail}"));
    assert_non_null(muster_worker_id_check("{mail}"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(each_name_is_a_queue_of_its_own), live_test(each_name_is_listed_as_it_is),
        live_test(a_name_has_1_to_200_bytes),       live_test(a_name_has_no_control_bytes),
        live_test(two_prefixes_do_not_meet),        live_test(ids_and_prefixes_hold_few_characters),
    };
    return scene_run(tests, argc, argv);
}
