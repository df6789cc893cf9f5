/* SPDX-License-Identifier: MIT
 *
 * C++: the worker, and the processes that its handlers have in hand (worker.h).
 */
#ifndef MUSTER_WORKER_HPP
#define MUSTER_WORKER_HPP

#include <atomic>
#include <exception>
#include <mutex>
#include <new>
#include <shared_mutex>

#include "error.hpp"
#include "job.hpp"

namespace muster
{

/* ---- processes: what a handler has in its hands ---- */

/*
 * A process, borrowed: it costs nothing to copy, and lives as long as the process of C (worker.h). The process of an
 * event (muster_event::process) becomes one by process_view(e.process).
 *
 * The calls marked "any thread" may be made from any thread until the process has ended.
 */
class process_view
{
  public:
    explicit process_view(muster_process *p) noexcept : p_(p) {}

    muster_process *get() const noexcept { return p_; }

    /* Any thread. The views live as long as the process. */
    std::string_view id() const noexcept { return muster_process_id(p_); }
    std::string_view queue() const noexcept { return muster_process_queue(p_); }
    uint64_t token() const noexcept { return muster_process_token(p_); }
    std::string_view task() const noexcept
    {
        size_t len;
        const void *data = muster_process_task(p_, &len);
        return view(data, len);
    }

    /* Any thread. The record of its job, borrowed as long as the process lives; NULL: a task. */
    const muster_job *job() const noexcept { return muster_process_job(p_); }

    /* Whether the handler must stop, and why. Any thread. */
    muster_stop_reason stop_reason() const noexcept { return muster_process_stop_reason(p_); }
    bool is_told_to_stop() const noexcept { return stop_reason() != MUSTER_GO_ON; }

    /* MUSTER_STOP_MOVE: the time that is left to give it back; none: it was not asked to. Any thread. */
    std::optional<ms> move_time() const noexcept
    {
        const int64_t left = muster_process_move_ms(p_);
        return left >= 0 ? std::optional<ms>(left) : std::nullopt;
    }
    void stay(ms for_time = ms(0)) { check("stay", muster_process_stay(p_, for_time.count())); }

    /* For its end, as in worker.h. */
    void set_retry(ms delay) { check("set_retry", muster_process_set_retry(p_, delay.count())); }
    void set_failure(std::string_view group, std::string_view message)
    {
        check("set_failure", muster_process_set_failure(p_, detail::ztext(group), detail::ztext(message)));
    }
    void set_result(std::string_view result)
    {
        check("set_result", muster_process_set_result(p_, result.data(), result.size()));
    }
    void set_next(std::string_view queue, ms delay = ms(0), const std::vector<std::string> &after = {})
    {
        const auto ids = detail::pointers(after);
        check("set_next", muster_process_set_next(p_, detail::ztext(queue), delay.count(), ids.data(), ids.size()));
    }

    /* Any thread. They are sent at once, not with the end. */
    void set_data(std::string_view data) { check("set_data", muster_process_set_data(p_, data.data(), data.size())); }
    void progress(std::string_view note) { check("progress", muster_process_progress(p_, detail::ztext(note))); }

    /* Its time limit ends this long from now; 0: it has none any more. Any thread. */
    void extend(ms limit) { check("extend", muster_process_extend(p_, limit.count())); }

  private:
    static void check(const char *what, int err)
    {
        if (err != MUSTER_OK)
            throw error(err, std::string(what) + ": " + muster_err_text(err));
    }

    muster_process *p_;
};

class later;
class worker_ref;

namespace detail
{

template <class F> struct worker_handler;
template <class F> struct enqueue_answer;
template <class F> struct put_answer;
template <class F> struct posted;

/* Something that C has a pointer to, and that the worker owns. */
struct owned {
    owned() = default;
    owned(const owned &) = delete;
    owned &operator=(const owned &) = delete;
    virtual ~owned() = default;
};

/* Whether the worker still is. Calls about a process from other threads hold the lock shared; the worker's destructor
 * holds it when it has closed the gate, but not while it waits for its handlers, which may want to come in. Where it is
 * closed nobody asks for the lock: those who ask all the time would leave it to nobody else. */
class gate
{
  public:
    /* Call fn() while the worker is there. False: it is not. */
    template <class F> bool pass(F &&fn)
    {
        if (!is_open_)
            return false;
        const std::shared_lock<std::shared_mutex> in(lock_);
        if (!is_open_)
            return false;
        fn();
        return true;
    }
    void close()
    {
        is_open_ = false;
        const std::unique_lock<std::shared_mutex> out(lock_);
    }

