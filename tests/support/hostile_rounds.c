/* SPDX-License-Identifier: MIT
 *
 * Rounds of calls to servers that answer nonsense.
 */
#include "hostile_rounds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "child.h"
#include "hostile_server.h"
#include "script_world.h"

#define SPAN_MS 5000
/* Each call may ask a few times, and wait each time. */
#define MARGIN_MS 60000

void hostile_read(struct hostile_caller *c, const void *data, size_t len)
{
    for (size_t i = 0; i < len; i++)
        c->sum += ((const unsigned char *)data)[i];
}

void hostile_read_text(struct hostile_caller *c, const char *text)
{
    if (text)
        hostile_read(c, text, strlen(text) + 1);
}

const char *hostile_queue(struct hostile_caller *c)
{
    return random_chance(&c->random, 80) ? "q" : "o";
}

const char *hostile_process(struct hostile_caller *c)
{
    return random_chance(&c->random, 50) ? c->leased : c->held;
}

struct rounds {
    struct scene *s;
    struct script_world world;
    struct hostile_server server;
    hostile_calls_fn *make_calls;
    uint64_t fastest;
};

static void run_round(struct rounds *r, const struct hostile_spec *spec)
{
    struct hostile_caller c = {.url = r->server.url, .prefix = r->s->prefix, .random = random_from(spec->seed)};
    int status = 0;
    snprintf(c.leased, sizeof c.leased, ".lease:%s:q", r->world.leased);
    snprintf(c.held, sizeof c.held, "w:%s:q", r->world.held);
    script_world_restore(&r->world);
    hostile_server_start(&r->server, r->s->server->dir, spec);
    pid_t pid = child_fork();
    if (pid == 0)
        r->make_calls(&c);
    bool has_ended = child_has_ended(pid, MARGIN_MS, &status);
    if (!has_ended)
        child_kill(&pid);
    uint64_t fastest = hostile_server_fastest(&r->server);
    hostile_server_stop(&r->server);
    if (!has_ended)
        fail_msg("MUSTER_TEST_SEED=%llu: it did not end within %d ms", (unsigned long long)spec->seed, MARGIN_MS);
    if (status != 0)
        fail_msg("MUSTER_TEST_SEED=%llu: it ended with wait status %x", (unsigned long long)spec->seed,
                 (unsigned)status);
    if (r->fastest > 0 && fastest > r->fastest)
        fail_msg("MUSTER_TEST_SEED=%llu: %llu commands in a second", (unsigned long long)spec->seed,
                 (unsigned long long)fastest);
}

void hostile_rounds(struct scene *s, const char *relay_to, uint64_t fastest, hostile_calls_fn *make_calls)
{
    const char *seconds = getenv("MUSTER_FAULT_SECONDS");
    int64_t until = now_ms() + (seconds ? atoi(seconds) * 1000 : SPAN_MS);
    struct rounds r = {.s = s, .make_calls = make_calls, .fastest = fastest};
    unsigned n = 0;
    script_world_make(&r.world, s);
    script_world_keep(&r.world);
    for (uint64_t seed = random_seed(1); n == 0 || now_ms() < until; seed++, n++) {
        struct random random = random_from(seed);
        run_round(&r, &(struct hostile_spec){
                          .relay_to = relay_to, .seed = seed, .percent = 5 + (unsigned)random_below(&random, 50)});
    }
    print_message("%u rounds of %d calls: %llu answers, %llu of them nonsense\n", n, HOSTILE_CALLS,
                  (unsigned long long)r.server.counts->replies, (unsigned long long)r.server.counts->nonsense);
    script_world_end(&r.world);
}
