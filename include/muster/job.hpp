/* SPDX-License-Identifier: MIT
 *
 * C++: jobs and batches (job.h, batch.h): what to put, what to change, which are meant, and what a record says.
 */
#ifndef MUSTER_JOB_HPP
#define MUSTER_JOB_HPP

#include "error.hpp"

namespace muster
{

/*
 * A job to put: struct muster_job_spec of job.h, where each is explained. Everything is copied. A number that is said
 * counts, also 0: retries(0) is a job without retries, which in C is MUSTER_ZERO.
 *
 *     client.put("print", muster::job_spec("parcel 17").id("pack-17").retries(3).tags({"order-17"}));
 */
class job_spec : detail::kept
{
  public:
    job_spec() { c_.size = sizeof c_; }
    explicit job_spec(std::string_view data) : job_spec() { this->data(data); }

    job_spec &id(std::string_view v) { return set(c_.id, keep(v)); }
    job_spec &data(std::string_view v) { return set(c_.data, keep_bytes(v)); }
    job_spec &priority(int v) { return set(c_.priority, detail::said(v)); }
    job_spec &retries(int v) { return set(c_.retries, detail::said(v)); }
    job_spec &track(bool v = true) { return set(c_.track, v); }
    job_spec &replace(bool v = true) { return set(c_.replace, v); }
    job_spec &delay(ms v) { return set(c_.delay_ms, detail::said<int64_t>(v.count())); }
    /* A time that is over is now, also one before 1970. */
    job_spec &at(std::chrono::system_clock::time_point v) { return set(c_.at_ms, later_than_0(v)); }
    job_spec &limit(ms v) { return set(c_.limit_ms, detail::said<int64_t>(v.count())); }
    job_spec &backoff(const muster_backoff &v) { return set(c_.backoff, hold(v)); }
    /* Before each retry the same time; or a time that doubles with each one, up to the second. */
    job_spec &backoff(ms delay) { return backoff(muster_backoff{delay.count(), 0, 0, 0}); }
    job_spec &backoff(ms first, ms most, int jitter_percent = 0)
    {
        return backoff(muster_backoff{first.count(), most.count(), 1, jitter_percent});
    }
    job_spec &tags(const std::vector<std::string> &v) { return list(c_.tags, c_.n_tags, v); }
    job_spec &key(std::string_view v) { return set(c_.key, keep(v)); }
    job_spec &batch(std::string_view v) { return set(c_.batch, keep(v)); }

    /* The ids of jobs that must be complete, must have ended, or must have failed before this one. */
    job_spec &after(const std::vector<std::string> &v) { return list(c_.after, c_.n_after, v); }
    job_spec &after_end(const std::vector<std::string> &v) { return list(c_.after_end, c_.n_after_end, v); }
    job_spec &after_failure(const std::vector<std::string> &v) { return list(c_.after_failure, c_.n_after_failure, v); }
    job_spec &may_be_missing(bool v = true) { return set(c_.may_be_missing, v); }

    /* Recurring. */
    job_spec &every(ms v) { return set(c_.every_ms, detail::said<int64_t>(v.count())); }
    job_spec &offset(ms v) { return set(c_.offset_ms, v.count()); }
    job_spec &cron(std::string_view v) { return set(c_.cron, keep(v)); }
    job_spec &zone(std::string_view v) { return set(c_.zone, keep(v)); }
    job_spec &backlog(int v) { return set(c_.backlog, detail::said(v)); }
    job_spec &from(std::chrono::system_clock::time_point v) { return set(c_.from_ms, later_than_0(v)); }
    job_spec &until(std::chrono::system_clock::time_point v) { return set(c_.until_ms, later_than_0(v)); }
    job_spec &count(int64_t v) { return set(c_.count, v); }
    job_spec &overlap(muster_overlap v) { return set(c_.overlap, v); }

    const muster_job_spec &c() const noexcept { return c_; }

    /* NULL, or words that say what is not allowed, valid until the thread's next call of the library. */
    const char *check() const noexcept { return muster_job_spec_check(&c_); }

  private:
    template <class T, class V> job_spec &set(T &field, V value)
    {
        field = value;
        return *this;
    }

    job_spec &list(const char *const *&field, size_t &n, const std::vector<std::string> &texts)
    {
        keep_list(field, n, texts);
        return *this;
    }

    static int64_t later_than_0(std::chrono::system_clock::time_point v) noexcept
    {
        const int64_t t = detail::unix_ms(v);
        return t > 0 ? t : 1;
    }

    muster_job_spec c_{};
};

/* What to change of a job: struct muster_job_change of job.h. Each number that is said counts, also 0. */
class job_change : detail::kept
{
  public:
    job_change() { c_.size = sizeof c_; }

