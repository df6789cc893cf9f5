/* SPDX-License-Identifier: MIT
 *
 * A call for one queue may make a job of another queue ready, because what it waited for has ended by it. That job goes
 * to an idle worker at once, whichever call it was.
 */
#include "checked.h"
#include "job_scripts.h"
#include "script_call.h"

enum { STEP = 400 }; /* so many are let go by one script */

static struct acting_worker idle_worker(struct scene *s)
{
    struct acting_worker w = {.id = "w", .queues = {"elsewhere"}, .hands = 1, .hears = true};
    acting_start(&w, s);
    acting_take(&w);
    return w;
}

static void assert_handed(struct scene *s, struct acting_worker *w)
{
    assert_state(s, "follower", "running");
    assert_int_equal(key_size(s, "HLEN", "processing:w:elsewhere"), 1);
    checked_assert_clean(s);
    acting_forget(w);
}

/* "failed" has failed, "blocked" waits for it, and "follower" for any end of that one. */
static void put_behind_a_failure(struct scene *s)
{
    assert_ok(put_in(s, "q", "failed", "retries", "0"));
    job_fail(s, "failed");
    assert_ok(put_in(s, "q", "blocked", "after", "failed"));
    assert_ok(put_in(s, "elsewhere", "follower", "after_end", "blocked"));
}

static void by_a_drop(void **state)
{
    struct scene *s = *state;
    put_behind_a_failure(s);
    struct acting_worker w = idle_worker(s);
    freeReplyObject(script_call(s, SCRIPT_DROP, "q", "", "10", "0"));
    assert_handed(s, &w);
}

static void by_a_bound_of_the_failed_list(void **state)
{
    struct scene *s = *state;
    put_behind_a_failure(s);
    assert_ok(put_in(s, "q", "newer", "retries", "0"));
    job_fail(s, "newer");
    struct acting_worker w = idle_worker(s);
    assert_ok(script_does(s, SCRIPT_CONFIG, "q", "keep_failed", "1"));
    assert_handed(s, &w);
}

/* The last of so many is left for whoever looks next at what is due. */
static void cancel_before_a_step_and_one(struct scene *s)
{
    assert_ok(put_in(s, "q", "root", "retries", "5"));
    for (int i = 0; i < STEP; i++) {
        char id[16];
        snprintf(id, sizeof id, "f%d", i);
        assert_ok(put_in(s, "many", id, "after_end", "root"));
    }
    assert_ok(put_in(s, "elsewhere", "follower", "after_end", "root"));
    assert_ok(script_does(s, SCRIPT_CANCEL_JOBS, "0", "root"));
    assert_state(s, "follower", "depends");
    raw_do(s->server->redis, "HSET %s:queue:q due 1000", s->prefix);
    raw_do(s->server->redis, "EVAL %s 1 %s",
           "for _, m in ipairs(redis.call('ZRANGE', KEYS[1] .. ':ended', 0, -1)) do redis.call('ZADD', KEYS[1] .. "
           "':ended', 1000, m) end",
           s->prefix);
}

static void by_a_resume(void **state)
{
    struct scene *s = *state;
    assert_ok(script_does(s, SCRIPT_PAUSE, "q"));
    cancel_before_a_step_and_one(s);
    struct acting_worker w = idle_worker(s);
    assert_ok(script_does(s, SCRIPT_RESUME, "q"));
    assert_handed(s, &w);
}

static void by_an_extension(void **state)
{
    struct scene *s = *state;
    cancel_before_a_step_and_one(s);
    struct acting_worker w = idle_worker(s);
    assert_int_equal(script_does(s, SCRIPT_EXTEND, ".lease", "00000000001", "q", "60000", "0", "", "0", ""),
                     MUSTER_E_LOST);
    assert_handed(s, &w);
}

/* Nothing brings a deleted queue back. */
static void but_not_in_a_queue_that_is_deleted(void **state)
{
    struct scene *s = *state;
    assert_ok(script_does(s, SCRIPT_OPEN_BATCH, "b", "", "60000", "on_end", "q"));
    assert_ok(put_in(s, "q", "member", "batch", "b"));
    assert_ok(script_does(s, SCRIPT_CLOSE_BATCH, "b"));
    assert_answer(script_call(s, SCRIPT_DELETE, "q"), 0, 1, 0, 1);
    assert_answer(script_call(s, SCRIPT_DELETE, "q"), 0, 1, 0, 0);
    assert_int_equal(key_size(s, "EXISTS", "waiting:q"), 0);
    assert_int_equal(key_size(s, "EXISTS", "job:b-end"), 0);
    checked_assert_clean(s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(by_a_drop),       live_test(by_a_bound_of_the_failed_list),      live_test(by_a_resume),
        live_test(by_an_extension), live_test(but_not_in_a_queue_that_is_deleted),
    };
    return scene_run(tests, argc, argv);
}
