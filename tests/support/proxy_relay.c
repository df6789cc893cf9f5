/* SPDX-License-Identifier: MIT
 *
 * The proxy's own process, on a libevent loop. Each connection is a pair of two sides, the caller's and Redis'. Bytes
 * that one side reads go to the other one, or do not, as ordered.
 *
 * Either side may be gone before the pair is: the one that is left then only writes what it still has to.
 */
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>

#include "proxy_relay.h"

/* What a socket of its own takes, at most, that it has not read. */
#define TCP_HELD (32 * 1024)

struct pair;

struct side {
    struct pair *pair;
    struct bufferevent *be;
    struct event *delay;
    int way;
};

struct pair {
    struct pair *next;
    struct relay *relay;
    int kind, swallows;
    bool is_trapped, is_closing;
    struct side caller, redis;
};

/* A Unix socket's path, or a port of this host after a ':'. */
struct place {
    union {
        struct sockaddr any;
        struct sockaddr_un path;
        struct sockaddr_in port;
    } address;
    socklen_t len;
};

struct relay {
    struct event_base *base;
    struct evconnlistener *listener;
    struct place here, there;
    struct pair *pairs;
    struct proxy_counts counts;
    int lose, delay_ms;
    struct proxy_order trap, ration, pace, pace_requests;
};

/* ---- the end of a pair ---- */

static void end_delay(struct side *s)
{
    if (s->delay)
        event_free(s->delay);
    s->delay = NULL;
}

static void free_side(struct side *s)
{
    end_delay(s);
    if (s->be)
        bufferevent_free(s->be);
    s->be = NULL;
}

static void free_pair(struct pair *p)
{
    struct pair **link = &p->relay->pairs;
    while (*link != p)
        link = &(*link)->next;
    *link = p->next;
    free_side(&p->caller);
    free_side(&p->redis);
    free(p);
}

static void on_drained(struct bufferevent *be, void *arg)
{
    (void)be;
    struct side *s = arg;
    free_pair(s->pair);
}

static void on_last_event(struct bufferevent *be, short what, void *arg)
{
    (void)what;
    on_drained(be, arg);
}

/* The first side is gone; the other one goes when it has written what it has. */
static void close_pair(struct side *gone, struct side *left)
{
    gone->pair->is_closing = true;
    free_side(gone);
    if (!evbuffer_get_length(bufferevent_get_output(left->be))) {
        free_pair(left->pair);
        return;
    }
    end_delay(left);
    bufferevent_disable(left->be, EV_READ);
    bufferevent_setcb(left->be, NULL, on_drained, on_last_event, left);
}

static void cut(struct pair *p)
{
    p->relay->counts.cut++;
    close_pair(&p->caller, &p->redis);
}

/* ---- what passes ---- */

static struct side *other(struct side *s)
{
    return s == &s->pair->caller ? &s->pair->redis : &s->pair->caller;
}

static bool holds(struct evbuffer *b, const char *text)
{
    return *text && evbuffer_search(b, text, strlen(text), NULL).pos >= 0;
}

/* The number after the type byte of the line at `*at`, which is moved past the line; -1: it is not complete. */
static long next_line(struct evbuffer *b, size_t *at)
{
    struct evbuffer_ptr from, end;
    char text[32] = "";
    if (*at >= evbuffer_get_length(b) || evbuffer_ptr_set(b, &from, *at, EVBUFFER_PTR_SET))
        return -1;
    end = evbuffer_search(b, "\r\n", 2, &from);
    if (end.pos < 0)
        return -1;
    evbuffer_copyout_from(b, &from, text, sizeof text - 1);
    *at = (size_t)end.pos + 2;
    return strtol(text + 1, NULL, 10);
}

static bool begins_with(struct evbuffer *b, const char *begin)
{
    char text[32] = "";
    return evbuffer_copyout(b, text, strlen(begin)) == (ev_ssize_t)strlen(begin) && strcmp(text, begin) == 0;
}

/* How long the message is that lies first in the buffer: an array of three strings, the first of them "message" or
 * "smessage". 0: none, or it is not all there. */
static size_t message_len(struct evbuffer *b)
{
    size_t at = 4;
    if (!begins_with(b, "*3\r\n$7\r\nmessage\r\n") && !begins_with(b, "*3\r\n$8\r\nsmessage\r\n"))
        return 0;
    for (int i = 0; i < 3; i++) {
        long len = next_line(b, &at);
        if (len < 0)
            return 0;
        at += (size_t)len + 2;
    }
    return at <= evbuffer_get_length(b) ? at : 0;
}

static void lose_messages(struct relay *r, struct evbuffer *in)
{
    size_t len;
    while (r->lose > 0 && (len = message_len(in)) > 0) {
        evbuffer_drain(in, len);
        r->lose--;
        r->counts.lost++;
    }
}

