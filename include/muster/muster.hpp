/* SPDX-License-Identifier: MIT
 *
 * muster in C++17: a thin layer over the headers of C, in headers alone. client.hpp is for programs that put tasks and
 * jobs and look at queues, job.hpp describes jobs, worker.hpp is for programs that do the work, async.hpp for those
 * with an event loop. doc/cpp.md shows how they are used. What a call sends, how long it blocks and what is true
 * after each error stands in client.h, job.h, batch.h, worker.h, async.h and listen.h, at the call of C that is named
 * in C++; here stands what is different.
 *
 *     muster::client client;                                   // MUSTER_URL says where Redis is
 *     client.enqueue("mail", "to ann");
 *
 *     muster::worker worker;
 *     worker.serve("mail", [](muster::process &p) { send(p.task()); });
 *     worker.run();
 *
 * Build with `g++ -std=c++17 x.cpp $(pkg-config --cflags --libs muster)`. Exceptions are needed, run-time type
 * information is not. Where glibc is older than 2.34, -pthread is needed, too.
 *
 * Errors. A call that fails throws muster::error; code() is one of error.h (MUSTER_E_EXISTS, ...), what() its name and
 * the words of muster_client_error(). What is no failure is no exception: a take that finds nothing and a job that does
 * not exist are empty optionals.
 *
 * Text and bytes. Arguments are std::string_view and are copied or sent before the call returns, unless it says
 * otherwise. A name or a text that holds a NUL byte is refused (E_INVALID); tasks, data and results may hold any bytes.
 *
 * What comes out. Rows of lists and events are the structs of C, borrowed until the callback returns: text() makes a
 * view of a string that may be NULL, view() one of bytes. Objects of C++ (lease, job, job_ended) own what they tell.
 * Views of a process (task(), id(), ...) live as long as the process.
 *
 * Times are std::chrono::milliseconds, here `ms`: seconds and hours convert by themselves, and what is finer than a
 * millisecond does not compile. 0 means the default where it does so in C. Points of time are of the system clock.
 *
 * Callbacks of lists return nothing, or muster::then: `then::stop` ends the list. An exception in one ends it, too, and
 * comes out of the call that made the list. A callback must not use the same client, or a lease that it took; a list of
 * what is to be ended is therefore copied first.
 *
 * Threads. Only one thread at a time may use a client and the leases that it took. A worker's calls belong to the
 * thread of its loop, where nothing else is said.
 *
 * A client, worker, lease or `later` can be moved and not copied. One that was moved from may only be destroyed, or
 * assigned to. What C++ has no call for, C has: get() is the handle for it, check() throws what it answers.
 */
#ifndef MUSTER_MUSTER_HPP
#define MUSTER_MUSTER_HPP

#include "async.hpp"
#include "client.hpp"
#include "error.hpp"
#include "job.hpp"
#include "worker.hpp"

#endif
