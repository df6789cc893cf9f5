/* SPDX-License-Identifier: MIT
 *
 * Serving: which queues the worker takes from and who runs their tasks, the inline executor, and telling Redis of a
 * queue once per epoch.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
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
        return MUSTER_E_STATE;
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

/* Once more, after it was left; what a handler of then still runs on keeps its structure. */
static int serve_anew(struct served *s, int limit, struct served **out)
{
    if (s->executor->clear)
        s->executor->clear(s);
    s->serving = SERVING;
    s->limit = limit;
    *out = s;
    return MUSTER_OK;
}

static int serve_add(struct muster_worker *w, const char *queue, int limit, struct served **out)
{
    if (w->state == WORKER_NEW)
        return MUSTER_E_NOT_STARTED;
    if (muster_queue_check(queue) || limit < 0 || limit > MUSTER_HANDS_MAX)
        return MUSTER_E_INVALID;
    struct served *known = serve_find(w, queue, strlen(queue));
    if (known && known->serving == SERVING)
        return MUSTER_E_EXISTS;
    if (w->state > WORKER_WORKING || (known && known->serving == LEAVING))
        return MUSTER_E_STATE;
    return known ? serve_anew(known, limit, out) : serve_new(w, queue, limit, out);
}

struct announcement {
    struct muster_worker *worker;
    struct served *served;
    char epoch[TOKEN_LEN + 1];
};

static void on_announced(const struct redisReply *reply, void *arg)
{
    struct announcement *a = arg;
    struct muster_worker *w = a->worker;
    int is_old = memcmp(a->epoch, w->who.epoch, sizeof a->epoch) != 0;
    struct served *s = a->served;
    free(a);
    if (is_old)
        return;
    s->announcing = 0;
    int err = reply_status(reply);
    if (err == MUSTER_E_GONE) {
        heartbeat_gone(w);
    } else if (err == MUSTER_OK) {
        s->announced = 1;
        worker_accepted(w, SAID_SERVE);
        trace_line(TRACE_STATE, "worker %s serves %s", w->id, s->name);
        if (w->resume)
            wake_read_back(w); /* what a former life of the id held of this queue */
        turn_hungry(w);
    } else if (reply) {
        worker_refused(w, SAID_SERVE, err, reply_text(reply)); /* the next heartbeat tries again */
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
    memcpy(a->epoch, w->who.epoch, sizeof a->epoch);
    script_serve(&c, &w->root, &w->who, &(struct script_queue){s->name, s->limit});
    s->announcing = link_script(w->data, &c, on_announced, a) == MUSTER_OK;
    command_clear(&c);
    if (!s->announcing)
        free(a);
}

void serve_announce(struct muster_worker *w)
{
    for (size_t i = 0; worker_can_call(w) && w->state == WORKER_WORKING && i < w->n_served; i++)
        if (w->served[i]->serving == SERVING && !w->served[i]->announced && !w->served[i]->announcing)
            announce(w, w->served[i]);
}

int serve_all_announced(const struct muster_worker *w)
{
    size_t n = 0;
    for (size_t i = 0; i < w->n_served; i++) {
        if (w->served[i]->serving == LEAVING || (w->served[i]->serving == SERVING && !w->served[i]->announced))
            return 0;
        n += w->served[i]->serving == SERVING;
    }
    return n > 0;
}

/* The rest of serving a queue, once it can be run. */
static void begin_serving(struct muster_worker *w, const struct served *s)
{
    if (link_is_up(w->subscription))
        wake_subscribe_queue(w, s->name); /* else with the others, when it is up */
    serve_announce(w);
}

static enum muster_outcome run_handler(struct muster_process *p)
{
    struct muster_worker *w = p->worker;
    worker_enter_callback(w);
    enum muster_outcome outcome = p->served->handler(p, p->served->handler_arg);
    worker_leave_callback(w);
    return outcome;
}

/* A handler that holds up the heartbeat for so long is on its way to cost the worker its liveness. */
static void warn_if_long(const struct muster_process *p, int64_t took_ms)
{
    const struct muster_worker *w = p->worker;
    if (took_ms >= w->ttl_ms / 3)
        log_line(
            MUSTER_LOG_WARN,
            "worker %s: a handler of '%s' held up the loop for %lld ms, with a ttl of %d ms: past that its tasks go "
            "to others; let it answer MUSTER_LATER, use threads, or raise the ttl",
            w->id, p->served->name, (long long)took_ms, w->ttl_ms);
}

static void start_inline(struct muster_process *p)
{
    struct muster_worker *w = p->worker;
    timer_keeper_before_handler(w, p->served->name);
    int64_t began_ms = clock_ms();
    enum muster_outcome outcome = run_handler(p);
    w->inline_ms = clock_ms() - began_ms;
    warn_if_long(p, w->inline_ms);
    if (outcome == MUSTER_LATER)
        p->is_later = 1;
    else
        process_ended(p, outcome);
}

static const struct executor executor_inline = {.start = start_inline};

int muster_worker_serve(struct muster_worker *w, const char *queue, int hands, muster_handler_fn *fn, void *arg)
{
    struct served *s;
    int err = fn ? serve_add(w, queue, hands, &s) : MUSTER_E_INVALID;
    if (err != MUSTER_OK)
        return err;
    s->executor = w->threads > 0 ? &executor_threads : &executor_inline;
    s->handler = fn;
    s->handler_arg = arg;
    begin_serving(w, s);
    return MUSTER_OK;
}

int muster_worker_serve_command(struct muster_worker *w, const char *queue, const struct muster_command *command)
{
    struct served *s;
    struct muster_command copy = {0};
    size_t n_before = w->n_served;
    memcpy(&copy, command, command->size < sizeof copy ? command->size : sizeof copy);
    int err = serve_add(w, queue, copy.hands, &s);
    if (err != MUSTER_OK)
        return err;
    err = command_setup(s, &copy, w->error, sizeof w->error);
    if (err != MUSTER_OK) {
        if (w->n_served > n_before)
            free(w->served[--w->n_served]);
        else
            s->serving = LEFT; /* as it was */
        return err;
    }
    begin_serving(w, s);
    return MUSTER_OK;
}

static int is_taken_from(const struct served *s)
{
    return s->serving == SERVING && s->announced;
}

struct script_queue *serve_queues(const struct muster_worker *w, size_t from, struct served ***served, size_t *n)
{
    struct script_queue *queues = calloc(w->n_served + 1, sizeof *queues);
    *n = 0;
    *served = calloc(w->n_served + 1, sizeof **served);
    if (!queues || !*served) {
        free(queues);
        free(*served);
        *served = NULL;
        return NULL;
    }
    size_t n_queues = 0;
    for (size_t i = 0; i < w->n_served; i++)
        n_queues += is_taken_from(w->served[i]);
    size_t at = n_queues > 0 ? from % n_queues : 0;
    for (size_t i = 0; i < w->n_served; i++)
        if (is_taken_from(w->served[i])) {
            size_t place = (*n + n_queues - at) % n_queues;
            (*served)[place] = w->served[i];
            queues[place] = (struct script_queue){w->served[i]->name, w->served[i]->limit};
            (*n)++;
        }
    return queues;
}
