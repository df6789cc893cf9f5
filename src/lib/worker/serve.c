/* SPDX-License-Identifier: MIT
 *
 * Serving: the queues that the worker takes from, each with its executor. Redis is told of each in each epoch, and again
 * over each new connection: behind that may be a replica that lacks the last writes, or a Redis that lost a second of
 * them. What the worker took of a queue of which Redis does not know would come back by no sweep.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/words.h"
#include "protocol/script_worker.h"
#include "worker/worker.h"

struct served *serve_find(struct muster_worker *w, const char *queue, size_t len)
{
    for (size_t i = 0; i < w->n_served; i++)
        if (strlen(w->served[i]->name) == len && memcmp(w->served[i]->name, queue, len) == 0)
            return w->served[i];
    return NULL;
}

static int serve_new(struct muster_worker *w, const char *queue, int limit, struct served **out)
{
    if (w->n_served == MUSTER_WORKER_QUEUES_MAX)
        return tell_error_as(w, MUSTER_E_STATE, "a worker serves at most %d queues in its life",
                             MUSTER_WORKER_QUEUES_MAX);
    struct served **list = realloc(w->served, (w->n_served + 1) * sizeof *list);
    if (!list)
        return MUSTER_E_NOMEM;
    w->served = list;
    struct served *s = calloc(1, sizeof *s);
    if (!s)
        return MUSTER_E_NOMEM;
    snprintf(s->name, sizeof s->name, "%s", queue);
    s->limit = limit;
    w->served[w->n_served++] = s;
    *out = s;
    return MUSTER_OK;
}

/* Once more, after it was left. Handlers that still run from that time point to the same structure. */
static int serve_again(struct served *s, int limit, struct served **out)
{
    if (s->executor->clear)
        s->executor->clear(s);
    s->serving = SERVING;
    s->limit = limit;
    share_forget(s);
    *out = s;
    return MUSTER_OK;
}

/* The reason becomes the worker's error text. */
static int refuse(struct muster_worker *w, const char *why)
{
    tell_error(w, "%s", why);
    return MUSTER_E_INVALID;
}

static int serve_add(struct muster_worker *w, const char *queue, int limit, struct served **out)
{
    if (w->state == WORKER_NEW)
        return tell_error_as(w, MUSTER_E_NOT_STARTED, "muster_worker_start() comes before queues are served");
    const char *why = muster_queue_check(queue);
    if (why)
        return refuse(w, why);
    if (limit < 0 || limit > MUSTER_HANDS_MAX)
        return refuse(w, words_say("hands is %d; it must be 0 to %d", limit, MUSTER_HANDS_MAX));
    struct served *known = serve_find(w, queue, strlen(queue));
    if (known && known->serving == SERVING)
        return tell_error_as(w, MUSTER_E_EXISTS, "the worker serves the queue '%s' already", queue);
    if (w->state > WORKER_WORKING)
        return tell_error_as(w, MUSTER_E_STATE, "the worker stops, or has stopped");
    if (known && known->serving == LEAVING)
        return tell_error_as(w, MUSTER_E_STATE, "the queue '%s' is being left: wait for MUSTER_EVENT_LEFT", queue);
    return known ? serve_again(known, limit, out) : serve_new(w, queue, limit, out);
}

struct announcement {
    struct muster_worker *worker;
    struct served *served;
    struct life life;
};

static void on_announced(const struct redisReply *reply, void *arg)
{
    struct announcement *a = arg;
    struct muster_worker *w = a->worker;
    bool is_old = !registration_is_life(w, &a->life);
    struct served *s = a->served;
    free(a);
    if (is_old)
        return;
    s->announcing = false;
    int err = reply_status(reply);
    if (err == MUSTER_E_GONE) {
        registration_gone(w);
    } else if (err == MUSTER_E_STATE) {
        connection_out_of_step(w);
    } else if (err == MUSTER_OK) {
        s->is_announced = true;
        s->must_say_again = false;
        tell_accepted(w, REQUEST_SERVE);
        trace_line(TRACE_STATE, "worker %s serves %s", w->id, s->name);
        turn_want_take(w); /* the round goes on with a former life first, if there was one */
    } else if (reply) {
        tell_refused(w, REQUEST_SERVE, err, reply_text(reply)); /* the next heartbeat tries again */
    }
}

static void announce(struct muster_worker *w, struct served *s)
{
    struct announcement *a = malloc(sizeof *a);
    struct command c = COMMAND_EMPTY;
    if (!a)
        return;
    a->worker = w;
    a->served = s;
    a->life = registration_life(w);
    script_serve(&c, &w->root, &w->caller, &(struct script_queue){s->name, s->limit}, w->hands);
    s->announcing = link_script(w->connection.data, &c, on_announced, a) == MUSTER_OK;
    command_clear(&c);
    if (!s->announcing)
        free(a);
}

void serve_announce(struct muster_worker *w)
{
    for (size_t i = 0; connection_can_call(w) && w->state == WORKER_WORKING && i < w->n_served; i++)
        if (w->served[i]->serving == SERVING && !serve_is_known(w->served[i]) && !w->served[i]->announcing)
            announce(w, w->served[i]);
}

