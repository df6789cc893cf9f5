/* SPDX-License-Identifier: MIT
 *
 * The cases of a test in C++: functions that throw where a check fails, so that all objects of a case are destroyed.
 * One private server per program; each case begins on an empty one, and ends with a check of the namespace (a damage
 * fails it). MUSTER_URL names the server, as for any program.
 *
 *     PROGRAM            run all cases
 *     PROGRAM CASE       run the case of this name
 *     PROGRAM --list     print the names of all cases, one a line
 *
 *     int main(int argc, char **argv)
 *     {
 *         return cases::run({CASE(a_promise_that_is_kept)}, argc, argv);
 *     }
 */
#ifndef CASES_HPP
#define CASES_HPP

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <muster/muster.hpp>

extern "C" {
#include "child.h"
#include "proxy.h"
#include "raw.h"
#include "redis_server.h"
}

#define CASE(function)      \
    {                       \
#function, function \
    }

#define CHECK(condition)                                         \
    do {                                                         \
        if (!(condition))                                        \
            cases::fail(__FILE__, __LINE__, "not: " #condition); \
    } while (0)

#define CHECK_EQUAL(one, other) cases::check_equal(__FILE__, __LINE__, #one, one, other)

/* The error that the expression throws, with this code. */
#define CHECK_THROWS(code, ...) \
    cases::thrown(__FILE__, __LINE__, code, #__VA_ARGS__, [&] { static_cast<void>(__VA_ARGS__); })

/* The exception of the program's own that comes out of the expression. */
#define CHECK_COMES_OUT(type, words, ...)                                                     \
    do {                                                                                      \
        try {                                                                                 \
            static_cast<void>(__VA_ARGS__);                                                   \
            cases::fail(__FILE__, __LINE__, "nothing comes out of " #__VA_ARGS__);            \
        } catch (const type &thrown) {                                                        \
            cases::check_equal(__FILE__, __LINE__, #type, std::string(thrown.what()), words); \
        }                                                                                     \
    } while (0)

#define WAIT_FOR(condition) \
    cases::wait_for(__FILE__, __LINE__, #condition, [&] { return static_cast<bool>(condition); })

namespace cases
{

using namespace std::chrono_literals;

struct one {
    const char *name;
    void (*function)();
};

struct failed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

[[noreturn]] inline void fail(const char *file, int line, const std::string &what)
{
    std::ostringstream text;
    text << file << ':' << line << ": " << what;
    throw failed(text.str());
}

template <class A, class B> void check_equal(const char *file, int line, const char *what, const A &a, const B &b)
{
    if (a == b)
        return;
    std::ostringstream text;
    text << what << " is " << a << ", not " << b;
    fail(file, line, text.str());
}

template <class F> muster::error thrown(const char *file, int line, int code, const char *what, F &&fn)
{
    try {
        fn();
    } catch (const muster::error &e) {
        if (e.code() == code)
            return e;
        fail(file, line, std::string(what) + " throws " + e.what() + ", not " + muster_err_name(code));
    }
    fail(file, line, std::string(what) + " does not throw " + muster_err_name(code));
}

/* Until the condition holds: never for a time. */
template <class F> void wait_for(const char *file, int line, const char *what, F &&condition)
{
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end)
            fail(file, line, std::string("not within 20 s: ") + what);
        std::this_thread::sleep_for(2ms);
    }
}

inline redis_server server;

/* Run a worker's loop on a thread, until it goes out of scope. */
class running
{
  public:
    explicit running(muster::worker &w) : worker_(w), thread_([this] { worker_.run(); }) {}
    running(const running &) = delete;
    running &operator=(const running &) = delete;
    ~running()
    {
        worker_.stop(0ms);
        thread_.join();
    }

  private:
    muster::worker &worker_;
    std::thread thread_;
};

inline int count_damage()
{
    int n = 0;
    auto tell = [](const muster_damage *d, void *arg) {
        std::cerr << "damage: " << d->key << ": " << d->what << '\n';
        ++*static_cast<int *>(arg);
        return 0;
    };
    muster::client c;
    c.check(muster_client_check(c.get(), 0, tell, &n));
    return n;
}

inline bool passes(const one &test)
{
    if (server.pid == 0)
        redis_server_restart(&server);
    redis_server_thaw(&server);
    raw_do(server.redis, "FLUSHALL");
    std::cout << "[ RUN      ] " << test.name << std::endl;
    try {
        test.function();
        if (server.pid != 0 && count_damage() > 0)
            throw failed("the namespace is damaged");
    } catch (const std::exception &e) {
        std::cout << "[  FAILED  ] " << test.name << ": " << e.what() << std::endl;
        return false;
    }
    std::cout << "[       OK ] " << test.name << std::endl;
    return true;
}

inline int run(const std::vector<one> &all, int argc, char **argv)
{
    const std::string wanted = argc == 2 ? argv[1] : "";
    size_t n_run = 0, n_failed = 0;
    if (argc > 2) {
        std::cerr << "usage: " << argv[0] << " [CASE|--list]\n";
        return EXIT_FAILURE;
    }
    if (wanted == "--list") {
        for (const auto &test : all)
            std::cout << test.name << '\n';
        return EXIT_SUCCESS;
    }
    redis_server_start(&server, nullptr);
    setenv("MUSTER_URL", server.url, 1);
    unsetenv("MUSTER_PREFIX");
    for (const auto &test : all)
        if (wanted.empty() || wanted == test.name) {
            n_run++;
            n_failed += !passes(test);
        }
    redis_server_remove(&server);
    if (n_run == 0)
        std::cerr << "no case is named " << wanted << "; --list prints the names\n";
    return n_run > 0 && n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

} // namespace cases

using cases::server;
using namespace std::chrono_literals;

#endif