    job_change &queue(std::string_view v) { return set(c_.queue, keep(v)); }
    job_change &priority(int v) { return set(c_.priority, detail::said(v)); }
    job_change &track(bool v = true) { return set(c_.track, v ? 1 : -1); }
    job_change &tag(const std::vector<std::string> &v) { return list(c_.tag, c_.n_tag, v); }
    job_change &untag(const std::vector<std::string> &v) { return list(c_.untag, c_.n_untag, v); }
    job_change &after(const std::vector<std::string> &v) { return list(c_.after, c_.n_after, v); }
    job_change &after_end(const std::vector<std::string> &v) { return list(c_.after_end, c_.n_after_end, v); }
    job_change &after_failure(const std::vector<std::string> &v)
    {
        return list(c_.after_failure, c_.n_after_failure, v);
    }
    job_change &may_be_missing(bool v = true) { return set(c_.may_be_missing, v); }
    job_change &not_after(const std::vector<std::string> &v) { return list(c_.not_after, c_.n_not_after, v); }
    job_change &not_after_all(bool v = true) { return set(c_.not_after_all, v); }
    job_change &log(std::string_view v) { return set(c_.log, keep(v)); }
    job_change &data(std::string_view v) { return set(c_.data, keep_bytes(v)); }
    job_change &delay(ms v) { return set(c_.delay_ms, detail::said<int64_t>(v.count())); }
    job_change &now() { return delay(ms(0)); }
    job_change &at(std::chrono::system_clock::time_point v)
    {
        const int64_t t = detail::unix_ms(v);
        return set(c_.at_ms, t > 0 ? t : 1);
    }
    job_change &limit(ms v) { return set(c_.limit_ms, detail::said<int64_t>(v.count())); }
    job_change &retries(int v) { return set(c_.retries, detail::said(v)); }
    job_change &backoff(const muster_backoff &v) { return set(c_.backoff, hold(v)); }
    job_change &backoff(ms delay) { return backoff(muster_backoff{delay.count(), 0, 0, 0}); }
    job_change &backoff(ms first, ms most, int jitter_percent = 0)
    {
        return backoff(muster_backoff{first.count(), most.count(), 1, jitter_percent});
    }
    job_change &every(ms v) { return set(c_.every_ms, detail::said<int64_t>(v.count())); }
    job_change &cron(std::string_view v) { return set(c_.cron, keep(v)); }
    job_change &zone(std::string_view v) { return set(c_.zone, keep(v)); }
    job_change &overlap(muster_overlap v) { return set(c_.overlap, v); }
    job_change &key(std::string_view v) { return set(c_.key, keep(v)); }

    /* Only if the job is in this state; called again: or in this one. */
    job_change &only_if(muster_job_state v) { return set(c_.only_if, c_.only_if | MUSTER_JOB_IN(v)); }

    const struct muster_job_change &c() const noexcept { return c_; }

  private:
    template <class T, class V> job_change &set(T &field, V value)
    {
        field = value;
        return *this;
    }

    job_change &list(const char *const *&field, size_t &n, const std::vector<std::string> &texts)
    {
        keep_list(field, n, texts);
        return *this;
    }

    struct muster_job_change c_ = {};
};

/* Which jobs: struct muster_job_filter of job.h. */
class job_filter : detail::kept
{
  public:
    job_filter() { c_.size = sizeof c_; }

    job_filter &queue(std::string_view v) { return set(c_.queue, keep(v)); }
    job_filter &tag(std::string_view v) { return set(c_.tag, keep(v)); }
    /* With tag(): these, too; with any_tag(): at least one of all. */
    job_filter &tags(const std::vector<std::string> &v)
    {
        keep_list(c_.tags, c_.n_tags, v);
        return *this;
    }
    job_filter &any_tag(bool v = true) { return set(c_.any_tag, v); }
    job_filter &group(std::string_view v) { return set(c_.group, keep(v)); }
    job_filter &state(muster_job_state v)
    {
        c_.by_state = 1;
        return set(c_.state, v);
    }
    job_filter &tracked(bool v = true) { return set(c_.tracked, v); }
    job_filter &offset(uint64_t v) { return set(c_.offset, v); }
    job_filter &n(uint64_t v) { return set(c_.n, v); }
    job_filter &order(muster_jobs_order v) { return set(c_.order, v); }
    /* Behind the last row of the page before. */
    job_filter &past(std::string_view id, int64_t put_at_ms)
    {
        c_.past_ms = put_at_ms;
        return set(c_.past_id, keep(id));
    }

    const muster_job_filter &c() const noexcept { return c_; }

  private:
    template <class T, class V> job_filter &set(T &field, V value)
    {
        field = value;
        return *this;
    }

    muster_job_filter c_{};
};

/* A batch to open: struct muster_batch_spec of batch.h. A follower without data gets the batch's id as its data. */
class batch_spec : detail::kept
{
  public:
    batch_spec() { c_.size = sizeof c_; }