/* A socket without a listener refuses. */
static void refuse(struct relay *r)
{
    if (r->listener)
        evconnlistener_free(r->listener);
    r->listener = NULL;
}

/* Whether the request is not to be passed on: the pair is gone then. */
static bool traps(struct pair *p, struct evbuffer *in)
{
    struct proxy_order *trap = &p->relay->trap;
    if (p->kind != PROXY_DATA || !holds(in, trap->text))
        return false;
    if (--trap->n == 0) {
        trap->text[0] = '\0';
        if (trap->kinds)
            refuse(p->relay);
    }
    p->relay->counts.trapped++;
    p->is_trapped = true;
    if (trap->ways != PROXY_REQUESTS)
        return false;
    cut(p);
    return true;
}

/* Whether a reply is cut off here: the pair is gone then, as soon as its caller has what was passed on. */
static bool is_rationed(struct side *s, struct evbuffer *in)
{
    struct pair *p = s->pair;
    struct proxy_order *ration = &p->relay->ration;
    size_t len = evbuffer_get_length(in);
    if (s->way != PROXY_REPLIES || !(p->kind & ration->kinds))
        return false;
    if (len <= (size_t)ration->n) {
        ration->n -= (int)len;
        return false;
    }
    evbuffer_remove_buffer(in, bufferevent_get_output(other(s)->be), (size_t)ration->n);
    ration->kinds = 0;
    p->relay->counts.trapped++;
    p->relay->counts.cut++;
    close_pair(s, other(s));
    return true;
}

static void note_kind(struct side *s)
{
    if (s->way == PROXY_REQUESTS && holds(bufferevent_get_input(s->be), "SUBSCRIBE\r\n"))
        s->pair->kind = PROXY_SUBSCRIPTION;
}

static void pass_on(struct side *s)
{
    struct pair *p = s->pair;
    struct evbuffer *in = bufferevent_get_input(s->be);
    if (is_rationed(s, in))
        return;
    bool is_request = s->way == PROXY_REQUESTS;
    note_kind(s);
    if (is_request && traps(p, in))
        return;
    if (!is_request && p->is_trapped) {
        cut(p);
        return;
    }
    if (!is_request && p->kind == PROXY_SUBSCRIPTION)
        lose_messages(p->relay, in);
    if (p->swallows & s->way)
        evbuffer_drain(in, evbuffer_get_length(in));
    else
        bufferevent_write_buffer(other(s)->be, in);
}

static void wait_ms(struct side *s, int ms)
{
    if (!event_pending(s->delay, EV_TIMEOUT, NULL))
        event_add(s->delay, &(struct timeval){ms / 1000, ms % 1000 * 1000});
}

static const struct proxy_order *pace_of(const struct side *s)
{
    const struct relay *r = s->pair->relay;
    return s->way == PROXY_REPLIES ? &r->pace : &r->pace_requests;
}

static bool is_paced(const struct side *s)
{
    return s->pair->kind & pace_of(s)->kinds;
}

/* What is not read waits at the caller, but for what the socket holds. */
static void limit_requests(struct pair *p)
{
    const struct proxy_order *pace = &p->relay->pace_requests;
    bufferevent_setwatermark(p->caller.be, EV_READ, 0, pace->kinds && pace->where == PROXY_WAIT ? (size_t)pace->n : 0);
}

/* A part of it now, the rest later. */
static void pass_on_at_a_pace(struct side *s)
{
    struct evbuffer *in = bufferevent_get_input(s->be);
    evbuffer_remove_buffer(in, bufferevent_get_output(other(s)->be), (size_t)pace_of(s)->n);
    if (evbuffer_get_length(in) > 0)
        wait_ms(s, pace_of(s)->ways);
}

static void on_delay(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    struct side *s = arg;
    if (is_paced(s)) {
        pass_on_at_a_pace(s);
        return;
    }
    bufferevent_enable(s->be, EV_READ);
    pass_on(s);
}

static void on_read(struct bufferevent *be, void *arg)
{
    struct side *s = arg;
    int ms = s->pair->relay->delay_ms;
    note_kind(s);
    if (is_paced(s)) {
        wait_ms(s, pace_of(s)->ways);
    } else if (ms) {
        bufferevent_disable(be, EV_READ);
        wait_ms(s, ms);
    } else {
        pass_on(s);
    }
}

static void on_end(struct bufferevent *be, short what, void *arg)
{
    (void)be, (void)what;
    struct side *s = arg;
    close_pair(s, other(s));
}

/* ---- new pairs ---- */

static void init_side(struct side *s, struct pair *p, int fd, int way)
{
    evutil_make_socket_nonblocking(fd);
    s->pair = p;
    s->way = way;
    s->be = bufferevent_socket_new(p->relay->base, fd, BEV_OPT_CLOSE_ON_FREE);
    s->delay = evtimer_new(p->relay->base, on_delay, s);
    bufferevent_setcb(s->be, on_read, NULL, on_end, s);
    bufferevent_enable(s->be, EV_READ | EV_WRITE);
}

