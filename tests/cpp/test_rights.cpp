/* SPDX-License-Identifier: MIT
 *
 * Whatever a user of Redis may not do, and whatever a full Redis refuses: each call of the clients in C++ throws, or is
 * answered with, muster's error in words, and the client is sound after it. What the calls of C answer is in
 * tests/live/test_rights.c and test_rights_async.c.
 */
#include <cstring>
#include <functional>

#include "cases.hpp"

using std::atomic_int; /* of C's headers */
extern "C" {
#include "rights.h"
#include "script_world.h"
}
#undef fail /* cmocka's, which is the name of a call here */

static constexpr muster::ms SHORT = 1ms, LONG = 600s;

/* Which function of C it is, and the roles that may do it, by their first letters. */
struct call {
    const char *name, *roles;
    std::function<void(muster::client &c, const std::string &p, muster::ms wait)> make;
};

static const muster::failed_filter failed("q");
static const auto waiting_jobs = muster::job_filter().queue("q").state(MUSTER_JOB_WAITING);

#define MAKE [](muster::client & c, const std::string &p, muster::ms wait)
#define ROW(Type) [](const Type &) {}
#define UNUSED static_cast<void>(p), static_cast<void>(wait)
#define CALL(name, roles, ...) \
    {                          \
        name, roles, MAKE      \
        {                      \
            UNUSED;            \
            __VA_ARGS__;       \
        }                      \
    }

static const call calls[] = {
    CALL("muster_task_enqueue", "pw-o", c.enqueue("q", "task")),
    CALL("muster_task_enqueue_many", "pw-o", c.enqueue_many("q", {"a", "b"})),
    CALL("muster_task_enqueue_unique", "pw-o", c.enqueue_unique("q", "alone")),
    CALL("muster_task_peek", "pwvo", c.peek("q", 0, 9, ROW(muster_task))),
    CALL("muster_task_peek_delayed", "pwvo", c.peek_delayed("q", 0, 9, ROW(muster_delayed_task))),
    CALL("muster_task_cancel", "pw-o", c.cancel_task("q", "t1")),
    CALL("muster_queue_length", "pwvo", c.length("q")),
    CALL("muster_queue_list", "pwvo", c.queues(ROW(muster_queue_info))),
    CALL("muster_queue_get", "pwvo", c.queue("q")),
    CALL("muster_queue_pause", "pw-o", c.pause("q")),
    CALL("muster_queue_resume", "pw-o", c.resume("q")),
    CALL("muster_queue_delete", "---o", c.delete_queue("q")),
    CALL("muster_queue_listen", "-w-o", c.listen("q", SHORT, ROW(muster_queue_event), [] {})),
    CALL("muster_worker_list", "pwvo", c.workers(ROW(muster_worker_info))),
    CALL("muster_worker_fail", "-w-o", c.fail_worker("dead")),
    CALL("muster_process_list", "pwvo", c.processes(muster::process_filter(), ROW(muster_process_info))),
    CALL("muster_process_cancel", "pw-o", c.cancel_process(p)),
    CALL("muster_client_sweep", "-w-o", c.sweep()),
    CALL("muster_client_time", "pwvo", c.now()),
    CALL("muster_client_probe", "pw-o", c.probe(MUSTER_PROBE_WRITE)),
    CALL("muster_lease_take_as", "-w-o", c.take("none", 1s, wait)),
    CALL("muster_lease_take_as", "-w-o", c.take_many("none", 2, 1s, wait)),
    CALL("muster_lease_take_as", "pw-o", c.take_many("q", muster::take_options(1s).holder("me"))),
    CALL("muster_lease_finish", "pw-o", c.finish(p)),
    CALL("muster_lease_give_back", "pw-o", c.give_back(p)),
    CALL("muster_lease_retry_as", "pw-o", c.retry(p)),
    CALL("muster_lease_fail", "pw-o", c.fail(p, "g", "m")),
    CALL("muster_lease_extend", "pw-o", c.extend(p, 1s)),
    CALL("muster_lease_extend", "pw-o", c.progress(p, "half")),
    CALL("muster_failed_list", "pwvo", c.failed(failed, ROW(muster_failure))),
    CALL("muster_failed_groups", "pwvo", c.failed_groups(ROW(muster_failed_group))),
    CALL("muster_failed_replay", "pw-o", c.replay(failed)),
    CALL("muster_failed_drop", "pw-o", c.drop(failed)),
    CALL("muster_job_put", "pw-o", c.put("q", muster::job_spec("x").id("new"))),
    CALL("muster_job_put_many", "pw-o", c.put_many("q", {muster::job_spec("x")})),
    CALL("muster_job_get", "pwvo", c.get_job("waiting")),
    CALL("muster_job_peek", "pwvo", c.peek_job("waiting")),
    CALL("muster_job_parents", "pwvo", c.parents("depends", ROW(muster_job_parent))),
    CALL("muster_job_wait", "-w-o", c.wait("scheduled", wait)),
    CALL("muster_job_wait", "-w-o", c.wait_many({"scheduled"}, wait, ROW(muster_job_ended))),
    CALL("muster_job_list", "pwvo", c.jobs(waiting_jobs, ROW(muster_job))),
    CALL("muster_job_counts", "pwvo", c.job_counts("q")),
    CALL("muster_job_change", "pw-o", c.change("waiting", muster::job_change().priority(3))),
    CALL("muster_job_cancel", "pw-o", c.cancel_with_dependents({"waiting"})),
    CALL("muster_job_listen", "-w-o", c.listen_jobs("", SHORT, ROW(muster_job_event), [] {})),
    CALL("muster_config_get", "pwvo", c.settings("q", ROW(muster_setting))),
    CALL("muster_config_set", "pw-o", c.config("q", "max_running", 3)),
    CALL("muster_batch_open", "pw-o", c.open_batch(muster::batch_spec().id("b"))),
    CALL("muster_batch_close", "pw-o", c.close_batch("batch")),
    CALL("muster_batch_cancel", "pw-o", c.cancel_batch("batch")),
    CALL("muster_batch_get", "pwvo", c.batch("batch", ROW(muster_batch))),
    CALL("muster_batch_list", "pwvo", c.batches(ROW(muster_batch))),
};

