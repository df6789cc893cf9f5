/* SPDX-License-Identifier: MIT
 *
 * A worker whose program does not listen to events: warnings go to the log, one line for an outage, and few of a kind.
 */
#include "worker/tell_log.h"

#include <event2/event.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "testing.h"
#include "wait.h"
#include "worker/worker.h"

#define NOWHERE "unix:///nonexistent/muster.sock"

struct heard {
    int lines;
    enum muster_log_level level;
    char last[1024];
};

static struct heard heard;

static void hear(enum muster_log_level level, const char *line, void *arg)
{
    (void)arg;
    heard.lines++;
    heard.level = level;
    snprintf(heard.last, sizeof heard.last, "%s", line);
}

static int listen_to_log(void **state)
{
    (void)state;
    heard = (struct heard){0};
    muster_log_set(hear, NULL);
    return 0;
}

static int restore_sink(void **state)
{
    (void)state;
    muster_log_set(NULL, NULL);
    return 0;
}

static void count_down(struct muster_worker *w, const struct muster_event *e, void *arg)
{
    (void)w;
    *(int *)arg += e->type == MUSTER_EVENT_DOWN;
}

/* On a loop of the test's, with this callback or none. */
static struct muster_worker *make_worker(struct event_base *base, muster_event_fn *fn, void *arg)
{
    struct muster_worker *w;
    const struct muster_worker_options o = {
        .size = sizeof o, .url = NOWHERE, .id = "w-1", .base = base, .on_event = fn, .arg = arg};
    assert_ok(muster_worker_new(&w, &o));
    return w;
}

static void loop_for(struct event_base *base, int ms)
{
    const int64_t end_ms = clock_ms() + ms;
    while (clock_ms() < end_ms) {
        const struct timeval step = {.tv_usec = 10000};
        event_base_loopexit(base, &step);
        event_base_dispatch(base);
    }
}

static void no_redis_is_one_line(void **state)
{
    struct event_base *base = event_base_new();
    struct muster_worker *w = make_worker(base, NULL, NULL);
    const int64_t end_ms = clock_ms() + SOON_MS;
    (void)state;
    assert_ok(muster_worker_start(w));
    while (heard.lines == 0 && clock_ms() < end_ms)
        loop_for(base, 10);
    assert_int_equal(heard.level, MUSTER_LOG_WARN);
    assert_non_null(strstr(heard.last, "muster: worker w-1: no connection to Redis; it keeps trying: "));
    assert_non_null(strstr(heard.last, "/nonexistent/muster.sock"));
    loop_for(base, 1500); /* longer than the pause between two attempts */
    assert_int_equal(heard.lines, 1);
    tell_event(w, MUSTER_EVENT_UP, MUSTER_OK, NULL, NULL);
    assert_string_equal(heard.last, "muster: worker w-1: Redis is back");
    tell_event(w, MUSTER_EVENT_UP, MUSTER_OK, NULL, NULL);
    assert_int_equal(heard.lines, 2);
    muster_worker_free(w);
    event_base_free(base);
}

static void a_program_that_listens_is_not_told_twice(void **state)
{
    struct event_base *base = event_base_new();
    int n_down = 0;
    struct muster_worker *w = make_worker(base, count_down, &n_down);
    const int64_t end_ms = clock_ms() + SOON_MS;
    (void)state;
    assert_ok(muster_worker_start(w));
    while (n_down < 2 && clock_ms() < end_ms)
        loop_for(base, 10);
    assert_int_equal(n_down, 2);
    assert_int_equal(heard.lines, 0);
    muster_worker_free(w);
    event_base_free(base);
}

static void many_of_a_kind_are_counted_instead(void **state)
{
    struct event_base *base = event_base_new();
    struct muster_worker *w = make_worker(base, NULL, NULL);
    (void)state;
    for (int i = 0; i < 5; i++)
        tell_event(w, MUSTER_EVENT_REFUSED, MUSTER_E_REDIS, "a key", NULL);
    assert_int_equal(heard.lines, 1);
    assert_string_equal(heard.last, "muster: worker w-1: Redis refuses: a key");
    tell_event(w, MUSTER_EVENT_LOST, MUSTER_E_GONE, NULL, NULL);
    assert_int_equal(heard.lines, 2);
    w->tell.log.last[MUSTER_EVENT_REFUSED].said_at_ms -= 60 * 1000;
    tell_event(w, MUSTER_EVENT_REFUSED, MUSTER_E_REDIS, "a key", NULL);
    assert_string_equal(heard.last, "muster: worker w-1: Redis refuses: a key (4 more of this kind before)");
    assert_int_equal(heard.lines, 3);
    muster_worker_free(w);
    event_base_free(base);
}

