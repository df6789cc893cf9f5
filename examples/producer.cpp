/* SPDX-License-Identifier: MIT
 *
 * A producer in C++: enqueues its arguments, or the lines of standard input, and prints how many tasks wait afterwards.
 *
 *     producer QUEUE [TASK...]
 *
 * MUSTER_URL says where Redis is; without it, Redis is on 127.0.0.1:6379. Lines are sent one by one, each in one round
 * trip. The arguments are sent all at once, which is faster for many tasks.
 */
#include <muster/client.hpp>

#include <iostream>
#include <string>
#include <vector>

static uint64_t enqueue_lines(muster::client &client, const char *queue)
{
    uint64_t waiting = client.length(queue);
    for (std::string line; std::getline(std::cin, line);)
        waiting = client.enqueue(queue, line);
    return waiting;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        std::cerr << "usage: producer QUEUE [TASK...]\n";
        return 2;
    }
    try {
        muster::client client;
        const std::vector<std::string> tasks(argv + 2, argv + argc);
        const uint64_t waiting = tasks.empty() ? enqueue_lines(client, argv[1]) : client.enqueue_many(argv[1], tasks);
        std::cout << waiting << " waiting\n";
    } catch (const muster::error &e) {
        std::cerr << "producer: " << e.what() << '\n';
        return 1;
    }
    return 0;
}
