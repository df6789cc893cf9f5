/* SPDX-License-Identifier: MIT
 *
 * The owners of tasks: the snapshots, and the account of each task between them. The account lies in memory that is
 * shared with the test. Only the child writes it, except for `runs` and `stop`.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <hiredis/hiredis.h>

#include "child.h"
#include "owner_sampler.h"
#include "testing.h"
#include "wait.h"

#define EVERY_MS 5
/* A snapshot later than this tells nothing of the time before it. */
#define BLIND_MS 100

/* Three strings for each process: worker, token, task. */
static const char snapshot[] = "local out = {}\n"
                               "for _, w in ipairs(redis.call('ZRANGE', KEYS[1] .. ':registry', 0, -1)) do\n"
                               "  local set = redis.call('HGETALL', KEYS[1] .. ':processing:' .. w .. ':q')\n"
                               "  for i = 1, #set, 2 do\n"
                               "    out[#out + 1], out[#out + 2], out[#out + 3] = w, set[i], set[i + 1]\n"
                               "  end\n"
                               "end\n"
                               "return out\n";

struct task {
    char token[16], owner[32];
    int gap_ms, sample;
    bool is_cared_for, is_passed_on;
};

struct sampler {
    struct owner_account *account;
    const char *socket, *prefix;
    struct redisContext *redis;
    int64_t last_ms;
    struct task tasks[SAMPLER_TASKS_MAX];
};

static void breach(struct owner_account *a, const char *task, const char *what, const struct task *was,
                   const char *owner, const char *token)
{
    if (!a->breaches++)
        snprintf(a->first_breach, sizeof a->first_breach, "%s %s: %s %s, then %s %s", task, what, was->owner,
                 was->token, owner, token);
}

static bool runs(struct owner_account *a, const char *worker)
{
    int place, life;
    return sscanf(worker, "w%d.%d", &place, &life) == 2 && place >= 0 && place < SAMPLER_WORKERS_MAX &&
           atomic_load(&a->runs[place]) == life;
}

static void end_gap(struct owner_account *a, struct task *t)
{
    if (!t->gap_ms)
        return;
    int bucket = t->gap_ms / SAMPLER_BUCKET_MS;
    a->gaps[bucket < SAMPLER_BUCKETS ? bucket : SAMPLER_BUCKETS - 1]++;
    if (t->gap_ms > a->longest_gap_ms)
        a->longest_gap_ms = t->gap_ms;
    t->gap_ms = 0;
}

/* One process of a snapshot. */
static void see(struct sampler *s, const char *owner, const char *token, const char *name)
{
    struct owner_account *a = s->account;
    int n = atoi(name + 1);
    if (n < 0 || n >= SAMPLER_TASKS_MAX)
        return;
    struct task *t = &s->tasks[n];
    int order = strcmp(token, t->token);
    bool is_owner = !strcmp(owner, t->owner);
    if (t->sample == a->samples)
        breach(a, name, "has two owners", t, owner, token);
    else if (order < 0)
        breach(a, name, "got an older token", t, owner, token);
    else if (order == 0 && !is_owner)
        breach(a, name, "changed hands under one token", t, owner, token);
    a->n_tasks_seen += !t->sample;
    a->changes += order != 0;
    t->sample = a->samples;
    t->is_cared_for = runs(a, owner);
    t->is_passed_on = order != 0;
    snprintf(t->token, sizeof t->token, "%s", token);
    snprintf(t->owner, sizeof t->owner, "%s", owner);
}

static void account(struct sampler *s, struct task *t, int span_ms)
{
    bool is_owned = t->sample == s->account->samples;
    if (!is_owned || !t->is_cared_for)
        t->gap_ms += span_ms;
    if (is_owned && !t->is_cared_for && t->is_passed_on)
        s->account->restarted_gaps++;
    if (is_owned && (t->is_cared_for || t->is_passed_on))
        end_gap(s->account, t);
}

static bool connected(struct sampler *s)
{
    if (s->redis && !s->redis->err)
        return true;
    if (s->redis)
        redisFree(s->redis);
    s->redis = redisConnectUnix(s->socket);
    return s->redis && !s->redis->err;
}

static void sample(struct sampler *s)
{
    struct redisReply *r = connected(s) ? redisCommand(s->redis, "EVAL %s 1 %s", snapshot, s->prefix) : NULL;
    if (r && r->type == REDIS_REPLY_ARRAY) {
        int64_t now = now_ms();
        int span = (int)(now - s->last_ms);
        s->account->samples++;
        for (size_t i = 0; i + 2 < r->elements; i += 3)
            see(s, r->element[i]->str, r->element[i + 1]->str, r->element[i + 2]->str);
        if (span > BLIND_MS) {
            s->account->blind_ms += span;
            span = 0;
        }
        for (size_t i = 0; i < SAMPLER_TASKS_MAX; i++)
            if (s->tasks[i].sample)
                account(s, &s->tasks[i], span);
        s->last_ms = now;
    }
    freeReplyObject(r);
}

static void run(struct sampler *s)
{
    /* hiredis writes to a dead server without MSG_NOSIGNAL. */
    signal(SIGPIPE, SIG_IGN);
    while (!atomic_load(&s->account->stop)) {
        sample(s);
        nanosleep(&(struct timespec){.tv_nsec = EVERY_MS * 1000000}, NULL);
    }
    sample(s);
    for (size_t i = 0; i < SAMPLER_TASKS_MAX; i++)
        end_gap(s->account, &s->tasks[i]);
    _exit(0);
}

/* ---- the test ---- */

void owner_sampler_start(struct owner_sampler *o, const char *socket, const char *prefix)
{
    o->account = mmap(NULL, sizeof *o->account, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (o->account == MAP_FAILED)
        fail_msg("no memory for the account");
    o->pid = child_fork();
    if (o->pid == 0) {
        static struct sampler s;
        s = (struct sampler){.account = o->account, .socket = socket, .prefix = prefix, .last_ms = now_ms()};
        run(&s);
    }
}

void owner_sampler_stop(struct owner_sampler *o)
{
    atomic_store(&o->account->stop, 1);
    if (child_reap(o->pid, SOON_MS))
        fail_msg("the sampler of owners ended badly");
    o->pid = 0;
}

void owner_sampler_free(struct owner_sampler *o)
{
    child_kill(&o->pid);
    munmap(o->account, sizeof *o->account);
}
