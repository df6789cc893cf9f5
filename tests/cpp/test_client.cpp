/* SPDX-License-Identifier: MIT
 *
 * The client in C++: what it passes on, what it throws and when, who owns what; callbacks that throw; leases that give
 * back what nobody has ended. What the calls do is told by the tests of C.
 */
#include <climits>
#include <future>

#include "cases.hpp"

static std::vector<std::string> waiting(muster::client &c, const char *queue)
{
    std::vector<std::string> all;
    c.peek(queue, 0, 100, [&](const muster_task &t) { all.emplace_back(muster::view(t)); });
    return all;
}

using strings = std::vector<std::string>;

/* ---- errors and options ---- */

static void an_option_that_is_not_allowed_is_named()
{
    const auto e = CHECK_THROWS(MUSTER_E_INVALID, muster::client(muster::client_options().url("nonsense://")));
    CHECK_EQUAL(std::string(e.what()).rfind("E_INVALID: ", 0), 0U);
    CHECK(std::string(e.what()).find("url") != std::string::npos);
    const auto w = CHECK_THROWS(MUSTER_E_INVALID, muster::worker(muster::worker_options().hands(-1)));
    CHECK(std::string(w.what()).find("hands") != std::string::npos);
    CHECK_THROWS(MUSTER_E_INVALID, muster::client_options().timeout(muster::ms(int64_t{INT_MAX} + 1)));
}

static void an_error_has_a_code_a_name_and_words()
{
    muster::client c;
    const auto e = CHECK_THROWS(MUSTER_E_LOST, c.finish(".lease:1j0sfv40rim:q"));
    CHECK_EQUAL(std::string(e.name()), "E_LOST");
    CHECK_EQUAL(std::string(e.what()), std::string("E_LOST: ") + muster_client_error(c.get()));
    CHECK(!e.may_pass() && !e.may_be_done());
    CHECK_EQUAL(std::string(muster::error(MUSTER_E_FULL, "").what()), "E_FULL: Redis is full");
    CHECK(muster::error(MUSTER_E_FULL, "").may_pass() && !muster::error(MUSTER_E_FULL, "").may_be_done());
}

static void a_server_that_is_away_may_have_done_it()
{
    muster::client c(muster::client_options().url("unix:///nowhere/redis.sock").timeout(100ms));
    const auto e = CHECK_THROWS(MUSTER_E_CONN, c.enqueue("q", "x"));
    CHECK(e.may_pass() && e.may_be_done());
}

static void a_name_with_a_nul_byte_is_refused()
{
    using namespace std::string_literals;
    muster::client c;
    CHECK_THROWS(MUSTER_E_INVALID, c.enqueue("q\0x"s, "task"));
    CHECK_THROWS(MUSTER_E_INVALID, c.put("q", muster::job_spec("x").tags({"a", "b\0c"s})));
    CHECK_THROWS(MUSTER_E_INVALID, c.cancel_many({"a\0b"s}));
    CHECK_THROWS(MUSTER_E_INVALID, c.enqueue("", "task"));
    CHECK_EQUAL(c.length("q"), 0U);
}

static void a_copy_of_options_is_complete_without_the_first()
{
    auto first = std::make_unique<muster::job_spec>("data");
    first->id("one").tags({"tag-1", "tag-2"}).backoff({2000, 9000, 1, 0});
    muster::job_spec second = *first;
    first->id("another");
    first.reset();
    second.key("k");
    muster::client c;
    CHECK_EQUAL(c.put("q", second), "one");
    const auto j = c.get_job("one");
    CHECK(j && j->tags == strings({"tag-1", "tag-2"}) && j->key == "k" && j->data == "data");
    CHECK(j->backoff.delay_ms == 2000 && j->backoff.max_ms == 9000 && j->backoff.exponential);
}

/* ---- tasks ---- */

