/* SPDX-License-Identifier: MIT
 *
 * Work on threads with results, in C++: each job is the name of a grey picture (PGM, P5), which is written at half its
 * size beside it; the result is "WIDTHxHEIGHT". Who has put a job waits for that.
 *
 *     resizer QUEUE THREADS             works until SIGTERM
 *     resizer QUEUE THREADS FILE...     puts a job for each file, waits for them, and prints what came of each
 *
 * A picture that cannot be read fails its job after its retries, with the words of the exception. The new file gets its
 * name as the last step: a job may run twice.
 */
#include <muster/muster.hpp>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <vector>

using namespace std::chrono_literals;

struct picture {
    size_t width, height;
    std::vector<char> bytes;
};

static picture read(const std::string &path)
{
    std::ifstream in(path, std::ios::binary);
    std::string kind;
    size_t width = 0, height = 0, most = 0;
    if (!(in >> kind >> width >> height >> most) || kind != "P5" || most != 255 || width > 100000 || height > 100000)
        throw std::runtime_error(path + " is no picture that this program knows");
    in.get();
    picture p{width, height, std::vector<char>(width * height)};
    if (!in.read(p.bytes.data(), static_cast<std::streamsize>(p.bytes.size())))
        throw std::runtime_error(path + " is too short");
    return p;
}

static void write(const std::string &path, const picture &p)
{
    std::ofstream out(path + ".part", std::ios::binary);
    out << "P5 " << p.width << ' ' << p.height << " 255\n";
    out.write(p.bytes.data(), static_cast<std::streamsize>(p.bytes.size()));
    out.close();
    if (!out || std::rename((path + ".part").c_str(), path.c_str()) != 0)
        throw std::runtime_error("cannot write " + path);
}

static void halve(muster::process &p)
{
    const std::string path(p.task());
    const picture from = read(path);
    picture to{from.width / 2, from.height / 2, {}};
    for (size_t y = 0; y < to.height; y++) {
        if (p.is_told_to_stop())
            throw muster::give_back();
        for (size_t x = 0; x < to.width; x++)
            to.bytes.push_back(from.bytes[2 * y * from.width + 2 * x]);
    }
    write(path + ".half", to);
    p.set_result(std::to_string(to.width) + "x" + std::to_string(to.height));
}

static void work(const char *queue, int threads)
{
    static muster::worker worker(muster::worker_options().threads(threads));
    worker.serve(queue, halve); /* called by several threads at once: it shares nothing */
    std::signal(SIGTERM, [](int) { worker.stop(); });
    worker.run();
    std::signal(SIGTERM, SIG_IGN);
}

static int ask(const char *queue, const std::vector<std::string> &files)
{
    muster::client client;
    std::vector<muster::job_spec> jobs;
    for (const auto &file : files)
        jobs.push_back(muster::job_spec(file).retries(1).limit(1min));
    const auto ids = client.put_many(queue, jobs);
    std::map<std::string, std::string> names;
    for (size_t i = 0; i < ids.size(); i++)
        names[ids[i]] = files[i];
    int n_failed = 0;
    client.wait_many(ids, 10min, [&](const muster_job_ended &ended) {
        const bool is_done = ended.how == MUSTER_JOB_END_COMPLETE && ended.job;
        n_failed += !is_done;
        std::cout << names[ended.id] << ": ";
        if (is_done)
            std::cout << muster::view(ended.job->result) << '\n';
        else
            std::cout << muster_job_end_name(ended.how) << ": " << (ended.job ? muster::view(ended.job->message) : "")
                      << '\n';
    });
    return n_failed > 0;
}

int main(int argc, char **argv)
{
    const int threads = argc > 2 ? std::atoi(argv[2]) : 0;
    if (threads < 1) {
        std::cerr << "usage: resizer QUEUE THREADS [FILE...]\n";
        return 2;
    }
    try {
        if (argc > 3)
            return ask(argv[1], {argv + 3, argv + argc});
        work(argv[1], threads);
    } catch (const muster::error &e) {
        std::cerr << "resizer: " << e.what() << '\n';
        return 1;
    }
    return 0;
}
