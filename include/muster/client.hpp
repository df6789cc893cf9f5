/* SPDX-License-Identifier: MIT
 *
 * C++: the blocking client (client.h), with its calls for jobs (job.h) and batches (batch.h), and leases.
 */
#ifndef MUSTER_CLIENT_HPP
#define MUSTER_CLIENT_HPP

#include <exception>
#include <initializer_list>
#include <iterator>

#include "job.hpp"

namespace muster
{

/* ---- options ---- */

/*
 * Options of a client: struct muster_client_options of client.h, where each is explained. Everything is copied.
 *
 *     muster::client client(muster::client_options().url("redis://queue.example.org").timeout(2s));
 */
class client_options : detail::kept
{
  public:
    client_options() { c_.size = sizeof c_; }

    client_options &url(std::string_view v) { return set(c_.url, keep(v)); }
    client_options &prefix(std::string_view v) { return set(c_.prefix, keep(v)); }
    client_options &timeout(ms v) { return set(c_.timeout_ms, detail::to_int(v)); }
    client_options &max_task_len(size_t v) { return set(c_.max_task_len, v); }
    client_options &redis(redisContext *v) { return set(c_.redis, v); }
    client_options &user(std::string_view v) { return set(c_.user, keep(v)); }
    client_options &password(std::string_view v) { return set(c_.password, keep(v)); }
    client_options &tls_ca(std::string_view v) { return set(c_.tls_ca, keep(v)); }
    client_options &tls_cert(std::string_view v) { return set(c_.tls_cert, keep(v)); }
    client_options &tls_key(std::string_view v) { return set(c_.tls_key, keep(v)); }
    client_options &tls_server_name(std::string_view v) { return set(c_.tls_server_name, keep(v)); }
    client_options &tls_insecure(bool v = true) { return set(c_.tls_insecure, v); }
    client_options &sentinel_user(std::string_view v) { return set(c_.sentinel_user, keep(v)); }
    client_options &sentinel_password(std::string_view v) { return set(c_.sentinel_password, keep(v)); }
    client_options &replicas(int v) { return set(c_.replicas, v); }
    client_options &replicas_time(ms v) { return set(c_.replicas_ms, detail::to_int(v)); }
    client_options &fsync(bool v = true) { return set(c_.fsync, v); }

    const muster_client_options &c() const noexcept { return c_; }

  private:
    template <class T, class V> client_options &set(T &field, V value)
    {
        field = value;
        return *this;
    }

    muster_client_options c_{};
};

/* Options of client::enqueue_many(): struct muster_enqueue_options. */
class enqueue_options : detail::kept
{
  public:
    enqueue_options() { c_.size = sizeof c_; }

    enqueue_options &at_front(bool v = true)
    {
        c_.at_front = v;
        return *this;
    }

    /* The same call under this id within an hour adds what is missing, and nothing else. Choose one that follows from
     * the cause, such as an order's number. */
    enqueue_options &request_id(std::string_view v)
    {
        c_.request_id = keep(v);
        return *this;
    }

    const muster_enqueue_options &c() const noexcept { return c_; }

  private:
    muster_enqueue_options c_{};
};

/* Which processes: struct muster_process_filter of client.h. */
class process_filter : detail::kept
{
  public:
    process_filter() { c_.size = sizeof c_; }

    process_filter &queue(std::string_view v) { return set(c_.queue, keep(v)); }
    process_filter &worker(std::string_view v) { return set(c_.worker, keep(v)); }
    process_filter &task(std::string_view v) { return set(c_.task, keep_bytes_struct(v)); }
    process_filter &holder(std::string_view v) { return set(c_.holder, keep(v)); }

    const muster_process_filter &c() const noexcept { return c_; }

  private:
    template <class T> process_filter &set(T &field, T value)
    {
        field = value;
        return *this;
    }

    muster_process_filter c_{};
};

/* Which failures of a queue: struct muster_failed_filter of client.h. */
class failed_filter : detail::kept
{
  public:
    explicit failed_filter(std::string_view queue)
    {
        c_.size = sizeof c_;
        c_.queue = keep(queue);
    }

    failed_filter &group(std::string_view v)
    {
        c_.group = keep(v);
        return *this;
    }
    /* Only these; an empty list means none. */
    failed_filter &entries(const std::vector<std::string> &v)
    {
        keep_list(c_.entries, c_.n_entries, v);
        return *this;
    }
    failed_filter &offset(uint64_t v)
    {
        c_.offset = v;
        return *this;
    }
    failed_filter &n(uint64_t v)
    {
        c_.n = v;
        return *this;
    }