static void bytes_come_out_as_they_went_in()
{
    const std::string bytes("\0a\n\xff\0", 5);
    muster::client c;
    CHECK_EQUAL(c.enqueue("q", bytes), 1U);
    CHECK_EQUAL(c.enqueue("q", ""), 2U);
    CHECK_EQUAL(c.enqueue("q", std::string_view()), 3U);
    CHECK(waiting(c, "q") == strings({bytes, "", ""}));
}

static void many_come_from_any_container()
{
    muster::client c;
    const std::vector<std::string> some = {"a", "b"};
    const std::string_view views[] = {"c", "d"};
    CHECK_EQUAL(c.enqueue_many("q", some), 2U);
    CHECK_EQUAL(c.enqueue_many("q", views), 4U);
    CHECK_EQUAL(c.enqueue_many("q", {"e", "f"}, muster::enqueue_options().at_front()), 6U);
    CHECK(waiting(c, "q") == strings({"e", "f", "a", "b", "c", "d"}));
}

static void a_request_is_done_once()
{
    muster::client c;
    const auto request = muster::enqueue_options().request_id("4711");
    for (int i = 0; i < 3; i++)
        CHECK_EQUAL(c.enqueue_many("q", {"a", "b"}, request), 2U);
    CHECK(waiting(c, "q") == strings({"a", "b"}));
    CHECK_THROWS(MUSTER_E_EXISTS, c.enqueue_many("q", {"other"}, request));
}

/* The answer is lost, and the call made again, as a producer does until there is an answer. */
static void a_request_whose_answer_was_lost_is_repeated()
{
    proxy p;
    proxy_start(&p, server.dir, server.socket);
    {
        muster::client c(p.url);
        const auto request = muster::enqueue_options().request_id("the-lost-one");
        proxy_trap(&p, "the-lost-one", PROXY_REPLIES);
        const auto e = CHECK_THROWS(MUSTER_E_CONN, c.enqueue_many("q", {"a", "b"}, request));
        CHECK(e.may_be_done());
        CHECK_EQUAL(c.enqueue_many("q", {"a", "b"}, request), 2U);
        CHECK(waiting(c, "q") == strings({"a", "b"}));
    }
    proxy_stop(&p);
}

static void a_unique_task_is_there_once()
{
    muster::client c;
    const auto first = c.enqueue_unique("q", "x"), second = c.enqueue_unique("q", "x");
    CHECK(first.is_new && !second.is_new && first.id == second.id && !first.id.empty());
    CHECK_EQUAL(c.length("q"), 1U);
}

static void a_cancel_says_how_many()
{
    muster::client c;
    c.enqueue_many("q", {"x", "y", "x"});
    auto held = c.take("q", 1min);
    CHECK_EQUAL(held->task(), "x");
    const auto r = c.cancel_task("q", "x");
    CHECK(r.waiting == 1 && r.running == 1);
    CHECK_THROWS(MUSTER_E_CANCELLED, held->give_back());
    CHECK(!*held);
    CHECK(waiting(c, "q") == strings({"y"}));
}

/* ---- lists and callbacks ---- */

static void a_callback_ends_the_list()
{
    muster::client c;
    c.enqueue_many("q", {"a", "b", "c"});
    strings seen;
    c.peek("q", 0, 100, [&](const muster_task &t) {
        seen.emplace_back(muster::view(t));
        return seen.size() == 2 ? muster::then::stop : muster::then::go_on;
    });
    CHECK(seen == strings({"a", "b"}));
}

static void an_exception_in_a_callback_comes_out_of_the_call()
{
    muster::client c;
    c.enqueue_many("q", {"a", "b", "c"});
    int n = 0;
    CHECK_COMES_OUT(std::domain_error, "enough", c.peek("q", 0, 100, [&](const muster_task &) {
        if (++n == 2)
            throw std::domain_error("enough");
    }));
    CHECK_EQUAL(n, 2);
    CHECK_EQUAL(c.length("q"), 3U); /* and the client is as good as before */
}