  private:
    std::shared_mutex lock_;
    std::atomic<bool> is_open_{true};
};

/* A worker's part of C++. It stays where it is when the worker is moved: C knows its address. */
struct worker_state {
    muster_worker *w = nullptr;
    const std::shared_ptr<gate> door = std::make_shared<gate>();
    std::function<void(worker_ref, const muster_event &)> on_event;
    std::function<void(worker_ref, const muster_end &)> on_end;
    std::shared_ptr<const std::function<void(worker_ref)>> pulse;
    pending unanswered; /* enqueues, puts and posts */

    std::mutex lock; /* of all that follows */
    bool is_started = false;
    std::vector<std::unique_ptr<owned>> handlers; /* one may run until the worker is gone */

    worker_state() = default;
    worker_state(const worker_state &) = delete;
    worker_state &operator=(const worker_state &) = delete;
    ~worker_state()
    {
        door->close();
        muster_worker_free(w);
    }
};

/* A handler or callback that runs on this thread, and what was said of its process meanwhile. */
struct frame {
    const worker_state &state;
    muster_process *const p; /* NULL: it is no handler */
    frame *const outer;
    bool is_later = false; /* process::later() was called */
    bool is_ended = false; /* the handle has been ended here, before the handler has returned */
    muster_outcome outcome = MUSTER_FAIL;

    frame(const worker_state &s, muster_process *process) noexcept : state(s), p(process), outer(top())
    {
        top() = this;
    }
    frame(const frame &) = delete;
    frame &operator=(const frame &) = delete;
    ~frame() { top() = outer; }

    static frame *&top() noexcept
    {
        static thread_local frame *innermost = nullptr;
        return innermost;
    }
    static frame *of(const muster_process *process) noexcept
    {
        frame *f = top();
        while (f && f->p != process)
            f = f->outer;
        return f;
    }
    static bool is_within(const worker_state *s) noexcept
    {
        const frame *f = top();
        while (f && &f->state != s)
            f = f->outer;
        return f != nullptr;
    }

    void end(muster_outcome o) noexcept
    {
        is_ended = true;
        outcome = o;
    }

    /* What C is told. After an exception nobody else may hold the process: it has one end. */
    muster_outcome answer(muster_outcome returned, bool has_thrown) const noexcept
    {
        if (has_thrown && is_later && !is_ended)
            std::terminate();
        if (has_thrown)
            return returned;
        return is_ended ? outcome : is_later ? MUSTER_LATER : returned;
    }
};

/* Why it fails, in any words: what is too long is cut, at a character of UTF-8; without memory there is no message. */
inline void note_failure(process_view p, const char *group, const char *message) noexcept
{
    std::string_view all(message);
    if (all.size() <= MUSTER_MESSAGE_MAX) {
        static_cast<void>(muster_process_set_failure(p.get(), group, message));
        return;
    }
    size_t len = MUSTER_MESSAGE_MAX;
    while (len > 0 && (static_cast<unsigned char>(all[len]) & 0xc0) == 0x80)
        len--;
    try {
        static_cast<void>(muster_process_set_failure(p.get(), group, std::string(all.substr(0, len)).c_str()));
    } catch (const std::bad_alloc &) {
        static_cast<void>(muster_process_set_failure(p.get(), group, nullptr));
    }
}

/* A group of the program's; one that is not allowed must not hide why it failed. */
inline void note_group(process_view p, const std::string &group, const std::string &message) noexcept
{
    const bool is_allowed = group.find('\0') == std::string::npos && muster_tag_check(group.c_str()) == nullptr;
    note_failure(p, is_allowed ? group.c_str() : "bad-group", message.c_str());
}

inline muster_outcome fail_by_exception(process_view p, const char *what) noexcept
{
    note_failure(p, "exception", what);
    return p.job() ? MUSTER_RETRY : MUSTER_FAIL;
}

inline muster_outcome retry_by_exception(process_view p, const retry &r) noexcept
{
    if (r.delay && muster_process_set_retry(p.get(), r.delay->count()) != MUSTER_OK)
        return fail_by_exception(p, "muster::retry was thrown with a delay that is negative or too long");
    if (!r.group.empty() || !r.message.empty())
        note_group(p, r.group.empty() ? std::string("retried") : r.group, r.message);
    return MUSTER_RETRY;
}

/* Within a catch: what the exception means. */
inline muster_outcome outcome_of_exception(process_view p) noexcept
{
    try {
        throw;
    } catch (const retry &r) {
        return retry_by_exception(p, r);
    } catch (const give_back &) {
        return MUSTER_GIVE_BACK;
    } catch (const fail &f) {
        note_group(p, f.group, f.message);
        return MUSTER_FAIL;
    } catch (const std::exception &e) {
        return fail_by_exception(p, e.what());
    } catch (...) {
        return fail_by_exception(p, "an exception that is no std::exception");
    }
}

template <class F, class P> muster_outcome run_handler(F &fn, P &p)
{
    using result = std::invoke_result_t<F &, P &>;
    static_assert(std::is_void_v<result> || std::is_same_v<result, muster_outcome>,
                  "a handler returns nothing (it is finished) or a muster_outcome");
    if constexpr (std::is_void_v<result>) {
        std::invoke(fn, p);
        return MUSTER_FINISH;
    } else {
        return std::invoke(fn, p);
    }
}

} // namespace detail

/*
 * The process that a handler runs for, until it returns.
 */
class process : public process_view
{
  public:
    process(const process &) = delete;
    process &operator=(const process &) = delete;

