/* SPDX-License-Identifier: MIT
 *
 * What a listener hears, as lines.
 */
#include "hearing.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void hearing_open(struct hearing *h, struct scene *s, const char *url, int timeout_ms,
                  const struct muster_listener_options *o)
{
    const struct muster_client_options client = {
        .size = sizeof client, .url = url ? url : s->server->url, .prefix = s->prefix, .timeout_ms = timeout_ms};
    struct muster_listener_options options = {.size = sizeof options};
    if (o)
        options = *o;
    options.client = &client;
    *h = (struct hearing){.n = 0};
    assert_ok(muster_listener_new(&h->listener, &options));
    hearing_forget(h);
}

void hearing_close(struct hearing *h)
{
    muster_listener_free(h->listener);
    free(h->lines);
    *h = (struct hearing){.n = 0};
}

void hearing_add(struct hearing *h, const char *queue, int kinds)
{
    assert_ok(muster_listener_add(h->listener, queue, kinds));
}

void hearing_forget(struct hearing *h)
{
    if (!h->lines) {
        h->cap = 1024;
        h->lines = malloc(h->cap);
    }
    h->len = h->n = 0;
    h->lines[0] = '\0';
}

static void add_bytes(struct hearing *h, const char *bytes, size_t len)
{
    while (h->len + 4 * len + 2 > h->cap)
        h->lines = realloc(h->lines, h->cap *= 2);
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (c > 0x20 && c < 0x7f && c != '\\')
            h->lines[h->len++] = (char)c;
        else
            h->len += (size_t)sprintf(h->lines + h->len, "\\%02x", c);
    }
    h->lines[h->len] = '\0';
}

static void add_word(struct hearing *h, const char *word)
{
    if (h->len > 0 && h->lines[h->len - 1] != '\n')
        h->lines[h->len++] = ' ';
    h->lines[h->len] = '\0';
    add_bytes(h, word, strlen(word));
}

static void add_end(struct hearing *h)
{
    h->lines[h->len++] = '\n';
    h->lines[h->len] = '\0';
    h->n++;
}

static void add_task(struct hearing *h, const void *task, size_t len)
{
    add_word(h, "");
    add_bytes(h, task, len);
}

static void note(struct hearing *h, const struct muster_heard *e)
{
    static const char *const names[] = {
        [MUSTER_HEARD_READY] = "ready",         [MUSTER_HEARD_GAP] = "gap",         [MUSTER_HEARD_DONE] = "done",
        [MUSTER_HEARD_CANCELLED] = "cancelled", [MUSTER_HEARD_DELETED] = "deleted", [MUSTER_HEARD_JOB] = "job"};
    assert_in_range(e->type, MUSTER_HEARD_READY, MUSTER_HEARD_JOB);
    add_word(h, names[e->type]);
    add_word(h, e->queue ? e->queue : "*");
    if (e->type == MUSTER_HEARD_GAP) {
        add_word(h, muster_err_name(e->err));
        assert_non_null(e->text);
        snprintf(h->last_text, sizeof h->last_text, "%s", e->text);
    }
    if (e->worker)
        add_word(h, e->worker);
    if (e->task)
        add_task(h, e->task, e->len);
    if (e->result) {
        add_word(h, "=");
        add_task(h, e->result->data, e->result->len);
    }
    if (e->job) {
        add_word(h, e->job->what);
        add_word(h, e->job->id);
    }
    add_end(h);
}

size_t hearing_take(struct hearing *h)
{
    struct muster_heard heard[7];
    size_t n, all = 0;
    heard[0].size = sizeof heard[0];
    while ((n = muster_listener_next(h->listener, heard, N_OF(heard))) > 0) {
        for (size_t i = 0; i < n; i++)
            note(h, &heard[i]);
        all += n;
    }
    return all;
}

size_t hearing_count(const struct hearing *h, const char *line)
{
    size_t n = 0, len = strlen(line);
    for (const char *at = h->lines; *at; at = strchr(at, '\n') + 1)
        n += strncmp(at, line, len) == 0 && at[len] == '\n';
    return n;
}

void hearing_await_within(struct hearing *h, const char *line, size_t times, int ms)
{
    struct pollfd p = {.fd = muster_listener_fd(h->listener), .events = POLLIN};
    const int64_t until_ms = now_ms() + ms;
    while (hearing_count(h, line) < times) {
        if (now_ms() > until_ms)
            fail_msg("'%s' was not heard %zu times, but:\n%s", line, times, h->lines);
        if (poll(&p, 1, 50) > 0)
            assert_int_not_equal(hearing_take(h), 0); /* readable, so there is something */
    }
}

void hearing_await(struct hearing *h, const char *line, size_t times)
{
    hearing_await_within(h, line, times, SOON_MS);
}

void hearing_assert(struct hearing *h, const char *lines)
{
    hearing_take(h);
    assert_string_equal(h->lines, lines);
    hearing_forget(h);
}