static void lists_tell_what_there_is()
{
    muster::client c;
    c.enqueue("q", "x");
    c.config("q", "max_running", 7);
    c.pause("q");
    strings names;
    c.queues([&](const muster_queue_info &q) { names.emplace_back(q.name); });
    CHECK(names == strings({"q"}));
    CHECK(c.queue("q")->paused && c.queue("q")->waiting == 1 && !c.queue("other"));
    int64_t value = 0;
    c.settings("q", [&](const muster_setting &s) {
        if (muster::text(s.name) == "max_running")
            value = s.value;
    });
    CHECK_EQUAL(value, 7);
    CHECK(!c.take("q", 1min));
    c.resume("q");
    auto held = c.take("q", 1min);
    int n = 0;
    c.processes(muster::process_filter().queue("q").task("x"),
                [&](const muster_process_info &p) { n += muster::text(p.id) == held->id() && muster::view(p) == "x"; });
    c.processes(muster::process_filter().task("y"), [&](const muster_process_info &) { n += 100; });
    CHECK_EQUAL(n, 1);
    CHECK_EQUAL(c.delete_queue("q").running, 1U);
    CHECK_THROWS(MUSTER_E_NOT_FOUND, c.fail_worker("nobody"));
    CHECK_EQUAL(c.sweep(), 0U);
    CHECK(c.now() > muster::at(0) && c.stats().commands > 10);
    c.probe();
}

static void progress_stops_a_long_call_and_its_exception_comes_out()
{
    muster::client c;
    strings ids;
    std::vector<muster::job_spec> specs;
    for (int i = 0; i < 250; i++)
        specs.push_back(muster::job_spec("x").id("job-" + std::to_string(i)));
    muster::put_report report;
    c.on_progress([](const muster_progress &) { return muster::then::stop; });
    CHECK_THROWS(MUSTER_E_STOPPED, c.put_many("q", specs, {}, &report));
    CHECK_EQUAL(report.put, 100U);
    CHECK_EQUAL(report.ids[249], "job-249");
    CHECK_EQUAL(c.length("q"), 100U);
    c.on_progress([](const muster_progress &) -> muster::then { throw std::range_error("mine"); });
    specs.erase(specs.begin(), specs.begin() + 100);
    specs.insert(specs.end(), 100, muster::job_spec("y"));
    CHECK_COMES_OUT(std::range_error, "mine", c.put_many("q", specs, {}, &report));
    c.on_progress(nullptr);
    c.put_many("q", std::vector<muster::job_spec>(250, muster::job_spec("z")), {}, &report);
    CHECK_EQUAL(report.put, 250U);
}

/* ---- leases ---- */

static void a_lease_that_nobody_ends_is_given_back()
{
    muster::client c;
    c.enqueue_many("q", {"a", "b"});
    {
        const auto held = c.take("q", 1min);
        CHECK(held && held->task() == "a" && held->queue() == "q" && held->token() > 0 && !held->job());
        CHECK(held->ends_at() > c.now());
        CHECK(waiting(c, "q") == strings({"b"}));
    }
    CHECK(waiting(c, "q") == strings({"a", "b"}));
}

static void a_lease_is_ended_once()
{
    muster::client c;
    c.enqueue("q", "x");
    auto held = c.take("q", 1min);
    held->extend(2min);
    held->progress("half");
    held->finish("a result");
    CHECK(!*held);
    CHECK_THROWS(MUSTER_E_STATE, held->finish());
    CHECK_THROWS(MUSTER_E_STATE, held->extend(1min));
    CHECK_EQUAL(held->task(), "x");
    CHECK(c.queue("q")->running == 0 && c.queue("q")->waiting == 0);
}

