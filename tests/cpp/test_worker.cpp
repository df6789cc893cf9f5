/* SPDX-License-Identifier: MIT
 *
 * The worker in C++: what handlers return and throw, and how their processes end then; processes that are handed on to
 * other threads, dropped, or outlive their worker; what callbacks hear, and what becomes of what they throw.
 */
#include <condition_variable>
#include <csignal>
#include <deque>
#include <map>
#include <mutex>
#include <new>

#include <event2/event.h>

#include "cases.hpp"

using strings = std::vector<std::string>;

static thread_local bool lacks_memory;

/* Seen through, they would look like a mistake: free() of what `new` has made. */
#define NOT_INLINE __attribute__((noinline))

NOT_INLINE void *operator new(std::size_t size)
{
    void *made = lacks_memory ? nullptr : std::malloc(size);
    if (!made)
        throw std::bad_alloc();
    return made;
}

NOT_INLINE void operator delete(void *made) noexcept
{
    std::free(made);
}

NOT_INLINE void operator delete(void *made, std::size_t) noexcept
{
    std::free(made);
}

/* Something that threads leave for each other. */
template <class T> class channel
{
  public:
    void put(T one)
    {
        {
            const std::lock_guard<std::mutex> guard(lock_);
            all_.push_back(std::move(one));
        }
        there_.notify_one();
    }
    T take()
    {
        std::unique_lock<std::mutex> guard(lock_);
        if (!there_.wait_for(guard, 20s, [&] { return !all_.empty(); }))
            throw cases::failed("nothing came within 20 s");
        T one = std::move(all_.front());
        all_.pop_front();
        return one;
    }

  private:
    std::mutex lock_;
    std::condition_variable there_;
    std::deque<T> all_;
};

static auto options()
{
    return muster::worker_options().ttl(1s).hands(4);
}

/* Serves "q" with this handler until `n` processes have ended, and no longer. */
template <class F> void run_until(uint64_t n, muster::worker_options o, F handler)
{
    muster::worker w(o.max_tasks(n));
    w.serve("q", std::move(handler));
    w.run();
}

/* Of each failure of the queue its group, and its message. */
static std::map<std::string, std::string> failures(muster::client &c)
{
    std::map<std::string, std::string> all;
    c.failed(muster::failed_filter("q"),
             [&](const muster_failure &f) { all[f.group] = std::string(muster::view(f.message)); });
    return all;
}

static uint64_t count_running(muster::client &c)
{
    const auto q = c.queue("q");
    return q ? q->running : 0;
}

/* ---- ends ---- */

static void a_handler_that_returns_has_finished()
{
    muster::client c;
    c.enqueue_many("q", {"a", "b"});
    strings seen;
    run_until(2, options(), [&](muster::process &p) {
        seen.emplace_back(p.task());
        CHECK(p.queue() == "q" && p.token() > 0 && !p.job() && !p.is_told_to_stop() && !p.move_time());
        CHECK_EQUAL(p.id(), muster_process_id(p.get()));
        CHECK_EQUAL(p.worker().id(), std::string(muster_worker_id(muster_process_worker(p.get()))));
    });
    CHECK(seen == strings({"a", "b"}));
    CHECK(c.length("q") == 0 && failures(c).empty());
}

static void a_handler_returns_an_outcome()
{
    muster::client c;
    c.enqueue_many("q", {"fail", "retry", "finish"});
    run_until(3, options(), [&](muster::process &p) {
        p.set_failure("mine", "because");
        p.set_retry(1h);
        return p.task() == "fail" ? MUSTER_FAIL : p.task() == "retry" ? MUSTER_RETRY : MUSTER_FINISH;
    });
    CHECK_EQUAL(failures(c).at("mine"), "because");
    int64_t due = 0;
    c.peek_delayed("q", 0, 9, [&](const muster_delayed_task &t) { due = t.due_at_ms; });
    CHECK(muster::at(due) > c.now() + 50min);
}