    /* The handler does not end it: whoever holds this handle does, on any thread. Once in a handler (E_STATE). What the
     * handler returns then means nothing. If it throws, the handle must still be here, in the handler: another holder
     * would end the process a second time, and std::terminate() is called. */
    later hand_on();

    /* The worker that runs it. */
    worker_ref worker() const noexcept;

  private:
    template <class F> friend struct detail::worker_handler;

    process(detail::worker_state &s, detail::frame &f) noexcept : process_view(f.p), state_(s), frame_(f) {}

    detail::worker_state &state_;
    detail::frame &frame_;
};

/*
 * A process whose handler has handed it on (process::hand_on()): it is ended once, from any thread; one thread at a
 * time may use the handle. A handle that is destroyed without an end fails its process, group "no-outcome": nobody
 * would end it any more.
 *
 * When the worker is destroyed its processes go back, and what the handle borrows is dead. Its calls know that: they
 * throw E_LOST, stop_reason() is MUSTER_STOP_LOST, and the destructor does nothing. But what view() gives must not be
 * used any more.
 *
 * It may be ended before the handler has returned, also by the loop's thread if the handler runs on another one: the end
 * waits for the handler then.
 */
class later
{
  public:
    later(later &&other) noexcept : p_(std::exchange(other.p_, nullptr)), door_(std::move(other.door_)) {}
    later &operator=(later &&other) noexcept
    {
        if (this != &other) {
            let_go();
            p_ = std::exchange(other.p_, nullptr);
            door_ = std::move(other.door_);
        }
        return *this;
    }
    later(const later &) = delete;
    later &operator=(const later &) = delete;
    ~later() { let_go(); }

    /* Whether it was not ended yet. */
    explicit operator bool() const noexcept { return p_ != nullptr; }

    /* The process; until it is ended or its worker destroyed. */
    process_view view() const noexcept { return process_view(p_); }

    muster_stop_reason stop_reason() const
    {
        muster_stop_reason reason = MUSTER_STOP_LOST;
        if (p_)
            door_->pass([&] { reason = view().stop_reason(); });
        return reason;
    }
    bool is_told_to_stop() const { return stop_reason() != MUSTER_GO_ON; }
    void progress(std::string_view note)
    {
        with([&](process_view p) { p.progress(note); });
    }
    void extend(ms limit)
    {
        with([&](process_view p) { p.extend(limit); });
    }