static void what_is_no_warning_is_no_line(void **state)
{
    static const enum muster_event_type quiet[] = {MUSTER_EVENT_STARTED, MUSTER_EVENT_SWEPT,  MUSTER_EVENT_LEFT,
                                                   MUSTER_EVENT_STOP,    MUSTER_EVENT_CANCEL, MUSTER_EVENT_UP,
                                                   MUSTER_EVENT_STOPPED};
    struct event_base *base = event_base_new();
    struct muster_worker *w = make_worker(base, NULL, NULL);
    (void)state;
    for (size_t i = 0; i < N_OF(quiet); i++)
        tell_event(w, quiet[i], MUSTER_OK, NULL, NULL);
    assert_int_equal(heard.lines, 0);
    tell_event(w, MUSTER_EVENT_STOPPED, MUSTER_E_EXISTS, "it lives", NULL);
    assert_int_equal(heard.lines, 1);
    assert_int_equal(heard.level, MUSTER_LOG_ERROR);
    muster_worker_free(w);
    event_base_free(base);
}

static void no_line_says_more_than_is_known(void **state)
{
    struct event_base *base = event_base_new();
    struct muster_worker *w = make_worker(base, NULL, NULL);
    (void)state;
    tell_event(w, MUSTER_EVENT_UNCOUNTED, MUSTER_E_CONN, "nobody knows", NULL);
    assert_string_equal(heard.last, "muster: worker w-1: an end may not have counted: nobody knows");
    tell_event(w, MUSTER_EVENT_REFUSED, MUSTER_E_BUSY, "READONLY no", NULL);
    assert_int_equal(heard.lines, 1); /* the connection is given up, which is the one line */
    tell_event(w, MUSTER_EVENT_DOWN, MUSTER_E_BUSY, "READONLY no", NULL);
    assert_string_equal(heard.last, "muster: worker w-1: this Redis is a replica; it keeps trying: READONLY no");
    tell_event(w, MUSTER_EVENT_REFUSED, MUSTER_E_NOMEM, "x cannot begin now", NULL);
    assert_string_equal(heard.last, "muster: worker w-1: it lacks something of the system: x cannot begin now");
    muster_worker_free(w);
    event_base_free(base);
}

static void a_reason_has_words_of_its_own(void **state)
{
    static const struct {
        int err;
        const char *line;
    } cases[] = {
        {MUSTER_E_TIMEOUT, "muster: worker w-1: no connection to Redis; it keeps trying: why"},
        {MUSTER_E_DENIED, "muster: worker w-1: Redis denies it; it keeps trying: why"},
        {MUSTER_E_BUSY, "muster: worker w-1: Redis refuses for now; it keeps trying: why"},
        {MUSTER_E_REDIS, "muster: worker w-1: it cannot use this Redis; it keeps trying: why"},
    };
    struct event_base *base = event_base_new();
    struct muster_worker *w = make_worker(base, NULL, NULL);
    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++) {
        tell_event(w, MUSTER_EVENT_DOWN, cases[i].err, "why", NULL);
        assert_string_equal(heard.last, cases[i].line);
    }
    muster_worker_free(w);
    event_base_free(base);
}

static void assert_refusal(const struct muster_worker *w, int err, const char *words)
{
    int said;
    assert_string_equal(tell_refusal(w, &said), words);
    assert_int_equal(said, err);
}

