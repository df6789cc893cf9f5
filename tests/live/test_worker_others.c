/* SPDX-License-Identifier: MIT
 *
 * What others do to a worker's processes and queues: they delete the queue, end a process by its id, announce cancels
 * of their own, and publish anything on its channels.
 *
 * Where a ttl of an hour is used, no heartbeat comes within the test: the worker heard by a message.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "invariant.h"
#include "live_worker.h"

#define AN_HOUR 3600000
#define FLOOD 10000

/* Worker "w" on "q" and "r" that holds what it gets until the test ends it. */
static struct live_worker *holder(struct scene *s, int ttl_ms, int hands, int prefetch)
{
    return live_worker_idle(s, &(struct worker_spec){.id = "w",
                                                     .ttl_ms = ttl_ms,
                                                     .hands = hands,
                                                     .prefetch = prefetch,
                                                     .answer = MUSTER_LATER,
                                                     .stubborn = true,
                                                     .queues = {{"q", 0}, {"r", 0}}});
}

static size_t n_events(struct scene *s, enum muster_event_type type, const char *task)
{
    return journal_count(s->journal, JOURNAL_EVENT, (int)type, NULL, task);
}

/* Nothing waits, runs or is delayed, the counts are right, and no mark is left. */
static void await_quiet(struct scene *s)
{
    raw_await(s->server->redis, s->base, 0, "HGET %s:worker:w held", s->prefix);
    raw_await(s->server->redis, s->base, 0, "EXISTS %s:marks:w %s:notes:w", s->prefix, s->prefix);
    scene_assert_quiet(s);
    invariant_assert(s->server->redis, s->prefix);
}

/* Messages are denied while others call: what they change is all there is. */
static void mute(struct scene *s)
{
    raw_do(s->server->redis, "ACL SETUSER default -publish -spublish");
}

static void unmute(struct scene *s)
{
    raw_do(s->server->redis, "ACL SETUSER default +publish +spublish");
}

/* ---- a queue is deleted ---- */

static void delete_q(struct scene *s, uint64_t waiting, uint64_t running)
{
    uint64_t waited = 99, ran = 99;
    assert_ok(muster_queue_delete(s->client, "q", &waited, &ran));
    assert_int_equal(waited, waiting);
    assert_int_equal(ran, running);
}

static void a_deleted_queue_lets_what_runs_finish_and_drops_the_rest(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = holder(s, AN_HOUR, 4, 1);
    scene_enqueue_n(s, "q", "t", 7);
    scene_await_starts(s, 4);
    scene_await_waiting(s, "q", 2);
    delete_q(s, 2, 5);
    scene_await_events(s, MUSTER_EVENT_DELETED, "w", 4);
    assert_int_equal(n_events(s, MUSTER_EVENT_STOP, NULL), 0); /* it may go on */
    const enum muster_outcome outcomes[] = {MUSTER_FINISH, MUSTER_GIVE_BACK, MUSTER_RETRY, MUSTER_FAIL};
    w->spec.retry_ms = 20;
    for (size_t i = 0; i < N_OF(outcomes); i++)
        live_worker_end(w, outcomes[i]);
    await_quiet(s);
    assert_int_equal(scene_starts(s), 4);
    assert_int_equal(n_events(s, MUSTER_EVENT_UNCOUNTED, NULL), 0);
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:failed:q %s:queues:q", s->prefix, s->prefix), 0);
    assert_int_equal(raw_int(s->server->redis, "HGET %s:queue:q cancelled", s->prefix), 0);
}

static void a_new_queue_of_the_name_is_clean_and_served(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = holder(s, AN_HOUR, 3, 0);
    scene_enqueue(s, "q", "old");
    scene_await_starts(s, 1);
    assert_ok(muster_queue_pause(s->client, "q"));
    delete_q(s, 0, 1);
    scene_await_events(s, MUSTER_EVENT_DELETED, "w", 1);
    scene_enqueue(s, "q", "old"); /* the same bytes */
    scene_enqueue(s, "q", "new");
    scene_await_starts(s, 3);
    live_worker_end(w, MUSTER_GIVE_BACK); /* of the first queue: dropped */
    raw_await(s->server->redis, s->base, 2, "HGET %s:worker:w held", s->prefix);
    live_worker_end(w, MUSTER_GIVE_BACK); /* of the second: comes again */
    scene_await_starts(s, 4);
    live_worker_answer(w, MUSTER_FINISH);
    await_quiet(s);
    scene_assert_started(s, 0, (const char *[]){"old", "old", "new", "old", NULL});
    assert_int_equal(n_events(s, MUSTER_EVENT_DELETED, NULL), 1);
    assert_int_equal(n_events(s, MUSTER_EVENT_UNCOUNTED, NULL), 0);
}

