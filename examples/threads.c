/* SPDX-License-Identifier: MIT
 *
 * Handlers on threads: long computations, several at once, while the worker's heartbeat goes on.
 *
 *     threads QUEUE N
 *
 * Each task is a number, below which one of N threads counts the primes. A handler checks now and then whether it must
 * stop: because the worker was lost, or because the second that it gets after SIGTERM is over. Then it gives its task
 * back. The handlers themselves must protect what they share.
 */
#include <muster/worker.h>

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define DRAIN_MS 1000

static struct muster_worker *worker;

static void on_term(int signo)
{
    (void)signo;
    muster_worker_stop(worker, DRAIN_MS);
}

/* What the handlers share. */
struct total {
    pthread_mutex_t lock;
    unsigned long tasks;
};

static bool is_prime(unsigned long n)
{
    for (unsigned long i = 2; i <= n / i; i++)
        if (n % i == 0)
            return false;
    return n > 1;
}

static enum muster_outcome count_primes(struct muster_process *p, void *arg)
{
    struct total *total = arg;
    unsigned long below = strtoul(muster_process_task(p, NULL), NULL, 10), primes = 0;

    for (unsigned long n = 2; n < below; n++) {
        if (n % 1024 == 0 && muster_process_stop_reason(p) != MUSTER_GO_ON)
            return MUSTER_GIVE_BACK;
        primes += is_prime(n);
    }
    pthread_mutex_lock(&total->lock);
    total->tasks++;
    printf("%lu primes below %lu\n", primes, below);
    fflush(stdout);
    pthread_mutex_unlock(&total->lock);
    return MUSTER_FINISH;
}

int main(int argc, char **argv)
{
    struct total total = {.lock = PTHREAD_MUTEX_INITIALIZER};
    int n_threads = argc == 3 ? atoi(argv[2]) : 0;
    struct muster_worker_options options = {.size = sizeof options, .threads = n_threads};
    if (n_threads < 1 || muster_worker_new(&worker, &options) != MUSTER_OK) {
        fprintf(stderr, "usage: threads QUEUE N; MUSTER_URL, if set, says where Redis is\n");
        return 2;
    }
    signal(SIGTERM, on_term);
    int err = muster_worker_start(worker);
    if (err == MUSTER_OK)
        err = muster_worker_serve(worker, argv[1], 0, count_primes, &total);
    if (err == MUSTER_OK)
        err = muster_worker_run(worker);
    if (err != MUSTER_OK)
        fprintf(stderr, "threads: %s: %s\n", muster_err_name(err), muster_worker_error(worker));
    signal(SIGTERM, SIG_IGN);   /* a late signal must not reach a worker that is gone */
    muster_worker_free(worker); /* waits for handlers that have not noticed yet that they must stop */
    printf("%lu tasks done\n", total.tasks);
    return err == MUSTER_OK ? 0 : 1;
}
