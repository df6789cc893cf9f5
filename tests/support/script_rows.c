/* SPDX-License-Identifier: MIT
 *
 * A table of calls, at least one of every script.
 */
#include "script_rows.h"

#include <string.h>

#include "base/format.h"

#define HELD "@held"
#define LEASED "@leased"
#define CANCELLED "@cancelled"
#define HELD_JOB "@held job"
#define LEASED_JOB "@leased job"
#define KEYED_JOB "@keyed job"
#define MADE_JOB "@made job"
#define EPOCH "@epoch"

#define CALL(text, script, ...) .name = text, .id = SCRIPT_##script, .args = {__VA_ARGS__}

const struct script_row script_rows[] = {
    {CALL("enqueue", ENQUEUE, "q", "0", "request", "0", "1", "new"), .adds = true},
    {CALL("enqueue into idle hands", ENQUEUE, "o", "0", "", "0", "1", "new"), .adds = true, .is_bare = true,
     .prepare = script_world_keep_timer},
    {CALL("start", START, "dead", "again", "3600000", "2", "host", "1", "test", FORMAT_VERSION, "0", "0"),
     .is_bare = true},
    {CALL("start, resuming", START, "dead", "again", "3600000", "2", "host", "1", "test", FORMAT_VERSION, "0", "1"),
     .is_bare = true},
    {CALL("serve", SERVE, "w", EPOCH, "0", "more", "0", "5")},
    {CALL("share", SHARE, "w", EPOCH, "0", "q", "1", "1", "no move", HELD), .prepare = script_world_share},
    {CALL("turn", TURN, NULL), .is_bare = true},
    {CALL("turn: finish", TURN, "finish", "q", "1", HELD), .vanish = 1, .is_bare = true},
    {CALL("turn: result", TURN, "result", "q", HELD, "bytes"), .vanish = 1, .is_bare = true},
    {CALL("turn: back", TURN, "back", "q", "1", HELD), .is_bare = true},
    {CALL("turn: move", TURN, "move", "q", HELD, "no move"), .is_bare = true},
    {CALL("turn: retry", TURN, "retry", "q", HELD, "3600000", "", ""), .is_bare = true},
    {CALL("turn: fail", TURN, "fail", "q", HELD, "g", "m"), .is_bare = true},
    {CALL("turn: a lost finish", TURN, "finish", "o", "1", HELD), .is_bare = true},
    {CALL("heartbeat", HEARTBEAT, "w", EPOCH, "0", "5", "0", "0", "q", "0", "o", "0"), .is_bare = true},
    {CALL("readback", READBACK, "w", EPOCH, "0"), .is_bare = true},
    {CALL("take up", TAKE_UP, "w", EPOCH, "0", "q")},
    {CALL("begin alone", BEGIN_ALONE, "w", EPOCH, "0", "q", HELD, "0", "o")},
    {CALL("begin a job alone", BEGIN_ALONE, "w", EPOCH, "0", "q", HELD_JOB, "0")},
    {CALL("acquit a job", BEGIN_ALONE, "w", EPOCH, "0", "q", HELD_JOB, "1")},
    {CALL("begin no more", BEGIN_ALONE, "w", EPOCH, "0", "q", HELD, "2")},
    {CALL("begin a job no more", BEGIN_ALONE, "w", EPOCH, "0", "q", HELD_JOB, "2")},
    {CALL("upgrade", UPGRADE_BEGIN, FORMAT_VERSION, FORMAT_UPGRADING, "1", "3", FORMAT_OLDEST)},
    {CALL("upgrade of the number alone", UPGRADE_BEGIN, "5", FORMAT_UPGRADING, "1", FORMAT_VERSION)},
    {CALL("upgrade from this layout", UPGRADE_BEGIN, "5", FORMAT_UPGRADING, "1", "2", FORMAT_VERSION)},
    {CALL("upgrade keys", UPGRADE_KEYS, FORMAT_VERSION, "dependents:held", "crashes:q", "delayed:q", "queues:q",
          "token")},
    {CALL("upgrade keys of the oldest layout", UPGRADE_KEYS, FORMAT_VERSION, "dependents:old"), .adds = true,
     .prepare = script_world_grow_old},
    {CALL("sweep", SWEEP, "dead", "1")},
    {CALL("fail worker", SWEEP, "w", "1"), .vanish = 1},
    {CALL("stop", STOP, "w", EPOCH, "0"), .vanish = 1},
    {CALL("leave", LEAVE, "w", EPOCH, "0", "5", "q"), .vanish = 1},
    {CALL("take", TAKE, "q", "9", "3600000", "1", "0123456789abcdef:2", "0")},
    {CALL("take all", TAKE, "q", "99", "3600000", "1", "0123456789abcdef:2", "0")},
    {CALL("take, waiting", TAKE, "q", "0", "3600000", "1", "0123456789abcdef:2", "5")},
    {CALL("untake", UNTAKE, "q", "0123456789abcdef:1")},
    {CALL("untake what took nothing", UNTAKE, "q", "0123456789abcdef:2")},
    {CALL("take, under a name", TAKE, "q", "9", "3600000", "0", "", "0", "holder")},
    {CALL("fail holder", FAIL_HOLDER, "holder", "0")},
    {CALL("end: back", END, "w", "back", "q", "1", HELD)},
    {CALL("end: finish", END, "w", "finish", "q", "1", HELD), .vanish = 1},
    {CALL("end: retry of a lease", END, ".lease", "retry", "q", LEASED, "3600000", "", "")},
    {CALL("end: fail of a lease", END, ".lease", "fail", "q", LEASED, "g", "m")},
    {CALL("end: result of a lease", END, ".lease", "result", "q", LEASED, "bytes"), .vanish = 1},
    {CALL("end: several", END, ".lease", "fail", "q", LEASED, "g", "m", "w", "back", "q", "1", HELD, ".lease", "next",
          "q", LEASED_JOB, "1", "bytes", "o", "0", "waiting\n", "w", "done", "q", HELD_JOB),
     .vanish = 1},
    {CALL("end: several, one of which says why", END, ".lease", "fail", "q", LEASED, "g", "m", "w", "retry", "q",
          HELD_JOB, "3600000", "g", "m")},
    {CALL("extend several", EXTEND, "w", HELD, "q", "", "1", "three quarters", "0", "", ".lease", LEASED, "q", "w",
          HELD_JOB, "q")},
    {CALL("end: too late", END, ".lease", "finish", "q", "1", LEASED), .prepare = script_world_lapse},
    {CALL("extend", EXTEND, "w", HELD, "q", "", "1", "three quarters")},
    {CALL("extend a lease", EXTEND, ".lease", LEASED, "q", "90000", "1", "three quarters")},
    {CALL("cancel", CANCEL, "q", "", "t3")},
    {CALL("cancel a process", CANCEL, "q", "w", HELD)},
    {CALL("cancel a lease", CANCEL, "q", ".lease", LEASED)},
    {CALL("delete", DELETE, "q"), .vanish = 20},
    {CALL("pause", PAUSE, "q")},
    {CALL("resume", RESUME, "q")},
    {CALL("resume beside idle hands", RESUME, "q"), .prepare = script_world_serve},
    {CALL("listen", LISTEN, "q"), .adds = true},
    {CALL("replay", REPLAY, "q", "", "9", "0")},
    {CALL("drop", DROP, "q", "g", "9", "0"), .vanish = 2},
    {CALL("put", PUT, "q", "", "new", "tag", "blue", "after", "held", "data", "d"), .adds = true},
    {CALL("put, to follow", PUT, "q", "", "new", "after_end", "held", "after_failure", "waiting", "data", "d"),
     .adds = true},
    {CALL("put, at once", PUT, "q", "", "new", "data", "d"), .adds = true},
    {CALL("put many, under a request", PUT, "q", "request", "r", "chunk", "1", "of", "3", "", "new", "data", "d", "",
          "newer", "after", "new", "", "held", "replace", "1"),
     .adds = true},
    {CALL("put one that recurs", PUT, "q", "", "new", "every", "3600000"), .adds = true},
    {CALL("put one with a schedule", PUT, "q", "", "new", "cron", "@daily", "zone", "UTC", "last", "1", "ticks",
          "4102444800000"),
     .adds = true},
    {CALL("refill", REFILL, "cron", "0 0 1 1 *", "UTC", "1", "4102444800000", "", "0", "3", "2"), .adds = true},
    {CALL("change a schedule", CHANGE, "cron", "cron", "@daily", "ticks", "4102444800000", "last", "1"), .adds = true},
    {CALL("put what is held", PUT, "o", "", "held", "replace", "1", "tag", "red", "data", "d"), .adds = true},
    {CALL("put what is leased", PUT, "q", "", "leased", "replace", "1", "delay", "3600000"), .adds = true},
    {CALL("put what has failed", PUT, "q", "", "failed", "data", "d"), .adds = true},
    {CALL("put what is complete", PUT, "q", "", "complete", "data", "d"), .adds = true},
    {CALL("change", CHANGE, "waiting", "queue", "o", "tag", "blue", "priority", "3", "log", "line"), .adds = true},
    {CALL("change to now", CHANGE, "scheduled", "delay", "0"), .adds = true},
    {CALL("change dependencies", CHANGE, "depends", "not_after", "held"), .adds = true},
    {CALL("change what it follows", CHANGE, "follows", "after", "held", "after_end", "waiting"), .adds = true},
    {CALL("cancel jobs", CANCEL_JOBS, "1", "held", "failed", "waiting", "leased", "scheduled"), .vanish = 8},
    {CALL("promote", PROMOTE, NULL)},
    {CALL("tidy", TIDY, "0")},
    {CALL("note ages", NOTE_AGES, "0", "0")},
    {CALL("heads", HEADS, "9", "1000", "3", "HMGET", "job:held", "data", "3", "HGET", "queue:q", "x")},
    {CALL("fetch", FETCH, "w", HELD_JOB, "q", "0")},
    {CALL("config", CONFIG, "q", "max_running", "9")},
    {CALL("config, a bound", CONFIG, "q", "keep_failed", "1"), .vanish = 20},
    {CALL("config, a bound of all", CONFIG, "", "keep_jobs", "0")},
    {CALL("config, unset", CONFIG, "q", "max_running", "")},
    {CALL("listen to jobs", LISTEN, ""), .adds = true},
    {CALL("turn: done", TURN, "done", "q", HELD_JOB), .vanish = 1, .is_bare = true},
    {CALL("turn: next", TURN, "next", "q", HELD_JOB, "0", "", "o", "0", ""), .is_bare = true},
    {CALL("turn: back of a job", TURN, "back", "q", "2", HELD_JOB, HELD), .is_bare = true},
    {CALL("turn: retry of a job", TURN, "retry", "q", HELD_JOB, "", "g", "m"), .is_bare = true},
    {CALL("turn: fail of a job", TURN, "fail", "q", HELD_JOB, "g", "m"), .is_bare = true},
    {CALL("end: done", END, "w", "done", "q", HELD_JOB), .vanish = 1},
    {CALL("end: done, for a schedule", END, ".lease", "done", "q", MADE_JOB), .vanish = 1},
    {CALL("end: done, of a key", END, ".lease", "done", "q", KEYED_JOB), .vanish = 1},
    {CALL("end: back, of a key", END, ".lease", "back", "q", "1", KEYED_JOB)},
    {CALL("end: next of a lease", END, ".lease", "next", "q", LEASED_JOB, "1", "bytes", "o", "0", "waiting\n")},
    {CALL("end: retry of a leased job", END, ".lease", "retry", "q", LEASED_JOB, "3600000", "g", "m")},
    {CALL("end: fail of a leased job", END, ".lease", "fail", "q", LEASED_JOB, "g", "m")},
    {CALL("extend, with data", EXTEND, ".lease", LEASED_JOB, "q", "90000", "0", "", "1", "new")},
    {CALL("hand on the timer", HAND_ON, "w", "o"), .prepare = script_world_keep_timer},
    {CALL("hand on no timer", HAND_ON, "w", "q")},
    {CALL("put to a batch", PUT, "q", "", "new", "batch", "batch", "data", "d"), .adds = true},
    {CALL("open a batch", OPEN_BATCH, "new", "", "3600000", "on_end", "q"), .adds = true},
    {CALL("open a batch in another", OPEN_BATCH, "over", "batch", "3600000"), .adds = true},
    {CALL("close a batch", CLOSE_BATCH, "batch"), .adds = true},
    {CALL("cancel a batch", CANCEL_BATCH, "batch", "0"), .vanish = 3},
    {CALL("check a batch", CHECK_BATCH, "1", "batch", "0", "1")},
    {CALL("check dependents", CHECK_DEPENDENTS, "1", "held", "dependents", "depends", "waiting")},
    {CALL("check followers", CHECK_DEPENDENTS, "1", "held", "followers", "follows\ne", "waiting\nf")},
    {CALL("check what came back", CHECK_RETURNED, "1", "q", "0")},
    {CALL("check a home", CHECK_HOME, "1", "-", "q")},
    {CALL("check suspects", CHECK_SUSPECTS, "1", "q", HELD)},
    {CALL("check who is idle", CHECK_IDLE, "1", "q", "0")},
    {CALL("check what waits", CHECK_INDEX, "1", "waiting", "q", "0")},
    {CALL("check the jobs of keys", CHECK_INDEX, "1", "keyed", "q", "0")},
    {CALL("check what runs", CHECK_INDEX, "1", "running", "q", "0")},
    {CALL("check what has failed", CHECK_INDEX, "1", "failed", "q", "0")},
    {CALL("check a tag", CHECK_INDEX, "1", "tag", "blue", "0")},
    {CALL("check what is tracked", CHECK_INDEX, "1", "tracked", "", "0")},
    {CALL("check jobs", CHECK_JOB, "1", "waiting", "held", "leased", "depends", "after", "follows", "failed",
          "complete", "due", "recurring", "new")},
    {CALL("check keys", CHECK_KEYS, "1", "queues:q", "list", "0", "", "request:request", "hash", "3600000", "")},
    {CALL("check leases", CHECK_LEASES, "1", "q", "0", "0")},
    {CALL("check marks", CHECK_MARKS, "1", "w", "1", "q", CANCELLED)},
    {CALL("check notes of leases", CHECK_MARKS, "1", ".lease", "1", "q", LEASED)},
    {CALL("check the holders of leases", CHECK_HOLDERS, "1", "holders", "q", LEASED, HELD)},
    {CALL("check a holder", CHECK_HOLDERS, "1", "holds", "holder", LEASED)},
    {CALL("check a queue", CHECK_QUEUE, "1", "q", "1", "1")},
    {CALL("check a set", CHECK_SET, "1", "w", "q"), .vanish = 1},
    {CALL("check the set of a dead worker", CHECK_SET, "1", "dead", "q"), .vanish = 1},
    {CALL("check a set under leases", CHECK_SET, "1", ".lease", "q"), .vanish = 1},
    {CALL("check the counter of tokens", CHECK_TOKEN, "1", "1")},
    {CALL("check a worker", CHECK_WORKER, "1", "w", "1"), .vanish = 1},
    {CALL("check a dead worker", CHECK_WORKER, "1", "dead", "1")},
    {CALL("promote what is half done", PROMOTE, NULL), .vanish = 4, .prepare = script_world_stop_halfway},
    {CALL("take beside what is half done", TAKE, "q", "1", "3600000", "0", ""), .vanish = 4,
     .prepare = script_world_stop_halfway},
    {CALL("put what has come back", PUT, "q", "", "new", "data", "d", "", "leased", "replace", "1"), .adds = true,
     .prepare = script_world_return},
    {CALL("change what has come back", CHANGE, "leased", "priority", "3"), .adds = true,
     .prepare = script_world_return},
    {CALL("cancel what has come back", CANCEL_JOBS, "1", "held", "waiting", "leased"), .vanish = 5,
     .prepare = script_world_return},
    {CALL("fail beside what has come back", END, ".lease", "fail", "q", LEASED, "g", "m"),
     .prepare = script_world_return},
    {CALL("upgrade when all workers are dead", UPGRADE_BEGIN, "5", FORMAT_UPGRADING, "1", "2", FORMAT_VERSION),
     .adds = true, .prepare = script_world_die},
    {CALL("promote what has come back", PROMOTE, NULL), .prepare = script_world_return},
};
const size_t n_script_rows = N_OF(script_rows);