    const muster_failed_filter &c() const noexcept { return c_; }

  private:
    muster_failed_filter c_{};
};

/* What a finish does besides: struct muster_finish_options of client.h. */
class finish_options : detail::kept
{
  public:
    finish_options() { c_.size = sizeof c_; }

    /* Bytes for those who listen, and for a job's record; "" is a result, too. */
    finish_options &result(std::string_view v)
    {
        c_.result = keep_bytes_struct(v);
        return *this;
    }

    /* A job only: it goes on to this queue. */
    finish_options &next(std::string_view queue, ms delay = ms(0), const std::vector<std::string> &after = {})
    {
        c_.next = keep(queue);
        c_.delay_ms = delay.count();
        keep_list(c_.after, c_.n_after, after);
        return *this;
    }

    const muster_finish_options &c() const noexcept { return c_; }

  private:
    muster_finish_options c_{};
};

/* What client::enqueue_unique() did. */
struct unique_task {
    std::string id; /* of the task that is alive */
    bool is_new;    /* false: an equal one was alive, and nothing was added */
};

/* What client::put_many() did, also before it threw. */
struct put_report {
    std::vector<std::string> ids; /* of all jobs, also of those whose put stays unknown; "" after an early refusal */
    size_t put = 0;               /* the first so many are put */
    size_t refused = 0;           /* which job was refused, from 1; 0: none, or none in particular */
};

/* How many tasks or jobs a cancel or a delete has met. */
struct removed {
    uint64_t waiting = 0; /* were in nobody's hands, and are gone */
    uint64_t running = 0; /* run, and were told */
};

/* ---- the client ---- */

/* How to take under a lease: struct muster_take_options of client.h. */
class take_options : detail::kept
{
  public:
    explicit take_options(ms lease_time)
    {
        c_.size = sizeof c_;
        c_.n = 1;
        c_.lease_ms = lease_time.count();
        if (lease_time.count() == 0) /* it would mean a default in C, and is refused */
            c_.lease_ms = -1;
    }

    take_options &n(size_t v) { return set(c_.n, v ? v : SIZE_MAX); } /* the same */
    take_options &wait(ms v) { return set(c_.wait_ms, detail::wait_ms(v)); }
    take_options &holder(std::string_view v) { return set(c_.holder, keep(v)); }

    const muster_take_options &c() const noexcept { return c_; }

  private:
    template <class T, class V> take_options &set(T &field, V value)
    {
        field = value;
        return *this;
    }

    muster_take_options c_{};
};

class lease;

namespace detail
{

/* As C has it: -1 for none. */
inline int64_t retry_delay(const retry &how)
{
    if (how.delay && how.delay->count() < 0) /* it would mean something else in C */
        throw error(MUSTER_E_INVALID, "a retry's delay must not be negative; nothing was sent");
    return how.delay ? how.delay->count() : -1;
}

/* Leases hold it, too: so a client may go before them. */
struct client_state {
    muster_client *c = nullptr;
    std::exception_ptr thrown; /* by a callback of the call that runs */
    std::function<then(const muster_progress &)> progress;

    client_state() = default;
    client_state(const client_state &) = delete;
    client_state &operator=(const client_state &) = delete;
    ~client_state() { muster_client_free(c); }

    /* What came of a call. */
    void check(int err)
    {
        if (thrown)
            std::rethrow_exception(std::exchange(thrown, nullptr));
        if (err != MUSTER_OK)
            throw error(err, muster_client_error(c));
    }

    /* The same, and false instead of this one error. */
    bool check_but(int passed, int err)
    {
        check(err == passed ? MUSTER_OK : err);
        return err != passed;
    }

    /* No exception goes through C: it is kept, and ends the list. Non-zero: it ends. */
    template <class F> int guard(F &&fn) noexcept
    {
        try {
            return fn() == then::stop;
        } catch (...) {
            thrown = std::current_exception();
            return 1;
        }
    }
};

template <class F> struct rows {
    client_state &state;
    F &fn;

    template <class Row> static int row(const Row *one, void *arg) noexcept
    {
        auto *self = static_cast<rows *>(arg);
        return self->state.guard([&] { return detail::call(self->fn, *one); });
    }
};

} // namespace detail

/*
 * The blocking client (client.h). Making one sends nothing: the first call connects, and so does the next one after
 * E_CONN or E_TIMEOUT.
 */
class client
{
  public:
    /* Throws E_INVALID in words that name the option that is not allowed, and why. */
    explicit client(const client_options &o = client_options()) : s_(std::make_shared<detail::client_state>())
    {
        const int err = muster_client_new(&s_->c, &o.c());
        if (err != MUSTER_OK)
            throw error(err, text(err == MUSTER_E_INVALID ? muster_client_options_check(&o.c()) : nullptr));
    }
    explicit client(std::string_view url) : client(client_options().url(url)) {}

