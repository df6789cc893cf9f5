/* SPDX-License-Identifier: MIT
 *
 * The Redis of a campaign: append only, synced on each write, on a Unix socket. It is spoken to in inline commands,
 * because the public headers have no call for what is done to it here. cluster.c does the same to a cluster.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "campaign.h"

#define UP_MS 20000
#define LOOK_MS 10
#define OUTAGE_MS 1500
#define OUTAGE_MIN_MS 50
/* Shorter than what is left of a ttl after a heartbeat, so that mostly no worker is lost for it. */
#define REFUSAL_MS 1000
#define THEFT_TRIES 20000
/* The masters of a cluster vote for one of these once in twice the nodes' timeout. Sooner, Redis holds up everything
 * until they do. */
#define TAKEOVERS (BIT(FAULT_FAILOVER) | BIT(FAULT_OWNER))
#define VOTE_EVERY_MS 8000
/* How far ahead of the clock tokens are where they are put back, and after which time. */
#define AHEAD_S 3600
#define BEHIND_MS 200

/* Sends a command, and says whether the answer begins with `expected`, up to two characters. */
static bool say(const struct server *s, const char *command, const char *expected)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    char answer[2] = "";
    const ssize_t len = (ssize_t)strlen(expected);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(a.sun_path, sizeof a.sun_path, "%s", s->campaign->socket);
    bool is_good = fd >= 0 && !connect(fd, (struct sockaddr *)&a, sizeof a) &&
                   send(fd, command, strlen(command), MSG_NOSIGNAL) == (ssize_t)strlen(command) &&
                   recv(fd, answer, (size_t)len, MSG_WAITALL) == len && memcmp(answer, expected, (size_t)len) == 0;
    if (fd >= 0)
        close(fd);
    return is_good;
}

static void must_say(const struct server *s, const char *command, const char *expected)
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

static void boot(struct server *s)
{
    unlink(s->campaign->socket);
    s->pid = fork();
    if (s->pid == 0)
        exec_server(s->campaign);
    for (int64_t until = now_ms() + UP_MS; !say(s, "PING\r\n", "+"); sleep_ms(LOOK_MS))
        if (now_ms() > until) {
            fprintf(stderr, "campaign: redis-server does not come up; its log is in %s\n", s->campaign->dir);
            exit(2);
        }
}

void server_start(struct server *s, struct campaign *c)
{
    s->campaign = c;
    if (c->has_cluster) {
        cluster_start(s, c);
        return;
    }
    snprintf(c->socket, sizeof c->socket, "%s/redis.sock", c->dir);
    snprintf(c->url, sizeof c->url, "unix://%s", c->socket);
    boot(s);
}

/* What keeps a cluster takes it along. */
void server_stop(struct server *s)
{
    kill(s->pid, SIGKILL);
    waitpid(s->pid, NULL, 0);
}

static void suffer(struct server *s, int64_t ms)
{
    s->is_hurt = true;
    s->heals_at_ms = now_ms() + ms;
}

/* The clock has not come so far: the next tokens follow this one, both times. */
static void put_token_back(const struct server *s)
{
    char command[64], digits[] = "00000000000";
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    uint64_t token = (uint64_t)(t.tv_sec + AHEAD_S) * 1000000;
    for (size_t i = sizeof digits - 1; i--; token /= 32)
        digits[i] = "0123456789abcdefghijklmnopqrstuv"[token % 32];
    snprintf(command, sizeof command, "SET muster:token %s\r\n", digits);
    must_say(s, command, "+");
    sleep_ms(BEHIND_MS);
    must_say(s, command, "+");
}

/* Until one is gone: most tasks go straight into a worker's hands. */
static void steal(const struct server *s)
{
    for (int i = 0; i < THEFT_TRIES && say(s, "LPOP muster:queues:bolts\r\n", "$-"); i++)
        sleep_ms(1);
}

static void hurt(struct server *s, enum fault fault, struct random *r)
{
    int64_t refusal_ms = 1 + (int64_t)random_below(r, REFUSAL_MS);
    if (fault == FAULT_CUT) {
        must_say(s, random_chance(r, 50) ? "CLIENT KILL TYPE normal SKIPME yes\r\n" : "CLIENT KILL TYPE pubsub\r\n",
                 ":");
    } else if (fault == FAULT_REDIS) {
        server_stop(s);
        suffer(s, OUTAGE_MIN_MS + (int64_t)random_below(r, OUTAGE_MS));
    } else if (fault == FAULT_THEFT) {
        steal(s);
    } else if (fault == FAULT_BEHIND) {
        put_token_back(s);
    } else if (fault == FAULT_FULL) {
        must_say(s, "CONFIG SET maxmemory 1\r\n", "+");
        suffer(s, refusal_ms);
    } else if (fault == FAULT_ACL) {
        must_say(s, "ACL SETUSER default -@scripting\r\n", "+");
        suffer(s, refusal_ms);
    }
}

static void heal(struct server *s)
{
    if (s->fault == FAULT_REDIS)
        boot(s);
    else if (s->fault == FAULT_FULL)
        must_say(s, "CONFIG SET maxmemory 0\r\n", "+");
    else
        must_say(s, "ACL SETUSER default +@all\r\n", "+");
}

void server_hurt(struct server *s, enum fault fault, struct random *r)
{
    int64_t now = now_ms();
    if (s->is_hurt || (BIT(fault) & TAKEOVERS && now < s->may_vote_at_ms))
        return;
    if (BIT(fault) & TAKEOVERS)
        s->may_vote_at_ms = now + VOTE_EVERY_MS;
    record_write('F', "-", 0, "-", fault_names[fault]);
    s->fault = fault;
    if (BIT(fault) & OF_A_CLUSTER)
        s->turn = fault;
    s->healed_at_ms = now;
    if (s->campaign->has_cluster)
        cluster_hurt(s, r);
    else
        hurt(s, fault, r);
}

void server_heal(struct server *s, int64_t now)
{
    if (!s->is_hurt || (s->campaign->has_cluster ? !cluster_is_healed(s) : now < s->heals_at_ms))
        return;
    if (!s->campaign->has_cluster)
        heal(s);
    s->is_hurt = false;
    s->healed_at_ms = now_ms();
    record_write('H', "-", 0, "-", fault_names[s->fault]);
}