/* How an answer is heard. */
using heard = std::function<void(const muster_answer &)>;

struct later {
    const char *name, *roles;
    std::function<void(muster::async_client &a, const std::string &p, muster::ms wait, heard fn)> make;
};

#define LATER(name, roles, ...)                                                                     \
    {                                                                                               \
        name, roles, [](muster::async_client &a, const std::string &p, muster::ms wait, heard fn) { \
            UNUSED;                                                                                 \
            __VA_ARGS__;                                                                            \
        }                                                                                           \
    }

static const later laters[] = {
    LATER("muster_async_enqueue", "pw-o", a.enqueue("q", "task", std::move(fn))),
    LATER("muster_async_put", "pw-o", a.put("q", muster::job_spec("x").id("new"), std::move(fn))),
    LATER("muster_async_take", "-w-o", a.take("none", 1, 1s, wait, std::move(fn))),
    LATER("muster_async_finish", "pw-o", a.finish(p, muster::finish_options(), std::move(fn))),
    LATER("muster_async_give_back", "pw-o", a.give_back(p, std::move(fn))),
    LATER("muster_async_retry_as", "pw-o", a.retry(p, muster::retry(), std::move(fn))),
    LATER("muster_async_fail", "pw-o", a.fail(p, "g", "m", std::move(fn))),
    LATER("muster_async_extend", "pw-o", a.extend(p, 1s, std::move(fn))),
    LATER("muster_async_job", "pwvo", a.get_job("waiting", std::move(fn))),
    LATER("muster_async_length", "pwvo", a.length("q", std::move(fn))),
};

/* ---- a world, and a user ---- */

class stage
{
  public:
    std::string leased;

    stage()
    {
        scene_.server = &server;
        snprintf(scene_.prefix, sizeof scene_.prefix, "%s", "muster");
        scene_.client = owner_.get();
        script_world_make(&world_, &scene_);
        script_world_keep(&world_);
        leased = std::string(".lease:") + world_.leased + ":q";
    }
    stage(const stage &) = delete;
    stage &operator=(const stage &) = delete;
    ~stage()
    {
        raw_do(server.redis, "CONFIG SET maxmemory 0");
        script_world_end(&world_);
    }

    void restore() { script_world_restore(&world_); }

    /* The rights of a role, but for one of them. */
    rights give(const char *user, const char *role, const char *less = nullptr)
    {
        rights all;
        rights_read(&all, role, scene_.prefix);
        rights_give(&scene_, user, &all, less);
        return all;
    }
    muster::client_options as(const char *user)
    {
        char url[160];
        rights_url(&scene_, user, url);
        return muster::client_options().url(url);
    }
    uint64_t length() { return owner_.length("q"); }