    void finish()
    {
        end_as([](process_view) { return MUSTER_FINISH; });
    }
    void finish(std::string_view result)
    {
        end_as([&](process_view p) {
            p.set_result(result);
            return MUSTER_FINISH;
        });
    }
    void give_back()
    {
        end_as([](process_view) { return MUSTER_GIVE_BACK; });
    }
    void retry()
    {
        end_as([](process_view) { return MUSTER_RETRY; });
    }
    void retry(ms delay)
    {
        end_as([&](process_view p) {
            p.set_retry(delay);
            return MUSTER_RETRY;
        });
    }
    void fail(std::string_view group, std::string_view message = {})
    {
        end_as([&](process_view p) {
            p.set_failure(group, message);
            return MUSTER_FAIL;
        });
    }
    void end(muster_outcome outcome)
    {
        end_as([&](process_view) { return outcome; });
    }

    /* Run `fn(process_view &)` here as a handler: it returns nothing or an outcome, and what it throws ends the process
     * as it would there. False: the worker was destroyed meanwhile, and the end went nowhere; if before this call, `fn` is
     * not called. */
    template <class F> bool run(F &&fn)
    {
        process_view p = view();
        try {
            with([](process_view) {});
            try {
                end(detail::run_handler(fn, p));
            } catch (...) {
                if (!p_) /* the end was refused, not the handler */
                    throw;
                end_as([](process_view one) { return detail::outcome_of_exception(one); });
            }
        } catch (const error &e) {
            if (e.code() != MUSTER_E_LOST)
                throw;
            return false;
        }
        return true;
    }

  private:
    friend class process;

    later(muster_process *p, std::shared_ptr<detail::gate> door) noexcept : p_(p), door_(std::move(door)) {}

    /* Call fn(process_view) while the worker is there. */
    template <class F> void with(F &&fn)
    {
        if (!p_)
            throw error(MUSTER_E_STATE, "the process was ended before; nothing was changed");
        if (!door_->pass([&] { fn(view()); })) {
            p_ = nullptr;
            throw error(MUSTER_E_LOST, "its worker was destroyed, and the process went back; nothing was changed");
        }
    }

    /* fn(process_view) says what its end needs, and with what it ends. */
    template <class F> void end_as(F &&fn)
    {
        with([&](process_view p) {
            const muster_outcome outcome = fn(p);
            detail::frame *f = detail::frame::of(p_);
            const int err = static_cast<unsigned>(outcome) >= MUSTER_LATER ? static_cast<int>(MUSTER_E_INVALID)
                            : f                                            ? static_cast<int>(MUSTER_OK)
                                                                           : muster_process_end(p_, outcome);
            if (err != MUSTER_OK)
                throw error(err, err == MUSTER_E_INVALID ? "this is no end of a process; nothing was changed"
                                 : is_of_parent()        ? "in a child of fork() it is the parent's to end"
                                                         : "its handler has not returned yet; nothing was changed");
            if (f)
                f->end(outcome);
            p_ = nullptr;
        });
    }

    /* In a child of fork(): there, and nowhere else, this is refused in this way. */
    bool is_of_parent() const noexcept
    {
        return muster_worker_post(muster_process_worker(p_), nullptr, nullptr) == MUSTER_E_STATE;
    }

    void let_go() noexcept
    {
        if (!p_)
            return;
        try {
            end_as([](process_view p) {
                detail::note_failure(p, "no-outcome", "its handle was destroyed without an end");
                return MUSTER_FAIL;
            });
        } catch (const error &e) {
            if (e.code() != MUSTER_E_LOST && !is_of_parent())
                std::terminate(); /* nobody would ever end it */
        }
    }

    muster_process *p_;
    std::shared_ptr<detail::gate> door_;
};

inline later process::hand_on()
{
    if (frame_.is_later)
        throw error(MUSTER_E_STATE, "the process was handed on before: it has one handle; nothing was changed");
    frame_.is_later = true;
    return later(get(), state_.door);
}

/* ---- the worker ---- */

/* A command to run for each task: struct muster_command of worker.h. */
class command : detail::kept
{
  public:
    /* The program and its arguments. */
    explicit command(const std::vector<std::string> &argv)
    {
        std::vector<const char *> all;
        for (const auto &one : argv)
            all.push_back(keep(one));
        all.push_back(nullptr);
        c_.size = sizeof c_;
        c_.argv = hold(std::move(all))->data();
    }

