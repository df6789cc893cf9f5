/* SPDX-License-Identifier: MIT
 *
 * What a child prints, read through a pipe, a stream at a time.
 *
 *   - A child that prints much must not fill the memory: the rest of a result is read and thrown away, and of a message
 *     the end is kept.
 *   - The pipe may outlive the child: what that has started in the background holds it open. So the exit of the child
 *     decides, not the end of the pipe; and the pipe is read on, because a writer would be killed by SIGPIPE.
 *   - A reader of the program's own standard error may be slow. Waiting for it would delay the heartbeats. So only what
 *     can be written is; until then the pipe is not read, and the child waits, as it would without a pipe.
 *   - Lines stay whole among those of other children, also if a child writes them in pieces: the beginning of a line
 *     waits a moment for the rest.
 */
#include "worker/output.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/timer.h"
#include "base/unwaiting.h"
#include "worker/worker.h"

#define CHUNK ((size_t)16 * 1024)
/* A pipe that can be written to at all takes so many bytes without waiting. */
#define PIECE ((size_t)4096)
/* How long until standard error is tried again, and how long a line may take to become whole. */
#define PAUSE_MS 20
#define LINE_MS 100
/* Descriptors of a program that are neither children's nor outputs'. */
#define DESCRIPTORS_OF_OTHERS 100

struct output {
    struct muster_worker *worker;
    enum output_kind kind;
    int fd;
    bool is_over;   /* nobody can write any more */
    bool is_let_go; /* the child has ended */
    struct event *readable, *pause;
    struct tail tail; /* of a message */
    char *kept;       /* of a result */
    size_t n_kept, most;
    bool is_cut;
    char *unwritten; /* of a message: what is not passed on yet */
    size_t n_unwritten;
    TAILQ_ENTRY(output) in_list;
};

/* ---- passing on ---- */

/* Descriptors that the library opens are closed by exec. So one that is not was there before: it is what the child would
 * have got. */
static bool has_standard_error(void)
{
    int flags = fcntl(STDERR_FILENO, F_GETFD);
    return flags >= 0 && !(flags & FD_CLOEXEC);
}

/* Without a SIGPIPE for the program. */
static ssize_t write_error(int fd, const char *bytes, size_t len)
{
    const struct timespec now = {0, 0};
    sigset_t pipe_signal, before, pending;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
    ssize_t n = write(fd, bytes, len);
    int saved = errno;
    if (n < 0 && saved == EPIPE && !sigismember(&pending, SIGPIPE))
        sigtimedwait(&pipe_signal, NULL, &now);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = saved;
    return n;
}

static size_t piece_len(const char *bytes, size_t len)
{
    if (len <= PIECE)
        return len;
    const char *newline = memrchr(bytes, '\n', PIECE);
    return newline ? (size_t)(newline + 1 - bytes) : PIECE;
}

static size_t pass_on_to(int fd, const char *bytes, size_t len)
{
    size_t done = 0;
    while (done < len) {
        struct pollfd error = {.fd = fd, .events = POLLOUT};
        size_t piece = piece_len(bytes + done, len - done);
        if (poll(&error, 1, 0) <= 0)
            break;
        ssize_t n = write_error(fd, bytes + done, piece);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            break;
        done += n < 0 ? piece : (size_t)n;
    }
    return done;
}

/* Returns how much of it is done with. What cannot be written at all is: there is nobody to read it. A terminal, or a pipe
 * to which others write as well, may take less than it has said. */
static size_t pass_on(const char *bytes, size_t len)
{
    if (!has_standard_error())
        return len;
    int fd = unwaiting_open(STDERR_FILENO);
    size_t done = pass_on_to(fd >= 0 ? fd : STDERR_FILENO, bytes, len);
    if (fd >= 0)
        close(fd);
    return done;
}

static void output_free(struct output *o)
{
    TAILQ_REMOVE(&o->worker->outputs.list, o, in_list);
    o->worker->outputs.n--;
    o->worker->outputs.n_left -= o->is_let_go;
    if (o->readable)
        event_free(o->readable);
    if (o->pause)
        event_free(o->pause);
    close(o->fd);
    free(o->kept);
    free(o->unwritten);
    free(o);
}

