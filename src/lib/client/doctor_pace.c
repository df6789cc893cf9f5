/* SPDX-License-Identifier: MIT
 *
 * How soon Redis answers, and what time it is there.
 *
 * One try says nothing of a Redis that stands still now and then: so there are several within a second, and the worst
 * counts. The clock is compared by the quickest of them: the answer was given somewhere between the question and its
 * coming, so in the middle, give or take half of the time that it took.
 */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "client/doctor.h"

#define LOOK_MS 1000
#define PAUSE_MS 40
#define TRIES_LEAST 2
/* Between two hosts; and between now and before. */
#define CLOCK_OFF_MS 1000

static const char slow_advice[] = "look at SLOWLOG GET, LATENCY DOCTOR, its host and the network";

int doctor_connect(struct doctor *d)
{
    int64_t began_us = clock_us();
    int err = redis_open(d->client->redis);
    int64_t took_us = clock_us() - began_us;
    if (err == MUSTER_OK && took_us >= DOCTOR_SLOW_US)
        doctor_say(d, MUSTER_ADVICE_MEND, "answers", slow_advice, "to connect took %" PRId64 " ms, which is slow",
                   took_us / 1000);
    return err;
}

struct pace {
    int n;
    int64_t worst_us, least_us;
    int64_t ahead_ms; /* the clock of Redis, by the quickest */
    int64_t redis_ms;
};

static int64_t wall_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int try_once(struct doctor *d, struct pace *p)
{
    int64_t redis_ms = 0, began_us = clock_us();
    int err = muster_client_time(d->client, &redis_ms);
    int64_t took_us = clock_us() - began_us;
    if (err != MUSTER_OK)
        return err;
    p->worst_us = took_us > p->worst_us ? took_us : p->worst_us;
    if (p->n++ == 0 || took_us < p->least_us) {
        p->least_us = took_us;
        p->ahead_ms = redis_ms - (wall_ms() - took_us / 2000);
    }
    p->redis_ms = redis_ms;
    return err;
}

static void say_pace(struct doctor *d, const struct pace *p)
{
    if (p->worst_us >= DOCTOR_SLOW_US)
        doctor_say(d, MUSTER_ADVICE_MEND, "answers", slow_advice,
                   "the slowest of %d took %" PRId64 " ms, which is slow", p->n, p->worst_us / 1000);
    else
        doctor_say(d, MUSTER_ADVICE_GOOD, "answers", "", "the slowest of %d took %.1f ms", p->n,
                   (double)p->worst_us / 1000);
}

static void say_clock(struct doctor *d, const struct pace *p)
{
    int64_t off_ms = p->ahead_ms < 0 ? -p->ahead_ms : p->ahead_ms, unsure_ms = p->least_us / 2000;
    if (off_ms - unsure_ms > CLOCK_OFF_MS)
        doctor_say(d, MUSTER_ADVICE_MEND, "clock", "let both hosts keep time by NTP",
                   "the clock of Redis is %" PRId64
                   " ms %s that of this host; all times of muster are by that of Redis",
                   off_ms, p->ahead_ms < 0 ? "behind" : "ahead of");
    else
        doctor_say(d, MUSTER_ADVICE_GOOD, "clock", "", "Redis and this host agree within a second");
}

/* P:beat has the latest time at which a worker spoke, or spoke before the clock was set back. */
static int look_back(struct doctor *d, const struct pace *p)
{
    char key[KEY_MAX];
    struct redisReply *beat = NULL;
    key_of(key, d->client->prefix, KEY_BEAT, "");
    int err = client_ask(d->client, &beat, (const char *const[]){"HMGET", key, "at", "was", NULL});
    int64_t at_ms = reply_number(reply_at(beat, 0), 0), was_ms = reply_number(reply_at(beat, 1), 0);
    int64_t back_ms = (at_ms > was_ms ? at_ms : was_ms) - p->redis_ms;
    redis_reply_free(beat);
    if (err == MUSTER_OK && back_ms > CLOCK_OFF_MS)
        doctor_say(d, MUSTER_ADVICE_MEND, "clock",
                   "let it keep time by NTP that slews; `muster change`, `muster fail-worker` and the like for what "
                   "cannot wait",
                   "the clock of Redis was set back: for %" PRId64
                   " s from now on leases, delays and schedules of before end later than they should",
                   back_ms / 1000);
    return doctor_is_over(err) ? err : MUSTER_OK;
}

int doctor_look_at_pace(struct doctor *d)
{
    struct pace p = {.n = 0};
    const int64_t until_ms = clock_in_ms(LOOK_MS);
    int err = try_once(d, &p);
    while (err == MUSTER_OK && (p.n < TRIES_LEAST || clock_ms() < until_ms)) {
        redis_sleep(d->client->redis, PAUSE_MS);
        err = try_once(d, &p);
    }
    if (err != MUSTER_OK)
        return doctor_is_over(err) ? err : MUSTER_OK; /* the rights say it */
    say_pace(d, &p);
    say_clock(d, &p);
    return look_back(d, &p);
}