static void an_exception_is_a_failure_with_its_words()
{
    muster::client c;
    const std::string longest(MUSTER_MESSAGE_MAX + 3, 'x');
    c.enqueue_many("q", {"std", "int", "fail", "bad group", "long"});
    std::map<std::string, std::string> ended;
    auto o = options();
    o.on_end([&](muster::worker_ref, const muster_end &e) {
        CHECK_EQUAL(e.outcome, MUSTER_FAIL);
        ended[std::string(muster::process_view(e.process).task())] = std::string(e.group) + ": " + e.message;
    });
    run_until(5, o, [&](muster::process &p) {
        if (p.task() == "std")
            throw std::runtime_error("no such file");
        if (p.task() == "int")
            throw 7;
        if (p.task() == "fail")
            throw muster::fail("mine", "because");
        if (p.task() == "bad group")
            throw muster::fail("a\nb", "because");
        throw std::runtime_error(longest.substr(0, longest.size() - 4) + "\xc3\xa9x");
    });
    CHECK_EQUAL(ended["std"], "exception: no such file");
    CHECK_EQUAL(ended["int"], "exception: an exception that is no std::exception");
    CHECK_EQUAL(ended["fail"], "mine: because");
    CHECK_EQUAL(ended["bad group"], "bad-group: because");
    CHECK_EQUAL(ended["long"], "exception: " + longest.substr(0, longest.size() - 4)); /* not half a character */
    CHECK_EQUAL(failures(c).size(), 3U);
    CHECK_EQUAL(c.length("q"), 0U);
}

static void a_handler_throws_an_end()
{
    muster::client c;
    c.enqueue_many("q", {"retry", "give back", "negative"});
    std::atomic<int> n{0};
    run_until(4, options(), [&](muster::process &p) {
        if (p.task() == "retry")
            throw muster::retry(1h);
        if (p.task() == "negative")
            throw muster::retry(-1ms);
        if (n++ == 0)
            throw muster::give_back();
    });
    CHECK_EQUAL(n, 2);
    CHECK(failures(c).at("exception").find("negative") != std::string::npos);
    int due = 0;
    c.peek_delayed("q", 0, 9, [&](const muster_delayed_task &t) { due += muster::view(t.data, t.len) == "retry"; });
    CHECK_EQUAL(due, 1);
}

static void a_job_is_retried_after_an_exception()
{
    muster::client c;
    c.put("q", muster::job_spec("x").id("j").retries(1).backoff({0, 0, 0, 0}));
    c.put("q", muster::job_spec("y").id("k").retries(1).backoff({0, 0, 0, 0}));
    std::atomic<int> n{0};
    run_until(4, options(), [&](muster::process &p) {
        n++;
        if (p.task() == "x")
            throw std::runtime_error("no answer");
        throw muster::retry(0ms, "later", "not yet");
    });
    CHECK_EQUAL(n, 4);
    const auto j = c.get_job("j"), k = c.get_job("k");
    CHECK(j->state == MUSTER_JOB_FAILED && j->retried == 1 && j->group == "exception");
    CHECK(k->state == MUSTER_JOB_FAILED && k->group == "later");
    CHECK(failures(c).count("exception") == 1 && failures(c).count("later") == 1);
}

static void a_result_goes_to_the_job()
{
    muster::client c;
    c.put("q", muster::job_spec("x").id("j"));
    run_until(1, options(), [&](muster::process &p) {
        p.progress("begun");
        p.set_data("y");
        p.set_result(std::string("\0r", 2));
        const auto e = CHECK_THROWS(MUSTER_E_INVALID, p.set_failure("a\nb", ""));
        CHECK_EQUAL(std::string(e.what()).rfind("E_INVALID: set_failure", 0), 0U);
        CHECK_THROWS(MUSTER_E_INVALID, p.set_next("", 0ms));
    });
    const auto j = c.get_job("j");
    CHECK(j->state == MUSTER_JOB_COMPLETE && j->result == std::string("\0r", 2) && j->data == "y");
}

/* ---- handed on ---- */