static void each_end_does_what_it_says()
{
    muster::client c;
    c.enqueue_many("q", {"a", "b", "c", "d"});
    c.take("q", 1min)->retry(1h);
    c.take("q", 1min)->fail("broken", "in words");
    auto third = c.take("q", 1min);
    const std::string id = third->release();
    CHECK(!*third);
    third.reset();
    c.finish(id);
    CHECK(waiting(c, "q") == strings({"d"}));
    int64_t due = 0;
    c.peek_delayed("q", 0, 10, [&](const muster_delayed_task &t) { due = t.due_at_ms; });
    CHECK(muster::at(due) > c.now() + 50min);
    strings failed;
    c.failed(muster::failed_filter("q").group("broken"), [&](const muster_failure &f) {
        failed.emplace_back(muster::view(f));
        failed.emplace_back(muster::view(f.message));
    });
    CHECK(failed == strings({"b", "in words"}));
    uint64_t n = 0;
    c.failed_groups([&](const muster_failed_group &g) { n += g.n; });
    CHECK_EQUAL(n, 1U);
    CHECK_EQUAL(c.replay(muster::failed_filter("q")), 1U);
    CHECK_EQUAL(c.drop(muster::failed_filter("q")), 0U);
    CHECK_THROWS(MUSTER_E_INVALID, c.take("q", 1min)->retry(-5ms));
}

static void a_holder_has_a_name()
{
    muster::client c;
    c.enqueue_many("q", {"a", "b", "c"});
    auto held = c.take_many("q", muster::take_options(1min).n(2).wait(1s).holder("me"));
    const auto other = c.take("q", 1min);
    strings ids;
    c.processes(muster::process_filter().holder("me"), [&](const muster_process_info &p) { ids.emplace_back(p.id); });
    CHECK(ids == strings({held.at(0).id(), held.at(1).id()}));
    CHECK_EQUAL(c.fail_worker("me"), 2U);
    CHECK(waiting(c, "q") == strings({"a", "b"}));
    CHECK_THROWS(MUSTER_E_LOST, held[0].finish());
    CHECK_THROWS(MUSTER_E_INVALID, c.take_many("q", muster::take_options(1min).holder("no name")));
    CHECK_THROWS(MUSTER_E_INVALID, c.take_many("q", 0, 1min));
    CHECK_THROWS(MUSTER_E_INVALID, c.take_many("q", muster::take_options(1min).n(0)));
    CHECK_THROWS(MUSTER_E_INVALID, c.take("q", 0min));
    c.enqueue("q", "d");
    CHECK(waiting(c, "q") == strings({"a", "b", "d"}));
    c.put("r", muster::job_spec("x").id("j"));
    const auto job = c.take_many("r", muster::take_options(1min).holder("me"));
    CHECK_EQUAL(c.get_job("j")->holder, "me");
}

static void a_take_that_waits_is_interrupted()
{
    muster::client c;
    CHECK(!c.interrupt_take_back());
    c.interrupt();
    CHECK(c.interrupt_take_back());
    std::atomic<bool> is_over{false};
    std::thread other([&] {
        while (!is_over) {
            c.interrupt();
            std::this_thread::sleep_for(1ms);
        }
    });
    const auto e = CHECK_THROWS(MUSTER_E_INTERRUPTED, c.take("q", 1min, 1h));
    is_over = true;
    other.join();
    CHECK(!e.may_pass() && !e.may_be_done());
    c.interrupt_take_back();
    CHECK_EQUAL(c.length("q"), 0U);
}

/* What is destroyed meanwhile takes no notice of it. */
static void an_interrupt_waits_for_the_programs_own_call()
{
    muster::client c;
    c.enqueue_many("q", {"a", "b"});
    {
        const auto held = c.take_many("q", 2, 1min);
        c.interrupt();
    }
    CHECK_THROWS(MUSTER_E_INTERRUPTED, c.take("q", 1min, 1h));
    CHECK(waiting(c, "q") == strings({"a", "b"}));
    CHECK(!c.interrupt_take_back());
}

