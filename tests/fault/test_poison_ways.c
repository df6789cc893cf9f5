/* SPDX-License-Identifier: MIT
 *
 * Poison, in all ways that hand a process out, with few and many hands, and with nothing and much in advance. One worker
 * serves two queues: in the first one poison lies among tasks that nobody has had yet, in the second one are innocent
 * suspects. Each suspect runs alone; no death is counted against what is not the poison; and the poison has failed after
 * four deaths, when all others have run to their end.
 *
 * A worker that died is swept at once, so its ttl can be longer than any pause of the machine.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "invariant.h"
#include "script_call.h"
#include "worker_process.h"

enum { CREWS = 4, TTL_MS = 60000, RUN_MS = 10, INNOCENT = 6, DEATHS = 4, DEADLINE_MS = 90000, TASK_MAX = 32 };

/* Names of tasks, each between blanks. */
#define NAMES_MAX 1024

struct crew {
    struct scene *s;
    struct worker_spec spec;
    int number, n_lives, log;
    char queues[2][16], log_path[96];
    char suspects[DEATHS + 2][NAMES_MAX]; /* by life */
    struct worker_process *now;
};

/* ---- handlers, in the workers' processes ---- */

static void write_line(struct live_worker *w, char kind, struct muster_process *p)
{
    const struct crew *c = w->spec.arg;
    char line[128];
    int len = snprintf(line, sizeof line, "%c %s %s\n", kind, w->spec.id, (const char *)muster_process_task(p, NULL));
    if (write(c->log, line, (size_t)len) != len)
        abort();
}

static void end(struct live_worker *w, struct muster_process *p)
{
    if (strcmp(muster_process_task(p, NULL), "poison") == 0)
        kill(getpid(), SIGKILL);
    write_line(w, 'E', p);
}

static enum muster_outcome run_now(struct muster_process *p, void *arg)
{
    write_line(arg, 'B', p);
    usleep(RUN_MS * 1000);
    end(arg, p);
    return MUSTER_FINISH;
}

struct later {
    struct live_worker *worker;
    struct muster_process *process;
};

static void on_time(evutil_socket_t fd, short what, void *arg)
{
    struct later later = *(struct later *)arg;
    (void)fd, (void)what;
    free(arg);
    end(later.worker, later.process);
    (void)muster_process_end(later.process, MUSTER_FINISH);
}

static enum muster_outcome run_later(struct muster_process *p, void *arg)
{
    struct later *later = malloc(sizeof *later);
    *later = (struct later){arg, p};
    write_line(arg, 'B', p);
    event_base_once(later->worker->base, -1, EV_TIMEOUT, on_time, later, &(struct timeval){.tv_usec = RUN_MS * 1000});
    return MUSTER_LATER;
}

/* The same as a command; the log is its first argument. */
static const char *const script = "read -r task\n"
                                  "echo \"B $MUSTER_WORKER $task\" >>\"$0\"\n"
                                  "sleep 0.01\n"
                                  "[ \"$task\" = poison ] && kill -9 $PPID && exit\n"
                                  "echo \"E $MUSTER_WORKER $task\" >>\"$0\"\n";

/* ---- lives ---- */

static void start(struct crew *c)
{
    char id[32];
    const char *const command[] = {"sh", "-c", script, c->log_path, NULL};
    struct worker_spec spec = c->spec;
    snprintf(id, sizeof id, "w%d-%d", c->number, c->n_lives++);
    spec.id = id;
    spec.arg = c;
    if (spec.command)
        spec.command = command;
    c->now = worker_process_start(c->s, &spec);
}

/* What is said of the tasks of a queue that came back: "<task> <entry>\n" of each suspect. */
static char *list_suspects(struct scene *s, const char *queue)
{
    static const char lua[] =
        "local all, suspects = {}, redis.call('HGETALL', KEYS[1] .. ':suspects:' .. ARGV[1])\n"
        "for _, member in ipairs(redis.call('ZRANGE', KEYS[1] .. ':returned:' .. ARGV[1], 0, -1)) do\n"
        "  local token, home = string.match(member, '^(.*):(.-)$')\n"
        "  for i = 1, #suspects, 2 do\n"
        "    if suspects[i] == token then\n"
        "      local task = redis.call('HGET', KEYS[1] .. ':home:' .. home .. ':' .. ARGV[1], token)\n"
        "      all[#all + 1] = task .. ' ' .. suspects[i + 1] .. '\\n'\n"
        "    end\n"
        "  end\n"
        "end\n"
        "return table.concat(all)";
    return raw_string(s->server->redis, "EVAL %s 1 %s %s", lua, s->prefix, queue);
}