    client(client &&) noexcept = default;
    client &operator=(client &&) noexcept = default;
    client(const client &) = delete;
    client &operator=(const client &) = delete;

    muster_client *get() const noexcept { return s_->c; }

    /* Throws what a call of C on get() has answered, unless it is MUSTER_OK. */
    void check(int err) { s_->check(err); }

    /* ---- tasks ---- */

    /* muster_task_enqueue(). Returns how many then wait; 0: an idle worker got it. After an error that may_be_done()
     * the task may be there: use enqueue_many() with a request id, where that matters. */
    uint64_t enqueue(std::string_view queue, std::string_view task)
    {
        uint64_t waiting = 0;
        s_->check(muster_task_enqueue(get(), detail::ztext(queue), task.data(), task.size(), &waiting));
        return waiting;
    }

    /* muster_task_enqueue_many(): all in one call. `tasks` is a container of strings or views. */
    template <class Tasks>
    uint64_t enqueue_many(std::string_view queue, const Tasks &tasks, const enqueue_options &o = enqueue_options())
    {
        using one = decltype(*std::begin(tasks));
        static_assert(std::is_lvalue_reference_v<one> || std::is_same_v<std::decay_t<one>, std::string_view>,
                      "the tasks must be strings that live until the call returns");
        uint64_t waiting = 0;
        std::vector<muster_bytes> all;
        for (const auto &task : tasks)
            all.push_back(detail::bytes(task));
        s_->check(muster_task_enqueue_many(get(), detail::ztext(queue), all.data(), all.size(), &o.c(), &waiting));
        return waiting;
    }
    uint64_t enqueue_many(std::string_view queue, std::initializer_list<std::string_view> tasks,
                          const enqueue_options &o = enqueue_options())
    {
        return enqueue_many<std::initializer_list<std::string_view>>(queue, tasks, o);
    }

    /* muster_task_enqueue_unique(). */
    unique_task enqueue_unique(std::string_view queue, std::string_view task)
    {
        char id[MUSTER_JOB_ID_MAX + 1] = "";
        const bool is_new = s_->check_but(
            MUSTER_E_EXISTS, muster_task_enqueue_unique(get(), detail::ztext(queue), task.data(), task.size(), id));
        return {id, is_new};
    }

    /* muster_task_peek(): fn(const muster_task &). */
    template <class F> void peek(std::string_view queue, uint64_t from, uint64_t n, F &&fn)
    {
        list<muster_task>(
            fn, [&](auto row, void *arg) { return muster_task_peek(get(), detail::ztext(queue), from, n, row, arg); });
    }

    /* muster_task_peek_delayed(): fn(const muster_delayed_task &). */
    template <class F> void peek_delayed(std::string_view queue, uint64_t from, uint64_t n, F &&fn)
    {
        list<muster_delayed_task>(fn, [&](auto row, void *arg) {
            return muster_task_peek_delayed(get(), detail::ztext(queue), from, n, row, arg);
        });
    }

    /* muster_task_cancel(): all copies of the task. */
    removed cancel_task(std::string_view queue, std::string_view task)
    {
        removed r;
        s_->check(muster_task_cancel(get(), detail::ztext(queue), task.data(), task.size(), &r.waiting, &r.running));
        return r;
    }

    /* ---- queues, workers, processes ---- */

    /* muster_queue_length(). */
    uint64_t length(std::string_view queue)
    {
        uint64_t waiting = 0;
        s_->check(muster_queue_length(get(), detail::ztext(queue), &waiting));
        return waiting;
    }

    /* muster_queue_list(): fn(const muster_queue_info &). */
    template <class F> void queues(F &&fn)
    {
        list<muster_queue_info>(fn, [&](auto row, void *arg) { return muster_queue_list(get(), row, arg); });
    }

