/* SPDX-License-Identifier: MIT
 *
 * C++: errors, what handlers may throw and callbacks may answer, views of what C lends. muster.hpp has the rules that
 * hold everywhere.
 */
#ifndef MUSTER_ERROR_HPP
#define MUSTER_ERROR_HPP

#if !defined(__cplusplus) || __cplusplus < 201703L
#error "<muster/muster.hpp> needs C++17 (-std=c++17); in C there is <muster/muster.h>"
#endif

#include <chrono>
#include <climits>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/* A struct and a call of one name are no mistake in C. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#include "muster.h"
#pragma GCC diagnostic pop

namespace muster
{

using ms = std::chrono::milliseconds;
using time_point = std::chrono::time_point<std::chrono::system_clock, ms>;

/* In place of a time to wait: as long as it takes. */
inline constexpr ms forever{-1};

/* ---- errors ---- */

class error : public std::runtime_error
{
  public:
    /* what() is "E_LOST: <words>"; words that are "" stand for the text of the error. */
    error(int code, std::string_view words) : std::runtime_error(say(code, words)), code_(code) {}

    int code() const noexcept { return code_; }
    const char *name() const noexcept { return muster_err_name(code_); }

    /* Another try of the same call can succeed: E_CONN, E_TIMEOUT, E_BUSY, E_FULL. A call that adds something is safe
     * to repeat under a request id, or under a job's id. E_UNCONFIRMED is not among them: it is done, and only who must
     * know that replicas have it repeats the call. */
    bool may_pass() const noexcept { return may_be_done() || code_ == MUSTER_E_BUSY || code_ == MUSTER_E_FULL; }

    /* Nobody knows whether it was done: E_CONN, E_TIMEOUT. */
    bool may_be_done() const noexcept { return code_ == MUSTER_E_CONN || code_ == MUSTER_E_TIMEOUT; }

  private:
    static std::string say(int code, std::string_view words)
    {
        return std::string(muster_err_name(code)) + ": " +
               std::string(words.empty() ? std::string_view(muster_err_text(code)) : words);
    }

    int code_;
};

/* ---- what handlers may throw, and what callbacks may return ---- */

/* Thrown by a handler: it ends with MUSTER_RETRY. Without a delay a task is retried after a second, a job after its own
 * backoff. A job's record keeps the group and the message, which may be "". */
struct retry {
    std::optional<ms> delay;
    std::string group, message;

    retry() = default;
    explicit retry(ms after) : delay(after) {}
    retry(ms after, std::string_view why_group, std::string_view why) : delay(after), group(why_group), message(why) {}
};

/* Thrown by a handler: it ends with MUSTER_GIVE_BACK. */
struct give_back {
};

/* Thrown by a handler: it ends with MUSTER_FAIL, also a job that has retries left. A group that is not allowed becomes
 * "bad-group"; a message ends before its first NUL byte, and after 64 KiB. */
struct fail {
    std::string group, message;

    explicit fail(std::string_view why_group, std::string_view why = {}) : group(why_group), message(why) {}
};

/* What a callback of a list may answer. */
enum class then { go_on, stop };

/* ---- views ---- */

/* A string of C; NULL is "". */
inline std::string_view text(const char *s) noexcept
{
    return s ? std::string_view(s) : std::string_view();
}

inline std::string_view view(const void *data, size_t len) noexcept
{
    return len ? std::string_view(static_cast<const char *>(data), len) : std::string_view();
}

inline std::string_view view(const muster_bytes &b) noexcept
{
    return view(b.data, b.len);
}

inline std::string_view view(const muster_task &t) noexcept
{
    return view(t.data, t.len);
}

/* The task of a row of processes, or of a failure. */
inline std::string_view view(const muster_process_info &p) noexcept
{
    return view(p.task, p.len);
}

inline std::string_view view(const muster_failure &f) noexcept
{
    return view(f.task, f.len);
}

inline time_point at(int64_t unix_ms) noexcept
{
    return time_point(ms(unix_ms));
}

/* ---- what the rest of this header stands on: not for programs ---- */

namespace detail
{

/* C would see only what stands before the NUL. */
inline std::string_view without_nul(std::string_view text)
{
    if (text.find('\0') != std::string_view::npos)
        throw error(MUSTER_E_INVALID, "a name or text must not hold a NUL byte; nothing was changed");
    return text;
}

/* A text as C wants it. */
class ztext
{
  public:
    explicit ztext(std::string_view text) : text_(without_nul(text)) {}
    operator const char *() const noexcept { return text_.c_str(); }
    /* NULL for "", where that means "not given". */
    const char *or_null() const noexcept { return text_.empty() ? nullptr : text_.c_str(); }