    command &replace(std::string_view v) { return set(c_.replace, keep(v)); }
    command &hands(int v) { return set(c_.hands, v); }
    command &retry_delay(ms v) { return set(c_.retry_delay_ms, detail::to_int(v)); }
    command &grace(ms v) { return set(c_.grace_ms, detail::to_int(v)); }
    command &on_move(muster_on_move v) { return set(c_.on_move, v); }
    command &move_time(ms v) { return set(c_.move_ms, detail::to_int(v)); }
    command &on_stdout(muster_on_stdout v) { return set(c_.on_stdout, v); }
    command &on_stderr(muster_on_stderr v) { return set(c_.on_stderr, v); }
    command &result_max(size_t v) { return set(c_.result_max, v); }

    const muster_command &c() const noexcept { return c_; }

  private:
    template <class T, class V> command &set(T &field, V value)
    {
        field = value;
        return *this;
    }

    muster_command c_{};
};

/*
 * A worker without owning it: what callbacks get. It costs nothing to copy, and may be used as long as the worker
 * lives, also when that has been moved.
 */
class worker_ref
{
  public:
    muster_worker *get() const noexcept { return s_->w; }

    /* The worker's id, as long as the worker lives; and its last error in words, until the next call or event. */
    std::string_view id() const noexcept { return muster_worker_id(get()); }
    std::string_view last_error() const noexcept { return muster_worker_error(get()); }

    /*
     * muster_worker_serve(): run `fn(muster::process &)` for each task of the queue. It returns nothing, which is
     * MUSTER_FINISH, or a muster_outcome. It may throw
     *   muster::retry, muster::give_back, muster::fail   these ends
     *   anything else   a task fails, group "exception", with the words of what(); a job is retried by its own retries
     *                   and backoff (5 within about half a minute, if its spec says nothing), and keeps that group
     * What it must not do in the loop is take long: with `threads` (worker_options) each call has a thread for itself.
     * `fn` is moved into the worker and destroyed with it, also if the queue is left. On threads it is called by
     * several at once: protect what it changes. `hands` 0: as many as the worker has. Starts the worker, if nobody has.
     */
    template <class F> void serve(std::string_view queue, F fn, int hands = 0) const;

    /* muster_worker_serve_command(). Starts the worker, if nobody has. */
    void serve_command(std::string_view queue, const command &what) const
    {
        start_once();
        check(muster_worker_serve_command(get(), detail::ztext(queue), &what.c()));
    }

    /* muster_worker_leave(). */
    void leave(std::string_view queue) const { check(muster_worker_leave(get(), detail::ztext(queue))); }

    /* muster_worker_enqueue(): without blocking. fn(int err, uint64_t waiting) is called from the loop with the answer,
     * once; it must not throw (std::terminate()). If the worker is destroyed before the answer came, it is not called.
     * Without `fn` nobody hears whether it was done. */
    template <class F> void enqueue(std::string_view queue, std::string_view task, F fn) const;
    void enqueue(std::string_view queue, std::string_view task) const
    {
        check(muster_worker_enqueue(get(), detail::ztext(queue), task.data(), task.size(), nullptr, nullptr));
    }

    /* muster_worker_put(): without blocking. fn(int err, std::string_view id) is called from the loop, once; all else as
     * with enqueue(). */
    template <class F> void put(std::string_view queue, const job_spec &spec, F fn) const;
    void put(std::string_view queue, const job_spec &spec) const
    {
        check(muster_worker_put(get(), detail::ztext(queue), &spec.c(), nullptr, nullptr));
    }

    /* muster_worker_post(): fn(muster::worker_ref) is called once from the loop, soon; it must not throw
     * (std::terminate()). Any thread. If the worker is destroyed before, it is called while that happens. */
    template <class F> void post(F fn) const;

    /* muster_worker_stop(): with the drain time of the options, or with this one (at least 0); run() returns when the
     * worker has stopped. Any thread, and from a signal handler, which reaches the worker by a static pointer
     * (examples/worker.cpp). */
    void stop() const noexcept { muster_worker_stop(get(), -1); }
    void stop(ms drain) const noexcept
    {
        const auto n = drain.count();
        muster_worker_stop(get(), n < 0 ? 0 : n > INT_MAX ? INT_MAX : static_cast<int>(n));
    }