static void without_a_message_a_delete_is_told_by_a_heartbeat(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = holder(s, 600, 1, 1);
    scene_enqueue_n(s, "q", "t", 2);
    scene_await_starts(s, 1);
    raw_await(s->server->redis, s->base, 2, "HLEN %s:processing:w:q", s->prefix);
    mute(s);
    int err = muster_queue_delete(s->client, "q", NULL, NULL);
    unmute(s);
    assert_ok(err);
    scene_await_events(s, MUSTER_EVENT_DELETED, "w", 1);
    live_worker_answer(w, MUSTER_GIVE_BACK);
    await_quiet(s);
    assert_int_equal(scene_starts(s), 1);
}

static void end_inside(struct live_worker *w, const struct muster_event *e)
{
    if (e->type != MUSTER_EVENT_DELETED)
        return;
    while (w->n_held > 0)
        live_worker_end(w, MUSTER_GIVE_BACK);
}

static void all_may_be_ended_while_one_is_told_of_its_deletion(void **state)
{
    struct scene *s = *state;
    live_worker_idle(s, &(struct worker_spec){.id = "w",
                                              .ttl_ms = AN_HOUR,
                                              .hands = 3,
                                              .answer = MUSTER_LATER,
                                              .on_event = end_inside,
                                              .queues = {{"q", 0}}});
    scene_enqueue_n(s, "q", "t", 3);
    scene_await_starts(s, 3);
    delete_q(s, 0, 3);
    await_quiet(s);
    assert_int_equal(n_events(s, MUSTER_EVENT_DELETED, NULL), 1);
    assert_int_equal(n_events(s, MUSTER_EVENT_UNCOUNTED, NULL), 0);
}

/* ---- another end of a process ---- */

static char *id_of(struct live_worker *w, size_t i)
{
    return strdup(muster_process_id(w->held[i]));
}

/* The event names the one that was finished from outside. All are ended together, and only that one does not count. */
static void finish_one_of_five(struct scene *s, struct live_worker *w)
{
    char *id = id_of(w, 2);
    int err = muster_lease_finish(s->client, id, NULL);
    free(id);
    assert_ok(err);
}

static void assert_only_t2_is_uncounted(struct scene *s)
{
    assert_int_equal(n_events(s, MUSTER_EVENT_UNCOUNTED, NULL), 1);
    assert_int_equal(n_events(s, MUSTER_EVENT_UNCOUNTED, "t2"), 1);
    assert_int_equal(scene_starts(s), 5);
}

static void an_end_by_somebody_else_is_told_and_does_not_spoil_the_worker_s_own(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = holder(s, AN_HOUR, 5, 0);
    scene_enqueue_n(s, "q", "t", 5);
    scene_await_starts(s, 5);
    finish_one_of_five(s, w);
    scene_await_events(s, MUSTER_EVENT_STOP, "w", 1);
    assert_int_equal(muster_process_stop_reason(w->held[2]), MUSTER_STOP_LOST);
    assert_int_equal(n_events(s, MUSTER_EVENT_STOP, "t2"), 1);
    assert_int_equal(raw_int(s->server->redis, "HGET %s:worker:w held", s->prefix), 4);
    live_worker_answer(w, MUSTER_FINISH);
    await_quiet(s);
    scene_await_events(s, MUSTER_EVENT_UNCOUNTED, "w", 1);
    assert_only_t2_is_uncounted(s);
}

/* It says its ends before it has heard of the other one. */
static void an_end_by_somebody_else_that_is_not_heard_does_not_spoil_them_either(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = holder(s, AN_HOUR, 5, 0);
    scene_enqueue_n(s, "q", "t", 5);
    scene_await_starts(s, 5);
    mute(s);
    finish_one_of_five(s, w);
    unmute(s);
    live_worker_answer(w, MUSTER_FINISH);
    await_quiet(s);
    scene_await_events(s, MUSTER_EVENT_UNCOUNTED, "w", 1);
    assert_only_t2_is_uncounted(s);
    assert_int_equal(n_events(s, MUSTER_EVENT_STOP, NULL), 0);
}

static void without_a_message_an_end_by_somebody_else_is_told_by_a_heartbeat(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = holder(s, 600, 5, 0);
    scene_enqueue_n(s, "q", "t", 5);
    scene_await_starts(s, 5);
    mute(s);
    finish_one_of_five(s, w);
    unmute(s);
    scene_await_events(s, MUSTER_EVENT_STOP, "w", 1);
    assert_int_equal(n_events(s, MUSTER_EVENT_STOP, "t2"), 1);
    live_worker_answer(w, MUSTER_FINISH);
    await_quiet(s);
    scene_await_events(s, MUSTER_EVENT_UNCOUNTED, "w", 1);
    assert_only_t2_is_uncounted(s);
}