static void a_wait_may_be_for_ever()
{
    muster::client c, other;
    muster::async_client a;
    const auto late = std::async(std::launch::async, [&] {
        raw_await(server.redis, nullptr, 1, "EVAL %s 0", "return redis.call('PUBSUB', 'NUMSUB', 'muster_q_work')[2]");
        other.enqueue("q", "x");
    });
    CHECK_EQUAL(c.take("q", 1min, muster::forever)->task(), "x");
    late.wait();
    auto stop = [](const auto &) { return muster::then::stop; };
    CHECK(c.listen("q", muster::forever, stop, [&] {
        other.enqueue("q", "x");
        other.cancel_task("q", "x");
    }));
    CHECK(c.listen_jobs("q", muster::forever, stop, [&] { other.put("q", "x"); }));
    bool has_come = false;
    a.take("r", 1, 1min, muster::forever, [&](const muster_answer &answer) { has_come = answer.n == 1; });
    CHECK(!a.wait(0ms));
    other.enqueue("r", "y");
    CHECK(a.wait());
    a.dispatch();
    CHECK(has_come);
    CHECK_THROWS(MUSTER_E_INVALID, c.take("q", 1min, -2ms));
}

static void leases_are_moved_and_outlive_their_client()
{
    std::vector<muster::lease> kept;
    {
        muster::client first;
        first.enqueue_many("q", {"a", "b", "c"});
        muster::client c = std::move(first);
        kept = c.take_many("q", 3, 1min);
    }
    CHECK_EQUAL(kept.size(), 3U);
    kept[0] = std::move(kept[2]); /* "a" goes back */
    kept.pop_back();
    muster::client c;
    CHECK(waiting(c, "q") == strings({"a"}));
    kept[0].finish();
    kept.clear();
    CHECK(waiting(c, "q") == strings({"a", "b"}));
}

static void what_is_lost_is_not_given_back()
{
    muster::client c;
    c.enqueue("q", "x");
    auto held = c.take("q", 1min);
    raw_do(server.redis, "FLUSHALL");
    CHECK_THROWS(MUSTER_E_LOST, held->extend(1min));
    CHECK(*held); /* a holder may ask again; only an end decides */
    CHECK_THROWS(MUSTER_E_LOST, held->finish());
    CHECK(!*held);
}

/* No names are none, and never all. */
static void an_empty_list_of_failures_means_none()
{
    muster::client c;
    c.enqueue("q", "x");
    c.take("q", 30s)->fail("g");
    const auto none = muster::failed_filter("q").entries({});
    CHECK_EQUAL(c.replay(none), 0U);
    CHECK_EQUAL(c.drop(none), 0U);
    c.failed(none, [](const muster_failure &) { CHECK(!"a failure that nobody has named"); });
    CHECK_EQUAL(c.replay(muster::failed_filter("q")), 1U);
}

static void an_end_without_an_answer_is_still_held()
{
    proxy p;
    proxy_start(&p, server.dir, server.socket);
    {
        muster::client c(p.url);
        c.enqueue("q", "x");
        auto held = c.take("q", 1min);
        proxy_trap(&p, "the-result-of-it", PROXY_REPLIES);
        CHECK_THROWS(MUSTER_E_CONN, held->finish("the-result-of-it"));
        CHECK(*held);
        CHECK_THROWS(MUSTER_E_LOST, held->finish("the-result-of-it")); /* the first one had counted */
        CHECK(!*held);
    }
    proxy_stop(&p);
}

static void a_lease_is_destroyed_without_redis()
{
    {
        muster::client c(muster::client_options().timeout(200ms));
        c.enqueue("q", "x");
        const auto held = c.take("q", 1min);
        redis_server_kill(&server);
    }
    redis_server_restart(&server);
}

/* ---- jobs ---- */

