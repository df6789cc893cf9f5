/* SPDX-License-Identifier: MIT
 *
 * One connection: what is to be sent, what was read, and how it ended.
 */
#include "redis/wire.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <muster/error.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "redis/wire_in.h"
#include "redis/wire_out.h"
#include "redis/wire_socket.h"
#include "redis/wire_tls.h"

#define READ_USUAL ((size_t)16 * 1024)
#define READ_MOST ((size_t)64 * 1024)

enum state { CONNECTING, SHAKING, READY };

struct wire {
    int fd;
    bool is_borrowed;
    enum state state;
    int err; /* how it ended; replies that came before may still be there */
    char why[400];
    struct wire_progress progress;

    struct tls_context *tls_context; /* NULL: plain */
    struct tls *tls;
    char server_name[256];
    short in_waits, out_waits; /* for what, before more can be read, or written (or TLS can go on shaking hands) */
    int limit_ms;              /* of wire_wait(), as the socket knows it; 0: it does not wait */
    bool has_more;             /* there may be more to be read, whatever poll() says */

    struct wire_out out;
    struct wire_in in;
};

/* Before hiredis 1.0 there is no TLS. */
const char *wire_refusal(const struct redisContext *context)
{
#if HIREDIS_MAJOR >= 1
    if (context->privctx)
        return "has TLS of its own, which muster cannot go through; give a rediss:// URL instead";
#endif
    (void)context;
    return NULL;
}

/* ---- its life ---- */

int wire_new(struct wire **out)
{
    struct wire *w = calloc(1, sizeof *w);
    *out = NULL;
    if (!w)
        return MUSTER_E_NOMEM;
    w->fd = -1;
    w->in_waits = POLLIN;
    w->out_waits = POLLOUT;
    if (wire_in_init(&w->in) != MUSTER_OK) {
        free(w);
        return MUSTER_E_NOMEM;
    }
    *out = w;
    return MUSTER_OK;
}

void wire_free(struct wire *w)
{
    if (!w)
        return;
    tls_free(w->tls);
    if (w->fd >= 0 && !w->is_borrowed)
        close(w->fd);
    wire_in_clear(&w->in);
    wire_out_clear(&w->out);
    free(w);
}

void wire_throw_away(struct wire *w)
{
    if (w && w->fd >= 0 && !w->is_borrowed)
        wire_socket_throw_away(w->fd);
}

/* Only the first failure counts. */
static void fail(struct wire *w, int err, const char *why)
{
    if (w->err != MUSTER_OK)
        return;
    w->err = err;
    snprintf(w->why, sizeof w->why, "%s", why);
}

static void fail_by_errno(struct wire *w, int number)
{
    char text[128];
    fail(w, MUSTER_E_CONN, strerror_r(number, text, sizeof text));
}

void wire_connect(struct wire *w, const struct wire_place *place)
{
    w->fd = wire_socket_open(place);
    if (w->fd < 0) /* EAGAIN is of a Unix socket: over TCP it would wait */
        errno == EAGAIN ? fail(w, MUSTER_E_BUSY, "too many wait for a connection") : fail_by_errno(w, errno);
}

void wire_take(struct wire *w, int fd)
{
    w->fd = fd;
    wire_socket_prepare(fd);
}

void wire_borrow(struct wire *w, int fd)
{
    w->fd = fd;
    w->is_borrowed = true;
}

void wire_secure(struct wire *w, struct tls_context *context, const char *server_name)
{
    w->tls_context = context;
    snprintf(w->server_name, sizeof w->server_name, "%s", server_name);
}

/* ---- what is to be sent ---- */

int wire_say(struct wire *w, const struct command *c, size_t answers)
{
    int err = wire_out_command(&w->out, c);
    w->in.guard.asked += err == MUSTER_OK ? answers : 0;
    return err;
}

int wire_say_bytes(struct wire *w, const struct muster_bytes *parts, size_t n, size_t answers)
{
    int err = wire_out_bytes(&w->out, parts, n);
    w->in.guard.asked += err == MUSTER_OK ? answers : 0;
    return err;
}

