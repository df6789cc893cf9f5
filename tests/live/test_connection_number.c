/* SPDX-License-Identifier: MIT
 *
 * Late requests: what a dead connection still delivers, and a start that is sent twice. The scripts are called
 * directly, since no worker can be made to send what it sent long ago. doc/keys.md has the fields.
 *
 *   - A call with another connection number than the last one read back is refused and changes nothing.
 *   - A read-back raises the number and never lowers it; from then on the number before it is refused.
 *   - The same start again, by its nonce, is the same life. Another one is refused while that life lasts.
 *   - A call of an ended life is refused, whatever its number.
 */
#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "live_worker.h"
#include "script_call.h"

/* A script's status: the answer, or the first element of it. `args` are separated by blanks. */
static int status_of(struct scene *s, enum script_id id, const char *args, char *epoch)
{
    const char *argv[32] = {NULL};
    char words[400];
    int n = 0;
    snprintf(words, sizeof words, "%s", args);
    for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
        argv[n++] = word;
    redisReply *reply = script_call_list(s, id, argv);
    if (reply->type == REDIS_REPLY_ERROR)
        fail_msg("%s %s: %s", lua_scripts[id].name, args, reply->str);
    const redisReply *first = reply->type == REDIS_REPLY_ARRAY ? reply->element[0] : reply;
    assert_int_equal(first->type, REDIS_REPLY_INTEGER);
    int status = (int)first->integer;
    if (epoch && status == 0)
        snprintf(epoch, 12, "%s", reply->element[1]->str);
    freeReplyObject(reply);
    return status;
}

static int start(struct scene *s, const char *nonce, char epoch[12])
{
    char args[100];
    snprintf(args, sizeof args, "w %s 60000 2 host 1 test " FORMAT_VERSION " 0 0", nonce);
    return status_of(s, SCRIPT_START, args, epoch);
}

/* "w EPOCH CONN" and what follows. */
static int call(struct scene *s, enum script_id id, const char *epoch, int conn, const char *rest)
{
    char args[200];
    snprintf(args, sizeof args, "w %s %d %s", epoch, conn, rest);
    return status_of(s, id, args, NULL);
}

static void assert_refused(struct scene *s, const char *epoch, int conn, int status)
{
    char *before = raw_string(s->server->redis, "DEBUG DIGEST");
    assert_int_equal(call(s, SCRIPT_TURN, epoch, conn, "2 2 0 1 q 0"), status);
    assert_int_equal(call(s, SCRIPT_HEARTBEAT, epoch, conn, "2 0 0 q 0"), status);
    assert_int_equal(call(s, SCRIPT_SERVE, epoch, conn, "other 0 2"), status);
    assert_int_equal(call(s, SCRIPT_STOP, epoch, conn, ""), status);
    char *after = raw_string(s->server->redis, "DEBUG DIGEST");
    assert_string_equal(before, after);
    free(before);
    free(after);
}

static void a_late_request_of_a_dead_connection_changes_nothing(void **state)
{
    struct scene *s = *state;
    char epoch[12];
    assert_int_equal(start(s, "n", epoch), 0);
    assert_int_equal(call(s, SCRIPT_SERVE, epoch, 0, "q 0 2"), 0);
    raw_do(s->server->redis, "LPUSH %s:queues:q task", s->prefix);
    assert_int_equal(call(s, SCRIPT_READBACK, epoch, 3, ""), 0);
    assert_refused(s, epoch, 0, MUSTER_E_STATE);
    assert_refused(s, epoch, 2, MUSTER_E_STATE);
    assert_refused(s, epoch, 4, MUSTER_E_STATE);
    assert_int_equal(scene_waiting(s, "q"), 1);
    assert_int_equal(call(s, SCRIPT_TURN, epoch, 3, "2 2 0 1 q 0"), 0);
    assert_int_equal(raw_int(s->server->redis, "HLEN %s:processing:w:q", s->prefix), 1);
}

static void a_read_back_goes_up_and_never_down(void **state)
{
    struct scene *s = *state;
    char epoch[12];
    assert_int_equal(start(s, "n", epoch), 0);
    assert_int_equal(call(s, SCRIPT_READBACK, epoch, 5, ""), 0);
    assert_int_equal(call(s, SCRIPT_READBACK, epoch, 4, ""), MUSTER_E_STATE);
    assert_int_equal(raw_int(s->server->redis, "HGET %s:worker:w conn", s->prefix), 5);
    assert_int_equal(call(s, SCRIPT_READBACK, epoch, 5, ""), 0);
    assert_int_equal(call(s, SCRIPT_READBACK, epoch, 10, ""), 0);
    assert_refused(s, epoch, 5, MUSTER_E_STATE);
}

static void a_start_sent_twice_is_one_life(void **state)
{
    struct scene *s = *state;
    char first[12], again[12];
    assert_int_equal(start(s, "n", first), 0);
    assert_int_equal(call(s, SCRIPT_SERVE, first, 0, "q 0 2"), 0);
    assert_int_equal(start(s, "n", again), 0);
    assert_string_equal(first, again);
    assert_int_equal(raw_int(s->server->redis, "HEXISTS %s:worker:w q:q", s->prefix), 1);
    assert_int_equal(start(s, "other", again), MUSTER_E_EXISTS);
    char *epoch = raw_string(s->server->redis, "HGET %s:worker:w epoch", s->prefix);
    assert_string_equal(epoch, first);
    free(epoch);
}

static void an_ended_life_is_gone(void **state)
{
    struct scene *s = *state;
    char first[12], second[12];
    assert_int_equal(start(s, "n", first), 0);
    assert_int_equal(call(s, SCRIPT_STOP, first, 0, ""), 0);
    assert_refused(s, first, 0, MUSTER_E_GONE);
    assert_int_equal(start(s, "n", second), 0);
    assert_true(strcmp(first, second) < 0);
    assert_refused(s, first, 0, MUSTER_E_GONE);
    assert_int_equal(call(s, SCRIPT_READBACK, first, 9, ""), MUSTER_E_GONE);
    assert_int_equal(call(s, SCRIPT_READBACK, second, 9, ""), 0);
}

/* It may be anything, by hand. The worker does not count up to it. */
static void a_worker_goes_beyond_the_number_that_is_known(void **state)
{
    struct scene *s = *state;
    live_worker_idle(s, &(struct worker_spec){.id = "w", .ttl_ms = 60000, .queues = {{"q", 0}}});
    raw_do(s->server->redis, "HSET %s:worker:w conn 1000000000", s->prefix);
    raw_do(s->server->redis, "CLIENT KILL TYPE normal SKIPME yes");
    scene_await_events(s, MUSTER_EVENT_UP, "w", 1);
    raw_await(s->server->redis, s->base, 1000000001, "HGET %s:worker:w conn", s->prefix);
    raw_do(s->server->redis, "LPUSH %s:queues:q task", s->prefix);
    raw_do(s->server->redis, "PUBLISH %s_q_work 1", s->prefix);
    scene_await_starts(s, 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_late_request_of_a_dead_connection_changes_nothing),
        live_test(a_read_back_goes_up_and_never_down),
        live_test(a_start_sent_twice_is_one_life),
        live_test(an_ended_life_is_gone),
        live_test(a_worker_goes_beyond_the_number_that_is_known),
    };
    return scene_run(tests, argc, argv);
}