void serve_say_again(struct muster_worker *w)
{
    for (size_t i = 0; i < w->n_served; i++)
        w->served[i]->must_say_again = true;
}

bool serve_is_known(const struct served *s)
{
    return s->serving == SERVING && s->is_announced && !s->must_say_again;
}

bool serve_all_announced(const struct muster_worker *w)
{
    size_t n = 0;
    for (size_t i = 0; i < w->n_served; i++) {
        if (w->served[i]->serving == LEAVING || (w->served[i]->serving == SERVING && !serve_is_known(w->served[i])))
            return false;
        n += w->served[i]->serving == SERVING;
    }
    return n > 0;
}

/* The rest of serving a queue, once it can be run. */
static void begin_serving(struct muster_worker *w, const struct served *s)
{
    struct link *subscription = w->connection.subscription; /* if it is down: with the others, when it is up */
    if (link_is_up(subscription) && wake_subscribe_queue(w, s->name) != MUSTER_OK)
        link_break(subscription, MUSTER_E_NOMEM, "cannot subscribe");
    serve_announce(w);
}

/* What the program has asked for; `command` or the others. */
struct wish {
    const char *queue;
    int hands;
    muster_handler_fn *fn;
    void *arg;
    const struct muster_command *command;
};

static const struct executor *executor_of(const struct muster_worker *w, const struct wish *wish)
{
    if (!wish->fn)
        return w->own_thread.is_wanted ? &executor_next : NULL;
    return w->n_threads > 0 ? &executor_threads : &executor_inline;
}

static int serve(struct muster_worker *w, const void *arg)
{
    struct served *s;
    const struct wish *wish = arg;
    const struct executor *executor = executor_of(w, wish);
    int err = executor ? serve_add(w, wish->queue, wish->hands, &s)
                       : refuse(w, "a handler is needed, not NULL, but with the option own_thread");
    if (err != MUSTER_OK)
        return err;
    s->executor = executor;
    s->handler = wish->fn;
    s->handler_arg = wish->arg;
    begin_serving(w, s);
    return MUSTER_OK;
}

int muster_worker_serve(struct muster_worker *w, const char *queue, int hands, muster_handler_fn *fn, void *arg)
{
    return calls_carry_out(w, serve, &(struct wish){.queue = queue, .hands = hands, .fn = fn, .arg = arg});
}

static int serve_command(struct muster_worker *w, const void *arg)
{
    struct served *s;
    struct muster_command copy;
    char words[TELL_ERROR_SIZE] = "";
    const struct wish *wish = arg;
    size_t n_before = w->n_served;
    const char *why = sized_read(SIZED_COMMAND, &copy, wish->command);
    int err = why ? refuse(w, why) : serve_add(w, wish->queue, copy.hands, &s);
    if (err != MUSTER_OK)
        return err;
    err = executor_command_setup(s, &copy, words, sizeof words);
    if (err != MUSTER_OK) {
        tell_error(w, "%s", words);
        if (w->n_served > n_before)
            free(w->served[--w->n_served]);
        else
            s->serving = LEFT; /* as it was */
        return err;
    }
    begin_serving(w, s);
    return MUSTER_OK;
}

int muster_worker_serve_command(struct muster_worker *w, const char *queue, const struct muster_command *command)
{
    return calls_carry_out(w, serve_command, &(struct wish){.queue = queue, .command = command});
}

size_t serve_number(const struct muster_worker *w, const struct served *s)
{
    size_t n = 0;
    for (size_t i = 0; i < w->n_served && w->served[i] != s; i++)
        n += serve_is_known(w->served[i]);
    return n;
}

size_t serve_count(const struct muster_worker *w)
{
    size_t n = 0;
    for (size_t i = 0; i < w->n_served; i++)
        n += serve_is_known(w->served[i]);
    return n;
}

struct script_queue *serve_list(const struct muster_worker *w, size_t from, size_t most, struct served ***served,
                                size_t *n)
{
    const size_t n_all = serve_count(w), n_listed = n_all < most ? n_all : most;
    struct script_queue *queues = calloc(n_listed + 1, sizeof *queues);
    *n = n_listed;
    *served = calloc(n_listed + 1, sizeof **served);
    if (!queues || !*served) {
        free(queues);
        free(*served);
        *served = NULL;
        return NULL;
    }
    size_t place = n_all > 0 ? n_all - from % n_all : 0; /* of the first one that was served */
    for (size_t i = 0; i < w->n_served && n_all > 0; i++) {
        if (!serve_is_known(w->served[i]))
            continue;
        place %= n_all;
        if (place < n_listed) {
            (*served)[place] = w->served[i];
            queues[place] = (struct script_queue){w->served[i]->name, w->served[i]->limit};
        }
        place++;
    }
    return queues;
}

void serve_free(struct muster_worker *w)
{
    for (size_t i = 0; i < w->n_served; i++) {
        if (w->served[i]->executor && w->served[i]->executor->clear)
            w->served[i]->executor->clear(w->served[i]);
        share_free(w->served[i]);
        free(w->served[i]);
    }
    free(w->served);
}