void wire_unsay(struct wire *w, size_t answers)
{
    w->out.len = w->out.last;
    w->in.guard.asked -= answers;
}

struct muster_bytes wire_said(const struct wire *w)
{
    return (struct muster_bytes){w->out.bytes + w->out.last, w->out.len - w->out.last};
}

int wire_subscribe(struct wire *w, enum wire_channels channels, const char *channel)
{
    struct command c = COMMAND_EMPTY;
    command_text(&c, channels == WIRE_SHARDED ? "SSUBSCRIBE" : "SUBSCRIBE");
    command_text(&c, channel);
    int err = wire_say(w, &c, 0);
    command_clear(&c);
    w->in.guard.listens = w->in.guard.listens || err == MUSTER_OK;
    return err;
}

int wire_unsubscribe(struct wire *w, const char *channel)
{
    struct command c = COMMAND_EMPTY;
    command_words(&c, (const char *const[]){"UNSUBSCRIBE", channel, NULL});
    int err = wire_say(w, &c, 0);
    command_clear(&c);
    return err;
}

bool wire_has_unsent(const struct wire *w)
{
    return w->out.sent < w->out.len;
}

/* ---- reading and writing ---- */

/* What it waits for before it can go on. */
static short waits(enum wire_io io, short otherwise)
{
    return io == WIRE_IO_WAITS_IN ? POLLIN : io == WIRE_IO_WAITS_OUT ? POLLOUT : otherwise;
}

static void fail_by_io(struct wire *w, enum wire_io io, int number)
{
    if (io == WIRE_IO_CLOSED)
        fail(w, MUSTER_E_CONN, "the server closed the connection");
    else if (w->tls)
        fail(w, MUSTER_E_CONN, tls_why(w->tls));
    else
        fail_by_errno(w, number);
}

static bool has_ended(enum wire_io io)
{
    return io == WIRE_IO_CLOSED || io == WIRE_IO_FAILED;
}

static size_t take_in(struct wire *w, enum wire_io io, const char *data, size_t n)
{
    if (has_ended(io))
        fail_by_io(w, io, errno);
    if (io != WIRE_IO_DONE)
        return 0;
    wire_progress_received(&w->progress, n);
    if (wire_in_feed(&w->in, data, n) != MUSTER_OK)
        fail(w, MUSTER_E_NOMEM, "out of memory");
    return w->err == MUSTER_OK ? n : 0;
}

/* How much was read; 0: there is nothing more now, or ever. */
static size_t read_some(struct wire *w)
{
    char data[READ_MOST];
    size_t n, size = wire_in_held(&w->in) < READ_USUAL ? READ_USUAL : READ_MOST;
    enum wire_io io = w->tls ? wire_tls_read(w->tls, data, size, &n) : wire_socket_read(w->fd, data, size, &n);
    w->in_waits = waits(io, POLLIN);
    w->has_more = w->tls && n == size; /* of what a session holds, poll() does not know */
    return take_in(w, io, data, n);
}

/* The server may have said why it closed the connection: that is read before the failure is told. */
static void fail_by_write(struct wire *w, enum wire_io io, int number)
{
    wire_out_clear(&w->out);
    for (size_t n, sum = 0; sum < READ_MOST && (n = read_some(w)) > 0;)
        sum += n;
    fail_by_io(w, io, number);
}

void wire_flush(struct wire *w)
{
    enum wire_io io = WIRE_IO_DONE;
    if (!wire_is_ready(w))
        return;
    while (wire_has_unsent(w) && io == WIRE_IO_DONE) {
        const char *data = w->out.bytes + w->out.sent;
        size_t n, len = w->out.len - w->out.sent;
        io = w->tls ? wire_tls_write(w->tls, data, len, &n) : wire_socket_write(w->fd, data, len, &n);
        wire_out_forget(&w->out, n);
        wire_progress_sent(&w->progress, w->fd, n);
    }
    w->out_waits = waits(io, POLLOUT);
    if (has_ended(io))
        fail_by_write(w, io, errno);
}

