/* SPDX-License-Identifier: MIT
 *
 * One key has a wrong type, each in turn. A call that fails because of it names it: Redis does not.
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

static void whoever_meets_a_key_of_a_wrong_type_names_it(void **state)
{
    static const char damage[] = "local is_text = redis.call('TYPE', KEYS[1]).ok == 'string'\n"
                                 "redis.call('DEL', KEYS[1])\n"
                                 "redis.call(is_text and 'SADD' or 'SET', KEYS[1], 'x')";
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

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {live_test(whoever_meets_a_key_of_a_wrong_type_names_it)};
    return scene_run(tests, argc, argv);
}