    /* muster_worker_set_pulse(): fn(muster::worker_ref) each `every`; it must not throw (std::terminate()). */
    void set_pulse(ms every, std::function<void(worker_ref)> fn) const
    {
        auto kept = std::make_shared<const std::function<void(worker_ref)>>(std::move(fn)); /* it may throw */
        check(muster_worker_set_pulse(get(), every.count(), *kept ? tell_pulse : nullptr, s_));
        s_->pulse = std::move(kept);
    }

    /* muster_worker_stats(). Any thread. */
    struct muster_worker_stats stats() const
    {
        struct muster_worker_stats out = {};
        out.size = sizeof out;
        ::muster_worker_stats(get(), &out);
        return out;
    }

    /* Throws what a call of C on get() has answered, unless it is MUSTER_OK. */
    void check(int err) const
    {
        if (err != MUSTER_OK)
            throw error(err, muster_worker_error(get()));
    }

  protected:
    explicit worker_ref(detail::worker_state *s) noexcept : s_(s) {}

    void start_once() const
    {
        const std::lock_guard<std::mutex> guard(s_->lock);
        if (!s_->is_started)
            check(muster_worker_start(get()));
        s_->is_started = true;
    }

    static void tell_event(muster_worker *, const muster_event *e, void *arg) noexcept
    {
        auto *s = static_cast<detail::worker_state *>(arg);
        const detail::frame f(*s, nullptr);
        s->on_event(worker_ref(s), *e);
    }

    static void tell_end(muster_worker *, const muster_end *e, void *arg) noexcept
    {
        auto *s = static_cast<detail::worker_state *>(arg);
        const detail::frame f(*s, nullptr);
        s->on_end(worker_ref(s), *e);
    }

    detail::worker_state *s_;

  private:
    friend class process;
    template <class F> friend struct detail::worker_handler;
    template <class F> friend struct detail::enqueue_answer;
    template <class F> friend struct detail::posted;

    template <class Answer, class F, class Make> void ask(F &&fn, Make &&make) const;

