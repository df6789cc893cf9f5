/* SPDX-License-Identifier: MIT
 *
 * Check of a live system, while workers work, die and are swept, leave and come back; producers enqueue; tasks are
 * cancelled, leased, paused and deleted; and jobs are put, changed, cancelled, taken and ended in every way. At no
 * moment does a check find anything, a repair touches nothing, and every task runs.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "checked.h"
#include "child.h"
#include "invariant.h"
#include "live_worker.h"
#include "script_call.h"
#include "slow.h"
#include "worker_process.h"

#define TTL_MS slow_ms(300)
#define ROUNDS 60
#define TASKS 20

/* ---- the checker ---- */

/* In memory that it shares with the test: a process of its own, because the test forks while it looks. */
struct looker {
    pid_t pid;
    atomic_bool enough;
    struct checked found;
    int err, n_checks;
    char error[256];
};

static void look_until_told(struct looker *l, struct muster_client *client)
{
    while (!atomic_load(&l->enough) && l->err == MUSTER_OK)
        l->err = muster_client_check(client, l->n_checks++ % 2, checked_note, &l->found);
    snprintf(l->error, sizeof l->error, "%s", muster_client_error(client));
    muster_client_free(client);
}

static struct looker *start_looker(struct scene *s)
{
    struct looker *l = mmap(NULL, sizeof *l, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(l != MAP_FAILED);
    l->found.prefix = s->prefix;
    l->pid = child_fork();
    if (l->pid == 0) {
        look_until_told(l, scene_client(s));
        _exit(0);
    }
    return l;
}

/* ---- the live system ---- */

static const struct worker_spec *busy(void)
{
    static struct worker_spec spec;
    spec = (struct worker_spec){
        .ttl_ms = TTL_MS, .hands = 3, .prefetch = 2, .answer = MUSTER_FINISH, .queues = {{"q", 2}, {"other", 0}}};
    return &spec;
}

static struct worker_process *start_busy(struct scene *s, const char *stem, int number)
{
    char id[16];
    struct worker_spec spec = *busy();
    snprintf(id, sizeof id, "%s%d", stem, number);
    spec.id = id;
    return worker_process_start(s, &spec);
}

/* Holds what it gets until it is killed. */
static struct worker_process *start_victim(struct scene *s, int number)
{
    char id[16];
    struct worker_spec spec = *busy();
    snprintf(id, sizeof id, "victim%d", number % 3);
    spec.id = id;
    spec.answer = MUSTER_LATER;
    spec.stubborn = true;
    return worker_process_start(s, &spec);
}

struct leased {
    char ids[4][512];
    size_t n;
};

static int keep_id(const struct muster_process_info *process, void *arg)
{
    struct leased *l = arg;
    snprintf(l->ids[l->n++], sizeof l->ids[0], "%s", process->id);
    return l->n == N_OF(l->ids);
}

/* Their leases are short, so that some lapse. */
static void counts_or_is_lost(struct scene *s, int err)
{
    if (err && err != MUSTER_E_LOST && err != MUSTER_E_CANCELLED)
        fail_msg("%s: %s", muster_err_name(err), muster_client_error(s->client));
}

/* Four leases: given back though it was cancelled, failed, retried, and left to lapse. */
static void lease_some(struct scene *s)
{
    struct leased l = {.n = 0};
    const struct muster_extend_options longer = {.size = sizeof longer, .lease_ms = 100, .progress = "on"};
    scene_enqueue_n(s, "leased", "l", 5);
    counts_or_is_lost(s, muster_lease_take(s->client, "leased", N_OF(l.ids), 50, 0, keep_id, &l));
    for (size_t i = 0; i < l.n; i++)
        counts_or_is_lost(s, muster_lease_extend(s->client, l.ids[i], &longer));
    if (l.n < N_OF(l.ids))
        return;
    counts_or_is_lost(s, muster_process_cancel(s->client, l.ids[0]));
    counts_or_is_lost(s, muster_lease_give_back(s->client, l.ids[0]));
    counts_or_is_lost(s, muster_lease_fail(s->client, l.ids[1], NULL, NULL));
    counts_or_is_lost(s, muster_lease_retry(s->client, l.ids[2], 20));
}

/* Tasks that are cancelled or deleted are not in "q", whose tasks must all run. */
static void disturb(struct scene *s, int round)
{
    scene_enqueue_n(s, "other", "o", 5);
    if (round % 3 == 0)
        assert_ok(muster_task_cancel(s->client, "other", "o3", 2, NULL, NULL));
    if (round % 5 == 0)
        assert_ok(muster_queue_pause(s->client, "other"));
    if (round % 5 == 2)
        assert_ok(muster_queue_resume(s->client, "other"));
    if (round % 7 == 0)
        assert_ok(muster_queue_delete(s->client, "other", NULL, NULL));
    if (round % 11 == 0)
        assert_ok(muster_failed_replay(
            s->client, &(struct muster_failed_filter){.size = sizeof(struct muster_failed_filter), .queue = "leased"},
            NULL));
    lease_some(s);
}

/* ---- jobs: said by the scripts, one after the other ---- */

/* A script with texts; whatever it answers, but an error. */
#define say(s, id, ...) (void)script_does(s, id, __VA_ARGS__)

struct named {
    char id[8][16];
};

static const struct named *name_jobs(int round)
{
    static struct named n;
    for (size_t i = 0; i < N_OF(n.id); i++)
        snprintf(n.id[i], sizeof n.id[i], "r%d-%c", round, (int)('a' + i));
    return &n;
}

/* By round: a with tags, b that is tracked, c and d that wait for them and each other, e for later, f that is put
 * twice, g of another queue, h that recurs. */
static void put_jobs(struct scene *s, const struct named *n)
{
    const char *a = n->id[0], *b = n->id[1], *c = n->id[2], *d = n->id[3], *f = n->id[5], *h = n->id[7];
    say(s, SCRIPT_PUT, "jobs", "", a, "tag", "red", "tag", "blue", "priority", "-1", "retries", "2");
    say(s, SCRIPT_PUT, "jobs", "", b, "tracked", "1", "retries", "1", "backoff", "20");
    say(s, SCRIPT_PUT, "jobs", "", c, "after", a, "after", b);
    say(s, SCRIPT_PUT, "jobs", "", d, "tag", "red", "after", a, "after", c, "delay", "30");
    say(s, SCRIPT_PUT, "jobs", "", n->id[4], "delay", "40", "priority", "5");
    say(s, SCRIPT_PUT, "jobs", "", f, "tag", "red");
    say(s, SCRIPT_PUT, "more", "", f, "replace", "1", "tag", "green", "after", d, "delay", "10");
    say(s, SCRIPT_PUT, "more", "", n->id[6], "tracked", "1");
    say(s, SCRIPT_PUT, "more", "", h, "tag", "green", "every", "1000", "offset", "0");
}

static void change_jobs(struct scene *s, const struct named *n, int round)
{
    say(s, SCRIPT_CHANGE, n->id[0], "untag", "red", "tag", "green", "log", "changed");
    say(s, SCRIPT_CHANGE, n->id[1], "track", round % 2 ? "1" : "0", "priority", "3");
    say(s, SCRIPT_CHANGE, n->id[2], "queue", "more");
    say(s, SCRIPT_CHANGE, n->id[3], round % 3 ? "not_after_all" : "after", n->id[1]);
    if (round % 2 == 0)
        say(s, SCRIPT_CANCEL_JOBS, "1", n->id[round % 8], n->id[7]);
    if (round % 5 == 0)
        say(s, SCRIPT_CANCEL_JOBS, "0", n->id[1]);
}

/* Ends up to this many processes of a holder, each in another way. */
static void end_jobs(struct scene *s, const char *holder, const char *queue, size_t n)
{
    static unsigned way;
    char *fields = raw_string(s->server->redis, "HKEYS %s:processing:%s:%s", s->prefix, holder, queue), *rest;
    for (char *field = strtok_r(fields, "\n", &rest); field && n > 0; field = strtok_r(NULL, "\n", &rest), n--) {
        const char *token = field + (strlen(field) > 11);
        switch (way++ % 6) {
        case 0:
            say(s, SCRIPT_END, holder, "result", queue, token, "result");
            break;
        case 1:
            say(s, SCRIPT_END, holder, "retry", queue, token, "", "group", "message");
            break;
        case 2:
            say(s, SCRIPT_END, holder, "fail", queue, token, "group", "message");
            break;
        case 3:
            say(s, SCRIPT_END, holder, "next", queue, token, "0", "", "more", "5", "");
            break;
        case 4:
            say(s, SCRIPT_END, holder, "back", queue, "1", token);
            break;
        default:
            say(s, SCRIPT_END, holder, "done", queue, token);
        }
    }
    free(fields);
}

/* Now and then a queue with its jobs is deleted, its limit is changed, or what has failed goes back or is dropped. */
static void disturb_jobs(struct scene *s, int round)
{
    if (round % 13 == 12)
        say(s, SCRIPT_DELETE, "more");
    if (round % 4 == 0)
        say(s, SCRIPT_CONFIG, "jobs", "max_running", round % 8 ? "4" : "");
    if (round % 6 == 0)
        say(s, SCRIPT_CONFIG, "jobs", "keep_jobs", round % 12 ? "5" : "");
    if (round % 7 == 3)
        say(s, SCRIPT_REPLAY, "jobs", "", "100", "0");
    if (round % 7 == 6)
        say(s, SCRIPT_DROP, "jobs", "", "3", "0");
}

/* It dies, to be swept, and a new one comes; or it comes again under its id; or it stops and starts. */
static void change_actor(struct scene *s, struct acting_worker *w, int round)
{
    static char id[16];
    if (round % 4 == 0) {
        assert_ok(acting_stop(w));
        acting_forget(w);
    } else {
        acting_die(w);
    }
    w->resumes = round % 12 == 2;
    if (round % 18 == 2) {
        snprintf(id, sizeof id, "actor%d", round);
        w->id = id;
    }
    acting_start(w, s);
}

/* A taker whose leases lapse now and then; and a worker that dies with what it has, and is swept by the others. */
static void work_on_jobs(struct scene *s, struct acting_worker *w, int round)
{
    const struct named *n = name_jobs(round);
    put_jobs(s, n);
    freeReplyObject(script_call(s, SCRIPT_TAKE, "jobs", "4", "60", "0", ""));
    freeReplyObject(script_call(s, SCRIPT_TAKE, "more", "2", "60", "0", ""));
    acting_take(w);
    change_jobs(s, n, round);
    end_jobs(s, ".lease", "jobs", 3);
    end_jobs(s, ".lease", "more", 2);
    end_jobs(s, w->id, "jobs", 2);
    say(s, SCRIPT_PROMOTE, NULL);
    disturb_jobs(s, round);
    if (round % 6 == 2)
        change_actor(s, w, round);
}

/* ---- all of it ---- */

static void enqueue_round(struct scene *s, int round)
{
    char stem[16];
    snprintf(stem, sizeof stem, "r%d-", round);
    scene_enqueue_n(s, "q", stem, TASKS);
}

static bool is_q_done(void *arg)
{
    struct scene *s = arg;
    return scene_waiting(s, "q") == 0 && raw_int(s->server->redis, "HGET %s:queue:q running", s->prefix) == 0;
}

static void assert_all_ran(struct scene *s)
{
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < TASKS; i++) {
            char task[32];
            snprintf(task, sizeof task, "r%d-%d", round, i);
            if (!journal_find(s->journal, 0, JOURNAL_START, -1, NULL, task))
                fail_msg("%s has not run", task);
        }
}