/* Only the deaths of the poison have been counted. They run alone in the life to come. */
static void note_suspects(struct crew *c)
{
    char *names = c->suspects[c->n_lives], task[TASK_MAX], entry[TASK_MAX];
    size_t len = (size_t)snprintf(names, NAMES_MAX, " ");
    for (int i = 0; i < 2; i++) {
        char *list = list_suspects(c->s, c->queues[i]);
        for (const char *at = list; sscanf(at, "%31s %31s", task, entry) == 2; at = strchr(at, '\n') + 1) {
            if (atoi(entry) != (strcmp(task, "poison") == 0 ? c->n_lives - 1 : 0) || strchr(entry, 'b'))
                fail_msg("after %d deaths of %s: %s is said of %s", c->n_lives, c->spec.id, entry, task);
            len += (size_t)snprintf(names + len, NAMES_MAX - len, "%s ", task);
        }
        free(list);
    }
}

/* Its peers may be faster. */
static void sweep(struct scene *s, const char *id)
{
    struct acting_worker dead = {.id = id, .scene = s};
    acting_die(&dead);
    int err = script_does(s, SCRIPT_SWEEP, id, "0");
    assert_true(err == MUSTER_OK || err == MUSTER_E_NOT_FOUND);
}

static void replace_if_dead(struct crew *c)
{
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)c->now->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
        return;
    worker_process_kill(c->now); /* reaps */
    if (c->n_lives > DEATHS)
        fail_msg("%s: more than %d deaths", c->spec.id, DEATHS);
    sweep(c->s, c->now->id);
    note_suspects(c);
    start(c);
}

static int64_t held_or_waiting(const struct crew *c)
{
    int64_t n = 0;
    for (int i = 0; i < 2; i++)
        n += scene_waiting(c->s, c->queues[i]) +
             raw_int(c->s->server->redis, "HGET %s:queue:%s running", c->s->prefix, c->queues[i]);
    return n;
}

static bool are_over(void *arg)
{
    struct crew *crews = arg;
    int64_t n = 0;
    for (int i = 0; i < CREWS; i++) {
        replace_if_dead(&crews[i]);
        n += held_or_waiting(&crews[i]);
    }
    return n == 0;
}

/* ---- what the log says ---- */

/* The tasks that run in one life, and the suspects of it. */
struct judged {
    char suspects[NAMES_MAX], running[NAMES_MAX];
};

static bool has_name(const char *names, const char *task)
{
    char name[TASK_MAX + 2];
    snprintf(name, sizeof name, " %s ", task);
    return strstr(names, name) != NULL;
}

static void drop_name(char *names, const char *task)
{
    char name[TASK_MAX + 2];
    snprintf(name, sizeof name, " %s ", task);
    char *at = strstr(names, name);
    if (at)
        memmove(at, at + strlen(name) - 1, strlen(at + strlen(name) - 1) + 1);
}

static void judge_begin(struct judged *j, const char *life, const char *task)
{
    char other[TASK_MAX];
    if (sscanf(j->running, "%31s", other) == 1 && (has_name(j->suspects, task) || has_name(j->suspects, other)))
        fail_msg("%s: %s ran beside %s, and one of them is a suspect", life, task, other);
    size_t len = strlen(j->running);
    snprintf(j->running + len, NAMES_MAX - len, "%s ", task);
}

/* Returns how many ran to their end, of all kinds but one that ends a second time. */
static int judge(struct crew *c)
{
    struct judged lives[DEATHS + 1];
    char kind, life[TASK_MAX], task[TASK_MAX], ended[NAMES_MAX] = " ";
    int n_poison = 0, n_ended = 0, number;
    FILE *log = fopen(c->log_path, "r");
    assert_non_null(log);
    for (int i = 0; i < c->n_lives; i++) {
        memcpy(lives[i].suspects, c->suspects[i], NAMES_MAX);
        strcpy(lives[i].running, " ");
    }
    while (fscanf(log, " %c %31s %31s", &kind, life, task) == 3) {
        struct judged *j = sscanf(life, "w%*d-%d", &number) == 1 ? &lives[number] : NULL;
        assert_non_null(j);
        if (kind == 'B') {
            judge_begin(j, life, task);
            n_poison += strcmp(task, "poison") == 0;
            continue;
        }
        drop_name(j->running, task);
        drop_name(j->suspects, task);
        size_t len = strlen(ended);
        if (!has_name(ended, task)) {
            snprintf(ended + len, sizeof ended - len, "%s ", task);
            n_ended++;
        }
    }
    fclose(log);
    assert_int_equal(n_poison, DEATHS);
    return n_ended;
}

