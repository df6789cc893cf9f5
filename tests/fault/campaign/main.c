/* SPDX-License-Identifier: MIT
 *
 * campaign [--cluster] [--seconds N] [--seed N] [--faults KIND,KIND,...]
 *
 * With --cluster its Redis is a cluster of three masters, each with a replica, and what is put waits for a replica.
 *
 * Rounds of random faults, each followed by an account of every task. Exits with 0 if all of them balance, with 1 and
 * words that name the task and the seed if one does not, with 2 if it cannot run. The record, which is left behind then
 * beside the data of Redis, is named too. MUSTER_FAULT_SECONDS and MUSTER_TEST_SEED stand for options that are not
 * given. A seed decides which faults come in which order; what they hit is a matter of time.
 */
#include <muster/client.h>

#include <ftw.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "campaign.h"

#define SECONDS 60
#define SECONDS_OF_A_CLUSTER 15
#define ROUND_MS 12000
#define LOOK_MS 20
#define PAUSE_MS 700
/* A sign of service comes after the last fault, so that the gap has an end. */
#define SETTLE_MS 1000
/* So that the path of a socket in it is not too long. */
#define DIR_MAX 60
#define USUAL_FAULTS (BIT(FAULT_MOVE) - 1)
#define USUAL_FAULTS_OF_A_CLUSTER (BIT(FAULT_SLOW) - 1)

/* ---- options ---- */

static _Noreturn void refuse(const char *option, const char *value)
{
    fprintf(stderr, "campaign: %s: %s is not allowed; the kinds of faults are", option, value);
    for (int i = 0; i < FAULT_COUNT; i++)
        fprintf(stderr, " %s", fault_names[i]);
    fputs(", numbers are positive\n", stderr);
    exit(2);
}

static unsigned read_faults(char *list)
{
    unsigned faults = 0;
    for (char *rest, *word = strtok_r(list, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        int i = 0;
        while (i < FAULT_COUNT && strcmp(word, fault_names[i]))
            i++;
        if (i == FAULT_COUNT)
            refuse("--faults", word);
        faults |= BIT(i);
    }
    return faults;
}

static uint64_t read_number(const char *option, const char *text)
{
    char *end;
    uint64_t n = strtoull(text, &end, 10);
    if (!n || *end || *text == '-')
        refuse(option, text);
    return n;
}

static void check_faults(struct campaign *c)
{
    if (!c->faults)
        c->faults = c->has_cluster ? USUAL_FAULTS_OF_A_CLUSTER : USUAL_FAULTS;
    for (int i = 0; i < FAULT_COUNT; i++)
        if (c->faults & BIT(i) & (c->has_cluster ? OF_AN_ACCOUNT : OF_A_CLUSTER)) {
            fprintf(stderr, "campaign: --faults: %s can only hit %s\n", fault_names[i],
                    c->has_cluster ? "a single Redis: leave out --cluster" : "a cluster: add --cluster");
            exit(2);
        }
}

static void read_options(struct campaign *c, int argc, char **argv)
{
    static const struct option options[] = {{"cluster", no_argument, NULL, 'c'},
                                            {"seconds", required_argument, NULL, 's'},
                                            {"seed", required_argument, NULL, 'n'},
                                            {"faults", required_argument, NULL, 'f'},
                                            {0}};
    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (o == 'c')
            c->has_cluster = true;
        else if (o == 's')
            c->seconds = (int)read_number("--seconds", optarg);
        else if (o == 'n')
            c->seed = read_number("--seed", optarg);
        else if (o == 'f')
            c->faults = read_faults(optarg);
        else
            exit(2);
    }
    if (optind < argc)
        refuse("an operand", argv[optind]);
    check_faults(c);
    if (!c->seconds)
        c->seconds = c->has_cluster ? SECONDS_OF_A_CLUSTER : SECONDS;
}

/* ---- rounds ---- */

/* Those that the program itself brings about. Producers and leasers have the others in their own hands. */
#define OWN_FAULTS (~(BIT(FAULT_LAPSE) | BIT(FAULT_CANCEL) | BIT(FAULT_POISON)))

/* What befalls a cluster comes in turn, so that a short campaign has some of each. */
static enum fault next_of_cluster(const struct campaign *c, const struct server *s)
{
    int next = s->turn;
    do
        next = (next + 1) % FAULT_COUNT;
    while (!(c->faults & OF_A_CLUSTER & BIT(next)));
    return (enum fault)next;
}

static void hurt_one(const struct campaign *c, struct server *s, struct crew *crew, struct random *r)
{
    if (!(c->faults & OWN_FAULTS))
        return;
    enum fault fault;
    do
        fault = (enum fault)random_below(r, FAULT_COUNT);
    while (!(c->faults & OWN_FAULTS & BIT(fault)));
    if (c->faults & OF_A_CLUSTER && (BIT(fault) & OF_A_CLUSTER || random_chance(r, 40)))
        fault = next_of_cluster(c, s);
    if (fault == FAULT_KILL || fault == FAULT_STOP || fault == FAULT_TERM)
        crew_hurt(crew, fault, r);
    else
        server_hurt(s, fault, r);
}