    static void tell_pulse(muster_worker *, void *arg) noexcept
    {
        auto *s = static_cast<detail::worker_state *>(arg);
        const detail::frame f(*s, nullptr);
        const auto fn = s->pulse; /* it may set another one */
        (*fn)(worker_ref(s));
    }
};

inline worker_ref process::worker() const noexcept
{
    return worker_ref(&state_);
}

namespace detail
{

template <class F> struct worker_handler final : owned {
    worker_state &state;
    F fn;

    worker_handler(worker_state &s, F f) : state(s), fn(std::move(f)) {}

    static muster_outcome run(muster_process *p, void *arg) noexcept
    {
        auto *self = static_cast<worker_handler *>(arg);
        frame f(self->state, p);
        process one(self->state, f);
        try {
            return f.answer(run_handler(self->fn, one), false);
        } catch (...) {
            return f.answer(outcome_of_exception(one), true);
        }
    }
};

/* Something that the loop calls once. */
template <class F> struct called_once : pending::one {
    worker_state &state;
    F fn;

    called_once(worker_state &s, F f) : state(s), fn(std::move(f)) {}

    /* make(fn) calls it. */
    template <class Make> void tell(Make &&make) noexcept
    {
        const frame f(state, nullptr);
        const auto mine = state.unanswered.take(this);
        make(fn);
    }
};

template <class F> struct enqueue_answer final : called_once<F> {
    using called_once<F>::called_once;

    static void heard(muster_worker *, int err, uint64_t waiting, void *arg) noexcept
    {
        static_cast<enqueue_answer *>(arg)->tell([&](F &fn) { fn(err, waiting); });
    }
};

template <class F> struct put_answer final : called_once<F> {
    using called_once<F>::called_once;

    static void heard(muster_worker *, int err, const char *id, void *arg) noexcept
    {
        static_cast<put_answer *>(arg)->tell([&](F &fn) { fn(err, text(id)); });
    }
};

template <class F> struct posted final : called_once<F> {
    using called_once<F>::called_once;

    static void heard(muster_worker *, void *arg) noexcept
    {
        auto *self = static_cast<posted *>(arg);
        worker_state &state = self->state;
        self->tell([&](F &fn) { fn(worker_ref(&state)); });
    }
};

} // namespace detail

template <class F> void worker_ref::serve(std::string_view queue, F fn, int hands) const
{
    using handler = detail::worker_handler<F>;
    const detail::ztext name(queue);
    start_once();
    auto one = std::make_unique<handler>(*s_, std::move(fn));
    handler *arg = one.get();
    {
        const std::lock_guard<std::mutex> guard(s_->lock);
        s_->handlers.push_back(std::move(one));
    }
    const int err = muster_worker_serve(get(), name, hands, &handler::run, arg);
    if (err != MUSTER_OK) {
        const std::string why = muster_worker_error(get());
        const std::lock_guard<std::mutex> guard(s_->lock);
        auto &all = s_->handlers;
        for (auto i = all.begin(); i != all.end(); ++i)
            if (i->get() == arg) {
                all.erase(i);
                break;
            }
        throw error(err, why);
    }
}

/* make(fn of C, arg) makes the call of C. */
template <class Answer, class F, class Make> void worker_ref::ask(F &&fn, Make &&make) const
{
    check(s_->unanswered.hand_in(std::make_unique<Answer>(*s_, std::forward<F>(fn)),
                                 [&](Answer *arg) { return make(&Answer::heard, arg); }));
}

template <class F> void worker_ref::enqueue(std::string_view queue, std::string_view task, F fn) const
{
    const detail::ztext name(queue);
    ask<detail::enqueue_answer<F>>(std::move(fn), [&](auto heard, void *arg) {
        return muster_worker_enqueue(get(), name, task.data(), task.size(), heard, arg);
    });
}

template <class F> void worker_ref::put(std::string_view queue, const job_spec &spec, F fn) const
{
    const detail::ztext name(queue);
    ask<detail::put_answer<F>>(
        std::move(fn), [&](auto heard, void *arg) { return muster_worker_put(get(), name, &spec.c(), heard, arg); });
}

template <class F> void worker_ref::post(F fn) const
{
    ask<detail::posted<F>>(std::move(fn), [&](auto heard, void *arg) { return muster_worker_post(get(), heard, arg); });
}

/*
 * Options of a worker: struct muster_worker_options of worker.h, where each is explained. Everything is copied. Most
 * programs want `threads`, which sets how many handlers run at once; without it they run in the loop, one after the
 * other, and must be shorter than a third of `ttl`.
 *
 * Callbacks run on the loop's thread and must not throw: nobody is there to catch, and std::terminate() is called.
 */
class worker_options : detail::kept
{
  public:
    worker_options() { c_.size = sizeof c_; }

    worker_options &url(std::string_view v) { return set(c_.url, keep(v)); }
    worker_options &prefix(std::string_view v) { return set(c_.prefix, keep(v)); }
    worker_options &id(std::string_view v) { return set(c_.id, keep(v)); }
    worker_options &base(event_base *v) { return set(c_.base, v); }
    worker_options &connections(redisAsyncContext *data, redisAsyncContext *subscription)
    {
        c_.data = data;
        return set(c_.subscription, subscription);
    }
    worker_options &ttl(ms v) { return set(c_.ttl_ms, detail::to_int(v)); }
    worker_options &hands(int v) { return set(c_.hands, v); }
    worker_options &threads(int v) { return set(c_.threads, v); }
    worker_options &prefetch(int v) { return set(c_.prefetch, v); }
    worker_options &permanent(bool v = true) { return set(c_.permanent, v); }
    worker_options &resume(bool v = true) { return set(c_.resume, v); }
    worker_options &drain(ms v) { return set(c_.drain_ms, detail::to_int(v)); }
    worker_options &burst(bool v = true) { return set(c_.burst, v); }
    worker_options &in_turn(bool v = true) { return set(c_.in_turn, v); }
    worker_options &max_tasks(uint64_t v) { return set(c_.max_tasks, v); }
    worker_options &limit(ms v) { return set(c_.limit_ms, v.count()); }
    worker_options &on_limit(muster_outcome v) { return set(c_.on_limit, v); }
    worker_options &on_doubt(muster_on_doubt v) { return set(c_.on_doubt, v); }
    worker_options &user(std::string_view v) { return set(c_.user, keep(v)); }
    worker_options &password(std::string_view v) { return set(c_.password, keep(v)); }
    worker_options &tls_ca(std::string_view v) { return set(c_.tls_ca, keep(v)); }
    worker_options &tls_cert(std::string_view v) { return set(c_.tls_cert, keep(v)); }
    worker_options &tls_key(std::string_view v) { return set(c_.tls_key, keep(v)); }
    worker_options &tls_server_name(std::string_view v) { return set(c_.tls_server_name, keep(v)); }
    worker_options &tls_insecure(bool v = true) { return set(c_.tls_insecure, v); }
    worker_options &sentinel_user(std::string_view v) { return set(c_.sentinel_user, keep(v)); }
    worker_options &sentinel_password(std::string_view v) { return set(c_.sentinel_password, keep(v)); }
    worker_options &replicas(int v) { return set(c_.replicas, v); }
    worker_options &replicas_time(ms v) { return set(c_.replicas_ms, detail::to_int(v)); }
    worker_options &fsync(bool v = true) { return set(c_.fsync, v); }
    worker_options &tell_ended(bool v = true) { return set(c_.tell_ended, v); }