/* ---- the scene ---- */

static void begin(struct crew *c, struct scene *s, const struct worker_spec *spec, int number)
{
    struct acting_worker dead = {.id = "dead", .queues = {c->queues[1]}, .hands = INNOCENT};
    *c = (struct crew){.s = s, .spec = *spec, .number = number};
    snprintf(c->queues[0], sizeof c->queues[0], "q%d", number);
    snprintf(c->queues[1], sizeof c->queues[1], "s%d", number);
    snprintf(c->log_path, sizeof c->log_path, "%s/%s-%d", s->server->dir, s->prefix, number);
    c->log = open(c->log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    assert_true(c->log >= 0);
    c->spec.queues[0].name = c->queues[0];
    c->spec.queues[1].name = c->queues[1];
    c->spec.id = c->queues[0];
    scene_enqueue_n(s, c->queues[1], "suspect", INNOCENT);
    acting_start(&dead, s);
    acting_take(&dead);
    sweep(s, "dead");
    note_suspects(c);
    scene_enqueue_n(s, c->queues[0], "a", INNOCENT / 2);
    scene_enqueue(s, c->queues[0], "poison");
    scene_enqueue_n(s, c->queues[0], "b", INNOCENT / 2);
    start(c);
}

static void finish(struct crew *c)
{
    worker_process_stop(c->now, -1);
    assert_int_equal(worker_process_reap(c->now), 0);
    close(c->log);
    assert_int_equal(c->n_lives, DEATHS + 1);
    assert_int_equal(judge(c), 2 * INNOCENT);
    char *failed = raw_string(c->s->server->redis, "ZRANGE %s:failed:%s 0 -1", c->s->prefix, c->queues[0]);
    bool is_good = strstr(failed, "crashed") && strstr(failed, "poison");
    free(failed);
    assert_true(is_good);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(raw_int(c->s->server->redis, "ZCARD %s:failed:%s", c->s->prefix, c->queues[i]), !i);
        assert_int_equal(raw_int(c->s->server->redis, "HLEN %s:suspects:%s", c->s->prefix, c->queues[i]), 0);
    }
}

/* Side by side, because each of them mostly waits. */
static void assert_only_the_poison_fails(struct scene *s, struct worker_spec spec)
{
    static const struct {
        int hands, prefetch;
    } rows[CREWS] = {{1, 0}, {1, 300}, {8, 0}, {8, 300}};
    static struct crew crews[CREWS];
    spec.ttl_ms = TTL_MS;
    for (int i = 0; i < CREWS; i++) {
        spec.hands = rows[i].hands;
        spec.prefetch = rows[i].prefetch;
        if (spec.more.threads)
            spec.more.threads = spec.hands;
        begin(&crews[i], s, &spec, i);
    }
    wait_on(s->base, are_over, crews, DEADLINE_MS);
    for (int i = 0; i < CREWS; i++)
        finish(&crews[i]);
    invariant_assert(s->server->redis, s->prefix);
}

/* ---- the ways ---- */

static void inline_handlers(void **state)
{
    assert_only_the_poison_fails(*state, (struct worker_spec){.handler = run_now});
}

static void handlers_on_threads(void **state)
{
    assert_only_the_poison_fails(*state, (struct worker_spec){.handler = run_now, .more = {.threads = 1}});
}

static void handlers_that_answer_later(void **state)
{
    assert_only_the_poison_fails(*state, (struct worker_spec){.handler = run_later});
}

static void commands(void **state)
{
    assert_only_the_poison_fails(*state, (struct worker_spec){.command = &script});
}

static void a_loop_of_the_programs_own(void **state)
{
    assert_only_the_poison_fails(*state, (struct worker_spec){.handler = run_later, .by_next = true});
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {live_test(inline_handlers), live_test(handlers_on_threads),
                                       live_test(handlers_that_answer_later), live_test(commands),
                                       live_test(a_loop_of_the_programs_own)};
    return scene_run(tests, argc, argv);
}