static void on_accept(struct evconnlistener *l, evutil_socket_t fd, struct sockaddr *from, int len, void *arg)
{
    (void)l, (void)from, (void)len;
    struct relay *r = arg;
    int there = socket(r->there.address.any.sa_family, SOCK_STREAM, 0);
    if (connect(there, &r->there.address.any, r->there.len)) {
        close(there);
        close(fd);
        return;
    }
    struct pair *p = calloc(1, sizeof *p);
    p->relay = r;
    p->kind = PROXY_DATA;
    p->next = r->pairs;
    r->pairs = p;
    r->counts.accepted++;
    init_side(&p->caller, p, fd, PROXY_REQUESTS);
    init_side(&p->redis, p, there, PROXY_REPLIES);
    limit_requests(p);
}

static void listen_here(struct relay *r)
{
    if (r->here.address.any.sa_family == AF_UNIX)
        unlink(r->here.address.path.sun_path);
    r->listener = evconnlistener_new_bind(r->base, on_accept, r, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_REUSEABLE, 256,
                                          &r->here.address.any, (int)r->here.len);
    if (!r->listener)
        _exit(1);
    if (r->here.address.any.sa_family != AF_UNIX)
        setsockopt(evconnlistener_get_fd(r->listener), SOL_SOCKET, SO_RCVBUF, &(int){TCP_HELD}, sizeof(int));
}

/* ---- orders ---- */

static struct place place_of(const char *text)
{
    struct place p = {0};
    if (*text == ':') {
        p.len = sizeof p.address.port;
        p.address.port = (struct sockaddr_in){.sin_family = AF_INET,
                                              .sin_port = htons((uint16_t)atoi(text + 1)),
                                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    } else {
        p.len = sizeof p.address.path;
        p.address.path.sun_family = AF_UNIX;
        memcpy(p.address.path.sun_path, text, strlen(text) + 1);
    }
    return p;
}

static int for_kinds(struct relay *r, const struct proxy_order *o)
{
    int n = 0;
    for (struct pair *p = r->pairs, *next; p; p = next) {
        next = p->next;
        if (p->is_closing || !(p->kind & o->kinds))
            continue;
        n++;
        if (o->verb == PROXY_CUT)
            cut(p);
        else
            p->swallows |= o->ways;
    }
    return n;
}

static void pace_requests(struct relay *r, const struct proxy_order *o)
{
    r->pace_requests = *o;
    for (struct pair *p = r->pairs; p; p = p->next)
        if (!p->is_closing)
            limit_requests(p);
}

static void count_open(struct relay *r)
{
    r->counts.data = r->counts.subscriptions = 0;
    for (struct pair *p = r->pairs; p; p = p->next) {
        r->counts.data += !p->is_closing && p->kind == PROXY_DATA;
        r->counts.subscriptions += !p->is_closing && p->kind == PROXY_SUBSCRIPTION;
    }
}

static void obey(evutil_socket_t fd, short what, void *arg)
{
    (void)what;
    struct relay *r = arg;
    struct proxy_order o;
    struct proxy_answer answer = {0};
    if (read(fd, &o, sizeof o) != sizeof o)
        _exit(0);
    if (o.verb == PROXY_CUT || o.verb == PROXY_SWALLOW)
        answer.affected = for_kinds(r, &o);
    else if (o.verb == PROXY_LOSE)
        r->lose = o.n;
    else if (o.verb == PROXY_DELAY)
        r->delay_ms = o.n;
    else if (o.verb == PROXY_REFUSE)
        refuse(r);
    else if (o.verb == PROXY_ACCEPT && !r->listener)
        listen_here(r);
    else if (o.verb == PROXY_TRAP)
        r->trap = o;
    else if (o.verb == PROXY_RATION)
        r->ration = o;
    else if (o.verb == PROXY_PACE)
        r->pace = o;
    else if (o.verb == PROXY_PACE_REQUESTS)
        pace_requests(r, &o);
    else if (o.verb == PROXY_LEAD)
        r->there = place_of(o.text);
    count_open(r);
    answer.counts = r->counts;
    if (send(fd, &answer, sizeof answer, MSG_NOSIGNAL) < 0)
        _exit(0);
}

void proxy_relay_run(int orders, const char *here, const char *there)
{
    signal(SIGPIPE, SIG_IGN); /* a caller may go while something is on its way to it */
    struct relay r = {.base = event_base_new(), .here = place_of(here), .there = place_of(there)};
    listen_here(&r);
    event_add(event_new(r.base, orders, EV_READ | EV_PERSIST, obey, &r), NULL);
    event_base_dispatch(r.base);
    _exit(1);
}
