/* SPDX-License-Identifier: MIT
 *
 * Random calls of the scripts that move batches.
 */
#include "random_batches.h"

#include "script_call.h"

const char *random_batch(struct random_world *w)
{
    static const char *const ids[] = {"b0", "b1", "b2"};
    return ids[random_draw(w, N_OF(ids))];
}

static int open_batch(struct random_world *w, const char *id)
{
    const char *args[16] = {id, random_draw(w, 3) ? "" : random_batch(w), "60000"};
    static const char *const followers[] = {"on_failure", "on_end", "on_complete"};
    int n = 3;
    for (size_t i = 0; i < N_OF(followers); i++)
        if (random_draw(w, 3))
            args[n++] = followers[i], args[n++] = random_queue(w);
    args[n] = NULL;
    return script_status(script_call_list(w->s, SCRIPT_OPEN_BATCH, args));
}

bool random_move_batch(struct random_world *w, struct random_effect *e)
{
    const char *id = random_batch(w);
    int what = random_draw(w, 10);
    if (what < 5) {
        int status = open_batch(w, id);
        assert_true(status == MUSTER_OK || status == MUSTER_E_EXISTS || status == MUSTER_E_NOT_FOUND ||
                    status == MUSTER_E_STATE);
        return status == MUSTER_OK;
    }
    e->completes = true; /* another batch may wait for its end */
    if (what < 9)
        return script_does(w->s, SCRIPT_CLOSE_BATCH, id) == MUSTER_OK;
    e->cancels_members = e->forgets = true;
    return script_does(w->s, SCRIPT_CANCEL_BATCH, id, "0") == MUSTER_OK;
}

bool random_forget_batch(struct random_world *w, struct random_effect *e)
{
    static const char lua[] = "local P, id = KEYS[1] .. ':', ARGV[1]\n"
                              "if redis.call('HGET', P .. 'batch:' .. id, 'state') ~= 'open' then return 0 end\n"
                              "redis.call('ZADD', P .. 'batches', 1000, id)\n"
                              "redis.call('ZADD', P .. 'due', 1000, '')\n"
                              "return 1";
    (void)e;
    return raw_int(w->s->server->redis, "EVAL %s 1 %s %s", lua, w->s->prefix, random_batch(w));
}

int random_batches_ended(struct random_world *w)
{
    return (int)raw_int(w->s->server->redis, "ZCARD %s:past", w->s->prefix);
}
