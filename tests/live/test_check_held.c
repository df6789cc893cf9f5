/* SPDX-License-Identifier: MIT
 *
 * A check ends, whatever a server says about where it is to go on.
 */
#include <stdio.h>
#include <string.h>

#include "hostile_server.h"
#include "protocol/lua_scripts.h"
#include "scene.h"

static int count(const struct muster_damage *damage, void *arg)
{
    (void)damage;
    ++*(int *)arg;
    return 0;
}

static int check_answered(struct scene *s, const char *answer, int repair, int *n, char why[200])
{
    struct muster_client *c;
    struct hostile_server hostile = {.pid = 0};
    hostile_server_start(&hostile, s->server->dir,
                         &(struct hostile_spec){.relay_to = s->server->socket,
                                                .constant = answer,
                                                .only = lua_scripts[SCRIPT_CHECK_IDLE].sha1});
    assert_ok(muster_client_new(&c, &(struct muster_client_options){.size = sizeof(struct muster_client_options),
                                                                    .url = hostile.url,
                                                                    .prefix = s->prefix}));
    *n = 0;
    int err = muster_client_check(c, repair, count, n);
    snprintf(why, 200, "%s", muster_client_error(c));
    muster_client_free(c);
    hostile_server_stop(&hostile);
    return err;
}

#define FIND "$1\r\nk\r\n$1\r\nw\r\n:1\r\n"

static void a_page_that_leads_nowhere_ends_the_check(void **state)
{
    static const struct {
        const char *answer;
        int repair;
        const char *why;
    } cases[] = {
        {"*5\r\n:0\r\n:0\r\n" FIND, 0, "at a place that is none"},
        {"*2\r\n:0\r\n:7\r\n", 1, "at a place that is none"},
        {"*5\r\n:0\r\n:101\r\n" FIND, 1, "at a place that is none"},
        {"*5\r\n:0\r\n:0\r\n" FIND, 1, "very often: do it again"},
    };
    struct scene *s = *state;
    scene_enqueue(s, "q", "t");
    for (size_t i = 0; i < N_OF(cases); i++) {
        int n;
        char why[200];
        assert_err(check_answered(s, cases[i].answer, cases[i].repair, &n, why), MUSTER_E_REDIS);
        if (!strstr(why, cases[i].why))
            fail_msg("case %zu: %s", i, why);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_page_that_leads_nowhere_ends_the_check),
    };
    return scene_run(tests, argc, argv);
}
