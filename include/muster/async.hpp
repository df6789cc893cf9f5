/* SPDX-License-Identifier: MIT
 *
 * C++: the asynchronous client (async.h), and the listener (listen.h), which never block. Each has a descriptor for the
 * program's own event loop; lambdas hear answers and events, on the thread that asks for them. muster.hpp has the rules
 * that hold everywhere.
 */
#ifndef MUSTER_ASYNC_HPP
#define MUSTER_ASYNC_HPP

#include <atomic>

#include "client.hpp"
#include "job.hpp"

namespace muster
{

namespace detail
{

/* What C hands out, one by one: what is not told stays where C knows it. fetch(&item) is the call of C. `held` holds its
 * handle meanwhile; when nobody else does any more, a function has destroyed the program's object. */
template <class Item, class Holder, class Fetch, class F>
size_t each(const Holder &held, size_t max, Fetch &&fetch, F &&fn)
{
    size_t n = 0;
    Item item{};
    item.size = sizeof item;
    for (; held.use_count() > 1 && (max == 0 || n < max) && fetch(&item) == 1; n++)
        fn(item);
    return n;
}

/* Who hears an answer. */
struct asked : pending::one {
    uint64_t number = 0; /* of the client's calls with a function */

    virtual void tell(const muster_answer &answer) = 0;
};

template <class F> struct asked_by final : asked {
    F fn;

    explicit asked_by(F f) : fn(std::move(f)) {}
    void tell(const muster_answer &answer) override { fn(answer); }
};

} // namespace detail

/* Throws what an answer says, unless it is MUSTER_OK. */
inline void check(const muster_answer &answer)
{
    if (answer.err != MUSTER_OK)
        throw error(answer.err, text(answer.text));
}

/*
 * Each call returns at once; its `fn(const muster_answer &)` is called once with the answer, by dispatch(), on the
 * thread that calls it. What the answer points to is borrowed until `fn` returns. A call that throws has no answer.
 * Without `fn` nobody hears what came of it.
 *
 * Any thread may call, also from an `fn`. Only dispatch() is for one thread at a time, and an `fn` must not call it. If
 * the client is destroyed, the functions of calls that have no answer yet are destroyed with it, and not called.
 */
class async_client
{
  public:
    /* 0: the defaults of async.h. */
    explicit async_client(const client_options &o = client_options(), size_t max_in_flight = 0, size_t max_bytes = 0)
        : s_(std::make_shared<state>())
    {
        muster_async_options all{};
        all.size = sizeof all;
        all.client = &o.c();
        all.max_in_flight = max_in_flight;
        all.max_bytes = max_bytes;
        const int err = muster_async_new(&s_->a, &all);
        if (err != MUSTER_OK)
            throw error(err, text(err == MUSTER_E_INVALID ? muster_async_options_check(&all) : nullptr));
    }

    /* muster_async_fd(): readable while there are answers. */
    int fd() const noexcept { return muster_async_fd(s_->a); }

    /* Call the functions of up to `max` answers, 0: of those that are there, up to the first one of a call that was made
     * meanwhile; so it ends, whatever the functions ask for. Returns how many there were. An exception in one comes out
     * of here; the answers behind it are told by the next call. A function may destroy the client: then no other one is
     * called, and it is gone when this returns. */
    size_t dispatch(size_t max = 0)
    {
        const auto s = s_;
        const uint64_t made = s->n_made;
        bool goes_on = true;
        return detail::each<muster_answer>(
            s, max, [&](muster_answer *out) { return goes_on ? muster_async_next(s->a, out, 1) : 0; },
            [&](const muster_answer &answer) {
                if (auto *who = static_cast<detail::asked *>(answer.arg)) {
                    goes_on = max > 0 || who->number <= made;
                    const auto mine = s->unanswered.take(who);
                    who->tell(answer);
                }
            });
    }

    /* muster_async_wait(): until all calls have their answers, which dispatch() then tells; false: not in time. */
    bool wait(ms timeout = forever)
    {
        const int err = muster_async_wait(s_->a, timeout.count());
        if (err != MUSTER_E_TIMEOUT)
            check(err);
        return err == MUSTER_OK;
    }

    /* ---- the calls ---- */

    /* muster_async_enqueue(). */
    template <class F = std::nullptr_t> void enqueue(std::string_view queue, std::string_view task, F fn = nullptr)
    {
        ask(std::move(fn), [&](void *arg) {
            return muster_async_enqueue(s_->a, detail::ztext(queue), task.data(), task.size(), nullptr, arg);
        });
    }

    /* muster_async_put(). */
    template <class F = std::nullptr_t> void put(std::string_view queue, const job_spec &spec, F fn = nullptr)
    {
        ask(std::move(fn),
            [&](void *arg) { return muster_async_put(s_->a, detail::ztext(queue), &spec.c(), nullptr, arg); });
    }

    /* muster_async_take(). What `fn` is told of is its to end, by the id of each process. */
    template <class F> void take(std::string_view queue, size_t n, ms lease_time, ms wait, F fn)
    {
        ask(std::move(fn), [&](void *arg) {
            return muster_async_take(s_->a, detail::ztext(queue), n, lease_time.count(), detail::wait_ms(wait), nullptr,
                                     arg);
        });
    }

    /* muster_async_finish() and its like. */
    template <class F = std::nullptr_t> void finish(std::string_view process, const finish_options &o, F fn = nullptr)
    {
        ask(std::move(fn),
            [&](void *arg) { return muster_async_finish(s_->a, detail::ztext(process), &o.c(), nullptr, arg); });
    }
    template <class F = std::nullptr_t> void give_back(std::string_view process, F fn = nullptr)
    {
        ask(std::move(fn),
            [&](void *arg) { return muster_async_give_back(s_->a, detail::ztext(process), nullptr, arg); });
    }