static void what_is_handed_on_is_ended_by_another_thread()
{
    muster::client c;
    channel<muster::later> work;
    const strings tasks = {"finish", "fail", "retry", "give back", "throw", "drop", "job"};
    c.enqueue_many("q", tasks);
    c.put("q", muster::job_spec("job").id("j"));
    muster::worker w(options().hands(8));
    std::atomic<int> n{0};
    w.serve("q", [&](muster::process &p) {
        work.put(p.hand_on());
        CHECK_THROWS(MUSTER_E_STATE, p.hand_on());
        n++;
        return MUSTER_FAIL; /* which means nothing */
    });
    std::map<std::string, int> ended;
    {
        const cases::running r(w);
        for (size_t i = 0; i < tasks.size() + 2; i++) { /* what is given back comes again; and the job */
            auto one = work.take();
            const std::string task(one.view().task());
            CHECK(one && !one.is_told_to_stop());
            if (ended[task]++ > 0 || task == "finish")
                one.finish();
            else if (task == "fail")
                one.fail("mine", "because");
            else if (task == "retry")
                one.retry(1h);
            else if (task == "give back")
                one.give_back();
            else if (task == "throw")
                CHECK(one.run([](muster::process_view &) { throw std::runtime_error("of the thread"); }));
            else if (one.view().job())
                one.finish("a result");
            CHECK(!one == (task != "drop" && (task != "job" || ended[task] > 0)));
            if (!one)
                CHECK_THROWS(MUSTER_E_STATE, one.finish());
        }
        WAIT_FOR(count_running(c) == 0);
    }
    CHECK_EQUAL(n, static_cast<int>(tasks.size()) + 2);
    CHECK_EQUAL(failures(c).at("mine"), "because");
    CHECK_EQUAL(failures(c).at("exception"), "of the thread");
    CHECK_EQUAL(failures(c).at("no-outcome"), "its handle was destroyed without an end");
    CHECK(c.get_job("j")->result == "a result" || c.get_job("j")->state == MUSTER_JOB_COMPLETE);
    CHECK_EQUAL(c.length("q"), 0U);
}

static void a_handle_may_be_ended_or_dropped_in_the_handler()
{
    for (int threads = 0; threads < 3; threads += 2) {
        muster::client c;
        c.enqueue_many("q", {"finish", "retry", "drop", "throw", "run"});
        run_until(5, options().threads(threads).hands(threads ? threads : 4), [&](muster::process &p) {
            auto mine = p.hand_on();
            if (p.task() == "finish")
                mine.finish("x");
            else if (p.task() == "retry")
                mine.retry(1h);
            else if (p.task() == "throw")
                throw std::runtime_error("with the handle in hand");
            else if (p.task() == "run")
                CHECK(mine.run([](muster::process_view &) { throw muster::fail("of-run"); }));
            if (!mine) {
                CHECK_THROWS(MUSTER_E_STATE, mine.give_back());
                CHECK_THROWS(MUSTER_E_STATE, mine.run([](muster::process_view &) {}));
            }
        });
        const auto failed = failures(c);
        CHECK(failed.size() == 3 && c.queue("q")->failed == 3);
        CHECK_EQUAL(failed.at("exception"), "with the handle in hand");
        CHECK(failed.count("no-outcome") == 1 && failed.count("of-run") == 1);
        c.delete_queue("q");
    }
}

static void a_handle_outlives_its_worker()
{
    muster::client c;
    c.enqueue_many("q", {"a", "b", "c"});
    channel<muster::later> work;
    std::vector<muster::later> kept;
    {
        muster::worker w(options());
        w.serve("q", [&](muster::process &p) { work.put(p.hand_on()); });
        const cases::running r(w);
        for (int i = 0; i < 3; i++)
            kept.push_back(work.take());
    }
    CHECK_EQUAL(kept[0].stop_reason(), MUSTER_STOP_LOST);
    CHECK_THROWS(MUSTER_E_LOST, kept[0].finish());
    CHECK(!kept[0]);
    CHECK_THROWS(MUSTER_E_LOST, kept[1].progress("half"));
    bool is_called = false;
    CHECK(!kept[2].run([&](muster::process_view &) { is_called = true; }));
    CHECK(!is_called);
    kept.clear();
    CHECK_EQUAL(c.length("q"), 3U);
}

/* They ask without a pause, so one of them always does. */
static void a_worker_ends_while_many_ask_whether_to_stop()
{
    const size_t n = 32;
    const std::unique_ptr<event_base, void (*)(event_base *)> base(event_base_new(), event_base_free);
    muster::client c;
    std::atomic<size_t> n_asking{0};
    std::vector<std::thread> threads;
    auto w = std::make_unique<muster::worker>(options().id("w").ttl(1h).hands(static_cast<int>(n)).base(base.get()));
    c.enqueue_many("q", strings(n, "x"));
    w->serve("q", [&](muster::process &p) {
        threads.emplace_back([&n_asking, handle = p.hand_on()] {
            for (n_asking++; !handle.is_told_to_stop();)
                ;
        });
    });
    while (n_asking < n)
        CHECK_EQUAL(event_base_loop(base.get(), EVLOOP_ONCE), 0);
    w.reset();
    for (auto &one : threads)
        one.join();
    CHECK_EQUAL(c.fail_worker("w"), n);
}

