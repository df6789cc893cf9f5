/* SPDX-License-Identifier: MIT
 *
 * The loop of `muster top`: waits for a key, a sight or a signal, and draws. Nothing here waits for Redis.
 */
#include "top.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "complain.h"
#include "connection.h"
#include "need.h"
#include "text.h"
#include "top_draw.h"
#include "top_keys.h"
#include "top_pane.h"
#include "top_screen.h"

/* The clock in the heading, and the age of old rows. */
#define TICK_MS 500

static volatile sig_atomic_t is_signalled;

static void on_signal(int number)
{
    (void)number;
    is_signalled = 1;
}

static struct top_pane *pane(struct top *t)
{
    return &t->panes[t->view];
}

static void say(struct top *t, const char *message)
{
    free(t->message);
    t->message = message ? need(strdup(message)) : NULL;
}

/* ---- views ---- */

/* Are the rows those of this queue? NULL: of all. */
static bool is_of(const struct top_sight *sight, const char *queue)
{
    return (sight->queue != NULL) == (queue != NULL) && (!queue || strcmp(sight->queue, queue) == 0);
}

static void go(struct top *t, enum top_view_id view, const char *queue)
{
    char *copy = queue ? need(strdup(queue)) : NULL;
    free(t->queue);
    t->queue = copy;
    t->view = view;
    *t->filter = '\0';
    if (!is_of(&pane(t)->sight, copy)) {
        top_look_clear(&pane(t)->sight);
        pane(t)->at = 0;
    }
    top_pane_filter(pane(t), t->filter);
    top_look_at(t->look, view, copy);
}

static void enter(struct top *t)
{
    const struct top_row *row = top_pane_row(pane(t));
    if (t->view == TOP_QUEUES && row)
        go(t, TOP_PROCESSES, row->name);
}

static void clear(struct top *t)
{
    if (*t->filter) {
        *t->filter = '\0';
        top_pane_filter(pane(t), t->filter);
    } else if (t->queue) {
        go(t, t->view, NULL);
    }
}

/* ---- actions ---- */

static void ask(struct top *t, enum top_view_id view, enum top_action action, const char *other)
{
    const struct top_row *row = top_pane_row(pane(t));
    if (t->options->is_read_only)
        say(t, "nothing can be changed: --read-only");
    else if (t->view != view)
        say(t, other);
    else if (!row)
        say(t, "there is no row");
    else {
        free(t->object);
        t->object = need(strdup(row->name));
        t->action = action == TOP_PAUSE && row->is_marked ? TOP_RESUME : action;
        t->mode = TOP_ASK;
    }
}

static void answer(struct top *t, int key)
{
    t->mode = TOP_BROWSE;
    if (key != 'y' && key != 'Y')
        say(t, "nothing was changed");
    else if (top_look_act(t->look, t->action, t->object))
        say(t, "Redis is asked ...");
    else
        say(t, "nothing was changed: the action before is not done yet");
}

/* ---- the filter ---- */

static void add_letter(struct top *t, int key)
{
    mbstate_t state = {0};
    char letter[MB_LEN_MAX];
    size_t len = strlen(t->filter), n = wcrtomb(letter, (wchar_t)key, &state);
    if (key < ' ' || n == (size_t)-1 || len + n >= sizeof t->filter)
        return;
    memcpy(t->filter + len, letter, n);
    t->filter[len + n] = '\0';
}

static void cut_letter(struct top *t)
{
    size_t len = strlen(t->filter);
    while (len > 0 && ((unsigned char)t->filter[--len] & 0xc0) == 0x80)
        ;
    t->filter[len] = '\0';
}

static void type(struct top *t, int key)
{
    if (key == TOP_KEY_ENTER || key == TOP_KEY_ESCAPE)
        t->mode = TOP_BROWSE;
    if (key == TOP_KEY_ESCAPE)
        *t->filter = '\0';
    else if (key == TOP_KEY_BACK)
        cut_letter(t);
    else
        add_letter(t, key);
    top_pane_filter(pane(t), t->filter);
}

/* ---- keys ---- */

static void move(struct top *t, enum top_deed deed)
{
    long page = t->page > 1 ? (long)t->page : 1, all = TOP_ROWS_MAX;
    static const enum top_deed moves[] = {TOP_DO_UP,        TOP_DO_DOWN,  TOP_DO_PAGE_UP,
                                          TOP_DO_PAGE_DOWN, TOP_DO_FIRST, TOP_DO_LAST};
    const long by[] = {-1, 1, -page, page, -all, all};
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
        if (moves[i] == deed)
            top_pane_move(pane(t), by[i]);
}