    /* Hears each event. Without it events that are warnings go to the log. */
    worker_options &on_event(std::function<void(worker_ref, const muster_event &)> fn)
    {
        on_event_ = std::move(fn);
        return *this;
    }

    /* Hears how each handler has ended its process. */
    worker_options &on_end(std::function<void(worker_ref, const muster_end &)> fn)
    {
        on_end_ = std::move(fn);
        return *this;
    }

    const muster_worker_options &c() const noexcept { return c_; }

  private:
    friend class worker;

    template <class T, class V> worker_options &set(T &field, V value)
    {
        field = value;
        return *this;
    }

    muster_worker_options c_{};
    std::function<void(worker_ref, const muster_event &)> on_event_;
    std::function<void(worker_ref, const muster_end &)> on_end_;
};

/*
 * A worker (worker.h). Making one sends nothing.
 *
 * Destroyed without a stop it leaves at once, and its peers give back what it holds when its ttl has passed: stop() it
 * and let run() return first. The destructor waits for handlers on threads, which are told MUSTER_STOP_LOST. It must
 * not be called within a handler or callback of this worker (std::terminate()).
 */
class worker : public worker_ref
{
  public:
    /* Throws E_INVALID in words that name the option that is not allowed, and why. */
    explicit worker(const worker_options &o = worker_options())
        : worker_ref(nullptr), own_(std::make_unique<detail::worker_state>())
    {
        muster_worker_options c = o.c();
        s_ = own_.get();
        s_->on_event = o.on_event_;
        s_->on_end = o.on_end_;
        c.on_event = s_->on_event ? tell_event : nullptr;
        c.on_end = s_->on_end ? tell_end : nullptr;
        c.arg = s_;
        const int err = muster_worker_new(&s_->w, &c);
        if (err != MUSTER_OK)
            throw error(err, text(err == MUSTER_E_INVALID ? muster_worker_options_check(&c) : nullptr));
    }

    worker(worker &&other) noexcept : worker_ref(std::exchange(other.s_, nullptr)), own_(std::move(other.own_)) {}
    worker &operator=(worker &&other) noexcept
    {
        if (this != &other) {
            end();
            own_ = std::move(other.own_);
            s_ = std::exchange(other.s_, nullptr);
        }
        return *this;
    }
    worker(const worker &) = delete;
    worker &operator=(const worker &) = delete;
    ~worker() { end(); }

    /* muster_worker_start(), unless it was started: serve() and run() do it, too. */
    void start() { start_once(); }

    /* muster_worker_run(): until the worker has stopped. Throws the error that ended it. */
    void run()
    {
        start_once();
        check(muster_worker_run(get()));
    }

  private:
    void end() noexcept
    {
        if (own_ && detail::frame::is_within(own_.get()))
            std::terminate();
        own_.reset();
    }

    std::unique_ptr<detail::worker_state> own_;
};

} // namespace muster

#endif