/* Whatever else was refused since, or refused and accepted. */
static void what_keeps_it_from_living_has_its_own_words(void **state)
{
    struct event_base *base = event_base_new();
    struct muster_worker *w = make_worker(base, NULL, NULL);
    int err;
    (void)state;
    assert_null(tell_refusal(w, &err));
    tell_refused(w, REQUEST_NOTE, MUSTER_E_DENIED, "why");
    assert_null(tell_refusal(w, &err));
    tell_refused(w, REQUEST_HEARTBEAT, MUSTER_E_BUSY, "BUSY");
    tell_refused(w, REQUEST_NOTE, MUSTER_E_DENIED, "why");
    assert_refusal(w, MUSTER_E_BUSY, "the heartbeat was refused: BUSY");
    tell_refused(w, REQUEST_TURN, MUSTER_E_REDIS, "a key");
    assert_refusal(w, MUSTER_E_REDIS, "a turn was refused: a key");
    tell_accepted(w, REQUEST_TURN);
    assert_refusal(w, MUSTER_E_BUSY, "the heartbeat was refused: BUSY");
    tell_accepted(w, REQUEST_HEARTBEAT);
    assert_null(tell_refusal(w, &err));
    muster_worker_free(w);
    event_base_free(base);
}

/* Both connections break, in words that may differ; what comes later is another reason. */
static void another_reason_in_one_outage_is_another_line(void **state)
{
    struct event_base *base = event_base_new();
    struct muster_worker *w = make_worker(base, NULL, NULL);
    (void)state;
    tell_event(w, MUSTER_EVENT_DOWN, MUSTER_E_CONN, "it has closed", NULL);
    tell_event(w, MUSTER_EVENT_DOWN, MUSTER_E_CONN, "it was reset", NULL);
    assert_int_equal(heard.lines, 1);
    w->tell.log.last[MUSTER_EVENT_DOWN].said_at_ms -= 1000;
    tell_event(w, MUSTER_EVENT_DOWN, MUSTER_E_CONN, "it has closed", NULL);
    assert_int_equal(heard.lines, 1);
    tell_event(w, MUSTER_EVENT_DOWN, MUSTER_E_CONN, "its certificate has expired", NULL);
    assert_int_equal(heard.lines, 2);
    assert_non_null(strstr(heard.last, "its certificate has expired"));
    muster_worker_free(w);
    event_base_free(base);
}

static void copy_text(struct muster_worker *w, const struct muster_event *e, void *arg)
{
    (void)w;
    snprintf(arg, 64, "%s", e->text);
}

static void a_program_hears_no_control_characters_either(void **state)
{
    struct event_base *base = event_base_new();
    char text[64] = "";
    struct muster_worker *w = make_worker(base, copy_text, text);
    (void)state;
    tell_event(w, MUSTER_EVENT_DOWN, MUSTER_E_BUSY, "LOADING \033[2J\n", NULL);
    assert_string_equal(text, "LOADING ?[2J?");
    assert_string_equal(muster_worker_error(w), "LOADING ?[2J?");
    tell_refused(w, REQUEST_START, MUSTER_E_BUSY, "BUSY \a");
    assert_string_equal(text, "registering was refused: BUSY ?");
    muster_worker_free(w);
    event_base_free(base);
}

static void a_silent_sink_drops_all(void **state)
{
    struct event_base *base = event_base_new();
    struct muster_worker *w = make_worker(base, NULL, NULL);
    (void)state;
    muster_log_set(muster_log_silent, NULL);
    tell_event(w, MUSTER_EVENT_LOST, MUSTER_E_GONE, NULL, NULL);
    assert_int_equal(heard.lines, 0);
    muster_worker_free(w);
    event_base_free(base);
}

#define log_test(f) cmocka_unit_test_setup_teardown(f, listen_to_log, restore_sink)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        log_test(no_redis_is_one_line),
        log_test(a_program_that_listens_is_not_told_twice),
        log_test(many_of_a_kind_are_counted_instead),
        log_test(what_is_no_warning_is_no_line),
        log_test(no_line_says_more_than_is_known),
        log_test(what_keeps_it_from_living_has_its_own_words),
        log_test(a_reason_has_words_of_its_own),
        log_test(another_reason_in_one_outage_is_another_line),
        log_test(a_program_hears_no_control_characters_either),
        log_test(a_silent_sink_drops_all),
    };
    return testing_run(tests, NULL, NULL, argc, argv);
}
