/* SPDX-License-Identifier: MIT
 *
 * The asynchronous client: putting jobs.
 */
#include <stdio.h>
#include <string.h>

#include "answers.h"
#include "job_look.h"
#include "protocol/lua_scripts.h"
#include "proxy.h"
#include "taken.h"

#define LONG_MS 20000

static char last_id[MUSTER_JOB_ID_MAX + 1];

static void keep_id(const struct muster_answer *answer, void *arg)
{
    assert_non_null(answer->id);
    snprintf(last_id, sizeof last_id, "%s", answer->id);
    answers_fn(answer, arg);
}

/* Its error becomes the return value. */
static int put(struct answers *as, const char *queue, const struct muster_job_spec *spec)
{
    assert_ok(muster_async_put(as->async, queue, spec, keep_id, NULL));
    answers_await(as, as->n + 1);
    return as->last.err;
}

static void a_job_is_put_with_all_that_its_spec_says(void **state)
{
    struct scene *s = *state;
    struct answers as;
    char data[] = "data", tag[] = "tag";
    answers_open(&as, s, NULL, 0, NULL);
    assert_err(put(&as, "q", JOB_SPEC(.id = "first")), MUSTER_OK);
    assert_string_equal(last_id, "first");
    struct muster_job_spec *spec = JOB_SPEC(.data = {data, 4}, .priority = 3, .retries = 7, .delay_ms = 3600000,
                                            .tags = (const char *const[]){tag}, .n_tags = 1);
    assert_ok(muster_async_put(as.async, "q", spec, keep_id, NULL));
    memset(data, 'x', 4);
    memset(tag, 'x', 3);
    answers_await(&as, 2);
    assert_int_equal(strlen(last_id), 32);
    assert_int_equal(raw_int(s->server->redis, "HGET %s:job:%s priority", s->prefix, last_id), 3);
    assert_int_equal(raw_int(s->server->redis, "HGET %s:job:%s retries", s->prefix, last_id), 7);
    char *text = raw_string(s->server->redis, "HMGET %s:job:%s data tags state", s->prefix, last_id);
    assert_string_equal(text, "data\ntag\nscheduled\n");
    free(text);
    answers_close(&as);
}

/* Redis gets them in this order, so a job may wait for the one before it. */
static void puts_and_enqueues_keep_their_order(void **state)
{
    struct scene *s = *state;
    struct answers as;
    answers_open(&as, s, NULL, 0, NULL);
    for (int i = 0; i < 50; i++) {
        char id[16], before[16];
        snprintf(id, sizeof id, "j%d", i);
        snprintf(before, sizeof before, "j%d", i - 1);
        const char *const after[] = {before};
        answers_enqueue(&as, "q", "t", NULL);
        assert_ok(
            muster_async_put(as.async, "q", JOB_SPEC(.id = id, .after = after, .n_after = i > 0), answers_fn, NULL));
    }
    answers_await(&as, 100);
    assert_int_equal(as.counts[0], 100);
    for (size_t i = 0; i < ANSWERS_MAX; i += 2)
        assert_int_equal(as.rows[i].waiting, i / 2 + 1 + (i > 0)); /* of the jobs only the first waits */
    answers_close(&as);
}

static void a_refusal_names_the_job_and_what_is_in_its_way(void **state)
{
    struct scene *s = *state;
    struct answers as;
    answers_open(&as, s, NULL, 0, NULL);
    assert_err(put(&as, "q", JOB_SPEC(.id = "j1")), MUSTER_OK);
    assert_err(put(&as, "q", JOB_SPEC(.id = "j1")), MUSTER_E_EXISTS);
    assert_non_null(strstr(as.last.text, "'j1'"));
    assert_non_null(strstr(as.last.text, "waiting"));
    assert_string_equal(last_id, "j1");
    const char *const nobody[] = {"nobody"};
    assert_err(put(&as, "q", JOB_SPEC(.id = "j2", .after = nobody, .n_after = 1)), MUSTER_E_NOT_FOUND);
    assert_non_null(strstr(as.last.text, "nobody"));
    assert_err(put(&as, "q", JOB_SPEC(.id = "j2", .batch = "none")), MUSTER_E_NOT_FOUND);
    assert_non_null(strstr(as.last.text, "'none' (any more): open it first"));
    raw_do(s->server->redis, "SET %s:job:odd x", s->prefix);
    assert_err(put(&as, "q", JOB_SPEC(.id = "odd")), MUSTER_E_REDIS);
    assert_non_null(strstr(as.last.text, ":job:odd"));
    raw_do(s->server->redis, "DEL %s:job:odd", s->prefix);
    answers_close(&as);
}

