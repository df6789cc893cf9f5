/* SPDX-License-Identifier: MIT
 *
 * muster doctor: is all well with this Redis, and with the work in it? The library looks at the server; here are the
 * looks at queues and workers. Each line says what to do.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "command.h"
#include "complain.h"
#include "need.h"
#include "out.h"
#include "text.h"

/* Failures that nobody has looked at for this long. */
#define OLD_MS (7 * DAY_MS)

static const struct out_column columns[] = {
    {"STATE", "state", OUT_TEXT}, {"SUBJECT", "subject", OUT_TEXT}, {NULL, "what", OUT_TEXT},
    {NULL, "advice", OUT_TEXT},   {NULL, NULL, OUT_TEXT},
};

static const char *const state_names[] = {
    [MUSTER_ADVICE_GOOD] = "good", [MUSTER_ADVICE_UNKNOWN] = "unknown", [MUSTER_ADVICE_MEND] = "mend"};

/* The queues and workers, as far as they are looked at. */
struct queue {
    char *name;
    uint64_t waiting, failed;
    bool is_served; /* by a worker, or by somebody who takes under leases */
    bool is_paused;
};

struct visit {
    const struct call *call;
    struct muster_client *client;
    bool must_mend;
    struct queue *queues;
    size_t n_queues, n_alive;
    char **dead;
    size_t n_dead;
};

static int tell(const struct muster_advice *a, void *arg)
{
    struct visit *v = arg;
    const struct out_cell cells[] = {
        {.text = state_names[a->level]}, {.text = a->subject}, {.text = a->what}, {.text = a->advice}};
    v->must_mend |= a->level == MUSTER_ADVICE_MEND;
    int code = v->call->common[OPT_JSON].set ? out_json(columns, cells)
                                             : out_text("%-8s%s: %s%s%s\n", state_names[a->level], a->subject, a->what,
                                                        *a->advice ? "; " : "", a->advice);
    return code ? code : out_flush();
}

__attribute__((format(printf, 5, 6))) static void say(struct visit *v, enum muster_advice_level level,
                                                      const char *subject, const char *advice, const char *what, ...)
{
    char *words = NULL;
    va_list args;
    va_start(args, what);
    if (vasprintf(&words, what, args) < 0)
        need(NULL);
    va_end(args);
    tell(&(const struct muster_advice){.level = level, .subject = subject, .what = words, .advice = advice}, v);
    free(words);
}

/* ---- queues and workers ---- */

static int note_queue(const struct muster_queue_info *info, void *arg)
{
    struct visit *v = arg;
    v->queues = need(reallocarray(v->queues, v->n_queues + 1, sizeof *v->queues));
    v->queues[v->n_queues++] = (struct queue){.name = need(strdup(info->name)),
                                              .waiting = info->waiting,
                                              .failed = info->failed,
                                              .is_served = info->running > 0,
                                              .is_paused = info->paused != 0};
    return 0;
}

static void note_served(struct visit *v, const char *name)
{
    for (size_t i = 0; i < v->n_queues; i++)
        if (strcmp(v->queues[i].name, name) == 0)
            v->queues[i].is_served = true;
}

static int note_worker(const struct muster_worker_info *w, void *arg)
{
    struct visit *v = arg;
    v->n_alive += w->alive != 0;
    for (size_t i = 0; w->alive && i < w->n_queues; i++)
        note_served(v, w->queues[i]);
    if (w->alive || w->permanent)
        return 0;
    v->dead = need(reallocarray(v->dead, v->n_dead + 1, sizeof *v->dead));
    v->dead[v->n_dead++] = need(strdup(w->id));
    return 0;
}

static void tell_workers(struct visit *v)
{
    char workers[TEXT_NUMBER_SIZE], dead[TEXT_NUMBER_SIZE];
    text_number_of(workers, v->n_alive, "worker is alive", "workers are alive");
    text_number_of(dead, v->n_dead, "worker is dead", "workers are dead");
    if (v->n_dead > 0 && v->n_alive == 0)
        say(v, MUSTER_ADVICE_MEND, "workers", "`muster sweep` puts back what they held",
            "%s, as '%s', and no other is there to sweep", dead, v->dead[0]);
    else
        say(v, MUSTER_ADVICE_GOOD, "workers", "", "%s%s%s", workers, v->n_dead ? "; swept soon: " : "",
            v->n_dead ? dead : "");
}

static void tell_unserved(struct visit *v)
{
    size_t n = 0;
    char tasks[TEXT_NUMBER_SIZE];
    for (size_t i = 0; i < v->n_queues; i++) {
        const struct queue *q = &v->queues[i];
        if (q->waiting == 0 || q->is_served || q->is_paused) /* that is wanted */
            continue;
        n++;
        say(v, MUSTER_ADVICE_MEND, "queues", "start a worker: `muster work QUEUE -- COMMAND`",
            "no worker serves '%s', where %s", q->name, text_number_of(tasks, q->waiting, "task waits", "tasks wait"));
    }
    if (n == 0)
        say(v, MUSTER_ADVICE_GOOD, "queues", "", "each queue where something waits is served, or paused");
}