static void what_somebody_else_gives_back_is_run_under_a_new_token(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = holder(s, AN_HOUR, 2, 0);
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    char *id = id_of(w, 0);
    int err = muster_lease_give_back(s->client, id);
    free(id);
    assert_ok(err);
    scene_await_starts(s, 2);
    scene_await_events(s, MUSTER_EVENT_STOP, "w", 1);
    assert_int_equal(muster_process_stop_reason(w->held[0]), MUSTER_STOP_LOST);
    assert_int_equal(muster_process_stop_reason(w->held[1]), MUSTER_GO_ON);
    live_worker_answer(w, MUSTER_FINISH);
    scene_await_events(s, MUSTER_EVENT_UNCOUNTED, "w", 1);
    await_quiet(s);
    assert_int_equal(n_events(s, MUSTER_EVENT_UNCOUNTED, NULL), 1);
}

static void is_answered(struct muster_worker *w, int err, uint64_t waiting, void *arg)
{
    (void)w, (void)waiting;
    *(int *)arg = err;
}

static bool has_answer(void *arg)
{
    return *(int *)arg != MUSTER_E_STATE;
}

/* The worker has read back, and has the answer: what it asks after that is answered after that. */
static void await_read_back(struct scene *s, struct live_worker *w)
{
    static int answer;
    answer = MUSTER_E_STATE;
    raw_await(s->server->redis, s->base, 0, "HEXISTS %s:worker:w flag", s->prefix);
    assert_ok(muster_worker_enqueue(w->worker, "elsewhere", "x", 1, is_answered, &answer));
    wait_on(s->base, has_answer, &answer, SOON_MS);
    raw_do(s->server->redis, "DEL %s:queues:elsewhere", s->prefix);
}

static void what_somebody_else_ends_in_advance_never_starts(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = holder(s, AN_HOUR, 1, 2);
    scene_enqueue_n(s, "q", "t", 3);
    scene_await_starts(s, 1);
    raw_await(s->server->redis, s->base, 3, "HLEN %s:processing:w:q", s->prefix);
    char *tokens = raw_string(s->server->redis, "HKEYS %s:processing:w:q", s->prefix);
    char newest[12] = "", id[300];
    for (char *rest = tokens, *token; (token = strtok_r(rest, "\n", &rest)) != NULL;)
        if (strcmp(token, newest) > 0)
            snprintf(newest, sizeof newest, "%s", token);
    free(tokens);
    snprintf(id, sizeof id, "w:%s:q", newest);
    assert_ok(muster_lease_fail(s->client, id, "by hand", NULL));
    await_read_back(s, w);
    scene_enqueue(s, "r", "later"); /* into the hand that is free again */
    raw_await(s->server->redis, s->base, 1, "HLEN %s:processing:w:r", s->prefix);
    live_worker_answer(w, MUSTER_FINISH);
    await_quiet(s);
    scene_assert_started(s, 0, (const char *[]){"t0", "t1", "later", NULL});
    assert_int_equal(raw_int(s->server->redis, "HGET %s:failures:q g:%s", s->prefix, "by hand"), 1);
    assert_int_equal(n_events(s, MUSTER_EVENT_UNCOUNTED, NULL), 0);
}

/* ---- foreign messages ---- */

struct announced {
    int n;
    char queue[32], bytes[32];
    size_t len;
};

static void note_cancel(struct live_worker *w, const struct muster_event *e)
{
    struct announced *a = w->spec.arg;
    if (e->type != MUSTER_EVENT_CANCEL)
        return;
    a->n++;
    snprintf(a->queue, sizeof a->queue, "%s", e->queue);
    a->len = e->len;
    memcpy(a->bytes, e->task, e->len < sizeof a->bytes ? e->len : sizeof a->bytes);
}

static bool is_announced(void *arg)
{
    return ((struct announced *)arg)->n > 0;
}

static struct live_worker *hearer(struct scene *s, struct announced *a)
{
    return live_worker_idle(s, &(struct worker_spec){.id = "w",
                                                     .ttl_ms = AN_HOUR,
                                                     .answer = MUSTER_LATER,
                                                     .on_event = note_cancel,
                                                     .arg = a,
                                                     .queues = {{"q", 0}, {"r", 0}}});
}

