/* SPDX-License-Identifier: MIT
 *
 * The asynchronous client and the listener in C++: who hears what, exceptions, what is destroyed with whom. What the
 * calls do is told by the tests of C.
 */
#include <poll.h>
#include <unistd.h>

#include "cases.hpp"

using strings = std::vector<std::string>;

static bool is_readable(int fd, int wait_ms)
{
    pollfd one = {fd, POLLIN, 0};
    return poll(&one, 1, wait_ms) == 1;
}

static void await(muster::async_client &a, const bool &is_so)
{
    while (!is_so) {
        CHECK(is_readable(a.fd(), 20000));
        a.dispatch();
    }
}

static void each_call_is_heard_once_on_the_thread_that_asks()
{
    muster::async_client a;
    muster::client c;
    strings heard;
    bool is_over = false;
    const auto me = std::this_thread::get_id();
    a.enqueue("q", "a", [&](const muster_answer &answer) {
        muster::check(answer);
        CHECK(std::this_thread::get_id() == me);
        heard.push_back("enqueued " + std::to_string(answer.waiting));
    });
    a.enqueue("q", "b");
    a.put("q", muster::job_spec("c").id("j"), [&](const muster_answer &answer) { heard.emplace_back(answer.id); });
    a.put("q", muster::job_spec("d").id("j"), [&](const muster_answer &answer) {
        CHECK_THROWS(MUSTER_E_EXISTS, muster::check(answer));
        heard.emplace_back("again");
    });
    a.length("q", [&](const muster_answer &answer) { heard.push_back("wait " + std::to_string(answer.waiting)); });
    a.get_job("j", [&](const muster_answer &answer) {
        heard.emplace_back(muster::view(answer.job->data));
        is_over = true;
    });
    await(a, is_over);
    CHECK(heard == strings({"enqueued 1", "j", "again", "wait 3", "c"}));
    CHECK(a.wait() && a.dispatch() == 0);
    CHECK_EQUAL(c.length("q"), 3U);
}

static void a_take_that_waits_hears_what_comes_and_ends_it()
{
    muster::async_client a;
    bool is_over = false;
    strings taken;
    a.take("q", 1, 1min, 20s, [&](const muster_answer &answer) { /* what is in it goes with the answer */
                                                                 muster::check(answer);
                                                                 taken.emplace_back(muster::view(answer.processes[0]));
                                                                 const std::string id = answer.processes[0].id;
                                                                 a.extend(id, 1h);
                                                                 a.fail(id, "why", "because",
                                                                        [&](const muster_answer &end) {
                                                                            muster::check(end);
                                                                            is_over = true;
                                                                        });
    });
    a.enqueue("q", "x");
    await(a, is_over);
    muster::client c;
    CHECK(taken == strings({"x"}));
    strings failed;
    c.failed(muster::failed_filter("q"), [&](const muster_failure &f) { failed.emplace_back(f.group); });
    CHECK(failed == strings({"why"}));
}

static void each_end_is_what_it_says()
{
    muster::client c;
    muster::async_client a;
    strings errors;
    auto note = [&](const muster_answer &answer) { errors.emplace_back(muster_err_name(answer.err)); };
    c.put("q", muster::job_spec("x").id("j").retries(5));
    const auto take = [&] { return c.take("q", 1min)->release(); };
    a.retry(take(), muster::retry(0ms, "busy", "the line"), note);
    CHECK(a.wait() && a.dispatch() == 1);
    CHECK_EQUAL(c.get_job("j")->group, "busy");
    const std::string held = take();
    a.give_back(held, note);
    a.give_back(held, note);
    CHECK(a.wait() && a.dispatch() == 2);
    a.finish(take(), muster::finish_options().result("r"), note);
    CHECK(a.wait() && a.dispatch() == 1);
    CHECK(errors == strings({"OK", "OK", "E_LOST", "OK"}));
    CHECK_EQUAL(c.get_job("j")->result.value_or(""), "r");
    CHECK_THROWS(MUSTER_E_INVALID, a.retry(held, muster::retry(-5ms), note));
}

static void an_exception_comes_out_and_the_answers_behind_it_are_told_next()
{
    muster::async_client a;
    int n = 0;
    for (int i = 0; i < 10; i++)
        a.enqueue("q", "x", [&](const muster_answer &) {
            if (++n == 4)
                throw std::domain_error("mine");
        });
    CHECK(a.wait());
    CHECK_COMES_OUT(std::domain_error, "mine", a.dispatch());
    CHECK(n == 4 && is_readable(a.fd(), 0));
    CHECK_EQUAL(a.dispatch(2), 2U);
    CHECK_EQUAL(a.dispatch(), 4U);
    CHECK_EQUAL(n, 10);
}

