/* SPDX-License-Identifier: MIT
 *
 * One line for one verb. Only the main thread calls this, except progress_begin(), which does nothing in others.
 */
#include "progress.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "client.h"
#include "now.h"
#include "stream.h"
#include "text.h"

#define FIRST_MS 1000
#define AGAIN_MS 200
#define LOOK_MS 200
#define COLUMNS_DEFAULT 80
#define LINE_SIZE 240
/* A rate of less time than this says little about what is left. */
#define LEFT_MS 3000

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
#define N_SIGNALS (sizeof signals / sizeof *signals)

static struct {
    const struct call *call; /* NULL: nothing is watched */
    struct sigaction before[N_SIGNALS];
    int64_t begun_ms, shown_ms;
    bool has_terminal, is_shown;
} line;

/* Whose call a signal interrupts; NULL: nobody's. */
static struct muster_client *volatile waits;

static volatile sig_atomic_t stopped_by, ended_wait_by;

/* ---- stopping ---- */

static void restore_signals(void)
{
    for (size_t i = 0; i < N_SIGNALS; i++)
        sigaction(signals[i], &line.before[i], NULL);
}

/* A step can take as long as --timeout, if Redis does not answer. */
static void on_signal(int signo)
{
    static const char words[] = "\r\033[Kstopping after this step; once more ends it at once\n";
    int before = errno;
    stopped_by = signo;
    stream_hurry();
    restore_signals(); /* the next one ends the program, whichever it is */
    if (waits) {
        ended_wait_by = signo;
        muster_client_interrupt(waits);
    } else if (line.has_terminal)
        stream_try(STDERR_FILENO, words, sizeof words - 1);
    errno = before;
}

/* A signal that is ignored stays so: a shell does that for what runs in its background. What is being printed then is
 * printed whole to who reads it; what waits does so in poll(2), which begins anew for nobody. */
static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigfillset(&action.sa_mask); /* two at once are one after the other */
    for (size_t i = 0; i < N_SIGNALS; i++)
        sigaction(signals[i], NULL, &line.before[i]);
    for (size_t i = 0; i < N_SIGNALS; i++)
        if (line.before[i].sa_handler != SIG_IGN)
            sigaction(signals[i], &action, NULL);
}

bool progress_is_stopped(void)
{
    return stopped_by != 0;
}

/* A signal may come just before the wait, and would not end it: so it looks again. */
int progress_wait_for_input(int fd, int limit_ms)
{
    const int64_t begun_ms = now_ms();
    struct pollfd input = {.fd = fd, .events = POLLIN};
    int n = 0;
    while (n == 0 && !progress_is_stopped() && (limit_ms < 0 || now_ms() - begun_ms < limit_ms)) {
        n = poll(&input, 1, LOOK_MS);
        if (n < 0 && errno == EINTR)
            n = 0;
    }
    if (n == 0)
        errno = ETIMEDOUT;
    if (!progress_is_stopped())
        return n;
    errno = EINTR;
    return -1;
}

/* ---- the line ---- */

static bool is_terminal(void)
{
    const char *kind = getenv("TERM");
    return isatty(STDERR_FILENO) && kind && *kind && strcmp(kind, "dumb") != 0;
}

void progress_begin(const struct call *call)
{
    if (client_is_lent() || line.call)
        return;
    line.call = call;
    line.begun_ms = now_ms();
    line.has_terminal = is_terminal();
    stream_ready(STDERR_FILENO);
    catch_signals();
}

void progress_begin_wait(const struct call *call, struct muster_client *client)
{
    if (client_is_lent())
        return;
    line.call = call;
    waits = client;
    if (!stopped_by) {
        catch_signals();
    } else { /* it came in the last step before this */
        ended_wait_by = stopped_by;
        (void)muster_client_interrupt(client);
    }
}

/* A first signal from now on comes too late: what the verb was to do is done, and its status says so. */
void progress_end_wait(void)
{
    struct muster_client *client = waits;
    waits = NULL;
    line.call = NULL;
    if (client)
        (void)muster_client_interrupt_take_back(client);
}

static size_t columns(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : COLUMNS_DEFAULT;
}

static void write_all(const char *text, size_t len)
{
    size_t done;
    (void)stream_write(STDERR_FILENO, text, len, &done);
}

/* The last column stays free: some terminals go to the next line there. */
static void write_line(const char *text)
{
    char all[LINE_SIZE + 8];
    const int len = snprintf(all, sizeof all, "\r%.*s\033[K", (int)columns() - 1, text);
    write_all(all, (size_t)len);
    line.is_shown = true;
}

static bool is_due(int64_t now)
{
    return line.call && line.has_terminal && !progress_is_stopped() && now - line.begun_ms >= FIRST_MS &&
           now - line.shown_ms >= AGAIN_MS;
}

static int add_rate(char *out, size_t size, uint64_t done, int64_t ms)
{
    return snprintf(out, size, ", %.0f/s", (double)done * 1000 / (double)ms);
}

static void show(const char *what, uint64_t done, uint64_t total, double part, int64_t now)
{
    char text[LINE_SIZE], age[TEXT_TIME_SIZE];
    int64_t ms = now - line.begun_ms;
    int len = snprintf(text, sizeof text, "muster %s: %llu", line.call->command->name, (unsigned long long)done);
    if (total > 0)
        len += snprintf(text + len, sizeof text - (size_t)len, " of %llu", (unsigned long long)total);
    len += snprintf(text + len, sizeof text - (size_t)len, " %.40s", what);
    len += add_rate(text + len, sizeof text - (size_t)len, done, ms);
    if (part >= 0)
        len += snprintf(text + len, sizeof text - (size_t)len, ", %.0f %%", part * 100);
    if (part > 0 && part < 1 && ms >= LEFT_MS)
        snprintf(text + len, sizeof text - (size_t)len, ", about %s left",
                 text_age(age, (int64_t)((double)ms * (1 - part) / part)));
    write_line(text);
    line.shown_ms = now;
}

void progress_show(const char *what, uint64_t done, uint64_t total)
{
    int64_t now = line.call ? now_ms() : 0;
    if (is_due(now))
        show(what, done, total, total == 0 ? -1 : done >= total ? 1 : (double)done / (double)total, now);
}

void progress_show_part(const char *what, uint64_t done, double part)
{
    int64_t now = line.call ? now_ms() : 0;
    if (is_due(now))
        show(what, done, 0, part, now);
}

int progress_on_step(const struct muster_progress *progress, void *arg)
{
    progress_show(arg, progress->done, progress->total);
    return progress_is_stopped();
}

void progress_hide(void)
{
    if (!line.is_shown)
        return;
    line.is_shown = false;
    write_all("\r\033[K", 4);
}

int progress_end(int code)
{
    progress_hide();
    if (line.call)
        restore_signals();
    line.call = NULL;
    return code != EXIT_DONE && stopped_by ? 128 + stopped_by : code;
}

void progress_die(int code)
{
    if (ended_wait_by && code == 128 + ended_wait_by)
        raise(ended_wait_by);
}
