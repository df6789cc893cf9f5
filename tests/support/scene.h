/* SPDX-License-Identifier: MIT
 *
 * The scene of a live test: one server per program; and for each test a namespace, a client, a loop and a journal of
 * its own. At the end of a test, failed or not, the workers that are left are freed, and the processes killed. Then a
 * check of its namespace (muster_client_check()) must find nothing, unless the test has written there without the
 * library.
 *
 *     int main(int argc, char **argv)
 *     {
 *         const struct CMUnitTest tests[] = {live_test(a_promise_that_is_kept)};
 *         return scene_run(tests, argc, argv);
 *     }
 *
 * In a test, `struct scene *s = *state;`.
 */
#ifndef SCENE_H
#define SCENE_H

#include <event2/event.h>
#include <hiredis/hiredis.h>
#include <muster/muster.h>

#include "journal.h"
#include "raw.h"
#include "redis_server.h"
#include "testing.h"
#include "wait.h"

struct live_worker;
struct worker_process;

struct scene {
    struct redis_server *server;
    char prefix[16];
    struct muster_client *client;
    struct event_base *base;
    struct journal *journal;
    struct live_worker *workers;
    struct worker_process *processes;
    uint64_t written_before; /* raw_written() at its beginning */
};

int scene_begin(void **state);
int scene_end(void **state);
#define live_test(f) cmocka_unit_test_setup_teardown(f, scene_begin, scene_end)

/* The group's set-up and tear-down: the server of the program. scene_start_durable: with its append only file. */
int scene_start(void **state);
int scene_start_durable(void **state);
int scene_stop(void **state);
#define scene_run(tests, argc, argv) testing_run(tests, scene_start, scene_stop, argc, argv)
#define scene_run_durable(tests, argc, argv) testing_run(tests, scene_start_durable, scene_stop, argc, argv)

/* A client of the scene's namespace that the caller frees. */
struct muster_client *scene_client(struct scene *s);

/* From now on the scene plays on another server, which the test starts and removes. */
void scene_move(struct scene *s, struct redis_server *to);

/* Enqueue a text with the scene's client. */
void scene_enqueue(struct scene *s, const char *queue, const char *task);

/* Enqueue `n` tasks "<stem>0", "<stem>1", ... in one call. */
void scene_enqueue_n(struct scene *s, const char *queue, const char *stem, int n);

/* Wait until `n` handlers have begun, in all. */
void scene_await_starts(struct scene *s, size_t n);

/* Wait until the worker, or any for NULL, has had the event `n` times in all. */
void scene_await_events(struct scene *s, enum muster_event_type type, const char *worker, size_t n);

/* Wait until this worker is known as idle on the queue. */
void scene_await_idle(struct scene *s, const char *queue, const char *worker);

/* How many tasks wait in the queue, those that came back included. */
int64_t scene_waiting(struct scene *s, const char *queue);
/* Wait until it is n. The loop runs meanwhile. */
void scene_await_waiting(struct scene *s, const char *queue, int64_t n);

/* From now on no death counts against what the dead held (the namespace's max_crashes is 0), so nothing has to run
 * alone. */
void scene_suspect_nothing(struct scene *s);

/* How many handlers have begun. */
size_t scene_starts(struct scene *s);

/* The tasks begun from a journal position on are these, in this order, NULL at the end. */
void scene_assert_started(struct scene *s, size_t from, const char *const *tasks);

/* No task waits, no process is left: all queues of the namespace. */
void scene_assert_quiet(struct scene *s);

#endif