    /* muster_queue_get(); none if there is no such queue. Its `name` is NULL: you know it. */
    std::optional<muster_queue_info> queue(std::string_view queue)
    {
        muster_queue_info info{};
        const bool is_there = s_->check_but(MUSTER_E_NOT_FOUND, muster_queue_get(get(), detail::ztext(queue), &info));
        info.name = nullptr;
        return is_there ? std::optional<muster_queue_info>(info) : std::nullopt;
    }

    /* muster_queue_pause(), _resume(). */
    void pause(std::string_view queue) { s_->check(muster_queue_pause(get(), detail::ztext(queue))); }
    void resume(std::string_view queue) { s_->check(muster_queue_resume(get(), detail::ztext(queue))); }

    /* muster_queue_delete(). */
    removed delete_queue(std::string_view queue)
    {
        removed r;
        s_->check(muster_queue_delete(get(), detail::ztext(queue), &r.waiting, &r.running));
        return r;
    }

    /* muster_worker_list(): fn(const muster_worker_info &). */
    template <class F> void workers(F &&fn)
    {
        list<muster_worker_info>(fn, [&](auto row, void *arg) { return muster_worker_list(get(), row, arg); });
    }

    /* muster_process_list(): fn(const muster_process_info &). */
    template <class F> void processes(const process_filter &filter, F &&fn)
    {
        list<muster_process_info>(
            fn, [&](auto row, void *arg) { return muster_process_list(get(), &filter.c(), row, arg); });
    }

    /* muster_worker_fail(). Returns how many tasks and jobs went back. */
    uint64_t fail_worker(std::string_view worker)
    {
        uint64_t given_back = 0;
        s_->check(muster_worker_fail(get(), detail::ztext(worker), &given_back));
        return given_back;
    }

    /* muster_client_sweep(). Returns how many dead workers it swept. */
    uint64_t sweep()
    {
        uint64_t workers = 0;
        s_->check(muster_client_sweep(get(), &workers));
        return workers;
    }

    /* muster_process_cancel(). */
    void cancel_process(std::string_view process) { s_->check(muster_process_cancel(get(), detail::ztext(process))); }

    /* ---- leases: tasks without a worker ---- */

    /* muster_lease_take() of one; none if nothing came within `wait`. */
    std::optional<lease> take(std::string_view queue, ms lease_time, ms wait = ms(0));

    /* muster_lease_take() of up to `n`; empty if nothing came within `wait`. */
    std::vector<lease> take_many(std::string_view queue, size_t n, ms lease_time, ms wait = ms(0));

    /* muster_lease_take_as(): also under a holder's name. */
    std::vector<lease> take_many(std::string_view queue, const take_options &o);

    /* muster_lease_finish() and its like, of a process whose id is all that is known: a lease that somebody else holds,
     * or a worker's process. A holder has these calls without an id (class lease). */
    void finish(std::string_view process, const finish_options &o = finish_options())
    {
        s_->check(muster_lease_finish(get(), detail::ztext(process), &o.c()));
    }
    void give_back(std::string_view process) { s_->check(muster_lease_give_back(get(), detail::ztext(process))); }

    /* Without a delay a task is retried at once, a job after its own backoff. */
    void retry(std::string_view process, const muster::retry &how = muster::retry())
    {
        s_->check(muster_lease_retry_as(get(), detail::ztext(process), detail::retry_delay(how),
                                        detail::ztext(how.group).or_null(), detail::ztext(how.message).or_null()));
    }
    void fail(std::string_view process, std::string_view group, std::string_view message = {})
    {
        s_->check(muster_lease_fail(get(), detail::ztext(process), detail::ztext(group), detail::ztext(message)));
    }

    /* muster_lease_extend(): the lease ends this long from now. */
    void extend(std::string_view process, ms lease_time)
    {
        muster_extend_options o = extend_options();
        o.lease_ms = lease_time.count();
        s_->check(muster_lease_extend(get(), detail::ztext(process), &o));
    }

    /* A note that the list of processes shows; "" removes it. */
    void progress(std::string_view process, std::string_view note)
    {
        const detail::ztext kept(note);
        muster_extend_options o = extend_options();
        o.progress = kept;
        s_->check(muster_lease_extend(get(), detail::ztext(process), &o));
    }

    /* A job only: new data, which its next taker gets. */
    void set_data(std::string_view process, std::string_view data)
    {
        const muster_bytes bytes = detail::bytes(data);
        muster_extend_options o = extend_options();
        o.data = &bytes;
        s_->check(muster_lease_extend(get(), detail::ztext(process), &o));
    }

    /* ---- jobs ---- */

