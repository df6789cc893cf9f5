/* SPDX-License-Identifier: MIT
 *
 * Runs an experiment: rounds in which each side does one block, in one order and then in the other, so no side is
 * always first. There are as many rounds as there is time for.
 */
#include "runner.h"

#include <hiredis/hiredis.h>
#include <stdio.h>

#include "raw.h"

static size_t count_sides(const struct experiment *e)
{
    size_t n = 0;
    while (n < SIDES_MAX && e->sides[n].work)
        n++;
    return n;
}

static void run_round(struct run *run, struct samples *s)
{
    size_t n = count_sides(run->experiment);
    for (size_t i = 0; i < n; i++) {
        size_t k = s->rounds % 2 ? n - 1 - i : i;
        const struct side *side = &run->experiment->sides[k];
        side->work(run, side->n, &s->blocks[k][s->rounds]);
    }
    s->rounds++;
}

static double seconds_since(int64_t ns)
{
    return (double)(now_ns() - ns) / 1e9;
}

/* Is there time for another round, if it takes as long as those before did? */
static bool has_time(const struct samples *s, int64_t begin_ns, int64_t opened_ns, double seconds)
{
    return seconds_since(begin_ns) + seconds_since(opened_ns) / (double)s->rounds <= seconds;
}

void runner_run(const struct experiment *e, const struct place *place, double seconds, struct samples *out)
{
    int64_t begin_ns = now_ns();
    char prefix[PLACE_PREFIX_MAX + 1];
    struct run run = {.experiment = e, .prefix = prefix, .url_tls = place->url_tls};
    run.url = e->over_tcp ? place->url_tcp : place->url;
    if (seconds <= 0)
        seconds = e->seconds;
    snprintf(prefix, sizeof prefix, "%s%s", place->prefix, e->name);
    *out = (struct samples){0};
    run.redis = raw_connect(run.url);
    if (e->open)
        e->open(&run);
    int64_t opened_ns = now_ns();
    while (out->rounds < e->min_rounds || (out->rounds < ROUNDS_MAX && has_time(out, begin_ns, opened_ns, seconds)))
        run_round(&run, out);
    if (e->close)
        e->close(&run);
    raw_remove(run.redis, prefix);
    redisFree(run.redis);
}