  private:
    muster::client owner_;
    scene scene_{};
    script_world world_{};
};

/* What it throws has words; MUSTER_OK: nothing. */
static int code_of(const char *name, const std::function<void()> &make)
{
    try {
        make();
        return MUSTER_OK;
    } catch (const muster::error &e) {
        const std::string words = e.what();
        if (std::string(e.name()) == "E_UNKNOWN" || words.size() < strlen(e.name()) + 10)
            throw cases::failed(std::string(name) + ": no words: " + words);
        return e.code();
    }
}

static void check_denied(const char *name, const char *how, const char *roles, char role, int code)
{
    if (role && (code == MUSTER_E_DENIED) != !strchr(roles, role))
        throw cases::failed(std::string(name) + ", " + how + ": " + muster_err_name(code));
}

static muster::ms wait_of(const char *roles, char role)
{
    return role && !strchr(roles, role) ? LONG : SHORT;
}

/* `full`: it has no room while the call is made. */
static void call_all(stage &s, const muster::client_options &o, const char *how, char role, bool full = false)
{
    muster::client c(o);
    muster::async_client a(o);
    const auto begin = [&] {
        raw_do(server.redis, "CONFIG SET maxmemory 0");
        s.restore();
        raw_do(server.redis, "CONFIG SET maxmemory %d", full ? 1 : 0);
    };
    for (const auto &call : calls) {
        begin();
        const int code = code_of(call.name, [&] { call.make(c, s.leased, wait_of(call.roles, role)); });
        check_denied(call.name, how, call.roles, role, code);
        if (role || full)
            CHECK_EQUAL(c.length("q"), s.length());
    }
    for (const auto &call : laters) {
        int code = 1, sound = 1;
        begin();
        call.make(a, s.leased, wait_of(call.roles, role),
                  [&](const muster_answer &answer) { code = code_of(call.name, [&] { muster::check(answer); }); });
        CHECK(a.wait(20s) && a.dispatch() == 1 && code != 1);
        check_denied(call.name, how, call.roles, role, code);
        a.length("q", [&](const muster_answer &answer) { sound = answer.err; });
        CHECK(a.wait(20s) && a.dispatch() == 1);
        if (role || full)
            CHECK_EQUAL(sound, MUSTER_OK);
    }
}

static void every_call_answers_every_role_in_words()
{
    stage s;
    for (const char *const *role = rights_roles; *role; role++) {
        s.give(*role, *role);
        call_all(s, s.as(*role), *role, std::string(*role) == "muster" ? 'o' : **role);
    }
}

static void every_call_answers_in_words_when_a_right_is_taken_away()
{
    stage s;
    const rights all = s.give("u", "muster");
    for (size_t i = 0; i < all.n; i++) {
        const std::string right = all.words[i];
        if (right == "resetchannels" || right == "-@all")
            continue;
        s.give("u", "muster", right.c_str());
        call_all(s, s.as("u"), right.c_str(), 0);
    }
}

static void every_call_answers_in_words_on_a_full_redis()
{
    stage s;
    s.give("u", "muster");
    call_all(s, s.as("u"), "full", 0, true);
}

/* The block of a lease ends it: who may not is told by the end that throws, and the lease is still held. */
static void a_lease_whose_end_is_denied_is_still_held()
{
    stage s;
    s.give("u", "muster");
    muster::client c(s.as("u"));
    auto held = c.take("q", 10min);
    CHECK(held);
    s.give("u", "viewer");
    for (const auto &end : std::initializer_list<std::function<void()>>{
             [&] { held->finish(); }, [&] { held->give_back(); }, [&] { held->retry(); }, [&] { held->fail("g", "m"); },
             [&] { held->extend(1min); }, [&] { held->progress("half"); }}) {
        CHECK_EQUAL(code_of("an end", end), MUSTER_E_DENIED);
        CHECK(*held);
    }
    s.give("u", "muster");
    held->finish();
    CHECK(!*held);
}

int main(int argc, char **argv)
{
    return cases::run(
        {CASE(every_call_answers_every_role_in_words), CASE(every_call_answers_in_words_when_a_right_is_taken_away),
         CASE(every_call_answers_in_words_on_a_full_redis), CASE(a_lease_whose_end_is_denied_is_still_held)},
        argc, argv);
}