static bool storm(const struct campaign *c, struct server *s, struct crew *crew, struct random *r, int64_t until)
{
    for (int64_t now, next = 0; (now = now_ms()) < until || s->is_hurt || now < s->healed_at_ms + SETTLE_MS;
         sleep_ms(LOOK_MS)) {
        if (!crew_tend(crew))
            return false;
        server_heal(s, now);
        if (now < next || now >= until)
            continue;
        hurt_one(c, s, crew, r);
        next = now + (int64_t)random_below(r, PAUSE_MS);
    }
    return true;
}

static bool run_round(struct campaign *c, struct server *s, struct random *r, int round, int64_t until,
                      struct figures *f)
{
    struct muster_client *client;
    struct muster_client_options o = {.size = sizeof o, .url = c->url, .prefix = c->prefix};
    snprintf(c->record, sizeof c->record, "%s/record.%d", c->dir, round);
    record_open(c->record);
    if (muster_client_new(&client, &o))
        exit(2);
    struct crew *crew = crew_start(c, round);
    bool is_good = endless_put(client, round) && storm(c, s, crew, r, until);
    /* Without an end the account names the tasks that did not come to it. */
    if (is_good && crew_calm(crew)) {
        is_good = endless_cancel(client, round);
        is_good &= account_await_end(c, client, crew) && crew_end(crew);
        is_good &= account_balance(c, client, f);
    } else {
        is_good = false;
    }
    crew_free(crew);
    muster_client_free(client);
    return is_good;
}

static bool run_rounds(struct campaign *c, struct figures *f, int *n_rounds)
{
    struct server s = {.turn = FAULT_OWNER - 1}; /* the hardest comes first */
    struct random r = random_from(c->seed);
    bool is_good = true;
    server_start(&s, c);
    int64_t end = now_ms() + c->seconds * (int64_t)1000;
    while (is_good && now_ms() < end) {
        int64_t until = now_ms() + ROUND_MS;
        is_good = run_round(c, &s, &r, (*n_rounds)++, until < end ? until : end, f);
    }
    server_stop(&s);
    return is_good;
}

static void print_figures(const struct campaign *c, const struct figures *f, int n_rounds)
{
    printf("rounds=%d acknowledged=%" PRIu64 " refused=%" PRIu64 " unconfirmed=%" PRIu64 " unknown=%" PRIu64
           " finished=%" PRIu64 " failed=%" PRIu64 " cancelled=%" PRIu64 " poisoned=%" PRIu64 " runs=%" PRIu64
           " reruns=%" PRIu64 " alone=%" PRIu64 " resumed=%" PRIu64 " forgotten=%" PRIu64 "\nfaults:",
           n_rounds, f->acknowledged, f->refused, f->unconfirmed, f->unknown, f->finished, f->failed, f->cancelled,
           f->poisoned, f->runs, f->reruns, f->alone, f->resumed, f->forgotten);
    for (int i = 0; i < FAULT_COUNT; i++)
        if (c->faults & BIT(i))
            printf(" %s=%" PRIu64, fault_names[i], f->faults[i]);
    puts("");
    gaps_print(f);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

int main(int argc, char **argv)
{
    struct campaign c = {.prefix = "muster", .seed = random_seed((uint64_t)time(NULL))};
    struct figures f = {0};
    char self[200];
    int n_rounds = 0;
    setlinebuf(stdout);
    if (argc == 2 && !strcmp(argv[1], "--command"))
        command_run();
    const char *tmp = getenv("TMPDIR"), *seconds = getenv("MUSTER_FAULT_SECONDS");
    if (seconds)
        c.seconds = (int)read_number("MUSTER_FAULT_SECONDS", seconds);
    read_options(&c, argc, argv);
    snprintf(c.dir, sizeof c.dir, "%s/campaign-XXXXXX", tmp && strlen(tmp) < DIR_MAX ? tmp : "/tmp");
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0 || !mkdtemp(c.dir)) {
        perror("campaign");
        return 2;
    }
    self[n] = '\0';
    c.program = self;
    printf("seed=%" PRIu64 " seconds=%d\n", c.seed, c.seconds);
    bool is_good = run_rounds(&c, &f, &n_rounds);
    print_figures(&c, &f, n_rounds);
    gaps_free(&f);
    /* What it has brought about itself is no evidence. */
    if (is_good || c.faults & OF_AN_ACCOUNT)
        nftw(c.dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    else
        fprintf(stderr, "campaign: seed %" PRIu64 " does not balance; the record is %s\n", c.seed, c.record);
    return is_good ? 0 : 1;
}