static int note_time(const struct muster_failure *failure, void *arg)
{
    *(int64_t *)arg = failure->failed_at_ms;
    return 1;
}

/* The last of a list that is newest first. */
static int find_oldest(struct visit *v, const struct queue *q, int64_t *at_ms)
{
    const struct muster_failed_filter filter = {
        .size = sizeof filter, .queue = q->name, .offset = q->failed - 1, .n = 1};
    return muster_failed_list(v->client, &filter, note_time, at_ms);
}

static int tell_failures(struct visit *v)
{
    int64_t now_ms = 0, at_ms;
    char ago[TEXT_TIME_SIZE], tasks[TEXT_NUMBER_SIZE];
    bool any = false;
    int err = muster_client_time(v->client, &now_ms);
    for (size_t i = 0; i < v->n_queues && err == MUSTER_OK; i++) {
        const struct queue *q = &v->queues[i];
        at_ms = now_ms;
        if (q->failed > 0)
            err = find_oldest(v, q, &at_ms);
        if (err != MUSTER_OK || now_ms - at_ms < OLD_MS)
            continue;
        any = true;
        say(v, MUSTER_ADVICE_MEND, "failures", "`muster replay` or `muster drop` them, or set keep_failed_ms",
            "'%s' has %s, the oldest of them %s", q->name, text_number_of(tasks, q->failed, "failure", "failures"),
            text_ago(ago, now_ms, at_ms));
    }
    if (err == MUSTER_OK && !any)
        say(v, MUSTER_ADVICE_GOOD, "failures", "", "none is older than a week");
    return err;
}

static int look_at_work(struct visit *v)
{
    int err = muster_queue_list(v->client, note_queue, v);
    if (err == MUSTER_OK)
        err = muster_worker_list(v->client, note_worker, v);
    if (err == MUSTER_OK) {
        tell_workers(v);
        tell_unserved(v);
        err = tell_failures(v);
    }
    return err;
}

static void forget(struct visit *v)
{
    for (size_t i = 0; i < v->n_queues; i++)
        free(v->queues[i].name);
    for (size_t i = 0; i < v->n_dead; i++)
        free(v->dead[i]);
    free(v->queues);
    free(v->dead);
}

/* ---- the verb ---- */

enum { ROLE };

static const char *const role_names[] = {
    [MUSTER_ROLE_ALL] = "all",       [MUSTER_ROLE_PRODUCER] = "producer", [MUSTER_ROLE_WORKER] = "worker",
    [MUSTER_ROLE_VIEWER] = "viewer", [MUSTER_ROLE_OPERATOR] = "operator",
};
#define ROLES (sizeof role_names / sizeof *role_names)

static size_t find_role(const char *name)
{
    size_t i = 0;
    while (i < ROLES && strcmp(role_names[i], name) != 0)
        i++;
    return i;
}

static const char *check_role(const char *name)
{
    return find_role(name) == ROLES ? "it must be one of all, producer, worker, viewer and operator" : NULL;
}

/* What the rights have told is not told again. */
static int run(const struct call *call)
{
    struct visit v = {.call = call};
    enum muster_role role = (enum muster_role)find_role(call->own[ROLE].text);
    int code = client_open(call, &v.client);
    if (code)
        return code;
    int err = muster_client_advise(v.client, role, tell, &v);
    if (err == MUSTER_OK) {
        err = look_at_work(&v);
        if (err == MUSTER_E_DENIED && v.must_mend)
            err = MUSTER_OK;
    }
    forget(&v);
    code = client_close(call, v.client, err);
    return code ? code : v.must_mend ? EXIT_FAILED : EXIT_DONE;
}

static const struct opt options[] = {
    [ROLE] = {.name = "role",
              .kind = OPT_STRING,
              .argument = "ROLE",
              .help = "what the user is for: producer, worker, viewer, operator or all",
              .fallback = "all",
              .check = check_role},
    {.help = NULL}};

const struct command cmd_doctor = {
    .name = "doctor",
    .operands = "",
    .summary = "Look whether Redis and the work in it are well, with a line each that says what to do",
    .about =
        "It looks at the version, eviction, memory, disk, replicas, settings and clock of Redis; at each right of the\n"
        "user; tries a write, a script and a message; and looks for dead workers that nobody sweeps, for queues that\n"
        "no worker serves, though something waits, nothing runs and they are not paused, and for old failures.\n"
        "`good` is well, `mend` is not, `unknown` may not be seen by this user. USER in an advice is the user's name;\n"
        "the documents have an ACL rule for each role in examples/users.acl.\n"
        "The exit code is 1 if there is something to mend.\n",
    .examples = "muster doctor\nmuster doctor --role producer\nmuster doctor --json | grep mend\n",
    .options = options,
    .run = run,
};