static void a_job_is_put_got_changed_and_cancelled()
{
    muster::client c;
    CHECK_EQUAL(c.put("q", muster::job_spec("data").id("one").retries(0).priority(-3).delay(1h).limit(5min)), "one");
    CHECK(c.put("q", "more").size() == 32);
    auto j = c.get_job("one");
    CHECK(j && j->state == MUSTER_JOB_SCHEDULED && j->retries == 0 && j->priority == -3 && j->limit == 5min);
    CHECK(j->due_at && *j->due_at > c.now() + 50min && !j->result && !j->from);
    CHECK(j->history.size() == 1 && j->history[0].what == "put" && j->history[0].at == j->put_at);
    CHECK_THROWS(MUSTER_E_EXISTS, c.put("q", muster::job_spec("data").id("one")));
    c.change("one", muster::job_change().priority(0).tag({"a", "b"}).now().only_if(MUSTER_JOB_SCHEDULED));
    j = c.get_job("one");
    CHECK(j->state == MUSTER_JOB_WAITING && j->priority == 0 && j->tags == strings({"a", "b"}));
    strings ids;
    c.jobs(muster::job_filter().tag("a"), [&](const muster_job &row) { ids.emplace_back(row.id); });
    CHECK(ids == strings({"one"}));
    CHECK_EQUAL(c.job_counts("q")[MUSTER_JOB_WAITING], 2U);
    CHECK_EQUAL(c.cancel("one").waiting, 1U);
    CHECK(!c.get_job("one"));
    CHECK_THROWS(MUSTER_E_INVALID, c.get_job(""));
}

static void of_a_large_job_there_is_a_look_at_its_beginning()
{
    muster::client c;
    std::string large(3 * MUSTER_HEAD_MAX, 'x');
    large.back() = 'y';
    c.put("q", muster::job_spec(large).id("large").tags({"t"}));
    auto j = c.peek_job("large");
    CHECK(j && j->data == large.substr(0, MUSTER_HEAD_MAX) && j->whole_len == large.size());
    CHECK(j->tags == strings({"t"}) && j->history.size() == 1 && !j->result);
    j = c.get_job("large");
    CHECK(j && j->data == large && j->whole_len == large.size());
    c.take("q", 1min)->finish(muster::finish_options().result(large));
    j = c.peek_job("large");
    CHECK(j && j->result == large.substr(0, MUSTER_HEAD_MAX) && j->whole_result_len == large.size());
    CHECK(j->before.empty() && j->whole_before == 0);
    CHECK(!c.peek_job("none"));
    CHECK_THROWS(MUSTER_E_INVALID, c.peek_job(""));
}

static void jobs_wait_for_jobs()
{
    muster::client c;
    muster::put_report report;
    const auto ids = c.put_many(
        "q", {muster::job_spec("1").id("a"), muster::job_spec("2").id("b").after({"a"}), muster::job_spec("3")}, "r-1",
        &report);
    CHECK(ids == strings({"a", "b", "r-1:3"}) && report.put == 3 && report.refused == 0);
    CHECK(c.put_many("q",
                     {muster::job_spec("1").id("a"), muster::job_spec("2").id("b").after({"a"}), muster::job_spec("3")},
                     "r-1") == ids);
    CHECK_THROWS(MUSTER_E_NOT_FOUND,
                 c.put_many("q", {muster::job_spec("x"), muster::job_spec("x").after({"nobody"})}, {}, &report));
    CHECK(report.put == 0 && report.refused == 2);
    auto first = c.take("q", 1min);
    CHECK(first->job() && first->job()->id == "a");
    first->finish(muster::finish_options().result("one done"));
    auto ended = c.wait("a", 10s);
    CHECK(ended.how == MUSTER_JOB_END_COMPLETE && ended.job && ended.job->result == "one done");
    CHECK_THROWS(MUSTER_E_TIMEOUT, c.wait("b", 0ms));
    CHECK_EQUAL(c.wait("never-was", 10s).how, MUSTER_JOB_END_GONE);
    strings parents;
    c.parents("b", [&](const muster_job_parent &p) { parents.emplace_back(muster::view(p.job->result)); });
    CHECK(parents == strings({"one done"}));
    int n = 0;
    c.wait_many({"a", "never-was"}, 10s, [&](const muster_job_ended &) { n++; });
    CHECK_EQUAL(n, 2);
    CHECK_EQUAL(c.cancel_with_dependents({"b", "r-1:3"}).waiting, 2U);
}

