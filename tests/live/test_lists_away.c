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

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {live_test(a_server_that_goes_away_is_no_limit)};
    setenv("MUSTER_TRACE", "script", 1); /* what a script was answered is told */
    muster_log_set(muster_log_silent, NULL);
    return scene_run(tests, argc, argv);
}