/* Many threads end what they were handed, while the worker is destroyed. */
/* It is the parent's to end: the child's copy of the handle is destroyed, and that is all. */
static void a_child_of_fork_ends_nothing()
{
    muster::client c;
    c.enqueue_many("q", {"a"});
    channel<muster::later> work;
    muster::worker w(options());
    w.serve("q", [&](muster::process &p) { work.put(p.hand_on()); });
    const cases::running r(w);
    auto one = work.take();
    const pid_t pid = child_fork();
    if (pid == 0) {
        int code = 1;
        try {
            one.finish();
        } catch (const muster::error &e) {
            code = e.code() == MUSTER_E_STATE ? 0 : 2;
        }
        {
            const muster::later dropped(std::move(one));
        }
        _exit(code);
    }
    const int status = child_reap(pid, 20000);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    one.finish();
    WAIT_FOR(count_running(c) == 0);
    CHECK_EQUAL(c.length("q"), 0U);
}

static void ends_race_with_the_end_of_the_worker()
{
    muster::client c;
    for (int round = 0; round < 5; round++) {
        c.enqueue_many("q", std::vector<std::string>(400, "x"));
        channel<std::optional<muster::later>> work;
        std::vector<std::thread> pool;
        std::atomic<int> n{0};
        for (int i = 0; i < 4; i++)
            pool.emplace_back([&] {
                while (auto one = work.take()) {
                    one->run([&](muster::process_view &) { n++; });
                }
            });
        {
            muster::worker w(options().hands(100));
            w.serve("q", [&](muster::process &p) { work.put(p.hand_on()); });
            const cases::running r(w);
            WAIT_FOR(n > 50);
        }
        for (size_t i = 0; i < pool.size(); i++)
            work.put(std::nullopt);
        for (auto &one : pool)
            one.join();
        c.sweep();
        CHECK_EQUAL(count_running(c), 0U);
        c.delete_queue("q");
    }
}

/* ---- threads ---- */

static void handlers_on_threads_see_a_stop()
{
    muster::client c;
    c.enqueue("q", "endless");
    muster::worker w(muster::worker_options().ttl(1s).threads(2).drain(0ms));
    std::atomic<bool> has_begun{false};
    std::atomic<int> reason{0};
    w.serve("q", [&](muster::process &p) {
        has_begun = true;
        while (!p.is_told_to_stop())
            std::this_thread::sleep_for(1ms);
        reason = p.stop_reason();
        throw muster::give_back();
    });
    {
        const cases::running r(w);
        WAIT_FOR(has_begun);
        w.stop(1ms);
    }
    WAIT_FOR(reason != 0);
    CHECK_EQUAL(reason, MUSTER_STOP_DRAIN);
    CHECK_EQUAL(c.length("q"), 1U);
}

static void many_tasks_on_threads_each_run_once()
{
    muster::client c;
    constexpr int n = 2000;
    strings tasks;
    for (int i = 0; i < n; i++)
        tasks.push_back(std::to_string(i));
    c.enqueue_many("q", tasks);
    std::vector<std::atomic<int>> runs(n);
    std::atomic<int> thrown{0};
    run_until(n, muster::worker_options().threads(4).prefetch(50), [&](muster::process &p) {
        const int i = std::stoi(std::string(p.task()));
        runs[static_cast<size_t>(i)]++;
        if (i % 100 == 0) {
            thrown++;
            throw std::runtime_error("each hundredth");
        }
    });
    for (const auto &one : runs)
        CHECK_EQUAL(one, 1);
    CHECK_EQUAL(thrown, n / 100);
    CHECK_EQUAL(c.queue("q")->failed, static_cast<uint64_t>(n / 100));
}

/* ---- the worker ---- */

static void callbacks_hear_what_happens()
{
    muster::client c;
    std::vector<int> events;
    std::string id;
    auto o = options();
    o.id("w").on_event([&](muster::worker_ref me, const muster_event &e) {
        events.push_back(e.type);
        id = me.id();
    });
    int pulses = 0;
    {
        muster::worker made(o), w = std::move(made);
        w.set_pulse(1ms, [&](muster::worker_ref me) {
            if (++pulses == 3) /* it stops in a later turn of the loop */
                me.stop();
        });
        w.run();
        CHECK_EQUAL(w.id(), "w");
        const auto e = CHECK_THROWS(MUSTER_E_INVALID, w.set_pulse(-1ms, [](muster::worker_ref) {}));
        CHECK(std::string(e.what()).find("every_ms is -1") != std::string::npos);
        CHECK_EQUAL(w.stats().taken, 0U);
    }
    CHECK(!events.empty() && events.back() == MUSTER_EVENT_STOPPED && id == "w");
    CHECK(pulses >= 3);
}

