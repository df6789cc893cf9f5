/* SPDX-License-Identifier: MIT
 *
 * A worker in a program with an event loop of its own: plain epoll, no libevent, no callbacks.
 *
 *     worker_epoll QUEUE
 *
 * The library does its work on a thread of its own. This loop watches one descriptor for it, beside a signal and a timer
 * of the program. Each task "works" for a moment, up to 100 at once, and is ended when its time is over. After SIGTERM
 * nothing new comes, what runs ends, and MUSTER_EVENT_STOPPED says when the worker is done.
 */
#include <muster/worker.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define HANDS 100
#define BATCH 64

struct program {
    struct muster_worker *worker;
    struct muster_process *running[HANDS]; /* the next turn of the timer ends them */
    size_t n;
    unsigned long done;
    int has_stopped, err;
};

static void take(struct program *program, const struct muster_item *item)
{
    if (item->type == MUSTER_ITEM_PROCESS) {
        program->running[program->n++] = item->process; /* never more than HANDS */
        return;
    }
    if (item->err != MUSTER_OK)
        fprintf(stderr, "worker_epoll: %s: %s\n", muster_err_name(item->err), item->text);
    program->done += item->event == MUSTER_EVENT_ENDED; /* Redis has counted its end */
    if (item->event == MUSTER_EVENT_STOPPED) {
        program->has_stopped = 1;
        program->err = item->err;
    }
}

static void on_worker(struct program *program)
{
    struct muster_item items[BATCH];
    size_t n;
    do {
        items[0].size = sizeof *items;
        n = muster_worker_next(program->worker, items, BATCH);
        for (size_t i = 0; i < n; i++)
            take(program, &items[i]);
    } while (n == BATCH);
}

static void on_timer(struct program *program, int fd)
{
    unsigned long long turns;
    if (read(fd, &turns, sizeof turns) == (ssize_t)sizeof turns)
        muster_process_end_many(program->running, program->n, MUSTER_FINISH);
    program->n = 0;
}

static int watch(int epoll, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data = {.fd = fd}};
    return fd >= 0 ? epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) : -1;
}

static void run(struct program *program, int epoll, int worker_fd, int timer_fd)
{
    while (!program->has_stopped) {
        struct epoll_event event;
        if (epoll_wait(epoll, &event, 1, -1) < 1)
            continue;
        if (event.data.fd == worker_fd)
            on_worker(program);
        else if (event.data.fd == timer_fd)
            on_timer(program, timer_fd);
        else
            muster_worker_stop(program->worker, -1);
    }
}

int main(int argc, char **argv)
{
    struct program program = {.err = MUSTER_E_INVALID};
    const struct muster_worker_options options = {
        .size = sizeof options, .hands = HANDS, .prefetch = HANDS, .own_thread = 1, .tell_ended = 1};
    if (argc != 2 || muster_worker_new(&program.worker, &options) != MUSTER_OK) {
        fprintf(stderr, "usage: worker_epoll QUEUE; MUSTER_URL, if set, says where Redis is\n");
        return 2;
    }
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_BLOCK, &term, NULL);
    int worker_fd = muster_worker_fd(program.worker); /* before the start, so that no event is missed */
    int timer_fd = timerfd_create(CLOCK_MONOTONIC, 0), epoll = epoll_create1(0);
    const struct itimerspec every = {{0, 20 * 1000 * 1000}, {0, 20 * 1000 * 1000}};
    if (watch(epoll, worker_fd) == 0 && watch(epoll, timer_fd) == 0 && watch(epoll, signalfd(-1, &term, 0)) == 0 &&
        timerfd_settime(timer_fd, 0, &every, NULL) == 0 && muster_worker_start(program.worker) == MUSTER_OK &&
        muster_worker_serve(program.worker, argv[1], 0, NULL, NULL) == MUSTER_OK)
        run(&program, epoll, worker_fd, timer_fd);
    fprintf(stderr, "worker_epoll: %lu done\n", program.done);
    muster_worker_free(program.worker);
    return program.err == MUSTER_OK ? 0 : 1;
}
