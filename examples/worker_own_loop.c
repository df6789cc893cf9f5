/* SPDX-License-Identifier: MIT
 *
 * A worker as a guest in the program's own loop, beside a timer and a signal handler of the program.
 *
 *     worker_own_loop QUEUE
 *
 * Prints each task, and twice a second the number of tasks so far, if it has changed. The program owns the loop, and
 * decides when it ends: after SIGTERM the worker gives up its tasks, and MUSTER_EVENT_STOPPED says when it is done.
 */
#include <muster/worker.h>

#include <event2/event.h>
#include <event2/event_struct.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

/* What the loop's parts share. */
struct program {
    struct event_base *base;
    struct muster_worker *worker;
    unsigned long done, reported;
    int err;
};

static enum muster_outcome print_task(struct muster_process *p, void *arg)
{
    struct program *program = arg;
    size_t len;
    const char *task = muster_process_task(p, &len);

    if (fwrite(task, 1, len, stdout) != len || putchar('\n') == EOF || fflush(stdout) != 0)
        return MUSTER_RETRY;
    program->done++;
    return MUSTER_FINISH;
}

static void on_event(struct muster_worker *w, const struct muster_event *e, void *arg)
{
    struct program *program = arg;

    (void)w;
    if (e->err != MUSTER_OK)
        fprintf(stderr, "worker_own_loop: %s: %s\n", muster_err_name(e->err), e->text);
    if (e->type != MUSTER_EVENT_STOPPED)
        return;
    program->err = e->err;
    event_base_loopbreak(program->base);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct program *program = arg;

    (void)fd, (void)what;
    if (program->done != program->reported)
        fprintf(stderr, "worker_own_loop: %lu so far\n", program->done);
    program->reported = program->done;
}

static void on_term(evutil_socket_t signo, short what, void *arg)
{
    struct program *program = arg;

    (void)signo, (void)what;
    muster_worker_stop(program->worker, -1);
}

int main(int argc, char **argv)
{
    struct program program = {.base = event_base_new(), .err = MUSTER_E_NOMEM};
    struct muster_worker_options options = {
        .size = sizeof options, .base = program.base, .on_event = on_event, .arg = &program};
    if (argc != 2 || !program.base || muster_worker_new(&program.worker, &options) != MUSTER_OK) {
        fprintf(stderr, "usage: worker_own_loop QUEUE; MUSTER_URL, if set, says where Redis is\n");
        if (program.base)
            event_base_free(program.base);
        return 2;
    }
    struct event timer, term;
    event_assign(&timer, program.base, -1, EV_PERSIST, on_timer, &program);
    evsignal_assign(&term, program.base, SIGTERM, on_term, &program);
    if (event_add(&timer, &(struct timeval){.tv_usec = 500 * 1000}) == 0 && event_add(&term, NULL) == 0 &&
        muster_worker_start(program.worker) == MUSTER_OK &&
        muster_worker_serve(program.worker, argv[1], 0, print_task, &program) == MUSTER_OK)
        event_base_dispatch(program.base);
    muster_worker_free(program.worker); /* before its loop */
    event_base_free(program.base);
    return program.err == MUSTER_OK ? 0 : 1;
}
