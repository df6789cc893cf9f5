/* SPDX-License-Identifier: MIT
 *
 * Fencing: a file that refuses a writer whose token is older than one it has seen.
 *
 *     fencing QUEUE FILE [SECONDS]
 *
 * Each task is a line for FILE. The work takes SECONDS (default 1); then the line is written after the token of its
 * process. If a process is stopped meanwhile for longer than its ttl, it does not know this when it wakes up. By then
 * another worker has the task under a later token, and may have written it. So the file decides: it keeps the latest
 * token, and refuses an earlier one. A database does the same with `UPDATE ... WHERE token <= mine`.
 */
#include <muster/worker.h>

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

struct ledger {
    const char *path;
    unsigned seconds;
};

static struct muster_worker *worker;

static void on_term(int signo)
{
    (void)signo;
    muster_worker_stop(worker, -1);
}

static uint64_t latest_token(FILE *file)
{
    uint64_t latest = 0, token;

    rewind(file);
    while (fscanf(file, "%" SCNu64 "%*[^\n]", &token) == 1)
        latest = token > latest ? token : latest;
    return latest;
}

/* The lock makes reading and writing one step. Without it a later writer could come in between. */
static enum muster_outcome write_fenced(const char *path, uint64_t token, const char *text)
{
    enum muster_outcome outcome = MUSTER_RETRY;
    FILE *file = fopen(path, "a+");

    if (!file)
        return outcome;
    if (flock(fileno(file), LOCK_EX) == 0) {
        if (token < latest_token(file))
            outcome = MUSTER_GIVE_BACK; /* if the task is still this worker's, it comes again under a later token */
        else if (fprintf(file, "%" PRIu64 " %s\n", token, text) > 0 && fflush(file) == 0)
            outcome = MUSTER_FINISH;
    }
    fclose(file);
    return outcome;
}

/* Runs on a thread, so that the heartbeat goes on meanwhile. */
static enum muster_outcome work(struct muster_process *p, void *arg)
{
    const struct ledger *ledger = arg;

    fprintf(stderr, "fencing: %s: begins\n", muster_process_id(p));
    sleep(ledger->seconds);
    enum muster_outcome outcome = write_fenced(ledger->path, muster_process_token(p), muster_process_task(p, NULL));
    fprintf(stderr, "fencing: %s: %s\n", muster_process_id(p),
            outcome == MUSTER_FINISH      ? "written"
            : outcome == MUSTER_GIVE_BACK ? "refused, the file has seen a later token"
                                          : "not written, comes again");
    return outcome;
}

int main(int argc, char **argv)
{
    struct muster_worker_options options = {.size = sizeof options, .threads = 1};
    if (argc < 3 || argc > 4 || muster_worker_new(&worker, &options) != MUSTER_OK) {
        fprintf(stderr, "usage: fencing QUEUE FILE [SECONDS]; MUSTER_URL, if set, says where Redis is\n");
        return 2;
    }
    struct ledger ledger = {argv[2], argc == 4 ? (unsigned)strtoul(argv[3], NULL, 10) : 1};
    signal(SIGTERM, on_term);
    int err = muster_worker_start(worker);
    if (err == MUSTER_OK)
        err = muster_worker_serve(worker, argv[1], 0, work, &ledger);
    if (err == MUSTER_OK)
        err = muster_worker_run(worker);
    if (err != MUSTER_OK)
        fprintf(stderr, "fencing: %s: %s\n", muster_err_name(err), muster_worker_error(worker));
    signal(SIGTERM, SIG_IGN); /* a late signal must not reach a worker that is gone */
    muster_worker_free(worker);
    return err == MUSTER_OK ? 0 : 1;
}
