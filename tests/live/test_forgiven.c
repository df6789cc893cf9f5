/* SPDX-License-Identifier: MIT
 *
 * What goes on after an error says so, with the call and the reason: the places of "Errors that are passed over" in
 * doc/design.md that have a line of the log, or an event, of their own.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "journal.h"
#include "live_worker.h"
#include "rights.h"
#include "taken.h"

#define AN_HOUR 3600000
#define LINES_SIZE 4096
#define HELD_UP_US 20000

static char lines[LINES_SIZE];

static void keep_line(enum muster_log_level level, const char *line, void *arg)
{
    const size_t len = strlen(lines);
    (void)arg;
    if (level == MUSTER_LOG_WARN)
        snprintf(lines + len, sizeof lines - len, "%s\n", line);
}

struct play {
    struct scene *s;
    struct rights all;
    char url[160];
    struct muster_client_options options;
};

/* The lines of the log are kept from now on. */
static void begin(struct play *p, struct scene *s)
{
    *p = (struct play){.s = s};
    rights_read(&p->all, "muster", s->prefix);
    rights_give(s, "u", &p->all, NULL);
    rights_url(s, "u", p->url);
    p->options = (struct muster_client_options){.size = sizeof p->options, .url = p->url, .prefix = s->prefix};
    *lines = '\0';
    muster_log_set(keep_line, NULL);
}

static void lose(struct play *p, const char *right)
{
    raw_do(p->s->server->redis, "ACL SETUSER u %s", right);
}

static void end(struct play *p)
{
    muster_log_set(NULL, NULL);
    rights_give(p->s, "u", &p->all, NULL);
}

static void assert_said(const char *call, const char *reason)
{
    const char *line = strstr(lines, call), *line_end = line ? strchr(line, '\n') : NULL, *why = NULL;
    if (line)
        why = strstr(line, reason);
    if (!why || why > line_end)
        fail_msg("no line with '%s' and '%s' in:\n%s", call, reason, lines);
}

static void a_client_that_cannot_give_back_what_it_did_not_hear_of_says_so(void **state)
{
    struct play p;
    struct muster_client *c;
    struct taken taken = {0};
    uint64_t n;
    begin(&p, *state);
    p.options.timeout_ms = 100;
    scene_enqueue(p.s, "q", "task"); /* so the namespace has its format */
    assert_ok(muster_client_new(&c, &p.options));
    assert_ok(muster_queue_length(c, "q", &n));
    raw_do(p.s->server->redis, "CLIENT PAUSE 600000 WRITE");
    assert_err(muster_lease_take(c, "q", 1, AN_HOUR, 0, taken_add, &taken), MUSTER_E_TIMEOUT);
    raw_do(p.s->server->redis, "CLIENT UNPAUSE");
    lose(&p, "-@scripting");
    muster_client_free(c);
    assert_said("the queue 'q' could not be given back", "NOPERM");
    end(&p);
}

/* An answer that the program has not taken; with a connection, and without one. */
static void give_back_in_vain(struct play *p, const char *right, bool is_cut, const char *reason)
{
    struct muster_async *a;
    const struct muster_async_options o = {.size = sizeof o, .client = &p->options};
    *lines = '\0';
    rights_give(p->s, "u", &p->all, NULL);
    scene_enqueue(p->s, "q", "task");
    p->options.timeout_ms = 300;
    assert_ok(muster_async_new(&a, &o));
    assert_ok(muster_async_take(a, "q", 1, AN_HOUR, 0, NULL, NULL));
    assert_ok(muster_async_wait(a, SOON_MS));
    lose(p, right);
    if (is_cut)
        raw_do(p->s->server->redis, "CLIENT KILL USER u");
    muster_async_free(a);
    assert_said("could not be given back", reason);
}

static void an_asynchronous_client_that_cannot_give_back_says_so(void **state)
{
    struct play p;
    begin(&p, *state);
    give_back_in_vain(&p, "-@scripting", false, "NOPERM");
    give_back_in_vain(&p, "off", true, "redis.sock: ");
    end(&p);
}

static int take_ended(const struct muster_job_ended *e, void *arg)
{
    (void)e, (void)arg;
    return 0;
}

static void a_wait_that_may_hear_late_says_so(void **state)
{
    static const char *const ids[] = {"j"};
    struct play p;
    struct muster_client *c;
    begin(&p, *state);
    const struct muster_job_spec spec = {.size = sizeof spec, .id = "j"};
    char id[MUSTER_JOB_ID_MAX + 1];
    assert_ok(muster_job_put(p.s->client, "q", &spec, id));
    lose(&p, "-@scripting");
    assert_ok(muster_client_new(&c, &p.options));
    assert_err(muster_job_wait(c, ids, 1, 10, take_ended, NULL), MUSTER_E_TIMEOUT);
    assert_said("a wait for jobs", "NOPERM");
    muster_client_free(c);
    end(&p);
}

static enum muster_outcome hold_up(struct muster_process *process, void *arg)
{
    struct live_worker *w = arg;
    journal_process(w->journal, JOURNAL_START, 0, process);
    usleep(HELD_UP_US);
    return MUSTER_FINISH;
}

static bool was_told(void *arg)
{
    const struct play *p = arg;
    bool was = false;
    for (size_t i = 0; i < journal_size(p->s->journal); i++) {
        const struct journal_entry *e = journal_find(p->s->journal, i, JOURNAL_EVENT, MUSTER_EVENT_REFUSED, "w1", NULL);
        was |= e && strstr(e->text, "handing on the timer was refused: ");
    }
    return was;
}

static bool is_keeper(void *arg)
{
    const struct play *p = arg;
    char *keeper = raw_string(p->s->server->redis, "GET %s:timer", p->s->prefix);
    const bool is = keeper && strcmp(keeper, "w1") == 0;
    free(keeper);
    return is;
}

/* By the first one it knows that its handlers take long. GET is a command of this script, and of none of a turn. */
static void a_keeper_that_cannot_hand_the_timer_on_says_so(void **state)
{
    struct play p;
    begin(&p, *state);
    live_worker_idle(p.s, &(struct worker_spec){.id = "w1", .url = p.url, .handler = hold_up, .queues = {{"q", 1}}});
    wait_on(p.s->base, is_keeper, &p, SOON_MS);
    lose(&p, "-get");
    scene_enqueue_n(p.s, "q", "task", 2);
    wait_on(p.s->base, was_told, &p, SOON_MS);
    end(&p);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_client_that_cannot_give_back_what_it_did_not_hear_of_says_so),
        live_test(an_asynchronous_client_that_cannot_give_back_says_so),
        live_test(a_wait_that_may_hear_late_says_so),
        live_test(a_keeper_that_cannot_hand_the_timer_on_says_so),
    };
    return scene_run(tests, argc, argv);
}