static void what_has_no_memory_for_its_pulse_goes_on_without()
{
    muster::client c;
    c.enqueue("q", "x");
    bool was_refused = false;
    muster::worker w(options().max_tasks(1));
    lacks_memory = true;
    try {
        w.set_pulse(1ms, [](muster::worker_ref me) { me.stop(0ms); });
    } catch (const std::bad_alloc &) {
        was_refused = true;
    }
    lacks_memory = false;
    CHECK(was_refused);
    w.serve("q", [](muster::process &) {});
    w.run();
    CHECK_EQUAL(w.stats().finished, 1U);
}

static void each_end_that_counts_is_told()
{
    muster::client c;
    strings told;
    auto o = options();
    o.tell_ended().on_event([&](muster::worker_ref, const muster_event &e) {
        if (e.type == MUSTER_EVENT_ENDED)
            told.emplace_back(e.text);
    });
    c.enqueue("q", "x");
    run_until(1, o, [](muster::process &) {});
    CHECK(told == strings({"finished"}));
}

static void a_worker_hands_work_on_and_hears_the_answer()
{
    muster::client c;
    c.enqueue("q", "x");
    auto held = std::make_unique<int>(7); /* a handler may own what cannot be copied */
    uint64_t answers = 0;
    {
        muster::worker w(options());
        w.serve("q", [&, held = std::move(held)](muster::process &p) {
            p.worker().enqueue("next", std::to_string(*held), [&, w = p.worker()](int err, uint64_t waiting) {
                CHECK_EQUAL(err, MUSTER_OK);
                answers += waiting;
                w.stop();
            });
            p.worker().enqueue("next", "silent");
            CHECK_THROWS(MUSTER_E_INVALID, p.worker().enqueue("", "x", [](int, uint64_t) {}));
        });
        w.run();
    }
    CHECK(answers == 1 && failures(c).empty());
    CHECK_EQUAL(c.length("next"), 2U);
}

static void a_worker_puts_a_job_and_calls_a_function_in_its_loop()
{
    muster::client c;
    strings heard;
    {
        muster::worker w(options());
        w.serve("q", [&](muster::process &p) {
            p.worker().put("next", muster::job_spec("x").id("j").priority(-3), [&](int err, std::string_view id) {
                heard.push_back(std::string(muster_err_name(err)) + " " + std::string(id));
            });
            p.worker().put("next", muster::job_spec("y").id("j"), [&, w = p.worker()](int err, std::string_view id) {
                heard.push_back(std::string(muster_err_name(err)) + " " + std::string(id));
                w.post([&](muster::worker_ref self) {
                    heard.push_back("posted to " + std::string(self.id()));
                    self.stop();
                });
            });
            CHECK_THROWS(MUSTER_E_INVALID, p.worker().put("", muster::job_spec("x"), [](int, std::string_view) {}));
        });
        c.enqueue("q", "x");
        w.run();
        CHECK_THROWS(MUSTER_E_STATE, w.post([](muster::worker_ref) {}));
        CHECK(heard == strings({"OK j", "E_EXISTS j", "posted to " + std::string(w.id())}));
    }
    CHECK_EQUAL(c.get_job("j")->priority, -3);
}

/* The worker is gone before the answer: what the function holds is destroyed, and it is not called. The loop is the
 * program's. */
static void an_answer_that_never_comes_leaves_nothing()
{
    const auto token = std::make_shared<int>(0);
    const std::unique_ptr<event_base, void (*)(event_base *)> base(event_base_new(), event_base_free);
    bool has_started = false, is_called = false;
    {
        auto o = options();
        o.base(base.get()).on_event([&](muster::worker_ref, const muster_event &e) {
            has_started |= e.type == MUSTER_EVENT_STARTED;
        });
        muster::worker w(o);
        w.start();
        while (!has_started)
            event_base_loop(base.get(), EVLOOP_ONCE);
        redis_server_freeze(&server);
        w.enqueue("next", "y", [token, &is_called](int, uint64_t) { is_called = true; });
        event_base_loop(base.get(), EVLOOP_NONBLOCK);
        CHECK_EQUAL(token.use_count(), 2);
        CHECK_THROWS(MUSTER_E_STATE, w.run());
    }
    CHECK(token.use_count() == 1 && !is_called);
    redis_server_thaw(&server);
    muster::client c;
    WAIT_FOR(c.sweep() == 1);
}