  private:
    std::string text_;
};

/* Bytes that are there, also if there are none of them: NULL means something else in some places. */
inline muster_bytes bytes(std::string_view v) noexcept
{
    return {v.data() ? v.data() : "", v.size()};
}

inline int to_int(ms span)
{
    if (span.count() > INT_MAX || span.count() < INT_MIN)
        throw error(MUSTER_E_INVALID, "a time must fit into an int, in ms; nothing was changed");
    return static_cast<int>(span.count());
}

/* In a builder every number was said, so a 0 means 0. */
template <class T> T said(T number) noexcept
{
    return number == 0 ? static_cast<T>(MUSTER_ZERO) : number;
}

/* How long to wait, for the calls of C that know no word for `forever`. */
inline int64_t wait_ms(ms wait) noexcept
{
    return wait == forever ? INT64_MAX : wait.count();
}

inline int64_t unix_ms(std::chrono::system_clock::time_point t) noexcept
{
    return std::chrono::duration_cast<ms>(t.time_since_epoch()).count();
}

/* What a struct of C points to. Copies of a builder share it: it never changes. */
class kept
{
  protected:
    const char *keep(std::string_view text) { return *hold(ztext(text)); }

    muster_bytes keep_bytes(std::string_view v) { return bytes(*hold(std::string(v))); }

    const muster_bytes *keep_bytes_struct(std::string_view v) { return hold(keep_bytes(v)); }

    /* The list is there, also if it is empty: NULL means all in some places. */
    void keep_list(const char *const *&list, size_t &n, const std::vector<std::string> &texts)
    {
        std::vector<const char *> pointers;
        for (const auto &one : texts)
            pointers.push_back(keep(one));
        n = pointers.size();
        pointers.push_back(nullptr);
        list = hold(std::move(pointers))->data();
    }

    template <class T> const T *hold(T thing)
    {
        auto one = std::make_shared<const T>(std::move(thing));
        kept_.push_back(one);
        return one.get();
    }

  private:
    std::vector<std::shared_ptr<const void>> kept_;
};

/* Valid as long as the texts. */
inline std::vector<const char *> pointers(const std::vector<std::string> &texts)
{
    std::vector<const char *> all;
    for (const auto &one : texts) {
        without_nul(one);
        all.push_back(one.c_str());
    }
    return all;
}

template <class F, class... Args> then call(F &fn, Args &&...args)
{
    using result = std::invoke_result_t<F &, Args...>;
    static_assert(std::is_void_v<result> || std::is_same_v<result, then>,
                  "a callback returns nothing, or muster::then");
    if constexpr (std::is_void_v<result>) {
        std::invoke(fn, std::forward<Args>(args)...);
        return then::go_on;
    } else {
        return std::invoke(fn, std::forward<Args>(args)...);
    }
}

/* What C has a pointer to until it has called it, once. Any thread. What is never called is destroyed with this. */
class pending
{
  public:
    class one
    {
      public:
        one() = default;
        one(const one &) = delete;
        one &operator=(const one &) = delete;
        virtual ~one() = default;

      private:
        friend class pending;
        std::list<std::unique_ptr<one>>::iterator place_;
    };

    /* make(One *) hands it to C, and answers what that call has returned. After an error, or an exception, it is not
     * called and destroyed here. */
    template <class One, class Make> int hand_in(std::unique_ptr<One> thing, Make &&make)
    {
        One *it = thing.get();
        {
            const std::lock_guard<std::mutex> guard(lock_);
            it->place_ = all_.insert(all_.end(), std::move(thing));
        }
        try {
            const int err = make(it);
            if (err != MUSTER_OK)
                take(it);
            return err;
        } catch (...) {
            take(it);
            throw;
        }
    }

    /* It is called now: the caller has it. */
    std::unique_ptr<one> take(one *it)
    {
        const std::lock_guard<std::mutex> guard(lock_);
        std::unique_ptr<one> mine = std::move(*it->place_);
        all_.erase(it->place_);
        return mine;
    }

  private:
    std::mutex lock_;
    std::list<std::unique_ptr<one>> all_;
};

inline std::vector<std::string> copy_list(const char *const *list, size_t n)
{
    return std::vector<std::string>(list, list + n);
}

} // namespace detail

} // namespace muster

#endif
