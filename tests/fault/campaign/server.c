/* SPDX-License-Identifier: MIT
 *
 * The Redis of a campaign: append only, synced on each write, on a Unix socket. It is spoken to in inline commands,
 * because the public headers have no call for what is done to it here.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "campaign.h"

#define UP_MS 20000
#define LOOK_MS 10
#define OUTAGE_MS 1500
#define OUTAGE_MIN_MS 50
/* Shorter than what is left of a ttl after a heartbeat, so that mostly no worker is lost for it. */
#define REFUSAL_MS 1000
#define THEFT_TRIES 100

/* Sends a command, and says whether the answer begins with `expected`. */
static bool say(const struct server *s, const char *command, char expected)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    char answer = 0;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(a.sun_path, sizeof a.sun_path, "%s", s->campaign->socket);
    bool is_good = fd >= 0 && !connect(fd, (struct sockaddr *)&a, sizeof a) &&
                   send(fd, command, strlen(command), MSG_NOSIGNAL) == (ssize_t)strlen(command) &&
                   recv(fd, &answer, 1, 0) == 1 && answer == expected;
    if (fd >= 0)
        close(fd);
    return is_good;
}

static void must_say(const struct server *s, const char *command, char expected)
{
    if (say(s, command, expected))
        return;
    fprintf(stderr, "campaign: Redis refuses: %s", command);
    exit(2);
}

static void exec_server(const struct campaign *c)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execlp("redis-server", "redis-server", "--port", "0", "--unixsocket", c->socket, "--dir", c->dir, "--logfile",
           "redis.log", "--save", "", "--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy",
           "noeviction", (char *)NULL);
    _exit(127);
}

void server_start(struct server *s)
{
    unlink(s->campaign->socket);
    s->pid = fork();
    if (s->pid == 0)
        exec_server(s->campaign);
    for (int64_t until = now_ms() + UP_MS; !say(s, "PING\r\n", '+'); sleep_ms(LOOK_MS))
        if (now_ms() > until) {
            fprintf(stderr, "campaign: redis-server does not come up; its log is in %s\n", s->campaign->dir);
            exit(2);
        }
}

void server_stop(struct server *s)
{
    kill(s->pid, SIGKILL);
    waitpid(s->pid, NULL, 0);
}

static void suffer(struct server *s, enum fault fault, int64_t ms)
{
    s->fault = fault;
    s->fault_ends_ms = now_ms() + ms;
}

void server_hurt(struct server *s, enum fault fault, struct random *r)
{
    if (s->fault_ends_ms)
        return;
    record_write('F', "-", 0, "-", fault_names[fault]);
    int64_t refusal_ms = 1 + (int64_t)random_below(r, REFUSAL_MS);
    if (fault == FAULT_CUT) {
        must_say(s, random_chance(r, 50) ? "CLIENT KILL TYPE normal SKIPME yes\r\n" : "CLIENT KILL TYPE pubsub\r\n",
                 ':');
    } else if (fault == FAULT_REDIS) {
        server_stop(s);
        suffer(s, fault, OUTAGE_MIN_MS + (int64_t)random_below(r, OUTAGE_MS));
    } else if (fault == FAULT_THEFT) {
        for (int i = 0; i < THEFT_TRIES; i++, sleep_ms(1))
            must_say(s, "LPOP muster:queues:bolts\r\n", '$');
    } else if (fault == FAULT_FULL) {
        must_say(s, "CONFIG SET maxmemory 1\r\n", '+');
        suffer(s, fault, refusal_ms);
    } else if (fault == FAULT_ACL) {
        must_say(s, "ACL SETUSER default -@scripting\r\n", '+');
        suffer(s, fault, refusal_ms);
    }
}

void server_heal_at_once(struct server *s)
{
    if (!s->fault_ends_ms)
        return;
    s->fault_ends_ms = 0;
    if (s->fault == FAULT_REDIS)
        server_start(s);
    else if (s->fault == FAULT_FULL)
        must_say(s, "CONFIG SET maxmemory 0\r\n", '+');
    else
        must_say(s, "ACL SETUSER default +@all\r\n", '+');
    record_write('H', "-", 0, "-", fault_names[s->fault]);
}

void server_heal(struct server *s, int64_t now)
{
    if (now >= s->fault_ends_ms)
        server_heal_at_once(s);
}
