/* SPDX-License-Identifier: MIT
 *
 * A producer in C++ that tries again: under a request id, tasks are enqueued once, no matter how often they are sent.
 *
 *     retry QUEUE ID TASK...
 *
 * If no answer comes, nobody knows whether the tasks were enqueued. If they are sent again under the same id within an
 * hour, they are added only if they are not there yet. This also holds for another run of this program. So use an id
 * that follows from the request, such as an order's number, and not a new one each time.
 */
#include <muster/client.hpp>

#include <iostream>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

static constexpr int tries = 10;

static uint64_t enqueue(muster::client &client, const char *queue, const char *id,
                        const std::vector<std::string> &tasks)
{
    const auto request = muster::enqueue_options().request_id(id);
    for (int i = 1;; i++)
        try {
            return client.enqueue_many(queue, tasks, request);
        } catch (const muster::error &e) {
            if (!e.may_pass() || i == tries)
                throw;
            std::cerr << "retry: " << e.what() << '\n';
            std::this_thread::sleep_for(i * 100ms);
        }
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        std::cerr << "usage: retry QUEUE ID TASK...\n";
        return 2;
    }
    try {
        muster::client client(muster::client_options().timeout(1s));
        std::cout << enqueue(client, argv[1], argv[2], {argv + 3, argv + argc}) << " waiting\n";
    } catch (const muster::error &e) {
        std::cerr << "retry: " << e.what() << '\n';
        return 1;
    }
    return 0;
}
