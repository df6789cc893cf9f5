/* SPDX-License-Identifier: MIT
 *
 * A worker: counts the words of each task of a queue until it is told to stop.
 *
 *     worker QUEUE
 *
 * MUSTER_URL says where Redis is; without it, Redis is on 127.0.0.1:6379. SIGTERM and SIGINT let the running task end
 * and give back tasks that have not started; a second signal gives the running task back, too. An empty task goes to
 * the failed list.
 */
#include <muster/worker.h>

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

/* The one thing that a signal handler can reach. */
static struct muster_worker *worker;

static void stop(int signo)
{
    static volatile sig_atomic_t again;

    (void)signo;
    muster_worker_stop(worker, again ? 0 : -1);
    again = 1;
}

static void set_signals(void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};

    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
}

static enum muster_outcome count_words(struct muster_process *p, void *arg)
{
    size_t len, words = 0;
    const char *text = muster_process_task(p, &len);

    (void)arg;
    if (len == 0) {
        muster_process_set_failure(p, "empty", "there is nothing to count");
        return MUSTER_FAIL;
    }
    for (size_t i = 0; i < len; i++)
        words += text[i] != ' ' && (i + 1 == len || text[i + 1] == ' ');
    printf("%s: %zu words\n", muster_process_id(p), words);
    fflush(stdout);
    return MUSTER_FINISH;
}

static void on_event(struct muster_worker *w, const struct muster_event *e, void *arg)
{
    (void)arg;
    if (e->type == MUSTER_EVENT_STARTED)
        fprintf(stderr, "worker: %s takes tasks\n", muster_worker_id(w));
    else if (e->err != MUSTER_OK)
        fprintf(stderr, "worker: %s: %s\n", muster_err_name(e->err), e->text);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: worker QUEUE\n");
        return 2;
    }
    struct muster_worker_options options = {.size = sizeof options, .on_event = on_event};
    int err = muster_worker_new(&worker, &options);
    if (err != MUSTER_OK) {
        const char *why = muster_worker_options_check(&options);
        fprintf(stderr, "worker: %s\n", why ? why : muster_err_text(err));
        return 2;
    }
    set_signals(stop);
    err = muster_worker_start(worker);
    if (err == MUSTER_OK)
        err = muster_worker_serve(worker, argv[1], 0, count_words, NULL);
    if (err == MUSTER_OK)
        err = muster_worker_run(worker);
    if (err != MUSTER_OK)
        fprintf(stderr, "worker: %s: %s\n", muster_err_name(err), muster_worker_error(worker));
    set_signals(SIG_IGN); /* a late signal must not reach a worker that is gone */
    muster_worker_free(worker);
    return err == MUSTER_OK ? 0 : 1;
}