    /* muster_job_put(). Returns the job's id. If no answer comes, only a job with an id of its own can be put again
     * without being there twice: E_EXISTS then mostly means that the first call had put it. */
    std::string put(std::string_view queue, const job_spec &spec)
    {
        char id[MUSTER_JOB_ID_MAX + 1] = "";
        s_->check(muster_job_put(get(), detail::ztext(queue), &spec.c(), id));
        return id;
    }
    std::string put(std::string_view queue, std::string_view data) { return put(queue, job_spec(data)); }

    /* muster_job_put_many(). With a request id (not "") the same call again puts what is missing, and nothing else.
     * `report`, if it is given, is filled in also when the call throws. Returns the jobs' ids. */
    std::vector<std::string> put_many(std::string_view queue, const std::vector<job_spec> &specs,
                                      std::string_view request_id = {}, put_report *report = nullptr)
    {
        put_report mine, &r = report ? *report : mine;
        const detail::ztext id(request_id);
        std::vector<const muster_job_spec *> all;
        for (const auto &spec : specs)
            all.push_back(&spec.c());
        const auto ids = std::make_unique<char[][MUSTER_JOB_ID_MAX + 1]>(specs.size() + 1);
        r = put_report();
        muster_job_put_options o{};
        o.size = sizeof o;
        o.request_id = id.or_null();
        o.ids = ids.get();
        o.refused = &r.refused;
        const int err = muster_job_put_many(get(), detail::ztext(queue), all.data(), all.size(), &o, &r.put);
        for (size_t i = 0; i < specs.size(); i++)
            r.ids.emplace_back(ids[i]);
        s_->check(err);
        return r.ids;
    }

    /* muster_job_get() of one; none if it does not exist (any more). */
    std::optional<job> get_job(std::string_view id)
    {
        return one_job(id, [&](auto ids, auto row, void *arg) { return muster_job_get(get(), ids, 1, row, arg); });
    }

    /* muster_job_peek() of one, for a job that may be large: at most MUSTER_HEAD_MAX bytes of its data and
     * result, and MUSTER_JOB_HISTORY_MAX lines of its history. */
    std::optional<job> peek_job(std::string_view id)
    {
        return one_job(id, [&](auto ids, auto row, void *arg) { return muster_job_peek(get(), ids, 1, row, arg); });
    }

    /* muster_job_list(): fn(const muster_job &). */
    template <class F> void jobs(const job_filter &filter, F &&fn)
    {
        list<muster_job>(fn, [&](auto row, void *arg) { return muster_job_list(get(), &filter.c(), row, arg); });
    }

    /* muster_job_parents(): fn(const muster_job_parent &). */
    template <class F> void parents(std::string_view id, F &&fn)
    {
        list<muster_job_parent>(
            fn, [&](auto row, void *arg) { return muster_job_parents(get(), detail::ztext(id), row, arg); });
    }

    /* muster_job_counts(): how many jobs of the queue are in each state, by enum muster_job_state. */
    std::vector<uint64_t> job_counts(std::string_view queue)
    {
        std::vector<uint64_t> counts(MUSTER_JOB_STATE_COUNT);
        s_->check(muster_job_counts(get(), detail::ztext(queue), counts.data()));
        return counts;
    }

    /* muster_job_wait() of one job. Throws E_TIMEOUT when `timeout` is over. */
    job_ended wait(std::string_view id, ms timeout = forever)
    {
        std::optional<job_ended> ended;
        wait_many({std::string(id)}, timeout, [&](const muster_job_ended &e) { ended.emplace(e); });
        return std::move(*ended);
    }

    /* muster_job_wait(): fn(const muster_job_ended &) for each job as soon as it has ended; `then::stop` ends the
     * waiting. Throws E_TIMEOUT when `timeout` is over. */
    template <class F> void wait_many(const std::vector<std::string> &ids, ms timeout, F &&fn)
    {
        const auto names = detail::pointers(ids);
        list<muster_job_ended>(fn, [&](auto row, void *arg) {
            return muster_job_wait(get(), names.data(), names.size(), timeout.count(), row, arg);
        });
    }

    /* muster_job_change(). */
    void change(std::string_view id, const job_change &what)
    {
        s_->check(muster_job_change(get(), detail::ztext(id), &what.c()));
    }