static void act(struct top *t, enum top_deed deed)
{
    switch (deed) {
    case TOP_DO_QUIT:
        t->is_ending = true;
        break;
    case TOP_DO_HELP:
        t->mode = TOP_SHOW_HELP;
        break;
    case TOP_DO_NEXT_VIEW:
        go(t, (t->view + 1) % TOP_VIEWS, NULL);
        break;
    case TOP_DO_QUEUES:
    case TOP_DO_WORKERS:
    case TOP_DO_PROCESSES:
        go(t, (enum top_view_id)(deed - TOP_DO_QUEUES), NULL);
        break;
    case TOP_DO_ENTER:
        enter(t);
        break;
    case TOP_DO_FILTER:
        t->mode = TOP_TYPE_FILTER;
        break;
    case TOP_DO_CLEAR:
        clear(t);
        break;
    case TOP_DO_SORT_NEXT:
    case TOP_DO_SORT_BEFORE:
        top_pane_sort(pane(t), deed == TOP_DO_SORT_NEXT ? 1 : -1, t->filter);
        break;
    case TOP_DO_REVERSE:
        top_pane_sort(pane(t), 0, t->filter);
        break;
    case TOP_DO_PAUSE:
        ask(t, TOP_QUEUES, TOP_PAUSE, "p pauses a queue: choose one in view 1");
        break;
    case TOP_DO_CANCEL:
        ask(t, TOP_PROCESSES, TOP_CANCEL, "c cancels a process: choose one in view 3");
        break;
    default:
        move(t, deed);
    }
}

static void press(struct top *t, int key)
{
    if (key == TOP_KEY_RESIZE)
        return;
    if (t->mode == TOP_ASK) {
        answer(t, key);
        return;
    }
    say(t, NULL);
    if (t->mode == TOP_TYPE_FILTER)
        type(t, key);
    else if (t->mode == TOP_SHOW_HELP)
        t->mode = TOP_BROWSE;
    else
        act(t, top_keys_find(key));
}

/* ---- what comes ---- */

static void take_sight(struct top *t)
{
    struct top_sight sight;
    if (!top_look_take(t->look, &sight))
        return;
    bool is_wanted = sight.view == t->view && is_of(&sight, t->queue);
    if (is_wanted || sight.trouble) {
        free(t->trouble);
        t->trouble = sight.trouble;
        sight.trouble = NULL;
    }
    if (is_wanted && sight.list)
        top_pane_take(pane(t), &sight, t->filter);
    top_look_clear(&sight);
}

static void take(struct top *t)
{
    take_sight(t);
    char *said = top_look_take_said(t->look);
    if (!said)
        return;
    free(t->message);
    t->message = said;
}

static void run(struct top *t, const sigset_t *open)
{
    const struct timespec tick = {0, TICK_MS * 1000000L};
    struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = top_look_fd(t->look), .events = POLLIN}};
    while (!t->is_ending && !is_signalled) {
        take(t);
        top_draw(t);
        (void)ppoll(fds, 2, &tick, open);
        if (fds[0].revents & (POLLHUP | POLLERR | POLLNVAL))
            t->is_ending = true;
        fds[0].revents = 0;
        for (int key = top_screen_key(); key != TOP_KEY_NONE && !t->is_ending; key = top_screen_key())
            press(t, key);
    }
}

static const int ending[] = {SIGINT, SIGTERM, SIGHUP};

/* Signals come only while the loop waits. SIGTSTP and SIGWINCH are those of ncurses. */
static void hold_signals(sigset_t *before)
{
    sigset_t held;
    sigemptyset(&held);
    sigaddset(&held, SIGWINCH);
    sigaddset(&held, SIGTSTP);
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++) {
        sigaddset(&held, ending[i]);
        sigaction(ending[i], &(const struct sigaction){.sa_handler = on_signal}, NULL);
    }
    sigprocmask(SIG_BLOCK, &held, before);
}

static void release_signals(const sigset_t *before)
{
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
        signal(ending[i], SIG_DFL);
    sigprocmask(SIG_SETMASK, before, NULL);
}

/* What was asked of Redis is done before the end, and told; Redis may take its time, so a signal ends it as ever. */
static bool end_look(struct top_look *look, const struct call *call, const sigset_t *before)
{
    char *said;
    if (top_look_is_acting(look))
        release_signals(before);
    bool has_ended = top_look_end(look, &said);
    if (said)
        complain(call, "%s", said);
    free(said);
    return has_ended;
}

static void clear_all(struct top *t)
{
    for (size_t i = 0; i < TOP_VIEWS; i++)
        top_pane_free(&t->panes[i]);
    free(t->queue);
    free(t->trouble);
    free(t->message);
    free(t->object);
    free(t->where);
}

int top_run(const struct top_options *o)
{
    sigset_t before;
    struct top t = {.options = o};
    int code = top_screen_begin(o->call);
    if (code) {
        muster_client_free(o->client);
        return code;
    }
    char *where = connection_where(o->call->common[OPT_URL].text);
    t.where = text_printable(where, strlen(where), SIZE_MAX);
    free(where);
    hold_signals(&before);
    t.look = top_look_start(o->call, o->client, o->interval_ms);
    run(&t, &before);
    top_screen_end();
    if (!end_look(t.look, o->call, &before))
        _exit(EXIT_DONE); /* the thread waits for Redis, and uses what would be freed */
    clear_all(&t);
    return EXIT_DONE;
}
