/* SPDX-License-Identifier: MIT
 *
 * Reading and writing as much as there is: how a client comes to few system calls for many requests.
 */
#include "stream.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "player.h"

static int connect_unix(const char *path)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
    return connect(fd, (struct sockaddr *)&a, sizeof a) == 0 ? fd : -1;
}

static int connect_tcp(const char *address, const char *port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    char host[INET_ADDRSTRLEN];
    int yes = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(host, sizeof host, "%.*s", (int)(port - 1 - address), address);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (inet_pton(AF_INET, host, &a.sin_addr) != 1 || connect(fd, (struct sockaddr *)&a, sizeof a) != 0)
        return -1;
    return fd;
}

void stream_open(struct stream *s, const char *address)
{
    const char *colon = strrchr(address, ':');
    s->at = s->end = s->n_out = 0;
    s->fd = colon ? connect_tcp(address, colon + 1) : connect_unix(address);
    if (s->fd < 0)
        player_fail("no connection to %s: %s", address, strerror(errno));
}

/* Behind what is there: who holds a pointer into `in` may go on using it. */
static void read_some(struct stream *s)
{
    ssize_t n = read(s->fd, s->in + s->end, sizeof s->in - s->end);
    if (n <= 0)
        player_fail("the server has closed the connection");
    s->end += (size_t)n;
}

/* A server that cannot get rid of its answers reads no more requests: so while it does not take ours, take its. */
static void await_room(struct stream *s)
{
    struct pollfd p = {.fd = s->fd, .events = POLLIN | POLLOUT};
    poll(&p, 1, -1);
    if (p.revents & POLLIN)
        read_some(s);
}

void stream_flush(struct stream *s)
{
    for (size_t sent = 0; sent < s->n_out;) {
        ssize_t n = send(s->fd, s->out + sent, s->n_out - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN)
            await_room(s);
        else if (n < 0)
            player_fail("cannot write to the server: %s", strerror(errno));
        else
            sent += (size_t)n;
    }
    s->n_out = 0;
}

void stream_put(struct stream *s, const void *bytes, size_t len)
{
    if (s->n_out + len > sizeof s->out)
        stream_flush(s);
    memcpy(s->out + s->n_out, bytes, len);
    s->n_out += len;
}

static void read_more(struct stream *s)
{
    size_t had = s->end;
    stream_flush(s);
    if (s->end > had)
        return;
    memmove(s->in, s->in + s->at, s->end - s->at);
    s->end -= s->at;
    s->at = 0;
    read_some(s);
}

const char *stream_take(struct stream *s, size_t len)
{
    while (s->end - s->at < len)
        read_more(s);
    s->at += len;
    return s->in + s->at - len;
}

const char *stream_take_line(struct stream *s)
{
    char *end;
    while (!(end = memchr(s->in + s->at, '\n', s->end - s->at)))
        read_more(s);
    const char *line = s->in + s->at;
    s->at = (size_t)(end + 1 - s->in);
    end[end > line && end[-1] == '\r' ? -1 : 0] = '\0';
    return line;
}
