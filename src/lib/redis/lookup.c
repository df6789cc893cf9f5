/* SPDX-License-Identifier: MIT
 *
 * One lookup: a thread for each question, and a socket on which the answers come.
 */
#include "redis/lookup.h"

#include <errno.h>
#include <fcntl.h>
#include <muster/error.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"

/* After so long each family is asked for alone. A name server that is near answers sooner. */
#define BOTH_MS 250
/* After so long nothing is expected any more: a name server that is gone is passed over within it, and what has changed
 * meanwhile, only a new lookup sees. */
#define PATIENCE_MS 30000

struct lookup {
    char *host;
    int hears, says; /* two ends of a socket; threads have copies of `says` */
    int64_t began_ms;
    unsigned n_under_way;
    bool is_split; /* each family is asked for alone, too */
    bool has_ended;
    bool was_told;
    size_t n;
    char addresses[LOOKUP_ADDRESSES_MAX][ADDRESS_MAX];
    char why[128];
};

/* ---- on a thread of its own ---- */

struct question {
    int says;
    int family;
    char host[];
};

struct answer {
    int family;
    int failure; /* of getaddrinfo() */
    int error;   /* errno with it */
    size_t n;
    char addresses[LOOKUP_ADDRESSES_MAX][ADDRESS_MAX];
};

static bool put_address(const struct addrinfo *a, char out[ADDRESS_MAX])
{
    return (a->ai_family == AF_INET || a->ai_family == AF_INET6) &&
           getnameinfo(a->ai_addr, a->ai_addrlen, out, ADDRESS_MAX, NULL, 0, NI_NUMERICHOST) == 0;
}

static void find(const struct question *q, struct answer *out)
{
    const struct addrinfo hints = {.ai_family = q->family, .ai_socktype = SOCK_STREAM, .ai_protocol = IPPROTO_TCP};
    struct addrinfo *list = NULL;
    out->family = q->family;
    errno = 0;
    out->failure = getaddrinfo(q->host, NULL, &hints, &list);
    out->error = errno;
    for (const struct addrinfo *a = out->failure ? NULL : list; a && out->n < LOOKUP_ADDRESSES_MAX; a = a->ai_next)
        out->n += put_address(a, out->addresses[out->n]);
    if (!out->failure)
        freeaddrinfo(list);
}

/* If nobody waits any more, the answer goes nowhere. */
static void *run(void *arg)
{
    struct question *q = arg;
    struct answer answer = {.n = 0};
    find(q, &answer);
    (void)!send(q->says, &answer, sizeof answer, MSG_NOSIGNAL);
    close(q->says);
    free(q);
    return NULL;
}

/* ---- asking ---- */

static void begin(struct lookup *l, int family)
{
    pthread_t thread;
    struct question *q = malloc(sizeof *q + strlen(l->host) + 1);
    if (!q)
        return;
    q->family = family;
    strcpy(q->host, l->host);
    q->says = fcntl(l->says, F_DUPFD_CLOEXEC, 0);
    if (q->says >= 0 && thread_start(&thread, run, q) == MUSTER_OK) {
        pthread_detach(thread);
        l->n_under_way++;
        return;
    }
    if (q->says >= 0)
        close(q->says);
    free(q);
}

void lookup_free(struct lookup *l)
{
    if (!l)
        return;
    if (l->hears >= 0)
        close(l->hears);
    if (l->says >= 0)
        close(l->says);
    free(l->host);
    free(l);
}

struct lookup *lookup_new(const char *host)
{
    struct lookup *l = calloc(1, sizeof *l);
    int ends[2] = {-1, -1};
    if (!l)
        return NULL;
    l->host = strdup(host);
    bool is_good = l->host && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0;
    l->hears = ends[0];
    l->says = ends[1];
    l->began_ms = clock_ms();
    if (is_good)
        begin(l, AF_UNSPEC);
    if (l->n_under_way > 0)
        return l;
    lookup_free(l);
    return NULL;
}

static int64_t age_ms(const struct lookup *l)
{
    return clock_ms() - l->began_ms;
}

/* ---- hearing ---- */

static bool is_known(const struct lookup *l, const char *address)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->addresses[i], address) == 0)
            return true;
    return false;
}

static void hear(struct lookup *l, const struct answer *a)
{
    for (size_t i = 0; i < a->n && l->n < LOOKUP_ADDRESSES_MAX; i++)
        if (!is_known(l, a->addresses[i]))
            memcpy(l->addresses[l->n++], a->addresses[i], ADDRESS_MAX);
    l->n_under_way--;
    l->has_ended = l->has_ended || a->family == AF_UNSPEC || l->n_under_way == 0;
    if (a->failure == EAI_SYSTEM) {
        char text[100];
        snprintf(l->why, sizeof l->why, "%s", strerror_r(a->error, text, sizeof text));
    } else if (a->failure) {
        snprintf(l->why, sizeof l->why, "%s", gai_strerror(a->failure));
    }
}

bool lookup_step(struct lookup *l)
{
    struct answer a;
    while (!l->has_ended && recv(l->hears, &a, sizeof a, MSG_DONTWAIT) == (ssize_t)sizeof a)
        hear(l, &a);
    if (!l->has_ended && !l->is_split && age_ms(l) >= BOTH_MS) {
        l->is_split = true;
        begin(l, AF_INET);
        begin(l, AF_INET6);
    }
    if (!l->has_ended && age_ms(l) >= PATIENCE_MS) {
        l->has_ended = true;
        snprintf(l->why, sizeof l->why, "the name lookup has had no answer for %d s", PATIENCE_MS / 1000);
    }
    l->was_told = l->has_ended;
    return l->has_ended;
}

int lookup_fd(const struct lookup *l)
{
    return l->hears;
}

int lookup_wait_ms(const struct lookup *l)
{
    int64_t left_ms = (l->is_split ? PATIENCE_MS : BOTH_MS) - age_ms(l);
    return left_ms > 0 ? (int)left_ms : 0;
}

bool lookup_is_of(const struct lookup *l, const char *host)
{
    return strcmp(l->host, host) == 0;
}

bool lookup_is_used_up(const struct lookup *l, bool is_anew)
{
    return (is_anew && l->was_told) || age_ms(l) >= PATIENCE_MS;
}

size_t lookup_n(const struct lookup *l)
{
    return l->n;
}

const char *lookup_address(const struct lookup *l, size_t i)
{
    return l->addresses[i];
}

const char *lookup_why(const struct lookup *l)
{
    if (!l->has_ended)
        return "the name lookup has no answer yet";
    return *l->why ? l->why : "the host has no address";
}