/* So the words are in one place, and tell the next step here, too. */
static void a_refusal_has_the_words_of_the_blocking_client(void **state)
{
    struct scene *s = *state;
    struct answers as;
    answers_open(&as, s, NULL, 0, NULL);
    assert_err(put(&as, "q", JOB_SPEC(.id = "j1")), MUSTER_OK);
    const char *const nobody[] = {"nobody"}, *const self[] = {"self"};
    const char *const first[] = {"j1"};
    assert_err(put(&as, "q", JOB_SPEC(.id = "later", .after = first, .n_after = 1)), MUSTER_OK);
    const struct muster_job_spec *const refused[] = {
        JOB_SPEC(.id = "j1"),
        JOB_SPEC(.id = "later"),
        JOB_SPEC(.id = "j2", .after = nobody, .n_after = 1),
        JOB_SPEC(.id = "j2", .after_failure = nobody, .n_after_failure = 1),
        JOB_SPEC(.id = "self", .after = self, .n_after = 1),
        JOB_SPEC(.id = "j2", .batch = "none"),
        JOB_SPEC(.id = "j2", .replace = 1),
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        int err = muster_job_put(s->client, "q", refused[i], NULL);
        assert_int_not_equal(err, MUSTER_OK);
        assert_err(put(&as, "q", refused[i]), err);
        assert_string_equal(as.last.text, muster_client_error(s->client));
    }
    answers_close(&as);
}

static void what_is_not_allowed_is_refused_at_the_call(void **state)
{
    struct scene *s = *state;
    struct answers as;
    answers_open(&as, s, NULL, 0, NULL);
    assert_err(muster_async_put(as.async, "", JOB_SPEC(.id = "j"), NULL, NULL), MUSTER_E_INVALID);
    assert_err(muster_async_put(as.async, "q", JOB_SPEC(.id = "\n"), NULL, NULL), MUSTER_E_INVALID);
    assert_err(muster_async_put(as.async, "q", JOB_SPEC(.cron = "* * * * *"), NULL, NULL), MUSTER_E_INVALID);
    assert_non_null(strstr(muster_async_error(as.async), "muster_job_put()"));
    assert_err(muster_async_put(as.async, "q", NULL, NULL, NULL), MUSTER_E_INVALID);
    assert_err(muster_async_put(as.async, "q", &(struct muster_job_spec){.id = "j"}, NULL, NULL), MUSTER_E_INVALID);
    assert_err(muster_async_put(as.async, "q", JOB_SPEC(.data = {"", MUSTER_TASK_MAX_DEFAULT + 1}), NULL, NULL),
               MUSTER_E_TOO_BIG);
    assert_ok(muster_async_wait(as.async, 0));
    answers_close(&as);
}

/* Whichever way of the two got lost: the same put again says whether it had been put. */
static void a_put_without_an_answer_is_safe_to_repeat(void **state)
{
    struct scene *s = *state;
    struct proxy proxy;
    struct answers as;
    proxy_start(&proxy, s->server->dir, s->server->socket);
    answers_open(&as, s, proxy.url, LONG_MS, NULL);
    proxy_trap(&proxy, "unheard", PROXY_REPLIES);
    assert_err(put(&as, "q", JOB_SPEC(.id = "unheard")), MUSTER_E_CONN);
    assert_err(put(&as, "q", JOB_SPEC(.id = "unheard")), MUSTER_E_EXISTS);
    proxy_trap(&proxy, "unsent", PROXY_REQUESTS);
    assert_err(put(&as, "q", JOB_SPEC(.id = "unsent")), MUSTER_E_CONN);
    assert_err(put(&as, "q", JOB_SPEC(.id = "unsent")), MUSTER_OK);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:waiting:q", s->prefix), 2);
    answers_close(&as);
    proxy_stop(&proxy);
}

/* A repetition that finds the job is not confirmed by being found. */
static void what_no_replica_has_is_put_and_unconfirmed_also_when_repeated(void **state)
{
    struct scene *s = *state;
    struct answers as;
    char url[160];
    snprintf(url, sizeof url, "%s?replicas=1,50", s->server->url);
    answers_open(&as, s, url, LONG_MS, NULL);
    assert_err(put(&as, "q", JOB_SPEC(.id = "j1")), MUSTER_E_UNCONFIRMED);
    assert_err(put(&as, "q", JOB_SPEC(.id = "j1")), MUSTER_E_UNCONFIRMED);
    assert_err(put(&as, "q", JOB_SPEC(.id = "j2", .batch = "none")), MUSTER_E_NOT_FOUND);
    answers_close(&as);
    answers_open(&as, s, NULL, LONG_MS, NULL);
    assert_err(put(&as, "q", JOB_SPEC(.id = "j1")), MUSTER_E_EXISTS);
    answers_close(&as);
}

static void scripts_that_redis_has_forgotten_are_sent_again(void **state)
{
    struct scene *s = *state;
    struct answers as;
    answers_open(&as, s, NULL, LONG_MS, NULL);
    for (int i = 0; i < 300; i++) {
        if (i % 50 == 25)
            raw_do(s->server->redis, "SCRIPT FLUSH");
        assert_ok(muster_async_put(as.async, "q", JOB_SPEC(.priority = i), answers_fn, NULL));
    }
    answers_await(&as, 300);
    assert_int_equal(as.counts[0], 300);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:waiting:q", s->prefix), 300);
    answers_close(&as);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_job_is_put_with_all_that_its_spec_says),
        live_test(puts_and_enqueues_keep_their_order),
        live_test(a_refusal_names_the_job_and_what_is_in_its_way),
        live_test(a_refusal_has_the_words_of_the_blocking_client),
        live_test(what_is_not_allowed_is_refused_at_the_call),
        live_test(a_put_without_an_answer_is_safe_to_repeat),
        live_test(what_no_replica_has_is_put_and_unconfirmed_also_when_repeated),
        live_test(scripts_that_redis_has_forgotten_are_sent_again),
    };
    return scene_run(tests, argc, argv);
}
