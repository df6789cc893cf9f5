/* SPDX-License-Identifier: MIT
 *
 * Listening by a function that takes its time: the scripts forget meanwhile that somebody listens, and publish nothing. It
 * hears what came before, and then that events may have been missed.
 */
#include <stdlib.h>
#include <string.h>

#include "job_look.h"
#include "listening.h"
#include "taken.h"

/* The same of a queue and of jobs, one within the other, so that both are forgotten at once. */
struct slow {
    struct scene *scene;
    int n_events; /* of jobs */
    int err;
    char why[256];
};

static bool are_forgotten(void *arg)
{
    struct scene *s = arg;
    const int64_t now = server_now_ms(s);
    return raw_int(s->server->redis, "HGET %s:queue:q listen", s->prefix) < now &&
           raw_int(s->server->redis, "HGET %s:config listen", s->prefix) < now;
}

static int take_time(void *arg)
{
    struct slow *slow = arg;
    struct scene *s = slow->scene;
    finish_with(s, "heard", NULL);
    job_put(s, "jobs", JOB_SPEC(.id = "heard"));
    wait_until(are_forgotten, s, SOON_MS);
    finish_with(s, "missed", NULL);
    job_put(s, "jobs", JOB_SPEC(.id = "missed"));
    return 0;
}

static int hear(const struct muster_job_event *e, void *arg)
{
    struct slow *slow = arg;
    assert_string_equal(e->id, "heard");
    slow->n_events++;
    return 0;
}

static struct slow slow;

static void listen_to_jobs(struct listening *l)
{
    struct muster_client *c = scene_client(l->scene);
    slow = (struct slow){.scene = l->scene};
    slow.err = muster_job_listen(c, "jobs", SOON_MS, take_time, hear, &slow);
    snprintf(slow.why, sizeof slow.why, "%s", muster_client_error(c));
    muster_client_free(c);
}

static void who_takes_too_long_is_told_that_events_may_be_missed(void **state)
{
    struct listening l = {.scene = *state, .act = listen_to_jobs};
    const int err = listen_with(scene_client(*state), &l);
    const bool is_heard = !strcmp(l.heard, "done by .lease heard\n");
    free(l.heard);
    assert_err(slow.err, MUSTER_E_CONN);
    assert_non_null(strstr(slow.why, "missed"));
    assert_int_equal(slow.n_events, 1);
    assert_err(err, MUSTER_E_CONN);
    assert_non_null(strstr(l.why, "missed"));
    assert_true(is_heard);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {live_test(who_takes_too_long_is_told_that_events_may_be_missed)};
    return scene_run(tests, argc, argv);
}