    /* Without a delay a task is retried at once, a job after its own backoff. */
    template <class F = std::nullptr_t>
    void retry(std::string_view process, const muster::retry &how = muster::retry(), F fn = nullptr)
    {
        const int64_t delay = detail::retry_delay(how);
        ask(std::move(fn), [&](void *arg) {
            return muster_async_retry_as(s_->a, detail::ztext(process), delay, detail::ztext(how.group).or_null(),
                                         detail::ztext(how.message).or_null(), nullptr, arg);
        });
    }
    template <class F = std::nullptr_t>
    void fail(std::string_view process, std::string_view group, std::string_view message, F fn = nullptr)
    {
        ask(std::move(fn), [&](void *arg) {
            return muster_async_fail(s_->a, detail::ztext(process), detail::ztext(group), detail::ztext(message),
                                     nullptr, arg);
        });
    }

    /* muster_async_extend(): the lease ends this long from when Redis hears it. */
    template <class F = std::nullptr_t> void extend(std::string_view process, ms lease_time, F fn = nullptr)
    {
        muster_extend_options o{};
        o.size = sizeof o;
        o.lease_ms = lease_time.count();
        ask(std::move(fn),
            [&](void *arg) { return muster_async_extend(s_->a, detail::ztext(process), &o, nullptr, arg); });
    }

    /* muster_async_job(), muster_async_length(). */
    template <class F> void get_job(std::string_view id, F fn)
    {
        ask(std::move(fn), [&](void *arg) { return muster_async_job(s_->a, detail::ztext(id), nullptr, arg); });
    }
    template <class F> void length(std::string_view queue, F fn)
    {
        ask(std::move(fn), [&](void *arg) { return muster_async_length(s_->a, detail::ztext(queue), nullptr, arg); });
    }

    /* What C++ has no call for. With a function of C in `fn`, `arg` belongs to dispatch(): give NULL, and take the answers
     * by muster_async_next() yourself, or not at all. */
    muster_async *get() const noexcept { return s_->a; }
    void check(int err) const
    {
        if (err != MUSTER_OK)
            throw error(err, text(muster_async_error(s_->a)));
    }

  private:
    struct state {
        muster_async *a = nullptr;
        detail::pending unanswered;
        std::atomic<uint64_t> n_made{0}; /* calls with a function */

        state() = default;
        state(const state &) = delete;
        state &operator=(const state &) = delete;
        ~state() { muster_async_free(a); }
    };

    /* make(arg) makes the call of C. */
    template <class F, class Make> void ask(F fn, Make &&make)
    {
        if constexpr (std::is_same_v<F, std::nullptr_t>) {
            check(make(nullptr));
        } else {
            std::unique_ptr<detail::asked> who = std::make_unique<detail::asked_by<F>>(std::move(fn));
            who->number = ++s_->n_made;
            check(s_->unanswered.hand_in(std::move(who), make));
        }
    }

    std::shared_ptr<state> s_;
};

/* What happens in queues (listen.h): with READY and GAP, which say from when on nothing is missed. */
class listener
{
  public:
    /* 0: the defaults of listen.h. */
    explicit listener(const client_options &o = client_options(), size_t max_heard = 0, size_t max_bytes = 0)
        : s_(std::make_shared<state>())
    {
        muster_listener_options all{};
        all.size = sizeof all;
        all.client = &o.c();
        all.max_heard = max_heard;
        all.max_bytes = max_bytes;
        s_->most = max_heard ? max_heard : MUSTER_LISTENER_HEARD_DEFAULT;
        const int err = muster_listener_new(&s_->l, &all);
        if (err != MUSTER_OK)
            throw error(err, text(err == MUSTER_E_INVALID ? muster_listener_options_check(&all) : nullptr));
    }

    /* muster_listener_fd(): readable while there is something. */
    int fd() const noexcept { return muster_listener_fd(s_->l); }

    /* muster_listener_add(): `kinds` are bits of muster_listen_kind. Any thread, as all but next(). */
    void add(std::string_view queue, int kinds = MUSTER_LISTEN_ALL)
    {
        check(muster_listener_add(s_->l, detail::ztext(queue), kinds));
    }
    void add_jobs_of_all_queues() { check(muster_listener_add(s_->l, nullptr, MUSTER_LISTEN_JOBS)); }

    /* muster_listener_remove(). */
    void remove(std::string_view queue) { check(muster_listener_remove(s_->l, detail::ztext(queue))); }
    void remove_jobs_of_all_queues() { check(muster_listener_remove(s_->l, nullptr)); }

    /* muster_listener_next(): fn(const muster_heard &) for up to `max` events, 0: until there are none, but for no more
     * than are kept (`max_heard`); so it ends, whatever comes meanwhile. Returns how many there were. An exception in
     * `fn` comes out of here; what is behind it is told by the next call. `fn` may destroy the listener: then it is
     * called no more. */
    template <class F> size_t next(F &&fn, size_t max = 0)
    {
        const auto s = s_;
        return detail::each<muster_heard>(
            s, max ? max : s->most, [&](muster_heard *out) { return muster_listener_next(s->l, out, 1); }, fn);
    }

    muster_listener *get() const noexcept { return s_->l; }
    void check(int err) const
    {
        if (err != MUSTER_OK)
            throw error(err, text(muster_listener_error(s_->l)));
    }

  private:
    struct state {
        muster_listener *l = nullptr;
        size_t most = 0; /* so many can be there */

        state() = default;
        state(const state &) = delete;
        state &operator=(const state &) = delete;
        ~state() { muster_listener_free(l); }
    };

    std::shared_ptr<state> s_;
};

} // namespace muster

#endif