static void a_job_goes_on_to_a_next_queue()
{
    muster::client c;
    c.put("q", muster::job_spec("x").id("j"));
    auto held = c.take("q", 1min);
    held->set_data("y");
    held->finish(muster::finish_options().next("q2"));
    const auto again = c.take("q2", 1min);
    CHECK(again && again->job()->id == "j" && again->task() == "y");
}

static void a_batch_ends_with_what_follows_it()
{
    muster::client c;
    const std::string id = c.open_batch(muster::batch_spec().on_complete("q", "all done"));
    c.put("q", muster::job_spec("x").batch(id));
    c.close_batch(id);
    c.take("q", 1min)->finish();
    uint64_t complete = 0;
    c.batch(id, [&](const muster_batch &b) { complete = b.complete; });
    CHECK_EQUAL(complete, 1U);
    CHECK_EQUAL(c.take("q", 1min)->task(), "all done");
    int n = 0;
    c.batches([&](const muster_batch &) { n++; });
    CHECK_EQUAL(n, 1);
    CHECK_THROWS(MUSTER_E_STATE, c.cancel_batch(id));
}

/* ---- listening ---- */

static void listening_hears_and_ends()
{
    muster::client c, other;
    strings heard;
    other.put("q", muster::job_spec("x").id("j"));
    const bool was_ended = c.listen(
        "q", 20s,
        [&](const muster_queue_event &e) {
            heard.emplace_back(muster::view(*e.result));
            return muster::then::stop;
        },
        [&] { other.take("q", 1min)->finish("result"); });
    CHECK(was_ended && heard == strings({"result"}));
    CHECK(!c.listen(
        "q", 50ms, [](const muster_queue_event &) {}, [] {}));
    CHECK_COMES_OUT(
        std::domain_error, "put",
        c.listen_jobs(
            "", 20s, [](const muster_job_event &e) { throw std::domain_error(e.what); }, [&] { other.put("q", "y"); }));
    CHECK_COMES_OUT(std::domain_error, "not ready",
                    c.listen(
                        "q", 20s, [](const muster_queue_event &) {}, [] { throw std::domain_error("not ready"); }));
}

int main(int argc, char **argv)
{
    return cases::run({CASE(an_option_that_is_not_allowed_is_named),
                       CASE(an_error_has_a_code_a_name_and_words),
                       CASE(a_server_that_is_away_may_have_done_it),
                       CASE(a_name_with_a_nul_byte_is_refused),
                       CASE(a_copy_of_options_is_complete_without_the_first),
                       CASE(bytes_come_out_as_they_went_in),
                       CASE(many_come_from_any_container),
                       CASE(a_request_is_done_once),
                       CASE(a_request_whose_answer_was_lost_is_repeated),
                       CASE(a_unique_task_is_there_once),
                       CASE(a_cancel_says_how_many),
                       CASE(a_callback_ends_the_list),
                       CASE(an_exception_in_a_callback_comes_out_of_the_call),
                       CASE(lists_tell_what_there_is),
                       CASE(progress_stops_a_long_call_and_its_exception_comes_out),
                       CASE(a_lease_that_nobody_ends_is_given_back),
                       CASE(a_lease_is_ended_once),
                       CASE(each_end_does_what_it_says),
                       CASE(a_holder_has_a_name),
                       CASE(a_take_that_waits_is_interrupted),
                       CASE(an_interrupt_waits_for_the_programs_own_call),
                       CASE(a_wait_may_be_for_ever),
                       CASE(leases_are_moved_and_outlive_their_client),
                       CASE(what_is_lost_is_not_given_back),
                       CASE(an_empty_list_of_failures_means_none),
                       CASE(an_end_without_an_answer_is_still_held),
                       CASE(a_lease_is_destroyed_without_redis),
                       CASE(a_job_is_put_got_changed_and_cancelled),
                       CASE(of_a_large_job_there_is_a_look_at_its_beginning),
                       CASE(jobs_wait_for_jobs),
                       CASE(a_job_goes_on_to_a_next_queue),
                       CASE(a_batch_ends_with_what_follows_it),
                       CASE(listening_hears_and_ends)},
                      argc, argv);
}