void script_row_set_up(const struct script_row *row, struct script_world *world, struct scene *s, bool is_fair)
{
    (is_fair ? script_world_make_fair : script_world_make)(world, s);
    if (row->prepare)
        row->prepare(world);
    script_world_keep(world);
}

static const char *resolve(const struct script_world *world, const char *arg)
{
    const struct {
        const char *name, *value;
    } known[] = {{HELD, world->held},         {LEASED, world->leased},         {CANCELLED, world->cancelled},
                 {HELD_JOB, world->held_job}, {LEASED_JOB, world->leased_job}, {KEYED_JOB, world->keyed_job},
                 {MADE_JOB, world->made_job}, {EPOCH, world->w.epoch}};
    for (size_t i = 0; i < N_OF(known); i++)
        if (!strcmp(known[i].name, arg))
            return known[i].value;
    return arg;
}

static const char *const *args_of(const struct script_row *row, const struct script_world *world)
{
    static const char *args[SCRIPT_ROW_ARGS + 1];
    size_t n = 0;
    for (; n < SCRIPT_ROW_ARGS && row->args[n]; n++)
        args[n] = resolve(world, row->args[n]);
    args[n] = NULL;
    return row->id == SCRIPT_TURN ? acting_turn_args(&world->w, true, args) : args;
}

redisReply *script_row_call(const struct script_row *row, struct script_world *world)
{
    return script_call_list(world->s, row->id, args_of(row, world));
}

void script_row_append(const struct script_row *row, struct script_world *world)
{
    script_call_append(world->s, row->id, args_of(row, world));
}