/* ---- connecting ---- */

static void enter(struct wire *w, enum state state)
{
    w->state = state;
    wire_progress_mark(&w->progress);
}

static void finish_connecting(struct wire *w)
{
    int error = wire_socket_error(w->fd);
    if (error != 0)
        fail_by_errno(w, error);
    else if (!w->tls_context)
        enter(w, READY);
    else if (tls_new(&w->tls, w->tls_context, w->fd, w->server_name) != MUSTER_OK)
        fail(w, MUSTER_E_NOMEM, "out of memory");
    else
        enter(w, SHAKING);
}

static void shake(struct wire *w)
{
    enum wire_io io = wire_tls_shake(w->tls);
    w->out_waits = waits(io, POLLOUT);
    if (has_ended(io))
        fail_by_io(w, io, 0);
    else if (io == WIRE_IO_DONE)
        enter(w, READY);
}

void wire_step(struct wire *w, short ready)
{
    if (w->err == MUSTER_OK && w->state == CONNECTING && ready)
        finish_connecting(w);
    if (w->err == MUSTER_OK && w->state == SHAKING)
        shake(w);
    wire_flush(w);
    if (wire_is_ready(w) && (w->has_more || (ready & (w->in_waits | POLLHUP | POLLERR))))
        (void)read_some(w);
}

/* Sessions of TLS need a socket that does not wait, and a borrowed one is not to be changed. */
bool wire_can_wait(const struct wire *w)
{
    return wire_is_ready(w) && !w->tls && !w->is_borrowed && !wire_has_unsent(w);
}

bool wire_wait(struct wire *w, int ms)
{
    char data[READ_USUAL];
    size_t n;
    if (w->limit_ms != ms && wire_socket_limit(w->fd, ms) != 0) {
        fail_by_errno(w, errno);
        return true;
    }
    w->limit_ms = ms;
    enum wire_io io = wire_socket_wait(w->fd, data, sizeof data, &n);
    bool is_over = io == WIRE_IO_WAITS_IN && errno != EINTR;
    (void)take_in(w, io, data, n);
    return !is_over;
}

/* ---- what it tells ---- */

int wire_fd(const struct wire *w)
{
    return w->fd;
}

short wire_waits_for(const struct wire *w)
{
    if (w->err != MUSTER_OK)
        return 0;
    if (w->state != READY)
        return w->out_waits;
    return (short)(w->in_waits | (wire_has_unsent(w) ? w->out_waits : 0));
}

bool wire_has_more(const struct wire *w)
{
    return w->has_more && w->err == MUSTER_OK;
}

bool wire_is_ready(const struct wire *w)
{
    return w->state == READY && w->err == MUSTER_OK;
}

bool wire_is_shaking(const struct wire *w)
{
    return w->state == SHAKING;
}

unsigned wire_marks(const struct wire *w)
{
    return w->progress.marks;
}

void wire_look(struct wire *w)
{
    wire_progress_look(&w->progress, w->fd);
}

const struct wire_progress *wire_progress(const struct wire *w)
{
    return &w->progress;
}

size_t wire_asked(const struct wire *w)
{
    return w->in.guard.asked;
}

const char *wire_why(const struct wire *w)
{
    return w->err == MUSTER_OK && w->state == SHAKING ? tls_why(w->tls) : w->why;
}

/* ---- replies ---- */

int wire_next(struct wire *w, struct redisReply **reply)
{
    int err = wire_in_next(&w->in, reply);
    if (err != MUSTER_OK) { /* it came before the connection ended */
        w->err = MUSTER_OK;
        fail(w, err, w->in.why);
    }
    if (!*reply)
        return w->err;
    wire_progress_replied(&w->progress, w->in.guard.asked == 0 && !wire_has_unsent(w));
    return MUSTER_OK;
}

bool wire_was_pushed(const struct wire *w)
{
    return w->in.was_pushed;
}