static void free_if_done(struct output *o)
{
    if (o->is_let_go && o->is_over && o->n_unwritten == 0)
        output_free(o);
}

enum passing { PASS_LINES, PASS_ALL };

/* How much of it is to be passed on now. */
static size_t ready_len(const struct output *o, enum passing what)
{
    if (what == PASS_ALL || o->n_unwritten == 0)
        return o->n_unwritten;
    const char *newline = memrchr(o->unwritten, '\n', o->n_unwritten);
    if (newline)
        return (size_t)(newline + 1 - o->unwritten);
    return o->n_unwritten < PIECE ? 0 : o->n_unwritten;
}

/* While standard error takes nothing, nothing is read. */
static void pass_on_unwritten(struct output *o, enum passing what)
{
    size_t ready = ready_len(o, what), done = ready > 0 ? pass_on(o->unwritten, ready) : 0;
    o->n_unwritten -= done;
    if (done > 0 && o->n_unwritten > 0)
        memmove(o->unwritten, o->unwritten + done, o->n_unwritten);
    if (done < ready)
        event_del(o->readable);
    else if (!o->is_over)
        event_add(o->readable, NULL);
    if (done < ready)
        timer_after_ms(o->pause, PAUSE_MS);
    else if (o->n_unwritten > 0 && !evtimer_pending(o->pause, NULL))
        timer_after_ms(o->pause, LINE_MS);
}

static void on_pause(evutil_socket_t fd, short what, void *arg)
{
    struct output *o = arg;
    (void)fd, (void)what;
    pass_on_unwritten(o, PASS_ALL);
    free_if_done(o);
}

/* Without memory it is lost: the end of it is in the message all the same. */
static void pass_on_later(struct output *o, const char *bytes, size_t len)
{
    char *longer = realloc(o->unwritten, o->n_unwritten + len);
    if (!longer)
        return;
    memcpy(longer + o->n_unwritten, bytes, len);
    o->unwritten = longer;
    o->n_unwritten += len;
}

/* ---- reading ---- */

static void keep_result(struct output *o, const char *bytes, size_t len)
{
    size_t room = o->most - o->n_kept, n = len < room ? len : room;
    char *longer = n > 0 ? realloc(o->kept, o->n_kept + n) : NULL;
    o->is_cut |= n < len || (n > 0 && !longer);
    if (!longer)
        return;
    memcpy(longer + o->n_kept, bytes, n);
    o->kept = longer;
    o->n_kept += n;
}

static void accept_bytes(struct output *o, const char *bytes, size_t len)
{
    if (o->kind == OUTPUT_RESULT && !o->is_let_go)
        keep_result(o, bytes, len);
    if (o->kind == OUTPUT_RESULT)
        return;
    if (!o->is_let_go)
        tail_add(&o->tail, bytes, len);
    pass_on_later(o, bytes, len);
    pass_on_unwritten(o, PASS_LINES);
}

/* Returns how many bytes were read: 0 if there are none now, or never again. */
static size_t read_some(struct output *o, size_t most)
{
    char chunk[CHUNK];
    if (o->is_over)
        return 0;
    ssize_t n = read(o->fd, chunk, most < sizeof chunk ? most : sizeof chunk);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        o->is_over = true;
        event_del(o->readable);
        pass_on_unwritten(o, PASS_ALL);
    }
    if (n > 0)
        accept_bytes(o, chunk, (size_t)n);
    return n > 0 ? (size_t)n : 0;
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    struct output *o = arg;
    (void)fd, (void)what;
    read_some(o, SIZE_MAX);
    free_if_done(o);
}

/* What others write meanwhile may wait: only as much as the pipe has now. The last look finds out whether anybody can
 * write still. */
void output_end(struct output *o)
{
    int has = 0;
    if (ioctl(o->fd, FIONREAD, &has) != 0)
        has = 0;
    for (size_t left = (size_t)has, n; left > 0 && (n = read_some(o, left)) > 0;)
        left -= n;
    read_some(o, CHUNK);
    pass_on_unwritten(o, PASS_ALL);
}