static void a_foreign_cancel_is_told_with_its_bytes_and_nothing_else_is_done(void **state)
{
    struct scene *s = *state;
    struct announced a = {0};
    struct live_worker *w = hearer(s, &a);
    char channel[40];
    snprintf(channel, sizeof channel, "%s_r_cancel", s->prefix);
    scene_enqueue(s, "r", "t");
    scene_await_starts(s, 1);
    const char *argv[] = {"PUBLISH", channel, "t\0\r\n\xff"};
    const size_t lens[] = {7, strlen(channel), 5};
    freeReplyObject(redisCommandArgv(s->server->redis, 3, argv, lens));
    wait_on(s->base, is_announced, &a, SOON_MS);
    assert_int_equal(a.n, 1);
    assert_string_equal(a.queue, "r");
    assert_int_equal(a.len, 5);
    assert_memory_equal(a.bytes, "t\0\r\n\xff", 5);
    assert_int_equal(muster_process_stop_reason(w->held[0]), MUSTER_GO_ON);
    live_worker_end(w, MUSTER_FINISH);
    await_quiet(s);
    assert_int_equal(raw_int(s->server->redis, "HGET %s:queue:r cancelled", s->prefix), 0);
}

static const char *const garbage[] = {"",
                                      "C",
                                      "D",
                                      "R",
                                      "E",
                                      "T",
                                      "F",
                                      "Czzzzzzzzzzz",
                                      "muster",
                                      "\n",
                                      "C00000000000",
                                      "no message",
                                      "T0000000000000000000000999q"};

static bool has_heard_all(void *arg)
{
    return ((struct announced *)arg)->n >= FLOOD;
}

static void a_flood_of_foreign_messages_costs_nothing_but_time(void **state)
{
    struct scene *s = *state;
    struct announced a = {0};
    struct live_worker *w = hearer(s, &a);
    const char *channels[] = {":wake:w", "_q_cancel", "_q_work"};
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    char *epoch = raw_string(s->server->redis, "HGET %s:worker:w epoch", s->prefix);
    for (int i = 0; i < FLOOD; i++) {
        for (size_t k = 0; k < N_OF(channels); k++)
            redisAppendCommand(s->server->redis, "%s %s%s %s", k == 0 ? "SPUBLISH" : "PUBLISH", s->prefix, channels[k],
                               garbage[(size_t)i % N_OF(garbage)]);
        redisAppendCommand(s->server->redis, "SPUBLISH %s:wake:w %s%s%s", s->prefix, i % 2 ? "C" : "D", epoch,
                           i % 3 ? "zzzzzzzzzzz" : "vvvvvvvvvv");
        if (i % 100 < 99)
            continue;
        for (size_t k = 0; k < 100 * (N_OF(channels) + 1); k++) {
            void *reply = NULL;
            assert_int_equal(redisGetReply(s->server->redis, &reply), REDIS_OK);
            freeReplyObject(reply);
        }
        run_loop(s->base, 0);
    }
    free(epoch);
    wait_on(s->base, has_heard_all, &a, 2 * SOON_MS);
    assert_int_equal(a.n, FLOOD);
    assert_int_equal(muster_process_stop_reason(w->held[0]), MUSTER_GO_ON);
    live_worker_answer(w, MUSTER_FINISH);
    scene_enqueue(s, "q", "next");
    scene_await_starts(s, 2);
    await_quiet(s);
    assert_int_equal(n_events(s, MUSTER_EVENT_DOWN, NULL), 0);
    assert_int_equal(n_events(s, MUSTER_EVENT_LOST, NULL), 0);
    assert_int_equal(n_events(s, MUSTER_EVENT_UNCOUNTED, NULL), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_deleted_queue_lets_what_runs_finish_and_drops_the_rest),
        live_test(a_new_queue_of_the_name_is_clean_and_served),
        live_test(without_a_message_a_delete_is_told_by_a_heartbeat),
        live_test(all_may_be_ended_while_one_is_told_of_its_deletion),
        live_test(an_end_by_somebody_else_is_told_and_does_not_spoil_the_worker_s_own),
        live_test(an_end_by_somebody_else_that_is_not_heard_does_not_spoil_them_either),
        live_test(without_a_message_an_end_by_somebody_else_is_told_by_a_heartbeat),
        live_test(what_somebody_else_gives_back_is_run_under_a_new_token),
        live_test(what_somebody_else_ends_in_advance_never_starts),
        live_test(a_foreign_cancel_is_told_with_its_bytes_and_nothing_else_is_done),
        live_test(a_flood_of_foreign_messages_costs_nothing_but_time),
    };
    return scene_run(tests, argc, argv);
}
