/* SPDX-License-Identifier: MIT
 *
 * The answers to asynchronous calls. One list is open at a time.
 */
#include "answers.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

static struct answers *open_answers;

void answers_fn(const struct muster_answer *answer, void *arg)
{
    struct answers *as = open_answers;
    assert_true(answer->err <= 0 && answer->err > -(int)N_OF(as->counts));
    assert_non_null(answer->text);
    assert_int_equal(*answer->text != '\0', answer->err != MUSTER_OK);
    as->counts[-answer->err]++;
    as->last = (struct answer_row){.err = answer->err, .waiting = answer->waiting, .arg = arg};
    snprintf(as->last.text, sizeof as->last.text, "%s", answer->text);
    if (as->n < ANSWERS_MAX)
        as->rows[as->n] = as->last;
    as->n++;
}

void answers_open(struct answers *as, struct scene *s, const char *url, int timeout_ms,
                  const struct muster_async_options *o)
{
    const struct muster_client_options client = {
        .size = sizeof client, .url = url ? url : s->server->url, .prefix = s->prefix, .timeout_ms = timeout_ms};
    struct muster_async_options options = {.size = sizeof options};
    if (o)
        options = *o;
    options.client = &client;
    *as = (struct answers){.n = 0};
    assert_ok(muster_async_new(&as->async, &options));
    open_answers = as;
}

void answers_close(struct answers *as)
{
    muster_async_free(as->async);
    as->async = NULL;
}

void answers_enqueue(struct answers *as, const char *queue, const char *task, void *arg)
{
    assert_ok(muster_async_enqueue(as->async, queue, task, strlen(task), answers_fn, arg));
}

void answers_await(struct answers *as, size_t n)
{
    struct pollfd p = {.fd = muster_async_fd(as->async), .events = POLLIN};
    const int64_t until_ms = now_ms() + SOON_MS;
    while (as->n < n) {
        if (now_ms() > until_ms)
            fail_msg("%zu answers instead of %zu", as->n, n);
        if (poll(&p, 1, 100) > 0)
            assert_int_not_equal(muster_async_dispatch(as->async, 0), 0); /* readable, so there are some */
    }
    assert_int_equal(as->n, n);
}