const char *output_result(const struct output *o, size_t *len, bool *is_cut)
{
    *len = o->n_kept;
    *is_cut = o->is_cut;
    return o->kept;
}

void output_words(const struct output *o, char out[TAIL_TEXT_MAX + 1])
{
    tail_words(&o->tail, out);
}

/* ---- life ---- */

/* The descriptors of children come first: each needs one to be watched. A result cannot do without a pipe; but those of
 * children that have ended must not take what the worker needs for its connections, however few it may have. */
static bool may_have_more(const struct muster_worker *w, enum output_kind kind)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return true;
    if (kind == OUTPUT_MESSAGE)
        return w->outputs.n + (size_t)w->hands + DESCRIPTORS_OF_OTHERS < limit.rlim_cur;
    const size_t half = limit.rlim_cur / 2, of_others = half < DESCRIPTORS_OF_OTHERS ? half : DESCRIPTORS_OF_OTHERS;
    return w->outputs.n_left == 0 || w->outputs.n_left + (size_t)w->hands + of_others < limit.rlim_cur;
}

/* A child's own standard descriptors must not be overwritten while they are set up. */
static bool move_up(int *fd)
{
    if (*fd > STDERR_FILENO)
        return true;
    int moved = fcntl(*fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (moved < 0)
        return false;
    close(*fd);
    *fd = moved;
    return true;
}

static bool open_pipe(int ends[2])
{
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    if (move_up(&ends[0]) && move_up(&ends[1]) && fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0)
        return true;
    int saved = errno;
    close(ends[0]);
    close(ends[1]);
    errno = saved;
    return false;
}

/* The descriptor is the output's, also if this fails. */
static struct output *make(struct muster_worker *w, int fd)
{
    struct output *o = calloc(1, sizeof *o);
    if (!o) {
        close(fd);
        return NULL;
    }
    o->worker = w;
    o->fd = fd;
    TAILQ_INSERT_TAIL(&w->outputs.list, o, in_list);
    w->outputs.n++;
    o->readable = event_new(w->base, fd, EV_READ | EV_PERSIST, on_readable, o);
    o->pause = evtimer_new(w->base, on_pause, o);
    if (o->readable && o->pause && event_add(o->readable, NULL) == 0)
        return o;
    output_free(o);
    return NULL;
}

struct output *output_new(struct muster_worker *w, enum output_kind kind, size_t most, int *write_fd)
{
    int ends[2];
    if (!may_have_more(w, kind)) {
        errno = EMFILE;
        return NULL;
    }
    if (!open_pipe(ends))
        return NULL;
    struct output *o = make(w, ends[0]);
    if (!o) {
        close(ends[1]);
        errno = ENOMEM;
        return NULL;
    }
    o->kind = kind;
    o->most = most;
    *write_fd = ends[1];
    return o;
}

/* With what standard error takes at once. */
static void give_up(struct output *o)
{
    if (o->n_unwritten > 0)
        pass_on(o->unwritten, o->n_unwritten);
    output_free(o);
}

void output_let_go(struct output *o)
{
    if (!o)
        return;
    o->is_let_go = true;
    o->worker->outputs.n_left++;
    if (o->worker->state == WORKER_STOPPED)
        give_up(o);
    else
        free_if_done(o);
}

int output_new_list(struct muster_worker *w)
{
    TAILQ_INIT(&w->outputs.list);
    return MUSTER_OK;
}

void output_stop(struct muster_worker *w)
{
    struct output *o, *next;
    for (o = TAILQ_FIRST(&w->outputs.list); o; o = next) {
        next = TAILQ_NEXT(o, in_list);
        if (o->is_let_go)
            give_up(o);
    }
}

void output_free_all(struct muster_worker *w)
{
    while (!TAILQ_EMPTY(&w->outputs.list))
        output_free(TAILQ_FIRST(&w->outputs.list));
}
