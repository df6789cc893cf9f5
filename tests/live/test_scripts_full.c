/* SPDX-License-Identifier: MIT
 *
 * Every script against a full Redis: what adds something is refused whole, and everything else goes on as if there were
 * room.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "invariant.h"
#include "script_rows.h"

/* The status as text, or the error's. */
static void call_with_memory(struct script_world *world, const struct script_row *row, int max_bytes, char status[40])
{
    struct redisContext *redis = world->s->server->redis;
    raw_do(redis, "CONFIG SET maxmemory %d", max_bytes);
    redisReply *reply = script_row_call(row, world);
    raw_do(redis, "CONFIG SET maxmemory 0");
    const redisReply *first = reply->type == REDIS_REPLY_ARRAY ? reply->element[0] : reply;
    if (first->type == REDIS_REPLY_INTEGER)
        snprintf(status, 40, "%lld", first->integer);
    else
        snprintf(status, 40, "%s", first->str);
    freeReplyObject(reply);
}

static void try_full(struct script_world *world, const struct script_row *row)
{
    char with_room[40], full[40];
    call_with_memory(world, row, 0, with_room);
    int64_t tasks = script_world_count(world);
    script_world_restore(world);
    char *before = dump_of_all(world->s);
    call_with_memory(world, row, 1, full);
    char *after = dump_of_all(world->s);
    bool is_same = strcmp(before, after) == 0;
    free(before);
    free(after);
    int64_t left = script_world_count(world);
    if (row->adds && (strncmp(full, "OOM", 3) != 0 || !is_same))
        fail_msg("%s: a full Redis answers %s and has %s", row->name, full, is_same ? "not changed" : "changed");
    if (!row->adds && (strcmp(full, with_room) != 0 || left != tasks))
        fail_msg("%s: a full Redis answers %s, not %s; %d tasks, not %d", row->name, full, with_room, (int)left,
                 (int)tasks);
    if (row->prepare != script_world_grow_old) /* refused, it still has the oldest layout */
        invariant_assert(world->s->server->redis, world->s->prefix);
}

static void a_full_redis_refuses_whole_what_adds_and_lets_the_rest_go_on(void **state)
{
    for (size_t r = 0; r < n_script_rows; r++) {
        struct script_world world;
        script_row_set_up(&script_rows[r], &world, *state, false);
        try_full(&world, &script_rows[r]);
        script_world_end(&world);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {live_test(a_full_redis_refuses_whole_what_adds_and_lets_the_rest_go_on)};
    return scene_run(tests, argc, argv);
}