/* Their answers may never end: the loop of the program must come to what else it has. */
static void what_is_asked_meanwhile_is_told_the_next_time()
{
    muster::async_client a;
    size_t told = 0;
    std::function<void()> ask = [&] {
        a.length("q", [&](const muster_answer &) {
            if (++told < 20)
                ask();
            CHECK(a.wait()); /* its answer is there */
        });
    };
    ask();
    ask();
    CHECK(a.wait());
    CHECK(a.dispatch() <= 3 && told >= 2);
    while (a.dispatch() > 0)
        ;
    CHECK(told >= 20);
}

/* So many can be there at once. */
static void what_a_listener_hears_meanwhile_is_told_the_next_time()
{
    muster::client c;
    muster::listener l(muster::client_options(), 2);
    int heard = 0;
    const auto hear = [&](const muster_heard &) {
        if (++heard < 20)
            c.cancel_task("q", "x");
        CHECK(heard >= 20 || is_readable(l.fd(), 20000));
    };
    l.add("q", MUSTER_LISTEN_CANCELLED);
    while (heard < 20) {
        CHECK(is_readable(l.fd(), 20000));
        CHECK(l.next(hear) <= 2);
    }
}

/* No other function is called, and what the client holds is gone when the call returns. */
static void a_client_or_listener_may_be_destroyed_in_its_function()
{
    const auto token = std::make_shared<int>(0);
    auto a = std::make_unique<muster::async_client>();
    auto l = std::make_unique<muster::listener>();
    int n = 0;
    for (int i = 0; i < 3; i++)
        a->put("q", muster::job_spec("x").id("j"), [&, token](const muster_answer &answer) {
            a.reset();
            CHECK_EQUAL(std::string(answer.id), "j");
            n++;
        });
    CHECK(a->wait());
    CHECK_EQUAL(a->dispatch(), 1U);
    CHECK(n == 1 && !a && token.use_count() == 1);
    l->add("q");
    CHECK(is_readable(l->fd(), 20000));
    CHECK_EQUAL(l->next([&](const muster_heard &h) {
        l.reset();
        CHECK_EQUAL(std::string(h.queue), "q");
    }),
                1U);
}

/* As after a call of C that frees it there: what the program was not told of is nobody's. */
static void what_a_destroyed_client_has_taken_goes_back()
{
    muster::client c;
    c.enqueue_many("q", {"a", "b", "c"});
    auto a = std::make_unique<muster::async_client>();
    for (int i = 0; i < 3; i++)
        a->take("q", 1, 1min, 0ms, [&](const muster_answer &answer) {
            CHECK_EQUAL(answer.n, 1U);
            a.reset();
        });
    CHECK(a->wait());
    CHECK_EQUAL(a->dispatch(), 1U);
    CHECK_EQUAL(c.length("q"), 2U);
}

static void a_child_is_told_nothing_behind_the_function_that_forks()
{
    muster::async_client a;
    muster::client c;
    muster::listener l;
    pid_t child = -1;
    auto fork_once = [&](const auto &) { child = child < 0 ? child_fork() : child; };
    for (int i = 0; i < 3; i++)
        a.enqueue("q", "x", fork_once);
    CHECK(a.wait());
    size_t n = a.dispatch();
    if (child == 0)
        _exit(n == 1 ? 0 : 1);
    CHECK_EQUAL(n, 3U);
    CHECK_EQUAL(child_reap(child, 20000), 0);
    for (const char *queue : {"a", "b", "c"})
        l.add(queue);
    child = -1;
    for (n = 0; n < 3;) {
        CHECK(is_readable(l.fd(), 20000));
        n += l.next(fork_once);
        if (child == 0)
            _exit(n == 1 ? 0 : 1);
    }
    CHECK_EQUAL(child_reap(child, 20000), 0);
}

static void a_client_or_listener_may_be_moved_in_its_function()
{
    muster::async_client a, other;
    muster::listener l, heir;
    int n = 0;
    for (int i = 0; i < 3; i++)
        a.enqueue("q", "x", [&](const muster_answer &) {
            if (n++ == 0)
                other = std::move(a);
        });
    CHECK(a.wait());
    CHECK_EQUAL(a.dispatch() + other.dispatch(), 3U);
    CHECK_EQUAL(n, 3);
    l.add("q");
    CHECK(is_readable(l.fd(), 20000));
    CHECK_EQUAL(l.next([&](const muster_heard &) { heir = std::move(l); }), 1U);
    heir.add("r");
}

