/* SPDX-License-Identifier: MIT
 *
 * A server that goes away while a list is asked for is told as that, whatever it has said of its limits before.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/lua_scripts.h"
#include "proxy.h"
#include "scene.h"

static int count(const struct muster_task *task, void *n)
{
    (void)task;
    ++*(int *)n;
    return 0;
}

/* The script has had no answer, and the limits were asked for: what comes next makes a new connection. */
static void refuse(enum muster_log_level level, const char *line, void *arg)
{
    if (level == MUSTER_LOG_DEBUG && strstr(line, "heads: no answer"))
        proxy_refuse(arg);
}

static void a_server_that_goes_away_is_no_limit(void **state)
{
    struct scene *s = *state;
    struct proxy p;
    struct muster_client *c;
    char url[200];
    int n = 0;
    scene_enqueue_n(s, "q", "t", 3);
    proxy_start(&p, s->server->dir, s->server->socket);
    raw_do(s->server->redis, "ACL SETUSER no-config reset on >secret ~* &* +@all -config");
    snprintf(url, sizeof url, "unix://no-config:secret@%s", p.socket);
    assert_ok(muster_client_new(&c, &(struct muster_client_options){.size = sizeof(struct muster_client_options),
                                                                    .url = url,
                                                                    .prefix = s->prefix}));
    assert_ok(muster_task_peek(c, "q", 0, 3, count, &n));
    proxy_trap(&p, lua_scripts[SCRIPT_HEADS].sha1, PROXY_REQUESTS);
    muster_log_set(refuse, &p);
    int err = muster_task_peek(c, "q", 0, 3, count, &n);
    muster_log_set(muster_log_silent, NULL);
    assert_int_equal(proxy_count(&p).trapped, 1);
    assert_err(err, MUSTER_E_CONN);
    proxy_accept(&p);
    assert_ok(muster_task_peek(c, "q", 0, 3, count, &n));
    assert_int_equal(n, 6);
    muster_client_free(c);
    proxy_stop(&p);
    raw_do(s->server->redis, "ACL DELUSER no-config");
}

/* ---- in the middle of a page ---- */

/* More than come in one answer. */
enum { N_LONG = 8 };

static void enqueue_long(struct scene *s)
{
    static char bytes[MUSTER_HEAD_MAX];
    for (int i = 0; i < N_LONG; i++) {
        bytes[0] = (char)('a' + i);
        assert_ok(muster_task_enqueue(s->client, "q", bytes, sizeof bytes, NULL));
    }
}

static int see_place(const struct muster_task *task, void *n)
{
    assert_int_equal(*(const char *)task->data, 'a' + (int)task->position);
    ++*(int *)n;
    return 0;
}

/* The first answer has come. */
static void cut(enum muster_log_level level, const char *line, void *arg)
{
    if (level == MUSTER_LOG_DEBUG && strstr(line, "heads: "))
        proxy_trap(arg, lua_scripts[SCRIPT_HEADS].sha1, PROXY_REPLIES);
}

static void what_is_shown_of_a_page_that_breaks_off_has_its_place(void **state)
{
    struct scene *s = *state;
    struct proxy p;
    struct muster_client *c;
    int n = 0;
    enqueue_long(s);
    proxy_start(&p, s->server->dir, s->server->socket);
    assert_ok(muster_client_new(&c, &(struct muster_client_options){.size = sizeof(struct muster_client_options),
                                                                    .url = p.url,
                                                                    .prefix = s->prefix}));
    assert_ok(muster_task_peek(c, "q", 0, N_LONG, see_place, &n));
    assert_int_equal(n, N_LONG);
    muster_log_set(cut, &p);
    int err = muster_task_peek(c, "q", 0, N_LONG, see_place, &n);
    muster_log_set(muster_log_silent, NULL);
    assert_err(err, MUSTER_E_CONN);
    assert_in_range(proxy_count(&p).trapped, 1, 2);
    muster_client_free(c);
    proxy_stop(&p);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_server_that_goes_away_is_no_limit),
        live_test(what_is_shown_of_a_page_that_breaks_off_has_its_place),
    };
    setenv("MUSTER_TRACE", "script", 1); /* what a script was answered is told */
    muster_log_set(muster_log_silent, NULL);
    return scene_run(tests, argc, argv);
}
