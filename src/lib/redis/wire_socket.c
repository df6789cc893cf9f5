/* SPDX-License-Identifier: MIT
 *
 * The sockets under a wire: TCP and Unix.
 */
#include "redis/wire_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

/* A peer that is gone without a word is noticed on an idle connection, too: after 15 s, by three questions. */
#define KEEPALIVE_IDLE_S 15
#define KEEPALIVE_BETWEEN_S 5
#define KEEPALIVE_QUESTIONS 3

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un local;
};

/* An IPv6 address, and behind a '%' the link that it is of, by name or number. */
static bool read_v6(struct sockaddr_in6 *a, const char *text)
{
    char address[INET6_ADDRSTRLEN];
    const size_t len = strcspn(text, "%");
    if (len >= sizeof address)
        return false;
    memcpy(address, text, len);
    address[len] = '\0';
    if (text[len] && !(a->sin6_scope_id = if_nametoindex(text + len + 1)))
        a->sin6_scope_id = (uint32_t)strtoul(text + len + 1, NULL, 10);
    return inet_pton(AF_INET6, address, &a->sin6_addr) == 1;
}

/* Its length; 0: it is no address. */
static socklen_t address_of(union address *a, const struct wire_place *place)
{
    memset(a, 0, sizeof *a);
    if (place->path) {
        if (strlen(place->path) >= sizeof a->local.sun_path)
            return 0;
        a->local.sun_family = AF_UNIX;
        strcpy(a->local.sun_path, place->path);
        return sizeof a->local;
    }
    if (inet_pton(AF_INET, place->address, &a->v4.sin_addr) == 1) {
        a->v4.sin_family = AF_INET;
        a->v4.sin_port = htons((uint16_t)place->port);
        return sizeof a->v4;
    }
    if (read_v6(&a->v6, place->address)) {
        a->v6.sin6_family = AF_INET6;
        a->v6.sin6_port = htons((uint16_t)place->port);
        return sizeof a->v6;
    }
    return 0;
}

/* Of a Unix socket all but the first are refused, which does no harm. */
void wire_socket_prepare(int fd)
{
    fcntl(fd, F_SETFD, FD_CLOEXEC); /* a child of the program must not keep the connection open */
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &(int){1}, sizeof(int));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &(int){KEEPALIVE_IDLE_S}, sizeof(int));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &(int){KEEPALIVE_BETWEEN_S}, sizeof(int));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &(int){KEEPALIVE_QUESTIONS}, sizeof(int));
}

int wire_socket_open(const struct wire_place *place)
{
    union address a;
    socklen_t len = address_of(&a, place);
    if (len == 0) {
        errno = EINVAL;
        return -1;
    }
    int fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (connect(fd, &a.any, len) != 0 && errno != EINPROGRESS) {
        int saved = errno;
        close(fd);
        errno = saved;
        return -1;
    }
    wire_socket_prepare(fd);
    return fd;
}

int wire_socket_error(int fd)
{
    int error = 0;
    socklen_t len = sizeof error;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 ? error : errno;
}

static enum wire_io what_happened(ssize_t moved, size_t *n, enum wire_io otherwise)
{
    *n = moved > 0 ? (size_t)moved : 0;
    if (moved > 0)
        return WIRE_IO_DONE;
    if (moved == 0)
        return WIRE_IO_CLOSED;
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? otherwise : WIRE_IO_FAILED;
}

enum wire_io wire_socket_read(int fd, void *data, size_t size, size_t *n)
{
    return what_happened(recv(fd, data, size, MSG_DONTWAIT), n, WIRE_IO_WAITS_IN);
}

enum wire_io wire_socket_write(int fd, const void *data, size_t len, size_t *n)
{
    return what_happened(send(fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL), n, WIRE_IO_WAITS_OUT);
}

/* What is no socket holds nothing. */
size_t wire_socket_held(int fd)
{
    int n;
    return ioctl(fd, SIOCOUTQ, &n) == 0 && n > 0 ? (size_t)n : 0;
}

void wire_socket_throw_away(int fd)
{
    const struct linger at_once = {.l_onoff = 1};
    if (wire_socket_held(fd) > 0)
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

int wire_socket_limit(int fd, int ms)
{
    const struct timeval limit = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) != 0)
        return -1;
    return setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

enum wire_io wire_socket_wait(int fd, void *data, size_t size, size_t *n)
{
    return what_happened(recv(fd, data, size, 0), n, WIRE_IO_WAITS_IN);
}