static void what_is_refused_or_never_answered_is_destroyed_and_not_called()
{
    const auto token = std::make_shared<int>(0);
    bool is_called = false;
    auto hold = [token, &is_called](const muster_answer &) { is_called = true; };
    {
        muster::async_client a(muster::client_options(), 2);
        const auto before = token.use_count();
        const auto e = CHECK_THROWS(MUSTER_E_INVALID, a.enqueue("", "x", hold));
        CHECK(std::string(e.what()).size() > std::string("E_INVALID: ").size());
        using namespace std::string_literals;
        CHECK_THROWS(MUSTER_E_INVALID, a.enqueue("q\0r"s, "x", hold));
        CHECK_EQUAL(token.use_count(), before);
        redis_server_freeze(&server);
        a.enqueue("q", "x", hold);
        a.enqueue("q", "x", hold);
        CHECK_THROWS(MUSTER_E_BUSY, a.enqueue("q", "x", hold));
        CHECK_EQUAL(token.use_count(), before + 2);
        CHECK(!a.wait(1ms));
        muster::async_client moved = std::move(a);
    }
    redis_server_thaw(&server);
    CHECK(token.use_count() == 2 && !is_called); /* here, and in `hold` */
    CHECK_THROWS(MUSTER_E_INVALID, muster::async_client(muster::client_options().url("nonsense://")));
}

static void many_threads_ask_at_once()
{
    muster::async_client a;
    std::atomic<int> n{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
        threads.emplace_back([&] {
            for (int i = 0; i < 500; i++)
                a.enqueue("q", "x", [&](const muster_answer &answer) { n += answer.err == MUSTER_OK; });
        });
    while (n < 2000) {
        CHECK(is_readable(a.fd(), 20000));
        a.dispatch(10);
    }
    for (auto &one : threads)
        one.join();
    CHECK_EQUAL(muster::client().length("q"), 2000U);
}

static void a_listener_hears_from_ready_on()
{
    muster::client c;
    muster::listener l;
    strings heard;
    auto note = [&](const muster_heard &h) {
        if (h.type == MUSTER_HEARD_DONE && muster::view(*h.result) == "throw")
            throw std::domain_error("mine");
        heard.push_back(std::to_string(h.type) + (h.result ? std::string(muster::view(*h.result)) : ""));
    };
    auto await_n = [&](size_t n) {
        while (heard.size() < n) {
            CHECK(is_readable(l.fd(), 20000));
            l.next(note);
        }
    };
    l.add("q", MUSTER_LISTEN_DONE);
    await_n(1);
    c.enqueue_many("q", {"a", "b"});
    c.take("q", 1min)->finish("one");
    await_n(2);
    c.take("q", 1min)->finish("throw");
    CHECK(is_readable(l.fd(), 20000));
    CHECK_COMES_OUT(std::domain_error, "mine", l.next(note));
    l.remove("q");
    l.add_jobs_of_all_queues();
    await_n(3);
    c.put("q", "x");
    await_n(4);
    l.remove_jobs_of_all_queues();
    CHECK(heard == strings({"1", "3one", "1", "6"}));
    CHECK_THROWS(MUSTER_E_INVALID, l.add("q", 0));
}

int main(int argc, char **argv)
{
    return cases::run(
        {CASE(each_call_is_heard_once_on_the_thread_that_asks), CASE(a_take_that_waits_hears_what_comes_and_ends_it),
         CASE(each_end_is_what_it_says), CASE(an_exception_comes_out_and_the_answers_behind_it_are_told_next),
         CASE(what_is_asked_meanwhile_is_told_the_next_time),
         CASE(what_a_listener_hears_meanwhile_is_told_the_next_time),
         CASE(a_client_or_listener_may_be_destroyed_in_its_function), CASE(what_a_destroyed_client_has_taken_goes_back),
         CASE(a_child_is_told_nothing_behind_the_function_that_forks),
         CASE(a_client_or_listener_may_be_moved_in_its_function),
         CASE(what_is_refused_or_never_answered_is_destroyed_and_not_called), CASE(many_threads_ask_at_once),
         CASE(a_listener_hears_from_ready_on)},
        argc, argv);
}
