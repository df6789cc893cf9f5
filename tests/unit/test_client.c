/* SPDX-License-Identifier: MIT
 *
 * The blocking client without a Redis: which options it takes, and what is refused before anything is sent. Nobody
 * listens where it would connect, so whatever did reach for Redis answers E_CONN.
 */
#include "client/client.h"

#include <muster/client.h>
#include <string.h>

#include "testing.h"

#define NOWHERE "unix:///nonexistent/muster.sock"
#define DAY_MS (24 * 3600 * 1000)

static struct muster_client *new_client(size_t max_task_len)
{
    struct muster_client *c;
    const struct muster_client_options o = {.size = sizeof o, .url = NOWHERE, .max_task_len = max_task_len};
    assert_ok(muster_client_new(&c, &o));
    return c;
}

/* ---- options ---- */

static void bad_options_make_no_client(void **state)
{
    const size_t size = sizeof(struct muster_client_options);
    const struct muster_client_options bad[] = {
        {.size = size, .url = ""},
        {.size = size, .url = "rediss://h"},
        {.size = size, .url = "redis://h:0"},
        {.size = size, .prefix = ""},
        {.size = size, .prefix = "a:b"},
        {.size = size, .prefix = ".a"},
        {.size = size, .prefix = "12345678901234567890123456789012345678901234567890123456789012345"},
        {.size = size, .timeout_ms = -1},
        {.size = size, .timeout_ms = DAY_MS + 1},
        {.size = size, .max_task_len = MUSTER_TASK_MAX + 1},
        {.size = size, .max_task_len = SIZE_MAX},
    };
    (void)state;
    for (size_t i = 0; i < N_OF(bad); i++) {
        struct muster_client *c = (struct muster_client *)&bad[i];
        int err = muster_client_new(&c, &bad[i]);
        if (err != MUSTER_E_INVALID || c)
            fail_msg("options %zu: %s", i, muster_err_name(err));
    }
}

static void options_at_their_limits_make_one(void **state)
{
    const size_t size = sizeof(struct muster_client_options);
    const struct muster_client_options good[] = {
        {.size = size},
        {.size = size, .url = NOWHERE, .prefix = "{mail}", .timeout_ms = 1, .max_task_len = 1},
        {.size = size, .timeout_ms = DAY_MS, .max_task_len = MUSTER_TASK_MAX},
        {.size = size, .prefix = "1234567890123456789012345678901234567890123456789012345678901234"},
    };
    (void)state;
    for (size_t i = 0; i < N_OF(good); i++) {
        struct muster_client *c = NULL;
        assert_ok(muster_client_new(&c, &good[i]));
        assert_non_null(c);
        assert_string_equal(muster_client_error(c), "");
        muster_client_free(c);
    }
}

static void without_options_all_is_default(void **state)
{
    struct muster_client *c;
    (void)state;
    assert_ok(muster_client_new(&c, NULL));
    assert_string_equal(c->prefix, "muster");
    assert_string_equal(c->root.text, "muster:");
    assert_int_equal(c->max_task_len, MUSTER_TASK_MAX_DEFAULT);
    muster_client_free(c);
    muster_client_free(NULL);
}

/* A program that was compiled with a later, longer struct. */
static void options_of_a_later_version_are_read(void **state)
{
    const struct {
        struct muster_client_options o;
        int more[16];
    } later = {.o = {.size = sizeof later, .url = NOWHERE, .prefix = "p"}};
    struct muster_client *c;
    (void)state;
    assert_ok(muster_client_new(&c, &later.o));
    assert_string_equal(c->prefix, "p");
    muster_client_free(c);
}

static void strings_are_copied(void **state)
{
    char url[] = NOWHERE, prefix[] = "p";
    const struct muster_client_options o = {.size = sizeof o, .url = url, .prefix = prefix};
    struct muster_client *c;
    (void)state;
    assert_ok(muster_client_new(&c, &o));
    memset(url, 'x', sizeof url);
    memset(prefix, 'x', sizeof prefix);
    assert_string_equal(c->prefix, "p");
    assert_err(muster_task_enqueue(c, "q", "", 0, NULL), MUSTER_E_CONN);
    assert_non_null(strstr(muster_client_error(c), "/nonexistent/muster.sock"));
    muster_client_free(c);
}

/* ---- calls ---- */

static int see_nothing(const struct muster_process_info *process, void *arg)
{
    (void)process, (void)arg;
    return 0;
}

static int peek_nothing(const struct muster_task *task, void *arg)
{
    (void)task, (void)arg;
    return 0;
}

static void bad_names_are_refused_before_connecting(void **state)
{
    const size_t size = sizeof(struct muster_process_filter);
    struct muster_client *c = new_client(0);
    uint64_t waiting = 7;
    (void)state;
    assert_err(muster_task_enqueue(c, "", "x", 1, &waiting), MUSTER_E_INVALID);
    assert_int_equal(waiting, 0);
    assert_string_equal(muster_client_error(c), muster_queue_check(""));
    assert_err(muster_task_enqueue(c, NULL, "x", 1, NULL), MUSTER_E_INVALID);
    assert_err(muster_task_enqueue_many(c, "a\n", NULL, 0, NULL, NULL), MUSTER_E_INVALID);
    assert_err(muster_queue_length(c, "\x7f", &waiting), MUSTER_E_INVALID);
    assert_err(muster_task_peek(c, "", 0, 1, peek_nothing, NULL), MUSTER_E_INVALID);
    assert_err(muster_process_list(c, &(struct muster_process_filter){.size = size, .queue = ""}, see_nothing, NULL),
               MUSTER_E_INVALID);
    assert_err(muster_process_list(c, &(struct muster_process_filter){.size = size, .worker = "."}, see_nothing, NULL),
               MUSTER_E_INVALID);
    muster_client_free(c);
}

static void bad_tasks_are_refused_before_connecting(void **state)
{
    const struct muster_bytes tasks[] = {{"x", 1}, {"1234", 4}};
    struct muster_client *c = new_client(3);
    (void)state;
    assert_err(muster_task_enqueue(c, "q", "1234", 4, NULL), MUSTER_E_TOO_BIG);
    assert_non_null(strstr(muster_client_error(c), "4 bytes"));
    assert_err(muster_task_enqueue_many(c, "q", tasks, N_OF(tasks), NULL, NULL), MUSTER_E_TOO_BIG);
    assert_err(muster_task_enqueue(c, "q", NULL, 1, NULL), MUSTER_E_INVALID);
    assert_err(muster_task_enqueue(c, "q", "123", 3, NULL), MUSTER_E_CONN);
    assert_err(muster_task_enqueue(c, "q", NULL, 0, NULL), MUSTER_E_CONN);
    muster_client_free(c);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_options_make_no_client),
        cmocka_unit_test(options_at_their_limits_make_one),
        cmocka_unit_test(without_options_all_is_default),
        cmocka_unit_test(options_of_a_later_version_are_read),
        cmocka_unit_test(strings_are_copied),
        cmocka_unit_test(bad_names_are_refused_before_connecting),
        cmocka_unit_test(bad_tasks_are_refused_before_connecting),
    };
    return testing_run(tests, NULL, NULL, argc, argv);
}