    batch_spec &id(std::string_view v) { return set(c_.id, keep(v)); }
    batch_spec &within(std::string_view batch) { return set(c_.batch, keep(batch)); }
    batch_spec &ttl(ms v) { return set(c_.ttl_ms, v.count()); }
    batch_spec &on_end(std::string_view queue) { return set(c_.on_end.queue, keep(queue)); }
    batch_spec &on_end(std::string_view queue, std::string_view data) { return follow(c_.on_end, queue, data); }
    batch_spec &on_complete(std::string_view queue) { return set(c_.on_complete.queue, keep(queue)); }
    batch_spec &on_complete(std::string_view queue, std::string_view data)
    {
        return follow(c_.on_complete, queue, data);
    }
    batch_spec &on_failure(std::string_view queue) { return set(c_.on_failure.queue, keep(queue)); }
    batch_spec &on_failure(std::string_view queue, std::string_view data) { return follow(c_.on_failure, queue, data); }

    const muster_batch_spec &c() const noexcept { return c_; }

  private:
    template <class T, class V> batch_spec &set(T &field, V value)
    {
        field = value;
        return *this;
    }

    batch_spec &follow(muster_follower &follower, std::string_view queue, std::string_view data)
    {
        follower.data = keep_bytes(data);
        return set(follower.queue, keep(queue));
    }

    muster_batch_spec c_{};
};

/* A copy of a job's record: struct muster_job of job.h. Texts that are missing are "", points of time that are missing
 * are no value. A copy of a list's row costs several allocations: copy those that you keep. */
struct job {
    struct line {
        time_point at;
        std::string what, text;
    };

    std::string id, queue;
    muster_job_state state;
    std::string data;
    int priority, retries, retried, crashes, backlog;
    bool tracked, cancelled, unique, queued;
    time_point put_at, since;
    std::optional<time_point> due_at, from, until;
    ms limit, every;
    muster_backoff backoff;
    uint64_t made;
    int64_t count;
    std::string worker, process, holder, group, message;
    std::optional<std::string> result;
    std::vector<std::string> tags, after, after_end, after_failure, before, parents, blocked_by;
    std::vector<line> history;
    std::string batch, cron, zone, made_by, key;
    std::vector<time_point> ticks;
    muster_overlap overlap;
    uint64_t whole_len, whole_result_len, whole_before;

    explicit job(const muster_job &j)
        : id(j.id), queue(j.queue), state(j.state), data(view(j.data)), priority(j.priority), retries(j.retries),
          retried(j.retried), crashes(j.crashes), backlog(j.backlog), tracked(j.tracked != 0),
          cancelled(j.cancelled != 0), unique(j.unique != 0), queued(j.queued != 0), put_at(at(j.put_at_ms)),
          since(at(j.since_ms)), due_at(time_or_none(j.due_at_ms)), from(time_or_none(j.from_ms)),
          until(time_or_none(j.until_ms)), limit(j.limit_ms), every(j.every_ms), backoff(j.backoff), made(j.made),
          count(j.count), worker(j.worker), process(j.process), holder(j.holder), group(j.group),
          message(view(j.message)), result(j.result.data ? std::optional<std::string>(view(j.result)) : std::nullopt),
          tags(detail::copy_list(j.tags, j.n_tags)), after(detail::copy_list(j.after, j.n_after)),
          after_end(detail::copy_list(j.after_end, j.n_after_end)),
          after_failure(detail::copy_list(j.after_failure, j.n_after_failure)),
          before(detail::copy_list(j.before, j.n_before)), parents(detail::copy_list(j.parents, j.n_parents)),
          blocked_by(detail::copy_list(j.blocked_by, j.n_blocked_by)), batch(j.batch), cron(j.cron), zone(j.zone),
          made_by(j.made_by), key(j.key), overlap(j.overlap), whole_len(j.whole_len),
          whole_result_len(j.whole_result_len), whole_before(j.whole_before)
    {
        for (size_t i = 0; i < j.n_history; i++)
            history.push_back({at(j.history[i].at_ms), j.history[i].what, j.history[i].text});
        for (size_t i = 0; i < j.n_ticks; i++)
            ticks.push_back(at(j.ticks[i]));
    }

  private:
    static std::optional<time_point> time_or_none(int64_t unix_ms)
    {
        return unix_ms != 0 ? std::optional<time_point>(at(unix_ms)) : std::nullopt;
    }
};

/* How a job has ended. `job` has its record: its result, or why it failed; none: it was cancelled or is gone. */
struct job_ended {
    std::string id;
    muster_job_end how;
    std::optional<muster::job> job;

    explicit job_ended(const muster_job_ended &e)
        : id(e.id), how(e.how), job(e.job ? std::optional<muster::job>(*e.job) : std::nullopt)
    {
    }
};

} // namespace muster

#endif