    /* muster_job_cancel(); with dependents: those that wait until one of them is complete, too. */
    removed cancel(std::string_view id) { return cancel_jobs({std::string(id)}, 0); }
    removed cancel_many(const std::vector<std::string> &ids) { return cancel_jobs(ids, 0); }
    removed cancel_with_dependents(const std::vector<std::string> &ids) { return cancel_jobs(ids, 1); }

    /* ---- batches ---- */

    /* muster_batch_open(). Returns the batch's id. */
    std::string open_batch(const batch_spec &spec)
    {
        char id[MUSTER_BATCH_ID_MAX + 1] = "";
        s_->check(muster_batch_open(get(), &spec.c(), id));
        return id;
    }

    /* muster_batch_close(), _cancel(). */
    void close_batch(std::string_view id) { s_->check(muster_batch_close(get(), detail::ztext(id))); }
    removed cancel_batch(std::string_view id)
    {
        removed r;
        s_->check(muster_batch_cancel(get(), detail::ztext(id), &r.waiting, &r.running));
        return r;
    }

    /* muster_batch_get(): fn(const muster_batch &) is called once. Throws E_NOT_FOUND. */
    template <class F> void batch(std::string_view id, F &&fn)
    {
        list<muster_batch>(fn,
                           [&](auto row, void *arg) { return muster_batch_get(get(), detail::ztext(id), row, arg); });
    }

    /* muster_batch_list(): fn(const muster_batch &). */
    template <class F> void batches(F &&fn)
    {
        list<muster_batch>(fn, [&](auto row, void *arg) { return muster_batch_list(get(), row, arg); });
    }

    /* ---- failures ---- */

    /* muster_failed_list(): fn(const muster_failure &). */
    template <class F> void failed(const failed_filter &filter, F &&fn)
    {
        list<muster_failure>(fn, [&](auto row, void *arg) { return muster_failed_list(get(), &filter.c(), row, arg); });
    }

    /* muster_failed_groups() of all queues: fn(const muster_failed_group &). */
    template <class F> void failed_groups(F &&fn)
    {
        list<muster_failed_group>(fn,
                                  [&](auto row, void *arg) { return muster_failed_groups(get(), nullptr, row, arg); });
    }

    /* muster_failed_replay(), _drop(). Return how many. */
    uint64_t replay(const failed_filter &filter)
    {
        uint64_t n = 0;
        s_->check(muster_failed_replay(get(), &filter.c(), &n));
        return n;
    }
    uint64_t drop(const failed_filter &filter)
    {
        uint64_t n = 0;
        s_->check(muster_failed_drop(get(), &filter.c(), &n));
        return n;
    }

    /* ---- listening ---- */

    /* muster_queue_listen(): fn(const muster_queue_event &). `ready()` is called once when listening has begun. False:
     * `wait` is over; true: `fn` has answered then::stop. */
    template <class F, class Ready> bool listen(std::string_view queue, ms wait, F &&fn, Ready &&ready)
    {
        return listen_by<muster_queue_event>(fn, ready, [&](auto row, auto begun, void *arg) {
            return muster_queue_listen(get(), detail::ztext(queue), detail::wait_ms(wait), begun, row, arg);
        });
    }

    /* muster_job_listen(): fn(const muster_job_event &); queue "": of all queues. The rest as of listen(). */
    template <class F, class Ready> bool listen_jobs(std::string_view queue, ms wait, F &&fn, Ready &&ready)
    {
        return listen_by<muster_job_event>(fn, ready, [&](auto row, auto begun, void *arg) {
            return muster_job_listen(get(), detail::ztext(queue).or_null(), detail::wait_ms(wait), begun, row, arg);
        });
    }

    /* ---- settings, and the server ---- */

    /* muster_config_set() of a queue, or with "" of the namespace; no value: unset it. */
    void config(std::string_view queue, std::string_view name, std::optional<int64_t> value)
    {
        s_->check(
            muster_config_set(get(), detail::ztext(queue).or_null(), detail::ztext(name), value ? &*value : nullptr));
    }

    /* muster_config_get() of a queue, or with "" of the namespace: fn(const muster_setting &). */
    template <class F> void settings(std::string_view queue, F &&fn)
    {
        list<muster_setting>(fn, [&](auto row, void *arg) {
            return muster_config_get(get(), detail::ztext(queue).or_null(), nullptr, row, arg);
        });
    }

    /* muster_client_time(): by Redis' clock. */
    time_point now()
    {
        int64_t now_ms = 0;
        s_->check(muster_client_time(get(), &now_ms));
        return at(now_ms);
    }

