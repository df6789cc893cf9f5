/* SPDX-License-Identifier: MIT
 *
 * The processes of a campaign: each place holds one, and gets a new one, under a new name, when it has ended.
 *
 * Every fault stands in the record before it hits, so that what it brings about comes after it.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "campaign.h"

#define END_MS 40000
#define LOOK_MS 20

typedef void role_fn(const struct campaign *c, const char *life);

enum role_kind {
    ROLE_TAKES,
    ROLE_RESUMES, /* all its lives have one id */
    ROLE_PUTS
};

/* Who takes part. */
static const struct role {
    char letter;
    enum role_kind kind;
    role_fn *run;
} roles[] = {{'i', ROLE_TAKES, worker_inline},    {'t', ROLE_TAKES, worker_threads},
             {'u', ROLE_TAKES, worker_threads},   {LIFE_OF_COMMANDS, ROLE_TAKES, worker_command},
             {'r', ROLE_RESUMES, worker_resumes}, {'l', ROLE_TAKES, leaser_run},
             {'p', ROLE_PUTS, producer_run},      {'q', ROLE_PUTS, producer_run}};
#define PLACES N_OF(roles)

struct place {
    const struct role *role;
    pid_t pid;
    int n_lives;
    char life[WORD_MAX_LEN + 1];
    int64_t goes_on_ms; /* 0: it is not stopped */
    bool is_killed;     /* by SIGKILL */
    int64_t ends_by_ms; /* 0: it was not told to end */
};

struct crew {
    const struct campaign *campaign;
    int round;
    bool is_calm, is_ending;
    struct place places[PLACES];
};

static void start(struct crew *crew, struct place *p)
{
    snprintf(p->life, sizeof p->life, "%c%d.%d", p->role->letter, crew->round, p->n_lives);
    p->n_lives += p->role->kind != ROLE_RESUMES;
    p->is_killed = false;
    p->goes_on_ms = p->ends_by_ms = 0;
    fflush(stdout);
    p->pid = fork();
    if (p->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        p->role->run(crew->campaign, p->life);
    }
}

struct crew *crew_start(const struct campaign *c, int round)
{
    struct crew *crew = calloc(1, sizeof *crew);
    if (!crew)
        exit(2);
    crew->campaign = c;
    crew->round = round;
    for (size_t i = 0; i < PLACES; i++) {
        crew->places[i].role = &roles[i];
        start(crew, &crew->places[i]);
    }
    return crew;
}

static void go_on(struct place *p)
{
    if (!p->goes_on_ms)
        return;
    p->goes_on_ms = 0;
    record_write('H', "-", 0, p->life, fault_names[FAULT_STOP]);
    kill(p->pid, SIGCONT);
}

static void terminate(struct place *p)
{
    if (!p->pid || p->ends_by_ms)
        return;
    go_on(p);
    p->ends_by_ms = now_ms() + END_MS;
    record_write('F', "-", 0, p->life, fault_names[FAULT_TERM]);
    kill(p->pid, SIGTERM);
}

void crew_hurt(struct crew *crew, enum fault fault, struct random *r)
{
    struct place *p = &crew->places[random_below(r, PLACES)];
    if (!p->pid || p->is_killed || p->goes_on_ms || p->ends_by_ms)
        return;
    if (fault == FAULT_TERM) {
        terminate(p);
        return;
    }
    record_write('F', "-", 0, p->life, fault_names[fault]);
    if (fault == FAULT_KILL)
        p->is_killed = true;
    else
        p->goes_on_ms = now_ms() + 1 + (int64_t)random_below(r, 2 * TTL_MS);
    kill(p->pid, fault == FAULT_KILL ? SIGKILL : SIGSTOP);
}

/* It was told to end, or Redis refused it at its start, or it met poison. A producer or leaser that gets SIGTERM before it
 * listens to it dies of it, as does a worker. */
static bool is_rightful_end(const struct crew *crew, const struct place *p, int status)
{
    if (WIFSIGNALED(status))
        return (p->is_killed && WTERMSIG(status) == SIGKILL) || (p->ends_by_ms && WTERMSIG(status) == SIGTERM) ||
               (crew->campaign->faults & BIT(FAULT_POISON) && WTERMSIG(status) == POISON_SIGNAL);
    return WEXITSTATUS(status) == EXIT_AGAIN ||
           ((WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == EXIT_WITHOUT_REDIS) && p->ends_by_ms);
}

static bool tend_one(struct crew *crew, struct place *p)
{
    int status;
    int64_t now = now_ms();
    if (p->goes_on_ms && now >= p->goes_on_ms)
        go_on(p);
    if (p->pid && waitpid(p->pid, &status, WNOHANG) == p->pid) {
        p->pid = 0;
        if (!is_rightful_end(crew, p, status)) {
            fprintf(stderr, "campaign: %s ended with wait status %#x\n", p->life, (unsigned)status);
            return false;
        }
    }
    if (p->pid && p->ends_by_ms && now > p->ends_by_ms) {
        fprintf(stderr, "campaign: %s does not end after SIGTERM\n", p->life);
        return false;
    }
    if (!p->pid && !crew->is_ending && !(crew->is_calm && p->role->kind == ROLE_PUTS))
        start(crew, p);
    return true;
}

bool crew_tend(struct crew *crew)
{
    bool is_good = true;
    for (size_t i = 0; i < PLACES; i++)
        is_good &= tend_one(crew, &crew->places[i]);
    return is_good;
}

/* Waits until those that have to end have ended. */
static bool await_ends(struct crew *crew)
{
    bool is_good = true, are_left = true;
    while (is_good && are_left) {
        is_good = crew_tend(crew);
        are_left = false;
        for (size_t i = 0; i < PLACES; i++)
            are_left |= crew->places[i].pid && crew->places[i].ends_by_ms;
        sleep_ms(LOOK_MS);
    }
    return is_good;
}

bool crew_calm(struct crew *crew)
{
    crew->is_calm = true;
    for (size_t i = 0; i < PLACES; i++) {
        go_on(&crew->places[i]);
        if (crew->places[i].role->kind == ROLE_PUTS)
            terminate(&crew->places[i]);
    }
    return await_ends(crew);
}

bool crew_end(struct crew *crew)
{
    crew->is_ending = true;
    for (size_t i = 0; i < PLACES; i++)
        terminate(&crew->places[i]);
    return await_ends(crew);
}

void crew_free(struct crew *crew)
{
    free(crew);
}
