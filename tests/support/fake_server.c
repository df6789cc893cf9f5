/* SPDX-License-Identifier: MIT
 *
 * Servers that are not what the library expects: a child that polls its connections. One function for each kind says
 * what it does with bytes that arrive; `peer` is the other end of a relayed pair.
 */
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "child.h"
#include "fake_server.h"
#include "resp.h"
#include "testing.h"

#define CONNECTIONS_MAX 64

struct pool {
    int n;
    struct pollfd fds[CONNECTIONS_MAX];
    int peers[CONNECTIONS_MAX];
    const char *answer, *relay_to, *swallow;
    atomic_int *names;
};

static int bind_loopback(char url[64])
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&a, len) || getsockname(fd, (struct sockaddr *)&a, &len))
        fail_msg("no free TCP port on 127.0.0.1");
    snprintf(url, 64, "redis://127.0.0.1:%d", ntohs(a.sin_port));
    return fd;
}

/* ---- the child ---- */

static void add(struct pool *p, int fd, int peer)
{
    if (p->n == CONNECTIONS_MAX)
        _exit(1);
    p->fds[p->n] = (struct pollfd){.fd = fd, .events = POLLIN};
    p->peers[p->n++] = peer;
}

static int connect_to(const char *path)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    memcpy(a.sun_path, path, strlen(path) + 1);
    return connect(fd, (struct sockaddr *)&a, sizeof a) ? -1 : fd;
}

static void greet(struct pool *p)
{
    int fd = accept(p->fds[0].fd, NULL, NULL);
    if (p->relay_to) {
        int peer = connect_to(p->relay_to);
        add(p, fd, peer);
        add(p, peer, fd);
    } else if (p->answer && !*p->answer) {
        close(fd);
    } else {
        add(p, fd, -1);
    }
}

static void write_all(int fd, const char *data, size_t len)
{
    while (len) {
        ssize_t n = send(fd, data, len, MSG_NOSIGNAL);
        if (n <= 0)
            return;
        data += n;
        len -= (size_t)n;
    }
}

static void answer_as_sentinel(int fd, const char *command, int port)
{
    char answer[160], digits[16];
    const int len = snprintf(digits, sizeof digits, "%d", port);
    const char *word = resp_open(resp_open(command).body).body;
    if (strncasecmp(word, "HELLO", 5) == 0)
        snprintf(answer, sizeof answer, "*4\r\n$7\r\nversion\r\n$5\r\n7.0.0\r\n$4\r\nmode\r\n$8\r\nsentinel\r\n");
    else if (strncasecmp(word, "SENTINEL", 8) != 0)
        snprintf(answer, sizeof answer, "+OK\r\n");
    else if (port == 0)
        snprintf(answer, sizeof answer, "*-1\r\n");
    else
        snprintf(answer, sizeof answer, "*2\r\n$9\r\n127.0.0.1\r\n$%d\r\n%s\r\n", len, digits);
    write_all(fd, answer, strlen(answer));
}

/* Commands are small, and come whole. */
static void answer_all_as_sentinel(struct pool *p, int i, const char *data, size_t len)
{
    size_t n;
    for (; len > 0 && (n = resp_length(data, len)) != 0; data += n, len -= n) {
        if (n == RESP_MALFORMED)
            _exit(1);
        answer_as_sentinel(p->fds[i].fd, data, atomic_load(p->names));
    }
}

/* An ended connection that has a peer is shut down but not closed: its number would come back while its peer still names
 * it. poll() passes over the negative descriptor that stands for it in the pool. */
static void end(struct pool *p, int i)
{
    if (p->peers[i] < 0) {
        close(p->fds[i].fd);
        p->fds[i] = p->fds[--p->n]; /* which was looked at already */
        p->peers[i] = p->peers[p->n];
        return;
    }
    shutdown(p->peers[i], SHUT_RDWR);
    shutdown(p->fds[i].fd, SHUT_RDWR);
    p->fds[i].fd = -1;
}

static void serve(struct pool *p, int i)
{
    char data[65536];
    ssize_t n = read(p->fds[i].fd, data, sizeof data - 1);
    data[n > 0 ? n : 0] = '\0';
    if (n <= 0) {
        end(p, i);
    } else if (p->names) {
        answer_all_as_sentinel(p, i, data, (size_t)n);
    } else if (p->relay_to) {
        if (!p->swallow || !memmem(data, (size_t)n, p->swallow, strlen(p->swallow)))
            write_all(p->peers[i], data, (size_t)n);
    } else if (p->answer) {
        write_all(p->fds[i].fd, p->answer, strlen(p->answer));
    }
}

static void run(struct pool *p)
{
    for (;;) {
        if (poll(p->fds, (nfds_t)p->n, -1) < 0)
            _exit(1);
        for (int i = p->n - 1; i > 0; i--)
            if (p->fds[i].revents)
                serve(p, i);
        if (p->fds[0].revents)
            greet(p);
    }
}

/* ---- the test ---- */

static void start(struct fake_server *f, struct pool *p)
{
    int fd = bind_loopback(f->url);
    if (listen(fd, 16))
        fail_msg("nobody can listen on %s", f->url);
    add(p, fd, -1);
    f->pid = child_fork();
    if (f->pid == 0)
        run(p);
    close(fd);
    f->port = atoi(strrchr(f->url, ':') + 1);
    f->names = p->names;
}

void fake_server_start(struct fake_server *f, const char *answer)
{
    start(f, &(struct pool){.answer = answer});
}

void fake_server_relay(struct fake_server *f, const char *socket, const char *swallow)
{
    start(f, &(struct pool){.relay_to = socket, .swallow = swallow});
}

void fake_server_sentinel(struct fake_server *f, int port)
{
    void *shared = mmap(NULL, sizeof *f->names, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    f->names = shared;
    fake_server_name(f, port);
    start(f, &(struct pool){.names = f->names});
    snprintf(f->url, sizeof f->url, "redis+sentinel://127.0.0.1:%d/main", f->port);
}

void fake_server_name(struct fake_server *f, int port)
{
    atomic_store(f->names, port);
}

void fake_server_freeze(struct fake_server *f)
{
    kill(f->pid, SIGSTOP);
}

void fake_server_thaw(struct fake_server *f)
{
    kill(f->pid, SIGCONT);
}

void fake_server_stop(struct fake_server *f)
{
    child_kill(&f->pid);
    if (f->names)
        munmap(f->names, sizeof *f->names);
    f->names = NULL;
}

int fake_server_refuse(char url[64])
{
    return bind_loopback(url);
}