    /* muster_client_probe(). */
    void probe(muster_probe what = MUSTER_PROBE_READ) { s_->check(muster_client_probe(get(), what)); }

    /* muster_client_stats(). Any thread. */
    struct muster_client_stats stats() const
    {
        struct muster_client_stats out = {};
        out.size = sizeof out;
        ::muster_client_stats(get(), &out);
        return out;
    }

    /* muster_client_interrupt(): the call that waits, or the next one that asks Redis for something, throws E_INTERRUPTED. Any thread, and from
     * a signal handler, which reaches the client by a static pointer. */
    void interrupt() const noexcept { muster_client_interrupt(get()); }

    /* muster_client_interrupt_take_back(): was there an interrupt that has ended no call? It does nothing any more. */
    bool interrupt_take_back() { return muster_client_interrupt_take_back(get()) != 0; }

    /* muster_client_set_progress(): fn(const muster_progress &) between the steps of long calls; an empty function: no
     * more. If it answers then::stop the call throws E_STOPPED; an exception in it comes out of the call. */
    void on_progress(std::function<then(const muster_progress &)> fn)
    {
        s_->progress = std::move(fn);
        muster_client_set_progress(get(), s_->progress ? tell_progress : nullptr, s_.get());
    }

  private:
    friend class lease;

    explicit client(std::shared_ptr<detail::client_state> s) : s_(std::move(s)) {}

    static int tell_progress(const muster_progress *progress, void *arg) noexcept
    {
        auto *s = static_cast<detail::client_state *>(arg);
        return s->guard([&] { return s->progress(*progress); });
    }

    static muster_extend_options extend_options() noexcept
    {
        muster_extend_options o{};
        o.size = sizeof o;
        return o;
    }

    template <class Read> std::optional<job> one_job(std::string_view id, Read &&read)
    {
        std::optional<job> found;
        const detail::ztext name(id);
        const char *const ids[] = {name};
        auto keep = [&](const muster_job &j) { found.emplace(j); };
        const int err = call_rows<muster_job>(keep, [&](auto row, void *arg) { return read(ids, row, arg); });
        s_->check_but(MUSTER_E_NOT_FOUND, err);
        return found;
    }

    removed cancel_jobs(const std::vector<std::string> &ids, int dependents)
    {
        removed r;
        const auto names = detail::pointers(ids);
        s_->check(muster_job_cancel(get(), names.data(), names.size(), dependents, &r.waiting, &r.running));
        return r;
    }

    /* make(row, arg) makes the call of C. */
    template <class Row, class F, class Make> int call_rows(F &fn, Make &&make)
    {
        detail::rows<F> rows{*s_, fn};
        return make(&detail::rows<F>::template row<Row>, &rows);
    }
    template <class Row, class F, class Make> void list(F &fn, Make &&make) { s_->check(call_rows<Row>(fn, make)); }

    template <class Row, class F, class Ready, class Make> bool listen_by(F &fn, Ready &ready, Make &&make)
    {
        struct listening {
            detail::client_state &state;
            F &fn;
            Ready &ready;

            static int heard(const Row *event, void *arg) noexcept
            {
                auto *self = static_cast<listening *>(arg);
                return self->state.guard([&] { return detail::call(self->fn, *event); });
            }
            static int begun(void *arg) noexcept
            {
                auto *self = static_cast<listening *>(arg);
                return self->state.guard([&] { return detail::call(self->ready); });
            }
        } listening{*s_, fn, ready};
        return s_->check_but(MUSTER_E_TIMEOUT, make(&listening::heard, &listening::begun, &listening));
    }

    std::shared_ptr<detail::client_state> s_;
};

/*
 * A task or job that client::take() took (client.h, "leases"). The lease lapses by itself when its time is over; until
 * then the holder ends it, once. If a lease is destroyed without that, it is given back: that is a call, which may
 * block as long as one, and whose error is dropped, because the task comes back anyway when the lease lapses. An
 * interrupt stays for the next call of the program.
 *
 * After an end that throws E_LOST, E_CANCELLED or E_EXHAUSTED the process is nobody's, and the lease is empty. After all other
 * errors it is still held: call again, or let it go. A finish whose answer was lost may have counted; then the second
 * one throws E_LOST.
 */
class lease
{
  public:
    lease(lease &&other) noexcept = default;
    lease &operator=(lease &&other) noexcept
    {
        if (this != &other) {
            let_go();
            s_ = std::move(other.s_);
            row_ = std::move(other.row_);
        }
        return *this;
    }
    lease(const lease &) = delete;
    lease &operator=(const lease &) = delete;
    ~lease() { let_go(); }