static void what_is_refused_is_destroyed()
{
    const auto token = std::make_shared<int>(0);
    muster::worker w(options());
    CHECK_THROWS(MUSTER_E_INVALID, w.serve("", [token](muster::process &) {}));
    CHECK_EQUAL(token.use_count(), 1);
    w.serve("q", [token](muster::process &) {});
    const auto e = CHECK_THROWS(MUSTER_E_EXISTS, w.serve("q", [token](muster::process &) {}));
    CHECK_EQUAL(token.use_count(), 2);
    CHECK(std::string(e.what()).size() > std::string("E_EXISTS: ").size());
    CHECK_THROWS(MUSTER_E_NOT_STARTED, w.enqueue("next", "x", [token](int, uint64_t) {}));
    CHECK_EQUAL(token.use_count(), 2);
    CHECK_THROWS(MUSTER_E_NOT_FOUND, w.leave("other"));
    w = muster::worker(options());
    CHECK_EQUAL(token.use_count(), 1);
}

static void a_command_runs_for_each_task()
{
    muster::client c;
    c.put("q", muster::job_spec("some text").id("j"));
    muster::worker w(options().max_tasks(1));
    w.serve_command("q", muster::command({"sh", "-c", "wc -c"}).on_stdout(MUSTER_STDOUT_RESULT));
    w.run();
    CHECK_EQUAL(c.get_job("j")->result->substr(0, 1), "9");
    muster::worker other(options());
    CHECK_THROWS(MUSTER_E_NOT_FOUND, other.serve_command("q", muster::command({"/no/such/program"})));
}

/* ---- what nobody can catch ---- */

/* In a child: it must end by std::terminate(), and by nothing else. */
template <class F> bool terminates(F &&fn)
{
    const pid_t pid = child_fork();
    if (pid == 0) {
        std::set_terminate([] { _exit(42); });
        fn();
        _exit(1);
    }
    const int status = child_reap(pid, 20000);
    return WIFEXITED(status) && WEXITSTATUS(status) == 42;
}

static void what_a_callback_throws_is_the_end()
{
    muster::client c;
    c.enqueue("q", "x");
    CHECK(terminates([] {
        muster::worker w(options().on_event([](muster::worker_ref, const muster_event &) { throw 1; }));
        w.run();
    }));
    CHECK(terminates([] {
        muster::worker w(options());
        w.set_pulse(1ms, [](muster::worker_ref) { throw 1; });
        w.run();
    }));
    CHECK(terminates([] {
        channel<muster::later> elsewhere;
        muster::worker w(options());
        w.serve("q", [&](muster::process &p) {
            elsewhere.put(p.hand_on());
            throw std::runtime_error("whose is it?");
        });
        w.run();
    }));
    CHECK(terminates([] {
        auto w = std::make_unique<muster::worker>(options());
        w->set_pulse(1ms, [&](muster::worker_ref) { w.reset(); });
        w->run();
    }));
    c.fail_worker([&] {
        std::string id;
        c.workers([&](const muster_worker_info &info) { id = info.id; });
        return id;
    }());
    c.sweep();
}

int main(int argc, char **argv)
{
    return cases::run({CASE(a_handler_that_returns_has_finished),
                       CASE(a_handler_returns_an_outcome),
                       CASE(an_exception_is_a_failure_with_its_words),
                       CASE(a_handler_throws_an_end),
                       CASE(a_job_is_retried_after_an_exception),
                       CASE(a_result_goes_to_the_job),
                       CASE(what_is_handed_on_is_ended_by_another_thread),
                       CASE(a_handle_may_be_ended_or_dropped_in_the_handler),
                       CASE(a_handle_outlives_its_worker),
                       CASE(a_worker_ends_while_many_ask_whether_to_stop),
                       CASE(a_child_of_fork_ends_nothing),
                       CASE(ends_race_with_the_end_of_the_worker),
                       CASE(handlers_on_threads_see_a_stop),
                       CASE(many_tasks_on_threads_each_run_once),
                       CASE(callbacks_hear_what_happens),
                       CASE(what_has_no_memory_for_its_pulse_goes_on_without),
                       CASE(each_end_that_counts_is_told),
                       CASE(a_worker_hands_work_on_and_hears_the_answer),
                       CASE(a_worker_puts_a_job_and_calls_a_function_in_its_loop),
                       CASE(an_answer_that_never_comes_leaves_nothing),
                       CASE(what_is_refused_is_destroyed),
                       CASE(a_command_runs_for_each_task),
                       CASE(what_a_callback_throws_is_the_end)},
                      argc, argv);
}