/* By the statistics of their queues. */
static void assert_all_befell_jobs(struct scene *s)
{
    static const char sum[] = "local n, keys = 0, redis.call('SCAN', '0', 'MATCH', KEYS[1], 'COUNT', '1000000')[2]\n"
                              "for _, key in ipairs(keys) do n = n + (redis.call('HGET', key, ARGV[1]) or 0) end\n"
                              "return n";
    static const char *const what[] = {"put", "taken", "completed", "failed", "retried", "cancelled"};
    for (size_t i = 0; i < N_OF(what); i++)
        if (raw_int(s->server->redis, "EVAL %s 1 %s:stats:* %s", sum, s->prefix, what[i]) < 10)
            fail_msg("jobs were hardly ever %s", what[i]);
}

static void live_for_a_while(struct scene *s)
{
    struct worker_process *victim = start_victim(s, 0), *comer = start_busy(s, "comer", 0);
    struct acting_worker actor = {.id = "actor0", .queues = {"jobs", "more"}, .hands = 3, .limit = 2, .hears = true};
    acting_start(&actor, s);
    for (int round = 0; round < ROUNDS; round++) {
        enqueue_round(s, round);
        disturb(s, round);
        work_on_jobs(s, &actor, round);
        run_loop(s->base, 50);
        if (round % 6 == 5) {
            worker_process_kill(victim);
            victim = start_victim(s, round / 6 + 1);
        }
        if (round % 10 == 9) {
            worker_process_stop(comer, 0);
            worker_process_reap(comer);
            comer = start_busy(s, "comer", round);
        }
    }
    worker_process_kill(victim);
    acting_forget(&actor);
}

static void on_a_live_system_nothing_is_found_and_nothing_disturbed(void **state)
{
    struct scene *s = *state;
    raw_do(s->server->redis, "HSET %s:queue:q max_crashes 0", s->prefix);
    for (int i = 0; i < 3; i++)
        start_busy(s, "busy", i);
    struct looker *looker = start_looker(s);
    live_for_a_while(s);
    bool is_done = wait_for(s->base, is_q_done, s, SOON_MS);
    atomic_store(&looker->enough, true);
    child_reap(looker->pid, SOON_MS);
    print_message("%d checks\n", looker->n_checks);
    if (looker->err || looker->found.n > 0)
        fail_msg("%s %s; found: %s", muster_err_name(looker->err), looker->error, looker->found.what);
    assert_in_range(looker->n_checks, 10, 1000000);
    munmap(looker, sizeof *looker);
    assert_true(is_done);
    assert_all_ran(s);
    assert_all_befell_jobs(s);
    assert_true(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_SWEPT, NULL, NULL) > 0);
    invariant_assert(s->server->redis, s->prefix);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(on_a_live_system_nothing_is_found_and_nothing_disturbed),
    };
    return scene_run(tests, argc, argv);
}