    /* Whether it was neither ended nor released. */
    explicit operator bool() const noexcept { return s_ != nullptr; }

    /* They live as long as this object, also when the lease has ended. */
    const std::string &id() const noexcept { return row_->id; }
    const std::string &queue() const noexcept { return row_->queue; }
    const std::string &task() const noexcept { return row_->task; }              /* the bytes, or the job's data */
    const std::optional<muster::job> &job() const noexcept { return row_->job; } /* none: a task */
    uint64_t token() const noexcept { return row_->token; }
    /* When the take said that it ends. extend() does not change it. */
    time_point ends_at() const noexcept { return row_->ends_at; }

    void finish(const finish_options &o = finish_options())
    {
        end([&](client &c) { c.finish(id(), o); });
    }
    void finish(std::string_view result) { finish(finish_options().result(result)); }
    void give_back()
    {
        end([&](client &c) { c.give_back(id()); });
    }
    void retry(const muster::retry &how = muster::retry())
    {
        end([&](client &c) { c.retry(id(), how); });
    }
    void retry(ms delay) { retry(muster::retry(delay)); }
    void fail(std::string_view group, std::string_view message = {})
    {
        end([&](client &c) { c.fail(id(), group, message); });
    }

    /* The lease ends this long from now. */
    void extend(ms lease_time)
    {
        with([&](client &c) { c.extend(id(), lease_time); });
    }
    void progress(std::string_view note)
    {
        with([&](client &c) { c.progress(id(), note); });
    }
    void set_data(std::string_view data)
    {
        with([&](client &c) { c.set_data(id(), data); });
    }

    /* Hand it to somebody else, who ends it by its id: the destructor leaves it alone. */
    std::string release()
    {
        s_.reset();
        return row_->id;
    }

  private:
    friend class client;

    /* Behind a pointer: a lease is moved, and its strings stay where they are. */
    struct row {
        std::string id, queue, task;
        std::optional<muster::job> job;
        uint64_t token;
        time_point ends_at;
    };

    lease(std::shared_ptr<detail::client_state> s, const muster_process_info &p)
        : s_(std::move(s)),
          row_(std::make_unique<row>(row{p.id, p.queue, std::string(view(p)),
                                         p.record ? std::optional<muster::job>(*p.record) : std::nullopt, p.token,
                                         at(p.ends_at_ms)}))
    {
    }

    template <class F> void with(F &&fn)
    {
        if (!s_)
            throw error(MUSTER_E_STATE, "the lease was ended or released; nothing was sent");
        client c(s_);
        fn(c);
    }

    template <class F> void end(F &&fn)
    {
        try {
            with(fn);
        } catch (const error &e) {
            if (e.code() == MUSTER_E_LOST || e.code() == MUSTER_E_CANCELLED || e.code() == MUSTER_E_EXHAUSTED)
                s_.reset();
            throw;
        }
        s_.reset();
    }

    /* An interrupt is for a call of the program: it is kept for that. */
    void let_go() noexcept
    {
        if (s_ && muster_lease_give_back(s_->c, row_->id.c_str()) == MUSTER_E_INTERRUPTED) {
            static_cast<void>(!muster_lease_give_back(s_->c, row_->id.c_str()));
            muster_client_interrupt(s_->c);
        }
        s_.reset();
    }

    std::shared_ptr<detail::client_state> s_;
    std::unique_ptr<row> row_;
};

inline std::vector<lease> client::take_many(std::string_view queue, size_t n, ms lease_time, ms wait)
{
    return take_many(queue, take_options(lease_time).n(n).wait(wait));
}

inline std::vector<lease> client::take_many(std::string_view queue, const take_options &o)
{
    std::vector<lease> taken;
    auto keep = [&](const muster_process_info &p) { taken.push_back(lease(s_, p)); };
    const int err = call_rows<muster_process_info>(
        keep, [&](auto row, void *arg) { return muster_lease_take_as(get(), detail::ztext(queue), &o.c(), row, arg); });
    s_->check_but(MUSTER_E_NOT_FOUND, err);
    return taken;
}

inline std::optional<lease> client::take(std::string_view queue, ms lease_time, ms wait)
{
    auto taken = take_many(queue, 1, lease_time, wait);
    return taken.empty() ? std::nullopt : std::optional<lease>(std::move(taken.front()));
}

} // namespace muster

#endif
