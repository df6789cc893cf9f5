/* SPDX-License-Identifier: MIT
 *
 * A worker in C++: counts the words of each task of a queue until it is told to stop.
 *
 *     worker QUEUE
 *
 * MUSTER_URL says where Redis is; without it, Redis is on 127.0.0.1:6379. SIGTERM and SIGINT let the running task end
 * and give back tasks that have not started; a second signal gives the running task back, too. An empty task goes to
 * the failed list.
 */
#include <muster/worker.hpp>

#include <csignal>
#include <iostream>
#include <sstream>
#include <string>

using namespace std::chrono_literals;

/* While it lives, SIGTERM and SIGINT stop the worker. It is destroyed first: a late signal must not reach a worker that
 * is gone. */
class stopping
{
  public:
    explicit stopping(muster::worker &w)
    {
        worker = &w;
        set(stop);
    }
    stopping(const stopping &) = delete;
    stopping &operator=(const stopping &) = delete;
    ~stopping() { set(SIG_IGN); }

  private:
    static void stop(int)
    {
        static volatile std::sig_atomic_t again;
        if (again)
            worker->stop(0ms);
        else
            worker->stop();
        again = 1;
    }

    static void set(void (*handler)(int))
    {
        std::signal(SIGTERM, handler);
        std::signal(SIGINT, handler);
    }

    static inline muster::worker *worker; /* the one thing that a signal handler can reach */
};

static void count_words(muster::process &p)
{
    if (p.task().empty())
        throw muster::fail("empty", "there is nothing to count");
    std::istringstream text{std::string(p.task())};
    int words = 0;
    for (std::string word; text >> word;)
        words++;
    /* Flushed before it is finished: after that the task is gone. */
    if (!(std::cout << p.id() << ": " << words << " words" << std::endl))
        throw muster::retry();
}

static void tell(muster::worker_ref w, const muster_event &e)
{
    if (e.type == MUSTER_EVENT_STARTED)
        std::cerr << "worker: " << w.id() << " takes tasks\n";
    else if (e.err != MUSTER_OK)
        std::cerr << "worker: " << muster_err_name(e.err) << ": " << e.text << '\n';
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        std::cerr << "usage: worker QUEUE\n";
        return 2;
    }
    try {
        muster::worker worker(muster::worker_options().on_event(tell));
        worker.serve(argv[1], count_words);
        const stopping signals(worker);
        worker.run();
    } catch (const muster::error &e) {
        std::cerr << "worker: " << e.what() << '\n';
        return 1;
    }
    return 0;
}
