/* SPDX-License-Identifier: MIT
 *
 * Many jobs wait for an end of one, and are let go in steps, by workers that are killed while they do so. Each of the
 * many is let go once, whoever went on.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "job_look.h"
#include "job_scripts.h"
#include "worker_process.h"

enum { MANY = 6500, CHUNK = 500, TTL_MS = 300 };

static void put_followers(struct scene *s)
{
    static char names[CHUNK][12];
    static struct muster_job_spec specs[CHUNK];
    static const struct muster_job_spec *all[CHUNK];
    static const char *const root[] = {"root"};
    for (int from = 0; from < MANY; from += CHUNK) {
        for (int i = 0; i < CHUNK; i++) {
            snprintf(names[i], sizeof names[i], "f%d", from + i);
            specs[i] = *JOB_SPEC(.id = names[i], .after_failure = root, .n_after_failure = 1);
            all[i] = &specs[i];
        }
        assert_ok(muster_job_put_many(s->client, "q", all, CHUNK, NULL, NULL));
    }
}

static int64_t n_depend(struct scene *s)
{
    return raw_int(s->server->redis, "ZCARD %s:depends:q", s->prefix);
}

struct goal {
    struct scene *s;
    int64_t before;
};

static bool has_stepped(void *arg)
{
    const struct goal *goal = arg;
    int64_t left = n_depend(goal->s);
    return left < goal->before || left == 0;
}

/* A step that is made leaves nothing amiss. That its turn is long over, a machine on which a worker needs seconds to
 * begin may say. */
static void assert_clean_but_late(struct scene *s)
{
    struct checked found = checked_find(s);
    if (found.n > 1 || (found.n == 1 && !strstr(found.what, "has had jobs to let go for")))
        fail_msg("amiss: %s", found.what);
}

/* Workers of another queue keep the timer, one after the other. Each is killed when it has made a step. */
static void let_go_by_workers_that_die(struct scene *s)
{
    int n_killed = 0;
    for (int64_t left; (left = n_depend(s)) > 0;) {
        char id[32];
        snprintf(id, sizeof id, "keeper%d", n_killed);
        struct worker_process *keeper = worker_process_start(
            s, &(struct worker_spec){.id = id, .ttl_ms = TTL_MS, .hands = 1, .queues = {{"none", 0}}});
        struct goal goal = {s, left};
        wait_until(has_stepped, &goal, 60000);
        worker_process_kill(keeper);
        n_killed += n_depend(s) > 0;
        assert_clean_but_late(s);
    }
    print_message("%d workers were killed in between\n", n_killed);
    assert_true(n_killed > 0);
}

/* Ends the job "root" with MANY waiting for its failure. */
static void end_root(struct scene *s, const char *kind)
{
    char token[12];
    assert_ok(put_in(s, "other", "root", "retries", "0"));
    put_followers(s);
    take_job(s, "other", "root", token);
    if (strcmp(kind, "done") == 0)
        assert_ok(script_does(s, SCRIPT_END, ".lease", kind, "other", token));
    else
        assert_ok(script_does(s, SCRIPT_END, ".lease", kind, "other", token, "g", "m"));
}

static void all_that_wait_for_a_failure_follow_once(void **state)
{
    struct scene *s = *state;
    static const char lua[] =
        "local n = 0\n"
        "for i = 0, ARGV[1] - 1 do\n"
        "  local history = redis.call('LRANGE', KEYS[1] .. ':history:f' .. i, 0, -1)\n"
        "  if #history == 2 and string.find(history[2], '\\tready\\t', 1, true) then n = n + 1 end\n"
        "end\n"
        "return n";
    scene_suspect_nothing(s);
    end_root(s, "fail");
    let_go_by_workers_that_die(s);
    assert_int_equal(raw_int(s->server->redis, "EVAL %s 1 %s %d", lua, s->prefix, MANY), MANY);
    assert_int_equal(key_size(s, "ZCARD", "waiting:q"), MANY);
    assert_int_equal(key_size(s, "EXISTS", "ended"), 0);
}

static void all_are_cancelled_once_when_that_failure_cannot_come(void **state)
{
    struct scene *s = *state;
    struct muster_stats stats = {.size = sizeof stats};
    scene_suspect_nothing(s);
    end_root(s, "done");
    let_go_by_workers_that_die(s);
    assert_ok(muster_stats_get(s->client, "q", -1, &stats));
    assert_int_equal(stats.cancelled, MANY);
    assert_int_equal(key_size(s, "EXISTS", "waiting:q"), 0);
    assert_int_equal(key_size(s, "EXISTS", "ended"), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(all_that_wait_for_a_failure_follow_once),
        live_test(all_are_cancelled_once_when_that_failure_cannot_come),
    };
    return scene_run(tests, argc, argv);
}
