/* SPDX-License-Identifier: MIT
 *
 * The blocking client without a Redis: which options it takes, and what is refused before anything is sent. Nobody
 * listens where it would connect, so whatever did reach for Redis answers E_CONN.
 */
#include "client/client.h"

#include <hiredis/hiredis.h>
#include <muster/job.h>
#include <stdlib.h>
#include <string.h>

#include "testing.h"

static struct redisContext not_used;

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

static void bad_options_make_no_client_and_are_told_in_words(void **state)
{
    const size_t size = sizeof(struct muster_client_options);
    const struct {
        struct muster_client_options o;
        const char *words;
    } bad[] = {
        {{.size = size, .url = ""}, "url: a URL must begin with"},
        {{.size = size, .url = "redis://h?tls_ca=x"}, "url: tls_ca needs TLS"},
        {{.size = size, .url = "redis://u:secret@h:0"}, "url: the URL's port must be"},
        {{.size = size, .url = NOWHERE, .tls_ca = "x"}, "tls_ca needs TLS"},
        {{.size = size, .url = "redis://:secret@h", .password = "secret"}, "a password in the URL already"},
        {{.size = size, .redis = &not_used, .password = "secret"}, "on a connection that is handed in"},
        {{.size = size, .prefix = ""}, "prefix is '': "},
        {{.size = size, .prefix = "a:b"}, "prefix is 'a:b': "},
        {{.size = size, .prefix = "a\x1b[1m"}, "prefix is 'a?[1m': "},
        {{.size = size, .prefix = ".a"}, "prefix is '.a': "},
        {{.size = size, .prefix = "12345678901234567890123456789012345678901234567890123456789012345"},
         "prefix is '123"},
        {{.size = size, .timeout_ms = -1}, "timeout_ms is -1; it must be 1 to 86400000"},
        {{.size = size, .timeout_ms = DAY_MS + 1}, "timeout_ms is 86400001; it must be 1 to 86400000"},
        {{.size = size, .max_task_len = MUSTER_TASK_MAX + 1}, "max_task_len is 536870913; it must be 1 to 536870912"},
        {{.size = size, .max_task_len = SIZE_MAX}, "max_task_len is 18446744073709551615; it must be"},
        {{.timeout_ms = 1}, "`size` of a struct muster_client_options is 0"},
    };
    (void)state;
    for (size_t i = 0; i < N_OF(bad); i++) {
        struct muster_client *c = (struct muster_client *)&bad[i];
        int err = muster_client_new(&c, &bad[i].o);
        const char *why = muster_client_options_check(&bad[i].o);
        if (err != MUSTER_E_INVALID || c || !why || !strstr(why, bad[i].words) || strstr(why, "secret"))
            fail_msg("options %zu: %s: %s, not %s", i, muster_err_name(err), why ? why : "nothing wrong", bad[i].words);
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
        assert_null(muster_client_options_check(&good[i]));
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

/* ---- the environment ---- */

static int forget_environment(void **state)
{
    (void)state;
    return unsetenv("MUSTER_URL") || unsetenv("MUSTER_PREFIX");
}

static void assert_connects_to(const struct muster_client_options *o, const char *where, const char *prefix)
{
    struct muster_client *c;
    uint64_t n;
    assert_null(muster_client_options_check(o));
    assert_ok(muster_client_new(&c, o));
    assert_err(muster_queue_length(c, "q", &n), MUSTER_E_CONN);
    if (!strstr(muster_client_error(c), where))
        fail_msg("not %s: %s", where, muster_client_error(c));
    assert_string_equal(c->prefix, prefix);
    muster_client_free(c);
}

static void an_option_counts_before_the_environment(void **state)
{
    const struct muster_client_options none = {.size = sizeof none};
    const struct muster_client_options both = {.size = sizeof both, .url = "unix:///nonexistent/option", .prefix = "o"};
    (void)state;
    assert_return_code(setenv("MUSTER_URL", "unix:///nonexistent/environment", 1), 0);
    assert_return_code(setenv("MUSTER_PREFIX", "e", 1), 0);
    assert_connects_to(NULL, "/nonexistent/environment", "e");
    assert_connects_to(&none, "/nonexistent/environment", "e");
    assert_connects_to(&both, "/nonexistent/option", "o");
}

static void an_empty_variable_counts_as_none(void **state)
{
    struct muster_client *c;
    (void)state;
    assert_return_code(setenv("MUSTER_URL", "", 1), 0);
    assert_return_code(setenv("MUSTER_PREFIX", "", 1), 0);
    assert_null(muster_client_options_check(NULL));
    assert_ok(muster_client_new(&c, NULL));
    assert_string_equal(c->prefix, "muster");
    muster_client_free(c);
}

static void a_wrong_variable_is_told_by_its_name(void **state)
{
    struct muster_client *c;
    (void)state;
    assert_return_code(setenv("MUSTER_URL", "redis://u:secret@", 1), 0);
    assert_err(muster_client_new(&c, NULL), MUSTER_E_INVALID);
    assert_non_null(strstr(muster_client_options_check(NULL), "MUSTER_URL: the URL has no host"));
    assert_null(strstr(muster_client_options_check(NULL), "secret"));
    assert_return_code(setenv("MUSTER_PREFIX", "a:b", 1), 0);
    assert_err(muster_client_new(&c, NULL), MUSTER_E_INVALID);
    assert_non_null(strstr(muster_client_options_check(NULL), "MUSTER_PREFIX is 'a:b': "));
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

/* ---- the spec of a job ---- */

static void a_bad_spec_is_told_in_words(void **state)
{
    const size_t size = sizeof(struct muster_job_spec);
    const char *const ids[] = {"a", ""};
    const struct {
        struct muster_job_spec s;
        const char *words;
    } bad[] = {
        {{.id = "j"}, "`size` of a struct muster_job_spec is 0"},
        {{.size = size, .id = ""}, "a job's id must not be empty"},
        {{.size = size, .data = {NULL, 1}}, "a length but no bytes"},
        {{.size = size, .retries = -1}, "a job's number of retries must be 0 to 1000000, not -1"},
        {{.size = size, .delay_ms = -5}, "a job's delay must be 0 to 316224000000, not -5"},
        {{.size = size, .every_ms = 999}, "a recurring job's interval, in ms, must be 1000 to "},
        {{.size = size, .backlog = 1}, "for a recurring job"},
        {{.size = size, .tags = ids, .n_tags = 2}, "a tag must not be empty"},
        {{.size = size, .after = ids, .n_after = 2}, "a job's id must not be empty"},
        {{.size = size, .n_after = MUSTER_JOB_AFTER_MAX + 1}, "1001 jobs to wait for are over the limit of 1000"},
        {{.size = size, .backoff = &(struct muster_backoff){.jitter_percent = 101}},
         "a backoff's jitter must be 0 to 100"},
    };
    struct muster_client *c = new_client(0);
    (void)state;
    for (size_t i = 0; i < N_OF(bad); i++) {
        const char *why = muster_job_spec_check(&bad[i].s);
        if (!why || !strstr(why, bad[i].words))
            fail_msg("spec %zu: %s, not %s", i, why ? why : "nothing wrong", bad[i].words);
        int err = muster_job_put(c, "q", &bad[i].s, NULL);
        assert_true(err == MUSTER_E_INVALID || err == MUSTER_E_TOO_BIG);
        assert_non_null(strstr(muster_client_error(c), bad[i].words));
    }
    assert_non_null(muster_job_spec_check(NULL));
    assert_null(muster_job_spec_check(&(struct muster_job_spec){.size = size}));
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
        cmocka_unit_test(bad_options_make_no_client_and_are_told_in_words),
        cmocka_unit_test(options_at_their_limits_make_one),
        cmocka_unit_test(without_options_all_is_default),
        cmocka_unit_test(options_of_a_later_version_are_read),
        cmocka_unit_test_teardown(an_option_counts_before_the_environment, forget_environment),
        cmocka_unit_test_teardown(an_empty_variable_counts_as_none, forget_environment),
        cmocka_unit_test_teardown(a_wrong_variable_is_told_by_its_name, forget_environment),
        cmocka_unit_test(strings_are_copied),
        cmocka_unit_test(a_bad_spec_is_told_in_words),
        cmocka_unit_test(bad_names_are_refused_before_connecting),
        cmocka_unit_test(bad_tasks_are_refused_before_connecting),
    };
    return testing_run(tests, forget_environment, NULL, argc, argv);
}
